"""Records of communities: what a report on a part was written from is kept for the reports on what it is a part of."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from polygraph.graph.reports.members import Members, Outline
from polygraph.records import Community, Entity, Relation

R = TypeVar("R", Entity, Relation)

MOST_KEPT = 20_000
"""Entities, and relations, that are kept: some 15 MB each. Of a larger graph the first that are read are kept, and the
others are read once for each level."""


class KeptRecords:
    """Entities and relations of communities, which hold each other and so need the same records."""

    def __init__(self, members: Members) -> None:
        self._members = members
        self._entities: dict[int, Entity] = {}
        self._relations: dict[int, Relation] = {}

    def entities(self, community: Community | Outline) -> list[Entity]:
        """Return the members of a community, sorted by id."""
        rows = self._members.rows(community).tolist()
        return _read(rows, self._entities, self._members.graph.entities_by_row)

    def relations(self, community: Community | Outline) -> list[Relation]:
        """Return the relations with both ends in a community, sorted by id."""
        rows = self._members.relation_rows(community).tolist()
        return _read(rows, self._relations, self._members.graph.relations_by_row)


def _read(rows: Sequence[int], kept: dict[int, R], read: Callable[[Sequence[int]], list[R]]) -> list[R]:
    """Return records by row, in the order asked for, and keep them as far as there is room."""
    missing = [row for row in rows if row not in kept]
    new = dict(zip(missing, read(missing), strict=True)) if missing else {}
    found = [new[row] if row in new else kept[row] for row in rows]
    if len(kept) + len(new) <= MOST_KEPT:
        kept.update(new)
    return found
