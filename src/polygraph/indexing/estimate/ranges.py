"""Figures with a range, and how they are kept."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from polygraph.models.calls import LedgerRow
from polygraph.models.prices import Price

FILE_NAME = "estimate.json"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Range:
    """A figure that is not known exactly."""

    low: float
    mid: float
    """What to expect."""
    high: float

    @classmethod
    def exactly(cls, value: float) -> "Range":
        """A figure that is known."""
        return cls(value, value, value)

    @classmethod
    def about(cls, value: float, error: float, least: float = 0.0) -> "Range":
        """A figure with a relative error, never below `least`.

        >>> Range.about(100, 0.2, least=90)
        Range(low=90, mid=100, high=120.0)
        """
        return cls(max(least, value * (1 - error)), max(least, value), max(least, value * (1 + error)))

    @classmethod
    def of(cls, values: Iterable[float]) -> "Range":
        """From low, mid and high guesses in any order: the mid one stays, the others bound it."""
        low, mid, high = values
        return cls(min(low, mid, high), mid, max(low, mid, high))

    def __add__(self, other: "Range") -> "Range":
        """Sum; low with low and high with high, since errors of one corpus go together."""
        return Range(self.low + other.low, self.mid + other.mid, self.high + other.high)

    def rounded(self) -> "Range":
        """Whole numbers."""
        return Range(round(self.low), round(self.mid), round(self.high))


ZERO = Range(0, 0, 0)


def three(values: Range) -> tuple[float, float, float]:
    """Low, middle and high."""
    return values.low, values.mid, values.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What one stage will take of one model, or one question with one method."""

    stage: str
    """As in the ledger: extract, glean, more_left, reports, chunk_vectors...; ``question`` for a question."""
    model: str
    method: str = ""
    """The retrieval method, for a question."""
    calls: Range | None
    """None if a method's formula cannot be worked out beforehand."""
    prompt_tokens: Range | None
    completion_tokens: Range | None
    cost: Range | None
    """In US dollars; None when the price, or the tokens, are not known."""
    free: int = 0
    """Calls that `calls.sqlite` answers already."""
    basis: str = ""
    """Where the figures come from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What indexing, and then each question, will cost."""

    documents: int
    windows: int
    """Extraction windows of the index as it will be."""
    windows_to_read: int
    entities: Range
    """Of the graph as it will be; zero if no graph is wanted."""
    communities: Range
    lines: tuple[Line, ...]
    """Stages of indexing, in their order."""
    questions: tuple[Line, ...]
    """One for each method that was named."""
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> Line:
        """The sum over the stages of indexing; its cost is None if that of any stage is."""
        costs = [line.cost for line in self.lines]
        return Line(
            stage="total",
            model="",
            calls=sum((line.calls or ZERO for line in self.lines), ZERO),
            prompt_tokens=sum((line.prompt_tokens or ZERO for line in self.lines), ZERO),
            completion_tokens=sum((line.completion_tokens or ZERO for line in self.lines), ZERO),
            cost=None if None in costs else sum((c for c in costs if c is not None), Range(0.0, 0.0, 0.0)),
            free=sum(line.free for line in self.lines),
        )

    def as_dict(self) -> dict[str, Any]:
        """As plain values, with the total; counts as whole numbers, in the order of the fields."""
        return asdict(self) | {"total": asdict(self.total)}


def line(
    stage: str,
    model: str,
    price: Price | None,
    calls: Range,
    reads: Range,
    writes: Range,
    *,
    method: str = "",
    free: int = 0,
    basis: str = "",
) -> Line:
    """Make a line, with whole calls and tokens and their cost."""
    reads, writes = reads.rounded(), writes.rounded()
    cost = None
    if price is not None:
        cost = Range(
            price.cost(int(reads.low), int(writes.low)),
            price.cost(int(reads.mid), int(writes.mid)),
            price.cost(int(reads.high), int(writes.high)),
        )
    return Line(
        stage=stage,
        model=model,
        method=method,
        calls=calls.rounded(),
        prompt_tokens=reads,
        completion_tokens=writes,
        cost=cost,
        free=free,
        basis=basis,
    )


def save_estimate(folder: Path, found: Estimate, ledger: Sequence[LedgerRow]) -> None:
    """Keep an estimate in the folder of an index, with what had been spent when it was made.

    Written under another name and renamed, so that a reader sees the old one or the new one.
    """
    values = {
        "format": _FORMAT,
        "estimate": found.as_dict(),
        "ledger": [row.as_dict() for row in ledger],
    }
    place = folder / FILE_NAME
    temporary = place.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps(values, ensure_ascii=False), encoding="utf-8")
    temporary.replace(place)


def load_estimate(folder: Path, ledger: Sequence[LedgerRow]) -> list[dict[str, Any]]:
    """Set the estimate that is kept in a folder against what was spent since.

    Returns:
        By stage, method and model, in the order of the estimate and then of the ledger: estimated `calls`,
        `prompt_tokens`, `completion_tokens` and `cost`, each as ``{"low", "mid", "high"}`` or None, and
        the `actual` ones as numbers, or None. For a question the actual figures are those of every call made for the
        method since, and `questions`, else None, says how many it answered. Empty if there is no estimate, or it
        cannot be read.
    """
    try:
        values = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
        if values["format"] != _FORMAT:
            return []
        planned = [*values["estimate"]["lines"], *values["estimate"]["questions"]]
        before = {(r["stage"], r["method"], r["model"]): r for r in values["ledger"]}
        return _against(planned, before, ledger)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []  # a convenience, rewritten by the next estimate


def _against(
    planned: Sequence[dict[str, Any]],
    before: dict[tuple[str, str, str], dict[str, Any]],
    ledger: Sequence[LedgerRow],
) -> list[dict[str, Any]]:
    rows = []
    taken: set[tuple[str, str, str]] = set()
    since = {(r.stage, r.method, r.model): _since(r, before) for r in ledger}
    since = {key: spent for key, spent in since.items() if spent["calls"]}
    for each in planned:
        if each["stage"] == "question":
            keys = [k for k in since if k[1] == each["method"]]
        else:
            keys = [k for k in since if k[0] == each["stage"] and k[2] == each["model"]]
        taken.update(keys)
        row = {name: each[name] for name in ("stage", "method", "model", *_FIGURES)}
        row["actual"] = _sum([since[k] for k in keys])
        asked = sum(since[k]["calls"] for k in keys if k[0] == "answer")
        row["questions"] = asked if each["stage"] == "question" else None
        rows.append(row)
    for key, spent in since.items():
        if key not in taken and (spent["prompt_tokens"] or spent["completion_tokens"]):
            row = dict(zip(("stage", "method", "model"), key, strict=True))
            rows.append(row | dict.fromkeys(_FIGURES) | {"actual": spent, "questions": None})
    return rows


_FIGURES = ("calls", "prompt_tokens", "completion_tokens", "cost")


def _since(row: LedgerRow, before: dict[tuple[str, str, str], dict[str, Any]]) -> dict[str, Any]:
    old = before.get((row.stage, row.method, row.model), {})
    earlier = sum(old.get(name, 0) for name in ("ok", "failed", "repaired"))
    known = row.cost is not None and old.get("cost", 0.0) is not None
    return {
        "calls": row.attempts - earlier,
        "prompt_tokens": row.prompt_tokens - old.get("prompt_tokens", 0),
        "completion_tokens": row.completion_tokens - old.get("completion_tokens", 0),
        "cost": (row.cost or 0.0) - old.get("cost", 0.0) if known else None,
    }


def _sum(spent: Sequence[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {name: sum(s[name] for s in spent) for name in _FIGURES[:3]}
    costs = [s["cost"] for s in spent]
    return found | {"cost": None if None in costs else float(sum(costs))}
