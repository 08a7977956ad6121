"""The layers of chunks: row numbers, words, and vectors."""

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter

from polygraph.indexing.layer_task import LayerTask
from polygraph.indexing.vector_layers import embed_texts
from polygraph.store.lexical import LexicalIndex
from polygraph.text.language import prose_language

_TITLE_CHARACTERS = 200
"""Characters of a title that are put before a chunk's text when it is embedded."""


def number_chunks(task: LayerTask) -> int:
    """Give every chunk its row number."""
    with task.store.transaction():
        return task.store.documents.number_chunks()


def index_words(task: LayerTask) -> int:
    """Build the BM25 index."""
    documents = task.store.documents
    texts = (text for _, _, text in documents.chunk_texts())
    languages = chunk_languages(zip(documents.chunk_documents(), texts, strict=True), task.manifest.language)
    LexicalIndex.save(task.folder, documents.chunk_texts(), languages)
    return task.store.count("chunks")


def chunk_languages(chunks: Iterable[tuple[str, str]], default: str) -> list[str]:
    """Return the language of each chunk: that of most of its document's text, or else of most of all text.

    A table has few words by which a language is detected, and most folders have one language.

    Args:
        chunks: document and text of each; those of one document follow each other.
        default: the language if none is detected in any chunk.
    """
    found: list[tuple[str, int]] = []
    votes = Counter[str]()
    for _, group in groupby(chunks, key=itemgetter(0)):
        own = Counter[str]()
        n_chunks = 0
        for _, text in group:
            n_chunks += 1
            code = prose_language(text)
            own[code] += len(text) if code else 0
        found.append((_most(own), n_chunks))
        votes += own
    main = _most(votes) or default
    return [code or main for code, n_chunks in found for _ in range(n_chunks)]


def _most(votes: Counter[str]) -> str:
    return max(votes, key=lambda code: (votes[code], code), default="")


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
