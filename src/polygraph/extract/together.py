"""Entities that the user says are one."""

from collections import defaultdict
from collections.abc import Iterable, Set

from polygraph.extract.resolution.constraints import side_of
from polygraph.extract.resolution.mention_table import Names
from polygraph.extract.resolution.records import Cluster, Side


def join_together(
    clusters: list[Cluster], ids: list[str], together: Iterable[tuple[str, str]], names: Names
) -> list[Cluster]:
    """Join what the user says is one.

    Args:
        clusters: in order.
        ids: their ids; a side may be one.
        together: pairs of sides, each a name, a name in a document, or an id.
        names: the table that they are rows of.

    Returns:
        The clusters that remain, in order; the first of those joined takes over the others.
    """
    pairs = sorted(set(together))
    wanted = {side_of(text) for pair in pairs for text in pair}
    holders: dict[Side, dict[int, None]] = defaultdict(dict)
    by_id = {entity: n for n, entity in enumerate(ids)}
    for n, cluster in enumerate(clusters if wanted else []):
        for row in cluster.rows.tolist():
            for side in _matching(row, names, wanted):
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
            if not names.decisions.forbid(first.sides, other.sides):
                names.meet(other.rows, "user", 1.0)
                first.join(other)
                into[n] = roots[0]
    return [cluster for n, cluster in enumerate(clusters) if into[n] == n]


def _matching(row: int, names: Names, wanted: Set[Side]) -> list[Side]:
    key = names.name(row).key
    sides = ((key, ""), (key, names.documents[int(names.document(row))]))
    return [side for side in sides if side in wanted]
