"""Relevance of a question to the collection, and the threshold below which ROGRAG refuses it.

ROGRAG (arXiv:2503.06474) takes over the refusal of HuixiangDou (arXiv:2401.08772): the similarity between the question
and the index, against a threshold fitted on questions that should and should not be answered.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from polygraph.errors import BadInput
from polygraph.models import Models
from polygraph.retrieve.steps import embed_names
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.questions.keywords import Keywords, question_keywords


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """Similarity between a question and the graph."""

    score: float
    """Mean of the similarities below that are not None; 0 for a question without keywords."""
    entity: float | None
    """Cosine of the nearest entity with the low-level keywords; None without such keywords."""
    relation: float | None
    """Cosine of the nearest relation with the high-level keywords; None without such keywords."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A threshold, with precision and recall on the questions it was fitted on."""

    threshold: float
    precision: float
    """Share of answerable questions among those at or above the threshold."""
    recall: float
    """Share of the answerable questions at or above the threshold."""
    answerable: tuple[float, ...]
    """Scores of the answerable questions, in their order."""
    unanswerable: tuple[float, ...]
    """Scores of the unanswerable questions, in their order."""


def relevance(keywords: Keywords, index: Snapshot, models: Models) -> Relevance:
    """Score a question by its keywords: the mean of best entity and best relation, as in the published code.

    If a question has keywords of one level only, that level alone counts (the code still divides by two).
    """
    found: dict[str, float] = {}
    levels = {"entity": keywords.low, "relation": keywords.high}
    texts = {name: ", ".join(words) for name, words in levels.items() if words}
    vectors = dict(zip(texts, embed_names(list(texts.values()), models), strict=True))
    for name, vector in vectors.items():
        search = index.search_entities if name == "entity" else index.search_relations
        found[name] = max((hit.score for hit in search(vector, 1)), default=0.0)
    score = round(sum(found.values()) / len(found), 6) if found else 0.0
    return Relevance(score=score, entity=found.get("entity"), relation=found.get("relation"))


def fit_threshold(answerable: Sequence[float], unanswerable: Sequence[float]) -> Calibration:
    """Choose the threshold with the greatest sum of precision and recall for answerable questions (HuixiangDou).

    Args:
        answerable: scores of questions that should be answered.
        unanswerable: scores of questions that should be refused.

    Returns:
        A threshold half-way between the lowest score that passes and the next lower one; of equally good ones the
        lowest, which refuses least.

    Raises:
        ValueError: if either list is empty.

    >>> fit_threshold([0.5, 0.4], [0.1, 0.3]).threshold
    0.35
    """
    if not answerable or not unanswerable:
        raise ValueError("a threshold needs scores of answerable and of unanswerable questions")
    scores = sorted({*answerable, *unanswerable})
    best: tuple[float, float, float, float] | None = None
    for i, candidate in enumerate(scores):
        n_right = sum(score >= candidate for score in answerable)
        n_wrong = sum(score >= candidate for score in unanswerable)
        if not n_right:
            break
        precision, recall = n_right / (n_right + n_wrong), n_right / len(answerable)
        if best is None or precision + recall > best[0] + 1e-12:
            below = scores[i - 1] if i else candidate
            middle = (candidate + below) / 2
            best = (precision + recall, middle if middle > below else candidate, precision, recall)
    assert best is not None  # noqa: S101  # the lowest score lets all answerable questions pass
    return Calibration(
        threshold=best[1],
        precision=best[2],
        recall=best[3],
        answerable=tuple(answerable),
        unanswerable=tuple(unanswerable),
    )


def calibrate(
    answerable: Sequence[str], unanswerable: Sequence[str], index: Snapshot, models: Models
) -> Calibration:
    """Fit the refusal threshold of `rograg` on example questions; with a chat model one call per question.

    Args:
        answerable: questions that this collection can answer; a dozen or more.
        unanswerable: questions that it cannot answer, of the kind that users ask anyway.
        index: with `entity_vectors` and `relation_vectors`.
        models: those that questions will be asked with: the threshold depends on the name embedder.

    Raises:
        BadInput: if either list is empty.
    """
    if not answerable or not unanswerable:
        raise BadInput("calibration needs questions that should be answered and questions that should not")

    def score(question: str) -> float:
        return relevance(question_keywords(question, models, method="rograg"), index, models).score

    scores = models.calls.map(score, [*answerable, *unanswerable])
    return fit_threshold(scores[: len(answerable)], scores[len(answerable) :])
