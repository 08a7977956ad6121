"""Import of a JSON Lines export: every line is checked before anything of it is kept.

Files are read side by side, document by document: a document's line, then its chunks, its windows, and the
rows of each window. That works because their order is defined, and makes uniqueness a matter of order. Views
(entities, relations, merges, communities) are checked and then left alone: they are rebuilt from the rows.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from polygraph.errors import BadInput
from polygraph.indexing.exchange.exporters.folder import MANIFEST, read_manifest
from polygraph.indexing.exchange.exporters.records import KINDS, LAYER_OF, Row
from polygraph.indexing.exchange.importers.schema import EXTRACTOR_SETTINGS, PRUNING_SETTINGS, SHAPES, fault
from polygraph.indexing.exchange.importers.schema import MANIFEST as MANIFEST_SHAPE
from polygraph.records import (
    Chunk,
    Document,
    EntityRow,
    Extraction,
    Finding,
    RelationRow,
    Report,
    Span,
    Window,
)
from polygraph.store.layers import DEPENDENCIES, versions, with_dependencies
from polygraph.store.manifest import FORMAT, Manifest
from polygraph.store.protocol import Store
from polygraph.store.serialization import report_from_json, report_to_json

MAX_LINE_BYTES = 400_000_000
"""Longest line: twice the largest file that is loaded, since a line feed takes two characters in JSON."""

ROOT = "<imported>"
"""Stands for the folder of imported documents, of which the export says nothing."""

_WRITTEN_FIELDS = 9
_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What the manifest of an export says."""

    manifest: Manifest
    layers: tuple[str, ...]
    """Layers that were up to date, in the order of building."""
    counts: dict[str, int]
    """Records by kind."""


def describe(folder: Path) -> Exported:
    """Read and check the manifest of a JSON Lines export.

    Raises:
        BadInput: if there is none, or it is damaged or of another format or version.
    """
    found = read_manifest(folder)

    def wrong(problem: str) -> NoReturn:
        raise BadInput(f"{folder / MANIFEST}:1: {problem}. Export the index again")

    if found.get("format") != "jsonl":
        wrong(f"the export has the format {found.get('format')!r}, and only jsonl can be imported")
    index, layers, files = found.get("index"), found.get("layers"), found.get("files")
    if problem := fault(index, MANIFEST_SHAPE):
        wrong(f"index: {problem}")
    assert isinstance(index, dict)  # noqa: S101 - `fault` has checked it
    if index["format"] != FORMAT:
        wrong(f"index: the format is {index['format']}, and this version of Polygraph reads {FORMAT}")
    kind = Manifest(**index).reader.partition(":")[0]
    wanted = {"llm": EXTRACTOR_SETTINGS, "fast": PRUNING_SETTINGS}.get(kind)
    if wanted is not None and (problem := fault(index["extractor_settings"], wanted)):
        wrong(f"extractor_settings: {problem}")
    if (
        not isinstance(layers, list)
        or not all(isinstance(layer, str) and layer in DEPENDENCIES for layer in layers)
        or list(with_dependencies(layers)) != layers
    ):
        wrong(
            f"layers must be some of {', '.join(DEPENDENCIES)}, in this order, with those that each rests on"
        )
    names = {f"{kind}.jsonl": kind for kind in KINDS}
    if not isinstance(files, dict) or files.keys() != names.keys():
        wrong(f"files must name {', '.join(names)}, with the number of lines of each")
    if any(type(n) is not int or n < 0 for n in files.values()):
        wrong("files must give whole numbers of lines")
    counts = {kind: files[name] for name, kind in names.items()}
    if "graph" in layers and counts["windows"] and not counts["entity_rows"]:
        wrong("there cannot be a graph when entity_rows.jsonl is empty")
    for kind, layer in LAYER_OF.items():
        if counts[kind] and layer not in layers:
            wrong(f"there cannot be {kind} when the layer {layer} is not among the layers")
    return Exported(manifest=Manifest(**index), layers=tuple(layers), counts=counts)


def read_jsonl(folder: Path, store: Store, on_document: Callable[[int], None] | None = None) -> Exported:
    """Put what was exported into an empty store, all of it or nothing.

    Reports of an index without a chat model are only checked, since they are rebuilt; those of one with a model
    are put in and wait for `adopt_reports`.

    Args:
        folder: of the export.
        store: open for writing and empty.
        on_document: told how many documents were read so far.

    Raises:
        BadInput: for the first line that is not as it must be, naming file and line. Nothing is kept then.
        StorageFailed: if the index cannot be written.
    """
    exported = describe(folder)
    try:
        with store.transaction():
            _Reader(folder, store, exported, on_document or (lambda _: None)).read()
            store.set_manifest(exported.manifest)
    except OSError as error:
        raise BadInput(
            f"{error.filename or folder} cannot be read ({error.strerror or error}). Mend that, then import again"
        ) from error
    return exported


def adopt_reports(store: Store, manifest: Manifest) -> bool:
    """Take imported reports as the finished layer if they are about exactly the communities that were rebuilt.

    Returns:
        Whether they are; if not, they stay unused until the next build writes reports.
    """
    reports = store.reports.reported_communities()
    if sorted(reports) != store.reports.community_ids():
        return False
    with store.transaction():
        store.put_layer("reports", versions(store, manifest)["reports"], len(reports), 0.0)
    return True


class _Lines:
    """The records of one file; the next one can be looked at before it is taken."""

    def __init__(self, folder: Path, kind: str, wanted: int, key: Callable[[Row], Any] | None = None) -> None:
        self._path = folder / f"{kind}.jsonl"
        self._shape = SHAPES[kind]
        self._wanted = wanted
        self._key = key
        self._last: Any = None
        self._n = 0
        if not self._path.is_file():
            raise BadInput(
                f"{self._path} is missing. Export the index again, or put the file back; nothing was imported"
            )
        self._file = self._path.open("rb")
        self._next: Row | None = None
        self._ended = False

    def close(self) -> None:
        self._file.close()

    def wrong(self, problem: str) -> NoReturn:
        """Blame the line that was read last."""
        raise BadInput(
            f"{self._path}:{self._n}: {problem}. Export the index again, or mend the line; nothing was imported"
        )

    def peek(self) -> Row | None:
        """The next record, or None at the end."""
        if self._next is None and not self._ended:
            self._next = self._read()
        return self._next

    def take_while(self, mine: Callable[[Row], bool]) -> Iterator[Row]:
        """The next records, as long as they fit. While one is looked at, `wrong` blames its line."""
        while (row := self.peek()) is not None and mine(row):
            self._next = None
            yield row

    def all(self) -> Iterator[Row]:
        return self.take_while(lambda _: True)

    def finish(self, otherwise: str) -> None:
        """Make sure that nothing is left."""
        if self.peek() is not None:
            self.wrong(otherwise)

    def _read(self) -> Row | None:
        data = self._file.readline(MAX_LINE_BYTES + 1)
        self._n += 1
        if not data:
            self._ended = True
            if self._n - 1 != self._wanted:
                self.wrong(f"the file ends after {self._n - 1} lines, and {MANIFEST} says {self._wanted}")
            return None
        if len(data) > MAX_LINE_BYTES:
            self.wrong(f"the line is longer than {MAX_LINE_BYTES:,} bytes")
        if self._n > self._wanted:
            self.wrong(f"{MANIFEST} says that the file has {self._wanted} lines, and there are more")
        row = self._parse(data)
        if problem := fault(row, self._shape):
            self.wrong(problem)
        if self._key is not None:
            key = self._key(row)
            if self._last is not None and key <= self._last:
                self.wrong(f"{_shown(key)} is there twice, or stands out of order")
            self._last = key
        return row

    def _parse(self, data: bytes) -> Row:
        try:
            text = data.decode("utf-8")
            row: Row = json.loads(
                text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_unique
            )
            if "\\ud" in text or "\\uD" in text:  # half a character cannot be stored
                json.dumps(row, ensure_ascii=False).encode("utf-8")
        except RecursionError:
            self.wrong("is nested too deeply")
        except UnicodeError as error:
            self.wrong(f"is not UTF-8 ({error.reason if isinstance(error, UnicodeDecodeError) else error})")
        except ValueError as error:
            self.wrong(f"is not JSON ({error})")
        return row


class _Reader:
    """One import: the files and what is known so far."""

    def __init__(
        self, folder: Path, store: Store, exported: Exported, on_document: Callable[[int], None]
    ) -> None:
        self._folder, self._store, self._exported, self._on_document = folder, store, exported, on_document
        self._entities: set[str] = set()
        self._communities: set[str] = set()

    def read(self) -> None:
        self._texts_and_rows()
        self._decisions()
        self._graph()
        self._community_views()
        self._reports()
        self._written()

    def _open(self, kind: str, key: Callable[[Row], Any] | None = None) -> _Lines:
        return _Lines(self._folder, kind, self._exported.counts[kind], key)

    # --- what is read: documents, chunks, windows, rows ------------------------------------------------

    def _texts_and_rows(self) -> None:
        with ExitStack() as stack:

            def opened(kind: str, key: Callable[[Row], Any] | None = None) -> _Lines:
                lines = self._open(kind, key)
                stack.callback(lines.close)
                return lines

            documents = opened("documents", lambda row: row["id"])
            chunks = opened("chunks", lambda row: (row["document"], row["ordinal"]))
            windows = opened("windows", lambda row: (row["document"], row["ordinal"]))
            entities, relations = opened("entity_rows"), opened("relation_rows")
            for n, row in enumerate(documents.all(), 1):
                document = Document(**row)
                own = _chunks(document, chunks)
                read = list(_windows(document, own, windows))
                self._store.documents.put(document, ROOT, own, [window for window, _ in read])
                for window, state in read:
                    extraction = _extraction(window, state, entities, relations)
                    if state["status"]:
                        self._store.extractions.put(extraction, state["extractor"])
                self._on_document(n)
            for lines in (chunks, windows):
                lines.finish("its document is not in documents.jsonl, or the line stands out of order")
            for lines in (entities, relations):
                lines.finish("its window is not in windows.jsonl, or the line stands out of order")

    def _decisions(self) -> None:
        lines = self._open("decisions", lambda row: (row["kind"], row["a"], row["b"]))
        pairs: set[tuple[str, str]] = set()
        for row in _closing(lines):
            pair = (row["a"], row["b"])
            if pair[0] > pair[1]:
                lines.wrong("a must not stand behind b")
            if pair in pairs:
                lines.wrong("a pair of names cannot be apart and together")
            pairs.add(pair)
            self._store.extractions.decide(row["kind"], *pair)

    # --- views: checked, then rebuilt ------------------------------------------------------------------

    def _graph(self) -> None:
        lines = self._open("entities", lambda row: row["id"])
        for row in _closing(lines):
            self._entities.add(row["id"])
            self._check_chunks(lines, row)
        lines = self._open("relations", lambda row: row["id"])
        for row in _closing(lines):
            self._check_entities(lines, (row["source"], row["target"]))
            if row["id"] != f"{row['source']} | {row['target']}":
                lines.wrong(f"{_shown(row['id'])} is not the id of a relation between these entities")
            self._check_chunks(lines, row)
        lines = self._open("merges", lambda row: (row["entity"], row["name"], row["document"]))
        for _ in _closing(lines):
            pass

    def _community_views(self) -> None:
        lines = self._open("communities", lambda row: row["id"])
        parents: dict[str, str] = {}
        for row in _closing(lines):
            self._communities.add(row["id"])
            self._check_entities(lines, row["entities"])
            if row["parent"]:
                parents.setdefault(row["parent"], row["id"])
            self._check_chunks(lines, row)
        unknown = sorted(parents.keys() - self._communities)
        if unknown:
            lines.wrong(
                f"the community {_shown(parents[unknown[0]])} is within {_shown(unknown[0])}, which is missing"
            )

    def _reports(self) -> None:
        lines = self._open("reports", lambda row: row["community"])
        found: list[Report] = []
        for row in _closing(lines):
            if row["community"] not in self._communities:
                lines.wrong(f"there is no community {_shown(row['community'])}")
            self._check_chunks(lines, row)
            findings = tuple(
                Finding(summary=f["summary"], explanation=f["explanation"], chunks=tuple(f["chunks"]))
                for f in row["findings"]
            )
            found.append(Report(**row | {"findings": findings, "chunks": tuple(row["chunks"])}))
        if not self._exported.manifest.reports.startswith("extractive"):
            self._store.reports.put(found)

    def _written(self) -> None:
        lines = self._open("written", lambda row: row["key"])
        for row in _closing(lines):
            if not _is_written(row["value"]):
                lines.wrong("the value is not a report as Polygraph writes it")
            self._store.reports.put_written(row["key"], row["value"])

    # --- references ------------------------------------------------------------------------------------

    def _check_entities(self, lines: _Lines, ids: Iterable[str]) -> None:
        for i in ids:
            if i not in self._entities:
                lines.wrong(f"there is no entity {_shown(i)}")

    def _check_chunks(self, lines: _Lines, row: Row) -> None:
        """Make sure that the chunks which a record names exist."""
        named = set(row["chunks"])
        named.update(said["chunk"] for said in row.get("descriptions", ()))
        for finding in row.get("findings", ()):
            named.update(finding["chunks"])
        ids = sorted(named)
        for at in range(0, len(ids), _BATCH):
            part = ids[at : at + _BATCH]
            known = self._store.documents.chunk_rows(part)
            unknown = [i for i in part if i not in known]
            if unknown:
                lines.wrong(f"there is no chunk {_shown(unknown[0])}")


def _chunks(document: Document, lines: _Lines) -> list[Chunk]:
    """The chunks of a document: numbered from 0, in order, without overlap, each a slice of its text."""
    found: list[Chunk] = []
    end = 0
    for row in lines.take_while(lambda row: row["document"] == document.id):
        if row["ordinal"] != len(found) or row["id"] != f"{document.id}:{len(found)}":
            lines.wrong(f"the next chunk of this document must be {_shown(f'{document.id}:{len(found)}')}")
        if not end <= row["start"] < row["end"] <= len(document.text):
            lines.wrong(
                f"the characters {row['start']} to {row['end']} overlap with those of the chunk before, or do not "
                f"lie within the {len(document.text)} characters of the document"
            )
        if row["text"] != document.text[row["start"] : row["end"]]:
            lines.wrong(f"the text is not what the document holds from {row['start']} to {row['end']}")
        end = row["end"]
        found.append(Chunk(**row))
    return found


def _windows(document: Document, chunks: list[Chunk], lines: _Lines) -> Iterator[tuple[Window, Row]]:
    """The windows of a document: numbered from 0, each chunk in exactly one, in order."""
    n = at = 0
    for row in lines.take_while(lambda row: row["document"] == document.id):
        if row["ordinal"] != n or row["id"] != f"{document.id}@{n}":
            lines.wrong(f"the next window of this document must be {_shown(f'{document.id}@{n}')}")
        if row["first"] != at or not at <= row["last"] < len(chunks):
            lines.wrong(
                f"the chunks {row['first']} to {row['last']} do not go on from the window before (chunk {at} of "
                f"{len(chunks)} is next)"
            )
        if bool(row["status"]) != bool(row["extractor"]):
            lines.wrong("a window that was read has a status and an extractor, one that was not has neither")
        own = tuple(chunks[at : row["last"] + 1])
        text = document.text[own[0].start : own[-1].end]
        window = Window(
            id=row["id"], document=document.id, ordinal=n, title=document.title, chunks=own, text=text
        )
        yield window, row
        n, at = n + 1, row["last"] + 1
    if at != len(chunks):
        lines.wrong(f"a window is missing here: chunk {at} of {_shown(document.id)} is in none")


def _extraction(window: Window, state: Row, entities: _Lines, relations: _Lines) -> Extraction:
    """What was read out of a window."""
    chunks = {chunk.id: chunk for chunk in window.chunks}
    entity_rows: list[EntityRow] = []
    for n, row in enumerate(_rows(window, state, entities)):
        _check_seq(row, n, entities)
        for span in row["spans"]:
            chunk = chunks.get(span["chunk"])
            if chunk is None:
                entities.wrong(f"{_shown(span['chunk'])} is no chunk of the window {_shown(window.id)}")
            if not chunk.start <= span["start"] < span["end"] <= chunk.end:
                entities.wrong(
                    f"the characters {span['start']} to {span['end']} do not lie within the chunk {_shown(chunk.id)}"
                )
        spans = tuple(Span(window.document, s["chunk"], s["start"], s["end"]) for s in row["spans"])
        entity_rows.append(
            EntityRow(name=row["name"], type=row["type"], description=row["description"], spans=spans)
        )
    relation_rows: list[RelationRow] = []
    for n, row in enumerate(_rows(window, state, relations)):
        _check_seq(row, n, relations)
        for i in row["chunks"]:
            if i not in chunks:
                relations.wrong(f"{_shown(i)} is no chunk of the window {_shown(window.id)}")
        relation_rows.append(
            RelationRow(
                source=row["source"],
                target=row["target"],
                predicate=row["predicate"],
                keywords=tuple(row["keywords"]),
                description=row["description"],
                strength=float(row["strength"]),
                chunks=tuple(row["chunks"]),
            )
        )
    return Extraction(
        window=window.id,
        entities=tuple(entity_rows),
        relations=tuple(relation_rows),
        status=state["status"] or "ok",
        problem=state["problem"],
        raw=state["raw"],
    )


def _rows(window: Window, state: Row, lines: _Lines) -> Iterator[Row]:
    for row in lines.take_while(lambda row: row["window"] == window.id):
        if state["status"] in ("", "failed"):
            lines.wrong(f"the window {_shown(window.id)} was not read, or its reading failed: it has no rows")
        yield row


def _check_seq(row: Row, n: int, lines: _Lines) -> None:
    if row["seq"] != n:
        lines.wrong(f"seq must be {n}, not {row['seq']}: rows of a window are numbered from 0")


def _is_written(text: str) -> bool:
    """Whether a text is a report as the store keeps it, so that it can be read later."""
    try:
        parts = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
        if not isinstance(parts, list) or len(parts) != _WRITTEN_FIELDS:
            return False
        report = report_from_json(text)
        return report_to_json(report) == text and not fault(_plain(report), SHAPES["reports"])
    except (ValueError, TypeError, RecursionError):
        return False


def _plain(report: Report) -> Row:
    findings = [
        {"summary": f.summary, "explanation": f.explanation, "chunks": list(f.chunks)}
        for f in report.findings
    ]
    return {
        "community": report.community,
        "level": report.level,
        "title": report.title,
        "summary": report.summary,
        "findings": findings,
        "rating": report.rating,
        "chunks": list(report.chunks),
        "weight": report.weight,
        "written_by": report.written_by,
    }


def _closing(lines: _Lines) -> Iterator[Row]:
    try:
        yield from lines.all()
    finally:
        lines.close()


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:80]}…"


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text[:20]} is too large")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> Row:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found
