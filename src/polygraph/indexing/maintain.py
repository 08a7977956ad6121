"""Changing an index: adding and removing documents, refreshing, retrying, decisions about names, forgetting."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

from polygraph.config import Settings
from polygraph.errors import BadInput, IndexMismatch, quoted
from polygraph.execution.protocol import Executor
from polygraph.extract.llm import extractor as llm
from polygraph.ids import document_name
from polygraph.indexing.build import build
from polygraph.indexing.build_settings import (
    Extractor,
    choose_manifest,
    require_same_embedders,
    with_report_writer,
)
from polygraph.indexing.cleanup import delete_old_files
from polygraph.indexing.documents import (
    Parts,
    cut_document,
    reading_notes,
    rechunk_documents,
    update_documents,
)
from polygraph.indexing.progress import BuildReport, Progress, no_progress
from polygraph.ingest import Documents, SourceFiles, read_sources
from polygraph.models import Models
from polygraph.models.replay import NamedModel
from polygraph.models.retry import is_local
from polygraph.records import Document, digest
from polygraph.store.generations import (
    WriteInProgress,
    begin_reading,
    begin_write,
    finish_reading,
    finish_write,
    write_in_progress,
)
from polygraph.store.layers import (
    DEPENDENCIES,
    NAME_VECTOR_LAYERS,
    REVISION_KEY,
    UNASKED_KEY,
    complete_layers,
    up_to_date,
)
from polygraph.store.manifest import Manifest
from polygraph.store.open_store import open_to_write
from polygraph.store.protocol import DecisionKind, Store
from polygraph.text.prose import count_noun, join_list

if TYPE_CHECKING:
    from polygraph.indexing.cluster_documents import Cutter

_SIMILAR = 3
"""Most documents that are suggested instead of one that is not known."""
_RETRIED_KEY = "retried"
"""Digests of the windows, and keys of the replies, that were incomplete when they were last retried."""
_WINDOWS = 256
"""Windows whose replies are looked up together."""


@contextmanager
def open_writer(
    folder: Path,
    settings: Settings,
    models: Models,
    progress: Progress = no_progress,
    wait_s: float = 0.0,
    executor: Executor | None = None,
) -> Iterator["IndexWriter"]:
    """Open an index for changes, as its only writer; it is created if it is not there.

    Raises:
        IndexLocked: if another process is still writing after `wait_s`.
        StorageFailed: if the folder cannot be written.
    """
    with open_to_write(folder, settings.durability, wait_s) as store:
        yield IndexWriter(store, settings, models, progress, executor)


@dataclass(frozen=True, slots=True)
class IndexWriter:
    """The one writer of an index: the work behind the verbs that change it.

    Every method first records that a write is in progress, and shows the new state to readers when it is finished. A
    method that was stopped is continued by the next one.
    """

    store: Store
    settings: Settings
    models: Models
    progress: Progress
    executor: Executor | None = None
    """Where documents are read and cut, and where extraction without a model runs; None: on this machine."""

    def add(
        self,
        loaded: Documents | SourceFiles | None,
        roots: Sequence[str],
        layers: Sequence[str],
        extractor: Extractor | None,
        within: Sequence[str] | None = None,
    ) -> BuildReport:
        """Update the documents and build layers.

        Args:
            loaded: documents of `roots`, or their files, which a cluster reads; None: only build.
            roots: the folders, files or globs that were given, absolute.
            layers: to be up to date afterwards.
            extractor: how the graph is extracted, if it was said; see `choose_manifest`.
            within: what was read of the roots, if not everything; see `update_documents`.

        Raises:
            IndexMismatch: if the documents of an imported graph would have to be cut again.
        """
        store = self.store
        before = store.manifest()
        manifest = choose_manifest(
            store.place, before, self.settings, self.models, extractor, adding=loaded is not None
        )
        report = BuildReport()
        on_change = partial(begin_write, store)
        if before is not None and before.chunker != manifest.chunker:
            if before.imported:
                raise IndexMismatch(
                    f"the graph of {store.place} was imported ({before.imported}), and its documents cannot be "
                    "cut again without losing it. Use the former settings (chunk_tokens, overlap_tokens, "
                    "window_tokens, language and embedder), or import it again with the new ones"
                )
            on_change()
            rechunk_documents(store, partial(self._cut_each, manifest), self.progress)
        if loaded is not None:
            # Jobs that read only some of the files are repeated by their queue if they are stopped.
            is_whole = within is None
            first = partial(_begin_whole_reading, store, roots) if is_whole else on_change
            report = self._update_documents(loaded, roots, manifest, first, within)
            if is_whole:
                finish_reading(store, roots)
        report.notes += reading_notes(store)
        if extractor is None and "graph" in store.layers() and _is_first_with_chat(before, manifest):
            report.notes.append(
                "the graph stays as it was extracted without a model. What the chat model would cost: polygraph "
                f"estimate --extractor llm --index {quoted(store.place)}; then run polygraph index --extractor llm "
                f"--index {quoted(store.place)}"
            )
        self._build(manifest, layers, report)
        self._finish(manifest, report)
        return report

    def remove(self, documents: Sequence[str], *, forget: bool) -> BuildReport:
        """Remove documents and everything that was extracted from them, without calling a model.

        Args:
            documents: ids, of an uploaded file also its name if no other has it; those of a removal that was stopped
                may be given again.
            forget: also delete every trace of removed documents from the disk.

        Raises:
            BadInput: if a document is not in the index, or there is nothing to do.
            IndexMismatch: if the embedders in use are not those of the index.
        """
        store = self.store
        earlier = write_in_progress(store)
        known = {*store.documents.hashes(), *(earlier.removed if earlier else ())}
        documents = [_full_id(document, known) for document in documents]
        unknown = [document for document in documents if document not in known]
        if unknown:
            raise BadInput(
                f"the index at {store.place} has no document '{unknown[0]}'. {_similar(unknown[0], known)}"
                f"List them with: polygraph status --documents --index {quoted(store.place)}"
            )
        if not documents and not forget:
            raise BadInput(
                "name at least one document; list them with: polygraph status --documents --index "
                f"{quoted(store.place)}"
            )
        manifest = self._manifest()
        write = begin_write(store, layers=complete_layers(store, manifest), removed=documents, forget=forget)
        with store.transaction():
            for document in documents:
                store.documents.remove(document)
            store.reports.remove_written(documents)
            store.graph.remove_written_summaries(documents)
            # Tables of layers that are not built again would still quote the documents.
            store.drop_layers(layer for layer in DEPENDENCIES if layer not in write.layers)
        report = BuildReport(removed=len(set(documents)), unchanged=store.count("documents"))
        self._finish(manifest, report, self._build_without_calls(manifest, write, report, self.progress))
        return report

    def refresh(self) -> BuildReport:
        """Have the model write what was deleted when documents were removed, and decide what it was not asked then.

        Raises:
            BadInput: if a model is needed and none is configured.
            IndexMismatch: if the embedders in use are not those of the index.
        """
        manifest = with_report_writer(self.store.place, self._manifest(), self.models)
        rebuild = set() if manifest.reports.startswith("extractive") else {"reports"}
        if manifest.descriptions != "extractive":
            rebuild.add("descriptions")
        if not is_local(self.models.name_embedder):
            rebuild |= NAME_VECTOR_LAYERS
        if self.store.meta(UNASKED_KEY):
            rebuild.add("graph")
        return self._rebuild(manifest, rebuild)

    def retry(self, *, again: bool = False) -> BuildReport:
        """Have the model read the windows again that failed or of whose replies parts were lost.

        Args:
            again: also those that an earlier retry did not complete.

        Raises:
            BadInput: if no model is configured, or the graph was extracted without one.
            IndexMismatch: if the embedders in use are not those of the index.
        """
        from polygraph.indexing.exchange.importers.convert import NOT_IMPORTED

        store, calls = self.store, self.models.calls
        manifest = self._manifest()
        if not manifest.reader.startswith("llm:"):
            raise BadInput(
                f"no part of the graph at {store.place} was extracted with the chat model ({manifest.extractor}), so "
                "there is nothing to retry"
            )
        manifest = with_report_writer(store.place, manifest, self.models)
        incomplete = [
            window
            for window, status, problem, _ in store.extractions.failures()
            if llm.is_incomplete(status, problem) and not problem.startswith(NOT_IMPORTED)
        ]
        unwritten = [reply.key for reply in calls.quarantined() if reply.stage == "report"]
        reader = self.models.chat.name if self.models.chat else ""
        digests = {
            window: digest(reader, window, store.extractions.windows([window])[0].text)
            for window in incomplete
        }
        before = set() if again else set((store.meta(_RETRIED_KEY) or "").split())
        windows = [window for window in incomplete if digests[window] not in before]
        reports = [key for key in unwritten if key not in before]
        if windows or reports:
            begin_write(store, layers={*up_to_date(store, manifest), "graph"})
            calls.forget([*sorted(self._reply_keys(manifest, windows)), *reports])
            with store.transaction():
                store.extractions.reset(windows)
                store.set_meta(_RETRIED_KEY, " ".join([*digests.values(), *unwritten]))
                if windows:
                    store.set_meta(REVISION_KEY, str(int(store.meta(REVISION_KEY) or "0") + 1))
        report = self._rebuild(manifest, {"reports"} if reports else set())
        left = {"window": len(incomplete) - len(windows), "report": len(unwritten) - len(reports)}
        if skipped := join_list([count_noun(n, what) for what, n in left.items() if n]):
            report.notes.append(
                f"an earlier retry did not complete {skipped}. To pay for another attempt: polygraph retry --again "
                f"--index {quoted(store.place)}"
            )
        return report

    def decide(
        self, decisions: Sequence[tuple[DecisionKind, str, str]] = (), *, undo: Collection[int] = ()
    ) -> BuildReport:
        """Record or undo decisions about entities, and update the layers without calling a model.

        Args:
            decisions: as ``(kind, a, b)``, in order.
            undo: numbers of earlier decisions.

        Raises:
            IndexMismatch: if the embedders in use are not those of the index.
        """
        store, manifest = self.store, self._manifest()
        write = begin_write(store, layers=complete_layers(store, manifest))
        with store.transaction():
            for number in undo:
                store.extractions.undo_decision(number)
            for kind, a, b in decisions:
                store.extractions.decide(kind, a, b)
        report = BuildReport(unchanged=store.count("documents"))
        self._finish(manifest, report, self._build_without_calls(manifest, write, report, self.progress))
        return report

    # --- parts --------------------------------------------------------------------------------------

    def _manifest(self) -> Manifest:
        """Return the manifest of an index that was built with the embedders in use."""
        return require_same_embedders(self.store.place, self.store.manifest(), self.models)

    def _update_documents(
        self,
        loaded: Documents | SourceFiles,
        roots: Sequence[str],
        manifest: Manifest,
        on_change: Callable[[], object],
        within: Sequence[str] | None,
    ) -> BuildReport:
        def cut(document: Document) -> Parts:
            return cut_document(document, manifest, self.models.embedder)

        if not isinstance(loaded, SourceFiles) or self.executor is None:
            documents = read_sources(loaded) if isinstance(loaded, SourceFiles) else loaded
            return update_documents(self.store, documents, roots, cut, self.progress, on_change, within)
        from polygraph.indexing.cluster_documents import ClusterDocuments

        known = {i: hash_ for i, (_, hash_) in self.store.documents.hashes().items()}
        on_cluster = ClusterDocuments(loaded, self.executor, self._cutter(manifest), known)
        report = update_documents(
            self.store,
            on_cluster,
            roots,
            lambda document: on_cluster.parts(document) or cut(document),
            self.progress,
            on_change,
            within,
        )
        report.notes += on_cluster.notes
        return report

    def _cut_each(
        self, manifest: Manifest, documents: Iterable[Document]
    ) -> Iterable[tuple[Document, Parts]]:
        if self.executor is None:
            return ((each, cut_document(each, manifest, self.models.embedder)) for each in documents)
        from polygraph.indexing.cluster_documents import cut_on

        return cut_on(self.executor, self._cutter(manifest), documents)

    def _cutter(self, manifest: Manifest) -> "Cutter":
        from polygraph.indexing.cluster_documents import Cutter
        from polygraph.models.remote import ModelSource

        return Cutter(ModelSource.of(self.models, self.settings), manifest)

    def _build(
        self,
        manifest: Manifest,
        layers: Sequence[str],
        report: BuildReport,
        rebuild: Collection[str] = (),
    ) -> None:
        build(
            self.store,
            manifest,
            self.models,
            layers,
            report,
            self.progress,
            processes=self.settings.processes,
            approximate_rows=self.settings.approximate_rows,
            pgvector_rows=self.settings.pgvector_rows,
            executor=self.executor,
            rebuild=rebuild,
            on_change=partial(begin_write, self.store),
        )

    def _rebuild(self, manifest: Manifest, rebuild: set[str]) -> BuildReport:
        """Build the layers that were up to date, and some of them whether they are or not."""
        write = write_in_progress(self.store)
        layers = {*up_to_date(self.store, manifest), *(write.layers if write else ())}
        report = BuildReport()
        self._build(manifest, sorted(layers), report, rebuild & layers)
        self._finish(manifest, report)
        return report

    def _build_without_calls(
        self, manifest: Manifest, write: WriteInProgress, report: BuildReport, progress: Progress
    ) -> set[bytes]:
        """Build the layers of a write without a call to a chat model or an endpoint.

        Returns:
            Keys of the stored vectors that were looked up.
        """
        with self.models.calls.replay() as found:
            build(
                self.store,
                manifest,
                replace(self.models, chat=None),
                write.layers,
                report,
                progress,
                processes=self.settings.processes,
                approximate_rows=self.settings.approximate_rows,
                pgvector_rows=self.settings.pgvector_rows,
                # To forget the others, every text that is still in use must be looked up once.
                rebuild=write.layers if write.forget else (),
            )
        return found.vectors

    def _finish(self, manifest: Manifest, report: BuildReport, vectors: set[bytes] | None = None) -> None:
        """Show the new state to readers, after everything that must be forgotten is deleted.

        Args:
            manifest: that the layers were built with.
            report: receives whether everything is deleted.
            vectors: keys of the vectors in use, if every text was looked up.
        """
        store, calls = self.store, self.models.calls
        write = write_in_progress(store)
        if write is None or not write.forget:
            if write is not None or report.built:
                finish_write(store)
            return
        from polygraph.models.batch.forget import forget_lines

        if vectors is None:
            # A removal that was stopped is finished by another verb.
            write = replace(write, layers=complete_layers(store, manifest))
            vectors = self._build_without_calls(manifest, write, BuildReport(), no_progress)
        keys = self._reply_keys(manifest, store.extractions.extracted_windows())
        batches = forget_lines(calls.store, keys)
        is_gone = calls.keep_only(keys, vectors)
        finish_write(store)
        delete_old_files(store, manifest, keep=0)
        is_compact = store.compact()
        report.forgotten = is_compact and is_gone and not batches.left
        for folder, n in batches.deleted.items():
            report.notes.append(
                f"deleted {count_noun(n, 'line')} of requests and replies from the batch folder {folder}"
            )
        if batches.left:
            report.notes.append(
                f"batch files that may hold removed text could not be searched: {'; '.join(batches.left)}"
            )
        if not (is_compact and is_gone):
            report.notes.append(
                "another process is still reading the former state, so the files with the ending -wal may hold "
                f"removed text. When it has ended, run: polygraph remove --forget --index {quoted(store.place)}"
            )

    def _reply_keys(self, manifest: Manifest, windows: Sequence[str]) -> set[str]:
        """Return the keys of the stored replies that windows were extracted from."""
        if not manifest.reader.startswith("llm:"):
            return set()
        settings = manifest.extractor_settings
        reader = NamedModel(manifest.reader.removeprefix("llm:").rpartition(":")[0])
        with self.models.calls.replay() as found:
            for at in range(0, len(windows), _WINDOWS):
                llm.extract(
                    self.store.extractions.windows(windows[at : at + _WINDOWS]),
                    replace(self.models, chat=reader),
                    entity_types=tuple(settings["entity_types"]),
                    gleaning=settings["gleaning"],
                    max_gleanings=int(settings["max_gleanings"]),
                )
        return found.replies


def _is_first_with_chat(before: Manifest | None, manifest: Manifest) -> bool:
    """Tell whether an index that is extracted without a model is built with a chat model for the first time."""
    return before is not None and before.reports == "extractive" != manifest.reports and not manifest.by_model


def _begin_whole_reading(store: Store, roots: Sequence[str]) -> None:
    begin_write(store)
    begin_reading(store, roots)


def _full_id(given: str, known: Collection[str]) -> str:
    """Return the id of the only uploaded file with a name; what was given if there is no such file."""
    found = [] if given in known else [document for document in known if document_name(document) == given]
    return found[0] if len(found) == 1 else given


def _similar(given: str, known: Collection[str]) -> str:
    """Return a question that names the documents of the same file name as a path that is no id, if there are few."""
    name = PureWindowsPath(given).name
    found = sorted(document for document in known if PurePosixPath(document).name == name)
    return f"Did you mean {' or '.join(map(quoted, found))}? " if 0 < len(found) <= _SIMILAR else ""
