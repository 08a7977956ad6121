"""Retrieval metrics by name, and the kind of gold that each is measured on.

| unit | gold | names |
|---|---|---|
| document | `evidence` | ``recall@k all@k hit@k mrr ndcg@k`` |
| chunk | `evidence_chunks`, `passages`, `quotes` | the same with the prefix ``chunk_`` |
| answer | `answer` | ``answer_hit@k answer_mrr`` |
| fact | `facts` | ``fact_recall@k mhrag_hits@4 mhrag_hits@10 mhrag_map@10 mhrag_mrr@10`` |
"""

from collections.abc import Collection, Mapping, Sequence
from typing import get_args

from polygraph.errors import BadInput
from polygraph.evaluate.metrics.ranking import Ranks, all_found, hit, mhrag_map, ndcg, recall, reciprocal_rank
from polygraph.evaluate.records import Unit

UNITS: tuple[Unit, ...] = get_args(Unit)
KS = (1, 2, 5, 10, 20)
"""Default depths."""
_MHRAG_DEPTH = 10


def unit_metrics(unit: Unit, ranks: Ranks, ks: Sequence[int] = KS) -> dict[str, float]:
    """Return all metrics of one question for one unit, by name.

    >>> list(unit_metrics("answer", [3], [1, 5]).items())
    [('answer_hit@1', 0.0), ('answer_hit@5', 1.0), ('answer_mrr', 0.3333333333333333)]
    """
    if unit == "answer":
        # There is one gold item, so recall, all and hit are the same.
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
    prefix = "chunk_" if unit == "chunk" else ""
    return {
        **{f"{prefix}recall@{k}": recall(ranks, k) for k in ks},
        **{f"{prefix}all@{k}": all_found(ranks, k) for k in ks},
        **{f"{prefix}hit@{k}": hit(ranks, k) for k in ks},
        f"{prefix}mrr": reciprocal_rank(ranks),
        **{f"{prefix}ndcg@{k}": ndcg(ranks, k) for k in ks},
    }


def check_metric(metric: str, units: Collection[Unit], ks: Sequence[int]) -> None:
    """Check that a metric can be measured with gold of these kinds.

    Raises:
        BadInput: if not, naming the metrics that can.
    """
    known = [name for unit in UNITS if unit in units for name in unit_metrics(unit, (None,), ks)]
    if metric not in known:
        raise BadInput(f"--metric {metric!r} is not measured here. Choose one of: {', '.join(known)}")


def search_depth(ks: Sequence[int]) -> int:
    """Return the number of chunks in which answers and facts are searched for."""
    return max(*ks, _MHRAG_DEPTH)


def default_metric(units: Mapping[Unit, int], ks: Sequence[int] = KS) -> str:
    """Return the metric that methods are compared by if none is given.

    Recall at 5, or at the nearest depth, for the first unit that enough questions have gold for.

    >>> default_metric({"document": 0, "answer": 20})
    'answer_hit@5'
    """
    k = min(ks, key=lambda k: (abs(k - 5), k))
    most = max(units.values(), default=0)
    names = {"document": "recall", "chunk": "chunk_recall", "answer": "answer_hit", "fact": "fact_recall"}
    # A handful of questions with gold documents must not represent a file of questions with gold answers.
    enough = [unit for unit in UNITS if units.get(unit, 0) and units[unit] * 2 >= most]
    return f"{names[enough[0]]}@{k}"


def metric_unit(metric: str) -> Unit:
    """Return the kind of gold that a metric is measured on.

    >>> [metric_unit(m) for m in ("recall@5", "chunk_mrr", "answer_hit@1", "mhrag_map@10")]
    ['document', 'chunk', 'answer', 'fact']
    """
    prefixes: tuple[tuple[str, Unit], ...] = (
        ("chunk_", "chunk"),
        ("answer_", "answer"),
        ("fact_", "fact"),
        ("mhrag_", "fact"),
    )
    return next((unit for prefix, unit in prefixes if metric.startswith(prefix)), "document")
