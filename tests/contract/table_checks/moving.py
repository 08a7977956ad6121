"""Check that every row of a store can be moved to another one."""

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from polygraph.store.database import SqliteStore
from polygraph.store.portable import PORTABLE_TABLES
from polygraph.store.protocol import Store, WrittenSummary
from tests.contract.table_checks.expect import expect
from tests.store_records import (
    COMMUNITIES,
    ENTITIES,
    MANIFEST,
    MERGES,
    NAME_PAIRS,
    RELATIONS,
    TRICKY,
    TRIPLES,
    extraction,
    put_document,
    report,
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
