"""What a user has decided about entities: which names must not meet, and which must."""

from collections import defaultdict
from collections.abc import Iterable, Set

from polygraph.extract.resolution.records import Side
from polygraph.text.normalize import normalise


def side_of(text: str) -> Side:
    """Split ``name @ document`` in the key of the name and the document, which may be empty.

    >>> side_of("The Halcyon @ log.md"), side_of("Halcyon")
    (('halcyon', 'log.md'), ('halcyon', ''))
    """
    name, _, document = text.partition(" @ ")
    return normalise(name), document


class Decisions:
    """Pairs of sides that must stay apart, looked up by name."""

    def __init__(self, apart: Iterable[tuple[str, str]]) -> None:
        self._against: dict[Side, set[Side]] = defaultdict(set)
        for a, b in apart:
            left, right = side_of(a), side_of(b)
            if left != right:  # a name cannot be parted from itself without saying where
                self._against[left].add(right)
                self._against[right].add(left)

    def __bool__(self) -> bool:
        return bool(self._against)

    def sides(self, key: str, document: str) -> frozenset[Side]:
        """Sides that a name in a document matches."""
        if not self._against:
            return frozenset()
        return frozenset(side for side in ((key, ""), (key, document)) if side in self._against)

    def forbid(self, a: Set[Side], b: Set[Side]) -> bool:
        """Say whether what matches some sides must not meet what matches others."""
        return bool(a and b) and any(not self._against[side].isdisjoint(b) for side in a)
