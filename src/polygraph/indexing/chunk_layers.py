"""The layers of chunks: row numbers, words, and vectors."""

from polygraph.indexing.layer_task import LayerTask
from polygraph.indexing.vector_layers import embed_texts
from polygraph.store.lexical import LexicalIndex

_TITLE_CHARACTERS = 200
"""Characters of a title that are put before a chunk's text when it is embedded."""


def number_chunks(task: LayerTask) -> int:
    """Give every chunk its row number."""
    with task.store.transaction():
        return task.store.documents.number_chunks()


def index_words(task: LayerTask) -> int:
    """Build the BM25 index."""
    LexicalIndex.save(task.folder, task.store.documents.chunk_texts())
    return task.store.count("chunks")


def embed_chunks(task: LayerTask) -> int:
    """Embed the text of every chunk."""
    texts = (embedded_text(title, text) for _, title, text in task.store.documents.chunk_texts())
    return embed_texts(task, task.models.embedder, task.manifest.dimension, texts, task.store.count("chunks"))


def embedded_text(title: str, text: str) -> str:
    r"""Return what is embedded of a chunk: its document's title, unless the text begins with it, then the text.

    >>> embedded_text("Halcyon", "The log of a ship.")
    'Halcyon\nThe log of a ship.'
    """
    head = title[:_TITLE_CHARACTERS]
    return text if text.startswith(head) else f"{head}\n{text}"
