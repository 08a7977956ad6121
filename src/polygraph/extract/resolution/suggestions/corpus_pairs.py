"""Pairs of names that no rule compares and that may still be one entity: left undecided, for a model or a reader.

A pair needs the more in common the less its names are alike. Names of which nothing is alike (a common name beside a
Latin one, a stage name) must each be the best that the other one has. Both entities must be of one kind, stand in no
text together and conflict in nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Set
from itertools import combinations, count, product

import numpy as np

from polygraph.arrays import distinct, pair_numbers
from polygraph.extract.resolution.clusters.merger import Comparison, Merger
from polygraph.extract.resolution.evidence.attributes import STEM
from polygraph.extract.resolution.names.romanize import is_other_script
from polygraph.extract.resolution.suggestions.similar_names import (
    EQUAL,
    HALF,
    SOME,
    content_words,
    similar_names,
)
from polygraph.extract.resolution.suggestions.text_pairs import asked_kind, suggest_from_texts
from polygraph.extract.resolution.vocabulary.general_nouns import is_general_noun
from polygraph.extract.resolution.vocabulary.kinds import CLASS_OF_NOUN, kind_of_type

_MAX_BLOCK = 15
"""Names that share a context name or a word; larger blocks say too little."""
_MAX_SUGGESTIONS = 3
"""Pairs for one name, those with most in common first."""
_ENOUGH = {EQUAL: 0.0, HALF: 0.5, SOME: 1.5}
"""Evidence that a pair needs, by how alike its names are."""
_MAX_NAMESAKES = 4
"""Entities of one name that are asked about."""
_OTHER_SCRIPT = 1.0
_LIKENESS = 2.0
"""How much more than evidence the likeness of names counts in the choice of pairs."""
_SUFFIX = 1.5
"""Evidence of two names that are both called the younger."""
_DESCRIBED = 2.0
"""Evidence of a name whose words are all in the descriptions of another one."""
_OFTEN_DESCRIBED = frozenset(["person", "event"])
"""Kinds of which descriptions name others."""
_DESCRIBED_WORD = 4
"""Letters of a word that descriptions keep."""
_MAX_DESCRIBED = 5
_UNLIKE = 3.0
"""Evidence for names of which nothing is alike."""


class _ClustersByName:
    """The clusters of each name, while none is merged.

    Args:
        merger: of the clusters.
    """

    def __init__(self, merger: Merger) -> None:
        self._merger = merger
        self.clusters = {base: merger.roots([base]) for base in merger.numbers}
        """Clusters by base name, ascending."""
        numbers = {n for some in self.clusters.values() for n in some}
        self.kind_of = {n: kind_of_type(merger.clusters[n].majority_type()) for n in numbers}
        self.asked_kinds = {n: asked_kind(merger, n) for n in numbers}
        kinds = {base: {self.asked_kinds[n] for n in some} - {""} for base, some in self.clusters.items()}
        self.kinds = {base: frozenset(some) for base, some in kinds.items() if some}
        """Kinds of the clusters of each base name that has one."""
        self._have_full_name: dict[int, bool] = {}

    def are_rarely_one(self, x: int, y: int, *, is_other: bool) -> bool:
        """Return whether two things of which the names are not alike are rarely one.

        They are of two kinds, or, unless of two scripts, places or people with full names.
        """
        kind = self.kind_of[x]
        if kind != self.kind_of[y]:
            return True
        if is_other or kind not in ("place", "person"):
            return False
        return kind == "place" or (self._has_full_name(x) and self._has_full_name(y))

    def _has_full_name(self, n: int) -> bool:
        if (found := self._have_full_name.get(n)) is None:
            table = self._merger.table
            rows = table.first_of_each_spelling(self._merger.clusters[n].rows)
            found = self._have_full_name[n] = any(" " in table.base(row) for row in rows)
        return found


def suggest_pairs(merger: Merger) -> None:
    """Leave pairs undecided that no rule compares, and presume those to be one that were parted only to ask."""
    if not merger.table.by_model:
        return
    for base, reason in sorted(merger.doubts.items()):
        for x, y in combinations(merger.roots([base]), 2):
            # They would be one if nobody were asked, whatever each has become since.
            if merger.conflict(x, y)[0] in ("", "attributes"):
                merger.comparisons.append(Comparison(x, y, "presumed", "same name", 0.8, reason))
    _suggest_namesakes(merger)
    by_name = _ClustersByName(merger)
    kinds = by_name.kinds
    alike = similar_names(kinds, _as_written(merger, kinds))
    n_equal = Counter(base for pair, likeness in alike.items() if likeness == EQUAL for base in pair)
    needed = {
        pair: 0.0 if likeness == EQUAL and max(n_equal[base] for base in pair) == 1 else _ENOUGH[likeness]
        for pair, likeness in alike.items()
    }
    for a, b in alike:
        if is_other_script(a) != is_other_script(b):
            # A long word that sounds alike in two scripts is seldom another one.
            needed[a, b] = min(needed[a, b], _ENOUGH[HALF])
    words = {base: frozenset(content_words(base)) for base in kinds}
    foreign = {base for base in kinds if is_other_script(base)}
    for a, b in _with_shared_context(merger, by_name, foreign):
        is_other = (a in foreign) != (b in foreign)
        # Names with a word in common were compared.
        if is_other or (a, b) in alike or words[a].isdisjoint(words[b]):
            least = _OTHER_SCRIPT if is_other else _UNLIKE
            needed[a, b] = min(least, needed.get((a, b), least))
    described = _with_name_described(merger, by_name)
    needed |= {pair: min(needed.get(pair, _ENOUGH[HALF]), _ENOUGH[HALF]) for pair in described}
    suggest_from_texts(merger, alike)
    found = _fitting(merger, by_name, needed, alike, described)
    best: dict[int, tuple[float, tuple[int, int]]] = {}
    for pair, (surplus, _, _) in found.items():
        for n in pair:
            best[n] = max(best.get(n, (-1.0, pair)), (surplus, pair))
    n_of: dict[int, int] = defaultdict(int)
    for pair, (_, least, text) in sorted(found.items(), key=lambda item: (-item[1][0], item[0])):
        x, y = pair
        if least == _UNLIKE and not best[x][1] == best[y][1] == pair:
            continue
        if max(n_of[x], n_of[y]) < _MAX_SUGGESTIONS:
            n_of[x] += 1
            n_of[y] += 1
            merger.leave_undecided(x, y, "short name", text)


def _fitting(
    merger: Merger,
    by_name: _ClustersByName,
    needed: Mapping[tuple[str, str], float],
    alike: Mapping[tuple[str, str], float],
    described: Set[tuple[str, str]],
) -> dict[tuple[int, int], tuple[float, float, str]]:
    """Return the pairs of clusters that have the evidence that their names need.

    Args:
        merger: of the clusters.
        by_name: the same by name.
        needed: by pair of names.
        alike: how alike names are.
        described: names of which one is described with the words of the other.

    Returns:
        For each pair its rank, the evidence that was needed, and the evidence for readers.
    """
    found: dict[tuple[int, int], tuple[float, float, str]] = {}
    asked_kinds = by_name.asked_kinds
    for names, least in needed.items():
        is_other = least == _OTHER_SCRIPT
        is_unlike = names not in alike and names not in described
        for x, y in product(by_name.clusters[names[0]], by_name.clusters[names[1]]):
            if (
                x == y
                or asked_kinds[x] != asked_kinds[y]
                or (is_unlike and by_name.are_rarely_one(x, y, is_other=is_other))
                or merger.side_by_side(x, y)
            ):
                continue
            strength, text = merger.evidence(x, y, listed=False)
            strength += _SUFFIX * _of_one_generation(merger, x, y)
            if names in described:
                strength, text = strength + _DESCRIBED, text or "the name of one in what is said of the other"
            if strength < least or merger.conflict(x, y)[0] or merger.given_names_conflict(x, y):
                continue
            pair = (min(x, y), max(x, y))
            rank = strength - least + _LIKENESS * alike.get(names, 0.0)
            found[pair] = max(found.get(pair, (0.0, 0.0, "")), (rank, least, text))
    return found


def _with_name_described(merger: Merger, by_name: _ClustersByName) -> set[tuple[str, str]]:
    """Return names of one kind where one is described with all words of the other, two or more of them."""
    described: dict[str, set[str]] = defaultdict(set)
    kinds = by_name.kinds
    for base in kinds:
        for n in () if is_general_noun(base) else by_name.clusters[base]:
            for word in merger.clusters[n].attributes.words if by_name.kind_of[n] != "place" else ():
                described[word].add(base)
    found = set()
    for base in sorted(kinds):
        if _OFTEN_DESCRIBED & kinds[base]:
            continue
        words = [word for word in content_words(base) if len(word) >= _DESCRIBED_WORD]
        if len(words) < _DESCRIBED or all(word in CLASS_OF_NOUN for word in words):
            continue
        others = set[str].intersection(*(described.get(word[:STEM], set()) for word in words)) - {base}
        if len(others) <= _MAX_DESCRIBED:
            found |= {(min(base, x), max(base, x)) for x in others if kinds[base] & kinds[x]}
    return found


def _of_one_generation(merger: Merger, x: int, y: int) -> bool:
    first, second = (merger.clusters[merger.root(n)].attributes.suffix for n in (x, y))
    return first == second != ""


def _suggest_namesakes(merger: Merger) -> None:
    """Leave namesakes undecided that only differ in what may change or be said in several ways."""
    for base, reason in merger.soft_splits():
        of_name = merger.roots([base])[:_MAX_NAMESAKES]
        for x, y in combinations(of_name, 2):
            strength, text = merger.evidence(x, y)
            if (
                strength >= _ENOUGH[EQUAL]
                and not merger.side_by_side(x, y)
                and not merger.conflict(x, y, namesakes=True)[0]
            ):
                merger.leave_undecided(x, y, "same name", f"{text}; {reason}")


def _as_written(merger: Merger, bases: Iterable[str]) -> dict[str, str]:
    table = merger.table
    return {
        base: table.strings[table.written[int(merger.clusters[merger.numbers[base][0]].rows[0])]]
        for base in bases
    }


def _with_shared_context(
    merger: Merger, by_name: _ClustersByName, foreign: Set[str]
) -> list[tuple[str, str]]:
    """Return the names of one kind that have context names and rare words of descriptions in common.

    Two of these, or one where one name alone is of another script.
    """
    bases = sorted(by_name.kinds)
    n_bases = max(len(bases), 1)
    numbers = defaultdict[str, int](count(len(merger.table.bases)).__next__)
    """Numbers of words, which follow those of context names."""
    shared: list[int] = []
    ends = [0]
    for base in bases:
        for n in by_name.clusters[base]:
            cluster = merger.clusters[n]
            if not cluster.is_lower_case():
                shared += merger.context(n)
                shared += map(numbers.__getitem__, cluster.attributes.words)
        ends.append(len(shared))
    keys = np.array(shared, dtype=np.int64) * n_bases + np.repeat(np.arange(len(bases)), np.diff(ends))
    keys = distinct(keys)
    begins = np.flatnonzero(np.diff(keys // n_bases, prepend=-1))
    sizes, names = np.diff(begins, append=len(keys)), keys % n_bases
    pairs = [
        pair_numbers(names[begins[sizes == size][:, None] + np.arange(size)], n_bases)
        for size in range(2, _MAX_BLOCK + 1)
    ]
    found, counts = np.unique(np.concatenate(pairs), return_counts=True)
    is_foreign = np.array([base in foreign for base in bases], dtype=np.bool_)
    first, second = found // n_bases, found % n_bases
    kept = (counts > 1) | (is_foreign[first] != is_foreign[second])
    chosen = ((bases[a], bases[b]) for a, b in zip(first[kept].tolist(), second[kept].tolist(), strict=True))
    return [(a, b) for a, b in chosen if by_name.kinds[a] & by_name.kinds[b]]
