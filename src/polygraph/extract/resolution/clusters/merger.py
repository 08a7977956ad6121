"""Merging of clusters under constraints, with a record of each decision."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from polygraph.arrays import Array, overlap
from polygraph.extract.resolution.clusters.cluster import Cluster
from polygraph.extract.resolution.clusters.evidence_weights import weigh_evidence
from polygraph.extract.resolution.evidence.attributes import IN_CONTEXT
from polygraph.extract.resolution.evidence.statements import EQUATES, LISTED
from polygraph.extract.resolution.mentions.mention_table import MentionTable
from polygraph.extract.resolution.names.acronyms import is_initials
from polygraph.extract.resolution.names.given_name_conflict import given_names_conflict
from polygraph.extract.resolution.records import Decision, Rule
from polygraph.extract.resolution.vocabulary.general_nouns import is_general_noun
from polygraph.extract.resolution.vocabulary.kinds import kind_of_type, kinds_conflict

CONSTRAINT = "constraint of the user"
STATED = "related as two in one text"
TYPES = "types"
_FEW = 64
"""Rows of a cluster whose windows are held as a set: of these, overlaps are found several times faster."""
_CACHED_WINDOWS, _CACHED_CONTEXTS = 50_000, 1_000
"""Clusters whose windows and whose context names are held, which bounds memory."""
_STRICT_TYPES = frozenset(["date", "quantity", "event"])
"""Types that only merge with their own."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two clusters that were compared and not merged, by their numbers."""

    first: int
    second: int
    decision: Decision
    rule: str
    score: float
    evidence: str


class MergeLink(NamedTuple):
    """Two clusters that were merged, each by the row of a name that the rule compared."""

    first: int
    second: int
    rule: Rule
    score: float
    evidence: str


def yields_its_id(base: str) -> bool:
    """Return whether a base name, a general noun (``bishop``) or initials (``E. L.``), is no id beside a name."""
    return is_general_noun(base) or is_initials(base)


class Merger:
    """Union-find over clusters: what cannot be one entity is not merged.

    Args:
        clusters: in order; changed in place.
        table: the table of their rows.
        reasons: why base names were split, by base name: their clusters stay apart.
        doubts: why base names were split only to ask a model.
        asks: whether a model is asked about what little speaks for.
    """

    def __init__(
        self,
        clusters: list[Cluster],
        table: MentionTable,
        reasons: Mapping[str, str] | None = None,
        *,
        doubts: Mapping[str, str] | None = None,
        asks: bool = False,
    ) -> None:
        self.clusters, self.table, self.asks = clusters, table, asks
        self.doubts = doubts or {}
        """Why base names were parted only to ask a model, by base name."""
        self._reasons = reasons or {}
        self._split: dict[int, set[str]] = {
            n: {cluster.base} for n, cluster in enumerate(clusters) if cluster.base in self._reasons
        }
        self.comparisons: list[Comparison] = []
        self.links: list[MergeLink] = []
        """Every merge, in order: a spanning tree over the clusters of each entity as they were before any merge."""
        self.n_merges = 0
        """Clusters that were merged into others: as long as it stays the same, a rule finds what it found before."""
        self._presumed: set[frozenset[int]] = set()
        self._in_presumed: set[int] = set()
        self._windows_of: dict[int, tuple[int, Array | frozenset[int]]] = {}
        """Windows of clusters that are compared, as a set if they are few, each with the size that the cluster had."""
        self._contexts: dict[int, tuple[int, frozenset[int]]] = {}
        """Context names of clusters that were compared last, each with the number of merges until then."""
        self._names_by_cluster: dict[int, tuple[int, frozenset[str]]] = {}
        """Base names of these clusters, in the same way."""
        self._parent = list(range(len(clusters)))
        self._cluster_of_row = np.zeros(len(table), dtype=np.int32)
        self._apart: dict[int, set[int]] = defaultdict(set)
        for n, cluster in enumerate(clusters):
            self._cluster_of_row[cluster.rows] = n
        for row, others in table.apart_rows.items():
            self._apart[int(self._cluster_of_row[row])] |= others
        by_base: dict[str, list[int]] = defaultdict(list)
        for n, cluster in enumerate(clusters):
            by_base[cluster.base].append(n)
        self.numbers = by_base
        """The clusters of each base name before any merge."""
        self._same_as = np.arange(len(table.bases), dtype=np.int32)
        """For each base name, a name of the same entity: equal for names that were merged."""
        self._named_alike: dict[int, list[int]] = {}

    def root(self, n: int) -> int:
        """Return the cluster that a cluster was merged into, or itself."""
        parent = self._parent
        while parent[n] != n:
            parent[n] = parent[parent[n]]
            n = parent[n]
        return n

    def cluster_of_row(self, row: int) -> int:
        """Return the cluster that a row is in."""
        return self.root(int(self._cluster_of_row[row]))

    def first_clusters(self, rows: Array) -> Array:
        """Return the clusters that rows were in before any merge."""
        return np.asarray(self._cluster_of_row[rows])

    def roots(self, bases: Sequence[str]) -> list[int]:
        """Return the clusters of some base names, ascending, each once."""
        return sorted({self.root(n) for base in bases for n in self.numbers.get(base, ())})

    def soft_splits(self) -> list[tuple[str, str]]:
        """Return the base names that were split by what differs in different contexts only, each with the reason."""
        return [
            (base, reason) for base, reason in sorted(self._reasons.items()) if reason.endswith(IN_CONTEXT)
        ]

    def conflict(
        self, a: int, b: int, *, unrelated: bool = False, namesakes: bool = False
    ) -> tuple[str, str]:
        """Return the rule by which two clusters are not one entity and its evidence, or two empty strings.

        Args:
            a: a cluster.
            b: another one.
            unrelated: see `Attributes.conflict`.
            namesakes: whether that they were parted as namesakes does not count.
        """
        left, right = self.clusters[a], self.clusters[b]
        if self.table.constraints.forbid(left.constraint_keys, right.constraint_keys):
            return "user", CONSTRAINT
        if any(self.cluster_of_row(row) == b for row in self._apart.get(a, ())):
            return "statement", STATED
        if not namesakes and (both := self._split.get(a, set()) & self._split.get(b, set())):
            return "attributes", self._reasons[min(both)]
        types = {left.majority_type(), right.majority_type()}
        kinds_known = self.table.by_model and left.attributes.kind and right.attributes.kind
        if len(types) > 1 and types & _STRICT_TYPES and "" not in types and not kinds_known:
            return TYPES, " and ".join(sorted(types))
        if self.table.by_model:
            kinds = [kind_of_type(type_) for type_ in sorted(types)]
            if kinds_conflict(kinds[0], kinds[-1]):
                return TYPES, " and ".join(sorted(types))
        elif len(types) > 1 and "" not in types:
            return TYPES, " and ".join(sorted(types))
        conflict = left.attributes.conflict(right.attributes, unrelated=unrelated)
        return ("attributes", conflict) if conflict else ("", "")

    def merge(
        self, a: int, b: int, rule: Rule, score: float, evidence: str, *, unrelated: bool = False
    ) -> bool:
        """Merge two clusters unless something conflicts, and return whether they are one.

        The larger keeps its base name, unless `yields_its_id` holds for that and not for the other.
        """
        compared = self.clusters[a].first_row, self.clusters[b].first_row
        a, b = self.root(a), self.root(b)
        if a == b or frozenset((a, b)) in self._presumed:
            return True
        why, conflict = self.conflict(a, b, unrelated=unrelated)
        if why:
            self.comparisons.append(Comparison(a, b, "apart", why, 0.9, conflict))
            return False
        larger, smaller = sorted(
            (a, b),
            key=lambda n: (
                yields_its_id(self.clusters[n].base),
                -self.clusters[n].size,
                self.clusters[n].base,
                n,
            ),
        )
        if rule in ("alias in document", "acronym", "short name"):
            # The longer name is the better one, however rare.
            larger, smaller = sorted(
                (a, b), key=lambda n: (-len(self.clusters[n].base), self.clusters[n].base, n)
            )
        self.links.append(MergeLink(*compared, rule, round(score, 4), evidence))
        self._parent[smaller] = larger
        self.n_merges += 1
        self._record_same_name(self.clusters[smaller].base, self.clusters[larger].base)
        self.clusters[larger].merge(self.clusters[smaller])
        if smaller in self._split:
            self._split[larger] = self._split.get(larger, set()) | self._split.pop(smaller)
        if smaller in self._apart:
            self._apart[larger] |= self._apart.pop(smaller)
        return True

    def _record_same_name(self, base: str, other: str) -> None:
        """Let two base names count as one context name if each has one cluster only."""
        if base == other or len(self.numbers[base]) > 1 or len(self.numbers[other]) > 1:
            return
        first, second = (int(self._same_as[bisect_left(self.table.bases, name)]) for name in (base, other))
        if first != second:
            moved = self._named_alike.pop(first, [first])
            self._same_as[moved] = second
            self._named_alike.setdefault(second, [second]).extend(moved)

    def are_presumed_one(self, numbers: Sequence[int]) -> bool:
        """Return whether clusters are one, or bear one name and were parted only to ask a model."""
        bases = {self.clusters[self.root(n)].base for n in numbers}
        return len(numbers) == 1 or (len(bases) == 1 and bases <= self.doubts.keys())

    def presume(
        self, a: int, b: int, rule: Rule, score: float, evidence: str, *, unrelated: bool = False
    ) -> bool:
        """Merge two clusters as `merge` does, or only propose it where a model is asked; return whether it is done."""
        if not self.asks:
            return self.merge(a, b, rule, score, evidence, unrelated=unrelated)
        a, b = self.root(a), self.root(b)
        why, conflict = self.conflict(a, b, unrelated=unrelated)
        if a != b and frozenset((a, b)) not in self._presumed:
            if not why:
                self._presumed.add(frozenset((a, b)))
                self._in_presumed |= {a, b}
            self.comparisons.append(
                Comparison(a, b, "apart", why, 0.9, conflict)
                if why
                else Comparison(a, b, "presumed", rule, score, evidence)
            )
        return not why

    def has_presumed(self, n: int) -> bool:
        """Return whether a cluster is presumed to be one with another."""
        return n in self._in_presumed

    def keep_apart(self, a: int, b: int) -> None:
        """Record why two clusters that a rule compared are not one entity, if anything conflicts."""
        why, conflict = self.conflict(a, b)
        if why:
            self.comparisons.append(Comparison(a, b, "apart", why, 0.9, conflict))

    def leave_undecided(self, a: int, b: int, rule: str, evidence: str) -> None:
        """Record two clusters that a rule suggests to merge without enough evidence."""
        self.comparisons.append(Comparison(self.root(a), self.root(b), "undecided", rule, 0.5, evidence))

    def shared_context(self, a: int, b: int) -> list[str]:
        """Return the names that co-occur with both clusters, ascending, without their own."""
        return [self.table.bases[number] for number in self._shared_names(self.root(a), self.root(b))]

    def _shared_names(self, a: int, b: int) -> list[int]:
        """Return the numbers of the names that co-occur with two clusters that were not merged into others."""
        shared = self.context(a) & self.context(b)
        if not shared:
            return []
        bases = [self.clusters[n].base for n in (a, b)]
        return sorted(shared - {int(self._same_as[bisect_left(self.table.bases, base)]) for base in bases})

    def context(self, n: int) -> frozenset[int]:
        """Return the numbers of the names that co-occur with a cluster that was not merged into another.

        All names of one entity have one number.
        """
        until, found = self._contexts.get(n, (-1, frozenset()))
        if until != self.n_merges:
            # Most have few, and sets of few numbers are faster than sorted arrays.
            found = frozenset(self._same_as[self.clusters[n].context_ids()].tolist())
            if len(self._contexts) >= _CACHED_CONTEXTS:
                self._contexts.clear()
            self._contexts[n] = self.n_merges, found
        return found

    def side_by_side(self, a: int, b: int) -> bool:
        """Return whether one window names both clusters."""
        first, second = self._windows(self.root(a)), self._windows(self.root(b))
        if isinstance(first, frozenset) and isinstance(second, frozenset):
            return not first.isdisjoint(second)
        return overlap(*(np.array(sorted(x)) if isinstance(x, frozenset) else x for x in (first, second)))

    def _windows(self, n: int) -> Array | frozenset[int]:
        size, found = self._windows_of.get(n, (0, frozenset[int]()))
        if size != self.clusters[n].size:
            size, windows = self.clusters[n].size, self.table.windows(self.clusters[n].rows)
            found = frozenset(windows.tolist()) if size <= _FEW else windows
            if len(self._windows_of) >= _CACHED_WINDOWS:
                self._windows_of.clear()
            self._windows_of[n] = (size, found)
        return found

    def evidence(
        self, a: int, b: int, *, listed: bool | None = None, size: int | None = None
    ) -> tuple[float, str]:
        """Return the amount of evidence that two clusters are one entity, 0 for none, and a text that names it.

        Args:
            a: a cluster.
            b: another one.
            listed: whether they are `side_by_side`, if that is known.
            size: mentions by which what they share is discounted; by default those of the larger.
        """
        a, b = self.root(a), self.root(b)
        left, right = self.clusters[a], self.clusters[b]
        if listed is None:
            listed = self.side_by_side(a, b)
        names = [] if listed else self._shared_names(a, b)
        bases, is_common = self.table.bases, self.table.is_common
        return weigh_evidence(
            left.attributes,
            right.attributes,
            rare=[bases[number] for number in names if not is_common[number]],
            common=[bases[number] for number in names if is_common[number]],
            listed=listed,
            size=size or max(left.size, right.size),
        )

    def given_names_conflict(self, a: int, b: int) -> bool:
        """Return whether two clusters of rows of a model are people of one surname with different given names."""
        clusters = [self.clusters[self.root(n)] for n in (a, b)]
        if not self.table.by_model or any(kind_of_type(c.majority_type()) != "person" for c in clusters):
            return False
        return given_names_conflict(*(self._names_of(self.root(n)) for n in (a, b)))

    def _names_of(self, n: int) -> frozenset[str]:
        size, found = self._names_by_cluster.get(n, (0, frozenset()))
        if size != self.clusters[n].size:
            rows = self.table.first_of_each_spelling(self.clusters[n].rows)
            found = frozenset(self.table.base(row) for row in rows)
            self._names_by_cluster[n] = (self.clusters[n].size, found)
        return found

    def same_kind(self, a: int, b: int) -> bool:
        """Return whether the types of two clusters are of one kind, or one of them says nothing."""
        kinds = {kind_of_type(self.clusters[self.root(n)].majority_type()) for n in (a, b)} - {""}
        return len(kinds) < 2

    def remaining(self) -> list[Cluster]:
        """Return the clusters that were not merged into others, in order."""
        return [cluster for n, cluster in enumerate(self.clusters) if self._parent[n] == n]


def merge_equated(merger: Merger) -> None:
    """Merge the names that a text says are one (``was renamed``), wherever they occur."""
    for first, second, link, predicate in merger.table.links:
        a, b = merger.cluster_of_row(first), merger.cluster_of_row(second)
        if link == EQUATES:
            merger.merge(a, b, "equated by text", 0.95, predicate)
        elif link == LISTED and a != b:
            merger.presume(a, b, "alias in document", 0.9, predicate)
