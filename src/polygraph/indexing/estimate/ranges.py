"""Figures with a range, the lines of an estimate, and their sum."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from polygraph.models.prices import Price


@dataclass(frozen=True, slots=True)
class Range:
    """A figure that is not known exactly."""

    low: float
    mid: float
    """The expected value."""
    high: float

    @classmethod
    def exactly(cls, value: float) -> "Range":
        """Return a figure that is known."""
        return cls(value, value, value)

    @classmethod
    def with_relative_error(cls, value: float, error: float) -> "Range":
        """Return a figure with a relative error, never below 0.

        >>> Range.with_relative_error(100, 0.2)
        Range(low=80.0, mid=100, high=120.0)
        """
        return cls(max(0.0, value * (1 - error)), max(0.0, value), max(0.0, value * (1 + error)))

    @classmethod
    def from_guesses(cls, values: Iterable[float]) -> "Range":
        """Return the range of a low, a middle and a high guess, which may come out in another order.

        The middle guess stays; the smallest and the largest of the three bound it.
        """
        low, mid, high = values
        return cls(min(low, mid, high), mid, max(low, mid, high))

    def __add__(self, other: "Range") -> "Range":
        """Add low to low and high to high, since errors on one corpus go together."""
        return Range(self.low + other.low, self.mid + other.mid, self.high + other.high)

    def __mul__(self, other: "Range | float") -> "Range":
        """Multiply low by low and high by high; a number multiplies all three."""
        if not isinstance(other, Range):
            other = Range.exactly(other)
        return Range(self.low * other.low, self.mid * other.mid, self.high * other.high)

    def __iter__(self) -> Iterator[float]:
        """Yield the low, the middle and the high figure."""
        return iter((self.low, self.mid, self.high))

    def map(self, change: Callable[[float], float]) -> "Range":
        """Return a range of changed figures."""
        return Range(*map(change, self))

    def rounded(self) -> "Range":
        """Round to whole numbers."""
        return self.map(round)


ZERO = Range(0, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What one stage will take of one model, or one question with one method."""

    stage: str
    """As in the ledger: extract, glean, more_left, reports, chunk_vectors...; ``question`` for a question."""
    model: str
    method: str = ""
    """The retrieval method, for a question."""
    calls: Range | None
    """None if the number of calls depends on the answers."""
    prompt_tokens: Range | None
    completion_tokens: Range | None
    cost: Range | None
    """In US dollars; None when the price or the tokens are not known."""
    free: int = 0
    """Calls whose reply is in ``calls.sqlite`` already."""
    basis: str = ""
    """Where the figures come from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What indexing, and then each question, will cost."""

    documents: int
    windows: int
    """Extraction windows of the index after the build."""
    windows_to_read: int
    entities: Range
    """Entities of the graph after the build; zero if no graph is wanted."""
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
        """Return plain values, with the total; counts as whole numbers, in the order of the fields."""
        return asdict(self) | {"total": asdict(self.total)}


def priced_line(
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
    """Return a line with whole calls and tokens, and their cost.

    Args:
        stage: see `Line`.
        model: its name.
        price: None if it is not known.
        calls: calls to be paid.
        reads: prompt tokens of all calls.
        writes: completion tokens of all calls.
        method: see `Line`.
        free: see `Line`.
        basis: see `Line`.
    """
    reads, writes = reads.rounded(), writes.rounded()
    cost = None
    if price is not None:
        pairs = zip(reads, writes, strict=True)
        cost = Range(*(price.cost(int(n_read), int(n_written)) for n_read, n_written in pairs))
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
