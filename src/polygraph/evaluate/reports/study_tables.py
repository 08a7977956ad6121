"""Tables of a study report, as columns and rows for HTML and Markdown."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from polygraph.evaluate.judging.judge_agreement import JudgeAgreement
from polygraph.evaluate.metrics.oracle import Confusion
from polygraph.evaluate.reports.findings import MethodSummary, PairSummary
from polygraph.evaluate.reports.formatting import dollars, p_value, percent, rate_interval, signed_percent
from polygraph.evaluate.statistics.bradley_terry import Strength
from polygraph.evaluate.statistics.intervals import Interval
from polygraph.evaluate.statistics.win_rates import WinRates

Table: TypeAlias = tuple[tuple[str, ...], list[tuple[str, ...]]]
"""Columns and rows."""
METHODS_CAPTION = (
    "Means per question, as if nothing had been cached; seconds: median and 95th percentile, without the time of calls "
    "that were cached or made by batch"
)
PAIRS_CAPTION = (
    "Comparisons of two methods. Relative win rate: wins less losses, as a share of all; its interval over questions "
    "and p are corrected for all pairs (Holm). Points: mean difference of scores per aspect; its interval (95%) and "
    "p are those of this pair alone. Discarded and refused: questions"
)
CONTROLS_CAPTION = (
    "Two independent runs of one method; a protocol without bias finds no difference. Relative win rate: with its 95% "
    "interval over questions"
)
AGREEMENT_CAPTION = "Winners named by two judges for the same pairs of answers"


def method_table(methods: Sequence[MethodSummary]) -> Table:
    """Return answers, length, calls, tokens, time and cost of each method."""
    columns = ("method", "answers", "refused", "words", "calls", "tokens", "seconds", "seconds (p95)", "cost")
    rows: list[tuple[str, ...]] = [
        (
            m.method, str(m.n), str(m.refused), f"{m.words:.0f}", f"{m.calls:.1f}", f"{m.tokens:,.0f}",
            f"{m.seconds_median:.2f}", f"{m.seconds_p95:.2f}", dollars(m.cost),
        )
        for m in methods
    ]  # fmt: skip
    return columns, rows


def pair_table(pairs: Sequence[PairSummary]) -> Table:
    """Return rates, interval, gap, p and consistency of each pair of methods."""
    columns = (
        *("first", "second", "questions", "win / tie / lose", "relative win rate", "p (Holm)", "decision"),
        *("points", "p (points)", "same in both orders", "discarded", "refused"),
    )
    rows: list[tuple[str, ...]] = []
    for p in pairs:
        gap, same = p.gap, p.consistency.rate
        shares = (100 * p.pooled.win, 100 * p.pooled.tie, 100 * p.pooled.lose)
        rows.append(
            (
                p.a,
                p.b,
                str(p.n),
                " / ".join(f"{share:.0f}" for share in shares) + " %",
                rate_interval(p.relative),
                p_value(p.p),
                p.decision,
                f"{gap.mean:+.2f} [{gap.low:+.2f}, {gap.high:+.2f}]",
                p_value(p.gap_p),
                "–" if same is None else percent(same),
                str(p.discarded),
                str(p.refused),
            )
        )
    return columns, rows


def control_table(controls: Sequence[PairSummary]) -> Table:
    """Return rates, interval and p of each comparison of a method with itself, without correction for several."""
    columns, rows = pair_table(controls)
    kept = [i for i, name in enumerate(columns) if name not in ("decision", "points", "p (points)")]
    names = tuple("p" if columns[i] == "p (Holm)" else columns[i] for i in kept)
    return names, [tuple(row[i] for i in kept) for row in rows]


def rate_table(
    rates: Mapping[tuple[str, str], Mapping[str, WinRates]],
    part: str,
    intervals: Mapping[tuple[str, str], Mapping[str, Interval]],
) -> Table:
    """Return win, tie and lose rates of each pair of methods, by aspect or type.

    Args:
        rates: by pair, then by aspect or type.
        part: aspect or type.
        intervals: of the relative win rates, as far as they are known.
    """
    columns = ("first", "second", part, "questions x trials", "win", "tie", "lose", "relative win rate")
    rows: list[tuple[str, ...]] = [
        (
            a,
            b,
            name or "no type",
            str(r.n),
            *map(percent, (r.win, r.tie, r.lose)),
            f"{signed_percent(r.relative)}%"
            if (interval := intervals.get((a, b), {}).get(name)) is None
            else rate_interval(interval),
        )
        for (a, b), by_part in rates.items()
        for name, r in by_part.items()
    ]
    return columns, rows


def ranking_table(ranking: Sequence[Strength]) -> Table:
    """Return strength and rank of each method, strongest first."""
    rows: list[tuple[str, ...]] = [
        (
            s.method,
            f"{s.strength:+.2f}",
            f"{s.low:+.2f} to {s.high:+.2f}",
            str(s.rank_low) if s.rank_low == s.rank_high else f"{s.rank_low} to {s.rank_high}",
        )
        for s in ranking
    ]
    return ("method", "strength", "95% interval", "rank"), rows


def agreement_table(agreement: JudgeAgreement) -> Table:
    """Return how often each pair of judges names the same winner."""
    rows: list[tuple[str, ...]] = [
        (p.one, p.other, str(p.n), percent(p.same), "–" if p.kappa is None else f"{p.kappa:.2f}")
        for p in agreement.pairs
    ]
    return ("judge", "other judge", "pairs", "same winner", "kappa"), rows


def confusion_table(confusions: Mapping[tuple[str, str], Confusion]) -> Table:
    """Return the questions that both, only one, or neither of two methods answers correctly."""
    rows: list[tuple[str, ...]] = [
        (f"{a} – {b}", str(c.both), str(c.a_only), str(c.b_only), str(c.neither))
        for (a, b), c in confusions.items()
    ]
    return ("methods", "both correct", "only the first", "only the second", "neither"), rows
