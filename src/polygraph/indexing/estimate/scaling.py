"""From the windows that are simulated or known to all windows.

A corpus of more than `MAX_SIMULATED` windows is not simulated whole. Nested samples of an eighth, a quarter, a half
and the whole of this number are drawn document by document in a seeded order; a power law is fitted to each figure by
least squares of logarithms, and continued from the largest sample.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import NamedTuple

import numpy as np

from polygraph.records import Extraction, Window

MAX_SIMULATED = 3_000
"""Windows that are simulated: about 4 million tokens of text, a minute."""
MIN_KNOWN = 3
"""Known windows that `extrapolate_entities` needs."""
_FRACTIONS = (8, 4, 2, 1)
_MAX_CORRECTED = 5.0
"""Growth up to which the exponent is corrected: further, its error outweighs what it corrects."""
_SEED = 20


class Figures(NamedTuple):
    """What is counted of a simulated graph."""

    entities: float
    communities: float
    reports: float
    """Communities for which a model writes a report."""
    context_tokens: float
    """Tokens of the contexts of all reports."""


class NameCounts(NamedTuple):
    """Entities of some windows."""

    entities: float
    found_once: float
    """Those that one window alone names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """How a figure grows with the number of windows."""

    power: float
    error: float
    """Relative error of continuing, by how well the half predicted the whole."""


def nested_samples(windows: Sequence[Window], most: int) -> list[list[Window]]:
    """Draw samples, each a part of the next, of whole documents where they fit; smallest first."""
    by_document: dict[str, list[Window]] = {}
    for window in windows:
        by_document.setdefault(window.document, []).append(window)
    names = sorted(by_document)
    drawn: list[Window] = []
    for i in np.random.default_rng(_SEED).permutation(len(names)).tolist():
        drawn += by_document[names[i]]
        if len(drawn) >= most:
            break
    drawn = drawn[:most]
    return [
        sorted(drawn[: -(-len(drawn) // part)], key=lambda w: (w.document, w.ordinal)) for part in _FRACTIONS
    ]


def fit_growth(sizes: Sequence[int], values: Sequence[float], n: int) -> Growth:
    """Fit ``value = a * size ** power``, and return how far it may be off at `n`.

    >>> fit_growth([100, 200, 400, 800], [10, 20, 40, 80], 1600)
    Growth(power=1.0, error=0.0)
    """
    points = [(log(s), log(v)) for s, v in zip(sizes, values, strict=True) if s > 0 and v > 0]
    if len(points) < 2:
        return Growth(power=1.0, error=1.0)
    power = _slope(points)
    # What the same rule would have got wrong from the second last sample to the last, for each doubling.
    (x0, y0), (x1, y1) = points[-2], points[-1]
    before = _slope(points[:-1]) if len(points) > 2 else 1.0
    step = max(x1 - x0, 1e-9)
    error = abs(y1 - (y0 + before * step)) / step * max(0.0, log(n) - x1)
    return Growth(power=round(power, 6), error=round(min(error, 1.0), 6))


def _slope(points: Sequence[tuple[float, float]]) -> float:
    x = sum(a for a, _ in points) / len(points)
    y = sum(b for _, b in points) / len(points)
    variance = sum((a - x) ** 2 for a, _ in points)
    return sum((a - x) * (b - y) for a, b in points) / variance if variance else 1.0


def extrapolate_entities(
    windows: Sequence[Window],
    known: Mapping[str, Extraction],
    simulate: Callable[[Window], Extraction],
    count: Callable[[Sequence[Window], Sequence[Extraction]], NameCounts],
) -> float | None:
    """Extrapolate the number of entities from the windows with known rows to all windows.

    The known windows are counted twice, with their own rows and with simulated ones, and what is known is multiplied by
    the growth of the simulation. How fast the number of entities grows is told by those that one window alone names:
    their share is the chance that the next entity is a new one (Good, 1953), and so the exponent of growth. The growth
    of the simulation is corrected by the difference of these shares.

    Args:
        windows: all of them.
        known: rows of some windows, by window.
        simulate: gives rows of a window.
        count: counts the entities of some windows and their rows.

    Returns:
        Entities of all windows; None if fewer than `MIN_KNOWN` windows are known.
    """
    some = [w for w in windows if w.id in known]
    if len(some) < MIN_KNOWN:
        return None
    of_known = count(some, [known[w.id] for w in some])
    of_simulated = count(some, [simulate(w) for w in some])
    of_all = count(windows, [simulate(w) for w in windows])
    if not of_simulated.entities:
        return None
    growth = min(len(windows) / len(some), _MAX_CORRECTED)
    correction: float = growth ** (_new_share(of_known) - _new_share(of_simulated))
    return of_known.entities * of_all.entities / of_simulated.entities * correction


def _new_share(counts: NameCounts) -> float:
    return counts.found_once / max(1.0, counts.entities)
