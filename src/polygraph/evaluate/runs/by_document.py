"""One index per document, and every question asked of its own document: NQ, NovelQA, SQuALITY, QMSum.

"RAG vs. GraphRAG" (arXiv:2502.11371, section 3) treats these data sets as single-document tasks. A filter over one
large index is not equivalent: word statistics, merged entities, communities and their reports would be those of all
documents.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from polygraph.errors import BadInput
from polygraph.evaluate.metrics.relevance import ResolvedGold, resolve_gold
from polygraph.evaluate.metrics.retrieval import check_metric
from polygraph.evaluate.questions.document import document_of, group_by_document, has_gold_within_document
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.records import QuestionResult, StudyAnswer
from polygraph.evaluate.reports.retrieval_report import QuestionCounts, RetrievalReport, summarise_retrieval
from polygraph.evaluate.runs.answer_steps import AnswerOptions, answer_questions, sort_answers
from polygraph.evaluate.runs.result_file import stale_results
from polygraph.evaluate.runs.retrieval import (
    RetrievalOptions,
    RetrievalRun,
    Retrieve,
    check_distinct_ids,
    limited_sample,
    open_results,
    require_layers,
    runs_alone,
)
from polygraph.evaluate.runs.study_folder import StudyFolder
from polygraph.indexing.progress import Progress, no_progress
from polygraph.models import Models
from polygraph.records import Answer
from polygraph.retrieve.base import Method
from polygraph.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentIndex:
    """The index of one document."""

    index: Snapshot
    retrieve: Retrieve
    ask: Callable[..., Answer]
    """Answers a question (its text) with a method (its name), optionally within a budget `max_tokens`."""


OpenDocument: TypeAlias = Callable[[str], AbstractContextManager[DocumentIndex]]
"""Opens the index of a document, given by id; builds it if it does not exist."""


def evaluate_by_document(
    questions: Sequence[Question],
    methods: Mapping[str, Method],
    open_document: OpenDocument,
    models: Models,
    options: RetrievalOptions,
    progress: Progress,
) -> RetrievalReport:
    """Measure retrieval within the document of each question.

    Gold documents are not measured, since a ranking contains no other document; gold passages, facts and answers in the
    text are.

    Args:
        questions: with distinct ids, each about one document.
        methods: by the names under which they are reported.
        open_document: opens the index of a document.
        models: that the methods use.
        options: as for `evaluate_retrieval`.
        progress: called after each document.

    Raises:
        BadInput: if a question does not name one document, or no question can be measured.
        MissingLayer, BudgetReached: as for `evaluate_retrieval`.
    """
    check_distinct_ids(questions)
    within = [
        replace(q, more={**q.more, "document": document_of(q)}, evidence=()) for q in questions if not q.null
    ]
    if options.metric:
        check_metric(options.metric, ("chunk", "answer", "fact"), options.ks)
    chosen = limited_sample([q for q in within if has_gold_within_document(q)], options)
    asked: list[Question] = []
    results: list[QuestionResult] = []
    missing_passages = 0
    with open_results(options.output) as file:
        for document, group in group_by_document(chosen).items():
            with open_document(document) as opened:
                require_layers(opened.index, methods, models)
                gold: dict[str, ResolvedGold] = {q.id: resolve_gold(q, opened.index) for q in group}
                measurable = [q for q in group if gold[q.id].measurable]
                missing_passages += sum(g.n_missing_passages for g in gold.values())
                run = RetrievalRun(methods, opened.retrieve, opened.index, models, gold, options)
                results += run.measure(measurable, no_progress, file)
                asked += measurable
            progress("questions", len(asked), len(chosen))
        stale, changed = stale_results(file.results if file is not None else {}, results)
    if not asked:
        raise BadInput(
            "no question has a gold passage, a fact or an answer that can be searched for "
            "in its document, so retrieval cannot be measured. Add one of these, or compare answers instead: "
            "polygraph eval questions --questions FILE --output STUDY"
        )
    counts = QuestionCounts(
        total=len(questions),
        asked=len(asked),
        null=sum(q.null for q in questions),
        incomplete=0,
        without_gold=sum(not has_gold_within_document(q) for q in within) + len(chosen) - len(asked),
        gold_documents=0,
        missing_passages=missing_passages,
        stale=stale,
        changed=changed,
        types=dict(Counter(q.type for q in asked)),
    )
    timed = {name: runs_alone(method, models) for name, method in methods.items()}
    return summarise_retrieval(
        asked, timed, results, counts, options.ks, options.metric, options.seed, options.margin
    )


def answer_by_document(
    study: StudyFolder,
    questions: Sequence[Question],
    methods: Sequence[str],
    open_document: OpenDocument,
    models: Models,
    progress: Progress,
    options: AnswerOptions | None = None,
) -> list[StudyAnswer]:
    """Answer every question from the index of its own document, unless the study already has the answer.

    Returns:
        All answers, by question, then method, in the orders given.
    """
    options = options or AnswerOptions()
    done = {(*a.key, a.trial): a for a in study.answers(all_trials=True)}

    def keys_of(some: Sequence[Question]) -> list[tuple[str, str, int]]:
        return [(q.id, m, t) for t in range(options.trials) for q in some for m in methods]

    keys = keys_of(questions)
    n_done = sum(key in done for key in keys)
    for document, group in group_by_document(questions).items():
        missing = sum(key not in done for key in keys_of(group))
        if not missing and not options.again:
            continue
        with open_document(document) as opened:
            found = answer_questions(
                study,
                group,
                methods,
                opened.ask,
                partial(getattr, opened, "index"),
                models,
                no_progress,
                options,
                document=document,
            )
        done |= {(*a.key, a.trial): a for a in found}
        n_done += missing
        progress("answers", n_done, len(keys))
    sort_answers(study, questions)
    return [done[key] for key in keys]
