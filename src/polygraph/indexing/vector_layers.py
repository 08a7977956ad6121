"""The layers of vectors."""

from collections.abc import Collection, Iterator
from typing import Any

from polygraph.graph.embedding_texts import RECIPES
from polygraph.indexing.layer_task import LayerTask
from polygraph.models.protocols import Embedder
from polygraph.store.layer_folders import folder_of
from polygraph.store.vectors import write_vectors


def embed_graph(task: LayerTask) -> int:
    """Embed the texts of a layer of `RECIPES`: entities, relations, triples, predicates or reports."""
    store = task.store
    rows, text = RECIPES[task.layer]
    embedder, dimension = task.models.name_embedder, task.manifest.name_dimension
    if rows == "predicates":
        predicates: Collection[Any] = store.graph.predicates()
        return embed_texts(task, embedder, dimension, map(text, predicates), len(predicates))
    records = {
        "entities": store.graph.all_entities,
        "relations": store.graph.all_relations,
        # With names as written: embedders tell names by their capitals.
        "triples": lambda: store.graph.all_triples(by_name=True),
        "reports": store.reports.all,
    }
    return embed_texts(task, embedder, dimension, map(text, records[rows]()), store.count(rows))


def embed_texts(task: LayerTask, embedder: Embedder, dimension: int, texts: Iterator[str], total: int) -> int:
    """Write the vectors of some texts as the layer; texts that the earlier layer has are not embedded again."""
    done = task.store.layers().get(task.layer)
    reused = folder_of(task.store.folder, task.layer, done[0]) if done and not task.rebuild else None
    write_vectors(
        task.folder,
        texts,
        lambda batch: task.models.calls.embed(embedder, batch, "document", stage=task.layer),
        shape=(total, dimension),
        embedder=embedder.name,
        previous=reused,
        on_done=task.counter(total),
    )
    return total
