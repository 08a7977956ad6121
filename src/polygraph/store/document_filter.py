"""A filter on documents: which rows it permits, and records reduced to what it permits."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from polygraph.errors import BadInput
from polygraph.ids import document_of_chunk
from polygraph.records import Entity, Json, Relation, Triple
from polygraph.store.protocol import StoreReader


class DocumentFilter:
    """The documents of a store whose metadata match; without conditions, all of them.

    Args:
        store: open for reading.
        scope: the conditions, as for `Snapshot.where`.
    """

    def __init__(self, store: StoreReader, scope: Mapping[str, str]) -> None:
        self._store, self.scope = store, dict(scope)

    @cached_property
    def documents(self) -> frozenset[str] | None:
        """Ids of the documents that are permitted; None without conditions.

        Raises:
            BadInput: if no document has one of the fields.
        """
        if not self.scope:
            return None
        known: set[str] = set()
        permitted = []
        for document, fields in self._fields():
            known |= fields.keys()
            if all(_matches(fields.get(key), value) for key, value in self.scope.items()):
                permitted.append(document)
        known |= {"id", "title"}
        unknown = sorted(set(self.scope) - known)
        if unknown:
            raise BadInput(
                f"no document has the field {unknown[0]!r}. Fields are: {', '.join(sorted(known))}"
            )
        return frozenset(permitted)

    @cached_property
    def wider(self) -> dict[str, str]:
        """The same conditions with one value as a part of what documents hold, if some match then; else empty."""
        wide = {field: f"*{value}*" for field, value in self.scope.items()}
        found: set[str] = set()
        for _, fields in self._fields():
            others = [key for key, value in self.scope.items() if not _matches(fields.get(key), value)]
            if len(others) == 1 and _matches(fields.get(others[0]), wide[others[0]]):
                found.update(others)
        return next((self.scope | {field: wide[field]} for field in self.scope if field in found), {})

    def _fields(self) -> Iterator[tuple[str, dict[str, Json]]]:
        for document, title, metadata in self._store.documents.headers():
            yield document, {**metadata, "id": document, "title": title}

    def permits(self, chunks: Iterable[str]) -> bool:
        """Tell whether all of some chunks (ids) are permitted."""
        documents = self.documents
        return documents is None or all(document_of_chunk(c) in documents for c in chunks)

    def count(self, chunks: Sequence[str]) -> int:
        """Return how many of some chunks (ids) are permitted."""
        return sum(self.permits([c]) for c in chunks)

    # --- rows: of each, whether it is permitted; None without conditions ---------------------------------

    @cached_property
    def chunks(self) -> NDArray[np.bool_] | None:
        """Chunks of permitted documents, shape ``(n_chunks,)``."""
        documents = self.documents
        if documents is None:
            return None
        found = (document in documents for document in self._store.documents.chunk_documents())
        return np.fromiter(found, dtype=np.bool_)

    @cached_property
    def entities(self) -> NDArray[np.bool_] | None:
        """Entities that a permitted chunk mentions, shape ``(n_entities,)``."""
        return self._any_permitted(e.chunks for e in self._store.graph.all_entities())

    @cached_property
    def relations(self) -> NDArray[np.bool_] | None:
        """Relations that rest on a permitted chunk, shape ``(n_relations,)``."""
        return self._any_permitted(chunks for *_, chunks in self._store.graph.edges_with_chunks("relations"))

    @cached_property
    def triples(self) -> NDArray[np.bool_] | None:
        """Triples that rest on a permitted chunk, shape ``(n_triples,)``."""
        return self._any_permitted(chunks for *_, chunks in self._store.graph.edges_with_chunks("triples"))

    @cached_property
    def reports(self) -> NDArray[np.bool_] | None:
        """Reports that rest on permitted chunks only, shape ``(n_reports,)``."""
        if self.documents is None:
            return None
        return np.fromiter((self.permits(r.chunks) for r in self._store.reports.all()), dtype=np.bool_)

    def _any_permitted(self, rows: Iterable[Sequence[str]]) -> NDArray[np.bool_] | None:
        if self.documents is None:
            return None
        return np.fromiter((any(self.permits([c]) for c in chunks) for chunks in rows), dtype=np.bool_)

    # --- records, reduced to permitted chunks -----------------------------------------------------------

    def reduce_entity(self, entity: Entity) -> Entity:
        """Remove the descriptions and chunks that are not permitted."""
        if self.documents is None:
            return entity
        return replace(
            entity,
            descriptions=tuple(d for d in entity.descriptions if self.permits([d.chunk])),
            chunks=self._permitted(entity.chunks),
            # A summary does not tell which chunk a statement comes from.
            summary=entity.summary if self.permits(entity.chunks) else "",
        )

    def reduce_relation(self, relation: Relation) -> Relation | None:
        """Remove what may rest on chunks that are not permitted; None if no chunk is left."""
        chunks = self._permitted(relation.chunks)
        if not chunks:
            return None
        is_whole = len(chunks) == len(relation.chunks)
        return replace(
            relation,
            descriptions=tuple(d for d in relation.descriptions if self.permits([d.chunk])),
            chunks=chunks,
            # Predicates and keywords do not tell which chunk they come from.
            predicates=relation.predicates if is_whole else (),
            keywords=relation.keywords if is_whole else (),
            summary=relation.summary if is_whole else "",
        )

    def reduce_triple(self, triple: Triple) -> Triple | None:
        """Remove the chunks that are not permitted; None if no chunk is left."""
        chunks = self._permitted(triple.chunks)
        return replace(triple, chunks=chunks) if chunks else None

    def _permitted(self, chunks: Sequence[str]) -> tuple[str, ...]:
        return tuple(c for c in chunks if self.permits([c]))


def _matches(value: Json, pattern: str) -> bool:
    if isinstance(value, list):
        return any(_matches(item, pattern) for item in value)
    if value is None:
        return False
    # Names of files and titles have brackets.
    return fnmatchcase(str(value).casefold(), pattern.casefold().replace("[", "[[]"))
