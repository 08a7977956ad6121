"""Layers: what an index consists of, what each layer rests on, and which ones are up to date.

```
chunks ─┬─ lexical
        ├─ chunk_vectors
        ├─ names
        └─ graph ─┬─ mentions, facts
                  ├─ descriptions ── entity_vectors, description_vectors, relation_vectors
                  ├─ name_vectors ── synonyms
                  ├─ fact_vectors, predicate_vectors
                  └─ communities ── reports ── report_vectors
```
A layer's version is a hash of the versions of the layers that it rests on and of its own settings. A layer whose
version is not the one that follows from the manifest and the documents is stale, and counts as missing.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path

from polygraph import revisions
from polygraph.records import digest, digest_of
from polygraph.store import lexical
from polygraph.store.documents import CHUNKS_VERSION
from polygraph.store.layer_folders import folder_of
from polygraph.store.manifest import Manifest
from polygraph.store.protocol import DECISION_KINDS, Store, StoreReader
from polygraph.store.serialization import dump, load

DEPENDENCIES: Mapping[str, tuple[str, ...]] = {
    "chunks": (),
    "lexical": ("chunks",),
    "names": ("chunks",),
    "chunk_vectors": ("chunks",),
    "graph": ("chunks",),
    "mentions": ("graph",),
    "facts": ("graph",),
    "descriptions": ("graph",),
    "communities": ("graph",),
    "entity_vectors": ("descriptions",),
    "name_vectors": ("graph",),
    "description_vectors": ("descriptions",),
    "relation_vectors": ("descriptions",),
    "fact_vectors": ("graph",),
    "predicate_vectors": ("graph",),
    "reports": ("communities",),
    "synonyms": ("name_vectors",),
    "report_vectors": ("reports",),
}
"""Every layer in the order of building, with the layers that it rests on. `indexing.build` names what builds each."""

CHUNK_VECTOR_LAYERS = frozenset({"chunk_vectors"})
"""Layers whose vectors come from the embedder of chunks and questions."""

NAME_VECTOR_LAYERS = frozenset(
    {
        "entity_vectors",
        "name_vectors",
        "description_vectors",
        "relation_vectors",
        "fact_vectors",
        "predicate_vectors",
        "report_vectors",
    }
)
"""Layers whose vectors come from the embedder of names, for many short texts."""

EDGE_LAYERS = frozenset({"graph", "mentions", "facts", "synonyms"})
"""Layers that hold edges as a graph: relations; entities with their chunks; triples; similar names."""

FILE_LAYERS = frozenset({"lexical", "names", *EDGE_LAYERS, *CHUNK_VECTOR_LAYERS, *NAME_VECTOR_LAYERS})
"""Layers that have files below ``derived/``; the others consist of tables."""


REVISION_KEY = "revision"
"""Key of the number of times that windows were read again; absent before the first time."""

UNASKED_KEY = "unasked"
"""Key of a mark that the graph lacks answers about names that its model would give; absent if it has them all."""

GRAPH_FILE = "adjacency.csr"
"""Name of the file of edges in the folder of a layer of `EDGE_LAYERS`."""


def with_dependencies(layers: Iterable[str]) -> tuple[str, ...]:
    """Return some layers and all that they rest on, in the order of building.

    >>> with_dependencies(["communities"])
    ('chunks', 'graph', 'communities')
    """
    wanted: set[str] = set()
    waiting = list(layers)
    while waiting:
        layer = waiting.pop()
        if layer not in wanted:
            wanted.add(layer)
            waiting += DEPENDENCIES[layer]
    return tuple(layer for layer in DEPENDENCIES if layer in wanted)


def dependents(layer: str) -> tuple[str, ...]:
    """Return every layer that rests on one, directly or not, in the order of building.

    >>> dependents("communities")
    ('reports', 'report_vectors')
    """
    return tuple(other for other in DEPENDENCIES if other != layer and layer in with_dependencies([other]))


def versions(store: StoreReader, manifest: Manifest) -> dict[str, str]:
    """Return the version that each layer would have if it were built now."""
    found = {"chunks": _version_of_chunks(store, manifest)}
    decisions = [
        f"{kind}\n{a}\n{b}" for kind in DECISION_KINDS for a, b in sorted(store.extractions.decisions(kind))
    ]
    revision = store.meta(REVISION_KEY)
    own = {
        "lexical": [lexical.ANALYSER],
        **{layer: [manifest.embedder] for layer in CHUNK_VECTOR_LAYERS},
        **{layer: [manifest.name_embedder, revisions.EMBEDDING_TEXTS] for layer in NAME_VECTOR_LAYERS},
        # Extracting windows again changes the rows of the same documents.
        "graph": [
            manifest.extractor,
            revisions.RESOLUTION,
            *decisions,
            *([revision] if revision else []),
            manifest.same,
            *([revisions.KNOWN_NAMES] if manifest.by_model else []),
        ],
        "names": [revisions.TITLES],
        "mentions": [],
        "facts": [],
        "descriptions": [manifest.descriptions, str(manifest.description_tokens), revisions.DESCRIPTIONS],
        "synonyms": [
            str(revisions.SYNONYM_COSINE),
            str(revisions.SYNONYM_NEIGHBOURS),
            revisions.SYNONYMS,
        ],
        "communities": [str(manifest.community_size), manifest.community_weight],
        "reports": [manifest.reports, revisions.EXTRACTIVE_REPORTS, str(manifest.report_words)],
    }
    for layer, rests_on in DEPENDENCIES.items():
        if layer not in found:
            found[layer] = digest(layer, *own[layer], *(found[b] for b in rests_on))
    return found


def _version_of_chunks(store: StoreReader, manifest: Manifest) -> str:
    kept = store.meta(CHUNKS_VERSION)
    if kept is not None:
        chunker, version = load(kept)
        if chunker == manifest.chunker:
            return str(version)
    documents = (f"{i}\n{h}" for i, h in store.documents.content_hashes())
    return digest_of(chain([manifest.chunker], documents))


def keep_versions(store: Store, manifest: Manifest, found: Mapping[str, str]) -> None:
    """Store what takes longest to compute of the `versions`, so that opening an index reads no document."""
    kept = dump([manifest.chunker, found["chunks"]])
    if store.meta(CHUNKS_VERSION) != kept:
        with store.transaction():
            store.set_meta(CHUNKS_VERSION, kept)


def up_to_date(
    store: StoreReader,
    manifest: Manifest | None,
    is_intact: Callable[[Path], bool] | None = None,
    current: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the versions of the finished layers that are up to date and whose files are intact.

    Args:
        store: of the index.
        manifest: the settings that they should be built with; without one, no layer is up to date.
        is_intact: tells whether a folder of files is as it was written; default: `StoreReader.has_files`.
        current: result of `versions`, if it is known.
    """
    if manifest is None:
        return {}
    is_intact = is_intact or store.has_files
    wanted, done = current or versions(store, manifest), store.layers()
    found: dict[str, str] = {}
    for layer, rests_on in DEPENDENCIES.items():
        if layer not in done or done[layer][0] != wanted[layer] or any(b not in found for b in rests_on):
            continue
        if layer in FILE_LAYERS and not is_intact(folder_of(store.folder, layer, wanted[layer])):
            continue
        found[layer] = wanted[layer]
    return found


def incomplete_layers(store: StoreReader, manifest: Manifest) -> tuple[str, ...]:
    """Return the graph and what rests on it if rows are missing of which the graph would be built again; else nothing.

    When a document is changed, its rows are deleted. If the change is taken back before the graph is built, the graph
    is again that of the documents, while their rows are still to be extracted. Reading does not need these.
    """
    is_unread = bool(manifest.reader) and "pending" in store.extractions.states()
    return ("graph", *dependents("graph")) if is_unread else ()


def complete_layers(store: StoreReader, manifest: Manifest) -> tuple[str, ...]:
    """Return the layers that are up to date and not incomplete, which are built again without extraction."""
    incomplete = incomplete_layers(store, manifest)
    return tuple(layer for layer in up_to_date(store, manifest) if layer not in incomplete)
