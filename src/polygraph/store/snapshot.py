"""The finished layers of an index as one consistent state: what retrieval methods read."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from polygraph.arrays import distinct, find_sorted
from polygraph.errors import IndexMismatch, IndexUnreadable, quoted
from polygraph.graph.csr import Graph
from polygraph.graph.edges import mention_edges
from polygraph.graph.pagerank import EdgeKind, Network
from polygraph.graph.title_graph import TitleGraph
from polygraph.models.protocols import Vectors
from polygraph.records import Chunk, Community, Entity, Relation, Report, Span, Table, Triple
from polygraph.store.atomic_files import damage
from polygraph.store.document_filter import DocumentFilter
from polygraph.store.generations import open_finished
from polygraph.store.graph_arrays import GraphArrays
from polygraph.store.kept_rows import KeptRows
from polygraph.store.layer_folders import folder_of
from polygraph.store.layers import GRAPH_FILE, up_to_date
from polygraph.store.lexical import LexicalIndex
from polygraph.store.protocol import EntityOutline, StoreReader
from polygraph.store.vectors import Hit, Nearest, VectorIndex, VectorSearch, top
from polygraph.text.passage import Heading
from polygraph.text.tokens import count_tokens

_CHUNKS_KEPT = 4_000
"""Chunks in memory, of those that were read last: a few megabytes. As many headings of documents are kept."""
_NUMBERS_KEPT = 50_000
"""Chunks whose numbers are known, entities whose ids are, dates, and relations of entities: a few megabytes each."""
_UNDATED = 4_000
"""Documents without a date after which it is worth looking through all of them once for one with a date."""
_FEW_DOCUMENTS = 20_000
"""So many are looked through at once: it takes 3 ms."""
_HUB_DEGREE = 1_000
"""Neighbours of an entity that is in too many passages to read all of their ids."""
_STATEMENTS_KEPT = 60_000
"""Descriptions, and passages, of the entities in memory: some megabytes. Relations have as many, and reports
with their passages; names of entities are kept for as many ids."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A relation of the graph: its row, the entity rows of its ends, and its weight."""

    n: int
    source: int
    target: int
    weight: float


class Snapshot:
    """The finished layers of an index as one consistent state: what retrieval methods read.

    Rows are numbered from 0: chunks in the order of (document id, ordinal), entities in the order of their ids. With a
    filter (`where`), everything that rests on other documents is hidden: chunks, descriptions of entities and
    relations, and reports that rest on them in part.

    Args:
        folder: of the index.
        keeps: an object that lives as long as this state is in use.
        place: what errors call the index: the URL of a published one; default: the folder.

    Raises:
        IndexUnreadable: if there is no index, it is empty, or it is damaged.
    """

    def __init__(
        self,
        folder: Path,
        keeps: object = None,
        place: str | None = None,
    ) -> None:
        self.folder, self._keeps = folder, keeps
        self.store: StoreReader = open_finished(folder)
        self.place = place or self.store.place
        manifest = self.store.manifest()
        if manifest is None:
            raise IndexUnreadable(
                f"the index at {self.place} is empty. Fill it with: polygraph index PATH --index {quoted(self.place)}"
            )
        self.manifest = manifest
        self.versions = up_to_date(self.store, manifest)
        self._filter = DocumentFilter(self.store, {})
        self._kept = _Kept()

    @property
    def layers(self) -> frozenset[str]:
        """The layers that are up to date."""
        return frozenset(self.versions)

    def close(self) -> None:
        """Release the files."""
        self.store.close()

    def where(self, scope: Mapping[str, str]) -> "Snapshot":
        """Return the same state, restricted to the documents whose metadata match.

        Args:
            scope: maps ``id``, ``title`` or a metadata field to a value or a pattern with ``*``. Every pair must
                match, ignoring case. A field that holds a list matches if one of its items does.

        Raises:
            BadInput: if no document has one of the fields.
        """
        scoped = Snapshot.__new__(Snapshot)
        scoped.folder, scoped.store, scoped.manifest = self.folder, self.store, self.manifest
        scoped.versions, scoped._keeps, scoped.place = self.versions, self._keeps, self.place
        scoped._kept = self._kept
        scoped._filter = DocumentFilter(self.store, {**self.scope, **scope})
        _ = scoped.documents_allowed  # so that an unknown field is reported here
        return scoped

    def check_embedder(self, name: str, dimension: int) -> None:
        """Check that questions are embedded by the model that embedded the chunks.

        Raises:
            IndexMismatch: if it is another one.
        """
        if (name, dimension) != (self.manifest.embedder, self.manifest.dimension):
            raise IndexMismatch(
                f"the index at {self.place} holds vectors of {self.manifest.embedder} "
                f"({self.manifest.dimension} dimensions), and the embedder in use is {name} ({dimension}). Use the "
                f"former (setting `embedder`), or embed again with: polygraph index --index {quoted(self.place)}"
            )

    def check_name_embedder(self, name: str) -> None:
        """Check that questions are embedded by the model that embedded entities and relations.

        Raises:
            IndexMismatch: if it is another one.
        """
        if name != self.manifest.name_embedder:
            raise IndexMismatch(
                f"the index at {self.place} holds entity vectors of {self.manifest.name_embedder}, and the "
                f"embedder in use is {name}. Use the former (setting `name_embedder`), or embed again with: "
                f"polygraph index --index {quoted(self.place)}"
            )

    # --- filter -------------------------------------------------------------------------------------

    @property
    def scope(self) -> dict[str, str]:
        """The conditions of the filter; empty without one."""
        return self._filter.scope

    @property
    def documents_allowed(self) -> frozenset[str] | None:
        """Ids of the documents within the filter; None without a filter."""
        return self._filter.documents

    @property
    def wider_scope(self) -> dict[str, str]:
        """The conditions with one value as a part of what some documents hold; empty if there are none."""
        return self._filter.wider

    def permits(self, chunks: Iterable[str]) -> bool:
        """Tell whether all of some chunks (ids) are within the filter."""
        return self._filter.permits(chunks)

    # --- chunks -------------------------------------------------------------------------------------

    @cached_property
    def n_chunks(self) -> int:
        """Number of chunks in the index, regardless of the filter."""
        return self.store.count("chunks")

    def chunks(self, ns: Sequence[int]) -> list[Chunk]:
        """Return chunks by row, in the order asked for."""
        ids = self._kept.chunk_ids.read(ns, self._read_chunks)
        chunks = {chunk.id: chunk for chunk in self.chunks_by_id(list(ids.values()))}
        return [chunks[ids[n]] for n in ns if n in ids]

    def chunk_ids(self, ns: Sequence[int]) -> list[str]:
        """Return ids of chunks by row, in the order asked for; nothing else of them is read."""
        ids = self._kept.chunk_ids.read(ns, self.store.documents.chunk_ids_by_row)
        return [ids[n] for n in ns if n in ids]

    def _read_chunks(self, ns: Sequence[int]) -> dict[int, str]:
        """Read chunks by row, keep them, and return their ids."""
        found = self.store.documents.chunks_by_row(ns)
        self._kept.chunks.read([c.id for c in found], lambda _: {c.id: c for c in found})
        return {n: chunk.id for n, chunk in zip(ns, found, strict=True)}

    def chunks_by_id(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id, in the order asked for; unknown ids are left out."""
        found = self._kept.chunks.read(
            ids, lambda some: {c.id: c for c in self.store.documents.chunks_by_id(some)}
        )
        return [found[chunk] for chunk in ids if chunk in found]

    def spans(self, ids: Iterable[str]) -> dict[str, Span]:
        """Return the spans of whole chunks by id, each once, in the order asked for; unknown ids are left out."""
        return self._kept.spans.read(ids, self.store.documents.spans_of)

    def tables_of(self, documents: Sequence[str]) -> dict[str, tuple[Table, ...]]:
        """Return the tables of some documents by id; documents without any, or outside the filter, are left out."""
        allowed = self.documents_allowed
        return self.store.documents.tables_of([d for d in documents if allowed is None or d in allowed])

    def passage_tokens(self, ids: Sequence[str]) -> dict[str, int]:
        """Tokens of chunks below the title of their document, by id; chunks without a stored count are left out."""
        return self._kept.passage_tokens.read(ids, self.store.documents.passage_tokens)

    def chunk_rows(self, ids: Sequence[str]) -> dict[str, int]:
        """Return rows of chunks by id, in the order asked for; unknown ids are left out."""
        return self._kept.chunk_rows.read(ids, self.store.documents.chunk_rows)

    def chunks_of(self, document: str) -> list[Chunk]:
        """Return the chunks of one document, in order, regardless of the filter."""
        return self.store.documents.chunks_of(document)

    def titles(self, documents: Sequence[str]) -> dict[str, str]:
        """Return titles of documents by id."""
        return {document: heading.title for document, heading in self.headings(documents).items()}

    def headings(self, documents: Sequence[str]) -> dict[str, Heading]:
        """Return title and short fields of documents by id, as they stand above passages."""
        return self._kept.headings.read(documents, self.store.documents.headings)

    def dates(self, documents: Sequence[str]) -> dict[str, str]:
        """Return the dates of documents by id, empty if they have none; nothing else of them is read."""
        if not self.may_have_dates():
            return dict.fromkeys(documents, "")
        return self._kept.dates.read(documents, self._read_dates)

    def may_have_dates(self) -> bool:
        """Tell whether some document may have a date: False once it is known that `dates` has none for any."""
        kept = self._kept
        if kept.has_dates is None and (self._has_few_documents or kept.n_undated >= _UNDATED):
            kept.has_dates = self.store.documents.has_dates()
        return kept.has_dates is not False

    @cached_property
    def _has_few_documents(self) -> bool:
        return self.store.count("documents") <= _FEW_DOCUMENTS

    def _read_dates(self, documents: Sequence[str]) -> dict[str, str]:
        found = self.store.documents.dates(documents)
        self._kept.n_undated += len(found)
        if any(found.values()):
            self._kept.has_dates = True
        return found

    def search_words(self, question: str, k: int) -> list[Hit]:
        """Return the `k` best chunks by BM25."""
        return self._lexical.search(question, k, self._filter.chunks)

    def search_chunks(self, vector: Vectors, k: int) -> list[Hit]:
        """Return the `k` best chunks by cosine with a unit vector of shape ``(dimension,)``."""
        return self._vectors("chunk_vectors").search(vector, k, self._filter.chunks)

    def nearest_chunks(self, vector: Vectors, k: int) -> Nearest:
        """Return what `search_chunks` does, as arrays of shape ``(k,)`` or shorter."""
        return self._vectors("chunk_vectors").nearest(vector, k, self._filter.chunks)

    def approximates_chunks(self, k: int) -> bool:
        """Tell whether `search_chunks` for `k` chunks costs less than `chunk_scores`: it reads less."""
        return self._vectors("chunk_vectors").is_approximate(k)

    def compares_all_chunks(self, k: int) -> bool:
        """Tell whether `search_chunks` for `k` chunks compares all, so that `chunk_scores` costs no more."""
        return self._vectors("chunk_vectors").compares_all(k)

    def chunk_scores(self, vector: Vectors) -> NDArray[np.float32]:
        """Return the cosine of every chunk with a unit vector, shape ``(n_chunks,)``; ``-inf`` outside the filter."""
        scores = np.round(self._vectors("chunk_vectors").scores(vector), 6)
        return _within(scores, self._filter.chunks)

    def chunk_similarities(
        self, vector: Vectors, ns: Sequence[int] | NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the scores of some chunks as `chunk_scores` has them without a filter, in the order asked for."""
        found = self._vectors("chunk_vectors").scores_of(vector, np.asarray(ns, dtype=np.int64))
        return np.asarray(np.round(found, 6), dtype=np.float32)

    # --- graph --------------------------------------------------------------------------------------

    @cached_property
    def graph(self) -> Graph:
        """Entities joined by relations, as arrays over entity rows, regardless of the filter."""
        return Graph.load(self._folder("graph") / GRAPH_FILE)

    @cached_property
    def arrays(self) -> GraphArrays:
        """Rows and ends of relations and triples, regardless of the filter."""
        graph = self.graph  # when it was opened, all files of the layer were checked
        return GraphArrays.open(folder_of(self.folder, "graph", self.versions["graph"]), graph)

    @cached_property
    def n_entities(self) -> int:
        """Number of entities, regardless of the filter; chunk `c` is vertex ``n_entities + c`` of `edges`."""
        return self.store.count("entities")

    def edges(self, layer: str) -> Graph:
        """Return the edges of one kind; those that rest on documents outside the filter are left out.

        An edge that rests on documents inside and outside the filter keeps the share of its weight that its chunks
        inside have.

        Args:
            layer: one of `EDGE_LAYERS`. Vertices are entities, by row, then, for ``mentions``, chunks, by row.
        """
        if layer not in self._edges:
            self._edges[layer] = self._edges_within(layer)
        return self._edges[layer]

    def derived(self, name: str, make: Callable[[], Graph]) -> Graph:
        """Return a graph that is derived from others; it is made once and kept while this state is open."""
        if name not in self._edges:
            self._edges[name] = make()
        return self._edges[name]

    @cached_property
    def _edges(self) -> dict[str, Graph]:
        return {}

    def kept(self, name: str, most: int) -> KeptRows[Any, Any]:
        """Return values that are derived from rows; at most `most` of them are kept while this state is open.

        A filter hides parts of rows: what is derived within it is kept for it alone.
        """
        return self._derived.setdefault(name, KeptRows(most))

    @cached_property
    def _derived(self) -> dict[str, KeptRows[Any, Any]]:
        return {}

    def network(self, kinds: Iterable[EdgeKind]) -> Network:
        """Return the network of edges of some kinds; it is kept while this state is open, like their graphs."""
        listed = tuple(kinds)
        key = tuple((id(kind.graph), kind.factor, kind.weighted) for kind in listed)
        return self._networks.setdefault(key, Network(listed))

    @cached_property
    def _networks(self) -> dict[tuple[tuple[int, float, bool], ...], Network]:
        return {}

    def _edges_within(self, layer: str) -> Graph:
        whole = Graph.load(self._folder(layer) / GRAPH_FILE)
        chunks = self._filter.chunks
        if chunks is None:
            return whole
        if layer in ("graph", "facts"):
            table: Literal["relations", "triples"] = "relations" if layer == "graph" else "triples"
            rows = [
                (source, target, weight * self._filter.count(ids) / len(ids))
                for source, target, weight, ids in self.store.graph.edges_with_chunks(table)
            ]
            kept = [row for row in rows if row[2] > 0]
            return Graph.from_edges(self.n_entities, *([row[i] for row in kept] for i in range(3)))
        a, b, weights = whole.edges()
        if layer == "mentions":
            inside = chunks[b - self.n_entities]
            return mention_edges(self.n_entities, len(chunks), a[inside], b[inside] - self.n_entities)
        if (entities := self._filter.entities) is not None:
            inside = entities[a] & entities[b]
            a, b, weights = a[inside], b[inside], weights[inside]
        return Graph.from_edges(whole.n, a, b, weights)

    @cached_property
    def names(self) -> TitleGraph:
        """Names that chunks within the filter share, and these chunks."""
        whole = TitleGraph.load(self._folder("names"), self.n_chunks)
        return whole if self._filter.chunks is None else whole.within(self._filter.chunks)

    def search_entities(self, vector: Vectors, k: int) -> list[Hit]:
        """Return the `k` best entities by the cosine of name and descriptions with a unit vector."""
        return self._vectors("entity_vectors").search(vector, k, self._filter.entities)

    def search_each(
        self,
        layer: Literal["entity_vectors", "name_vectors", "description_vectors"],
        vectors: Vectors,
        ks: Sequence[int],
    ) -> list[list[Hit]]:
        """Return for each of some unit vectors its `ks` best entities, as the search of the layer does.

        Args:
            layer: whose vectors are searched.
            vectors: shape ``(m, dimension)``.
            ks: how many entities each vector wants.
        """
        return self._vectors(layer).search_each(vectors, ks, self._filter.entities)

    def search_names(self, vector: Vectors, k: int) -> list[Hit]:
        """Return the `k` best entities by the cosine of their names."""
        return self._vectors("name_vectors").search(vector, k, self._filter.entities)

    def search_relations(self, vector: Vectors, k: int) -> list[Hit]:
        """Return the `k` best relations by the cosine of keywords, ends and description."""
        return self._vectors("relation_vectors").search(vector, k, self._filter.relations)

    def fact_scores(self, vector: Vectors) -> NDArray[np.float32]:
        """Return the cosine of every triple with a unit vector, shape ``(n_triples,)``; ``-inf`` outside the filter."""
        scores = np.round(self._vectors("fact_vectors").scores(vector), 6)
        return _within(scores, self._filter.triples)

    def fact_similarities(
        self, vector: Vectors, ns: Sequence[int] | NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the scores of some triples as `fact_scores` has them, in the order asked for."""
        some = np.asarray(ns, dtype=np.int64)
        scores = np.round(self._vectors("fact_vectors").scores_of(vector, some), 6)
        permitted = self._filter.triples
        return _within(scores, None if permitted is None else permitted[some])

    def search_facts(self, vector: Vectors, k: int) -> list[Hit]:
        """Return the `k` best triples by the cosine of subject, predicate and object."""
        return self._vectors("fact_vectors").search(vector, k, self._filter.triples)

    def search_predicates(self, vector: Vectors, k: int) -> list[tuple[str, float]]:
        """Return the `k` predicates that are nearest to a unit vector, with their cosine, best first, ties by row.

        Those that are used only outside the filter are left out.
        """
        scores = self._vectors("predicate_vectors").scores(vector)
        hits = top(scores, k if self._filter.chunks is None else len(scores))
        found = [(self._predicates[hit.n], hit.score) for hit in hits]
        if self._filter.chunks is not None:
            found = [(p, s) for p, s in found if self.triples(self.store.graph.triples_with([p]))][:k]
        return found

    def predicate_similarities(self, vector: Vectors, ns: NDArray[np.int64]) -> list[float]:
        """Return the cosine of the predicate of each of some triples with a unit vector, in the order of the triples.

        Args:
            vector: shape ``(dimension,)``.
            ns: rows of triples.

        Returns:
            Cosines to six places.
        """
        numbers = np.asarray(self.arrays.triple_predicates[ns])
        cosines = self._vectors("predicate_vectors").scores(vector)
        rounded = {n: round(float(cosines[n]), 6) for n in distinct(numbers).tolist()}
        return [rounded[n] for n in numbers.tolist()]

    def entities(self, ns: Sequence[int], *, most_chunks: int | None = None) -> list[Entity]:
        """Return entities by row, reduced to what the filter permits.

        Args:
            ns: rows.
            most_chunks: chunks of each, the first ones, that are enough; with a filter all are returned.
        """
        if self.documents_allowed is None:
            found = self._kept.entities.read(
                [(n, most_chunks) for n in ns], lambda keys: self._read_entities(keys, most_chunks)
            )
            return [found[n, most_chunks] for n in ns if (n, most_chunks) in found]
        return [self._filter.reduce_entity(e) for e in self.store.graph.entities_by_row(ns)]

    def entity_outlines(self, ns: Sequence[int]) -> list[EntityOutline]:
        """Return which texts describe some entities, by row, in the order asked for, as far as the filter permits.

        The texts are read by `texts`, those that are chosen.
        """
        if self.documents_allowed is None:
            return self.store.graph.entity_outlines(ns)
        return [
            EntityOutline(e.id, e.name, [(d.text, d.chunk) for d in e.descriptions], bool(e.chunks))
            for e in self.entities(ns, most_chunks=1)
        ]

    def texts(self, keys: Sequence[int | str]) -> dict[int | str, str]:
        """Return the texts of some keys of `entity_outlines`."""
        return self.store.graph.texts(keys)

    def _read_entities(
        self, keys: Sequence[tuple[int, int | None]], most_chunks: int | None
    ) -> dict[tuple[int, int | None], Entity]:
        rows = [n for n, _ in keys]
        if most_chunks is None or "graph" not in self.layers:
            found_entities = self.store.graph.entities_by_row(rows, most_chunks=most_chunks)
            return dict(zip(keys, found_entities, strict=True))
        degrees = dict(zip(rows, self.graph.degrees_of(rows).tolist(), strict=True))
        hubs = [n for n in rows if degrees[n] >= _HUB_DEGREE]
        heads = zip(hubs, self.store.graph.entity_heads(hubs, most_chunks=most_chunks), strict=True)
        found: dict[tuple[int, int | None], Entity] = {
            (n, most_chunks): replace(e, degree=degrees[n]) for n, e in heads
        }
        others = [n for n in rows if degrees[n] < _HUB_DEGREE]
        read = self.store.graph.entities_by_row(others, most_chunks=most_chunks)
        return found | {(n, most_chunks): e for n, e in zip(others, read, strict=True)}

    def relations_at(self, entities: Sequence[int], *, most: int | None = None) -> list[Neighbour]:
        """Return the relations of some entities, by row.

        Args:
            entities: rows.
            most: of more relations only these many are returned, the strongest; ties by the rows of their ends.
        """
        key = (tuple(entities), most)
        return self._kept.neighbours.read([key], lambda _: {key: self._read_neighbours(entities, most)})[key]

    def _read_neighbours(self, entities: Sequence[int], most: int | None) -> list[Neighbour]:
        if most is None or int(self.graph.degrees_of(entities).sum()) <= most:
            return [Neighbour(*row) for row in self.store.graph.relations_at(entities)]
        sources, targets, weights = self.graph.edges_of(entities)
        best = np.lexsort((targets, sources, -weights))[:most]
        ends = list(zip(sources[best].tolist(), targets[best].tolist(), strict=True))
        rows = self.arrays.relations_between(ends)
        found = zip(rows, ends, weights[best].tolist(), strict=True)
        return sorted((Neighbour(n, a, b, w) for n, (a, b), w in found), key=lambda e: e.n)

    def description_counts(self, ns: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return how many descriptions relations have, shape ``(len(ns),)``; None with a filter, which hides some."""
        if self.documents_allowed is not None:
            return None
        return self.arrays.description_counts[ns].astype(np.int64)

    def relations(self, ns: Sequence[int]) -> dict[int, Relation]:
        """Return relations by row, reduced to what the filter permits; those without a permitted chunk are left out."""
        found = self._kept.relations.read(
            ns, lambda some: dict(zip(some, self.store.graph.relations_by_row(some), strict=True))
        )
        if self.documents_allowed is None:
            return found
        reduced = {n: self._filter.reduce_relation(r) for n, r in found.items()}
        return {n: r for n, r in reduced.items() if r is not None}

    def relation_heads(self, ns: Sequence[int]) -> list[tuple[str, float]]:
        """Return id and weight of relations by row, in the order asked for, regardless of the filter."""
        found = self._kept.relation_heads.read(
            ns, lambda some: dict(zip(some, self.store.graph.relation_heads(some), strict=True))
        )
        return [found[n] for n in ns]

    def single_descriptions(self, keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Relation]:
        """Return relations by row with one of their descriptions each, given by its number, and without their chunks.

        Those without this description are left out. With a filter, they are read whole, reduced to what it permits.
        """
        if self.documents_allowed is None:
            return self.store.graph.single_descriptions(keys)
        whole = self.relations([n for n, _ in keys])
        return {
            (n, i): replace(whole[n], descriptions=whole[n].descriptions[i : i + 1])
            for n, i in keys
            if n in whole and i < len(whole[n].descriptions)
        }

    def relations_per_chunk(self, ns: Sequence[int]) -> dict[str, int]:
        """Count the relations among some rows that each permitted chunk states; their texts are not read."""
        counts = self.store.graph.relations_per_chunk(ns)
        return {chunk: n for chunk, n in counts.items() if self._filter.permits([chunk])}

    def triples(self, ns: Sequence[int]) -> dict[int, Triple]:
        """Return triples by row, with the chunks that the filter permits; those without one are left out."""
        found = dict(zip(ns, self.store.graph.triples_by_row(ns), strict=True))
        if self.documents_allowed is None:
            return found
        reduced = {n: self._filter.reduce_triple(t) for n, t in found.items()}
        return {n: t for n, t in reduced.items() if t is not None}

    def triples_with(self, predicates: Sequence[str]) -> list[int]:
        """Return the rows of the triples that have one of some predicates."""
        return self.store.graph.triples_with(predicates)

    def entities_named(self, names: Sequence[str]) -> dict[str, list[int]]:
        """Return the rows of the entities that have some names or aliases, by name as given."""
        return self.store.graph.entities_named(names)

    def mentioned_in(self, entity: int, chunks: Sequence[int]) -> list[bool]:
        """Tell for each of some chunks whether it mentions an entity, both by row, regardless of the filter."""
        if "mentions" in self.layers:
            # The passages of a vertex ascend.
            there = self._mentions.neighbours(entity)
            wanted = np.asarray(chunks, dtype=np.int64) + self.n_entities
            found: list[bool] = find_sorted(there, wanted)[1].tolist()
            return found
        (found_entity,) = self.store.graph.entities_by_row([entity])
        known = set(found_entity.chunks)
        return [chunk.id in known for chunk in self.chunks(chunks)]

    @cached_property
    def _mentions(self) -> Graph:
        return Graph.load(self._folder("mentions") / GRAPH_FILE)

    def entity_names(self, ids: Sequence[str]) -> dict[str, str]:
        """Return names of entities by id; unknown ids are left out."""
        return self._kept.names.read(ids, self.store.graph.names_by_id)

    def names_by_row(self, ns: Sequence[int]) -> dict[int, str]:
        """Return names of entities by row; nothing else of them is read."""
        return self._kept.names_by_row.read(ns, self.store.graph.names_by_row)

    def ids_by_row(self, ns: Sequence[int]) -> dict[int, str]:
        """Return ids of entities by row; nothing else of them is read."""
        return self._kept.entity_ids.read(ns, self.store.graph.ids_by_row)

    def entity_rows(self, ids: Sequence[str]) -> dict[str, int]:
        """Return rows of entities by id; unknown ids are left out."""
        return self._kept.entity_rows.read(ids, self.store.graph.entity_rows)

    # --- communities and reports --------------------------------------------------------------------

    def communities(self) -> list[Community]:
        """Return every community, by level, then id."""
        return self.store.reports.communities()

    def community_tree(self) -> list[tuple[str, int, str]]:
        """Return every community as ``(id, level, id of its parent)``, by level, then id; members are not read."""
        return self.store.reports.community_tree()

    def community_parents(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the ids of the parents of some communities, empty for those without; unknown ids are left out."""
        return self.store.reports.community_parents(ids)

    def communities_of(self, entities: Sequence[str]) -> list[tuple[str, str]]:
        """Return the pairs ``(entity id, community id)`` of some entities, sorted."""
        return self.store.reports.communities_of(entities)

    def reports(self, communities: Sequence[str] | None = None) -> list[Report]:
        """Return the reports of some communities or of all, without those that the filter hides."""
        found = self.store.reports.all() if communities is None else self._reports_of(communities)
        return [r for r in found if self.permits(r.chunks)]

    def _reports_of(self, communities: Sequence[str]) -> Iterable[Report]:
        found = self._kept.reports.read(
            communities, lambda some: {r.community: r for r in self.store.reports.get(some)}
        )
        return found.values()

    def report_tokens(self, reports: Sequence[Report]) -> dict[str, int]:
        """Return the tokens of the texts of some reports by community."""
        texts = {report.community: report for report in reports}
        return self._kept.report_tokens.read(
            texts, lambda some: {community: count_tokens(texts[community].text) for community in some}
        )

    def search_reports(self, vector: Vectors, k: int) -> list[tuple[Report, float]]:
        """Return the `k` best reports with their cosine to a unit vector (name embedder); ties by level, then id."""
        hits = self._vectors("report_vectors").search(vector, k, self._filter.reports)
        found = self._reports_of([self._reported[hit.n] for hit in hits])
        return [(report, hit.score) for report, hit in zip(found, hits, strict=True)]

    # --- files --------------------------------------------------------------------------------------

    def _folder(self, layer: str) -> Path:
        return _intact(self.store, folder_of(self.folder, layer, self.versions[layer]), layer, self.place)

    @cached_property
    def _lexical(self) -> LexicalIndex:
        return LexicalIndex.open(self._folder("lexical"))

    def _vectors(self, layer: str) -> VectorSearch:
        opened = self._kept.vectors
        if layer not in opened:
            folder = folder_of(self.folder, layer, self.versions[layer])
            # Without this object, which would then hold itself, and its state, until the garbage collector comes.
            opened[layer] = self.store.open_vectors(
                folder, partial(_vectors_in_files, self.store, folder, layer, self.place)
            )
        return opened[layer]

    @cached_property
    def _reported(self) -> list[str]:
        return self.store.reports.reported_communities()

    @cached_property
    def _predicates(self) -> list[str]:
        return self.store.graph.predicates()


def _intact(store: StoreReader, folder: Path, layer: str, place: str) -> Path:
    """Bring the files of a layer to its folder and return it.

    Raises:
        IndexUnreadable: if they are damaged.
    """
    store.fetch_files(folder)
    # Checked once for each layer, at its first use: a damaged file must not give a wrong answer.
    if problem := damage(folder, thorough=True):
        raise IndexUnreadable(
            f"the layer {layer} is damaged: {problem}. Build it again with: polygraph index --index {quoted(place)}"
        )
    return folder


def _vectors_in_files(store: StoreReader, folder: Path, layer: str, place: str) -> VectorIndex:
    return VectorIndex.open(_intact(store, folder, layer, place))


def _n_statements(row: Entity | Relation) -> int:
    return 1 + len(row.descriptions) + len(row.chunks)


class _Kept:
    """What was read last of one state, which all of its filters share."""

    def __init__(self) -> None:
        self.vectors: dict[str, VectorSearch] = {}
        self.chunks = KeptRows[str, Chunk](_CHUNKS_KEPT)
        self.chunk_ids = KeptRows[int, str](_NUMBERS_KEPT)
        self.chunk_rows = KeptRows[str, int](_NUMBERS_KEPT)
        self.passage_tokens = KeptRows[str, int](_NUMBERS_KEPT)
        self.spans = KeptRows[str, Span](_NUMBERS_KEPT)
        self.headings = KeptRows[str, Heading](_CHUNKS_KEPT)
        self.dates = KeptRows[str, str](_NUMBERS_KEPT)
        self.has_dates: bool | None = None
        """Whether some document has a date; None as long as it is not known."""
        self.n_undated = 0
        """Documents that were read without finding a date."""
        self.entities = KeptRows[tuple[int, int | None], Entity](_STATEMENTS_KEPT, _n_statements)
        self.entity_ids = KeptRows[int, str](_NUMBERS_KEPT)
        self.entity_rows = KeptRows[str, int](_NUMBERS_KEPT)
        self.names = KeptRows[str, str](_STATEMENTS_KEPT)
        self.names_by_row = KeptRows[int, str](_NUMBERS_KEPT)
        self.relation_heads = KeptRows[int, tuple[str, float]](_NUMBERS_KEPT)
        self.relations = KeptRows[int, Relation](_STATEMENTS_KEPT, _n_statements)
        self.reports = KeptRows[str, Report](_STATEMENTS_KEPT, lambda r: 1 + len(r.findings) + len(r.chunks))
        self.report_tokens = KeptRows[str, int](_NUMBERS_KEPT)
        self.neighbours = KeptRows[tuple[tuple[int, ...], int | None], list[Neighbour]](
            _NUMBERS_KEPT, lambda neighbours: 1 + len(neighbours)
        )


def _within(scores: NDArray[np.float32], permitted: NDArray[np.bool_] | None) -> NDArray[np.float32]:
    """Set the scores of rows that are not permitted to ``-inf``."""
    return scores if permitted is None else np.where(permitted, scores, -np.inf).astype(np.float32)
