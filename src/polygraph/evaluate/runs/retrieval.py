"""Measurement of retrieval: methods are asked questions with gold evidence. No answer is written, no judge is asked."""

import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from polygraph.errors import (
    BadInput,
    BudgetReached,
    MissingLayer,
    PolygraphError,
    RequestsWaiting,
    UserError,
)
from polygraph.evaluate.metrics.relevance import ResolvedGold, rank_gold, resolve_gold
from polygraph.evaluate.metrics.retrieval import KS, UNITS, check_metric, metric_unit, search_depth
from polygraph.evaluate.questions.file import Question, sample_questions
from polygraph.evaluate.records import Provenance, QuestionResult
from polygraph.evaluate.reports.retrieval_report import QuestionCounts, RetrievalReport, summarise_retrieval
from polygraph.evaluate.runs.provenance import code_digest, parameters_text, part_digest
from polygraph.evaluate.runs.result_file import ResultFile, stale_results
from polygraph.evaluate.statistics.decide import MARGIN
from polygraph.indexing.progress import Progress
from polygraph.models import Models
from polygraph.models.protocols import Embedder
from polygraph.models.thread_pool import map_in_order
from polygraph.records import Json, Retrieval, Usage
from polygraph.retrieve.base import Method, require
from polygraph.store.layers import CHUNK_VECTOR_LAYERS, NAME_VECTOR_LAYERS, with_dependencies
from polygraph.store.snapshot import Snapshot

_KEPT_RANKS = 20

Retrieve: TypeAlias = Callable[[str, str], Retrieval]
"""Retrieves for a question with a method, given by name, with all options applied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalOptions:
    """Options of `evaluate_retrieval`."""

    ks: tuple[int, ...] = KS
    """Depths of the metrics."""
    metric: str = ""
    """The metric that methods are compared by; empty: `default_metric`."""
    margin: float = MARGIN
    """Differences of the metric within it are of no consequence."""
    limit: int | None = None
    """Number of questions to sample with the seed; if `metric` is given, of those with gold for it."""
    seed: int = 0
    """Seed of the sample and the tests."""
    output: Path | None = None
    """Results file, from which a later run resumes."""
    scope: Mapping[str, Json] | None = None
    """Anything else that the results depend on, such as filter and token budget."""


def evaluate_retrieval(
    questions: Sequence[Question],
    methods: Mapping[str, Method],
    retrieve: Retrieve,
    index: Snapshot,
    models: Models,
    options: RetrievalOptions,
    progress: Progress,
) -> RetrievalReport:
    """Measure every method on every question that has gold evidence.

    Questions without gold and null questions are not asked, since no ranking is right or wrong for them; the report
    counts them. A question that fails with one method, by whatever error, is counted as failed there, and the next run
    asks it again. An error that the user can fix ends the run.

    Args:
        questions: with distinct ids.
        methods: by the names under which they are reported.
        retrieve: asks a method.
        index: that the methods read.
        models: that the methods use.
        options: see `RetrievalOptions`.
        progress: called after each question.

    Raises:
        MissingLayer: naming the command that builds the missing layers of all methods.
        BadInput: if no question can be measured, or the gold documents are not in the index.
        BudgetReached: results so far are in the output file, from which the same command resumes.
    """
    require_layers(index, methods, models)
    gold = {q.id: resolve_gold(q, index) for q in questions}
    counts = _count_questions(questions, gold, index)
    asked = _sample_with_gold([q for q in questions if gold[q.id].measurable], gold, options)
    if options.metric:
        # Checked before any model is paid.
        check_metric(options.metric, [u for u in UNITS if any(gold[q.id].has(u) for q in asked)], options.ks)
    counts = replace(counts, asked=len(asked), types=dict(Counter(q.type for q in asked)))
    run = RetrievalRun(methods, retrieve, index, models, gold, options)
    with open_results(options.output) as file:
        results = run.measure(asked, progress, file)
        stale, changed = stale_results(file.results if file is not None else {}, results)
        counts = replace(counts, stale=stale, changed=changed)
    timed = {name: runs_alone(method, models) for name, method in methods.items()}
    return summarise_retrieval(
        asked, timed, results, counts, options.ks, options.metric, options.seed, options.margin
    )


def open_results(output: Path | None) -> AbstractContextManager[ResultFile | None]:
    """Open the results file, if there is to be one."""
    return nullcontext() if output is None else ResultFile(output)


class RetrievalRun:
    """Measures methods on the questions of one index."""

    def __init__(
        self,
        methods: Mapping[str, Method],
        retrieve: Retrieve,
        index: Snapshot,
        models: Models,
        gold: Mapping[str, ResolvedGold],
        options: RetrievalOptions,
    ) -> None:
        self._methods = methods
        self._retrieve = retrieve
        self._index = index
        self._models = models
        self._gold = gold
        self._depth = search_depth(options.ks)
        self._provenance = {
            name: _method_provenance(name, m, index, models, options, self._depth)
            for name, m in methods.items()
        }
        self._lock = threading.Lock()

    def measure(
        self, questions: Sequence[Question], progress: Progress, file: ResultFile | None
    ) -> list[QuestionResult]:
        """Measure every question with every method, except results that the file already has.

        Returns:
            By question, then method, in the orders given.
        """
        provenance = {
            (q.id, name): replace(common, question=part_digest(_question_text(q)))
            for q in questions
            for name, common in self._provenance.items()
        }
        keys = {each: p.key for each, p in provenance.items()}
        stored = file.results if file is not None else {}
        done = {key: stored[key] for key in keys.values() if key in stored}
        total, n_done = len(keys), sum(key in done for key in keys.values())
        progress("questions", n_done, total)

        def ask(question: Question, names: Sequence[str]) -> None:
            pending = [name for name in names if keys[question.id, name] not in done]
            embedded = self._embed(question.question, pending)

            def measure_with(name: str) -> None:
                nonlocal n_done
                result = self._measure_one(question, name, provenance[question.id, name], embedded)
                with self._lock:
                    done[keys[question.id, name]] = result
                    n_done += 1
                    if file is not None:
                        file.add(result)

            map_in_order(measure_with, pending)

        def waiting(names: Sequence[str]) -> list[Question]:
            return [q for q in questions if any(keys[q.id, name] not in done for name in names)]

        # Methods that call no model are timed, so their questions run one at a time.
        timed = [n for n, m in self._methods.items() if runs_alone(m, self._models)]
        others = [n for n in self._methods if n not in timed]
        if pending := waiting(timed):
            self._warm_up(pending[0], timed)
        for question in pending:
            ask(question, timed)
            progress("questions", n_done, total)
        self._models.calls.map(
            lambda question: ask(question, others),
            waiting(others),
            on_done=lambda _: progress("questions", n_done, total),
        )
        # A stored result has the id that its question had then.
        return [
            replace(done[keys[q.id, name]], question=q.id, method=name)
            for q in questions
            for name in self._methods
        ]

    def _warm_up(self, question: Question, names: Sequence[str]) -> None:
        """Load models and layers before anything is timed; failures are counted when the question is measured."""
        for name in names:
            try:
                self._retrieve(f"{question.question} ?", name)
            except (BudgetReached, RequestsWaiting, UserError):
                raise
            except Exception:  # noqa: S112 - the question is asked again, and its problem recorded
                continue

    def _embed(self, text: str, names: Sequence[str]) -> dict[str, tuple[float, float, Usage]]:
        """Embed a question in advance, so that its time is charged to every method that needs the vector.

        Returns:
            Seconds, processor seconds, and usage by the name of the embedder. An instant embedder stores no vectors and
            is left out: each method embeds the question itself.
        """
        needed = frozenset[str]().union(*(self._methods[name].needs for name in names))
        found: dict[str, tuple[float, float, Usage]] = {}
        for embedder, layers in self._embedders():
            if needed & layers and embedder.name not in found and not getattr(embedder, "instant", False):
                cpu_s = time.process_time()
                with self._models.calls.meter() as meter:
                    self._models.calls.embed(embedder, [text], "query", stage="question")
                cpu_s = time.process_time() - cpu_s
                found[embedder.name] = (meter.usage.seconds, cpu_s, replace(meter.usage, seconds=0.0))
        return found

    def _embedders(self) -> tuple[tuple[Embedder, frozenset[str]], ...]:
        return (self._models.embedder, CHUNK_VECTOR_LAYERS), (self._models.name_embedder, NAME_VECTOR_LAYERS)

    def _measure_one(
        self,
        question: Question,
        name: str,
        provenance: Provenance,
        embedded: Mapping[str, tuple[float, float, Usage]],
    ) -> QuestionResult:
        started, cpu_started = time.perf_counter(), time.process_time()
        try:
            found = self._retrieve(question.question, name)
        except (BudgetReached, RequestsWaiting, UserError):
            raise
        except Exception as problem:  # a method of the user's own may raise anything
            return QuestionResult(
                question=question.id, method=name, rests_on=provenance, error=_problem_text(problem)
            )
        seconds, cpu_s = time.perf_counter() - started, time.process_time() - cpu_started
        usage = found.usage
        alone = runs_alone(self._methods[name], self._models)
        used = {e.name for e, layers in self._embedders() if self._methods[name].needs & layers}
        for embedder in sorted(used & embedded.keys()):
            seconds += embedded[embedder][0]
            cpu_s += embedded[embedder][1]
            usage = usage + embedded[embedder][2]
        return QuestionResult(
            question=question.id,
            method=name,
            rests_on=provenance,
            ranks=rank_gold(self._gold[question.id], found, self._index, self._depth),
            ranking=found.ranking[:_KEPT_RANKS],
            n_ranked=len(found.ranking),
            n_evidence=len(found.evidence),
            context_tokens=found.n_tokens,
            ms=round(1000 * seconds, 3),
            # The process clock also counts the work of other threads.
            cpu_ms=round(1000 * cpu_s, 3) if alone else None,
            usage=usage,
            empty_because=found.empty_because,
        )


def _problem_text(problem: Exception) -> str:
    """Return what went wrong; for an error that is not Polygraph's own with its type and the line that raised it."""
    if isinstance(problem, PolygraphError):
        return str(problem)
    line = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{type(problem).__name__}: {problem}, raised in line {line.lineno} of {Path(line.filename).name}"


def runs_alone(method: Method, models: Models) -> bool:
    """Return whether the questions of a method run one at a time, so that its times can be compared.

    They do for methods whose only call is the answer's, and for all methods if there is no chat model.
    """
    return models.chat is None or method.calls == "1"


def require_layers(index: Snapshot, methods: Mapping[str, Method], models: Models) -> None:
    """Check for all methods at once that the index has the layers they need.

    Raises:
        BadInput: if there are no methods.
        MissingLayer: naming the missing layers of all methods.
    """
    if not methods:
        raise BadInput("-m names no method. List them with: polygraph methods")
    missing: dict[str, Collection[str]] = {}
    for name, method in methods.items():
        try:
            require(index, name, method.needs, models)
        except MissingLayer as problem:
            missing[name] = problem.missing
    if missing:
        raise MissingLayer(",".join(missing), {i for some in missing.values() for i in some}, index.place)


def check_distinct_ids(questions: Sequence[Question]) -> None:
    """Check that no two questions have the same id.

    Raises:
        BadInput: naming an id that occurs twice.
    """
    twice = next((i for i, n in Counter(q.id for q in questions).items() if n > 1), "")
    if twice:
        raise BadInput(f"two questions have the id {twice!r}. Give each its own")


def limited_sample(questions: list[Question], options: RetrievalOptions) -> list[Question]:
    """Return a seeded sample of the questions within the limit, in their order; all without a limit.

    Raises:
        BadInput: if the limit is below 1.
    """
    if options.limit is None:
        return questions
    if questions and options.limit < 1:
        raise BadInput(f"--limit {options.limit} leaves no question. Give at least 1")
    return sample_questions(questions, options.limit, options.seed)


def _sample_with_gold(
    questions: list[Question], gold: Mapping[str, ResolvedGold], options: RetrievalOptions
) -> list[Question]:
    """Sample among the questions with gold for the given metric, so that the limit is not spent on others."""
    if options.limit is None or not options.metric:
        return limited_sample(questions, options)
    unit = metric_unit(options.metric)
    return limited_sample([q for q in questions if gold[q.id].has(unit)] or questions, options)


def _count_questions(
    questions: Sequence[Question], gold: Mapping[str, ResolvedGold], index: Snapshot
) -> QuestionCounts:
    """Count the questions by kind, and check that their gold belongs to this index."""
    if not questions:
        raise BadInput("there are no questions to measure. Give a list or a file with at least one")
    check_distinct_ids(questions)
    if not any(g.measurable for g in gold.values()):
        raise BadInput(
            "no question has gold evidence (`evidence`: document ids) or an answer that "
            "can be searched for in passages, so retrieval cannot be measured. Add one of these, or compare answers "
            "instead: polygraph eval questions --questions FILE --output STUDY"
        )
    known = index.store.documents.hashes().keys()
    documents = dict.fromkeys(d for g in gold.values() for ids in g.documents for d in sorted(ids))
    missing = [d for d in documents if d not in known]
    if documents and len(missing) == len(documents):
        example = min(known, default="none")
        raise BadInput(
            f"no gold document of the questions is in the index at {index.place}: the questions name "
            f"{missing[0]!r}, and the index has documents like {example!r}. Evidence must be document ids, as listed "
            "by `polygraph status --documents`; to keep the ids of a corpus file, index the file itself, not its folder"
        )
    allowed = index.documents_allowed
    outside = [d for d in documents if allowed is not None and d in known and d not in allowed]
    return QuestionCounts(
        total=len(questions),
        null=sum(q.null for q in questions),
        incomplete=sum(not q.evidence_complete for q in questions),
        without_gold=sum(not gold[q.id].measurable and not q.null for q in questions),
        gold_documents=len(documents),
        missing_documents=tuple(missing),
        filtered_documents=tuple(outside),
        missing_passages=sum(g.n_missing_passages for g in gold.values()),
    )


def _question_text(question: Question) -> str:
    """Return everything about a question that its result depends on."""
    return repr(replace(question, id="", type="", references=(), more={}))


def _method_provenance(
    name: str, method: Method, index: Snapshot, models: Models, options: RetrievalOptions, depth: int
) -> Provenance:
    """Return everything but the question that a result of a method depends on."""
    return Provenance(
        question="",
        method=part_digest(name, type(method).__qualname__, parameters_text(method)),
        index=part_digest(
            *(f"{layer}={index.versions.get(layer, '')}" for layer in with_dependencies(method.needs))
        ),
        models=part_digest(
            models.chat.name if models.chat is not None else "",
            models.reranker.name if models.reranker is not None else "",
        ),
        options=part_digest(
            repr(sorted((options.scope or {}).items(), key=lambda pair: pair[0])), str(depth)
        ),
        code=code_digest(method),
    )
