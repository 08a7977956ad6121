"""Put questions to methods and measure what they find; no answer is written and no judge is asked."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from polygraph.errors import BadInput, BudgetReached, MissingLayer, WorkFailed
from polygraph.evaluate.metrics.relevance import Gold, found_in, gold_of
from polygraph.evaluate.metrics.retrieval import KS, UNITS, check_metric, depth_of, unit_of
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.reports.retrieval_report import Counts, RetrievalReport, report
from polygraph.evaluate.runs.provenance import Grounds, code_of, short
from polygraph.evaluate.runs.result_file import Measured, MeasuredFile, changes
from polygraph.models import Models
from polygraph.models.protocols import Embedder
from polygraph.models.thread_pool import in_turn
from polygraph.records import Json, Retrieval, Usage
from polygraph.retrieve.base import Method, require
from polygraph.store.layers import CHUNK_VECTOR_LAYERS, NAME_VECTOR_LAYERS, with_dependencies
from polygraph.store.snapshot import Snapshot

_KEPT_RANKS = 20

Retrieve = Callable[[str, str], Retrieval]
"""From question and name of a method to what it finds, with all options applied."""
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a run of `evaluate_retrieval` is asked to do."""

    ks: tuple[int, ...] = KS
    """Depths of the metrics."""
    metric: str = ""
    """The metric by which methods are compared; empty: chosen by the gold that there is."""
    limit: int | None = None
    """Ask a seeded sample of so many questions; of those with gold for `metric`, if one is named."""
    seed: int = 0
    """Of the sample, of the bootstrap and of the tests."""
    output: Path | None = None
    """File of single results, from which a later run goes on."""
    scope: Mapping[str, Json] | None = None
    """What else the results depend on, such as filter and budget."""


def evaluate_retrieval(
    questions: Sequence[Question],
    methods: Mapping[str, Method],
    retrieve: Retrieve,
    index: Snapshot,
    models: Models,
    options: Options,
    progress: Progress,
) -> RetrievalReport:
    """Measure every method on every question that has gold evidence.

    Questions without gold and null questions are not asked, since no ranking is right or wrong for them; they are
    counted in the report. A question that fails in one method is counted there and asked again by the next run.

    Args:
        questions: with ids that differ.
        methods: by the names under which they are reported.
        retrieve: how a question is put to a method.
        index: that the methods read.
        models: that they use.
        options: see `Options`.
        progress: told after each question.

    Raises:
        MissingLayer: naming the command that builds what is missing, for all methods together.
        BadInput: if no question can be measured, or the gold documents are not those of the index.
        BudgetReached: what is done is in the output file, and the same command goes on.
    """
    require_all(index, methods, models)
    gold = {q.id: gold_of(q, index) for q in questions}
    counts = _count(questions, gold, index)
    asked = _asked([q for q in questions if gold[q.id].measurable], gold, options)
    if options.metric:
        # Before anything is asked and paid for.
        check_metric(options.metric, [u for u in UNITS if any(gold[q.id].has(u) for q in asked)], options.ks)
    counts = replace(counts, asked=len(asked), types=dict(Counter(q.type for q in asked)))
    run = Measuring(methods, retrieve, index, models, gold, options)
    with kept_in(options.output) as file:
        measured = run.all(asked, progress, file)
        stale, changed = changes(file.kept if file is not None else {}, measured)
        counts = replace(counts, stale=stale, changed=changed)
    timed = {name: is_timed(method, models) for name, method in methods.items()}
    return report(asked, timed, measured, counts, options.ks, options.metric, options.seed)


@contextmanager
def kept_in(output: Path | None) -> Iterator[MeasuredFile | None]:
    """The file of single results, if there is to be one."""
    if output is None:
        yield None
        return
    with MeasuredFile(output) as file:
        yield file


class Measuring:
    """The questions of one index on their way through the methods."""

    def __init__(
        self,
        methods: Mapping[str, Method],
        retrieve: Retrieve,
        index: Snapshot,
        models: Models,
        gold: Mapping[str, Gold],
        options: Options,
    ) -> None:
        self._methods = methods
        self._retrieve = retrieve
        self._index = index
        self._models = models
        self._gold = gold
        self._depth = depth_of(options.ks)
        self._grounds = {
            name: _grounds(name, m, index, models, options, self._depth) for name, m in methods.items()
        }
        self._lock = threading.Lock()

    def all(
        self, questions: Sequence[Question], progress: Progress, file: MeasuredFile | None
    ) -> list[Measured]:
        """Measure every question with every method, as far as the file does not have it."""
        grounds = {
            (q.id, name): replace(common, question=short(_what_is_asked(q)))
            for q in questions
            for name, common in self._grounds.items()
        }
        keys = {each: g.key for each, g in grounds.items()}
        kept = file.kept if file is not None else {}
        done = {key: kept[key] for key in keys.values() if key in kept}
        total, n_done = len(keys), sum(key in done for key in keys.values())
        progress("questions", n_done, total)

        def ask(question: Question, names: Sequence[str]) -> None:
            pending = [name for name in names if keys[question.id, name] not in done]
            embedded = self._embed(question.question, pending)

            def one(name: str) -> None:
                nonlocal n_done
                key = keys[question.id, name]
                measured = replace(
                    self._measure(question, name, embedded),
                    key=key,
                    rests_on=grounds[question.id, name].as_dict(),
                )
                with self._lock:
                    done[key] = measured
                    n_done += 1
                    if file is not None:
                        file.add(measured)

            in_turn(one, pending)

        def waiting(names: Sequence[str]) -> list[Question]:
            return [q for q in questions if any(keys[q.id, name] not in done for name in names)]

        # Methods that call no model go one question after the other: each has the machine to itself.
        quick = [n for n, m in self._methods.items() if is_timed(m, self._models)]
        slow = [n for n in self._methods if n not in quick]
        if pending := waiting(quick):
            self._warm_up(pending[0], quick)
        for question in pending:
            ask(question, quick)
            progress("questions", n_done, total)
        self._models.calls.map(
            lambda question: ask(question, slow),
            waiting(slow),
            on_done=lambda _: progress("questions", n_done, total),
        )
        # A result of the file bears the id that the question had then.
        return [
            replace(done[keys[q.id, name]], question=q.id, method=name)
            for q in questions
            for name in self._methods
        ]

    def _warm_up(self, question: Question, names: Sequence[str]) -> None:
        """Load models and layers before anything is timed; what fails here is counted where it is measured."""
        for name in names:
            try:
                self._retrieve(f"{question.question} ?", name)
            except BudgetReached:
                raise
            except WorkFailed:
                continue

    def _embed(self, text: str, names: Sequence[str]) -> dict[str, tuple[float, float, Usage]]:
        """Embed a question beforehand, so that not only the first method that needs its vector pays for it.

        Returns:
            Seconds, those of the processor, and cost by the name of the embedder. One that is instant keeps no vectors
            and is left out: every method embeds by itself.
        """
        needed = frozenset[str]().union(*(self._methods[name].needs for name in names))
        found: dict[str, tuple[float, float, Usage]] = {}
        for embedder, layers in self._embedders():
            if needed & layers and embedder.name not in found and not getattr(embedder, "instant", False):
                worked = time.process_time()
                with self._models.calls.meter() as meter:
                    self._models.calls.embed(embedder, [text], "query", stage="question")
                worked = time.process_time() - worked
                found[embedder.name] = (meter.usage.seconds, worked, replace(meter.usage, seconds=0.0))
        return found

    def _embedders(self) -> tuple[tuple[Embedder, frozenset[str]], ...]:
        return (self._models.embedder, CHUNK_VECTOR_LAYERS), (self._models.name_embedder, NAME_VECTOR_LAYERS)

    def _measure(
        self, question: Question, name: str, embedded: Mapping[str, tuple[float, float, Usage]]
    ) -> Measured:
        started, worked = time.perf_counter(), time.process_time()
        try:
            found = self._retrieve(question.question, name)
        except BudgetReached:
            raise
        except WorkFailed as problem:
            return Measured(question=question.id, method=name, error=str(problem))
        seconds, worked = time.perf_counter() - started, time.process_time() - worked
        usage = found.usage
        alone = is_timed(self._methods[name], self._models)
        used = {e.name for e, layers in self._embedders() if self._methods[name].needs & layers}
        for embedder in sorted(used & embedded.keys()):
            seconds += embedded[embedder][0]
            worked += embedded[embedder][1]
            usage = usage + embedded[embedder][2]
        return Measured(
            question=question.id,
            method=name,
            found=found_in(self._gold[question.id], found, self._index, self._depth),
            ranking=found.ranking[:_KEPT_RANKS],
            n_ranked=len(found.ranking),
            n_evidence=len(found.evidence),
            context_tokens=found.n_tokens,
            ms=round(1000 * seconds, 3),
            # The clock of the process also runs for what other threads do.
            cpu_ms=round(1000 * worked, 3) if alone else None,
            usage=usage,
            empty_because=found.empty_because,
        )


def is_timed(method: Method, models: Models) -> bool:
    """Whether a method's questions are run one after the other, so that its times can be compared.

    So are methods whose only call is the answer's, and all where there is no chat model.
    """
    return models.chat is None or method.calls == "1"


def require_all(index: Snapshot, methods: Mapping[str, Method], models: Models) -> None:
    """Find out what is missing before anything is asked, for all methods at once."""
    if not methods:
        raise BadInput("-m names no method. List them with: polygraph methods")
    missing: dict[str, Collection[str]] = {}
    for name, method in methods.items():
        try:
            require(index, name, method.needs, models)
        except MissingLayer as problem:
            missing[name] = problem.missing
    if missing:
        raise MissingLayer(
            ",".join(missing), {i for some in missing.values() for i in some}, str(index.folder)
        )


def _count(questions: Sequence[Question], gold: Mapping[str, Gold], index: Snapshot) -> Counts:
    """How many questions there are of which kind, and whether their gold is of this index."""
    if not questions:
        raise BadInput("there are no questions to measure. Give a list or a file that holds some")
    if len(gold) < len(questions):
        twice = next(i for i, n in Counter(q.id for q in questions).items() if n > 1)
        raise BadInput(f"two questions have the id {twice!r}. Give each its own")
    if not any(g.measurable for g in gold.values()):
        raise BadInput(
            f"none of the {len(questions)} questions has gold evidence (`evidence`: document ids) or an answer "
            "that can be looked for in passages, so retrieval cannot be measured on them. Add one of these, or compare "
            "answers instead: polygraph eval questions --questions FILE --output STUDY"
        )
    known = index.store.document_hashes().keys()
    named = dict.fromkeys(d for g in gold.values() for need in g.documents for d in sorted(need))
    gone = [d for d in named if d not in known]
    if named and len(gone) == len(named):
        example = min(known, default="none")
        raise BadInput(
            f"none of the {len(named)} gold documents is in the index at {index.folder}: the questions name "
            f"{gone[0]!r}, and the index has documents like {example!r}. Evidence must be document ids, as `polygraph "
            "status --documents` lists them; a corpus file keeps the ids of its lines if the file itself is indexed, "
            "not its folder"
        )
    allowed = index.documents_allowed
    outside = [d for d in named if allowed is not None and d in known and d not in allowed]
    return Counts(
        total=len(questions),
        null=sum(q.null for q in questions),
        incomplete=sum(not q.evidence_complete for q in questions),
        without_gold=sum(not gold[q.id].measurable and not q.null for q in questions),
        gold_documents=len(named),
        gone=tuple(gone),
        outside=tuple(outside),
        unplaced=sum(g.unplaced for g in gold.values()),
    )


def sample(questions: list[Question], options: Options) -> list[Question]:
    """A seeded sample in the order of the file."""
    if options.limit is None or options.limit >= len(questions):
        return questions
    if options.limit < 1:
        raise BadInput(f"--limit {options.limit} leaves no question. Give at least 1")
    rng = np.random.default_rng(options.seed)
    taken = rng.permutation(len(questions))[: options.limit]
    return [questions[i] for i in sorted(taken.tolist())]


def _asked(questions: list[Question], gold: Mapping[str, Gold], options: Options) -> list[Question]:
    """All questions, or a sample: of those with gold for the metric that is named, so that others do not use it up."""
    if options.limit is None or not options.metric:
        return sample(questions, options)
    unit = unit_of(options.metric)
    return sample([q for q in questions if gold[q.id].has(unit)] or questions, options)


def _what_is_asked(question: Question) -> str:
    """Everything of a question that its result depends on."""
    return repr(replace(question, id="", type="", references=(), more={}))


def _grounds(
    name: str, method: Method, index: Snapshot, models: Models, options: Options, depth: int
) -> Grounds:
    """Everything else that a result depends on."""
    parameters = {f.name: getattr(method, f.name) for f in fields(method)}  # type: ignore[arg-type]
    return Grounds(
        question="",
        method=short(name, type(method).__qualname__, repr(parameters)),
        index=short(
            *(f"{layer}={index.versions.get(layer, '')}" for layer in with_dependencies(method.needs))
        ),
        models=short(
            models.chat.name if models.chat is not None else "",
            models.reranker.name if models.reranker is not None else "",
        ),
        options=short(repr(sorted((options.scope or {}).items(), key=lambda pair: pair[0])), str(depth)),
        code=code_of(method),
    )
