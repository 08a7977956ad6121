"""Is a question one for this collection at all? A score, and the cut that examples teach.

ROGRAG (arXiv:2503.06474) keeps the refusal of HuixiangDou (arXiv:2401.08772): the similarity of a question with what
the index holds, against a threshold fitted on questions that should and should not be answered.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from polygraph.errors import BadInput
from polygraph.models import Models
from polygraph.retrieve.steps import embed_names
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.question import Keywords, question_keywords


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """How near a question is to the graph."""

    score: float
    """Mean of the two that there are; 0 for a question without keywords."""
    entity: float | None
    """Cosine of the nearest entity with the details; None if there are no details."""
    relation: float | None
    """Cosine of the nearest relation with the themes; None if there are no themes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A threshold, and how it does on the examples that it was chosen by."""

    threshold: float
    precision: float
    """Share of the questions that pass which are good."""
    recall: float
    """Share of the good questions that pass."""
    good: tuple[float, ...]
    """Scores of the good questions, in their order."""
    bad: tuple[float, ...]


def relevance(keywords: Keywords, index: Snapshot, models: Models) -> Relevance:
    """Score a question by its keywords: the published code's mean of best entity and best relation.

    Where a question has keywords of one level only, that level decides (the code divides by two all the same).
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


def best_cut(good: Sequence[float], bad: Sequence[float]) -> Calibration:
    """Choose the threshold that maximises precision + recall of letting good questions pass (HuixiangDou).

    Args:
        good: scores of questions that should be answered.
        bad: scores of questions that should be refused.

    Returns:
        A threshold half-way between the lowest score that passes and the next lower one; of equally good ones the
        lowest, which refuses least.

    Raises:
        ValueError: if there are no scores of one kind.

    >>> best_cut([0.5, 0.4], [0.1, 0.3]).threshold
    0.35
    """
    if not good or not bad:
        raise ValueError("a threshold needs scores of good and of bad questions")
    every = sorted({*good, *bad})
    best: tuple[float, float, float, float] | None = None
    for place, cut in enumerate(every):
        passed = sum(score >= cut for score in good)
        wrong = sum(score >= cut for score in bad)
        if not passed:
            break
        precision, recall = passed / (passed + wrong), passed / len(good)
        if best is None or precision + recall > best[0] + 1e-12:
            below = every[place - 1] if place else cut
            middle = (cut + below) / 2
            best = (precision + recall, middle if middle > below else cut, precision, recall)
    assert best is not None  # noqa: S101  # the lowest score lets all good ones pass
    return Calibration(threshold=best[1], precision=best[2], recall=best[3], good=tuple(good), bad=tuple(bad))


def calibrate(good: Sequence[str], bad: Sequence[str], index: Snapshot, models: Models) -> Calibration:
    """Fit the refusal threshold of `rograg` on examples: one call for each question with a model, none without.

    Args:
        good: questions that this collection can answer; a dozen or more.
        bad: questions that it cannot, such as users ask all the same.
        index: with `entity_vectors` and `relation_vectors`.
        models: as questions will be asked with: the threshold depends on the embedder of names.

    Raises:
        BadInput: if there are no questions of one kind.
    """
    if not good or not bad:
        raise BadInput("calibration needs questions that should be answered and questions that should not")

    def score(question: str) -> float:
        return relevance(question_keywords(question, models, method="rograg"), index, models).score

    scores = models.calls.map(score, [*good, *bad])
    return best_cut(scores[: len(good)], scores[len(good) :])
