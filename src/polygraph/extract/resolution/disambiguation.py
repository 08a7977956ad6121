"""Mentions of one name: one entity, or several that the text keeps apart."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations, pairwise

import numpy as np

from polygraph.columnar import Array
from polygraph.extract.resolution.aliases import is_full
from polygraph.extract.resolution.attributes import Evidence, Name, gender_of
from polygraph.extract.resolution.mention_table import Names
from polygraph.extract.resolution.records import Cluster, Side

_MAX_NAMESAKES = 50
_MAX_COMPARED = 40
"""Different things told of bearers of one name, up to which all pairs are compared."""
_PARTED = frozenset(["person", "", "ship"])
"""Types of which evidence is asked for."""
_NOTHING = Evidence()


@dataclass(slots=True)
class _Item:
    """A name of a window, with what was read off it."""

    row: int
    document: int
    name: Name
    told: Evidence
    several: bool
    around: frozenset[str]
    """Its company."""
    sides: frozenset[Side]


@dataclass(slots=True)
class _Bearer:
    """A cluster while it grows."""

    items: list[_Item] = field(default_factory=list)
    told: Evidence = field(default_factory=Evidence)
    documents: set[int] = field(default_factory=set)
    company: set[str] = field(default_factory=set)
    sides: set[Side] = field(default_factory=set)
    alone: bool = False
    """Whether its company tells nothing."""

    def take(self, item: _Item) -> None:
        self.items.append(item)
        self.told.add(item.told)
        self.documents.add(item.document)
        self.sides |= item.sides
        if not self.alone:
            self.company |= item.around

    def cluster(self, base: str, names: Names) -> Cluster:
        rows = np.array([item.row for item in self.items], dtype=np.int64)
        around = rows[:0] if self.alone else rows
        return Cluster(base, names, rows, self.told, around=around, sides=self.sides)


def cluster_names(names: Names) -> tuple[list[Cluster], dict[str, str]]:
    """Group mentions by base, and part those that cannot be one.

    Returns:
        The clusters in order of base; and per base that was parted, why.
    """
    parted = np.array([kind in _PARTED for kind in names.types], dtype=np.bool_)
    clusters: list[Cluster] = []
    reasons: dict[str, str] = {}
    for base, (begin, end) in zip(names.bases, pairwise(names.ends.tolist()), strict=False):
        group = names.rows[begin:end]
        # Of a name that stands once, or of a thing, nothing need be known.
        told = end - begin > 1 and parted[names.type[begin:end]].any() and (names.told[begin:end] >= 0).any()
        if not told and not names.decisions:
            clusters.append(Cluster(base, names, group, _NOTHING, around=group))
        else:
            found, reason = _part(base, group, names, told=bool(told))
            clusters += found
            if reason:
                reasons[base] = reason
        names.rest(end - begin)
    return clusters, reasons


def _part(base: str, group: Array, names: Names, *, told: bool) -> tuple[list[Cluster], str]:
    """Part the mentions of one name; they are one unless something says otherwise."""
    numbers = names.told[group] if told else np.full(len(group), -1)
    if not names.decisions and (evidence := _agreed(numbers, names)) is not None:
        # Those of which something is known come first, as below.
        group[:] = np.concatenate((group[numbers >= 0], group[numbers < 0]))
        return [Cluster(base, names, group, evidence, around=group)], ""
    items = [
        _Item(
            row,
            document,
            names.name(row),
            names.evidence(number),
            bool(names.several[row]),
            names.company(row) - {base},
            names.sides(row),
        )
        for row, document, number in zip(
            group.tolist(), names.document(group).tolist(), numbers.tolist(), strict=True
        )
    ]
    bearers, reason = _bearers(base, items, names)
    return [bearer.cluster(base, names) for bearer in bearers], reason


def _agreed(numbers: Array, names: Names) -> Evidence | None:
    """All that is known of one bearer, if no two mentions contradict each other even where all else speaks for it."""
    known, first = np.unique(numbers[numbers >= 0], return_index=True)
    if len(known) > _MAX_COMPARED:
        return None
    distinct = [names.evidence(int(number)) for number in known[np.argsort(first)]]
    for one, other in combinations(distinct, 2):
        if one.conflict(other, strangers=True) or one.soft_conflict(other, wide=True):
            return None
    whole = Evidence()
    for one in distinct:
        whole.add(one)
    return whole


def _bearers(base: str, items: list[_Item], names: Names) -> tuple[list[_Bearer], str]:
    """One bearer after the other: each mention goes to the bearer that it fits best, or to a new one."""
    told = [item for item in items if not item.told.empty()]
    bearers: list[_Bearer] = []
    reason = ""
    # Where the text itself knows of namesakes, less is needed to part two of them.
    wide = any(item.several for item in told)
    # What a document says of its bearer counts for the document as a whole, unless it contradicts itself.
    for item in told:
        fitting: list[_Bearer] = []
        for bearer in bearers:
            strangers = item.document not in bearer.documents and not (item.around & bearer.company)
            why = item.told.conflict(bearer.told, strangers=strangers)
            if not why and wide and strangers and len(bearers) == 1:
                why = item.told.soft_conflict(bearer.told, wide=True)
            if not why and names.decisions.forbid(item.sides, bearer.sides):
                why = "as the user decided"
            if why:
                reason = reason or why
            else:
                fitting.append(bearer)
        if not fitting and len(bearers) < _MAX_NAMESAKES:
            bearers.append(_Bearer())
            fitting = bearers[-1:]
        _best(fitting or bearers, item).take(item)
    ambiguous: _Bearer | None = None
    for item in items:
        if not item.told.empty():
            continue
        fitting = [b for b in bearers if not names.decisions.forbid(item.sides, b.sides)]
        near = [b for b in fitting if item.document in b.documents]
        if len(near) > 1 and len(item.name.words) == 1 and item.name.base == base:
            # ``Cratchit`` beside Mr. and Mrs. Cratchit may be either.
            ambiguous = ambiguous or _Bearer(alone=True)
            ambiguous.take(item)
            continue
        if not fitting:
            if bearers:
                reason = reason or "as the user decided"
            bearers.append(_Bearer())
            fitting = bearers[-1:]
        _best(near or fitting, item).take(item)
    if ambiguous is not None:
        bearers.append(ambiguous)
    return bearers, reason


def _best(bearers: list[_Bearer], item: _Item) -> _Bearer:
    """The bearer that an item belongs to most likely; the first of equals."""
    if len(bearers) == 1:
        return bearers[0]
    return max(
        bearers,
        key=lambda b: (
            item.document in b.documents,
            len(item.told.occupations & b.told.occupations) + len(item.told.titles & b.told.titles),
            len(item.around & b.company),
            len(b.items),
        ),
    )


def join_surnames(clusters: list[Cluster], names: Names) -> list[Cluster]:
    """Let a bare surname meet the only person of that surname in the whole corpus."""
    bearers: dict[str, list[Cluster]] = defaultdict(list)
    for cluster in clusters:
        words = cluster.base.split()
        if len(words) > 1 and is_full(words) and cluster.kind() == "person" and cluster.told.kind != "ship":
            bearers[words[-1]].append(cluster)
    kept: list[Cluster] = []
    for cluster in clusters:
        candidates = bearers.get(cluster.base, [])
        single = len(cluster.base.split()) == 1 and cluster.kind() == "person" and cluster.told.kind != "ship"
        if not (single and len(candidates) == 1 and not names.low(cluster.rows[:1])):
            kept.append(cluster)
            continue
        bearer = candidates[0]
        # ``Mrs. Quill`` needs a woman; a bare name or ``Mr.`` only excludes one.
        mine, theirs = _gender(cluster, names), _gender(bearer, names)
        clash = mine not in ("", theirs) and "f" in (mine, theirs)
        if (
            clash
            or cluster.told.conflict(bearer.told, strangers=True)
            or names.decisions.forbid(cluster.sides, bearer.sides)
        ):
            kept.append(cluster)
            continue
        names.meet(cluster.rows, "alias in document", 0.7)
        bearer.join(cluster)
    return kept


def _gender(cluster: Cluster, names: Names) -> str:
    found: Iterable[str] = (gender_of(names.name(row)) for row in names.first_of_each_name(cluster.rows))
    return next((gender for gender in found if gender), "")
