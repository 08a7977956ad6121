"""The folder of a study: each step is a JSON Lines file, so that it can be repeated, resumed or edited by hand."""

import json
import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

from polygraph.errors import BadInput, StorageFailed, other_format, quoted
from polygraph.evaluate.judging.judgements import Judgement
from polygraph.evaluate.judging.length_alignment import AlignedPair
from polygraph.evaluate.questions.file import Question, question_line, read_questions
from polygraph.evaluate.records import StudyAnswer, record_reader
from polygraph.records import Json, Usage
from polygraph.store.atomic_files import write_file

T = TypeVar("T")
MANIFEST = "study.json"
FORMAT = 3
"""Raised with every change of what is written: no other is read."""
_MAX_LINE = 16_000_000
"""In characters."""


class StudyFolder:
    """A folder with ``study.json``, ``questions.jsonl``, ``answers.jsonl``, ``aligned.jsonl``, ``judgements.jsonl``.

    Lines are appended as soon as they exist, and a line truncated by a crash is written again. Appending is safe from
    several threads of one process. A finished step sorts its lines, so that the same study gives the same bytes; only
    ``usage.jsonl``, the cost of each answer, depends on how the study was run.

    Args:
        path: of the folder; created if it does not exist.

    Raises:
        BadInput: if the folder contains anything else, or a study of another format.
        StorageFailed: if the folder cannot be created.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        if path.exists() and not path.is_dir():
            raise BadInput(f"{path} is a file. Name a folder for the study with --output")
        if path.is_dir() and any(path.iterdir()) and not (path / MANIFEST).is_file():
            raise BadInput(
                f"the folder {path} contains something that is not a study. Name another one with --output"
            )
        self.settings()  # which must be readable
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageFailed(
                f"the folder {path} cannot be created: {error.strerror}. Name another with --output"
            ) from error

    # --- settings -----------------------------------------------------------------------------------

    def settings(self) -> dict[str, Json]:
        """Return the settings of the steps so far; empty before the first.

        Raises:
            BadInput: if their file is damaged or of another format.
        """
        path = self.path / MANIFEST
        if not path.is_file():
            return {}
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise BadInput(f"{path} is not JSON: {error}. Restore it or start another study") from error
        if not isinstance(found, dict) or "polygraph_study" not in found:
            raise BadInput(f"{path} does not belong to a study. Start another with --output")
        if found["polygraph_study"] != FORMAT:
            fix = "Start another with --output"
            raise BadInput(other_format(f"the study at {self.path}", found["polygraph_study"], FORMAT, fix))
        return found

    def fix_settings(self, step: str, values: Mapping[str, Json]) -> None:
        """Record the settings of a step; once recorded, they cannot change.

        Raises:
            BadInput: if the step was run with other settings before; the error lists them.
        """
        recorded = self.settings() or {"polygraph_study": FORMAT}
        before = recorded.get(step)
        now: dict[str, Json] = json.loads(json.dumps(values))
        if isinstance(before, dict) and before != now:
            changed = sorted(key for key in {*before, *now} if before.get(key) != now.get(key))
            listed = "; ".join(f"{key} {_was(before, key)}, {_is(now, key)}" for key in changed)
            raise BadInput(
                f"the {step} of the study at {self.path} were made with other settings ({listed}). Use the same "
                "settings, or another folder with --output"
            )
        if before is None:
            recorded[step] = now
            text = json.dumps(recorded, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
            self._replace(self.path / MANIFEST, text.encode("utf-8", "replace"))

    # --- lines --------------------------------------------------------------------------------------

    def file(self, name: str) -> Path:
        """Return the path of a JSON Lines file."""
        return self.path / f"{name}.jsonl"

    def append(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append lines to a file and sync it to disk."""
        with self._lock:
            try:
                with self.file(name).open("a+b") as file:
                    size = file.seek(0, os.SEEK_END)
                    if size:
                        file.seek(size - 1)
                        if file.read(1) != b"\n":
                            # A line truncated by a crash stays a line of its own, which `lines` skips.
                            file.write(b"\n")
                    file.write(_encode(rows))
                    file.flush()
                    os.fsync(file.fileno())
            except OSError as error:
                raise _unwritable(self.file(name), error) from error

    def write(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write a whole file, unless it already has these lines."""
        text = _encode(rows)
        with self._lock:
            if not (self.file(name).is_file() and self.file(name).read_bytes() == text):
                self._replace(self.file(name), text)

    def lines(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the lines of a file, skipping those that are not JSON, as after a crash."""
        path = self.file(name)
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

    def _replace(self, path: Path, text: bytes) -> None:
        """Replace a file atomically."""
        try:
            write_file(path, [text])
        except OSError as error:
            raise _unwritable(path, error) from error

    # --- questions ----------------------------------------------------------------------------------

    @property
    def has_questions(self) -> bool:
        """Whether the questions of the study exist."""
        return self.file("questions").is_file()

    def questions(self) -> list[Question]:
        """Return the questions.

        Raises:
            BadInput: if there are none yet.
        """
        if not self.has_questions:
            raise BadInput(
                f"the study at {self.path} has no questions. Generate some with: polygraph eval questions "
                f"--output {quoted(self.path)}, or use your own with --questions FILE.jsonl"
            )
        return read_questions(self.file("questions"))

    def write_questions(self, questions: Sequence[Question]) -> None:
        """Write the questions atomically."""
        self.write("questions", [question_line(q) for q in questions])

    def import_questions(self, questions: Sequence[Question]) -> list[Question]:
        """Use the user's own questions; no index is needed.

        The same questions may be imported again with other gold, which replaces the earlier gold: answers do not depend
        on it. They keep the ids that answers refer to.

        Returns:
            The questions with the ids of the study.

        Raises:
            BadInput: if the study has other questions.
        """
        if self.has_questions:
            known = self.questions()
            if [q.question for q in known] != [q.question for q in questions]:
                raise BadInput(
                    f"the study at {self.path} has other questions. Name another folder with --output"
                )
            questions = [replace(q, id=old.id) for q, old in zip(questions, known, strict=True)]
        else:
            self.fix_settings("questions", {"kind": "own", "n": len(questions)})
        self.write_questions(questions)
        return list(questions)

    def add_question(self, text: str) -> Question:
        """Add a question that somebody asked, unless the study has it, and return it.

        Raises:
            BadInput: if the study was begun with generated or imported questions, whose number is part of its design.
        """
        self.fix_settings("questions", {"kind": "asked"})
        known = self.questions() if self.has_questions else []
        for question in known:
            if question.question == text:
                return question
        added = Question(id=f"q{len(known) + 1}", question=text)
        self.write_questions([*known, added])
        return added

    # --- answers and judgements ---------------------------------------------------------------------

    def add_answer(self, answer: StudyAnswer) -> None:
        """Append an answer and its usage."""
        identity = {"question": answer.question, "method": answer.method, "trial": answer.trial}
        usage = asdict(answer.usage) if answer.usage is not None else {}
        self.append("usage", [{**identity, "date": answer.date, **usage}])
        self.append("answers", [answer.as_json()])

    def answers(self, *, all_trials: bool = False) -> list[StudyAnswer]:
        """Return the answers so far, without duplicates, in the order written.

        Args:
            all_trials: also return the answers that later trials have of their own; default: only those of trial 0.
        """
        usage = {
            (str(row.get("question")), str(row.get("method")), row.get("trial", 0)): row
            for row in self.lines("usage")
        }
        read_usage = record_reader(Usage)
        found = _latest(self._records("answers", StudyAnswer), lambda a: (*a.key, a.trial))
        return [
            replace(a, usage=read_usage(row) if "calls" in row else None, date=str(row.get("date", "")))
            for a in found
            if all_trials or a.trial == 0
            for row in [usage.get((*a.key, a.trial), {})]
        ]

    def forget_answers(self, keys: Collection[tuple[str, str]]) -> None:
        """Remove answers, given by question and method, and all that rests on them.

        That is aligned pairs, judgements, and rows of sheets for human raters.
        """
        wanted = set(keys)
        for name in (
            "usage",
            "judgements",
            "aligned",
            "sheets",
            "answers",
        ):  # answers last: a crash leaves no gap
            if self.file(name).is_file():
                rows = list(self.lines(name))
                self.write(name, [row for row in rows if not wanted & _answer_keys(row)])

    def add_judging_date(self, protocol: str, judge: str, date: str) -> None:
        """Record a day on which a judge judged."""
        self.append("usage", [{"protocol": protocol, "judge": judge, "date": date}])

    def judging_dates(self, protocol: str) -> list[str]:
        """Return the days on which answers were judged by a protocol, in order."""
        rows = (row for row in self.lines("usage") if row.get("protocol") == protocol)
        return sorted({str(row["date"]) for row in rows if row.get("date")})

    def aligned(self) -> list[AlignedPair]:
        """Return the aligned pairs so far, without duplicates."""
        return _latest(self._records("aligned", AlignedPair), lambda p: (p.question, p.a, p.b, p.trial))

    def judgements(self) -> list[Judgement]:
        """Return the judgements so far, without duplicates."""
        return _latest(self._records("judgements", Judgement), lambda j: j.key)

    def _records(self, name: str, kind: type[T]) -> Iterator[T]:
        read = record_reader(kind)
        for row in self.lines(name):
            try:
                yield read(row)
            except ValueError as error:
                raise BadInput(
                    f"{self.file(name)} has an invalid line: {error}. Correct or remove it"
                ) from error


def is_study(path: Path) -> bool:
    """Tell whether a folder holds a study of the format that is read."""
    if not (path / MANIFEST).is_file():
        return False
    try:
        StudyFolder(path)
    except BadInput:
        return False
    return True


def open_study(path: Path) -> StudyFolder:
    """Open an existing study.

    Raises:
        BadInput: if there is none, it has another format, or the folder contains something else.
    """
    if not (path / MANIFEST).is_file():
        raise BadInput(
            f"there is no study at {path}. Name one with --output, or start it with: polygraph eval questions "
            f"--output {quoted(path)}"
        )
    return StudyFolder(path)


def _encode(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8", "replace")


def _unwritable(path: Path, error: OSError) -> StorageFailed:
    return StorageFailed(
        f"{path} cannot be written: {error.strerror}. Free disk space and run the command again"
    )


def _latest(records: Iterable[T], key: Callable[[T], Any]) -> list[T]:
    """Return each record once, at the position of its first line and with the content of its last."""
    found: dict[Any, T] = {}
    for record in records:
        found[key(record)] = record
    return list(found.values())


def _answer_keys(row: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Return question and method of the answers that a line of any file rests on."""
    methods = row.get("methods")
    listed = methods if isinstance(methods, list) else [row.get("method"), row.get("a"), row.get("b")]
    return {(str(row.get("question")), str(method)) for method in listed if method is not None}


def _was(before: Mapping[str, Json], key: str) -> str:
    return f"was {before[key]!r}" if key in before else "was not recorded"


def _is(now: Mapping[str, Json], key: str) -> str:
    return f"is {now[key]!r}" if key in now else "is not recorded"
