"""Do the judges of a study agree: models with each other, and with people."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from polygraph.evaluate.judging.judgements import Judgement, outcomes, pairs_of
from polygraph.evaluate.judging.pairwise import in_both_orders
from polygraph.evaluate.statistics.agreement import Verdict, cohen_kappa, krippendorff_alpha

Item = tuple[str, str, str]
"""Question and two methods, in alphabetical order."""
_NUMBER: dict[Verdict, float] = {"a": 1.0, "tie": 0.0, "b": -1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgePair:
    """Two judges on what both have judged."""

    one: str
    other: str
    n: int
    """Pairs of answers that both have judged."""
    same: float
    """Share with the same winner, or a tie by both."""
    kappa: float | None
    """Agreement beyond chance (Cohen): 0 is chance, 1 always; None where both always say the same one thing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAgreement:
    """All judges of a study."""

    pairs: tuple[JudgePair, ...]
    alpha: float | None
    """Krippendorff's alpha over all judges, nominal; None where nothing varies."""
    sentence: str


def agree(judgements: Sequence[Judgement]) -> JudgeAgreement | None:
    """Compare the judges of a study, by the winner that each of them sees over all its judgements of two answers.

    Args:
        judgements: of any protocols. A judge who judged by two protocols counts as two.

    Returns:
        None with fewer than two judges, or if no two have judged the same answers.

    Raises:
        MissingExtra: without the extra `eval`.
    """
    groups: dict[tuple[str, str], list[Judgement]] = {}
    for judgement in judgements:
        groups.setdefault((judgement.judge, judgement.protocol), []).append(judgement)
    # Only a judge who appears under several protocols needs them in the name.
    protocols = len({protocol for _, protocol in groups})
    said = {
        f"{judge} ({protocol})" if protocols > 1 else judge: _verdicts(groups[judge, protocol], protocol)
        for judge, protocol in sorted(groups)
    }
    pairs = []
    for one, other in combinations(said, 2):
        shared = sorted(said[one].keys() & said[other].keys())
        if shared:
            a, b = ([said[name][item] for item in shared] for name in (one, other))
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
    items = sorted({item for verdicts in said.values() for item in verdicts})
    alpha = krippendorff_alpha(
        [[_NUMBER[v[item]] if item in v else None for v in said.values()] for item in items]
    )
    return JudgeAgreement(
        pairs=tuple(pairs), alpha=None if math.isnan(alpha) else alpha, sentence=_sentence(pairs, alpha)
    )


def _verdicts(judgements: Sequence[Judgement], protocol: str) -> dict[Item, Verdict]:
    methods = sorted({m for one in judgements for m in one.methods})
    found: dict[Item, Verdict] = {}
    for a, b in pairs_of(methods):
        lead: dict[str, int] = {}
        for outcome in outcomes(judgements, a, b, balanced=in_both_orders(protocol)):
            result = outcome.result()
            lead[outcome.question] = lead.get(outcome.question, 0) + (result == "a") - (result == "b")
        for question, n in lead.items():
            found[question, a, b] = "a" if n > 0 else "b" if n < 0 else "tie"
    return found


def _sentence(pairs: Sequence[JudgePair], alpha: float) -> str:
    least = min(pairs, key=lambda p: (p.same, p.one, p.other))
    beyond = "" if math.isnan(alpha) else f", alpha {alpha:.2f} (0 is chance, 1 full agreement)"
    if len(pairs) == 1:
        return f"{least.one} and {least.other} name the same winner in {least.same:.0%} of {least.n} pairs{beyond}."
    return (
        f"The judges agree{beyond}; least of all {least.one} and {least.other}, who name the same winner in "
        f"{least.same:.0%} of {least.n} pairs."
    )
