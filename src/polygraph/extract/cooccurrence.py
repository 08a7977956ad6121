"""Which entities of a sentence are joined because they stand together."""

from collections.abc import Iterator, Sequence
from itertools import combinations

STRENGTH = 0.3
"""Of one pair in one sentence, where a parsed triple counts 1."""

_ALL_PAIRS = 6
_REACH = 3


def pairs(keys: Sequence[str], named: Sequence[bool]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of one sentence, in order, each once.

    With at most six entities every pair of which one is a name; with more, only neighbours up to three places
    apart, so that the number of pairs grows with the length of the sentence and not with its square. Two
    plain phrases are joined only if they follow one another.

    Args:
        keys: distinct entities in the order of their first mention.
        named: for each, whether it is a name.

    >>> list(pairs(["quill", "lamp", "oil"], [True, False, False]))
    [('quill', 'lamp'), ('quill', 'oil'), ('lamp', 'oil')]
    >>> list(pairs(["lamp", "quill", "oil"], [False, True, False]))
    [('lamp', 'quill'), ('quill', 'oil')]
    """
    reach = len(keys) if len(keys) <= _ALL_PAIRS else _REACH
    for i, j in combinations(range(len(keys)), 2) if reach > _REACH else _near(len(keys), reach):
        if named[i] or named[j] or j == i + 1:
            yield keys[i], keys[j]


def _near(n: int, reach: int) -> Iterator[tuple[int, int]]:
    for i in range(n):
        for j in range(i + 1, min(n, i + reach + 1)):
            yield i, j
