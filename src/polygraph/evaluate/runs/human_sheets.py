"""Human raters: blinded sheets of answer pairs, and the ratings read from them.

A rater sees each pair once, so the order cannot be swapped for the same rater. Instead, half of the rows of each pair
of methods are swapped, so that position bias cancels out over questions.
"""

import csv
import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polygraph.errors import BadInput, StorageFailed, quoted
from polygraph.evaluate.judging.judgements import Judgement
from polygraph.evaluate.judging.length_alignment import AlignedPair
from polygraph.evaluate.judging.pairwise import HUMAN_PROTOCOL
from polygraph.evaluate.runs.study_folder import StudyFolder

COLUMNS = ("item", "question", "answer 1", "answer 2", "better", "comment")
"""Columns of a sheet. `better` is 1, 2 or tie; `comment` is ignored."""
KEY = "sheets"
"""Name of the study's file with the methods behind each item."""
_FORMULA = frozenset("=+-@\t\r＝＋－＠")
_FIRST = frozenset({"1", "a", "first", "answer 1", "answer1", "1.0", "1,0", "left"})
_SECOND = frozenset({"2", "b", "second", "answer 2", "answer2", "2.0", "2,0", "right"})
_TIE = frozenset({"tie", "t", "0", "0.0", "=", "equal", "same", "both", "neither", "draw", "none", "1=2"})
_SHOWN_PROBLEMS = 5
"""Problems that an error message lists."""
_MAX_BYTES = 200_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    """Ratings read from a sheet."""

    judgements: tuple[Judgement, ...]
    blank: int
    """Rows without a rating."""


def safe_cell(text: str) -> str:
    """Escape a text that a spreadsheet would take for a formula by a leading apostrophe.

    >>> safe_cell("=HYPERLINK(1)"), safe_cell("- first"), safe_cell("a = b")
    ("'=HYPERLINK(1)", "'- first", 'a = b')
    """
    return f"'{text}" if text[:1] in _FORMULA or text.lstrip()[:1] in _FORMULA else text


def check_new_sheet(file: Path) -> None:
    """Check that a sheet would not overwrite another.

    Raises:
        BadInput: if the file exists.
    """
    if file.exists():
        raise BadInput(f"{file} already exists and may contain ratings. Name another file with --sheet")


def write_sheet(
    study: StudyFolder,
    questions: Mapping[str, str],
    pairs: Sequence[AlignedPair],
    file: Path,
    *,
    seed: int = 0,
    limit: int | None = None,
) -> int:
    """Write pairs of answers in random order without the names of the methods, and the key to the study.

    Identical answers are rated as a tie already.

    Args:
        study: gets the key, in ``sheets.jsonl``.
        questions: text by id.
        pairs: as judges see them; discarded ones are left out.
        file: a new file.
        seed: of the order of rows and sides; another seed gives another sheet of the same pairs.
        limit: maximum number of rows, sampled with the seed.

    Returns:
        Number of rows.

    Raises:
        BadInput: if the file exists, or there is nothing to judge.
        StorageFailed: if the file cannot be written.
    """
    check_new_sheet(file)
    usable = [p for p in pairs if p.how != "discarded"]
    if not usable:
        raise BadInput(
            "no pairs of answers are left to judge: none could be aligned in length. Raise --tolerance, or use the "
            "answers as they are with --no-align"
        )
    rng = np.random.default_rng(seed)
    rows = [usable[int(i)] for i in rng.permutation(len(usable))][:limit]
    swapped = _balanced_swaps(rows, rng)
    content = "\n".join(f"{p.question}\t{p.a}\t{p.b}\t{s}" for p, s in zip(rows, swapped, strict=True))
    sheet_id = hashlib.blake2b(f"{seed}\n{content}".encode(), digest_size=3).hexdigest()
    key, lines = [], []
    for n, (pair, swap) in enumerate(zip(rows, swapped, strict=True), 1):
        item = f"{sheet_id}-{n:04d}"
        methods, texts = ((pair.b, pair.a), pair.texts[::-1]) if swap else ((pair.a, pair.b), pair.texts)
        rating = "tie" if texts[0] == texts[1] else ""
        key.append({"item": item, "question": pair.question, "methods": list(methods)})
        lines.append([item, safe_cell(questions[pair.question]), *map(safe_cell, texts), rating, ""])
    known = {str(row.get("item")) for row in study.lines(KEY)}
    study.append(KEY, [row for row in key if row["item"] not in known])
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows(lines)
    try:
        # Spreadsheets need the byte order mark to recognise UTF-8.
        with file.open("xb") as out:
            out.write(table.getvalue().encode("utf-8-sig", "replace"))
    except OSError as error:
        raise StorageFailed(
            f"{file} cannot be written: {error.strerror}. Name another file with --sheet"
        ) from error
    return len(rows)


def read_ratings(study: StudyFolder, file: Path, rater: str) -> Ratings:
    """Read the ratings of a sheet.

    Rows may be sorted; columns may be moved, added or removed except `item` and `better`; the separator may be a comma,
    a semicolon or a tab. Rows without a rating are counted.

    Args:
        study: has the key of the sheet.
        file: the sheet.
        rater: name of the person who filled it in.

    Returns:
        Judgements by the protocol `people`, in the order of the rows. They are not added to the study.

    Raises:
        BadInput: if a row cannot be read; the error lists the lines.
    """
    if not rater.strip():
        raise BadInput("--judge is empty. Name the person who filled in the sheet, such as --judge anna")
    key = {str(row.get("item")): row for row in study.lines(KEY)}
    if not key:
        raise BadInput(
            f"the study at {study.path} has no sheets. Write one with: polygraph eval sheet "
            f"--output {quoted(study.path)} --sheet FILE.csv"
        )
    found: dict[str, Judgement] = {}
    problems, blank = [], 0
    for line, item, rating in _rows(file):
        scores = _scores(rating)
        row = key.get(item)
        if not rating:
            blank += 1
        elif row is None:
            problems.append(f"line {line}: the item {item[:40]!r} is not on any sheet of this study")
        elif scores is None:
            problems.append(f"line {line}: better is {rating[:40]!r} instead of 1, 2 or tie")
        else:
            made = Judgement(
                protocol=HUMAN_PROTOCOL,
                question=str(row["question"]),
                methods=tuple(str(m) for m in row["methods"]),
                judge=rater.strip(),
                scores={"overall": scores},
            )
            if item in found and found[item] != made:
                problems.append(f"line {line}: the item {item} has another rating before")
            found[item] = made
    if problems:
        more = f"; and {len(problems) - _SHOWN_PROBLEMS} more" if len(problems) > _SHOWN_PROBLEMS else ""
        raise BadInput(
            f"{file} has ratings that cannot be read: {'; '.join(problems[:_SHOWN_PROBLEMS])}{more}. Correct these "
            "lines"
        )
    return Ratings(judgements=tuple(found.values()), blank=blank)


# --- parts --------------------------------------------------------------------------------------------


def _balanced_swaps(rows: Sequence[AlignedPair], rng: np.random.Generator) -> list[bool]:
    """Return which rows are swapped: half of the rows of each pair of methods."""
    groups: dict[tuple[str, str], list[int]] = {}
    for i, pair in enumerate(rows):
        groups.setdefault((pair.a, pair.b), []).append(i)
    swapped = [False] * len(rows)
    for _, members in sorted(groups.items()):
        # The last row of an odd number is swapped at random.
        n = len(members) // 2 + (int(rng.integers(2)) if len(members) % 2 else 0)
        for i in rng.permutation(len(members))[:n]:
            swapped[members[int(i)]] = True
    return swapped


def _rows(file: Path) -> Iterable[tuple[int, str, str]]:
    """Yield line number, item and rating of each row that is not empty."""
    text = _text(file)
    head = text[: text.find("\n")] if "\n" in text else text
    separator = max(",;\t", key=head.count)
    table = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        names = [name.strip().lower() for name in next(table, [])]
        missing = [name for name in ("item", "better") if name not in names]
        if missing:
            raise BadInput(
                f"{file}, line 1: there is no column {' and no column '.join(missing)}. The first line must contain "
                f"the names of the columns: {', '.join(COLUMNS)}"
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
        # Older spreadsheets; the columns that are read (items and ratings) are ASCII in any case.
        return raw.decode("cp1252", "replace")


def _scores(rating: str) -> tuple[float, float] | None:
    normalised = rating.strip(" .'\"").lower()
    for spellings, scores in ((_FIRST, (1.0, 0.0)), (_SECOND, (0.0, 1.0)), (_TIE, (0.5, 0.5))):
        if normalised in spellings:
            return scores
    return None
