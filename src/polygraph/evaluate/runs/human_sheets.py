"""People as judges: a blinded sheet of answers in pairs, and the marks read back.

A person sees each pair once, so no order can be turned round for the same person. Instead every pair of methods is
turned round in half of its rows, so that a preference for a place cancels out over questions.
"""

import csv
import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polygraph.errors import BadInput, StorageFailed
from polygraph.evaluate.judging.judgements import Judgement
from polygraph.evaluate.judging.length_alignment import Aligned
from polygraph.evaluate.judging.pairwise import PEOPLE
from polygraph.evaluate.runs.study_folder import Study

COLUMNS = ("item", "question", "answer 1", "answer 2", "better", "comment")
"""Of a sheet. In `better` stands 1, 2 or tie; `comment` is not read."""
KEY = "sheets"
"""Name of the file in the study that tells which answers stand behind an item."""
_FORMULA = frozenset("=+-@\t\r＝＋－＠")
_FIRST = frozenset({"1", "a", "first", "answer 1", "answer1", "1.0", "1,0", "left"})
_SECOND = frozenset({"2", "b", "second", "answer 2", "answer2", "2.0", "2,0", "right"})
_TIE = frozenset({"tie", "t", "0", "0.0", "=", "equal", "same", "both", "neither", "draw", "none", "1=2"})
_TOLD = 5
"""Faults that one error names."""
_MAX_BYTES = 200_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What was read from a sheet."""

    judgements: tuple[Judgement, ...]
    blank: int
    """Rows without a mark."""


def safe_cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula: one that begins like a formula gets an apostrophe in front.

    >>> safe_cell("=HYPERLINK(1)"), safe_cell("- first"), safe_cell("a = b")
    ("'=HYPERLINK(1)", "'- first", 'a = b')
    """
    return f"'{text}" if text[:1] in _FORMULA or text.lstrip()[:1] in _FORMULA else text


def write_sheet(
    study: Study,
    questions: Mapping[str, str],
    pairs: Sequence[Aligned],
    file: Path,
    *,
    seed: int = 0,
    limit: int | None = None,
) -> int:
    """Write pairs of answers in random order, without the names of the methods, and keep the key in the study.

    Args:
        study: whose ``sheets.jsonl`` gets the key.
        questions: text by id.
        pairs: as judges are to see them; discarded ones are left out.
        file: new; a sheet that is there may hold marks.
        seed: of the order of rows and sides; another seed makes another sheet of the same pairs.
        limit: rows at most, drawn with the seed.

    Returns:
        Rows written.

    Raises:
        BadInput: if the file is there, or there is nothing to judge.
        StorageFailed: if it cannot be written.
    """
    if file.exists():
        raise BadInput(f"{file} is there already and may hold marks. Name another file with --sheet")
    usable = [p for p in pairs if p.how != "discarded"]
    if not usable:
        raise BadInput(
            "no pair of answers is left to judge: none could be brought to equal length. Allow more with --tolerance, "
            "or take them as they are with --no-align"
        )
    rng = np.random.default_rng(seed)
    rows = [usable[int(i)] for i in rng.permutation(len(usable))][:limit]
    turned = _turned(rows, rng)
    told = "\n".join(f"{p.question}\t{p.a}\t{p.b}\t{t}" for p, t in zip(rows, turned, strict=True))
    mark = hashlib.blake2b(f"{seed}\n{told}".encode(), digest_size=3).hexdigest()
    key, lines = [], []
    for n, (pair, back) in enumerate(zip(rows, turned, strict=True), 1):
        item = f"{mark}-{n:04d}"
        methods, texts = ((pair.b, pair.a), pair.texts[::-1]) if back else ((pair.a, pair.b), pair.texts)
        key.append({"item": item, "question": pair.question, "methods": list(methods)})
        lines.append([item, safe_cell(questions[pair.question]), *map(safe_cell, texts), "", ""])
    known = {str(row.get("item")) for row in study.lines(KEY)}
    study.append(KEY, [row for row in key if row["item"] not in known])
    written = io.StringIO()
    table = csv.writer(written, lineterminator="\r\n")
    table.writerow(COLUMNS)
    table.writerows(lines)
    try:
        # The mark in front has spreadsheets read it as UTF-8.
        with file.open("xb") as out:
            out.write(written.getvalue().encode("utf-8-sig", "replace"))
    except OSError as error:
        raise StorageFailed(
            f"{file} cannot be written: {error.strerror}. Name another file with --sheet"
        ) from error
    return len(rows)


def read_marks(study: Study, file: Path, judge: str) -> Marks:
    """Read the marks of a sheet.

    Rows may be sorted, columns moved, added or left out but for `item` and `better`; the separator may be a comma, a
    semicolon or a tab. Rows without a mark are counted, not judged.

    Args:
        study: with the key of the sheet.
        file: the sheet.
        judge: who filled it in.

    Returns:
        Judgements by the protocol `people`, in the order of the rows; they are not yet in the study.

    Raises:
        BadInput: if a line cannot be read, naming it.
    """
    if not judge.strip():
        raise BadInput("--judge is empty. Name the person who filled the sheet in, such as --judge anna")
    key = {str(row.get("item")): row for row in study.lines(KEY)}
    if not key:
        raise BadInput(
            f"the study at {study.folder} has given out no sheet. Make one with: polygraph eval sheet --output "
            f"{study.folder} --sheet FILE.csv"
        )
    found: dict[str, Judgement] = {}
    faults, blank = [], 0
    for line, item, mark in _rows(file):
        scores = _scores(mark)
        row = key.get(item)
        if not mark:
            blank += 1
        elif row is None:
            faults.append(f"line {line}: the item {item[:40]!r} is of no sheet of this study")
        elif scores is None:
            faults.append(f"line {line}: better is {mark[:40]!r}, and not 1, 2 or tie")
        else:
            made = Judgement(
                protocol=PEOPLE,
                question=str(row["question"]),
                methods=tuple(str(m) for m in row["methods"]),
                judge=judge.strip(),
                scores={"overall": scores},
            )
            if item in found and found[item] != made:
                faults.append(f"line {line}: the item {item} was marked otherwise before")
            found[item] = made
    if faults:
        more = f"; and {len(faults) - _TOLD} more" if len(faults) > _TOLD else ""
        raise BadInput(
            f"{file} has marks that cannot be read: {'; '.join(faults[:_TOLD])}{more}. Mend the lines"
        )
    return Marks(judgements=tuple(found.values()), blank=blank)


# --- parts --------------------------------------------------------------------------------------------


def _turned(rows: Sequence[Aligned], rng: np.random.Generator) -> list[bool]:
    """Whether the second method's answer stands first: in half of the rows of each pair of methods."""
    groups: dict[tuple[str, str], list[int]] = {}
    for i, pair in enumerate(rows):
        groups.setdefault((pair.a, pair.b), []).append(i)
    back = [False] * len(rows)
    for _, places in sorted(groups.items()):
        # Of an odd number the one left over is turned by chance.
        half = len(places) // 2 + (len(places) % 2 and int(rng.integers(2)))
        for i in rng.permutation(len(places))[:half]:
            back[places[int(i)]] = True
    return back


def _rows(file: Path) -> Iterable[tuple[int, str, str]]:
    """Line, item and mark of every row that is not empty."""
    text = _text(file)
    head = text[: text.find("\n")] if "\n" in text else text
    separator = max(",;\t", key=head.count)
    table = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        names = [name.strip().lower() for name in next(table, [])]
        missing = [name for name in ("item", "better") if name not in names]
        if missing:
            raise BadInput(
                f"{file}, line 1: there is no column {' and no column '.join(missing)}. The first line must hold the "
                f"names of the columns: {', '.join(COLUMNS)}"
            )
        item, better = names.index("item"), names.index("better")
        for row in table:
            if any(cell.strip() for cell in row):
                cells = [*row, *[""] * len(names)]
                yield table.line_num, cells[item].strip().lstrip("'"), cells[better].strip()
    except csv.Error as error:
        raise BadInput(f"{file}, line {table.line_num}: {error}. Save the sheet as CSV again") from error


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > _MAX_BYTES:
            raise BadInput(f"{file} is over {_MAX_BYTES:,} bytes and cannot be a sheet of this study")
        raw = file.read_bytes()
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}. Name the sheet with --sheet") from error
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16", "replace")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Older spreadsheets; what is read (items and marks) is plain ASCII in any case.
        return raw.decode("cp1252", "replace")


def _scores(mark: str) -> tuple[float, float] | None:
    said = mark.strip(" .'\"").lower()
    for names, scores in ((_FIRST, (1.0, 0.0)), (_SECOND, (0.0, 1.0)), (_TIE, (0.5, 0.5))):
        if said in names:
            return scores
    return None
