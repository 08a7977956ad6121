"""The layers of vectors."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from polygraph.graph.embedding_texts import PARTS, RECIPES
from polygraph.indexing.layer_task import LayerTask
from polygraph.models.embedding_cache import block_size
from polygraph.models.protocols import Embedder, TokenEmbedder
from polygraph.store.layer_folders import folder_of
from polygraph.store.matrix_rows import write_matrix
from polygraph.store.token_rows import write_token_rows
from polygraph.store.vectors import add_codes


def embed_graph(task: LayerTask) -> int:
    """Embed the texts of a layer of `RECIPES`: entities, relations, triples, predicates or reports."""
    store = task.store
    rows, text = RECIPES[task.layer]
    found: Iterable[Any]
    if rows == "predicates":
        found = store.graph.predicates()
        total = len(found)
    else:
        records: dict[str, Callable[[], Iterable[Any]]] = {
            "names": lambda: (name for _, name in store.graph.entity_names()),
            "entities": store.graph.entity_statements,
            "relations": store.graph.relation_statements,
            # With names as written: embedders tell names by their capitals.
            "triples": lambda: store.graph.all_triples(by_name=True),
            "reports": store.reports.all,
        }
        found, total = records[rows](), store.count("entities" if rows == "names" else rows)
    embedder = task.models.name_embedder
    if isinstance(embedder, TokenEmbedder):
        parts = PARTS.get(task.layer) or (lambda row: [text(row)])
        return write_token_rows(
            task.folder, map(parts, found), embedder, on_done=task.counter(total), finish=_finish(task)
        )
    return embed_texts(task, embedder, task.manifest.name_dimension, map(text, found), total)


def embed_texts(task: LayerTask, embedder: Embedder, dimension: int, texts: Iterator[str], total: int) -> int:
    """Write the vectors of some texts as the layer; texts that the earlier layer has are not embedded again."""
    done = task.store.layers().get(task.layer)
    reused = folder_of(task.store.folder, task.layer, done[0]) if done and not task.rebuild else None
    write_matrix(
        task.folder,
        texts,
        lambda blocks: task.models.calls.embed_each(embedder, blocks, "document", stage=task.layer),
        shape=(total, dimension),
        embedder=embedder.name,
        block=block_size(embedder),
        previous=reused,
        on_done=task.counter(total),
        finish=_finish(task),
    )
    return total


def _finish(task: LayerTask) -> Callable[[Path], object]:
    """Return what is left to do when the rows of the layer are written: their codes, if there are many."""
    return lambda folder: add_codes(folder, task.approximate_rows)
