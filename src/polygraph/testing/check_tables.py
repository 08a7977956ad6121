"""Checks of the tables of a store: what is put comes back, in the promised order, and what is removed is gone."""

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from polygraph.arrays import text_hash
from polygraph.records import CountedCommunity, Document, Extraction, Span, WindowState
from polygraph.store.database import SqliteStore
from polygraph.store.layer_folders import folder_of
from polygraph.store.matrix_rows import write_matrix
from polygraph.store.portable import PORTABLE_TABLES
from polygraph.store.protocol import EntityOverview, LostRelation, Store, WrittenSummary
from polygraph.store.serialization import report_to_json
from polygraph.store.vectors import VectorIndex
from polygraph.testing.store_records import (
    COMMUNITIES,
    ENTITIES,
    MANIFEST,
    MERGES,
    NAME_PAIRS,
    RELATIONS,
    TEXT,
    TRICKY,
    TRIPLES,
    chunk,
    entity,
    extraction,
    put_document,
    report,
)

_MANY = 1_300
"""Keys: more than a database takes in one statement."""


def expect(found: Any, wanted: Any, promise: str) -> None:
    """Raise an `AssertionError` that names the promise if what was found is not what was wanted."""
    if found != wanted:
        raise AssertionError(f"{promise}: found {found!r}, expected {wanted!r}")


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


def check_chunks(store: Store) -> None:
    """Chunks are numbered by document and ordinal, and found by row and id."""
    with store.transaction():
        for name in ("b", "a"):
            put_document(store, name)
        store.documents.number_chunks()
    documents = store.documents
    ids = [f"{name}:{ordinal}" for name in "ab" for ordinal in range(3)]
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
        documents.chunks_by_id(["b:1", "none", "a:0"]),
        documents.chunks_by_row([4, 0]),
        "chunks by id come in the order asked for, without unknown ids",
    )
    expect(documents.chunks_of("b"), documents.chunks_by_row([3, 4, 5]), "chunks of a document come in order")
    expect(documents.chunks_by_row([1]), [chunk("a", 1, 19, 31)], "a chunk comes back as it was put")
    expect(documents.chunk_rows(["b:0", "none"]), {"b:0": 3}, "rows by id leave out unknown ids")
    expect(list(documents.chunk_documents()), list("aaabbb"), "documents of chunks come by row")
    expect(documents.chunk_counts(), [("a", 3), ("b", 3)], "numbers of chunks come by document id")
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
    many = [f"none {n}" for n in range(_MANY)] + ids
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


def check_extractions(store: Store) -> None:
    """Extractions come back as they were put, and windows are pending until they are read."""
    extractions = store.extractions
    with store.transaction():
        for name in ("e", "d", "f"):
            put_document(store, name)
        for name in ("e", "d"):
            extractions.put(extraction(name), "nlp:1")
    expect(
        list(extractions.iterate()),
        [("d", extraction("d")), ("e", extraction("e"))],
        "extractions come back as they were put, by document and ordinal",
    )
    expect(
        list(extractions.iterate(["e", "none"])), [("e", extraction("e"))], "extractions of some documents"
    )
    expect(extractions.states(), {"pending": 1, "repaired": 2}, "states count windows by status")
    expect(extractions.extracted_windows(), ["d@0", "e@0"], "extracted windows come by document")
    expect(
        next(iter(extractions.window_states())),
        WindowState("d@0", "d", 0, 0, 2, "nlp:1", "repaired", "cut", ""),
        "the state of a window names its chunks and what read it",
    )
    expect(extractions.pending("nlp:1"), ["f@0"], "a window that was not read is pending")
    expect(extractions.pending("llm:1"), ["d@0", "e@0", "f@0"], "windows are pending for another extractor")
    failed = Extraction(window="d@0", status="failed", problem="prose", raw=TRICKY)
    with store.transaction():
        extractions.put(failed, "nlp:1")
        extractions.put(replace(extraction("e"), status="ok", problem=""), "imported:x")
    expect(extractions.failures(), [("d@0", "failed", "prose", TRICKY)], "failures keep the raw reply")
    expect(
        extractions.pending("nlp:1"), ["d@0", "f@0"], "windows that failed are pending, imported ones are not"
    )
    expect(
        store.documents.has_imported_text(Document(id="e", title="", text=TEXT)),
        True,
        "the text of an imported document is known",
    )
    expect(
        store.documents.has_imported_text(Document(id="d", title="", text=TEXT)),
        False,
        "the text of a document that was not imported is not taken for imported",
    )
    with store.transaction():
        extractions.reset(["e@0"])
    expect(
        list(extractions.iterate()),
        [("d", replace(failed, raw=""))],
        "reset deletes what was extracted from a window",
    )
    expect(extractions.pending("imported:x"), ["d@0", "e@0", "f@0"], "reset windows are pending")


def check_changed_documents(store: Store) -> None:
    """Documents whose extraction rows changed are listed until the list is cleared."""
    extractions = store.extractions
    with store.transaction():
        for name in ("d", "e", "f", "g"):
            put_document(store, name)
            extractions.put(extraction(name), "nlp:1")
        extractions.clear_changed()
    expect(extractions.changed_documents(), [], "clear_changed clears the list")
    with store.transaction():
        extractions.put(extraction("g"), "nlp:1")
        extractions.reset(["e@0"])
        store.documents.remove("f")
        store.documents.remove("none")
    expect(
        extractions.changed_documents(),
        ["e", "f", "g"],
        "documents whose rows were put, reset or removed have changed, sorted",
    )


def check_decisions(store: Store) -> None:
    """The last decision about the same names is in force, and an undone one gives way to the one before."""
    tables = store.extractions
    with store.transaction():
        tables.decide("split", "b", "a")
    expect(tables.decisions("split"), {("a", "b")}, "a decision is about a pair without order")
    with store.transaction():
        tables.decide("merge", "a", "b")
        tables.decide("rename", "c", "d")
        tables.decide("rename", "c", "e")
    expect(tables.decisions("split"), frozenset(), "a decision replaces the earlier one")
    expect(tables.decisions("merge"), {("a", "b")}, "the last decision about a pair counts")
    expect(tables.decisions("rename"), {("c", "e")}, "the last name of an entity counts")
    log = tables.decision_log()
    made = [(kind, a, b) for _, kind, a, b in log]
    wanted = [("split", "b", "a"), ("merge", "a", "b"), ("rename", "c", "d"), ("rename", "c", "e")]
    expect(made, wanted, "decisions are listed in the order in which they were made")
    with store.transaction():
        tables.undo_decision(log[1][0])
    expect(tables.decisions("split"), {("a", "b")}, "the decision before an undone one is in force again")
    answers: dict[str, bool | None] = {"x": True, "y": False, "z": None}
    for kept in (answers, {"z": None}):
        with store.transaction():
            tables.put_same_answers(kept)
        expect(
            tables.same_answers(), kept, "answers about pairs of names come back, and new ones replace them"
        )
    lists: dict[str, tuple[tuple[str, ...], ...]] = {"x": (("a", TRICKY), ("b", "c", "d")), "y": ()}
    for listed in (lists, {"y": ()}):
        with store.transaction():
            tables.put_name_lists(listed)
        expect(
            tables.name_lists(), listed, "what a model found in lists of names comes back, and is replaced"
        )


def check_lost_relations(store: Store) -> None:
    """Relations that were extracted and are not in the graph are listed with the reason."""
    expect((store.graph.n_lost_relations(), list(store.graph.lost_relations())), (0, []), "nothing was lost")
    with store.transaction():
        for name in ("e", "d"):
            put_document(store, name)
            store.extractions.put(extraction(name), "nlp:1")
    keys = {name: store.extractions.relation_keys(name) for name in ("d", "e", "none")}
    rows = extraction("d").relations
    expect(keys["d"], [("d@0", seq) for seq in range(len(rows))], "relation rows have keys, in their order")
    expect(keys["none"], [], "an unknown document has no relation rows")
    with store.transaction():
        lost = [(*keys["e"][0], "no chunk is known", ""), (*keys["d"][0], "both names are one entity", "ada")]
        store.graph.put(ENTITIES, RELATIONS, TRIPLES, MERGES, lost=iter(lost))
    expect(store.graph.n_lost_relations(), 2, "lost relations are counted")
    row = rows[0]
    texts = (row.source, row.predicate, row.target, row.description)
    found = list(store.graph.lost_relations())
    expect(
        found[0],
        LostRelation("d", "d@0", row.chunks, *texts, "both names are one entity", "ada"),
        "a lost relation comes with its row",
    )
    expect([each.document for each in found], ["d", "e"], "lost relations come by document")
    with store.transaction():
        store.graph.put(ENTITIES, RELATIONS, TRIPLES, MERGES)
    expect(store.graph.n_lost_relations(), 0, "a new graph replaces the former one")


def check_graph(store: Store) -> None:
    """Entities and relations come back as they were put, and a new graph replaces the former one."""
    graph = store.graph
    with store.transaction():
        graph.put(
            iter(ENTITIES), iter(RELATIONS), iter(TRIPLES), iter(reversed(MERGES)), iter(reversed(NAME_PAIRS))
        )
    ada, bo, cy = ENTITIES
    expect(list(graph.all_entities()), [ada, bo, cy], "entities come back as they were put, by id")
    expect(
        list(graph.entity_statements()),
        [replace(entity, aliases=(), chunks=()) for entity in ENTITIES],
        "entities come without aliases and chunks",
    )
    expect(graph.entities_by_row([2, 99, 0]), [cy, ada], "entities by row come in the order asked for")
    expect(
        graph.entities_by_row([2, 0], most_chunks=1),
        [replace(cy, chunks=cy.chunks[:1]), replace(ada, chunks=ada.chunks[:1])],
        "entities come with as many chunks as asked for",
    )
    expect(graph.entity_ids(), ["ada", "bo", "cy"], "ids of entities come by row")
    expect(list(graph.entity_names()), [("ada", "Ada"), ("bo", "Bo"), ("cy", "Cy")], "names come by row")
    expect(graph.names_by_row([2, 99, 0]), {2: "Cy", 0: "Ada"}, "names of some rows come by row")
    expect(graph.ids_by_row([2, 99, 0]), {2: "cy", 0: "ada"}, "ids of some rows come by row")
    expect(graph.entity_rows(["cy", "none", "ada"]), {"cy": 2, "ada": 0}, "rows by id leave out unknown ids")
    expect(
        graph.entities_named(["ADA", "miss ada", "nobody", ""]),
        {"ADA": [0], "miss ada": [0]},
        "entities are found by normalised names and aliases",
    )
    mentions: dict[int, list[str]] = {}
    for row, ids in graph.mentions():
        mentions.setdefault(row, []).extend(ids)
    expect(mentions, {0: ["d:0"], 1: ["d:0", "d:1"], 2: ["d:2"]}, "mentions are the chunks of each entity")
    expect(
        [
            (name, list(chunks), [tuple(d) for d in said])
            for name, chunks, said in graph.entity_descriptions()
        ],
        [(e.name, list(e.chunks), [(d.text, d.chunk) for d in e.descriptions]) for e in ENTITIES],
        "descriptions of entities come by row",
    )
    expect(list(graph.all_relations()), list(RELATIONS), "relations come back as they were put")
    expect(
        list(graph.relation_statements()),
        [replace(relation, chunks=()) for relation in RELATIONS],
        "relations come without chunks",
    )
    expect(
        graph.relations_by_row([1, 0]),
        [RELATIONS[1], RELATIONS[0]],
        "relations come in the order asked for",
    )
    expect(list(graph.edges()), [(0, 1, 1.5), (1, 2, 0.25)], "edges hold rows of entities and weights")
    expect(
        graph.relations_at([1, 2]),
        [(0, 0, 1, 1.5), (1, 1, 2, 0.25)],
        "relations at entities come once each, by row",
    )
    expect(
        graph.relation_rows([(1, 2), (0, 2), (0, 1)]),
        [1, 0],
        "rows of relations come by the rows of their ends",
    )
    expect(
        graph.description_counts([1, 99, 0]),
        {n: len(RELATIONS[n].descriptions) for n in (1, 0)},
        "descriptions of relations are counted",
    )
    _graph_columns(store)
    expect(
        graph.relations_per_chunk([0, 1]),
        dict(Counter(chunk for r in RELATIONS[:2] for chunk in r.chunks)),
        "relations are counted by chunk",
    )
    expect(
        [[tuple(d) for d in said] for said in graph.relation_descriptions()],
        [[(d.text, d.chunk) for d in r.descriptions] for r in RELATIONS],
        "descriptions of relations come by row",
    )
    expect(
        [
            (name, list(chunks), [tuple(d) for d in said])
            for name, chunks, said in graph.entity_description_hashes()
        ],
        [(e.name, list(e.chunks), [(text_hash(d.text), d.chunk) for d in e.descriptions]) for e in ENTITIES],
        "hashes of descriptions of entities come by row",
    )
    expect(
        [[tuple(d) for d in said] for said in graph.relation_description_hashes()],
        [[(text_hash(d.text), d.chunk) for d in r.descriptions] for r in RELATIONS],
        "hashes of descriptions of relations come by row",
    )
    expect(graph.merges(), list(MERGES), "merges come sorted")
    first = EntityOverview(1, "bo", "Bo", "person", 2, 1)
    expect(
        graph.entity_overview(order="mentions", limit=1), [first], "entities with the most chunks come first"
    )
    by_name = graph.entity_overview(order="name", kind="person", rows=[0, 2], limit=9)
    expect([each.name for each in by_name], ["Ada", "Cy"], "entities come by name, only those asked for")
    expect(graph.entity_overview(order="name", kind="ship", limit=9), [], "entities of a type")
    expect(graph.entities_containing("miss"), [0], "aliases are searched too")
    expect(graph.merges("bo"), list(MERGES[1:]), "merges of one entity")
    expect(graph.name_pairs(), list(NAME_PAIRS), "pairs of names come sorted")
    expect(graph.name_pairs("ada"), list(NAME_PAIRS[:1]), "pairs of one entity")
    _graph_triples(store)
    with store.transaction():
        graph.put_summaries([("entity", 0, "said of her")])
    expect(
        next(graph.entity_statements()),
        replace(ada, aliases=(), chunks=(), descriptions=(), summary="said of her"),
        "a summary stands for the descriptions",
    )
    with store.transaction():
        graph.put(ENTITIES[:1], [], [], [])
    expect(list(graph.all_entities()), [ada], "putting a graph replaces all of the former one")
    expect(graph.entities_named(["Bo"]), {}, "names of the former graph are gone")
    expect(
        (list(graph.edges()), graph.merges(), graph.predicates()), ([], [], []), "so are its edges and merges"
    )


def _graph_columns(store: Store) -> None:
    graph = store.graph
    for most in (1, 2, 99):
        expect(
            graph.entity_heads([2, 0], most_chunks=most),
            [replace(ENTITIES[n], chunks=ENTITIES[n].chunks[:most], degree=0) for n in (2, 0)],
            f"heads of entities have their first {most} chunks",
        )
    outlines = graph.entity_outlines([1, 0])
    expect(
        [(e.id, e.name) for e in outlines], [(ENTITIES[n].id, ENTITIES[n].name) for n in (1, 0)], "outlines"
    )
    texts = graph.texts([key for e in outlines for key, _ in e.described])
    expect(
        [[(texts[key], chunk) for key, chunk in e.described] for e in outlines],
        [[(d.text, d.chunk) for d in ENTITIES[n].descriptions] for n in (1, 0)],
        "keys of outlines stand for the texts of descriptions",
    )
    rows = list(range(len(RELATIONS)))[::-1]
    heads = [(RELATIONS[n].id, RELATIONS[n].weight) for n in rows]
    expect(graph.relation_heads([*rows, 99]), heads, "heads of relations come in the order asked for")
    every = [(n, i) for n, r in enumerate(RELATIONS) for i in range(len(r.descriptions))]
    expect(
        graph.single_descriptions([*every, (0, 99), (99, 0)]),
        {
            (n, i): replace(
                RELATIONS[n],
                descriptions=RELATIONS[n].descriptions[i : i + 1],
                keywords=(),
                chunks=(),
                summary="",
            )
            for n, i in every
        },
        "relations come with one description each",
    )
    expect(
        list(graph.relation_columns()),
        [(0, 1, len(RELATIONS[0].descriptions)), (1, 2, len(RELATIONS[1].descriptions))],
        "ends of relations come by row, with the numbers of their descriptions",
    )


def _graph_triples(store: Store) -> None:
    graph = store.graph
    expect(list(graph.all_triples()), list(TRIPLES), "triples come back as they were put")
    expect(graph.triples_by_row([1, 0]), [TRIPLES[1], TRIPLES[0]], "triples come in the order asked for")
    expect(
        [(t.source, t.target) for t in graph.all_triples(by_name=True)],
        [("Bo", "Ada"), ("Bo", "Cy")],
        "triples by name hold names instead of ids",
    )
    expect(
        list(graph.edges_with_chunks("triples")),
        [(1, 0, 1.0, ["d:0"]), (1, 2, 2.0, ["d:1", "d:2"])],
        "edges of triples come with their chunks",
    )
    expect(graph.triple_ends([1, 99, 0]), [(1, 1, 2), (0, 1, 0)], "ends of triples come by row")
    expect(
        list(graph.triple_columns()),
        [(1, 0, "saw", 1.0), (1, 2, "met", 2.0)],
        "ends of triples come by row, with predicate and weight",
    )
    expect(graph.triples_at([0], ends=["source", "target"]), [(0, 1, 0)], "triples at entities, at both ends")
    expect(graph.triple_rows_at([1, 2]), [0, 1], "rows of triples at entities come once")
    expect(graph.strongest_triples_at(1, 1), [1], "the strongest triple at an entity")
    expect(graph.triples_at([0], ends=["source"]), [], "triples at entities, at one end")
    expect(graph.predicates(), ["met", "saw"], "predicates are distinct and sorted")
    expect(graph.triples_with(["saw", "none"]), [0], "triples are found by predicate")


def check_large_graph(store: Store) -> None:
    """Any number of keys can be asked for."""
    names = [f"N{n:04}" for n in range(_MANY)]
    namesake = replace(entity("N0000"), id="z")
    with store.transaction():
        store.graph.put([*(entity(name, "d:0") for name in names), namesake], [], [], [])
    rows = list(range(_MANY))[::-1]
    expect(
        [e.name for e in store.graph.entities_by_row(rows)],
        names[::-1],
        "any number of rows can be asked for",
    )
    expect(len(store.graph.entities_named(names)), _MANY, "any number of names can be asked for")
    expect(store.graph.entities_named(["n0000"]), {"n0000": [0, _MANY]}, "namesakes come by row")


def check_reports(store: Store) -> None:
    """Communities, reports and written texts come back as they were put, and are replaced."""
    reports = store.reports
    first, second = report("0-a", 0, "d:0", "d:1"), report("1-b", 1, "e:0")
    with store.transaction():
        reports.put_communities(iter(reversed(COMMUNITIES)))
        reports.put(iter([second, first]))
        for key, written in (("k", first), ("j", second)):
            reports.put_written(key, report_to_json(written))
    expect(
        reports.communities(), list(COMMUNITIES), "communities come back as they were put, by level and id"
    )
    expect(
        reports.communities(["1-c", "none", "0-a"]),
        [COMMUNITIES[2], COMMUNITIES[0]],
        "communities by id come in the order asked for",
    )
    expect(
        reports.community_tree(),
        [(c.id, c.level, c.parent) for c in COMMUNITIES],
        "the tree of communities comes by level, then id",
    )
    expect(reports.community_ids(), ["0-a", "1-b", "1-c"], "ids of communities are sorted")
    expect(
        list(reports.counted_communities()),
        [CountedCommunity(c.id, c.level, c.parent, [*c.entities], len(c.chunks)) for c in COMMUNITIES],
        "counted communities count their chunks",
    )
    expect(reports.communities_of(["bo", "none"]), [("bo", "0-a"), ("bo", "1-b")], "communities of entities")
    expect(list(reports.all()), [first, second], "reports come back as they were put, by level and community")
    expect(reports.get(["1-b", "none", "0-a"]), [second, first], "reports come in the order asked for")
    expect(
        reports.reported_communities(),
        ["0-a", "1-b"],
        "reported communities come in the order of the reports",
    )
    expect([key for key, _ in reports.all_written()], ["j", "k"], "written texts come by key")
    with store.transaction():
        reports.remove_written(["d"])
    expect(
        (reports.written("k"), reports.written("none")),
        (None, None),
        "texts that rest on a document are removed",
    )
    expect(reports.written("j"), report_to_json(second), "texts that rest on other documents stay")
    with store.transaction():
        reports.keep_written({"x"})
        reports.put([second])
        reports.put_communities(COMMUNITIES[1:2])
    expect(list(reports.all_written()), [], "texts under other keys than those to keep are deleted")
    expect(list(reports.all()), [second], "putting reports replaces the former ones")
    expect(reports.communities_of(["ada"]), [], "putting communities replaces the former ones")


def check_metadata(store: Store) -> None:
    """Manifest, values, notes and layers come back as they were put, and are deleted."""
    expect((store.manifest(), store.meta("k"), store.layers()), (None, None, {}), "a new store is empty")
    with store.transaction():
        store.set_manifest(MANIFEST)
        store.set_meta("k", TRICKY)
        store.set_notes("reports", ["b", "a"])
        store.set_notes("graph", ["a", "c"])
        store.put_layer("graph", "v", 3, 0.5)
        store.put_layer("reports", "w", 1, 0.25)
        store.graph.put(ENTITIES, RELATIONS, TRIPLES, MERGES)
        store.reports.put([report("0-a", 0, "d:0")])
    expect(store.manifest(), MANIFEST, "the manifest comes back as it was put")
    expect(store.meta("k"), TRICKY, "values come back as they were put")
    expect(store.notes(), ["a", "b", "c"], "notes of all layers come once each, sorted")
    expect(
        store.layers(),
        {"graph": ("v", 3, 0.5), "reports": ("w", 1, 0.25)},
        "layers come back as they were put",
    )
    with store.transaction():
        store.set_meta("k", None)
        store.set_notes("reports", [])
        store.forget_layers(["graph"])
    expect(store.meta("k"), None, "None deletes a value")
    expect(store.notes(), ["a", "c"], "notes of a layer are replaced")
    expect(
        (store.layers().keys(), store.count("entities")),
        ({"reports"}, 3),
        "a forgotten layer keeps its tables",
    )
    with store.transaction():
        store.drop_layers(["graph", "reports"])
    expect(
        (
            store.layers(),
            store.notes(),
            store.count("entities"),
            store.count("relations"),
            store.count("reports"),
        ),
        ({}, [], 0, 0, 0),
        "dropped layers are empty",
    )


def check_moving(store: Store) -> None:
    """Every row can be taken out and put back, into another store too; what was there before is gone."""
    _fill(store)
    with TemporaryDirectory() as folder, closing(SqliteStore(Path(folder), mode="write")) as other:
        _fill(other, prefix="other ")
        for one, two in ((store, other), (other, store)):
            before = {table: list(one.dump(table)) for table in PORTABLE_TABLES}
            expect(
                [table for table in before if not before[table]],
                [],
                "every table that holds rows is taken out",
            )
            with two.transaction():
                for table in PORTABLE_TABLES:
                    two.load(table, iter(before[table]))
            after = {table: list(two.dump(table)) for table in PORTABLE_TABLES}
            expect(
                after, before, "rows that are put into another store are the same there, in the same order"
            )
            expect(two.documents.get("d"), one.documents.get("d"), "what was moved reads the same")
            with one.transaction():
                one.extractions.decide("rename", "a", "b")
            expect(
                len(list(one.dump("entity_decisions"))),
                len(before["entity_decisions"]) + 1,
                "decisions go on",
            )


def check_vectors(store: Store) -> None:
    """Whoever searches the vectors of a layer, the store or its files, finds the same rows with the same scores."""
    vectors = np.eye(5, 4, dtype=np.float32)
    vectors[4] = (0.6, 0.8, 0.0, 0.0)
    folder = folder_of(store.folder, "chunk_vectors", "v")
    write_matrix(folder, "abcde", lambda _: vectors, shape=(5, 4), embedder="test")
    for least in (0, 6, 1):
        with store.transaction():
            store.put_layer("chunk_vectors", "v", 5, 0.5)
            problem = store.put_vectors("chunk_vectors", "v", least)
        expect(
            problem if least != 1 else "",
            "",
            "a layer that is too small, or none, is no problem for the store",
        )
        files = VectorIndex.open(folder)
        opened = store.open_vectors(folder, partial(VectorIndex.open, folder))
        expect(len(opened), 5, "all rows of a layer can be searched")
        for allowed in (None, np.array([False, True, True, False, False])):
            expect(
                opened.search(vectors[4], 3, allowed),
                files.search(vectors[4], 3, allowed),
                "the nearest rows are those of the files, with their scores",
            )
        expect(
            opened.rows(np.array([4, 0])).tolist(), files.rows(np.array([4, 0])).tolist(), "vectors come back"
        )


def _fill(store: Store, prefix: str = "") -> None:
    """Put rows into every table."""
    with store.transaction():
        _, window = put_document(store, f"{prefix}d")
        put_document(store, "d" if prefix else "e")
        store.documents.set_unread("/papers", [(f"{prefix}x.pdf", TRICKY)])
        store.documents.number_chunks()
        store.extractions.put(extraction(f"{prefix}d"), "llm:m")
        store.extractions.decide("merge", f"{prefix}Mara", TRICKY)
        store.extractions.put_same_answers({f"{prefix}a": True, "b": None})
        store.extractions.put_name_lists({f"{prefix}a": [["x", TRICKY]], "b": []})
        lost = [(window.id, 0, "self", "e1")]
        store.graph.put(ENTITIES, RELATIONS, TRIPLES, MERGES, NAME_PAIRS, lost)
        store.graph.put_summaries([("entity", 0, f"{prefix}{TRICKY}")])
        store.graph.put_written_summary(f"{prefix}k", WrittenSummary(TRICKY, "m", ("d:0",)))
        store.reports.put_communities(COMMUNITIES)
        store.reports.put([report("0-a", 0, "d:0")])
        store.reports.put_written(f"{prefix}k", TRICKY)
        store.set_meta(f"{prefix}k", TRICKY)
        store.set_manifest(MANIFEST)


TABLE_CHECKS: tuple[Callable[[Store], None], ...] = (
    check_documents,
    check_chunks,
    check_removal,
    check_extractions,
    check_changed_documents,
    check_decisions,
    check_lost_relations,
    check_graph,
    check_large_graph,
    check_reports,
    check_metadata,
    check_moving,
    check_vectors,
)
