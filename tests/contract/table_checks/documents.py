"""Checks of documents and chunks."""

from dataclasses import replace

from polygraph.ids import chunk_id
from polygraph.records import Document, Span, Window
from polygraph.store.protocol import Store
from tests.contract.table_checks.expect import MANY, expect
from tests.store_records import TEXT, TRICKY, chunk, extraction, put_document


def check_documents(store: Store) -> None:
    """Documents come back as they were put, by id."""
    with store.transaction():
        second, _ = put_document(store, "e")
        first, window = put_document(store, "d")
        store.documents.set_unread("/papers", [("/papers/z", "why"), ("/papers/y", TRICKY)])
        expect(store.documents.number_chunks(), 6, "number_chunks returns the number of chunks")
    documents = store.documents
    expect(documents.get("d"), first, "a document comes back as it was put")
    expect(documents.get("none"), None, "a document that is not there is None")
    with store.transaction():
        documents.set_roots([("d", "/elsewhere", "/elsewhere/d")])
    expect(
        documents.get("d"),
        replace(first, source="/elsewhere/d"),
        "set_roots records where a document is found",
    )
    expect(documents.hashes()["d"], ("/elsewhere", first.hash), "set_roots records the root")
    with store.transaction():
        documents.set_roots([("d", "/papers", first.source)])
    expect(
        documents.tables_of(["e", "none"]),
        {"e": second.tables},
        "tables come back as they were put, by document",
    )
    expect(
        list(documents.headers()),
        [(d.id, d.title, dict(d.metadata)) for d in (first, second)],
        "headers come by document id",
    )
    expect(documents.titles(["e", "none"]), {"e": second.title}, "titles leave out unknown ids")
    expect(
        documents.hashes(),
        {"d": ("/papers", first.hash), "e": ("/papers", second.hash)},
        "hashes hold root and content hash",
    )
    expect(
        list(documents.content_hashes()),
        [(d.id, d.hash) for d in (first, second)],
        "content hashes come by id",
    )
    expect(
        list(documents.chunked()),
        [(d.id, d.hash, d.title) for d in (first, second)],
        "documents with chunks come by id",
    )
    expect(
        documents.unread(),
        [("/papers/y", TRICKY), ("/papers/z", "why")],
        "files that could not be read come by path",
    )
    expect(
        store.extractions.windows([window.id]), [window], "a window comes back with its chunks and its text"
    )
    expect(store.extractions.window_documents(), [("d@0", "d"), ("e@0", "e")], "windows come by document")
    with store.transaction():
        store.documents.set_unread("/papers", [])
    expect(documents.unread(), [], "set_unread replaces the list of a root")


def check_shared_text(store: Store) -> None:
    """Text that two chunks of a window share stands in the window once."""
    chunks = (chunk("d", 0, 0, 31), chunk("d", 1, 19, 46))
    window = Window(id="d@0", document="d", ordinal=0, title="D", chunks=chunks, text=TEXT)
    with store.transaction():
        store.documents.put(Document(id="d", title="D", text=TEXT), "/papers", chunks, [window])
    expect(store.extractions.windows(["d@0"]), [window], "what two chunks share stands in their window once")


def check_chunks(store: Store) -> None:
    """Chunks are numbered by document and ordinal, and found by row and id."""
    with store.transaction():
        for name in ("b", "a"):
            put_document(store, name)
        store.documents.number_chunks()
    documents = store.documents
    ids = [chunk_id(name, ordinal) for name in "ab" for ordinal in range(3)]
    expect(list(documents.chunk_rows()), ids, "chunks are numbered by document id and ordinal")
    expect(
        list(documents.chunk_rows().values()),
        list(range(6)),
        "row numbers of chunks count from 0 without gaps",
    )
    expect(
        [c.id for c in documents.chunks_by_row([4, 99, 0])],
        ["b:1", "a:0"],
        "chunks by row come in the order asked for",
    )
    expect(
        list(documents.chunk_ids_by_row([4, 99, 0]).items()),
        [(4, "b:1"), (0, "a:0")],
        "ids by row come in the order asked for, without unknown rows",
    )
    expect(
        documents.chunks_by_id(["b:1", "none", "a:0"]),
        documents.chunks_by_row([4, 0]),
        "chunks by id come in the order asked for, without unknown ids",
    )
    expect(documents.chunks_of("b"), documents.chunks_by_row([3, 4, 5]), "chunks of a document come in order")
    expect(documents.chunks_by_row([1]), [chunk("a", 1, 19, 31)], "a chunk comes back as it was put")
    expect(documents.chunk_rows(["b:0", "none"]), {"b:0": 3}, "rows by id leave out unknown ids")
    expect(list(documents.chunk_documents()), list("aaabbb"), "documents of chunks come by row")
    expect(documents.chunk_counts(), [("a", 3), ("b", 3)], "numbers of chunks come by document id")
    expect([documents.n_chunks_of(i) for i in ("b", "none")], [3, 0], "the chunks of a document are counted")
    found = documents.metadata_of(["b", "none"])
    known = documents.get("b")
    expect(found, {"b": known and dict(known.metadata)}, "metadata comes by id, without unknown ids")
    expect(
        documents.chunk_ordinals("b"), {"b:0": 0, "b:1": 1, "b:2": 2}, "ordinals are those of the document"
    )
    expect(
        next(iter(documents.chunk_texts())),
        (0, "Title of a", TEXT[:18]),
        "texts of chunks come by row with titles",
    )
    headings = documents.headings(["b", "none", "a"])
    expect(
        documents.dates(["b", "none", "a"]),
        {name: heading.date for name, heading in headings.items()},
        "dates are those of the headings, without unknown ids",
    )
    expect(
        documents.has_dates(), any(h.date for h in headings.values()), "it is known whether there are dates"
    )
    counts = documents.passage_tokens(["b:0", "none", "a:0"])
    expect(list(counts), ["b:0", "a:0"], "tokens of chunks come in the order asked for, without unknown ids")
    expect(all(n > 4 for n in counts.values()), True, "tokens of a chunk include the title of its document")
    expect(documents.texts_of(["a:0", "none"]), {"a:0": TEXT[:18]}, "texts leave out unknown ids")
    (first,) = documents.chunks_by_id(["a:0"])
    span = Span(first.document, first.id, first.start, first.end)
    expect(documents.spans_of(["none", "a:0"]), {"a:0": span}, "spans leave out unknown ids")
    many = [f"none {n}" for n in range(MANY)] + ids
    expect([c.id for c in documents.chunks_by_id(many)], ids, "any number of ids can be asked for")


def check_removal(store: Store) -> None:
    """Removing or replacing a document leaves none of its rows."""
    with store.transaction():
        for name in ("d", "e"):
            put_document(store, name)
            store.extractions.put(extraction(name), "nlp:1")
        store.documents.number_chunks()
    with store.transaction():
        store.documents.remove("d")
        store.documents.number_chunks()
    for table in ("documents", "windows"):
        expect(store.count(table), 1, f"removing a document removes its {table}")
    expect(
        store.documents.chunk_rows(), {"e:0": 0, "e:1": 1, "e:2": 2}, "removing a document renumbers chunks"
    )
    expect(
        list(store.extractions.iterate()),
        [("e", extraction("e"))],
        "removing a document removes its extraction rows",
    )
    with store.transaction():
        document, window = put_document(store, "e", root="/other")
    expect(store.count("documents"), 1, "putting a document again replaces it")
    expect(store.documents.hashes(), {"e": ("/other", document.hash)}, "a replaced document has its new root")
    expect(list(store.extractions.iterate()), [], "replacing a document removes what was extracted from it")
    expect(store.extractions.pending("nlp:1"), [window.id], "windows of a replaced document are pending")
    with store.transaction():
        put_document(store, "d")
        store.extractions.put(extraction("d"), "nlp:1")
    expect(
        list(store.extractions.iterate()),
        [("d", extraction("d"))],
        "rows of a removed document do not come back with its id",
    )
