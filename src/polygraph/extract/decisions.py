"""What a user has decided about entities: which names must not meet, and which must."""

from collections import defaultdict
from collections.abc import Iterable, Set

from polygraph.extract.resolution import Cluster, Item, Side
from polygraph.names import normalise


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


def join_together(
    clusters: list[Cluster], ids: list[str], together: Iterable[tuple[str, str]], decisions: Decisions
) -> list[Cluster]:
    """Join what the user says is one.

    Args:
        clusters: in order.
        ids: their ids; a side may be one.
        together: pairs of sides, each a name, a name in a document, or an id.
        decisions: what must stay apart all the same.

    Returns:
        The clusters that remain, in order; the first of those joined takes over the others.
    """
    pairs = sorted(set(together))
    wanted = {side_of(text) for pair in pairs for text in pair}
    holders: dict[Side, dict[int, None]] = defaultdict(dict)
    by_id = {entity: n for n, entity in enumerate(ids)}
    for n, cluster in enumerate(clusters if wanted else []):
        for item in cluster.items:
            for side in _matching(item, wanted):
                holders[side][n] = None
    into = list(range(len(clusters)))

    def root(n: int) -> int:
        while into[n] != n:
            n = into[n]
        return n

    for pair in pairs:
        numbers = {by_id[text] for text in pair if text in by_id}
        for text in pair:
            numbers.update(holders[side_of(text)])
        both = all(text in by_id or holders[side_of(text)] for text in pair)
        roots = sorted({root(n) for n in numbers})
        for n in roots[1:] if both else []:
            first, other = clusters[roots[0]], clusters[n]
            if not decisions.forbid(first.sides, other.sides):
                for item in other.items:
                    item.rule, item.score = "user", 1.0
                first.join(other)
                into[n] = roots[0]
    return [cluster for n, cluster in enumerate(clusters) if into[n] == n]


def _matching(item: Item, wanted: Set[Side]) -> list[Side]:
    sides = ((item.name.key, ""), (item.name.key, item.mention.document))
    return [side for side in sides if side in wanted]
