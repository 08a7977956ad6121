"""From documents to finished layers: the one place that knows all stages of indexing.

Every step first asks whether its layer is up to date, so running it again repeats nothing. Rows are committed as
they come (per document, per window), views in one transaction each, files under a temporary name: a build that
is stopped anywhere goes on from what was committed.
"""

import os
import shutil
import threading
import time
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import groupby, repeat
from operator import itemgetter
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from polygraph.columnar import Columns
from polygraph.columnar.memmap import room
from polygraph.columnar.memory import give_back
from polygraph.errors import NothingExtracted
from polygraph.extract.llm import extractor as llm
from polygraph.extract.nlp import extractor as nlp
from polygraph.extract.nlp import noun_phrases as fast
from polygraph.extract.resolution.records import ResolvedRows
from polygraph.extract.resolution.resolve import resolve_rows
from polygraph.extract.titles.title_table import Sayings
from polygraph.graph.chunk_numbers import Chunks
from polygraph.graph.communities import communities
from polygraph.graph.cooccurrence import Pruning, join_and_prune
from polygraph.graph.csr import Graph
from polygraph.graph.edges import edge_arrays, mention_edges
from polygraph.graph.embedding_texts import RECIPES
from polygraph.graph.merge.diff import moves
from polygraph.graph.merge.merge import Merged
from polygraph.graph.merge.view import GraphView, no_collection, view_of
from polygraph.graph.reports.write import extractive_reports, write_reports
from polygraph.graph.synonyms import Synonyms, find_synonyms
from polygraph.graph.title_graph import NameGraph
from polygraph.ingest import Documents
from polygraph.ingest.chunk import chunk, windows
from polygraph.models import Models
from polygraph.models.protocols import Embedder, Vectors
from polygraph.records import Chunk, Document, Extraction, Report, Usage, Window
from polygraph.store.atomic_files import damage, write_folder
from polygraph.store.connection import with_room
from polygraph.store.database import SAVED_STATE, SqliteStore
from polygraph.store.layers import (
    FILE_LAYERS,
    GRAPH_FILE,
    dependents,
    folder_of,
    up_to_date,
    versions,
    with_dependencies,
)
from polygraph.store.lexical import LexicalIndex
from polygraph.store.manifest import Manifest
from polygraph.store.protocol import Store
from polygraph.store.row_cache import keep_rows, qualities, rows_of, sweep_rows, write_former
from polygraph.store.serialization import report_from_json, report_to_json
from polygraph.store.title_cache import say
from polygraph.store.vectors import MATRIX
from polygraph.store.vectors_again import write_vectors

T = TypeVar("T")

_TITLE_CHARACTERS = 200
"""Of a title, so much is put before a chunk's text when it is embedded."""
_BATCH = 512
"""Texts embedded between two reports of progress, and windows or triples read from the store at once."""
_SMALL_BATCH = 32
"""Windows read without a model between two commits."""
_MANY_WINDOWS = 2_000
"""Windows whose text is held in memory while they are read without a model; each time workers start anew."""
_LONG_S = 1.0
"""After a layer that took longer, memory is given back at some expense."""
_MANY_ROWS = 100_000
"""Names of windows, from which on it pays to look for everything that can be given back."""
_MARGIN = 2
"""Special tokens that an embedder puts around a text."""


_LOCAL = {"nlp": nlp.extract, "fast": fast.extract}
"""Extractors that need no model, by the beginning of their names."""


class Progress(Protocol):
    """Told how far a stage has come."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """`done` of `total` items of a stage are finished."""


@dataclass(slots=True, kw_only=True)
class BuildReport:
    """What a build did."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    unread: tuple[tuple[str, str], ...] = ()
    built: dict[str, float] = field(default_factory=dict)
    """Seconds by layer, for those that were built; the others were up to date."""
    counts: dict[str, int] = field(default_factory=dict)
    """Documents, chunks, windows by state, entities, relations, communities, reports."""
    notes: list[str] = field(default_factory=list)
    """What is weaker than it could be, and why."""
    usage: Usage = field(default_factory=Usage)
    """What models cost during this build."""
    source: dict[str, int] = field(default_factory=dict)
    """Of an imported graph: what its files held, and the rows that were made of it."""
    forgotten: bool = False
    """Whether what was asked to be forgotten is gone from every file of the index."""


def put_documents(
    store: Store,
    loaded: Documents,
    roots: Sequence[str],
    manifest: Manifest,
    embedder: Embedder,
    progress: Progress,
    on_change: Callable[[], object] = lambda: None,
) -> BuildReport:
    """Bring the documents of the index in step with what was read.

    New and changed documents (by content) are cut in chunks and stored; those that came from the same folders
    and are no longer there are removed; the others stay untouched. A document whose id stands for another
    document of another folder is not taken in but listed as unread, so that nothing is overwritten.

    Args:
        store: open for writing.
        loaded: what was read, or is read meanwhile.
        roots: the folders, files or globs that were given, absolute; a later call with one of them goes on
            from it.
        manifest: how to cut.
        embedder: whose tokenizer counts.
        progress: told after each document.
        on_change: called before anything is changed, if anything is.
    """
    known = store.documents.hashes()
    report = BuildReport()
    unread: list[tuple[str, str]] = []
    gone: set[str] = set()
    here: set[str] = set()
    for done, document in enumerate(loaded.documents, 1):
        here.add(document.id)
        before = known.get(document.id)
        root = _root_of(document, roots)
        if before is not None and (before[1] == document.hash or store.documents.has_imported_text(document)):
            report.unchanged += 1
        elif before is not None and before[0] not in roots and Path(before[0]).exists():
            unread.append(
                (
                    document.id,
                    f"its id stands for a document of {before[0]}: index both together, or in two indexes",
                )
            )
        else:
            if not (report.added or report.changed):
                on_change()
            _put_document(store, document, root, manifest, embedder)
            if before is None:
                report.added += 1
            else:
                report.changed += 1
                gone.add(document.id)
        progress("documents", done, loaded.total)
    progress("documents", len(here), loaded.total)  # files at the end may have held nothing
    unread += [(u.path, u.reason) for u in loaded.unread]
    # A file that is there but could not be read this time keeps what was read from it before.
    kept = {path for path, _ in unread} | {path.rpartition(":")[0] for path, _ in unread}
    for document_id, (root, _) in known.items():
        if root in roots and document_id not in here:
            before_document = store.documents.get(document_id)
            path = before_document.metadata.get("path", document_id) if before_document else document_id
            if path not in kept and document_id not in kept:
                if not (report.added or report.changed or report.removed):
                    on_change()
                with store.transaction():
                    store.documents.remove(document_id)
                report.removed += 1
                gone.add(document_id)
    report.unread = tuple(sorted(unread))
    with store.transaction():
        if gone:
            store.reports.remove_written(gone)
        for root in roots:
            store.documents.set_unread(root, [])
        store.documents.set_unread(roots[0] if roots else "", report.unread)
    return report


def _root_of(document: Document, roots: Sequence[str]) -> str:
    """The given folder or file that a document came from; a glob stands for itself."""
    under = [
        root for root in roots if document.source == root or document.source.startswith(f"{root}{os.sep}")
    ]
    return max(under, key=len, default=roots[0])


def rechunk(store: Store, manifest: Manifest, embedder: Embedder, progress: Progress) -> None:
    """Cut every stored document again, after the chunker's settings changed."""
    documents = store.documents.hashes()
    for done, (document_id, (root, _)) in enumerate(documents.items(), 1):
        document = store.documents.get(document_id)
        if document is not None:
            _put_document(store, document, root, manifest, embedder)
        progress("documents", done, len(documents))


def build(
    store: Store,
    manifest: Manifest,
    models: Models,
    layers: Sequence[str],
    report: BuildReport,
    progress: Progress,
    *,
    processes: int = 0,
    again: Collection[str] = (),
    on_change: Callable[[], object] = lambda: None,
) -> BuildReport:
    """Build what is missing of some layers and of those that they rest on.

    Args:
        store: open for writing, with the documents in it.
        manifest: the settings to build with; becomes the manifest of the index.
        models: embedders, and a chat model if the manifest asks for one.
        layers: names out of `store.layers.BELOW`.
        report: of `put_documents`; completed and returned.
        progress: told after each item.
        processes: workers for extraction without a model; 0: as many as pay off.
        again: of these layers, those that are built even if they are up to date.
        on_change: called before a layer that was finished once is replaced.

    Raises:
        NothingExtracted: if the graph was asked for and no entity came out of any text.
        RequestsWaiting: with a batch, when nothing goes on without replies; what is done is kept.
    """
    with models.calls.round(), models.calls.meter() as meter, with_room(store.folder):
        builder = _Builder(store, manifest, models, progress, processes, again)
        if store.manifest() not in (None, manifest):
            on_change()
        sound = cache(lambda folder: not damage(folder, thorough=True))
        for layer in with_dependencies(layers):
            if layer not in again and layer in up_to_date(store, manifest, sound):
                continue
            if layer in store.layers():
                on_change()
            started = time.perf_counter()
            builder.notes.clear()
            n_rows = builder.name_layer(layer) if layer in RECIPES else getattr(builder, layer)()
            seconds = time.perf_counter() - started
            with store.transaction():
                store.set_manifest(manifest)
                if layer in again:
                    # Its version does not tell the new texts from the old.
                    store.forget_layers(dependents(layer))
                store.put_layer(layer, versions(store, manifest)[layer], n_rows, seconds)
                store.set_notes(layer, builder.notes)
            sound.cache_clear()
            report.built[layer] = seconds
            # Or the next layers would stand on the peak of this one.
            give_back(thorough=seconds > _LONG_S)
        with store.transaction():
            store.set_manifest(manifest)
        report.notes = store.notes()
        sweep(store, manifest)
    report.usage = meter.usage
    report.counts = counts(store)
    return report


def counts(store: Store) -> dict[str, int]:
    """How much of everything an index holds."""
    found = {
        name: store.count(name)
        for name in ("documents", "chunks", "entities", "relations", "communities", "reports")
    }
    found |= {f"windows {state}": n for state, n in store.extractions.states().items()}
    return found


class _Builder:
    """One method for each layer, and one for all that embed the graph; each returns the layer's number of rows."""

    def __init__(
        self,
        store: Store,
        manifest: Manifest,
        models: Models,
        progress: Progress,
        processes: int,
        again: Collection[str],
    ) -> None:
        self._store, self._manifest, self._models = store, manifest, models
        self._progress, self._processes, self._again = progress, processes, again
        self.notes: list[str] = []

    def chunks(self) -> int:
        with self._store.transaction():
            return self._store.documents.number_chunks()

    def lexical(self) -> int:
        LexicalIndex.save(self._folder("lexical"), self._store.documents.chunk_texts())
        return self._store.count("chunks")

    def chunk_vectors(self) -> int:
        texts = (embedded_text(title, text) for _, title, text in self._store.documents.chunk_texts())
        total = self._store.count("chunks")
        return self._embed("chunk_vectors", self._models.embedder, texts, total)

    def names(self) -> int:
        """Titles and other names, and the passages that say them."""
        former = self._former("names")
        n_chunks, n_names = self._store.count("chunks"), 0

        def fill(place: Path) -> None:
            nonlocal n_names
            # Not in the folder of the layer, which is sealed with all that is in it.
            before, folder = Sayings.load(former) if former else None, place.parent
            said = say(self._store, self._manifest.chunker, before, folder)
            said.save(place)
            found = said.naming(partial(room, folder=folder))
            n_names = len(found.keys)
            NameGraph.of(n_chunks, found.keys, found.titles, found.links, found.shared).save(place)

        write_folder(self._folder("names"), fill, sealed=True)
        return n_names

    def graph(self) -> int:
        self._extract()
        give_back()
        store, apart = self._store, self._store.extractions.decisions("apart")
        version = versions(store, self._manifest)["graph"]
        with no_collection():
            rows = rows_of(store, version, apart, self._manifest.language, again="graph" in self._again)
            columns = rows.columns
            # What reading leaves is as much as resolving takes, and the same again before rows are merged.
            many = len(columns["names"]) > _MANY_ROWS
            give_back(thorough=many)
            resolved = self._resolve(columns)
            give_back(thorough=many)
            chunks = Chunks(store.documents.chunk_counts())
            merged = Merged(
                columns,
                resolved.entity,
                resolved.ids,
                chunks,
                first_chunk=chunks.first_of(columns.documents),
                folder=store.folder / "derived",
            )
            pruned = self._join(view_of(merged)) if self._manifest.extractor.startswith("fast:") else None
            write_former(store, rows, None if pruned else merged)
            graph = (pruned or merged).graph()
            write_folder(self._folder("graph"), lambda place: graph.save(place / GRAPH_FILE), sealed=True)
            kept = (
                moves(rows.former, merged, store.folder / "derived") if rows.former and not pruned else None
            )
            view = pruned or merged.changed(kept)
            with store.transaction():
                store.graph.put(
                    view.entities,
                    view.relations,
                    view.triples,
                    ((m.entity, m.name, m.document, m.rule, m.score, m.other) for m in resolved.merges),
                    kept=kept,
                )
                keep_rows(store, rows)
            sweep_rows(store)
        states = store.extractions.states()
        if states.get("failed"):
            self.notes.append(
                f"{states['failed']} of {sum(states.values())} windows could not be extracted; "
                "see: polygraph status --failed"
            )
        return graph.n

    def mentions(self) -> int:
        """Which passages name which entities."""
        store = self._store
        edges = mention_edges(store.count("entities"), store.count("chunks"), *mention_rows(store))
        return self._save_edges("mentions", edges)

    def facts(self) -> int:
        """Pairs of entities that triples join, by how many rows state one."""
        triples = edge_arrays(self._store.graph.edges("triples"))
        edges = Graph.from_edges(self._store.count("entities"), *triples)
        return self._save_edges("facts", edges)

    def synonyms(self) -> int:
        """Pairs of entities with like names."""
        former = self._former("synonyms")
        found = find_synonyms(
            (i for i, _ in self._store.graph.entity_names()),
            (name for _, name in self._store.graph.entity_names()),
            self._folder("name_vectors") / MATRIX,
            former=Synonyms.load(former, GRAPH_FILE) if former else None,
        )
        write_folder(self._folder("synonyms"), lambda place: found.save(place, GRAPH_FILE), sealed=True)
        return found.edges.n_edges

    def _save_edges(self, layer: str, edges: Graph) -> int:
        write_folder(self._folder(layer), lambda place: edges.save(place / GRAPH_FILE), sealed=True)
        return edges.n_edges

    def name_layer(self, layer: str) -> int:
        """Any layer of vectors by the embedder of names."""
        store = self._store
        kind, text = RECIPES[layer]
        if kind == "predicates":
            rows: Collection[Any] = store.graph.predicates()
            return self._embed(layer, self._models.name_embedder, map(text, rows), len(rows))
        each = {
            "entities": store.graph.all_entities,
            "relations": store.graph.all_relations,
            # Embedders tell names by their capitals.
            "triples": lambda: store.graph.all_triples(by_name=True),
            "reports": store.reports.all,
        }
        return self._embed(layer, self._models.name_embedder, map(text, each[kind]()), store.count(kind))

    def communities(self) -> int:
        folder = folder_of(self._store.folder, "graph", versions(self._store, self._manifest)["graph"])
        found = communities(
            Graph.load(folder / GRAPH_FILE),
            self._store.graph.entity_ids(),
            (
                (chunk for _, some in parts for chunk in some)
                for _, parts in groupby(self._store.graph.mentions(), itemgetter(0))
            ),
            max_size=self._manifest.community_size,
        )
        with self._store.transaction():
            self._store.reports.put_communities(found)
        return self._store.count("communities")

    def reports(self) -> int:
        store, language = self._store, self._manifest.language
        count = self._counter("reports", store.count("communities"))
        if self._manifest.reports.startswith("extractive"):
            with store.transaction():
                store.reports.put(
                    extractive_reports(
                        store.reports.counted_communities(),
                        store.graph,
                        store.documents.texts_of,
                        language=language,
                        qualities=qualities(store, store.extractions.decisions("apart"), language),
                        folder=store.folder / "derived",
                        on_done=count,
                    )
                )
                store.reports.keep_written(())
            return store.count("reports")
        chat = self._models.chat
        problems: list[str] = []
        used: set[str] = set()

        def known(key: str) -> Report | None:
            used.add(key)
            text = store.reports.written(key)
            return report_from_json(text) if text else None

        def keep(key: str, report: Report) -> None:
            with store.transaction():
                store.reports.put_written(key, report_to_json(report))

        found = write_reports(
            store.reports.communities(),
            store.graph,
            store.documents.texts_of,
            self._models if chat is not None else None,
            language=language,
            qualities=qualities(store, store.extractions.decisions("apart"), language),
            folder=store.folder / "derived",
            known=known,
            keep=keep if chat is not None else None,
            on_done=count,
            on_problem=lambda _, problem: problems.append(problem),
        )
        if problems:
            self.notes.append(
                f"{len(problems)} of {len(found)} reports are extractive, because the model's replies could not be "
                f"used (first: {problems[0]})"
            )
        waiting = sum(report.written_by == "extractive" for report in found)
        if chat is None and waiting:
            self.notes.append(
                f"{waiting} of {len(found)} reports are extractive, because what a model had written of them is "
                "out of date. Have them written again with: polygraph refresh"
            )
        with store.transaction():
            store.reports.put(found)
            # Texts for inputs that are no more would tell of what was removed.
            store.reports.keep_written(used)
        return len(found)

    # --- parts --------------------------------------------------------------------------------------

    def _extract(self) -> None:
        extractor = self._manifest.reader
        pending = self._store.extractions.pending(extractor) if extractor else []
        settings = self._manifest.extractor_settings
        count = self._counter("extraction", len(pending))
        local = _LOCAL.get(extractor.partition(":")[0])
        if not pending or (self._models.chat is None and local is None):
            return  # without the model, as when a document is removed, windows that failed stay failed
        if local is not None:
            done = 0
            for some in _whole_documents(pending, _MANY_WINDOWS):
                found = local(
                    list(self._windows(some)),
                    language=self._manifest.language,
                    processes=self._processes,
                    notes=self.notes,
                )
                for batch in _batches(found, _SMALL_BATCH):
                    with self._store.transaction():
                        for extraction in batch:
                            self._store.extractions.put(extraction, extractor)
                    done += len(batch)
                    count(done)
            return
        lock = threading.Lock()

        def store_at_once(extraction: Extraction) -> None:
            with lock, self._store.transaction():
                self._store.extractions.put(extraction, extractor)

        llm.extract(
            list(self._windows(pending)),
            self._models,
            entity_types=tuple(settings["entity_types"]),
            gleaning=settings["gleaning"],
            max_gleanings=int(settings["max_gleanings"]),
            on_extraction=store_at_once,
            on_done=count,
        )
        states = self._store.extractions.states()
        if states and set(states) <= {"failed"}:
            raise NothingExtracted(self._why_nothing())

    def _resolve(self, columns: Columns) -> ResolvedRows:
        """Tell which names are one entity."""
        if not len(columns["names"]) and self._store.count("windows"):
            raise NothingExtracted(self._why_nothing())
        self._progress("resolution", 0, 1)
        resolved = resolve_rows(
            columns,
            embed=self._embed_names,
            cannot_link=self._store.extractions.decisions("apart"),
            must_link=self._store.extractions.decisions("together"),
            folder=self._store.folder / "derived",
        )
        self._progress("resolution", 1, 1)
        return resolved

    def _join(self, view: GraphView) -> GraphView:
        """Of phrases without relations, the graph of those that stand together."""
        pruning = Pruning(**self._manifest.extractor_settings)
        joined = join_and_prune(view, self._store.count("chunks"), pruning)
        if view.entities and not joined.entities:
            self.notes.append(
                f"all {len(view.entities)} noun phrases were pruned, since none stands in {pruning.min_frequency} "
                "passages beside another: the graph is empty. Few or short documents are read better with: "
                "--extractor nlp"
            )
        return joined

    def _windows(self, ids: Sequence[str]) -> Iterator[Window]:
        for at in range(0, len(ids), _BATCH):
            yield from self._store.extractions.windows(ids[at : at + _BATCH])

    def _why_nothing(self) -> str:
        failures = self._store.extractions.failures()
        if failures:
            window, _, problem, _ = failures[0]
            return (
                f"nothing could be extracted: all {len(failures)} windows failed (first: {window}: {problem}). "
                "Look at the replies with: polygraph status --failed; check the model with: polygraph doctor; or "
                "extract without a model: polygraph index PATH --extractor nlp"
            )
        return (
            "nothing could be extracted: no names or terms were found in any text. Check that the documents hold "
            "prose, or use `--for bm25`, which needs no graph"
        )

    def _embed_names(self, texts: Sequence[str]) -> Vectors:
        return self._models.calls.embed(self._models.name_embedder, texts, "name", stage="resolution")

    def _embed(self, layer: str, embedder: Embedder, texts: Iterator[str], total: int) -> int:
        manifest, store = self._manifest, self._store
        width = manifest.dimension if embedder is self._models.embedder else manifest.name_dimension
        former = store.layers().get(layer)
        write_vectors(
            self._folder(layer),
            texts,
            lambda batch: self._models.calls.embed(embedder, batch, "document", stage=layer),
            shape=(total, width),
            embedder=embedder.name,
            former=folder_of(store.folder, layer, former[0]) if former and layer not in self._again else None,
            on_done=self._counter(layer, total),
        )
        return total

    def _former(self, layer: str) -> Path | None:
        """The folder of a layer as it was built before; None if it is not there whole, or all is made anew."""
        before = self._store.layers().get(layer)
        if before is None or layer in self._again:
            return None
        folder = folder_of(self._store.folder, layer, before[0])
        return None if damage(folder, thorough=True) else folder

    def _folder(self, layer: str) -> Any:
        return folder_of(self._store.folder, layer, versions(self._store, self._manifest)[layer])

    def _counter(self, stage: str, total: int) -> Callable[[int], None]:
        def count(done: int) -> None:
            self._progress(stage, done, total)

        return count


def mention_rows(store: Store) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the entity row and the chunk row of each mention, by entity.

    Raises:
        KeyError: if an entity rests on a chunk that is not in the index.
    """
    rows = store.documents.chunk_rows()
    entities, chunks = array("i"), array("i")
    for entity, ids in store.graph.mentions():
        entities.extend(repeat(entity, len(ids)))
        chunks.extend([rows[i] for i in ids])
    return np.array(entities, dtype=np.int32), np.array(chunks, dtype=np.int32)


def embedded_text(title: str, text: str) -> str:
    r"""What is embedded of a chunk: the title of its document, unless the text begins with it, then the text.

    >>> embedded_text("Halcyon", "The log of a ship.")
    'Halcyon\nThe log of a ship.'
    """
    head = title[:_TITLE_CHARACTERS]
    return text if text.startswith(head) else f"{head}\n{text}"


def _put_document(
    store: Store, document: Document, root: str, manifest: Manifest, embedder: Embedder
) -> None:
    chunks = cut(document, manifest, embedder)
    with store.transaction():
        store.documents.put(
            document, root, chunks, windows(document, chunks, max_tokens=manifest.window_tokens)
        )


def cut(document: Document, manifest: Manifest, embedder: Embedder) -> list[Chunk]:
    """Cut a document in retrieval chunks, as everything in an index is cut."""
    return chunk(
        document,
        embedder.count,
        max_tokens=manifest.chunk_tokens,
        limit=embedder.max_tokens - _MARGIN,
        language=manifest.language,
    )


def sweep(store: Store, manifest: Manifest, *, former: int = 1) -> None:
    """Delete files of layers two builds old; the last finished ones may still be open in a reader.

    Args:
        store: open for writing.
        manifest: what the present layers were built with.
        former: how many earlier states of each layer are left.
    """
    derived = store.folder / "derived"
    if not derived.is_dir():
        return
    wanted = versions(store, manifest)
    keep = {folder_of(store.folder, layer, wanted[layer]).name for layer in FILE_LAYERS}
    for begun in derived.glob("*.tmp"):
        if begun.is_dir():
            shutil.rmtree(begun, ignore_errors=True)
    if (store.folder / SAVED_STATE).is_file():
        # Readers still look at it, and at its files.
        with closing(SqliteStore(store.folder, mode="read", file=SAVED_STATE)) as before:
            if (older := before.manifest()) is not None:
                theirs = versions(before, older)
                keep |= {folder_of(store.folder, layer, theirs[layer]).name for layer in FILE_LAYERS}
    for layer in sorted(FILE_LAYERS):
        old = sorted(
            (p for p in derived.glob(f"{layer}-*") if p.name not in keep),
            key=lambda p: p.stat().st_mtime,
            reverse=True,
        )
        for folder in old[former:]:
            shutil.rmtree(folder, ignore_errors=True)


def _whole_documents(windows: Sequence[str], size: int) -> Iterator[list[str]]:
    """Cut a list of windows, by document, where documents end, at the first end after `size`.

    >>> list(_whole_documents(["a@0", "a@1", "b@0", "c@0"], 1))
    [['a@0', 'a@1'], ['b@0'], ['c@0']]
    """
    some: list[str] = []
    for window in windows:
        if len(some) >= size and window.rpartition("@")[0] != some[-1].rpartition("@")[0]:
            yield some
            some = []
        some.append(window)
    if some:
        yield some


def _batches(items: Iterator[T], size: int) -> Iterator[list[T]]:
    batch: list[T] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
