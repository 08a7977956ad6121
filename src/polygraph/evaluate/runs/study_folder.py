"""The folder of a study: every step a file of JSON lines, so that each can be redone, resumed or done by hand."""

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, get_args

from polygraph.errors import BadInput, StorageFailed
from polygraph.evaluate.judging.judgements import Judgement
from polygraph.evaluate.judging.length_alignment import Aligned, How
from polygraph.records import Answer, Json

T = TypeVar("T")
MANIFEST = "study.json"
FORMAT = 1
_USAGE = ("calls", "cached_calls", "prompt_tokens", "completion_tokens", "cached_tokens", "seconds", "cost")
_MAX_LINE = 16_000_000
"""Characters of one line that is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyAnswer:
    """One method's answer to one question, as it stands in ``answers.jsonl``."""

    question: str
    """Id of the question."""
    method: str
    text: str
    refused: bool
    extractive: bool
    citations: tuple[Mapping[str, Json], ...] = ()
    evidence: tuple[Mapping[str, Json], ...] = ()
    """``kind``, ``id``, ``document``, ``score``, ``why`` of each piece."""
    context: str = ""
    """What it was written from: a shorter answer is written again from it."""
    usage: Mapping[str, Json] = field(default_factory=dict)
    """What it cost; the keys are those of `_USAGE`, cost in US dollars or None."""
    notes: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """What makes it one of a kind in a study."""
        return (self.question, self.method)

    def as_json(self) -> dict[str, Any]:
        """For a line of ``answers.jsonl``."""
        row = asdict(self)
        del row["usage"]
        return row

    @classmethod
    def of(cls, question: str, method: str, answer: Answer) -> "StudyAnswer":
        """What a study keeps of an answer."""
        usage = answer.usage
        return cls(
            question=question,
            method=method,
            text=answer.text,
            refused=answer.refused,
            extractive=answer.extractive,
            citations=tuple(
                {"n": c.n, "document": c.document, "chunk": c.chunk, "start": c.start, "end": c.end}
                for c in answer.citations
            ),
            evidence=tuple(
                {"kind": e.kind, "id": e.id, "document": e.document, "score": e.score, "why": e.why}
                for e in answer.retrieval.evidence
            ),
            context=answer.retrieval.context,
            usage={name: getattr(usage, name) for name in _USAGE},
            notes=answer.notes,
        )


class Study:
    """A folder with ``study.json``, ``questions.jsonl``, ``answers.jsonl``, ``aligned.jsonl``, ``judgements.jsonl``.

    Lines are appended as soon as they are known; a line that a crash cut off is written again. Appending is safe
    from several threads of one process. A finished step puts its lines in order, so that the same study gives the
    same bytes; only ``usage.jsonl``, what each answer cost, tells of how it was run.

    Args:
        folder: made if it is not there.

    Raises:
        BadInput: if it holds something else.
        StorageFailed: if it cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        if folder.exists() and not folder.is_dir():
            raise BadInput(f"{folder} is a file. Name a folder for the study with --output")
        if folder.is_dir() and any(folder.iterdir()) and not (folder / MANIFEST).is_file():
            raise BadInput(
                f"the folder {folder} holds something that is not a study. Name another one with --output"
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageFailed(
                f"the folder {folder} cannot be made: {error.strerror}. Name another with --output"
            ) from error

    # --- settings -----------------------------------------------------------------------------------

    def settings(self) -> dict[str, Json]:
        """What the steps were run with so far; empty before the first."""
        path = self.folder / MANIFEST
        if not path.is_file():
            return {}
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise BadInput(f"{path} is not JSON: {error}. Put it back or begin another study") from error
        if not isinstance(found, dict) or found.get("polygraph_study") != FORMAT:
            raise BadInput(
                f"{path} is not of a study that this version reads (format {FORMAT}). Begin another with --output"
            )
        return found

    def settle(self, step: str, values: Mapping[str, Json]) -> None:
        """Record what a step runs with; a step that has results keeps its settings.

        Raises:
            BadInput: if it was run with others before, naming them.
        """
        known = self.settings() or {"polygraph_study": FORMAT}
        before = known.get(step)
        now: dict[str, Json] = json.loads(json.dumps(values))
        if isinstance(before, dict) and before != now:
            changed = sorted(key for key in {*before, *now} if before.get(key) != now.get(key))
            told = "; ".join(f"{key} was {before.get(key)!r}, is {now.get(key)!r}" for key in changed)
            raise BadInput(
                f"the study at {self.folder} has {step} made with other settings ({told}). Use the former, or "
                "another folder with --output"
            )
        if before is None:
            known[step] = now
            text = json.dumps(known, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
            self._replace(self.folder / MANIFEST, text.encode("utf-8", "replace"))

    # --- lines --------------------------------------------------------------------------------------

    def path(self, name: str) -> Path:
        """The file of one kind of line."""
        return self.folder / f"{name}.jsonl"

    def append(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add lines to a file and make sure that they are on the disk."""
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        with self._lock:
            try:
                with self.path(name).open("a+b") as file:
                    size = file.seek(0, os.SEEK_END)
                    if size:
                        file.seek(size - 1)
                        if file.read(1) != b"\n":
                            file.write(
                                b"\n"
                            )  # what a crash cut off stays a line of its own, and is passed over
                    file.write(text.encode("utf-8", "replace"))
                    file.flush()
                    os.fsync(file.fileno())
            except OSError as error:
                raise StorageFailed(
                    f"{self.path(name)} cannot be written: {error.strerror}. Make room and go on"
                ) from error

    def put_in_order(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write a file anew, if its lines are not these."""
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8", "replace")
        with self._lock:
            if not (self.path(name).is_file() and self.path(name).read_bytes() == text):
                self._replace(self.path(name), text)

    def _replace(self, path: Path, text: bytes) -> None:
        """Write a file whole or not at all."""
        temporary = path.with_suffix(".tmp")
        try:
            with temporary.open("wb") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError as error:
            raise StorageFailed(f"{path} cannot be written: {error.strerror}. Make room and go on") from error

    def lines(self, name: str) -> Iterator[dict[str, Any]]:
        """The lines of a file; one that is not JSON, as after a crash, is passed over."""
        path = self.path(name)
        if not path.is_file():
            return
        with path.open(encoding="utf-8", errors="replace") as file:
            while line := file.readline(_MAX_LINE):
                try:
                    row = json.loads(line)
                except ValueError:
                    continue
                if isinstance(row, dict):
                    yield row

    def add_answer(self, answer: StudyAnswer) -> None:
        """Keep an answer, and what it cost."""
        self.append("usage", [{"question": answer.question, "method": answer.method, **answer.usage}])
        self.append("answers", [answer.as_json()])

    def answers(self) -> list[StudyAnswer]:
        """Answers so far, each once, in the order written."""
        cost = {(str(row.get("question")), str(row.get("method"))): row for row in self.lines("usage")}
        found = _last(self._records("answers", _answer), lambda a: a.key)
        return [
            replace(a, usage={k: v for k, v in cost.get(a.key, {}).items() if k in _USAGE}) for a in found
        ]

    def aligned(self) -> list[Aligned]:
        """Aligned pairs so far."""
        return _last(self._records("aligned", _aligned), lambda p: (p.question, p.a, p.b))

    def judgements(self) -> list[Judgement]:
        """Judgements so far."""
        return _last(self._records("judgements", Judgement.from_json), lambda j: j.key)

    def _records(self, name: str, read: Callable[[Mapping[str, Any]], T]) -> Iterator[T]:
        for row in self.lines(name):
            try:
                yield read(row)
            except (KeyError, TypeError, ValueError) as error:
                raise BadInput(
                    f"{self.path(name)} holds a line that is not as it must be: {error}. Mend it or take it out"
                ) from error


def existing(folder: Path) -> Study:
    """A study that was begun.

    Raises:
        BadInput: if there is none, or the folder holds something else.
    """
    if not (folder / MANIFEST).is_file():
        raise BadInput(
            f"there is no study at {folder}. Name one with --output, or begin it with: polygraph eval questions "
            f"--output {folder}"
        )
    return Study(folder)


def _last(records: Iterable[T], key: Callable[[T], Any]) -> list[T]:
    """Each record once, in the order of its first appearance; a later line counts."""
    found: dict[Any, T] = {}
    for record in records:
        found[key(record)] = record
    return list(found.values())


def _answer(row: Mapping[str, Any]) -> StudyAnswer:
    return StudyAnswer(
        question=str(row["question"]),
        method=str(row["method"]),
        text=str(row["text"]),
        refused=bool(row.get("refused", False)),
        extractive=bool(row.get("extractive", False)),
        citations=_objects(row.get("citations")),
        evidence=_objects(row.get("evidence")),
        context=str(row.get("context", "")),
        notes=tuple(str(n) for n in row.get("notes") or ()),
    )


def _aligned(row: Mapping[str, Any]) -> Aligned:
    first, second = row["texts"]
    words = row["words"]
    how = row["how"]
    if how not in get_args(How):
        raise ValueError(f"how is {how!r}")
    return Aligned(
        question=str(row["question"]),
        a=str(row["a"]),
        b=str(row["b"]),
        texts=(str(first), str(second)),
        words=(int(words[0]), int(words[1])),
        attempts=int(row.get("attempts", 0)),
        how=how,
    )


def _objects(value: object) -> tuple[Mapping[str, Json], ...]:
    items: Sequence[object] = value if isinstance(value, list) else []
    return tuple(item for item in items if isinstance(item, dict))
