"""An index with its models: the Python API, with the same verbs as the command line.

Each verb imports what it needs, so that asking a question loads nothing that builds or evaluates.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from polygraph.errors import BadInput, IndexMismatch, IndexUnreadable
from polygraph.records import Answer, Retrieval, Usage

if TYPE_CHECKING:
    from polygraph.config import Settings
    from polygraph.evaluate.questions.file import Question
    from polygraph.evaluate.reports.retrieval_report import RetrievalReport
    from polygraph.evaluate.runs.experiment import Experiment
    from polygraph.indexing.build_settings import Extractor
    from polygraph.indexing.estimate.questions import MethodPlan
    from polygraph.indexing.estimate.ranges import Estimate
    from polygraph.indexing.progress import BuildReport, Progress
    from polygraph.models import Models
    from polygraph.retrieve.base import Method
    from polygraph.store.generations import WriteInProgress
    from polygraph.store.manifest import Manifest
    from polygraph.store.protocol import Store
    from polygraph.store.snapshot import Snapshot
    from polygraph.tasks.answer import ChatTurn

CALLS_FILE = "calls.sqlite"
_WINDOWS = 256
"""Windows whose replies are looked up together."""


def _silent(stage: str, done: int, total: int) -> None:
    """No progress wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A piece of an answer as it comes."""

    kind: Literal["retrieval", "text", "answer"]
    text: str = ""
    """A piece of the text, for `text`."""
    retrieval: Retrieval | None = None
    answer: Answer | None = None


class Index:
    """A folder that holds an index, and the models that read and answer.

    ```python
    index = Index.open("handbook.index")
    index.add("docs/")
    answer = index.ask("Which suppliers depend on each other?")
    ```
    """

    def __init__(self, folder: Path, settings: Settings, models: Models) -> None:
        self.folder = folder
        self.settings = settings
        self.models = models
        self._snapshot: Snapshot | None = None
        self._stamp: tuple[int, int] | None = None

    @classmethod
    def open(
        cls,
        folder: str | Path | None = None,
        *,
        settings: Settings | None = None,
        models: Models | None = None,
        **flags: Any,
    ) -> Self:
        """Open an index, or name the folder of one to be made by `add`.

        Args:
            folder: default: the setting `index` (``./polygraph.index``).
            settings: default: from flags, environment and ``polygraph.toml``.
            models: default: as the settings say; with neither a key nor a base URL, local ones.
            flags: single settings, such as ``chat_model="gpt-4o-mini"``.

        Raises:
            BadInput: for settings that do not fit.
            IndexUnreadable: if what is there is not an index.
        """
        from polygraph.config import load_settings
        from polygraph.models.open import open_models
        from polygraph.store.connection import is_begun
        from polygraph.store.database import SqliteStore

        settings = settings or load_settings(flags)
        path = Path(folder) if folder is not None else settings.index
        manifest = None
        if is_begun(path):
            store = SqliteStore(path, mode="read")
            manifest = store.manifest()
            store.close()
        elif path.exists() and not path.is_dir():
            raise IndexUnreadable(f"{path} is a file, not the folder of an index. Name a folder with --index")
        if models is None:
            calls_file = path / CALLS_FILE if _writable(path) else None
            before = (manifest.embedder, manifest.name_embedder) if manifest else None
            models = open_models(settings, calls_file, before)
        return cls(path, settings, models)

    def close(self) -> None:
        """Release files and connections."""
        if self._snapshot is not None:
            self._snapshot.close()
            self._snapshot = None
        self.models.calls.close()

    def release(self) -> None:
        """Release the files of this index, and leave the models open for others that share them."""
        self._forget_snapshot()

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
        progress: Progress = _silent,
        wait_s: float = 0.0,
    ) -> BuildReport:
        """Index folders, files or globs; again: take in what changed and repeat nothing.

        Args:
            paths: what to read; none: only build what is missing from what was read before.
            methods: build the layers that these need; none: every layer.
            extractor: how the graph is extracted; default: as before, or with the chat model if there is one.
            progress: told after each item of each stage.
            wait_s: how long to wait while another process is writing.

        Raises:
            BadInput: if a path does not exist or nothing could be read.
            IndexLocked: if another process is writing.
            NothingExtracted, ModelUnavailable, BudgetReached: what was done is kept.
        """
        from polygraph.indexing.build import build
        from polygraph.indexing.build_settings import choose
        from polygraph.indexing.documents import rechunk_documents, update_documents
        from polygraph.indexing.progress import BuildReport
        from polygraph.ingest import read
        from polygraph.store.generations import begin_write

        layers = self._layers_for(methods)
        loaded = read(paths) if paths else None
        roots = [str(Path(p).resolve()) for p in paths]
        if not paths and not (self.folder / "index.sqlite").is_file():
            raise IndexUnreadable(
                f"there is no index at {self.folder}. Make one with: polygraph index PATH --index {self.folder}"
            )
        self.models.calls.embed(
            self.models.embedder, ["ready"], "query", stage="check"
        )  # fails before any work
        with self._writing(wait_s) as store:
            before = store.manifest()
            manifest = choose(
                self.folder, before, self.settings, self.models, extractor, adding=loaded is not None
            )
            report = BuildReport()
            change = partial(begin_write, store)
            if before is not None and before.chunker != manifest.chunker:
                if before.imported:
                    raise IndexMismatch(
                        f"the graph of {self.folder} was imported ({before.imported}), and its documents cannot be "
                        "cut again without losing it. Use the former settings (chunk_tokens, window_tokens, language "
                        "and embedder), or import it again with the new ones"
                    )
                change()
                rechunk_documents(store, manifest, self.models.embedder, progress)
            if loaded is not None:
                report = update_documents(store, loaded, roots, manifest, self.models.embedder, progress, change)
            processes = self.settings.processes
            build(
                store, manifest, self.models, layers, report, progress, processes=processes, on_change=change
            )
            self._finish(store, manifest, report)
            return report

    def estimate(
        self,
        *paths: str | Path,
        methods: Sequence[str] = (),
        extractor: Extractor | None = None,
        pilot: int = 0,
        like: str | Path | None = None,
    ) -> Estimate:
        """Estimate what `add` would cost with the same arguments, and each question to the methods named.

        Nothing is indexed, and only a pilot calls models. Where the folder of the index exists, the estimate is
        kept in it for `status`.

        Args:
            paths: as for `add`; none: what is missing from what was read before.
            methods: as for `add`; each also gets a line for one question.
            extractor: as for `add`.
            pilot: most real calls, repairs not counted, from which the model's profile is fitted. Their replies
                are kept in the folder, which is made.
            like: another index that the same chat model has read: its profile is taken from there until it has
                read windows of this one.

        Raises:
            BadInput: if a path does not exist, nothing could be read, `pilot` is below 0, or the chat model has
                not read `like`.
            BudgetReached, ModelUnavailable, ModelRefused: from a pilot.
        """
        from polygraph.indexing.estimate.run import estimate_index

        return estimate_index(
            self.folder / CALLS_FILE,
            self.settings,
            self.models,
            paths,
            wanted=self._layers_for(methods),
            methods=[_method_plan(name) for name in methods],
            extractor=extractor,
            pilot=pilot,
            other_index=None if like is None else Path(like),
        )

    def remove(
        self, *documents: str, forget: bool = False, progress: Progress = _silent, wait_s: float = 0.0
    ) -> BuildReport:
        """Remove documents and everything that was read from them, and bring the layers in step.

        No model is called. What a model had written from their text is withdrawn; what takes its place are
        sentences of the other documents, until `refresh`.

        Args:
            documents: ids; those of a removal that was stopped may be given again.
            forget: leave no trace on the disk either: model replies and vectors that do not belong to the
                documents left are deleted, replies to questions among them, and files are written anew. May
                also be asked for alone, after documents were removed.
            progress: told after each item of each stage.
            wait_s: how long to wait while another process is writing.

        Raises:
            BadInput: if a document is not in the index.
            IndexMismatch: if the embedders in use are not those of the index.
        """
        from polygraph.indexing.progress import BuildReport
        from polygraph.store.generations import begin_write, write_in_progress
        from polygraph.store.layers import DEPENDENCIES, up_to_date

        with self._writing(wait_s) as store:
            begun = write_in_progress(store)
            known = store.documents.hashes()
            going = begun.removed if begun else ()
            unknown = [d for d in documents if d not in known and d not in going]
            if unknown:
                raise BadInput(
                    f"the index at {self.folder} has no document {unknown[0]!r}. "
                    "List them with: polygraph status --documents"
                )
            if not documents and not forget:
                raise BadInput("name at least one document; list them with: polygraph status --documents")
            manifest = self._built(store)
            note = begin_write(store, layers=up_to_date(store, manifest), removed=documents, forget=forget)
            with store.transaction():
                for document in documents:
                    store.documents.remove(document)
                store.reports.remove_written(documents)
                # Views that are not brought in step would keep what they say of the documents.
                store.drop_layers(layer for layer in DEPENDENCIES if layer not in note.layers)
            report = BuildReport(removed=len(set(documents)), unchanged=store.count("documents"))
            self._finish(
                store, manifest, report, self._build_silently(store, manifest, note, report, progress)
            )
            return report

    def refresh(self, *, progress: Progress = _silent, wait_s: float = 0.0) -> BuildReport:
        """Have the model write again what was withdrawn when documents were removed, and nothing else.

        Args:
            progress: told after each item of each stage.
            wait_s: how long to wait while another process is writing.

        Raises:
            BadInput: if a model is needed and none is configured.
            IndexMismatch: if the embedders in use are not those of the index.
            ModelUnavailable, BudgetReached: what was done is kept.
        """
        from polygraph.indexing.build_settings import with_writer
        from polygraph.models.retry import is_local
        from polygraph.store.generations import write_in_progress
        from polygraph.store.layers import NAME_VECTOR_LAYERS, up_to_date

        with self._writing(wait_s) as store:
            manifest = with_writer(self.folder, self._built(store), self.models)
            begun = write_in_progress(store)
            layers = {*up_to_date(store, manifest), *(begun.layers if begun else ())}
            again = {"reports"} if not manifest.reports.startswith("extractive") else set()
            if not is_local(self.models.name_embedder):
                again |= NAME_VECTOR_LAYERS
            return self._build_again(store, manifest, layers, again, progress)

    def retry(self, *, progress: Progress = _silent, wait_s: float = 0.0) -> BuildReport:
        """Have the model read again the windows that failed or of whose replies parts were lost.

        Args:
            progress: told after each item of each stage.
            wait_s: how long to wait while another process is writing.

        Raises:
            BadInput: if no model is configured, or the graph was extracted without one.
            IndexMismatch: if the embedders in use are not those of the index.
            NothingExtracted, ModelUnavailable, BudgetReached: what was done is kept.
        """
        from polygraph.indexing.build_settings import with_writer
        from polygraph.indexing.exchange.importers.convert import LOST
        from polygraph.store.generations import begin_write, write_in_progress
        from polygraph.store.layers import REVISION_KEY, up_to_date

        with self._writing(wait_s) as store:
            manifest = self._built(store)
            if not manifest.reader.startswith("llm:"):
                raise BadInput(
                    f"nothing of the graph at {self.folder} was read by the chat model ({manifest.extractor}), so "
                    "there is nothing to ask again"
                )
            manifest = with_writer(self.folder, manifest, self.models)
            windows = [
                window
                for window, status, problem, _ in store.extractions.failures()
                if _is_lost(status, problem) and not problem.startswith(LOST)
            ]
            reports = [q.key for q in self.models.calls.quarantined() if q.stage == "report"]
            note = write_in_progress(store)
            if windows or reports:
                note = begin_write(store, layers={*up_to_date(store, manifest), "graph"})
                keys = self._reply_keys(store, manifest, windows)
                self.models.calls.forget([*sorted(keys), *reports])
                with store.transaction():
                    store.extractions.reset(windows)
                    if windows:
                        store.set_meta(REVISION_KEY, str(int(store.meta(REVISION_KEY) or "0") + 1))
            layers = {*up_to_date(store, manifest), *(note.layers if note else ())}
            return self._build_again(store, manifest, layers, {"reports"} if reports else (), progress)

    def keep_apart(self, a: str, b: str) -> None:
        """Decide that two names are two entities; the next `add` follows it, also against what it merged before."""
        self._decide("apart", a, b)

    def keep_together(self, a: str, b: str) -> None:
        """Decide that two names are one entity; the next `add` follows it."""
        self._decide("together", a, b)

    # --- exchange -----------------------------------------------------------------------------------

    def export(self, folder: str | Path, format: str = "jsonl") -> dict[str, int]:
        """Write the index to a folder; two equal indexes give equal bytes as ``jsonl``.

        Args:
            folder: made if it is not there, replaced if it holds an earlier export.
            format: ``jsonl``, which `import_` reads, or ``graphml``, ``parquet``, ``neo4j``.

        Returns:
            Records by file name.

        Raises:
            BadInput: if the folder holds something else, or the format is not known.
        """
        from polygraph.indexing.exchange import export
        from polygraph.store.database import SqliteStore

        store = SqliteStore(self.folder, mode="read")
        try:
            return export(store, Path(folder), format)
        finally:
            store.close()

    def import_(
        self,
        folder: str | Path,
        *,
        format: str | None = None,
        progress: Progress = _silent,
        wait_s: float = 0.0,
    ) -> BuildReport:
        """Make this index from an export of ours, or from a graph that another program made; all of it or nothing.

        Of an export, written as ``jsonl``, views and derived layers are rebuilt from the rows, as far as the
        embedders in use are those of the export. Of another program's graph, entities and relations become
        extraction rows, and every layer is built. Texts are embedded; no chat model is called.

        Args:
            folder: of the export or graph, or a file of it.
            format: one of `exchange.recognise.IMPORTS`; default: told by what the folder holds.
            progress: told after each item of each stage.
            wait_s: how long to wait while another process is writing.

        Raises:
            BadInput: if there is an index already, or something of the folder is not as it must be.
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
            self._forget_snapshot()

    # --- questions ----------------------------------------------------------------------------------

    def ask(
        self,
        question: str,
        method: str | Method | None = None,
        *,
        where: Mapping[str, str] | None = None,
        max_tokens: int | None = None,
        history: Sequence[ChatTurn] = (),
        on_text: Callable[[str], None] | None = None,
    ) -> Answer:
        """Answer a question with citations, or refuse.

        Args:
            question: any text.
            method: name out of `polygraph methods` (default: the setting `method`), or a method of your own.
            where: metadata fields and the values that documents must have; ``*`` in a value matches anything.
            max_tokens: budget of the context; default: the method's own.
            history: earlier questions and answers; the question is first made to stand on its own.
            on_text: given pieces of the answer as they come.

        Raises:
            UnknownMethod, MissingLayer, IndexMismatch, BadInput: each says how to mend it.
        """
        return self._answer(question, method, where, max_tokens, history, on_text=on_text)

    def stream(
        self,
        question: str,
        method: str | Method | None = None,
        *,
        where: Mapping[str, str] | None = None,
        max_tokens: int | None = None,
        history: Sequence[ChatTurn] = (),
    ) -> Iterator[Event]:
        """Answer as events: the retrieval, pieces of text, at last the whole answer. Arguments as for `ask`."""
        events: queue.Queue[Event | BaseException] = queue.Queue()

        def work() -> None:
            try:
                found = self._answer(
                    question,
                    method,
                    where,
                    max_tokens,
                    history,
                    on_retrieval=lambda retrieval: events.put(Event(kind="retrieval", retrieval=retrieval)),
                    on_text=lambda piece: events.put(Event(kind="text", text=piece)),
                )
                events.put(Event(kind="answer", answer=found))
            except BaseException as error:
                events.put(error)

        worker = threading.Thread(target=work, daemon=True)
        worker.start()
        while True:
            event = events.get()
            if isinstance(event, BaseException):
                raise event
            yield event
            if event.kind == "answer":
                return

    def retrieve(
        self,
        question: str,
        method: str | Method | None = None,
        *,
        where: Mapping[str, str] | None = None,
        max_tokens: int | None = None,
    ) -> Retrieval:
        """Find and pack the evidence for a question, without answering it."""
        from polygraph.retrieve import method as find_method
        from polygraph.retrieve.base import Method, with_budget

        if not question.strip():
            raise BadInput(
                'the question is empty. Ask something, as in: polygraph ask "Who built the harbour?"'
            )
        chosen = find_method(method or self.settings.method) if not isinstance(method, Method) else method
        if max_tokens is not None and max_tokens < 1:
            raise BadInput(f"--max-tokens {max_tokens} leaves no room for evidence. Give at least 100")
        snapshot = self.snapshot(where)
        name = "" if isinstance(method, Method) else method or self.settings.method
        calls = self.models.calls
        with calls.round(), calls.meter() as meter, calls.serving(name):
            found = with_budget(chosen, max_tokens)(question, snapshot, self.models)
        return replace(found, method=name or found.method, usage=found.usage + meter.usage)

    def compare(
        self,
        question: str,
        methods: Sequence[str],
        *,
        where: Mapping[str, str] | None = None,
        max_tokens: int | None = None,
    ) -> list[Answer]:
        """Answer one question with several methods, in the order given; what they have in common is done once.

        Work that a method finds done counts as cached in its usage, so the first pays for it.
        """
        from polygraph.models.thread_pool import in_turn
        from polygraph.retrieve import method as find_method

        for name in methods:
            find_method(name)
        with self.models.calls.round(), self.models.calls.sharing():
            return in_turn(lambda name: self.ask(question, name, where=where, max_tokens=max_tokens), methods)

    # --- measuring ----------------------------------------------------------------------------------

    def experiment(self, folder: str | Path, *, progress: Progress = _silent) -> Experiment:
        """Open or begin a study of methods on this index: questions, answers, judgements, report.

        Args:
            folder: of the study; made if it is not there.
            progress: told after each item of each step.

        Raises:
            BadInput: if the folder holds something else.
        """
        from polygraph.evaluate.runs.experiment import Experiment
        from polygraph.evaluate.runs.study_folder import Study

        return Experiment(
            study=Study(Path(folder)),
            snapshot=self.snapshot,
            models=self.models,
            ask=self.ask,
            told=progress,
        )

    def evaluate_retrieval(
        self,
        questions: str | Path | Sequence[Question],
        methods: Sequence[str] | Mapping[str, Method],
        *,
        where: Mapping[str, str] | None = None,
        max_tokens: int | None = None,
        ks: Sequence[int] | None = None,
        metric: str = "",
        evidence: str = "evidence",
        limit: int | None = None,
        seed: int = 0,
        output: str | Path | None = None,
        progress: Progress = _silent,
    ) -> RetrievalReport:
        """Measure what methods find for questions whose evidence is known; nothing is answered.

        Args:
            questions: a file of JSON lines, or questions.
            methods: names out of `polygraph methods`, or methods of your own by name.
            where: as for `ask`.
            max_tokens: as for `ask`.
            ks: depths of recall@k and the like; default: those of `evaluate.metrics.retrieval.KS`.
            metric: by which methods are compared; default: recall at 5 of whatever gold there is.
            evidence: field of the file that holds the gold document ids.
            limit: ask a seeded sample of so many questions.
            seed: of the sample, the bootstrap and the tests.
            output: file of single results, from which a later run goes on.
            progress: told after each question.

        Raises:
            UnknownMethod, MissingLayer, IndexMismatch, BadInput: each says how to mend it.
            BudgetReached: what is done is in `output`, and the same call goes on.
        """
        from polygraph.evaluate.metrics.retrieval import KS
        from polygraph.evaluate.questions.file import read_questions
        from polygraph.evaluate.runs.retrieval import Options, evaluate_retrieval
        from polygraph.retrieve import method as find_method

        listed = (
            read_questions(questions, evidence=evidence) if isinstance(questions, str | Path) else questions
        )
        if ks is None:
            ks = KS
        if not ks or min(ks) < 1:
            raise BadInput(f"--k {','.join(map(str, ks))} is not a list of depths, such as 1,5,10")
        chosen = (
            dict(methods) if isinstance(methods, Mapping) else {name: find_method(name) for name in methods}
        )
        options = Options(
            ks=tuple(sorted(set(ks))),
            metric=metric,
            limit=limit,
            seed=seed,
            output=Path(output) if output is not None else None,
            scope={"where": dict(sorted(where.items())) if where else None, "max_tokens": max_tokens},
        )
        with self.models.calls.round():
            return evaluate_retrieval(
                listed,
                chosen,
                lambda text, name: self.retrieve(text, chosen[name], where=where, max_tokens=max_tokens),
                self.snapshot(where),
                self.models,
                options,
                progress,
            )

    # --- looking ------------------------------------------------------------------------------------

    def snapshot(self, where: Mapping[str, str] | None = None) -> Snapshot:
        """The finished layers, for methods of your own; the same state until the index changes."""
        from polygraph.store.generations import finished_stamp
        from polygraph.store.snapshot import Snapshot

        # Taken before the state is, so that a change in between is noticed the next time.
        now = finished_stamp(self.folder)
        if self._snapshot is None or now != self._stamp:
            # The former is not closed: another thread may still be at it.
            self._snapshot, self._stamp = Snapshot(self.folder), now
        return self._snapshot.where(where) if where else self._snapshot

    def status(self) -> dict[str, Any]:
        """Counts, layers, notes, failures and the ledger, as plain values."""
        from polygraph.indexing.estimate.reconcile import load_estimate
        from polygraph.indexing.status import count_records
        from polygraph.store.database import SqliteStore
        from polygraph.store.layers import DEPENDENCIES, up_to_date

        store = SqliteStore(self.folder, mode="read")
        try:
            manifest = store.manifest()
            fresh = up_to_date(store, manifest)
            done = store.layers()
            return {
                "index": str(self.folder),
                "documents": store.count("documents"),
                "counts": count_records(store),
                "layers": {
                    name: {
                        "state": "ready" if name in fresh else "stale" if name in done else "missing",
                        "rows": done[name][1] if name in done else 0,
                        "seconds": round(done[name][2], 3) if name in done else 0.0,
                    }
                    for name in DEPENDENCIES
                },
                "embedder": manifest.embedder if manifest else "",
                "name_embedder": manifest.name_embedder if manifest else "",
                "extractor": manifest.extractor if manifest else "",
                "notes": self._notes(store),
                "unread": [{"path": p, "reason": r} for p, r in store.documents.unread()],
                "failures": [
                    {"window": w, "status": s, "problem": p, "raw": raw} for w, s, p, raw in store.extractions.failures()
                ],
                "batches": [asdict(file) for file in self.models.calls.waiting()],
                "ledger": [row.as_dict() for row in self.models.calls.ledger()],
                "estimate": load_estimate(self.folder, self.models.calls.ledger()),
            }
        finally:
            store.close()

    def _notes(self, store: Store) -> list[str]:
        from polygraph.store.generations import write_in_progress

        if write_in_progress(store) is None:
            return store.notes()
        return [
            "the last change is not finished, and questions are answered from the state before it. Go on with the "
            f"same command, or with: polygraph index --index {self.folder}",
            *store.notes(),
        ]

    # --- parts --------------------------------------------------------------------------------------

    def _layers_for(self, methods: Sequence[str]) -> list[str]:
        from polygraph.retrieve import method as find_method
        from polygraph.store.layers import DEPENDENCIES

        if not methods:
            return list(DEPENDENCIES)
        return sorted({layer for name in methods for layer in find_method(name).needs})

    def _answer(
        self,
        question: str,
        method: str | Method | None,
        where: Mapping[str, str] | None,
        max_tokens: int | None,
        history: Sequence[ChatTurn],
        *,
        on_retrieval: Callable[[Retrieval], None] | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> Answer:
        """Make a question stand on its own, retrieve, and answer."""
        from polygraph.retrieve import answer as answering

        with self.models.calls.round():
            asked, usage = self._stand_alone(question, history)
            retrieval = self.retrieve(asked, method, where=where, max_tokens=max_tokens)
            if on_retrieval is not None:
                on_retrieval(retrieval)
            found = answering.answer(
                asked, retrieval, self.snapshot(where), self.models, history=history, on_text=on_text
            )
        return replace(found, question=question, usage=found.usage + usage)

    def _stand_alone(self, question: str, history: Sequence[ChatTurn]) -> tuple[str, Usage]:
        """Make a question of a conversation stand on its own."""
        from polygraph.tasks.answer import condense_question
        from polygraph.text.words import question_names

        if not history:
            return question, Usage()
        if self.models.chat is not None:
            with self.models.calls.meter() as meter:
                asked = condense_question(question, history, self.models, self.models.chat)
            return asked, meter.usage
        if question_names(question):
            return question, Usage()
        # Without a model: a question that names nothing is about what the last one named.
        before = question_names(history[-1][0])
        return (f"{question} ({', '.join(before)})" if before else question), Usage()

    def _decide(self, kind: Literal["apart", "together"], a: str, b: str) -> None:
        from polygraph.store.generations import begin_write

        with self._writing() as store:
            begin_write(store)
            with store.transaction():
                store.extractions.decide(kind, a, b)

    def _forget_snapshot(self) -> None:
        if self._snapshot is not None:
            self._snapshot.close()
            self._snapshot = None

    # --- writing ------------------------------------------------------------------------------------

    @contextmanager
    def _writing(self, wait_s: float = 0.0) -> Iterator[Store]:
        from polygraph.store.database import SqliteStore
        from polygraph.store.lock import writing

        with writing(self.folder, wait_s=wait_s):
            # A snapshot of ours would keep the former state in the log of the tables.
            self._forget_snapshot()
            store = SqliteStore(self.folder, mode="write", durability=self.settings.durability)
            try:
                yield store
            finally:
                store.close()
                self._forget_snapshot()

    def _built(self, store: Store) -> Manifest:
        """The manifest of an index that is there, if the embedders in use are its own."""
        from polygraph.indexing.build_settings import with_same_embedders

        return with_same_embedders(self.folder, store.manifest(), self.models)

    def _build_again(
        self,
        store: Store,
        manifest: Manifest,
        layers: Collection[str],
        again: Collection[str],
        progress: Progress,
    ) -> BuildReport:
        from polygraph.indexing.build import build
        from polygraph.indexing.progress import BuildReport
        from polygraph.store.generations import begin_write

        report = BuildReport()
        build(
            store,
            manifest,
            self.models,
            sorted(layers),
            report,
            progress,
            processes=self.settings.processes,
            rebuild=set(again) & set(layers),
            on_change=partial(begin_write, store),
        )
        self._finish(store, manifest, report)
        return report

    def _build_silently(
        self, store: Store, manifest: Manifest, note: WriteInProgress, report: BuildReport, progress: Progress
    ) -> set[bytes]:
        """Bring layers in step without a call of a chat model or an endpoint, and tell which vectors were looked up."""
        from polygraph.indexing.build import build

        with self.models.calls.replay() as found:
            build(
                store,
                manifest,
                replace(self.models, chat=None),
                note.layers,
                report,
                progress,
                processes=self.settings.processes,
                # Every text that is still in use must be looked up once, so that the others are known.
                rebuild=note.layers if note.forget else (),
            )
        return found.vectors

    def _finish(
        self, store: Store, manifest: Manifest, report: BuildReport, vectors: set[bytes] | None = None
    ) -> None:
        """Show the new state to readers, after all traces are gone that must go.

        Args:
            store: whose layers are in step.
            manifest: that they were built with.
            report: is told whether all traces are gone.
            vectors: those in use, if every text was looked up.
        """
        from polygraph.indexing.cleanup import delete_old_files
        from polygraph.indexing.progress import BuildReport
        from polygraph.store.generations import finish_write, write_in_progress
        from polygraph.store.layers import up_to_date

        note = write_in_progress(store)
        if note is None or not note.forget:
            if note is not None or report.built:
                finish_write(store)
            return
        if vectors is None:
            # A removal that was stopped is finished by another command.
            again = replace(note, layers=tuple(up_to_date(store, manifest)))
            vectors = self._build_silently(store, manifest, again, BuildReport(), _silent)
        keys = self._reply_keys(store, manifest, store.extractions.extracted_windows())
        gone = self.models.calls.keep_only(keys, vectors)
        finish_write(store)
        delete_old_files(store, manifest, keep=0)
        scrubbed = store.compact()
        report.forgotten = scrubbed and gone
        if not report.forgotten:
            report.notes.append(
                "another process is still reading the former state, so the files with the ending -wal may hold "
                f"removed text. When it has ended, run: polygraph remove --forget --index {self.folder}"
            )

    def _reply_keys(self, store: Store, manifest: Manifest, windows: Sequence[str]) -> set[str]:
        """Keys of the stored replies that windows were extracted from."""
        from polygraph.extract.llm import extractor as llm
        from polygraph.models.replay import Named

        if not manifest.reader.startswith("llm:"):
            return set()
        settings = manifest.extractor_settings
        reader = Named(manifest.reader.removeprefix("llm:").rpartition(":")[0])
        with self.models.calls.replay() as found:
            for at in range(0, len(windows), _WINDOWS):
                llm.extract(
                    store.extractions.windows(windows[at : at + _WINDOWS]),
                    replace(self.models, chat=reader),
                    entity_types=tuple(settings["entity_types"]),
                    gleaning=settings["gleaning"],
                    max_gleanings=int(settings["max_gleanings"]),
                )
        return found.replies


def _method_plan(name: str) -> MethodPlan:
    """A method as plain data."""
    from polygraph.indexing.estimate.questions import MethodPlan
    from polygraph.retrieve import method as find_method

    chosen = find_method(name)
    return MethodPlan(
        name=name,
        needs=chosen.needs,
        calls=chosen.calls,
        max_tokens=chosen.max_tokens,
        parameters={f.name: getattr(chosen, f.name) for f in fields(chosen)},  # type: ignore[arg-type]
    )


def _is_lost(status: str, problem: str) -> bool:
    """Whether something of a window is missing; one that was put right in the repair round is whole."""
    put_right = problem.startswith("the first reply was not usable") and "; " not in problem
    return status == "failed" or not put_right


def _writable(folder: Path) -> bool:
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    return os.access(place, os.W_OK)
