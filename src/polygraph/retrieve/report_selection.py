"""Which reports global search reads: all down to a level, those rated as relevant on the way down, or the nearest."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from polygraph.models import Models
from polygraph.records import Report
from polygraph.retrieve.steps import embed_question
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.rate_reports import rate_report

_UNREADABLE = 1
"""What a rating counts as that could not be read (code: 1)."""


def down_to(index: Snapshot, level: int, rollup: Literal["entity", "none"]) -> list[Report]:
    """Reports down to a level, by community id.

    Args:
        index: the state.
        level: the deepest, 0 is the coarsest.
        rollup: `entity`: for each entity the deepest of its communities; `none`: parents beside their children.
    """
    communities = [c for c in index.communities() if c.level <= level]
    if rollup == "none":
        return index.reports([c.id for c in communities])
    deepest: dict[str, tuple[int, str]] = {}
    for c in communities:
        for entity in c.entities:
            deepest[entity] = max(deepest.get(entity, (-1, "")), (c.level, c.id))
    return index.reports(sorted({community for _, community in deepest.values()}))


def nearest(
    question: str, index: Snapshot, models: Models, *, level: int, k: int
) -> list[tuple[Report, float]]:
    """The reports down to a level that are nearest to the question, with the cosine; ties by level, then id."""
    vector = embed_question(question, models, names=True)
    # Asked for in growing numbers: how many lie deeper is not known before.
    wanted, found = 2 * k, index.search_reports(vector, 2 * k)
    while sum(r.level <= level for r, _ in found) < k and len(found) == wanted:
        wanted *= 4
        found = index.search_reports(vector, wanted)
    return [(report, cosine) for report, cosine in found if report.level <= level][:k]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """A community whose report was rated."""

    community: str
    level: int
    rating: int
    n_ratings: int
    """Calls it took; 0 if the rating is made without a model."""


def rated_as_relevant(
    question: str,
    index: Snapshot,
    models: Models,
    *,
    level: int,
    least: int = 1,
    repeats: int = 1,
    method: str,
) -> tuple[list[Report], list[Rated]]:
    """Walk down from the coarsest communities and keep those whose report is rated as relevant.

    Dynamic community selection of Microsoft GraphRAG. Where a report is relevant, the parts of its community are
    rated next, and one that is relevant takes the place of the whole. As long as nothing is relevant, all of the
    next level is rated. Where the filter withholds a report, the parts are rated in its place.

    Args:
        question: as asked.
        index: the state.
        models: rate the reports; without a chat model their words do.
        level: the deepest that is rated.
        least: rating from which a report is relevant, of 0 to 5 (code: 1).
        repeats: ratings of each report; the most frequent counts, the higher of equals (code: 1).
        method: for the ledger.

    Returns:
        Reports in the order in which they were met, and every rating.
    """
    communities = [c for c in index.communities() if c.level <= level]
    parents = {c.id: c.parent for c in communities}
    parts: dict[str, list[str]] = {}
    for c in communities:
        parts.setdefault(c.parent, []).append(c.id)
    kept: dict[str, Report] = {}
    rated: list[Rated] = []
    waiting = [c.id for c in communities if c.level == 0]
    for depth in range(level + 1):
        reports = {r.community: r for r in index.reports(waiting)}
        ratings = _ratings(question, [reports[c] for c in waiting if c in reports], models, repeats, method)
        following: list[str] = []
        for community in waiting:
            if community not in reports:
                following += parts.get(community, [])
                continue
            rating = ratings[community]
            n_ratings = repeats if models.chat is not None else 0
            rated.append(Rated(community=community, level=depth, rating=rating, n_ratings=n_ratings))
            if rating >= least:
                kept[community] = reports[community]
                kept.pop(parents[community], None)
                following += parts.get(community, [])
        waiting = following
        if not waiting and not kept:
            waiting = [c.id for c in communities if c.level == depth + 1]
    return list(kept.values()), rated


def _ratings(
    question: str, reports: Sequence[Report], models: Models, repeats: int, method: str
) -> Mapping[str, int]:
    asked = [(report, i) for report in reports for i in range(repeats)]
    given = models.calls.map(
        lambda pair: rate_report(question, pair[0], models, sample=pair[1], method=method), asked
    )
    counts: dict[str, Counter[int]] = {}
    for (report, _), rating in zip(asked, given, strict=True):
        counts.setdefault(report.community, Counter())[_UNREADABLE if rating is None else rating] += 1
    return {c: max(count, key=lambda rating: (count[rating], rating)) for c, count in counts.items()}
