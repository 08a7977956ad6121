"""An index with its models: the Python API, with the same verbs as the command line.

Each verb imports what it needs, so that asking a question loads nothing that builds or evaluates.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, closing, contextmanager, suppress
from contextvars import copy_context
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, Unpack

from polygraph.errors import BadInput, IndexUnreadable
from polygraph.indexing.progress import no_progress
from polygraph.retrieve.stream import Event, stream_answer, stream_answer_async
from polygraph.workspace.places import (
    database_folder,
    folder_to_fill,
    open_published,
    refusal_to_write,
    refuse_own_folder,
)

if TYPE_CHECKING:
    from polygraph.config import Settings
    from polygraph.config.setting_values import SettingValues
    from polygraph.evaluate.questions.file import Question
    from polygraph.evaluate.reports.retrieval_report import RetrievalReport
    from polygraph.evaluate.runs.experiment import Experiment
    from polygraph.execution.protocol import Executor
    from polygraph.indexing.build_settings import Extractor
    from polygraph.indexing.copying import CopyReport
    from polygraph.indexing.estimate.ranges import Estimate
    from polygraph.indexing.maintain import IndexWriter
    from polygraph.indexing.progress import BuildReport, Progress
    from polygraph.models import Models
    from polygraph.models.call_store import CallPlace
    from polygraph.publishing.published_index import PublishedIndex
    from polygraph.records import Answer, AnswerForm, Retrieval
    from polygraph.retrieve.base import Method
    from polygraph.retrieve.fact_paths import FactPath
    from polygraph.retrieve.method_names import MethodName
    from polygraph.store.snapshot import Snapshot
    from polygraph.tasks.answers.answer import ChatTurn
    from polygraph.workspace.entities import Entities


class Index:
    """A folder that holds an index, and the models that read and answer.

    ```python
    index = Index.open("handbook.index")
    index.add("docs/")
    answer = index.ask("Which suppliers depend on each other?")
    ```
    """

    def __init__(
        self, folder: Path, settings: Settings, models: Models, published: PublishedIndex | None = None
    ) -> None:
        self._folder = folder
        self._published = published
        self.settings = settings
        self.models = models
        self._snapshot: Snapshot | None = None
        self._stamp: object = None
        self._opening = Lock()
        self._new_folders: tuple[Path, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder; of a published index, that of the local copy of its newest version."""
        return self._published.version().folder if self._published else self._folder

    @property
    def url(self) -> str | None:
        """Where a published index is; None for an index that can be changed."""
        return self._published.url if self._published else None

    @property
    def place(self) -> str:
        """What messages call the index: its folder, or the URL of a published one or of a database."""
        from polygraph.store.postgres.folder import place_of

        return self.url or place_of(self._folder)

    @property
    def calls_place(self) -> CallPlace:
        """File or database of the model calls."""
        from polygraph.store.open_store import calls_of

        return self._published.calls_file if self._published else calls_of(self._folder)

    @classmethod
    def open(
        cls,
        folder: str | Path | None = None,
        *,
        settings: Settings | None = None,
        models: Models | None = None,
        progress: Progress = no_progress,
        **flags: Unpack[SettingValues],
    ) -> Self:
        """Open an index, or name the folder in which `add` will create one.

        Args:
            folder: a folder, the URL of a database that holds the index (``postgresql://...``), or the URL of a
                published index, which is read through a local copy; default: the setting `index`
                (``./polygraph.index``).
            settings: default: from flags, environment and ``polygraph.toml``.
            models: default: as configured; with neither a key nor a base URL, local ones.
            progress: called while a published index is fetched.
            flags: single settings, such as ``chat_model="gpt-4o-mini"``.

        Raises:
            BadInput: if a setting has an invalid value.
            IndexUnreadable: if what is there is not an index.
            MissingExtra: for a database without psycopg.
            StorageFailed: if a published index cannot be reached and there is no local copy.
        """
        from polygraph.memory import collector_paused

        with collector_paused():
            from polygraph.config import load_settings
            from polygraph.models.call_store import can_keep_calls
            from polygraph.models.open import open_models
            from polygraph.store.open_store import calls_of, is_begun, open_store

        settings = settings or load_settings(flags)
        place = folder if folder is not None else settings.index
        database = database_folder(place, settings)
        published = None if database else open_published(place, settings, partial(progress, "fetching"))
        path = database or (published.version().folder if published else Path(place))
        is_local = database is None and published is None
        new = tuple(each for each in (path, *path.parents) if not each.exists()) if is_local else ()
        manifest = None
        if is_begun(path):
            with closing(open_store(path, mode="read")) as store:
                manifest = store.manifest()
        elif path.exists() and not path.is_dir():
            raise IndexUnreadable(f"{path} is a file, not the folder of an index. Name a folder with --index")
        if models is None:
            calls = published.calls_file if published else calls_of(path)
            before = (manifest.embedder, manifest.name_embedder) if manifest else None
            models = open_models(settings, calls if published or can_keep_calls(calls) else None, before)
        opened = cls(path, settings, models, published)
        opened._new_folders = new
        if models.calls.batch is not None:
            models.calls.batch.index = opened.place
        return opened

    def close(self) -> None:
        """Release files and connections; no thread may use the index any more.

        A folder that was created for this index is deleted if it holds neither an index nor a reply that was paid for.
        """
        self.release()
        self.models.calls.close()
        if self._new_folders:
            self._remove_unused_folders()

    def _remove_unused_folders(self) -> None:
        from polygraph.models.call_store.sqlite_calls import remove_unused
        from polygraph.store.open_store import calls_of, has_index

        calls = calls_of(self._folder)
        if isinstance(calls, Path) and not has_index(self._folder):
            remove_unused(calls)
            # What else is in it stays, and the folder with it.
            with suppress(OSError):
                for folder in self._new_folders:
                    folder.rmdir()

    def release(self) -> None:
        """Release the files of this index, and leave the models open for other indexes that share them.

        No thread may use the index any more.
        """
        if self._snapshot is not None:
            self._snapshot.close()
            self._snapshot = None
        if self._published is not None:
            self._published.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- indexing -----------------------------------------------------------------------------------

    def add(
        self,
        *paths: str | Path,
        methods: Sequence[str] = (),
        extractor: Extractor | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        within: Sequence[str | Path] | None = None,
        progress: Progress = no_progress,
        wait_s: float = 0.0,
        on: str = "local",
    ) -> BuildReport:
        """Index folders, files or patterns. Call it again to update what has changed; nothing is repeated.

        Args:
            paths: what to read; without any, missing layers are built from the documents in the index.
            methods: build only the layers that these methods need; without any, every layer.
            extractor: how the graph is extracted: ``nlp``, ``fast`` or ``llm``; default: as before, else ``llm`` if
                there is a chat model, else ``nlp``.
            include: patterns as in `.polygraphignore`; in folders, only files that match one are read.
            exclude: patterns of files and folders to leave out. A file that was read before and is now left out is
                removed from the index.
            within: files and folders below `paths`, if only these are to be read, even if there is nothing in them;
                documents from elsewhere below `paths` stay as they are, also if their files are gone.
            progress: called after each item of each stage.
            wait_s: how long to wait while another process is writing.
            on: where to compute and to call models: ``local``, ``ray`` (a cluster that is started on this machine), or
                ``ray://HOST:PORT`` (a running one). On a cluster, each worker opens the models from the settings.

        Returns:
            What was added, changed and removed, what could not be read, the counts of the index, and the usage.

        Raises:
            BadInput: if a path does not exist, nothing could be read, or the cluster cannot be used.
            MissingExtra: if Ray is asked for and not installed.
            IndexLocked: if another process is writing.
            IndexMismatch: if other models built the index.
            NothingExtracted, ModelUnavailable, BudgetReached: finished work is kept.
        """
        from concurrent.futures import ThreadPoolExecutor

        from polygraph.ingest import find_sources, path_text, read_sources, select
        from polygraph.memory import collector_paused, limit_arenas
        from polygraph.models.retry import is_local
        from polygraph.store.connection import no_index
        from polygraph.store.open_store import has_index
        from polygraph.text.tokens import load_tokenizer

        refuse_own_folder(self.folder, paths)
        layers = self._layers_for(methods)
        sources = find_sources(paths, select(include, exclude)) if paths else None
        if sources is not None and within is not None:
            sources = sources.within(within)
        # Nothing else is done if nothing can be read.
        stream = read_sources(sources, may_be_empty=within is not None) if sources is not None else None
        if not paths and not has_index(self.folder):
            raise no_index(self.place)
        # Before the first thread gets a heap of its own.
        limit_arenas()
        # An embedder that cannot be used fails here, before any work; what builds is loaded while it answers.
        with ThreadPoolExecutor(2, "polygraph-check") as threads:
            check = threads.submit(copy_context().run, self._check_embedder)
            if not is_local(self.models.embedder) and not has_index(self.folder):
                threads.submit(load_tokenizer)
            with collector_paused():
                import polygraph.indexing.maintain  # noqa: F401
            check.result()
        with self._executor(on) as executor, self._writer(progress, wait_s, executor) as writer:
            loaded = stream if executor is None else sources
            roots = [path_text(Path(p).resolve()) for p in paths]
            places = None if within is None else [path_text(Path(p).resolve()) for p in within]
            return writer.add(loaded, roots, layers, extractor, places)

    def _check_embedder(self) -> None:
        self.models.calls.embed(self.models.embedder, ["ready"], "query", stage="check")

    def estimate(
        self,
        *paths: str | Path,
        methods: Sequence[str] = (),
        extractor: Extractor | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        pilot: int = 0,
        like: str | Path | None = None,
    ) -> Estimate:
        """Estimate what `add` with the same arguments would cost, and one question to each of the methods.

        Nothing is indexed, and only a pilot calls models. If the folder of the index exists, the estimate is stored in
        it for `status`.

        Args:
            paths: as for `add`.
            methods: as for `add`; each also gets a line for one question.
            extractor: as for `add`.
            include: as for `add`.
            exclude: as for `add`.
            pilot: maximum number of real calls, not counting repairs, that calibrate the estimate. Their replies are
                kept in the folder of the index, which is created.
            like: another index that the same chat model has read, which calibrates the estimate until the model has
                read windows of this one.

        Raises:
            BadInput: if a path does not exist, nothing could be read, `pilot` is below 0, or the chat model has
                not read `like`.
            BudgetReached, ModelUnavailable, ModelRefused: from a pilot.
        """
        from polygraph.indexing.estimate.run import estimate_index
        from polygraph.ingest import select
        from polygraph.workspace.method_plan import method_plan

        return estimate_index(
            self._published.calls_file.parent if self._published else self._folder,
            self.calls_place,
            self.settings,
            self.models,
            paths,
            wanted=self._layers_for(methods),
            methods=[method_plan(name) for name in methods],
            extractor=extractor,
            selection=select(include, exclude),
            pilot=pilot,
            other_index=None if like is None else database_folder(like, self.settings) or Path(like),
        )

    def remove(
        self, *documents: str, forget: bool = False, progress: Progress = no_progress, wait_s: float = 0.0
    ) -> BuildReport:
        """Remove documents and everything extracted from them, and update the layers.

        No model is called. Texts that a model wrote from the documents are deleted; extractive reports replace them
        until `refresh`.

        Args:
            documents: ids; after a removal that was interrupted, give the same ids again.
            forget: also delete every trace from the disk: model replies and vectors that do not belong to the
                remaining documents, including replies to questions, and unused parts of files. Works without
                `documents` after a removal.
            progress: called after each item of each stage.
            wait_s: how long to wait while another process is writing.

        Raises:
            BadInput: if a document is not in the index.
            IndexMismatch: if the embedders in use are not those of the index.
        """
        with self._writer(progress, wait_s) as writer:
            return writer.remove(documents, forget=forget)

    def refresh(self, *, progress: Progress = no_progress, wait_s: float = 0.0) -> BuildReport:
        """Have the model rewrite the texts that removals have withdrawn, and decide about names left undecided since.

        Args:
            progress: called after each item of each stage.
            wait_s: how long to wait while another process is writing.

        Raises:
            BadInput: if a model is needed and none is configured.
            IndexMismatch: if the embedders in use are not those of the index.
            ModelUnavailable, BudgetReached: finished work is kept.
        """
        with self._writer(progress, wait_s) as writer:
            return writer.refresh()

    def retry(
        self, *, again: bool = False, progress: Progress = no_progress, wait_s: float = 0.0
    ) -> BuildReport:
        """Have the model read the windows again that failed or whose replies were partly lost.

        Args:
            again: also those that an earlier retry did not complete.
            progress: called after each item of each stage.
            wait_s: how long to wait while another process is writing.

        Raises:
            BadInput: if no model is configured, or the graph was extracted without one.
            IndexMismatch: if the embedders in use are not those of the index.
            NothingExtracted, ModelUnavailable, BudgetReached: finished work is kept.
        """
        with self._writer(progress, wait_s) as writer:
            return writer.retry(again=again)

    # --- entities -----------------------------------------------------------------------------------

    @property
    def entities(self) -> Entities:
        """The entities: list and find them, explain merges, and correct them."""
        from polygraph.workspace.entities import Entities

        return Entities(self.folder, self._writer)

    # --- exchange -----------------------------------------------------------------------------------

    def export(self, folder: str | Path, format: str = "jsonl") -> dict[str, int]:
        """Write the index to a folder; two equal indexes give equal bytes as ``jsonl``.

        Args:
            folder: created if it does not exist, replaced if it holds an earlier export.
            format: ``jsonl``, which `import_` reads, or ``graphml``, ``parquet``, ``neo4j``.

        Returns:
            Number of records by file name.

        Raises:
            BadInput: if the folder holds something else, or the format is unknown.
        """
        from polygraph.indexing.exchange import export
        from polygraph.store.open_store import open_store

        with closing(open_store(self.folder, mode="read")) as store:
            return export(store, Path(folder), format)

    def copy_to(
        self, target: str | Path, *, replace: bool = False, progress: Progress = no_progress
    ) -> CopyReport:
        """Copy this index with everything that belongs to it, replies and ledger included, to another place.

        A copy that is interrupted leaves the target as it was.

        Args:
            target: a folder, or the URL of a database (``postgresql://...``).
            replace: replace an index that is there.
            progress: called after some rows.

        Raises:
            BadInput: if the target is not empty, unless it is an index and `replace` is true.
            IndexUnreadable: if this index is not finished, or damaged.
            IndexLocked: if another process is writing to the target.
            MissingExtra: for a database without psycopg.
            StorageFailed: if the target cannot be written.
        """
        from polygraph.indexing.copying import copy_index

        folder = folder_to_fill(target, self.settings)
        return copy_index(
            self.folder,
            folder,
            published_at=self.url,
            replace=replace,
            pgvector_rows=self.settings.pgvector_rows,
            progress=progress,
        )

    def import_(
        self,
        folder: str | Path,
        *,
        format: str | None = None,
        progress: Progress = no_progress,
        wait_s: float = 0.0,
    ) -> BuildReport:
        """Create this index from an export of Polygraph, or from a graph that another program made.

        The import is all or nothing. From an export of Polygraph, all layers whose embedders are in use are rebuilt.
        Entities and relations of another program's graph become extraction rows, and
        every layer is built. Texts are embedded; no chat model is called.

        Args:
            folder: of the export or graph, or a file of it.
            format: ``jsonl``, ``msgraphrag``, ``lightrag``, ``openie`` or ``csv``; default: detected from the files.
            progress: called after each item of each stage.
            wait_s: how long to wait while another process is writing.

        Raises:
            BadInput: if there is an index already, or a file is damaged or in no known format.
            MissingExtra: for parquet files without pyarrow.
        """
        from polygraph.indexing.import_graph import import_into

        try:
            return import_into(
                self.folder,
                Path(folder),
                self.settings,
                self.models,
                format=format,
                progress=progress,
                wait_s=wait_s,
            )
        finally:
            self._snapshot = None

    # --- questions ----------------------------------------------------------------------------------

    def ask(
        self,
        question: str,
        method: MethodName | str | Method | None = None,
        *,
        where: Mapping[str, str] | None = None,
        max_tokens: int | None = None,
        form: AnswerForm | None = None,
        history: Sequence[ChatTurn] = (),
        on_text: Callable[[str], None] | None = None,
    ) -> Answer:
        """Answer a question with citations, or refuse.

        Args:
            question: any text.
            method: one of `polygraph methods` (default: the setting `method`), or a method of your own.
            where: metadata fields and the values that documents must have; ``*`` in a value matches anything.
            max_tokens: token budget of the context; default: the method's own.
            form: ``short``, ``cited`` or ``overview``; default: the method's own.
            history: earlier questions and answers, oldest first; the question is first rewritten to stand on its own.
            on_text: called with pieces of the answer while it is written.

        Returns:
            The answer. A refusal is an answer too: see `Answer.refused`.

        Raises:
            UnknownMethod, MissingLayer, IndexMismatch, BadInput: each says how to fix it.
        """
        return self._answer(question, method, where, max_tokens, history, form, on_text=on_text)

    def stream(
        self,
        question: str,
        method: MethodName | str | Method | None = None,
        *,
        where: Mapping[str, str] | None = None,
        max_tokens: int | None = None,
        form: AnswerForm | None = None,
        history: Sequence[ChatTurn] = (),
    ) -> Iterator[Event]:
        """Answer as a stream of events: the retrieval, pieces of the text, and finally the whole answer.

        The arguments are those of `ask`.
        """
        return stream_answer(partial(self._answer, question, method, where, max_tokens, history, form))

    async def aask(
        self,
        question: str,
        method: MethodName | str | Method | None = None,
        *,
        where: Mapping[str, str] | None = None,
        max_tokens: int | None = None,
        form: AnswerForm | None = None,
        history: Sequence[ChatTurn] = (),
    ) -> Answer:
        """Answer as `ask` does, in a thread, so that the event loop is not blocked.

        If the task is cancelled, the work stops after its current step: the retrieval, or a piece of text.
        """
        events = self.astream(
            question, method, where=where, max_tokens=max_tokens, form=form, history=history
        )
        async with aclosing(events):
            async for event in events:
                if event.answer is not None:
                    return event.answer
        raise AssertionError("a stream ends with an answer or an error")

    async def astream(
        self,
        question: str,
        method: MethodName | str | Method | None = None,
        *,
        where: Mapping[str, str] | None = None,
        max_tokens: int | None = None,
        form: AnswerForm | None = None,
        history: Sequence[ChatTurn] = (),
    ) -> AsyncGenerator[Event, None]:
        """Stream events as `stream` does, for ``async for``; leaving the loop stops the work as for `aask`."""
        events = stream_answer_async(
            partial(self._answer, question, method, where, max_tokens, history, form)
        )
        async with aclosing(events):
            async for event in events:
                yield event

    def retrieve(
        self,
        question: str,
        method: MethodName | str | Method | None = None,
        *,
        where: Mapping[str, str] | None = None,
        max_tokens: int | None = None,
    ) -> Retrieval:
        """Find and pack the evidence for a question, without answering it; for arguments and errors see `ask`."""
        from polygraph.workspace.asking import retrieve

        chosen = method or self.settings.method
        return retrieve(question, chosen, lambda: self.snapshot(where), self.models, max_tokens=max_tokens)

    def compare(
        self,
        question: str,
        methods: Sequence[MethodName | str],
        *,
        where: Mapping[str, str] | None = None,
        max_tokens: int | None = None,
        form: AnswerForm | None = None,
    ) -> list[Answer]:
        """Answer one question with several methods, in the given order; for arguments and errors see `ask`.

        Shared work is done once: it counts in the usage of the first method, and as cached in that of the others.
        """
        return self._compare(
            lambda name: self.ask(question, name, where=where, max_tokens=max_tokens, form=form), methods
        )

    def paths(self, answer: Answer, *, where: Mapping[str, str] | None = None) -> tuple[FactPath, ...]:
        """Find the shortest chain of facts from the entities of a question to each citation of its answer.

        Args:
            answer: from `ask` or `compare`.
            where: the filter that the question was asked with.

        Raises:
            MissingLayer, IndexMismatch: each says how to fix it.
        """
        from polygraph.retrieve.fact_paths import fact_paths

        return fact_paths(answer.question, answer.citations, self.snapshot(where), self.models)

    # --- measuring ----------------------------------------------------------------------------------

    def experiment(self, folder: str | Path, *, progress: Progress = no_progress) -> Experiment:
        """Open or create a study of methods on this index: questions, answers, judgements, report.

        Args:
            folder: of the study; created if it does not exist.
            progress: called after each item of each step.

        Raises:
            BadInput: if the folder holds something else.
        """
        from polygraph.evaluate.runs.experiment import Experiment
        from polygraph.evaluate.runs.study_folder import StudyFolder

        return Experiment(
            folder=StudyFolder(Path(folder)),
            snapshot=self.snapshot,
            models=self.models,
            ask=self.ask,
            progress=progress,
        )

    def evaluate_retrieval(
        self,
        questions: str | Path | Sequence[Question],
        methods: Sequence[str] | Mapping[str, str | Method],
        *,
        where: Mapping[str, str] | None = None,
        max_tokens: int | None = None,
        ks: Sequence[int] | None = None,
        metric: str = "",
        margin: float = 0.05,
        evidence: str = "evidence",
        limit: int | None = None,
        seed: int = 0,
        output: str | Path | None = None,
        progress: Progress = no_progress,
    ) -> RetrievalReport:
        """Measure what methods retrieve for questions whose evidence is known; nothing is answered.

        Args:
            questions: a file of JSON lines, or questions.
            methods: names from `polygraph methods`; or a mapping from the name in the report to a method of your own,
                or to such a name.
            where: as for `ask`.
            max_tokens: as for `ask`.
            ks: depths of the metrics, such as recall@k; default: 1, 2, 5, 10 and 20.
            metric: by which methods are compared; default: ``recall@5``, or the same for the gold that most questions
                have.
            margin: differences of the metric up to this do not matter; 0.05 is 5 percentage points.
            evidence: field of the file with the gold document ids.
            limit: size of a random sample of the questions; default: all.
            seed: of the sample, the intervals and the tests.
            output: file for the result of each question; a later run resumes from it.
            progress: called after each question.

        Raises:
            UnknownMethod, MissingLayer, IndexMismatch, BadInput: each says how to fix it.
            BudgetReached: finished results are in `output`, and the same call continues.
        """
        from polygraph.evaluate.metrics.retrieval import KS
        from polygraph.evaluate.questions.file import read_questions
        from polygraph.evaluate.runs.retrieval import RetrievalOptions, evaluate_retrieval
        from polygraph.retrieve import method as find_method

        listed = (
            read_questions(questions, evidence=evidence) if isinstance(questions, str | Path) else questions
        )
        if ks is None:
            ks = KS
        if not ks or min(ks) < 1:
            raise BadInput(f"--k {','.join(map(str, ks))} is not a list of depths, such as 1,5,10")
        by_name = methods if isinstance(methods, Mapping) else {name: name for name in methods}
        chosen = {name: find_method(m) if isinstance(m, str) else m for name, m in by_name.items()}
        options = RetrievalOptions(
            ks=tuple(sorted(set(ks))),
            metric=metric,
            margin=margin,
            limit=limit,
            seed=seed,
            output=Path(output) if output is not None else None,
            scope={"where": dict(sorted(where.items())) if where else None, "max_tokens": max_tokens},
        )
        with self.models.calls.batch_round():
            return evaluate_retrieval(
                listed,
                chosen,
                lambda text, name: self.retrieve(text, chosen[name], where=where, max_tokens=max_tokens),
                self.snapshot(where),
                self.models,
                options,
                progress,
            )

    # --- state --------------------------------------------------------------------------------------

    def snapshot(self, where: Mapping[str, str] | None = None) -> Snapshot:
        """Return the finished layers, for methods of your own. It is the same object until the index changes."""
        # One thread opens a new state, the others wait for it.
        with self._opening:
            # Taken before the state is opened, so that a change in between is noticed the next time.
            now = self.stamp()
            found = self._snapshot  # a writer in another thread may drop it at any moment
            if found is None or now != self._stamp or not found.store.is_open():
                # The earlier snapshot is not closed: another thread may still use it. It closes itself after that.
                found = self.open_snapshot()
                self._snapshot, self._stamp = found, now
        return found.where(where) if where else found

    def stamp(self) -> object:
        """Return a value that changes whenever there is a new finished state; cheap to call."""
        from polygraph.store.open_store import finished_stamp

        return self._published.version().name if self._published else finished_stamp(self._folder)

    def open_snapshot(self) -> Snapshot:
        """Open the finished layers as they are now; the caller closes them.

        Raises:
            IndexUnreadable: if there is no index, it is empty, or it is damaged.
        """
        from polygraph.store.snapshot import Snapshot

        if self._published is None:
            return Snapshot(self._folder)
        version = self._published.version()
        return Snapshot(version.folder, keeps=version, place=self.url)

    def status(self) -> dict[str, Any]:
        """Return counts, layers, notes, failures and the ledger: what `polygraph status --json` prints."""
        from polygraph.indexing.status import describe_index
        from polygraph.store.open_store import open_store

        with closing(open_store(self.folder, mode="read")) as store:
            found = describe_index(store, self.models.calls)
        return found | ({"index": self.url} if self.url else {})

    def _repr_html_(self) -> str:
        from polygraph import notebook

        try:
            store = self.snapshot().store
        except IndexUnreadable as error:
            return notebook.facts_html(f"Index {self.folder.name}", {}, [str(error)])
        counts = {name: store.count(name) for name in ("documents", "chunks", "entities", "relations")}
        return notebook.facts_html(
            f"Index {self.folder.name}", counts | {"default method": self.settings.method}
        )

    # --- parts --------------------------------------------------------------------------------------

    def _layers_for(self, methods: Sequence[str]) -> list[str]:
        from polygraph.retrieve import method as find_method
        from polygraph.store.layers import DEPENDENCIES

        if not methods:
            return list(DEPENDENCIES)
        return sorted({layer for name in methods for layer in find_method(name).needs})

    def _compare(self, answer: Callable[[str], Answer], methods: Sequence[str]) -> list[Answer]:
        """Answer with several methods in turn; what they have in common is done once."""
        from polygraph.models.thread_pool import map_in_order
        from polygraph.retrieve import method as find_method

        for name in methods:
            find_method(name)
        with self.models.calls.batch_round(), self.models.calls.question_cache():
            return map_in_order(answer, methods)

    def _answer(
        self,
        question: str,
        method: str | Method | None,
        where: Mapping[str, str] | None,
        max_tokens: int | None,
        history: Sequence[ChatTurn],
        form: AnswerForm | None,
        *,
        on_retrieval: Callable[[Retrieval], None] | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> Answer:
        from polygraph.workspace.asking import answer

        return answer(
            question,
            lambda asked: self.retrieve(asked, method, where=where, max_tokens=max_tokens),
            lambda: self.snapshot(where),
            self.models,
            history=history,
            form=form,
            on_retrieval=on_retrieval,
            on_text=on_text,
        )

    @contextmanager
    def _executor(self, on: str) -> Iterator[Executor | None]:
        """Start the workers of a cluster, and end them; None on this machine."""
        if on == "local":
            yield None
            return
        from polygraph.execution.ray_cluster import RayExecutor

        calls = self.models.calls.concurrency
        with RayExecutor(on, workers=self.settings.processes, calls=calls) as executor:
            yield executor

    @contextmanager
    def _writer(
        self, progress: Progress = no_progress, wait_s: float = 0.0, executor: Executor | None = None
    ) -> Iterator[IndexWriter]:
        from polygraph.indexing.maintain import open_writer

        if self.url is not None:
            raise refusal_to_write(self.url)
        models = self.models
        if executor is not None:
            from polygraph.models.remote import on_cluster

            models = on_cluster(models, self.settings, executor)
        try:
            with open_writer(self.folder, self.settings, models, progress, wait_s, executor) as writer:
                # An open snapshot would keep the earlier state in the log of the tables. It is not closed, since
                # another thread may be reading it: it closes itself when nobody does.
                self._snapshot = None
                yield writer
        finally:
            self._snapshot = None
