"""The results file of a retrieval measurement: one line per question and method, from which a later run resumes."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from types import TracebackType
from typing import Self

from polygraph.errors import BadInput, StorageFailed
from polygraph.evaluate.records import Provenance, QuestionResult, record_reader

_PREFIX = b'{"question": "'
"""The beginning of every line of a results file."""


class ResultFile:
    """A JSON Lines file that grows as questions are measured; results in it are not measured again.

    A process that is killed loses at most the line being written, which is truncated when the file is opened again.
    Results are matched by key, so lines of another index, method or question stay and are not used.

    Raises:
        BadInput: if the path is a folder, or the file contains anything else.
        StorageFailed: if the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.results: dict[str, QuestionResult] = {}
        """Results without error, by key; of duplicates the last."""
        try:
            size = _read(path, self.results) if path.exists() else 0
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab")
            self._file.truncate(size)
        except OSError as problem:
            raise StorageFailed(
                f"{path} cannot be written: {problem.strerror or problem}. Name another file with --output"
            ) from problem

    def add(self, result: QuestionResult) -> None:
        """Append a result and flush it to the operating system.

        Raises:
            StorageFailed: if the file cannot be written.
        """
        line = json.dumps(asdict(result), ensure_ascii=False) + "\n"
        try:
            self._file.write(line.encode("utf-8", "surrogatepass"))
            self._file.flush()
        except OSError as problem:
            raise StorageFailed(
                f"{self.path} cannot be written: {problem.strerror or problem}. "
                "Free disk space and run the command again"
            ) from problem

    def close(self) -> None:
        """Sync the file to disk and close it."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def stale_results(
    stored: Mapping[str, QuestionResult], current: Sequence[QuestionResult]
) -> tuple[int, dict[str, int]]:
    """Count the stored results that a run did not use, and what changed for those that it measured again.

    Args:
        stored: results of the file, by key.
        current: results of the run.

    Returns:
        The number of unused results; and by part of the provenance how many differ in it.
    """
    keys = {r.rests_on.key for r in current}
    unused = [r for key, r in stored.items() if key not in keys]
    now = {(r.question, r.method): r.rests_on for r in current}
    pairs = [(r.rests_on, now[r.question, r.method]) for r in unused if (r.question, r.method) in now]
    parts = [f.name for f in fields(Provenance)]
    changed = {part: sum(getattr(old, part) != getattr(new, part) for old, new in pairs) for part in parts}
    return len(unused), {part: n for part, n in changed.items() if n}


def _read(path: Path, results: dict[str, QuestionResult]) -> int:
    """Read the results of a file into `results`; return the size of its complete lines in bytes."""
    if path.is_dir():
        raise BadInput(f"--output {path} is a folder. Name a file, such as {path / 'retrieval.jsonl'}")
    size = 0
    read_result = record_reader(QuestionResult)
    with path.open("rb") as opened:
        for number, raw in enumerate(opened, 1):
            try:
                result = read_result(json.loads(raw.decode("utf-8", "surrogatepass")))
            except ValueError as problem:
                if not raw.endswith(b"\n") and _PREFIX.startswith(raw[: len(_PREFIX)]) and _is_truncated(raw):
                    break  # the line being written when the run was stopped
                raise _foreign(path, number) from problem
            if not raw.endswith(b"\n"):
                break
            size += len(raw)
            if not result.error:
                results[result.rests_on.key] = result
    return size


def _is_truncated(raw: bytes) -> bool:
    """Return whether a line ends before its JSON does; complete JSON belongs to another program."""
    try:
        json.loads(raw.decode("utf-8", "replace"))
    except ValueError:
        return True
    return False


def _foreign(path: Path, number: int) -> BadInput:
    return BadInput(
        f"{path} contains something other than results of `polygraph eval retrieval` (line {number}) and was not "
        "changed. Name another file with --output"
    )
