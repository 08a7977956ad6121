"""Agreement of the judges of a study: models with each other, and with human raters."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from polygraph.evaluate.judging.judgements import Judgement, judgements_by_pair, outcomes
from polygraph.evaluate.judging.pairwise import judges_both_orders
from polygraph.evaluate.statistics.agreement import Verdict, cohen_kappa, krippendorff_alpha

Item = tuple[str, str, str]
"""Question and two methods, in alphabetical order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgePair:
    """Agreement of two judges on the items that both judged."""

    one: str
    other: str
    n: int
    """Pairs of answers that both judged."""
    same: float
    """Share with the same winner, or a tie by both."""
    kappa: float | None
    """Cohen's kappa; None if both judges gave only one and the same verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAgreement:
    """Agreement of all judges of a study."""

    pairs: tuple[JudgePair, ...]
    alpha: float | None
    """Krippendorff's alpha over all judges, nominal; None if nothing varies."""
    sentence: str


def judge_agreement(judgements: Sequence[Judgement]) -> JudgeAgreement | None:
    """Compare the judges of a study by the winners that each names over all its judgements of two answers.

    Args:
        judgements: of any protocols. A judge under two protocols counts as two.

    Returns:
        None with fewer than two judges, or if no two judged the same answers.

    Raises:
        MissingExtra: without the extra `eval`.
    """
    groups: dict[tuple[str, str], list[Judgement]] = {}
    for judgement in judgements:
        groups.setdefault((judgement.judge, judgement.protocol), []).append(judgement)
    # The name includes the protocol only if there are several.
    protocols = len({protocol for _, protocol in groups})
    verdicts = {
        f"{judge} ({protocol})" if protocols > 1 else judge: _verdicts(groups[judge, protocol], protocol)
        for judge, protocol in sorted(groups)
    }
    pairs = []
    for one, other in combinations(verdicts, 2):
        shared = sorted(verdicts[one].keys() & verdicts[other].keys())
        if shared:
            a, b = ([verdicts[name][item] for item in shared] for name in (one, other))
            kappa = cohen_kappa(a, b)
            pairs.append(
                JudgePair(
                    one=one,
                    other=other,
                    n=len(shared),
                    same=sum(x == y for x, y in zip(a, b, strict=True)) / len(shared),
                    kappa=None if math.isnan(kappa) else kappa,
                )
            )
    if not pairs:
        return None
    items = sorted({item for by_item in verdicts.values() for item in by_item})
    alpha = krippendorff_alpha([[by_item.get(item) for by_item in verdicts.values()] for item in items])
    return JudgeAgreement(
        pairs=tuple(pairs), alpha=None if math.isnan(alpha) else alpha, sentence=_sentence(pairs, alpha)
    )


def _verdicts(judgements: Sequence[Judgement], protocol: str) -> dict[Item, Verdict]:
    """Return the verdict of one judge on each item: the winner of more trials."""
    found: dict[Item, Verdict] = {}
    for pair, compared in judgements_by_pair(judgements).items():
        a, b = sorted(pair)
        lead: dict[str, int] = {}
        for outcome in outcomes(compared, a, b, balanced=judges_both_orders(protocol)):
            verdict = outcome.verdict()
            lead[outcome.question] = lead.get(outcome.question, 0) + (verdict == "a") - (verdict == "b")
        for question, n in lead.items():
            found[question, a, b] = "a" if n > 0 else "b" if n < 0 else "tie"
    return found


def _sentence(pairs: Sequence[JudgePair], alpha: float) -> str:
    lowest = min(pairs, key=lambda p: (p.same, p.one, p.other))
    coefficient = (
        "" if math.isnan(alpha) else f" (Krippendorff's alpha {alpha:.2f}; 0 is chance, 1 full agreement)"
    )
    if len(pairs) == 1:
        same = f"{lowest.same:.0%} of {lowest.n} pairs{coefficient}"
        return f"{lowest.one} and {lowest.other} name the same winner in {same}."
    return (
        f"Agreement of the judges{coefficient} is lowest between {lowest.one} and {lowest.other}, "
        f"who name the same winner in {lowest.same:.0%} of {lowest.n} pairs."
    )
