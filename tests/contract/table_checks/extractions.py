"""Checks of extraction rows, the decisions of the user about names, and relations that the graph lost."""

from dataclasses import replace

from polygraph.records import Document, Extraction, WindowState
from polygraph.store.protocol import LostRelation, Store
from tests.contract.table_checks.expect import expect
from tests.store_records import (
    ENTITIES,
    MERGES,
    RELATIONS,
    TEXT,
    TRICKY,
    TRIPLES,
    extraction,
    put_document,
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
    expect(
        [extractions.descriptions(name) for name in ("e", "none")],
        [[("e@0", row.name, row.description) for row in extraction("e").entities], []],
        "descriptions come with their window and name, in the order of the rows",
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
    counts = [store.graph.n_lost_relations(reason) for reason in ("", "no chunk is known", "none such")]
    expect(counts, [2, 1, 0], "lost relations are counted, also by reason")
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
