"""The rows of the graph's tables, read a few at a time by those who write reports."""

from collections.abc import Iterable, Iterator, Sequence

from polygraph.graph.reports.members import Descriptions
from polygraph.records import Entity, Relation
from polygraph.store.database import Store


class StoredGraph:
    """The graph of an index as `graph.members.GraphRows`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ids = store.entity_ids()

    def entity_ids(self) -> list[str]:
        """Ids of all entities, ascending."""
        return self._ids

    def edges(self) -> Iterable[tuple[int, int, float]]:
        """Every relation as ``(source row, target row, weight)``, in order."""
        return self._store.edges()

    def entities_at(self, rows: Sequence[int]) -> list[Entity]:
        """Entities by row, in the order asked for."""
        return self._store.entities(rows)

    def relations_at(self, rows: Sequence[int]) -> list[Relation]:
        """Relations by row, in the order asked for."""
        return self._store.relations(rows, self._ids)

    def told_of_entities(self) -> Iterator[tuple[str, Sequence[str], Descriptions]]:
        """Name, chunk ids and descriptions of every entity, by row."""
        return self._store.told_of_entities()

    def told_of_relations(self) -> Iterator[Descriptions]:
        """Descriptions of every relation, by row."""
        return self._store.told_of_relations()
