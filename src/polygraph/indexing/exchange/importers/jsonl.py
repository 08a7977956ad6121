"""Import of a JSON Lines export: every line is checked before anything is kept.

Files are read side by side, document by document: a document's line, then its chunks, its windows, and the rows of each
window. That works because their order is defined; so duplicates are found by order alone. Views (entities, relations,
merges, communities) are checked and not stored: they are rebuilt from the rows.
"""

import json
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from polygraph.errors import BadInput
from polygraph.indexing.exchange.exporters.records import Row, report_row
from polygraph.indexing.exchange.importers import IMPORTED_ROOT
from polygraph.indexing.exchange.importers.document_records import read_chunks, read_extraction, read_windows
from polygraph.indexing.exchange.importers.export_manifest import ExportManifest, read_export_manifest
from polygraph.indexing.exchange.importers.record_file import RecordFile, finite_number, reject_constant
from polygraph.indexing.exchange.schema import SHAPES, find_fault, shorten
from polygraph.records import Document, Finding, Report, Table
from polygraph.store.layers import versions
from polygraph.store.manifest import Manifest
from polygraph.store.protocol import Store, WrittenSummary
from polygraph.store.serialization import report_from_json, report_to_json

_WRITTEN_FIELDS = 9
_BATCH = 500


def read_jsonl(
    folder: Path, store: Store, on_document: Callable[[int], None] | None = None
) -> ExportManifest:
    """Store an export in an empty store, all of it or nothing.

    Reports of an index without a chat model are only checked, since they are rebuilt; those of one with a model are
    stored for `adopt_reports`.

    Args:
        folder: of the export.
        store: open for writing and empty.
        on_document: called with the number of documents that were read.

    Raises:
        BadInput: for the first line that is wrong, naming file and line. Nothing is kept then.
        StorageFailed: if the index cannot be written.
    """
    exported = read_export_manifest(folder)
    try:
        with store.transaction():
            _Importer(folder, store, exported, on_document or (lambda _: None)).read()
            store.set_manifest(exported.manifest)
    except OSError as error:
        raise BadInput(
            f"{error.filename or folder} cannot be read ({error.strerror or error}). Mend that, then import again"
        ) from error
    return exported


def adopt_reports(store: Store, manifest: Manifest) -> bool:
    """Make imported reports the finished layer if they are about exactly the communities that were rebuilt.

    Returns:
        True if they are; if not, they stay unused until the next build writes reports.
    """
    reports = store.reports.reported_communities()
    if sorted(reports) != store.reports.community_ids():
        return False
    with store.transaction():
        store.put_layer("reports", versions(store, manifest)["reports"], len(reports), 0.0)
    return True


def _document(row: Row) -> Document:
    tables = tuple(
        Table(
            title=table["title"],
            columns=tuple(table["columns"]),
            rows=tuple(map(tuple, table["rows"])),
            spans=tuple((start, end) for start, end in table["spans"]),
        )
        for table in row["tables"]
    )
    return Document(**row | {"tables": tables})


def _is_located(table: Table, text: str) -> bool:
    """Return whether the rows of a table stand in a text one behind the other."""
    ends = [0, *(end for _, end in table.spans)]
    in_order = all(before <= start < end for before, (start, end) in zip(ends, table.spans, strict=False))
    return in_order and ends[-1] <= len(text)


class _Importer:
    """One import: the files, and the ids that were read so far."""

    def __init__(
        self, folder: Path, store: Store, exported: ExportManifest, on_document: Callable[[int], None]
    ) -> None:
        self._folder, self._store, self._exported, self._on_document = folder, store, exported, on_document
        self._entities: set[str] = set()
        self._communities: set[str] = set()

    def read(self) -> None:
        self._texts_and_rows()
        self._decisions()
        self._answers_about_names()
        self._graph()
        self._community_views()
        self._reports()
        self._written()

    def _open(self, kind: str, key: Callable[[Row], Any] | None = None) -> RecordFile:
        return RecordFile(self._folder, kind, self._exported.counts[kind], key)

    # --- stored: documents, chunks, windows, rows ------------------------------------------------

    def _texts_and_rows(self) -> None:
        with ExitStack() as stack:

            def opened(kind: str, key: Callable[[Row], Any] | None = None) -> RecordFile:
                records = self._open(kind, key)
                stack.callback(records.close)
                return records

            documents = opened("documents", lambda row: row["id"])
            chunks = opened("chunks", lambda row: (row["document"], row["ordinal"]))
            windows = opened("windows", lambda row: (row["document"], row["ordinal"]))
            entities, relations = opened("entity_rows"), opened("relation_rows")
            for n, row in enumerate(documents.all(), 1):
                document = _document(row)
                if not all(_is_located(table, document.text) for table in document.tables):
                    documents.reject("the rows of a table are no parts of the text in this order")
                own = read_chunks(document, chunks)
                read = list(read_windows(document, own, windows))
                self._store.documents.put(document, IMPORTED_ROOT, own, [window for window, _ in read])
                for window, state in read:
                    extraction = read_extraction(window, state, entities, relations)
                    if state["status"]:
                        self._store.extractions.put(extraction, state["extractor"])
                self._on_document(n)
            for records in (chunks, windows):
                records.require_end("its document is not in documents.jsonl, or the line stands out of order")
            for records in (entities, relations):
                records.require_end("its window is not in windows.jsonl, or the line stands out of order")

    def _decisions(self) -> None:
        records = self._open("decisions", lambda row: (row["kind"], row["a"], row["b"]))
        pairs: set[tuple[str, str]] = set()
        renamed: set[str] = set()
        for row in records.all():
            pair = (row["a"], row["b"])
            if row["kind"] != "rename":
                if pair[0] > pair[1]:
                    records.reject("a must not stand behind b")
                if pair in pairs:
                    records.reject("two names cannot be one entity and two")
                pairs.add(pair)
            elif pair[0] in renamed:
                records.reject("an entity cannot have two new names")
            else:
                renamed.add(pair[0])
            self._store.extractions.decide(row["kind"], *pair)

    def _answers_about_names(self) -> None:
        records = self._open("same_answers", lambda row: row["key"])
        self._store.extractions.put_same_answers({row["key"]: row["same"] for row in records.all()})
        lists = self._open("name_lists", lambda row: row["key"])
        self._store.extractions.put_name_lists({row["key"]: row["groups"] for row in lists.all()})

    # --- views: checked, then rebuilt ------------------------------------------------------------------

    def _graph(self) -> None:
        records = self._open("entities", lambda row: row["id"])
        for row in records.all():
            self._entities.add(row["id"])
            self._check_chunks(records, row)
        records = self._open("relations", lambda row: row["id"])
        for row in records.all():
            self._check_entities(records, (row["source"], row["target"]))
            if row["id"] != f"{row['source']} | {row['target']}":
                records.reject(f"{shorten(row['id'])} is not the id of a relation between these entities")
            self._check_chunks(records, row)
        # A name can be merged into an entity more than once: by two rules, or as two things of one name.
        for _ in self._open("merges").all():
            pass

        records = self._open("written_summaries", lambda row: row["key"])
        for row in records.all():
            self._check_chunks(records, row)
            summary = WrittenSummary(row["text"], row["written_by"], tuple(row["chunks"]))
            self._store.graph.put_written_summary(row["key"], summary)

    def _community_views(self) -> None:
        records = self._open("communities", lambda row: row["id"])
        parents: dict[str, str] = {}
        for row in records.all():
            self._communities.add(row["id"])
            self._check_entities(records, row["entities"])
            if row["parent"]:
                parents.setdefault(row["parent"], row["id"])
            self._check_chunks(records, row)
        unknown = sorted(parents.keys() - self._communities)
        if unknown:
            records.reject(
                f"the community {shorten(parents[unknown[0]])} is within {shorten(unknown[0])}, which is missing"
            )

    def _reports(self) -> None:
        records = self._open("reports", lambda row: row["community"])
        found: list[Report] = []
        for row in records.all():
            if row["community"] not in self._communities:
                records.reject(f"there is no community {shorten(row['community'])}")
            self._check_chunks(records, row)
            findings = tuple(
                Finding(summary=f["summary"], explanation=f["explanation"], chunks=tuple(f["chunks"]))
                for f in row["findings"]
            )
            found.append(Report(**row | {"findings": findings, "chunks": tuple(row["chunks"])}))
        if not self._exported.manifest.reports.startswith("extractive"):
            self._store.reports.put(found)

    def _written(self) -> None:
        records = self._open("written", lambda row: row["key"])
        for row in records.all():
            if not _is_written(row["value"]):
                records.reject("the value is not a report as Polygraph writes it")
            self._store.reports.put_written(row["key"], row["value"])

    # --- references ------------------------------------------------------------------------------------

    def _check_entities(self, records: RecordFile, ids: Iterable[str]) -> None:
        for i in ids:
            if i not in self._entities:
                records.reject(f"there is no entity {shorten(i)}")

    def _check_chunks(self, records: RecordFile, row: Row) -> None:
        """Raise an error if a chunk that a record names does not exist."""
        named = set(row["chunks"])
        named.update(description["chunk"] for description in row.get("descriptions", ()))
        for finding in row.get("findings", ()):
            named.update(finding["chunks"])
        ids = sorted(named)
        for at in range(0, len(ids), _BATCH):
            part = ids[at : at + _BATCH]
            known = self._store.documents.chunk_rows(part)
            unknown = [i for i in part if i not in known]
            if unknown:
                records.reject(f"there is no chunk {shorten(unknown[0])}")


def _is_written(text: str) -> bool:
    """Return whether a text is a report as the store writes it, so that it can be read later."""
    try:
        parts = json.loads(text, parse_constant=reject_constant, parse_float=finite_number)
        if not isinstance(parts, list) or len(parts) != _WRITTEN_FIELDS:
            return False
        report = report_from_json(text)
        return report_to_json(report) == text and not find_fault(report_row(report), SHAPES["reports"])
    except (ValueError, TypeError, RecursionError):
        return False
