"""Selection of reports: all to a level, those rated relevant, or those nearest to the question."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from polygraph.models import Models
from polygraph.records import Report
from polygraph.retrieve.steps import embed_question
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.evidence.rate_reports import rate_report

_UNREADABLE = 1
"""Rating assumed for a reply that cannot be parsed (code: 1)."""


def reports_to_level(index: Snapshot, level: int, rollup: Literal["entity", "none"]) -> list[Report]:
    """Return the reports down to a level, by community id.

    Args:
        index: the snapshot.
        level: deepest level; 0 is the coarsest.
        rollup: `entity`: for each entity the deepest of its communities; `none`: parents as well as their children.
    """
    if rollup == "none":
        return index.reports([i for i, depth, _ in index.community_tree() if depth <= level])
    communities = [c for c in index.communities() if c.level <= level]
    deepest: dict[str, tuple[int, str]] = {}
    for c in communities:
        for entity in c.entities:
            deepest[entity] = max(deepest.get(entity, (-1, "")), (c.level, c.id))
    return index.reports(sorted({community for _, community in deepest.values()}))


def nearest_reports(
    question: str, index: Snapshot, models: Models, *, level: int, k: int
) -> list[tuple[Report, float]]:
    """Return the `k` reports down to a level that are nearest to the question, with cosines; ties by level, then id."""
    vector = embed_question(question, models, names=True)
    # Search for more and more, since it is not known how many of the nearest lie deeper.
    wanted, found = 2 * k, index.search_reports(vector, 2 * k)
    while sum(r.level <= level for r, _ in found) < k and len(found) == wanted:
        wanted *= 4
        found = index.search_reports(vector, wanted)
    return [(report, cosine) for report, cosine in found if report.level <= level][:k]


def separate_reports(question: str, index: Snapshot, models: Models, *, k: int) -> list[tuple[Report, float]]:
    """Return the `k` reports of all levels nearest to the question that are not about a part or the whole of another.

    A report says much of what those on the parts of its community say, and is about as near to the question: of such
    reports the nearest is taken. With cosines; ties by level, then id.
    """
    vector = embed_question(question, models, names=True)
    wanted = k
    while True:
        found = index.search_reports(vector, wanted)
        lines = _lines_above([report.community for report, _ in found], index)
        kept: dict[str, tuple[Report, float]] = {}
        above: set[str] = set()
        for report, cosine in found:
            line = lines[report.community]
            if report.community not in above and kept.keys().isdisjoint(line):
                kept[report.community] = report, cosine
                above.update(line)
        if len(kept) >= k or len(found) < wanted:
            return list(kept.values())[:k]
        wanted *= 4


def _lines_above(communities: Sequence[str], index: Snapshot) -> dict[str, list[str]]:
    """Return for each of some communities itself and those that it is a part of, from below."""
    parents: dict[str, str] = {}
    missing = list(communities)
    while missing:
        found = index.community_parents(missing)
        parents |= found
        missing = list({parent for parent in found.values() if parent} - parents.keys())
    lines = {}
    for community in communities:
        line = [community]
        while parent := parents.get(line[-1], ""):
            line.append(parent)
        lines[community] = line
    return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedReport:
    """A community with the rating of its report."""

    community: str
    level: int
    rating: int
    n_ratings: int
    """Calls made for it; 0 without a model."""


def relevant_reports(
    question: str,
    index: Snapshot,
    models: Models,
    *,
    level: int,
    min_rating: int = 1,
    repeats: int = 1,
    method: str,
) -> tuple[list[Report], list[RatedReport]]:
    """Descend from the coarsest communities and keep those whose report is rated relevant.

    Dynamic community selection of Microsoft GraphRAG. If a report is relevant, the children of its community are rated
    next, and a relevant child replaces its parent. While no report is relevant, the whole next level is rated. If the
    filter hides a report, its children are rated instead.

    Args:
        question: as asked.
        index: the snapshot.
        models: rate the reports; without a chat model shared words do.
        level: deepest level that is rated.
        min_rating: rating from which a report is relevant, of 0 to 5 (code: 1).
        repeats: ratings per report; the most frequent counts, the higher of equals (code: 1).
        method: for the ledger.

    Returns:
        Reports in the order in which they were rated, and every rating.
    """
    communities = [(i, depth, parent) for i, depth, parent in index.community_tree() if depth <= level]
    parents = {i: parent for i, _, parent in communities}
    children: dict[str, list[str]] = {}
    for i, _, parent in communities:
        children.setdefault(parent, []).append(i)
    kept: dict[str, Report] = {}
    rated: list[RatedReport] = []
    waiting = [i for i, depth, _ in communities if depth == 0]
    for depth in range(level + 1):
        reports = {r.community: r for r in index.reports(waiting)}
        ratings = _ratings(question, [reports[c] for c in waiting if c in reports], models, repeats, method)
        next_level: list[str] = []
        for community in waiting:
            if community not in reports:
                next_level += children.get(community, [])
                continue
            rating = ratings[community]
            n_ratings = repeats if models.chat is not None else 0
            rated.append(RatedReport(community=community, level=depth, rating=rating, n_ratings=n_ratings))
            if rating >= min_rating:
                kept[community] = reports[community]
                kept.pop(parents[community], None)
                next_level += children.get(community, [])
        waiting = next_level
        if not waiting and not kept:
            waiting = [i for i, there, _ in communities if there == depth + 1]
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
