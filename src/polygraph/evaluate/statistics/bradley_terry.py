"""One ranking of all methods from comparisons of two: Bradley and Terry (1952), with intervals."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polygraph.evaluate.statistics.paired_tests import library

_PRIOR = 0.5
"""Wins given beforehand to each side of a compared pair, so that who never lost has a finite strength."""
_ELO = 400 / math.log(10)


@dataclass(frozen=True, slots=True)
class Duel:
    """Two methods on one question."""

    question: str
    a: str
    b: str
    score: float
    """1 if `a` won, 0 if `b` did, 0.5 for a tie; between them for a mean over trials."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strength:
    """Where a method stands."""

    method: str
    strength: float
    """Logarithm of the odds to win against a method of average strength; the mean of all is 0."""
    low: float
    high: float
    """95 % interval over resampled questions."""
    rank_low: int
    rank_high: int
    """Best and worst rank within the same interval, 1 for the best."""

    @property
    def elo(self) -> float:
        """The same on the scale of Elo, around 1000."""
        return 1000 + _ELO * self.strength


def bradley_terry(
    duels: Sequence[Duel], rng: np.random.Generator, *, resamples: int = 200, confidence: float = 0.95
) -> list[Strength]:
    """Rank methods by maximum likelihood; intervals by resampling questions.

    The model is a logistic regression of the outcome on which method stood on which side, fitted by statsmodels. A tie
    is half a win for either. All duels of a question are drawn together, since they are not independent.

    Args:
        duels: in any order.
        rng: source of the resamples.
        resamples: number of resamples.
        confidence: of the intervals.

    Returns:
        Strongest first, equals by name.

    Raises:
        ValueError: if there are no duels, or methods that no chain of duels connects.
        MissingExtra: without the extra `eval`.
    """
    names = sorted({name for d in duels for name in (d.a, d.b)})
    if len(names) < 2:
        raise ValueError("no duels between two methods")
    row = {name: n for n, name in enumerate(names)}
    questions = sorted({d.question for d in duels})
    place = {q: n for n, q in enumerate(questions)}
    pairs = sorted({tuple(sorted((row[d.a], row[d.b]))) for d in duels})
    _check_connected(names, pairs)
    column = {pair: n for n, pair in enumerate(pairs)}
    # By question and pair: wins of the one that stands first in the pair, and of the other.
    wins = np.zeros((len(questions), len(pairs), 2))
    for d in duels:
        i, j = row[d.a], row[d.b]
        score = d.score if i < j else 1 - d.score
        n = column[min(i, j), max(i, j)]
        wins[place[d.question], n] += (score, 1 - score)
    design = np.zeros((len(pairs), len(names)))
    for n, (i, j) in enumerate(pairs):
        design[n, i], design[n, j] = 1.0, -1.0
    best = _fit(wins.sum(axis=0), design)
    drawn = np.empty((resamples, len(names)))
    for r in range(resamples):
        sample = rng.integers(0, len(questions), size=len(questions))
        drawn[r] = _fit(wins[sample].sum(axis=0), design)
    tail = (1 - confidence) / 2
    lows, highs = np.quantile(drawn, [tail, 1 - tail], axis=0)
    ranks = 1 + (drawn[:, None, :] > drawn[:, :, None] + 1e-9).sum(axis=2)
    rank_lows, rank_highs = np.quantile(ranks, [tail, 1 - tail], axis=0, method="nearest")
    found = [
        Strength(
            method=name,
            strength=float(best[n]),
            low=float(min(lows[n], best[n])),
            high=float(max(highs[n], best[n])),
            rank_low=int(rank_lows[n]),
            rank_high=int(rank_highs[n]),
        )
        for n, name in enumerate(names)
    ]
    return sorted(found, key=lambda s: (-round(s.strength, 9), s.method))


def _fit(wins: NDArray[np.float64], design: NDArray[np.float64]) -> NDArray[np.float64]:
    # A pair that a resample does not hold stays at its prior, an even outcome.
    api: Any = library("statsmodels.api")
    # The first method is the zero of the scale: only differences can be seen.
    model = api.GLM(wins + _PRIOR, design[:, 1:], family=api.families.Binomial())
    # Two methods leave no degree of freedom for a scale, which a binomial model does not have.
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        # Of a resample in which one method never lost it warns, for which the prior is there.
        warnings.simplefilter("ignore")
        params = np.asarray(model.fit().params)
    strengths = np.concatenate([[0.0], params])
    return np.asarray(strengths - strengths.mean(), dtype=np.float64)


def _check_connected(names: Sequence[str], pairs: Sequence[tuple[int, ...]]) -> None:
    reached, waiting = {0}, [0]
    while waiting:
        here = waiting.pop()
        for pair in pairs:
            if here in pair:
                other = pair[1] if pair[0] == here else pair[0]
                if other not in reached:
                    reached.add(other)
                    waiting.append(other)
    if len(reached) < len(names):
        apart = next(name for n, name in enumerate(names) if n not in reached)
        raise ValueError(
            f"no chain of comparisons connects {names[0]} and {apart}, so they cannot be ranked together"
        )
