"""Win, tie and loss rates over repeated trials, as in "How Significant Are the Real Performance Gains?"."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polygraph.evaluate.statistics.agreement import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class WinRates:
    """Outcomes of A against B over the questions of one trial."""

    wins: int
    ties: int
    losses: int

    @property
    def n(self) -> int:
        """Number of judged questions."""
        return self.wins + self.ties + self.losses

    @property
    def win(self) -> float:
        """Share of questions that A wins; 0 without questions."""
        return self.wins / self.n if self.n else 0.0

    @property
    def tie(self) -> float:
        """Share of ties."""
        return self.ties / self.n if self.n else 0.0

    @property
    def lose(self) -> float:
        """Share of questions that B wins."""
        return self.losses / self.n if self.n else 0.0

    @property
    def relative(self) -> float:
        """Relative win rate (section 5.2): wins less losses, over all questions; in [-1, 1], antisymmetric."""
        return (self.wins - self.losses) / self.n if self.n else 0.0


def win_rates(verdicts: Sequence[Verdict]) -> WinRates:
    """Count the verdicts of one trial.

    >>> win_rates(["a", "a", "tie", "b"]).relative
    0.25
    """
    found = list(verdicts)
    return WinRates(wins=found.count("a"), ties=found.count("tie"), losses=found.count("b"))


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxStatistics:
    """The values that a box plot draws (Williamson, Parker and Kendrick, 1989)."""

    n: int
    median: float
    q1: float
    q3: float
    low: float
    """Least value within 1.5 interquartile ranges below the box."""
    high: float
    """Greatest value within 1.5 interquartile ranges above it."""
    outliers: tuple[float, ...]
    """Values beyond the whiskers, sorted."""
    mean: float


def box_statistics(values: Sequence[float]) -> BoxStatistics:
    """Return median, quartiles (linear interpolation), whiskers and outliers.

    A box over trials on the same questions shows the noise of the judge. How the result would vary with other
    questions takes a bootstrap over questions.

    Raises:
        ValueError: if there are no values.

    >>> box_statistics([1.0, 2.0, 3.0, 4.0, 20.0]).outliers
    (20.0,)
    """
    if not len(values):
        raise ValueError("no values to draw a box of")
    sorted_values = np.sort(np.asarray(values, dtype=np.float64))
    q1, median, q3 = np.quantile(sorted_values, [0.25, 0.5, 0.75])
    reach = 1.5 * (q3 - q1)
    inside = sorted_values[(sorted_values >= q1 - reach) & (sorted_values <= q3 + reach)]
    outside = sorted_values[(sorted_values < q1 - reach) | (sorted_values > q3 + reach)]
    return BoxStatistics(
        n=len(sorted_values),
        median=float(median),
        q1=float(q1),
        q3=float(q3),
        low=float(inside[0]),
        high=float(inside[-1]),
        outliers=tuple(outside.tolist()),
        mean=float(sorted_values.mean()),
    )
