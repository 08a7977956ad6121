"""Documents of a graph of others: which id they get, and corpus files that lie beside a graph."""

from collections.abc import Mapping
from pathlib import Path

from polygraph.indexing.exchange.importers.safe_read import MAX_BYTES, find_file
from polygraph.indexing.exchange.importers.source_graph import SourceGraph
from polygraph.ingest import load_documents
from polygraph.ingest.decode import clean
from polygraph.records import Document, Json

CORPUS_FILES = ("corpus.jsonl", "corpus.json", "corpus.csv", "documents.jsonl")
"""Files of documents, the first of which is read if it lies beside a graph."""
_MAX_ID = 300


def add_document(
    graph: SourceGraph, key: object, title: object, text: object, metadata: Mapping[str, Json] | None = None
) -> None:
    """Put a document into a graph, under the other program's id.

    In the index its id is its title if that is the name of a file and no earlier document has it, else the other
    program's id. Its text is cleaned as that of any file, so that a later `polygraph index` of the same file
    knows it again.
    """
    known = str(key) if isinstance(key, str | int) else ""
    told = clean(text).removeprefix("\ufeff") if isinstance(text, str) else ""
    if not known or not told.strip():
        graph.lose("documents without an id or a text", key)
        return
    name = " ".join(clean(title[:_MAX_ID]).split()) if isinstance(title, str) else ""
    own = clean(known[:_MAX_ID])
    chosen = name if _is_file_name(name) and name not in graph.taken else own
    if known in graph.documents or chosen in graph.taken:
        graph.lose("documents with an id that another one has", known)
        return
    graph.taken.add(chosen)
    graph.documents[known] = Document(
        id=chosen,
        title=name or own,
        text=told,
        metadata={"imported_from": graph.program, "source_id": own, **(metadata or {})},
    )


def read_corpus(graph: SourceGraph, folder: Path) -> None:
    """Read the corpus that lies beside a graph, if there is one, exactly as `polygraph index` would read it.

    Raises:
        BadInput: if nothing of it can be read.
    """
    path = find_file(folder, *CORPUS_FILES)
    if path is None:
        return
    loaded = load_documents([path], max_bytes=MAX_BYTES)
    for each in loaded.unread:
        graph.lose(f"records of {path.name} that could not be read", f"{each.path} {each.reason}")
    for document in loaded.documents:
        graph.documents[document.id] = document
        graph.taken.add(document.id)
    graph.counts["documents"] = len(loaded.documents)


def _is_file_name(title: str) -> bool:
    stem, dot, ending = title.rpartition(".")
    return bool(stem and dot) and ending.isalnum() and len(ending) <= 5
