"""Layers: what can be built of an index, what each rests on, and a view of those that are finished.

```
chunks ─┬─ lexical
        ├─ chunk_vectors
        └─ graph ─┬─ entity_vectors
                  └─ communities ── reports
```
A layer's version is a hash of the versions below it and of its own settings; a layer whose version is not the
one that the manifest and the documents imply is stale and counts as missing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polygraph.errors import BadInput, IndexMismatch, IndexUnreadable
from polygraph.graph.csr import Graph
from polygraph.models.protocols import Vectors
from polygraph.records import Chunk, Community, Entity, Json, Relation, Report, digest
from polygraph.store import lexical
from polygraph.store.files import damage
from polygraph.store.lexical import LexicalIndex
from polygraph.store.manifest import Manifest
from polygraph.store.sqlite import Store
from polygraph.store.unfinished import finished_state
from polygraph.store.vectors import Hit, VectorIndex

BELOW: Mapping[str, tuple[str, ...]] = {
    "chunks": (),
    "lexical": ("chunks",),
    "chunk_vectors": ("chunks",),
    "graph": ("chunks",),
    "entity_vectors": ("graph",),
    "communities": ("graph",),
    "reports": ("communities",),
}
"""Every layer in the order of building, with the layers that it rests on."""

FILES = frozenset({"lexical", "chunk_vectors", "graph", "entity_vectors"})
"""Layers that keep files under ``derived/``; the others are tables."""


REVISION = "revision"
"""Counts how often windows were read again; absent before the first time."""

GRAPH_FILE = "adjacency.csr"
"""Name of the file that holds the graph, in the folder of its layer."""


def with_below(layers: Iterable[str]) -> tuple[str, ...]:
    """Add what the layers rest on; in the order of building.

    >>> with_below(["communities"])
    ('chunks', 'graph', 'communities')
    """
    wanted: set[str] = set()
    waiting = list(layers)
    while waiting:
        layer = waiting.pop()
        if layer not in wanted:
            wanted.add(layer)
            waiting += BELOW[layer]
    return tuple(layer for layer in BELOW if layer in wanted)


def versions(store: Store, manifest: Manifest) -> dict[str, str]:
    """The version that each layer would have if it were built now."""
    documents = store.document_hashes()
    found = {
        "chunks": digest(manifest.chunker, *(f"{i}\n{h}" for i, (_, h) in documents.items())),
    }
    decisions = [
        f"{kind}\n{a}\n{b}" for kind in ("apart", "together") for a, b in sorted(store.decisions(kind))
    ]
    revision = [found_revision] if (found_revision := store.meta(REVISION)) else []
    own = {
        "lexical": [lexical.ANALYSER],
        "chunk_vectors": [manifest.embedder],
        # Reading windows again changes the rows under the same documents.
        "graph": [manifest.extractor, *decisions, *revision],
        "entity_vectors": [manifest.name_embedder],
        "communities": [str(manifest.community_size)],
        "reports": [manifest.reports],
    }
    for layer, below in BELOW.items():
        if layer not in found:
            found[layer] = digest(layer, *own[layer], *(found[b] for b in below))
    return found


def folder_of(index: Path, layer: str, version: str) -> Path:
    """Where the files of a layer lie."""
    return index / "derived" / f"{layer}-{version[:12]}"


def current(
    store: Store, manifest: Manifest | None, sound: Callable[[Path], bool] | None = None
) -> dict[str, str]:
    """Finished layers that are up to date and whose files are there, with their versions.

    Args:
        store: of the index.
        manifest: what they should be built with.
        sound: tells whether a folder of files is as it was written; default: by names and sizes.
    """
    if manifest is None:
        return {}
    wanted, done = versions(store, manifest), store.layers()
    if sound is None:
        sound = _looks_sound
    found: dict[str, str] = {}
    for layer, below in BELOW.items():
        if layer not in done or done[layer][0] != wanted[layer] or any(b not in found for b in below):
            continue
        if layer in FILES and not sound(folder_of(store.folder, layer, wanted[layer])):
            continue
        found[layer] = wanted[layer]
    return found


def _looks_sound(folder: Path) -> bool:
    return not damage(folder)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A relation as seen from the graph: row of the relation, rows of its ends, weight."""

    n: int
    source: int
    target: int
    weight: float


class Snapshot:
    """The finished layers of an index, as one state; what methods read.

    Rows are numbers: chunks in the order of (document id, ordinal), entities in the order of their ids. With a
    filter (`where`) everything that rests on other documents is invisible: chunks, descriptions of entities and
    relations, and any report of which a part rests on them.
    """

    def __init__(
        self, folder: Path, scope: Mapping[str, str] | None = None, store: Store | None = None
    ) -> None:
        self.folder = folder
        self.store = store or finished_state(folder)
        manifest = self.store.manifest()
        if manifest is None:
            raise IndexUnreadable(
                f"the index at {folder} is empty. Fill it with: polygraph index PATH --index {folder}"
            )
        self.manifest = manifest
        self.versions = current(self.store, manifest)
        self.scope = dict(scope or {})

    @property
    def layers(self) -> frozenset[str]:
        """Layers that can be read."""
        return frozenset(self.versions)

    def close(self) -> None:
        """Release the files."""
        self.store.close()

    def where(self, scope: Mapping[str, str]) -> "Snapshot":
        """The same state, restricted to the documents whose metadata match.

        Args:
            scope: keys ``id``, ``title`` or a metadata field, to a value or a pattern with ``*``; every pair
                must match, letter case aside. A field that holds a list matches if an item does.

        Raises:
            BadInput: if no document has one of the fields.
        """
        scoped = Snapshot.__new__(Snapshot)
        scoped.folder, scoped.store, scoped.manifest = self.folder, self.store, self.manifest
        scoped.versions, scoped.scope = self.versions, {**self.scope, **scope}
        _ = scoped.allowed  # so that a wrong field is reported here
        return scoped

    def check_embedder(self, name: str, dimension: int) -> None:
        """Make sure that questions are embedded by the model that embedded the chunks.

        Raises:
            IndexMismatch: if it is another one.
        """
        if (name, dimension) != (self.manifest.embedder, self.manifest.dimension):
            raise IndexMismatch(
                f"the index at {self.folder} holds vectors of {self.manifest.embedder} "
                f"({self.manifest.dimension} dimensions), and the embedder in use is {name} ({dimension}). Use the "
                f"former (setting `embedder`), or embed again with: polygraph index --index {self.folder}"
            )

    def check_name_embedder(self, name: str) -> None:
        """The same for entities and relations."""
        if name != self.manifest.name_embedder:
            raise IndexMismatch(
                f"the index at {self.folder} holds entity vectors of {self.manifest.name_embedder}, and the "
                f"embedder in use is {name}. Use the former (setting `name_embedder`), or embed again with: "
                f"polygraph index --index {self.folder}"
            )

    # --- scope --------------------------------------------------------------------------------------

    @cached_property
    def documents_allowed(self) -> frozenset[str] | None:
        """Ids of the documents within the filter; None without a filter."""
        if not self.scope:
            return None
        known: set[str] = {"id", "title"}
        allowed = []
        for document, title, metadata in self.store.documents():
            known |= metadata.keys()
            fields: dict[str, Json] = {**metadata, "id": document, "title": title}
            if all(_matches(fields.get(key), value) for key, value in self.scope.items()):
                allowed.append(document)
        unknown = sorted(set(self.scope) - known)
        if unknown:
            raise BadInput(
                f"no document has the field {unknown[0]!r}. Fields are: {', '.join(sorted(known))}"
            )
        return frozenset(allowed)

    @cached_property
    def allowed(self) -> NDArray[np.bool_] | None:
        """Chunks within the filter, shape ``(n_chunks,)``; None without a filter."""
        documents = self.documents_allowed
        if documents is None:
            return None
        rows = self.store.rows("SELECT document FROM chunks ORDER BY n")
        return np.fromiter((d in documents for (d,) in rows), dtype=np.bool_, count=len(rows))

    def permits(self, chunks: Iterable[str]) -> bool:
        """Whether all of these chunks (ids) are within the filter."""
        documents = self.documents_allowed
        return documents is None or all(c.rpartition(":")[0] in documents for c in chunks)

    # --- chunks -------------------------------------------------------------------------------------

    @cached_property
    def n_chunks(self) -> int:
        """How many chunks the index has, filter aside."""
        return self.store.count("chunks")

    def chunks(self, ns: Sequence[int]) -> list[Chunk]:
        """Chunks by row."""
        return self.store.chunks(ns)

    def chunks_by_id(self, ids: Sequence[str]) -> list[Chunk]:
        """Chunks by id."""
        return self.store.chunks_by_id(ids)

    def titles(self, documents: Sequence[str]) -> dict[str, str]:
        """Titles of documents by id."""
        return self.store.titles(list(dict.fromkeys(documents)))

    def search_words(self, question: str, k: int) -> list[Hit]:
        """Chunks by BM25."""
        return self._lexical.search(question, k, self.allowed)

    def search_chunks(self, vector: Vectors, k: int) -> list[Hit]:
        """Chunks by cosine with a unit vector of shape ``(dimension,)``."""
        return self._chunk_vectors.search(vector, k, self.allowed)

    def chunk_similarities(self, vector: Vectors, ns: Sequence[int]) -> NDArray[np.float32]:
        """Cosine of some chunks with a unit vector, in the order asked for."""
        rows = self._chunk_vectors.rows(np.asarray(ns, dtype=np.int64))
        return np.asarray(np.round(rows @ vector, 6), dtype=np.float32)

    # --- graph --------------------------------------------------------------------------------------

    @cached_property
    def graph(self) -> Graph:
        """Entities joined by relations, as arrays over entity rows, filter aside."""
        return Graph.load(self._folder("graph") / GRAPH_FILE)

    def search_entities(self, vector: Vectors, k: int) -> list[Hit]:
        """Entities by cosine of name and descriptions with a unit vector."""
        if self.allowed is None:
            return self._entity_vectors.search(vector, k)
        return self._entity_vectors.search(vector, k, self._entities_allowed)

    def entities(self, ns: Sequence[int]) -> list[Entity]:
        """Entities by row, reduced to what the filter permits."""
        return [self._reduce_entity(e) for e in self.store.entities(ns)]

    def relations_at(self, entities: Sequence[int]) -> list[Neighbour]:
        """Relations with an end among some entities, by row."""
        return [Neighbour(*row) for row in self.store.edges_at(entities)]

    def relations(self, ns: Sequence[int]) -> dict[int, Relation]:
        """Relations by row, reduced to what the filter permits; those with nothing left are left out."""
        found = dict(zip(ns, self.store.relations(ns), strict=True))
        if self.documents_allowed is None:
            return found
        reduced = {n: self._reduce_relation(r) for n, r in found.items()}
        return {n: r for n, r in reduced.items() if r.chunks}

    def entities_named(self, names: Sequence[str]) -> dict[str, list[int]]:
        """Rows of the entities that bear some names, spelt in any of the ways found, by name as given."""
        return self.store.entities_named(names)

    def entity_numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """Rows of entities by id."""
        return self.store.entity_numbers(ids)

    # --- communities and reports --------------------------------------------------------------------

    def communities(self) -> list[Community]:
        """Every community, by level, then id."""
        return self.store.communities()

    def communities_of(self, entities: Sequence[str]) -> list[tuple[str, str]]:
        """Pairs of entity id and community id."""
        return self.store.communities_of(entities)

    def reports(self, communities: Sequence[str] | None = None) -> list[Report]:
        """Reports of some communities or of all, without those that the filter withholds."""
        return [r for r in self.store.reports(communities) if self.permits(r.chunks)]

    # --- files --------------------------------------------------------------------------------------

    def _folder(self, layer: str) -> Path:
        folder = folder_of(self.folder, layer, self.versions[layer])
        # Asked once for each layer, when it is first used: a damaged file must not give a wrong answer.
        if problem := damage(folder, thorough=True):
            raise IndexUnreadable(
                f"the layer {layer} is damaged: {problem}. Build it again with: "
                f"polygraph index --index {self.folder}"
            )
        return folder

    @cached_property
    def _lexical(self) -> LexicalIndex:
        return LexicalIndex.open(self._folder("lexical"))

    @cached_property
    def _chunk_vectors(self) -> VectorIndex:
        return VectorIndex.open(self._folder("chunk_vectors"))

    @cached_property
    def _entity_vectors(self) -> VectorIndex:
        return VectorIndex.open(self._folder("entity_vectors"))

    @cached_property
    def _entities_allowed(self) -> NDArray[np.bool_]:
        return np.fromiter(
            (any(self.permits([c]) for c in e.chunks) for e in self.store.all_entities()), dtype=np.bool_
        )

    def _reduce_entity(self, e: Entity) -> Entity:
        if self.documents_allowed is None:
            return e
        return replace(
            e,
            descriptions=tuple(d for d in e.descriptions if self.permits([d.chunk])),
            chunks=tuple(c for c in e.chunks if self.permits([c])),
        )

    def _reduce_relation(self, r: Relation) -> Relation:
        chunks = tuple(c for c in r.chunks if self.permits([c]))
        whole = len(chunks) == len(r.chunks)
        return replace(
            r,
            descriptions=tuple(d for d in r.descriptions if self.permits([d.chunk])),
            chunks=chunks,
            # Predicates and keywords do not say which chunk they come from.
            predicates=r.predicates if whole else (),
            keywords=r.keywords if whole else (),
        )


def _matches(value: Json, pattern: str) -> bool:
    if isinstance(value, list):
        return any(_matches(item, pattern) for item in value)
    if value is None:
        return False
    return fnmatchcase(str(value).casefold(), pattern.casefold())
