"""Documents of an imported graph: their ids, and corpus files beside a graph."""

from collections.abc import Mapping
from pathlib import Path

from polygraph.indexing.exchange.importers.safe_read import MAX_BYTES, find_file
from polygraph.indexing.exchange.importers.source_graph import SourceGraph
from polygraph.ingest import load_documents
from polygraph.ingest.decode import clean
from polygraph.records import Document, Json

CORPUS_FILES = ("corpus.jsonl", "corpus.json", "corpus.csv", "documents.jsonl")
"""Files of documents; the first that lies beside a graph is read."""
_MAX_ID = 300


def add_document(
    graph: SourceGraph, key: object, title: object, text: object, metadata: Mapping[str, Json] | None = None
) -> None:
    """Add a document to a graph, under the other program's id.

    Its id in the index is its title if that is a file name that no earlier document has, else the other program's id.
    Its text is cleaned as that of any file, so that a later `polygraph index` of the same file recognizes it.
    """
    known = str(key) if isinstance(key, str | int) else ""
    cleaned = clean(text).removeprefix("\ufeff") if isinstance(text, str) else ""
    if not known or not cleaned.strip():
        graph.record_loss("documents without an id or a text", key)
        return
    name = " ".join(clean(title[:_MAX_ID]).split()) if isinstance(title, str) else ""
    own = clean(known[:_MAX_ID])
    chosen = name if _is_file_name(name) and name not in graph.taken else own
    if known in graph.documents or chosen in graph.taken:
        graph.record_loss("documents with an id that another one has", known)
        return
    graph.taken.add(chosen)
    graph.documents[known] = Document(
        id=chosen,
        title=name or own,
        text=cleaned,
        metadata={"imported_from": graph.program, "source_id": own, **(metadata or {})},
    )


def read_corpus(graph: SourceGraph, folder: Path) -> None:
    """Read the corpus beside a graph, if there is one, exactly as `polygraph index` would read it.

    Raises:
        BadInput: if nothing of it can be read.
    """
    path = find_file(folder, *CORPUS_FILES)
    if path is None:
        return
    loaded = load_documents([path], max_bytes=MAX_BYTES)
    for each in loaded.unread:
        graph.record_loss(f"records of {path.name} that could not be read", f"{each.path} {each.reason}")
    for document in loaded.documents:
        graph.documents[document.id] = document
        graph.taken.add(document.id)
    graph.counts["documents"] = len(loaded.documents)


def _is_file_name(title: str) -> bool:
    stem, dot, ending = title.rpartition(".")
    return bool(stem and dot) and ending.isalnum() and len(ending) <= 5
