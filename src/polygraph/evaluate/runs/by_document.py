"""One index for each document, and every question asked of its own: NQ, NovelQA, SQuALITY, QMSum.

"RAG vs. GraphRAG" (arXiv:2502.11371, section 3) has these as single-document tasks. A filter over one large index is
not the same: statistics of words, merged entities, communities and their reports would be those of all documents.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from polygraph.errors import BadInput
from polygraph.evaluate.metrics.relevance import Gold, gold_of
from polygraph.evaluate.metrics.retrieval import check_metric
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.reports.retrieval_report import Counts, RetrievalReport, report
from polygraph.evaluate.runs.result_file import Measured, changes
from polygraph.evaluate.runs.retrieval import (
    Measuring,
    Options,
    Progress,
    Retrieve,
    is_timed,
    kept_in,
    require_all,
    sample,
)
from polygraph.evaluate.runs.study_folder import Study, StudyAnswer
from polygraph.evaluate.runs.study_steps import Told, answer_questions
from polygraph.models import Models
from polygraph.records import Answer
from polygraph.retrieve.base import Method
from polygraph.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The index of one document."""

    index: Snapshot
    retrieve: Retrieve
    ask: Callable[[str, str], Answer]


Open = Callable[[str], AbstractContextManager[Opened]]
"""Opens the index of a document, by its id; made if it is not there."""


def document_of(question: Question) -> str:
    """The document that a question is about: its field `document`, or its only piece of evidence.

    Raises:
        BadInput: if it names none, or several.

    >>> document_of(Question(id="q", question="Who?", evidence=("novel-1",)))
    'novel-1'
    """
    named = question.more.get("document")
    if isinstance(named, str) and named:
        return named
    if not names_document(question):
        raise BadInput(
            f"the question {question.id!r} names {len(question.evidence)} documents, and one is needed to ask it of "
            "that document alone. Give it in the field `document`, or as its only `evidence`"
        )
    return question.evidence[0]


def names_document(question: Question) -> bool:
    """Whether a question tells which document it is about."""
    named = question.more.get("document")
    return len(question.evidence) == 1 or (isinstance(named, str) and bool(named))


def by_document(questions: Sequence[Question]) -> dict[str, list[Question]]:
    """Questions by the document that they are about, in the order of first appearance."""
    found: dict[str, list[Question]] = {}
    for question in questions:
        found.setdefault(document_of(question), []).append(question)
    return found


def evaluate_by_document(
    questions: Sequence[Question],
    methods: Mapping[str, Method],
    opened: Open,
    models: Models,
    options: Options,
    progress: Progress,
) -> RetrievalReport:
    """Measure what methods find within the document of each question.

    Gold documents are not measured, since every ranking holds no other: what counts are gold passages, facts and
    answers that stand in the text.

    Args:
        questions: with ids that differ, each about one document.
        methods: by the names under which they are reported.
        opened: opens the index of a document.
        models: that the methods use.
        options: as for `evaluate_retrieval`.
        progress: told after each question.

    Raises:
        BadInput: if a question names no document of its own, or none can be measured.
        MissingLayer, BudgetReached: as for `evaluate_retrieval`.
    """
    ids = Counter(q.id for q in questions)
    if twice := next((i for i, n in ids.items() if n > 1), ""):
        raise BadInput(f"two questions have the id {twice!r}. Give each its own")
    within = [
        replace(q, more={**q.more, "document": document_of(q)}, evidence=()) for q in questions if not q.null
    ]
    if options.metric:
        check_metric(options.metric, ("chunk", "answer", "fact"), options.ks)
    chosen = sample([q for q in within if may_be_measured(q)], options)
    asked: list[Question] = []
    measured: list[Measured] = []
    unplaced = 0
    with kept_in(options.output) as file:
        for document, mine in by_document(chosen).items():
            with opened(document) as small:
                require_all(small.index, methods, models)
                gold: dict[str, Gold] = {q.id: gold_of(q, small.index) for q in mine}
                some = [q for q in mine if gold[q.id].measurable]
                unplaced += sum(g.unplaced for g in gold.values())
                run = Measuring(methods, small.retrieve, small.index, models, gold, options)
                measured += run.all(some, _nowhere, file)
                asked += some
            progress("questions", len(asked), len(chosen))
        stale, changed = changes(file.kept if file is not None else {}, measured)
    if not asked:
        raise BadInput(
            f"none of the {len(questions)} questions has a gold passage, a fact or an answer that can be looked for in "
            "its document, so retrieval cannot be measured on them. Add one of these, or compare answers instead: "
            "polygraph eval questions --questions FILE --output STUDY"
        )
    counts = Counts(
        total=len(questions),
        asked=len(asked),
        null=sum(q.null for q in questions),
        incomplete=0,
        without_gold=sum(not may_be_measured(q) for q in within) + len(chosen) - len(asked),
        gold_documents=0,
        unplaced=unplaced,
        stale=stale,
        changed=changed,
        types=dict(Counter(q.type for q in asked)),
    )
    timed = {name: is_timed(method, models) for name, method in methods.items()}
    return report(asked, timed, measured, counts, options.ks, options.metric, options.seed)


def answer_by_document(
    study: Study,
    questions: Sequence[Question],
    methods: Sequence[str],
    opened: Open,
    models: Models,
    told: Told,
) -> list[StudyAnswer]:
    """Answer every question from the index of its own document, those that stand in the study aside.

    Returns:
        All answers, by question, then method, in the orders given.
    """
    done = {a.key for a in study.answers()}
    total = len(questions) * len(methods)
    for document, mine in by_document(questions).items():
        if all((q.id, m) in done for q in mine for m in methods):
            continue
        with opened(document) as small:
            found = answer_questions(study, mine, methods, small.ask, models.calls.map, _nowhere)
        done |= {a.key for a in found}
        told("answers", sum((q.id, m) in done for q in questions for m in methods), total)
    # All are there: this puts the lines in the order of the questions and asks nobody.
    return answer_questions(study, questions, methods, _nobody, map, told)


def may_be_measured(question: Question) -> bool:
    """Whether a question has gold that can be looked for within its document."""
    return bool(question.answers or question.passages or question.facts or question.chunks)


def _nobody(question: str, method: str) -> Answer:
    raise BadInput(f"{question!r} has no answer by {method}")  # pragma: no cover - every one was asked above


def _nowhere(stage: str, done: int, total: int) -> None:
    """The progress of one document is not told."""
