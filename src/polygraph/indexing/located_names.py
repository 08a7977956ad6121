"""Mentions of entities in passages whose window was read without naming them, see `extract.known_names`.

Which passages these are depends on the rows and texts of all documents, so they are part of the view, and are found
again whenever the graph is built.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from polygraph.arrays import Array, Table, distinct
from polygraph.extract.known_names import KnownName, NameFinder
from polygraph.extract.resolution.records import ResolvedRows
from polygraph.ids import chunk_id, chunk_key
from polygraph.records import Entity
from polygraph.store.protocol import Store
from polygraph.text.passage import fields_shown

Located = Mapping[int, Sequence[tuple[str, int]]]
"""By entity, as a position in `ResolvedRows.ids`: documents and ordinals of chunks, ascending."""


def locate_names(store: Store, documents: Sequence[str], slots: Table, resolved: ResolvedRows) -> Located:
    """Find the passages that mention the entities, in their text or in the fields of their document.

    Fields such as sender and recipient stand above every passage of a document, where its text may name neither. Titles
    do not count: their words have capitals whatever they mean.

    Args:
        store: with the chunks.
        documents: ids of the documents with rows, ascending.
        slots: the names of the windows, with a column `written`.
        resolved: entity of each slot.
    """
    document = np.repeat(np.arange(len(documents)), np.diff(slots.offsets))
    mentioning: list[set[int]] = [set() for _ in resolved.ids]
    for entity, number in _distinct_pairs(resolved.entity, document):
        mentioning[entity].add(number)
    finder = NameFinder(_names(slots, resolved), mentioning)
    numbers = {i: n for n, i in enumerate(documents)}
    chunks: list[tuple[str, int]] = []
    for i, _, metadata in store.documents.headers():
        above = [value for _, value in fields_shown(metadata)]
        for chunk in store.documents.chunks_of(i):
            for text in (*above, chunk.text):
                finder.read(len(chunks), numbers.get(i, -1), text)
            chunks.append((i, chunk.ordinal))
    return {entity: [chunks[n] for n in passages] for entity, passages in finder.found()}


def mentioned(entities: Iterable[Entity], ids: Sequence[str], located: Located) -> Iterator[Entity]:
    """Yield entities with the passages that mention them by name.

    Args:
        entities: by id.
        ids: of all entities, ascending.
        located: see `locate_names`.
    """
    by_id = {ids[entity]: passages for entity, passages in located.items()}
    for entity in entities:
        if entity.id not in by_id:
            yield entity
            continue
        places = set(map(chunk_key, entity.chunks))
        places.update(by_id[entity.id])
        yield replace(entity, chunks=tuple([chunk_id(i, n) for i, n in sorted(places)]))


def _names(slots: Table, resolved: ResolvedRows) -> Iterator[KnownName]:
    """Yield every spelling of every entity, with the document if it was decided for single documents only."""
    spellings = slots.strings["written"]
    scopes: dict[tuple[str, str], set[str]] = {}
    for merge in resolved.merges:
        scopes.setdefault((merge.entity, merge.name), set()).add(merge.document)
    for entity, written in _distinct_pairs(resolved.entity, slots["written"]):
        scope = scopes.get((resolved.ids[entity], spellings[written]), {""})
        yield KnownName(entity=entity, name=spellings[written], in_documents="" not in scope)


def _distinct_pairs(first: Array, second: Array) -> Iterator[tuple[int, int]]:
    """Yield the distinct pairs of two columns, ascending."""
    width = int(second.max(initial=0)) + 1
    keys = distinct(first.astype(np.int64) * width + second)
    yield from zip((keys // width).tolist(), (keys % width).tolist(), strict=True)
