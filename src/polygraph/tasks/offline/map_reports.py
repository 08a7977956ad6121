"""The map step of global search without a model: the statements of reports that help to answer a question."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polygraph.arrays import dot_rows
from polygraph.models import Models
from polygraph.records import Report
from polygraph.tasks.offline.dependent_sentences import is_dependent
from polygraph.tasks.offline.question_scope import is_global_question, subject_words
from polygraph.tasks.offline.sentences import term_weights
from polygraph.text.sentences import sentence_spans
from polygraph.text.words import content_stems

_CENTRAL = 2
"""Sentences of an extractive report in an overview."""
_MAX_STATEMENTS = 48
"""Statements that the cross-encoder reads for one question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportStatement:
    """A statement of a report that helps to answer a question."""

    text: str
    score: float
    """In [0, 100]."""
    report: str
    """Id of the community."""
    chunks: tuple[str, ...]


def rank_statements(
    question: str, reports: Sequence[Report], models: Models, *, most: int = 12
) -> list[ReportStatement]:
    """Rank the statements of reports by how much they help to answer a question; ties in the order of the reports.

    For a question about particular things, each summary and finding is a statement. Its score is 100 times the
    logistic function of the cross-encoder's logit, or without a cross-encoder the share of the question's weighted
    words. For a question about the whole collection (`is_global_question`), the statement of a report is its title
    and summary, or the two most central sentences of an extractive one, scored by the importance of the report and the
    nearness of its text to the question.
    """
    if is_global_question(question):
        return _rank_summaries(question, reports, models, most)
    found = [
        (text, report, chunks or report.chunks)
        for report in reports
        for text, chunks in [
            (report.summary, report.chunks),
            *((f"{f.summary} {f.explanation}".strip(), f.chunks) for f in report.findings),
        ]
        if text
    ]
    # A statement that several reports make counts for the first of them.
    found = list({text: (text, report, chunks) for text, report, chunks in reversed(found)}.values())[::-1]
    if not found:
        return []
    terms = [frozenset(content_stems(text)) for text, _, _ in found]
    weights = term_weights(content_stems(question), terms)
    total = sum(weights.values()) or 1.0
    shares = [
        sum(weights.get(t, 0.0) for t in ts) / total + 0.02 * (report.rating / 10 + report.weight)
        for ts, (_, report, _) in zip(terms, found, strict=True)
    ]
    kept = sorted(range(len(found)), key=lambda i: (-shares[i], i))[:_MAX_STATEMENTS]
    if models.reranker is not None:
        logits = models.calls.score(models.reranker, question, [found[i][0] for i in kept], stage="map")
        scores = [100 / (1 + math.exp(-(float(logit) + 3.0) / 2.5)) for logit in logits]
    else:
        scores = [100 * min(shares[i], 1.0) for i in kept]
    ranked = sorted(zip(scores, kept, strict=True), key=lambda pair: (-round(pair[0], 2), pair[1]))
    return [
        ReportStatement(
            text=_self_contained(text, report), score=round(score, 2), report=report.community, chunks=chunks
        )
        for score, i in ranked[:most]
        for text, report, chunks in [found[i]]
    ]


def _self_contained(text: str, report: Report) -> str:
    """Return a statement; one that begins like "He refused" and names nothing of its report stands after the title."""
    is_open = report.title and is_dependent(text)
    if is_open and not set(content_stems(report.title)) & set(content_stems(text)):
        return f"{report.title}: {text}"
    return text


def _rank_summaries(
    question: str, reports: Sequence[Report], models: Models, most: int
) -> list[ReportStatement]:
    """Rank whole reports by rating, weight and nearness to the subject of the question."""
    subject = subject_words(question)
    cosines = np.zeros(len(reports), dtype=np.float32)
    if subject and reports:
        vectors = models.name_embedder.embed([r.text for r in reports], "document")
        vector = models.name_embedder.embed([subject], "query")[0]
        cosines = np.round(dot_rows(vectors, vector), 6)
    scores = [
        round(40 * max(float(cosine), 0.0) + 30 * r.rating / 10 + 30 * r.weight, 2)
        for cosine, r in zip(cosines, reports, strict=True)
    ]
    order = sorted(range(len(reports)), key=lambda i: (-scores[i], i))
    return [
        ReportStatement(
            text=f"{reports[i].title}: {_central_sentences(reports[i], models)}",
            score=scores[i],
            report=reports[i].community,
            chunks=reports[i].chunks,
        )
        for i in order[:most]
        if reports[i].summary
    ]


def _central_sentences(report: Report, models: Models) -> str:
    """Return the summary of a report; of an extractive one, the two sentences nearest to the mean of all, in its order.

    The summary of an extractive report names the most important members, whatever it says of them.
    """
    if report.written_by != "extractive":
        return report.summary
    statements = [report.summary, *(finding.summary for finding in report.findings)]
    sentences = [text[start:end] for text in statements for start, end in sentence_spans(text)]
    if len(sentences) <= _CENTRAL:
        return " ".join(sentences)
    vectors = models.name_embedder.embed(sentences, "document")
    cosines = np.round(dot_rows(vectors, vectors.mean(axis=0)), 6)
    # Sorting is stable, so that of equals the first comes first.
    return " ".join(sentences[i] for i in sorted(np.argsort(-cosines, kind="stable")[:_CENTRAL]))
