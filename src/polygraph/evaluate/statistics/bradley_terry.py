"""Ranking of all methods from pairwise comparisons: the model of Bradley and Terry (1952), with intervals."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polygraph.evaluate.extra import import_optional
from polygraph.evaluate.statistics.student import t_quantile

Array: TypeAlias = NDArray[np.float64]
_PRIOR = 0.5
"""Pseudo-wins added to each side of a compared pair, so that an unbeaten method has a finite strength."""
_MAX_GROUPS = 200
"""Groups of questions that the jackknife leaves out in turn; with fewer questions each is a group."""
_NO_VARIATION = 1e-9


@dataclass(frozen=True, slots=True)
class Duel:
    """Two methods compared on one question."""

    question: str
    a: str
    b: str
    score: float
    """1 if `a` won, 0 if `b` did, 0.5 for a tie; in between for a mean over trials."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strength:
    """Strength and rank of one method."""

    method: str
    strength: float
    """Log odds of winning against a method of average strength; the mean over methods is 0."""
    low: float
    high: float
    """95% interval over questions."""
    rank_low: int
    rank_high: int
    """Best and worst rank within the same interval; 1 is the best."""


def bradley_terry(
    duels: Sequence[Duel], rng: np.random.Generator, *, draws: int = 2_000, confidence: float = 0.95
) -> list[Strength]:
    """Rank methods by maximum likelihood, with intervals over questions.

    The model is a logistic regression of the outcome on the two methods, fitted by statsmodels. A tie is half a win
    for each. The intervals are Student's with the covariance of the jackknife (Tukey, 1958), which leaves out all duels
    of a question together, since they are not independent; intervals of resampled questions would be too narrow. Ranks
    are those of strengths drawn from the same distribution.

    Args:
        duels: in any order.
        rng: source of the draws.
        draws: number of drawn strengths.
        confidence: of the intervals.

    Returns:
        Strongest first, ties by name.

    Raises:
        ValueError: if there are no duels, or if some methods are not connected by any chain of duels.
        MissingExtra: without the extra `eval`.
    """
    names = sorted({name for d in duels for name in (d.a, d.b)})
    if len(names) < 2:
        raise ValueError("no duels between two methods")
    wins, design = _tabulate(duels, names)
    best = _fit(wins.sum(axis=0), design)
    covariance, degrees = _jackknife(wins, design)
    reach = t_quantile(1 - confidence, degrees) * np.sqrt(np.diag(covariance))
    tail = (1 - confidence) / 2
    noise = rng.multivariate_normal(np.zeros(len(names)), covariance, size=draws, method="eigh")
    drawn = best + noise / np.sqrt(rng.chisquare(degrees, size=(draws, 1)) / degrees)
    ranks = 1 + (drawn[:, None, :] > drawn[:, :, None] + 1e-9).sum(axis=2)
    rank_lows, rank_highs = np.quantile(ranks, [tail, 1 - tail], axis=0, method="nearest")
    found = [
        Strength(
            method=name,
            strength=float(best[n]),
            low=float(best[n] - reach[n]),
            high=float(best[n] + reach[n]),
            rank_low=int(rank_lows[n]),
            rank_high=int(rank_highs[n]),
        )
        for n, name in enumerate(names)
    ]
    return sorted(found, key=lambda s: (-round(s.strength, 9), s.method))


def _jackknife(wins: Array, design: Array) -> tuple[Array, int]:
    """Return the covariance of the strengths and its degrees of freedom, leaving out groups of questions in turn."""
    n_groups = min(len(wins), _MAX_GROUPS)
    group = np.arange(len(wins)) % n_groups
    total = wins.sum(axis=0)
    left = np.array([_fit(total - wins[group == g].sum(axis=0), design) for g in range(n_groups)])
    around = left - left.mean(axis=0)
    covariance = (n_groups - 1) / n_groups * around.T @ around
    if np.trace(covariance) < _NO_VARIATION:
        # Questions that all agree do not prove that others would: the covariance of independent wins and losses.
        n_duels = total.sum(axis=1) + 2 * _PRIOR
        odds = np.exp(design @ _fit(total, design))
        information = design.T @ (design * (n_duels * odds / (1 + odds) ** 2)[:, None])
        covariance = np.linalg.pinv(information, hermitian=True)
    return covariance, max(1, n_groups - 1)


def _tabulate(duels: Sequence[Duel], names: Sequence[str]) -> tuple[Array, Array]:
    """Return wins by question, pair and side of the pair, and the design matrix of pairs by methods."""
    row = {name: n for n, name in enumerate(names)}
    question_row = {q: n for n, q in enumerate(sorted({d.question for d in duels}))}
    pairs = sorted({tuple(sorted((row[d.a], row[d.b]))) for d in duels})
    _check_connected(names, pairs)
    column = {pair: n for n, pair in enumerate(pairs)}
    wins = np.zeros((len(question_row), len(pairs), 2))
    for d in duels:
        i, j = row[d.a], row[d.b]
        score = d.score if i < j else 1 - d.score
        n = column[min(i, j), max(i, j)]
        wins[question_row[d.question], n] += (score, 1 - score)
    design = np.zeros((len(pairs), len(names)))
    for n, (i, j) in enumerate(pairs):
        design[n, i], design[n, j] = 1.0, -1.0
    return wins, design


def _fit(wins: Array, design: Array) -> Array:
    """Return the strength of each method; a pair missing from a resample stays at its prior, an even outcome."""
    api: Any = import_optional("statsmodels.api")
    # Only differences are identifiable, so the first method is the zero of the scale.
    model = api.GLM(wins + _PRIOR, design[:, 1:], family=api.families.Binomial())
    # Two methods leave no degrees of freedom for the scale, which a binomial model does not have.
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        # statsmodels warns of perfect separation in a resample, which the prior takes care of.
        warnings.simplefilter("ignore")
        params = np.asarray(model.fit().params)
    strengths = np.concatenate([[0.0], params])
    return np.asarray(strengths - strengths.mean(), dtype=np.float64)


def _check_connected(names: Sequence[str], pairs: Sequence[tuple[int, ...]]) -> None:
    reached, queue = {0}, [0]
    while queue:
        current = queue.pop()
        for pair in pairs:
            if current in pair:
                other = pair[1] if pair[0] == current else pair[0]
                if other not in reached:
                    reached.add(other)
                    queue.append(other)
    if len(reached) < len(names):
        isolated = next(name for n, name in enumerate(names) if n not in reached)
        raise ValueError(
            f"no chain of comparisons connects {names[0]} and {isolated}, so they cannot be ranked together"
        )
