"""The retrieval metrics of a run by name, and what each is measured on.

| unit | gold | names |
|---|---|---|
| document | `evidence` | ``recall@k all@k hit@k mrr ndcg@k`` |
| chunk | `evidence_chunks`, `passages`, `quotes` | the same with ``chunk_`` before |
| answer | `answer` | ``answer_hit@k answer_mrr`` |
| fact | `facts` | ``fact_recall@k mhrag_hits@4 mhrag_hits@10 mhrag_map@10 mhrag_mrr@10`` |
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from polygraph.errors import BadInput
from polygraph.evaluate.metrics.ranking import Ranks, all_found, hit, mhrag_map, ndcg, recall, reciprocal_rank
from polygraph.evaluate.metrics.relevance import Found

Unit: TypeAlias = Literal["document", "chunk", "answer", "fact"]
UNITS: tuple[Unit, ...] = get_args(Unit)
KS = (1, 2, 5, 10, 20)
"""Depths that are reported."""
_MHRAG_DEPTH = 10


def ranks_by_unit(found: Found) -> dict[Unit, Ranks]:
    """The ranks of a question; units without gold are left out."""
    ranks: dict[Unit, Ranks] = {
        "document": found.documents,
        "chunk": found.chunks,
        "answer": found.answer,
        "fact": found.facts,
    }
    return {unit: found for unit, found in ranks.items() if found}


def metrics_of(unit: Unit, ranks: Ranks, ks: Sequence[int] = KS) -> dict[str, float]:
    """Every metric of one question for one unit, by name.

    >>> list(metrics_of("answer", [3], [1, 5]).items())
    [('answer_hit@1', 0.0), ('answer_hit@5', 1.0), ('answer_mrr', 0.3333333333333333)]
    """
    if unit == "answer":
        # One need only: recall, all and hit are the same.
        return {**{f"answer_hit@{k}": hit(ranks, k) for k in ks}, "answer_mrr": reciprocal_rank(ranks)}
    if unit == "fact":
        first = [r for r in ranks if r is not None and r <= _MHRAG_DEPTH]
        return {
            **{f"fact_recall@{k}": recall(ranks, k) for k in ks},
            "mhrag_hits@4": hit(ranks, 4),
            "mhrag_hits@10": hit(ranks, 10),
            "mhrag_map@10": mhrag_map(ranks, _MHRAG_DEPTH),
            "mhrag_mrr@10": reciprocal_rank(first),
        }
    before = "chunk_" if unit == "chunk" else ""
    return {
        **{f"{before}recall@{k}": recall(ranks, k) for k in ks},
        **{f"{before}all@{k}": all_found(ranks, k) for k in ks},
        **{f"{before}hit@{k}": hit(ranks, k) for k in ks},
        f"{before}mrr": reciprocal_rank(ranks),
        **{f"{before}ndcg@{k}": ndcg(ranks, k) for k in ks},
    }


def check_metric(metric: str, units: Collection[Unit], ks: Sequence[int]) -> None:
    """Make sure that a metric is measured on questions with gold of these kinds.

    Raises:
        BadInput: naming those that are.
    """
    known = [name for unit in UNITS if unit in units for name in metrics_of(unit, (None,), ks)]
    if metric not in known:
        raise BadInput(f"--metric {metric!r} is not measured here. Choose one of: {', '.join(known)}")


def depth_of(ks: Sequence[int]) -> int:
    """Chunks in which answers and facts have to be looked for."""
    return max(*ks, _MHRAG_DEPTH)


def headline(units: Mapping[Unit, int], ks: Sequence[int] = KS) -> str:
    """The metric by which methods are compared if none is asked for.

    Recall at 5, or the nearest depth, of the first unit that enough questions have gold for.

    >>> headline({"document": 0, "answer": 20})
    'answer_hit@5'
    """
    k = min(ks, key=lambda k: (abs(k - 5), k))
    most = max(units.values(), default=0)
    names = {"document": "recall", "chunk": "chunk_recall", "answer": "answer_hit", "fact": "fact_recall"}
    # A handful of questions with gold documents must not stand for a file of questions with gold answers.
    enough = [unit for unit in UNITS if units.get(unit, 0) and units[unit] * 2 >= most]
    return f"{names[enough[0]]}@{k}"


def unit_of(metric: str) -> Unit:
    """What a metric is measured on.

    >>> [unit_of(m) for m in ("recall@5", "chunk_mrr", "answer_hit@1", "mhrag_map@10")]
    ['document', 'chunk', 'answer', 'fact']
    """
    begins: tuple[tuple[str, Unit], ...] = (
        ("chunk_", "chunk"),
        ("answer_", "answer"),
        ("fact_", "fact"),
        ("mhrag_", "fact"),
    )
    return next((unit for begin, unit in begins if metric.startswith(begin)), "document")
