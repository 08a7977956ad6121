"""Must-link constraints: merges that the user decided."""

from collections import defaultdict
from collections.abc import Iterable, Set

from polygraph.extract.resolution.clusters.cluster import Cluster
from polygraph.extract.resolution.clusters.merger import MergeLink
from polygraph.extract.resolution.constraints import ConstraintKey, parse_key
from polygraph.extract.resolution.mentions.mention_table import MentionTable


def merge_must_links(
    clusters: list[Cluster],
    ids: list[str],
    must_link: Iterable[tuple[str, str]],
    table: MentionTable,
    links: list[MergeLink],
) -> list[Cluster]:
    """Merge the clusters that the user says are one entity, unless a cannot-link constraint forbids it.

    Args:
        clusters: in order; changed in place.
        ids: their entity ids, which a constraint may name.
        must_link: pairs of a name, a name in a document, or an entity id. A pair with an unknown side is ignored.
        table: the table of their rows.
        links: gets the merges.

    Returns:
        The clusters that remain, in order; the first of those merged absorbs the others.
    """
    pairs = sorted(set(must_link))
    wanted = {parse_key(text) for pair in pairs for text in pair}
    matches: dict[ConstraintKey, dict[int, int]] = defaultdict(dict)
    """The clusters that have a name, each with the first row of it."""
    by_id = {entity: n for n, entity in enumerate(ids)}
    for n, cluster in enumerate(clusters if wanted else []):
        for row in cluster.rows.tolist():
            for key in _matching_keys(row, table, wanted):
                matches[key].setdefault(n, row)
    parent = list(range(len(clusters)))

    def root(n: int) -> int:
        while parent[n] != n:
            n = parent[n]
        return n

    for pair in pairs:
        named = {by_id[text]: clusters[by_id[text]].first_row for text in pair if text in by_id}
        for text in pair:
            named.update(matches[parse_key(text)])
        both_known = all(text in by_id or matches[parse_key(text)] for text in pair)
        row_in: dict[int, int] = {}
        for n in sorted(named):
            row_in.setdefault(root(n), named[n])
        roots = sorted(row_in)
        for n in roots[1:] if both_known else []:
            first, other = clusters[roots[0]], clusters[n]
            if not table.constraints.forbid(first.constraint_keys, other.constraint_keys):
                links.append(MergeLink(row_in[roots[0]], row_in[n], "user", 1.0, ""))
                first.merge(other)
                parent[n] = roots[0]
    return [cluster for n, cluster in enumerate(clusters) if parent[n] == n]


def _matching_keys(row: int, table: MentionTable, wanted: Set[ConstraintKey]) -> list[ConstraintKey]:
    name = table.name(row).key
    document, type_ = table.documents[int(table.document(row))], table.types[table.type[row]]
    keys = (ConstraintKey(name), ConstraintKey(name, document), ConstraintKey(name, "", type_))
    return [key for key in keys if key in wanted]
