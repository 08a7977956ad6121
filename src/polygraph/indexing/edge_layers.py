"""The layers of edges: shared titles, mentions, facts and synonyms."""

from array import array
from itertools import repeat
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polygraph.extract.titles.title_table import TitleTable
from polygraph.graph.csr import Graph
from polygraph.graph.edges import edge_arrays, mention_edges
from polygraph.graph.synonyms import Synonyms, find_synonyms
from polygraph.graph.title_graph import TitleGraph
from polygraph.indexing.layer_task import LayerTask
from polygraph.indexing.title_cache import refresh_titles
from polygraph.store.atomic_files import write_folder
from polygraph.store.layers import GRAPH_FILE
from polygraph.store.protocol import Store
from polygraph.store.vectors import VectorIndex


def find_shared_names(task: LayerTask) -> int:
    """Find titles and other names, and the chunks that mention them."""
    previous = task.previous_folder()
    n_chunks, n_names = task.store.count("chunks"), 0

    def fill(folder: Path) -> None:
        nonlocal n_names
        before = TitleTable.load(previous) if previous else None
        titles = refresh_titles(task.store, task.manifest.chunker, before)
        titles.save(folder)
        found = titles.matches()
        n_names = len(found.keys)
        TitleGraph.of(n_chunks, found.keys, found.titles, found.links, found.shared).save(folder)

    write_folder(task.folder, fill, sealed=True)
    return n_names


def link_mentions(task: LayerTask) -> int:
    """Join each chunk with the entities that it mentions."""
    store = task.store
    return _save(task, mention_edges(store.count("entities"), store.count("chunks"), *mention_rows(store)))


def mention_rows(store: Store) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the entity row and the chunk row of each mention, by entity.

    Raises:
        KeyError: if an entity rests on a chunk that is not in the index.
    """
    rows = store.documents.chunk_rows()
    entities, chunks = array("i"), array("i")
    for entity, ids in store.graph.mentions():
        entities.extend(repeat(entity, len(ids)))
        chunks.extend([rows[i] for i in ids])
    return np.array(entities, dtype=np.int32), np.array(chunks, dtype=np.int32)


def link_facts(task: LayerTask) -> int:
    """Join the entities of each triple; the weight of an edge is the number of rows that state one."""
    triples = edge_arrays(task.store.graph.edges("triples"))
    return _save(task, Graph.from_edges(task.store.count("entities"), *triples))


def link_synonyms(task: LayerTask) -> int:
    """Join entities with similar names."""
    previous, n_edges = task.previous_folder(), 0

    def fill(folder: Path) -> None:
        nonlocal n_edges
        # Names are compared in any order, which takes the vectors themselves.
        vectors = folder / "names.tmp"
        VectorIndex.open(task.folder_of("name_vectors")).copy_to(vectors)
        found = find_synonyms(
            (i for i, _ in task.store.graph.entity_names()),
            (name for _, name in task.store.graph.entity_names()),
            vectors,
            former=Synonyms.load(previous, GRAPH_FILE) if previous else None,
        )
        vectors.unlink()
        found.save(folder, GRAPH_FILE)
        n_edges = found.edges.n_edges

    write_folder(task.folder, fill, sealed=True)
    return n_edges


def _save(task: LayerTask, edges: Graph) -> int:
    write_folder(task.folder, lambda folder: edges.save(folder / GRAPH_FILE), sealed=True)
    return edges.n_edges
