"""One question put to one method: what was measured, and the file that keeps it."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from polygraph.errors import BadInput, StorageFailed
from polygraph.evaluate.metrics.relevance import Found
from polygraph.evaluate.runs.provenance import NAMES
from polygraph.records import Usage

_BEGIN = b'{"question": "'
"""How every line of ours begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one method did with one question."""

    question: str
    """Id of the question."""
    method: str
    key: str = ""
    """Hash of everything that the result depends on, see `evaluate.grounds`."""
    rests_on: Mapping[str, str] = field(default_factory=dict)
    """The same part by part; empty in files of earlier releases."""
    found: Found = field(default_factory=Found)
    ranking: tuple[str, ...] = ()
    """First chunk ids, to look at."""
    n_ranked: int = 0
    """Length of the whole ranking."""
    n_evidence: int = 0
    """Pieces of evidence in the context."""
    context_tokens: int = 0
    ms: float = 0.0
    """Milliseconds of retrieval, the embedding of the question included."""
    cpu_ms: float | None = None
    """Milliseconds of processor time for the same, over all cores; None where other questions ran at the same time."""
    usage: Usage = field(default_factory=Usage)
    empty_because: str = ""
    error: str = ""
    """Why the question could not be measured."""

    def as_dict(self) -> dict[str, Any]:
        """As a line of the file."""
        return {
            "question": self.question,
            "method": self.method,
            "ranks": {
                "document": list(self.found.documents),
                "chunk": list(self.found.chunks),
                "answer": list(self.found.answer),
                "fact": list(self.found.facts),
            },
            "ranking": list(self.ranking),
            "ranked": self.n_ranked,
            "evidence": self.n_evidence,
            "context_tokens": self.context_tokens,
            "ms": self.ms,
            "cpu_ms": self.cpu_ms,
            "calls": self.usage.calls,
            "cached_calls": self.usage.cached_calls,
            "prompt_tokens": self.usage.prompt_tokens,
            "completion_tokens": self.usage.completion_tokens,
            "cost": self.usage.cost,
            "empty_because": self.empty_because,
            "error": self.error,
            "rests_on": dict(self.rests_on),
            "key": self.key,
        }

    @classmethod
    def from_dict(cls, line: Mapping[str, Any]) -> Self:
        """Read what `as_dict` gave; KeyError, TypeError or ValueError if it is something else."""
        ranks = {unit: tuple(_rank(r) for r in line["ranks"][unit]) for unit in line["ranks"]}
        return cls(
            question=str(line["question"]),
            method=str(line["method"]),
            key=str(line["key"]),
            rests_on={str(part): str(value) for part, value in dict(line.get("rests_on", {})).items()},
            found=Found(
                documents=ranks["document"],
                chunks=ranks["chunk"],
                answer=ranks["answer"],
                facts=ranks["fact"],
            ),
            ranking=tuple(map(str, line["ranking"])),
            n_ranked=int(line["ranked"]),
            n_evidence=int(line["evidence"]),
            context_tokens=int(line["context_tokens"]),
            ms=float(line["ms"]),
            cpu_ms=None if line.get("cpu_ms") is None else float(line["cpu_ms"]),
            usage=Usage(
                calls=int(line["calls"]),
                cached_calls=int(line["cached_calls"]),
                prompt_tokens=int(line["prompt_tokens"]),
                completion_tokens=int(line["completion_tokens"]),
                cost=None if line["cost"] is None else float(line["cost"]),
            ),
            empty_because=str(line["empty_because"]),
            error=str(line["error"]),
        )


def changes(kept: Mapping[str, Measured], asked: Sequence[Measured]) -> tuple[int, dict[str, int]]:
    """Count the results of a file that are not those of a run, and what has changed since where they were asked again.

    Args:
        kept: of the file, by key.
        asked: of the run.

    Returns:
        Their number; and by part of the grounds, in the order of these, how many were made on another.
    """
    keys = {m.key for m in asked}
    former = [m for key, m in kept.items() if key not in keys]
    now = {(m.question, m.method): m.rests_on for m in asked}
    pairs = [(m.rests_on, now[m.question, m.method]) for m in former if (m.question, m.method) in now]
    # A line without grounds was written by an earlier release: of it, only that is known.
    told = [(old or {**new, "code": ""}, new) for old, new in pairs]
    found = {part: sum(old.get(part) != new[part] for old, new in told) for part in NAMES}
    return len(former), {part: n for part, n in found.items() if n}


def _rank(value: Any) -> int | None:
    return None if value is None else int(value)


class MeasuredFile:
    """A file of JSON lines that grows as questions are measured; what is in it is not measured again.

    Killed at any moment, at most the line that was being written is lost: it is cut off when the file is opened again.
    A result belongs to a question by its key, so lines of another index, method or question do no harm: they stay, and
    are not counted.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kept: dict[str, Measured] = {}
        """Results without error, by key; of two with one key the later."""
        try:
            whole = _read(path, self.kept) if path.exists() else 0
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab")
            self._file.truncate(whole)
        except OSError as problem:
            raise StorageFailed(
                f"{path} cannot be written: {problem}. Name another file with --output"
            ) from problem

    def add(self, measured: Measured) -> None:
        """Append a result and hand it to the system."""
        line = json.dumps(measured.as_dict(), ensure_ascii=False) + "\n"
        try:
            self._file.write(line.encode("utf-8", "surrogatepass"))
            self._file.flush()
        except OSError as problem:
            raise StorageFailed(f"{self.path} cannot be written: {problem}. Make room and go on") from problem

    def close(self) -> None:
        """Make sure that the lines are on the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _read(path: Path, kept: dict[str, Measured]) -> int:
    """Take in what is there; return the length in bytes of the lines that are whole."""
    if path.is_dir():
        raise BadInput(f"--output {path} is a folder. Name a file, such as {path / 'retrieval.jsonl'}")
    whole = 0
    with path.open("rb") as opened:
        for number, raw in enumerate(opened, 1):
            try:
                measured = Measured.from_dict(json.loads(raw.decode("utf-8", "surrogatepass")))
            except (ValueError, KeyError, TypeError) as problem:
                if not raw.endswith(b"\n") and _BEGIN.startswith(raw[: len(_BEGIN)]) and _is_torn(raw):
                    break  # it was being written when the run was stopped
                raise _foreign(path, number) from problem
            if not raw.endswith(b"\n"):
                break
            whole += len(raw)
            if not measured.error:
                kept[measured.key] = measured
    return whole


def _is_torn(raw: bytes) -> bool:
    """Whether the line ends before its JSON does; a whole one is somebody else's."""
    try:
        json.loads(raw.decode("utf-8", "replace"))
    except ValueError:
        return True
    return False


def _foreign(path: Path, number: int) -> BadInput:
    return BadInput(
        f"{path} holds something else than results of `polygraph eval retrieval` (line {number}), and is left "
        "as it is. Name another file with --output"
    )
