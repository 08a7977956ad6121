"""Pairs of names that no rule compares and that may still be one entity: left undecided, for a model or a reader.

A pair needs the more in common the less its names are alike. Names of which nothing is alike (a common name beside a
Latin one, a stage name) must each be the best that the other one has. Both entities must be of one kind, stand in no
text together and conflict in nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Set
from itertools import combinations, product

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
    kinds = {
        base: frozenset(asked_kind(merger, n) for n in numbers) - {""}
        for base, numbers in merger.numbers.items()
    }
    kinds = {base: some for base, some in kinds.items() if some}
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
    for (a, b), n_shared in _with_shared_context(merger, kinds).items():
        is_other = (a in foreign) != (b in foreign)
        # Names with a word in common were compared.
        is_unlike = (a, b) in alike or words[a].isdisjoint(words[b])
        if is_other or (n_shared > 1 and is_unlike):
            least = _OTHER_SCRIPT if is_other else _UNLIKE
            needed[a, b] = min(least, needed.get((a, b), least))
    described = _with_name_described(merger, kinds)
    needed |= {pair: min(needed.get(pair, _ENOUGH[HALF]), _ENOUGH[HALF]) for pair in described}
    suggest_from_texts(merger, alike)
    found = _fitting(merger, needed, alike, described)
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
    needed: Mapping[tuple[str, str], float],
    alike: Mapping[tuple[str, str], float],
    described: Set[tuple[str, str]],
) -> dict[tuple[int, int], tuple[float, float, str]]:
    """Return the pairs of clusters that have the evidence that their names need.

    Args:
        merger: of the clusters.
        needed: by pair of names.
        alike: how alike names are.
        described: names of which one is described with the words of the other.

    Returns:
        For each pair its rank, the evidence that was needed, and the evidence for readers.
    """
    found: dict[tuple[int, int], tuple[float, float, str]] = {}
    for names, least in needed.items():
        for x, y in product(merger.roots([names[0]]), merger.roots([names[1]])):
            if x == y or merger.side_by_side(x, y) or asked_kind(merger, x) != asked_kind(merger, y):
                continue
            strength, text = merger.evidence(x, y, listed=False)
            strength += _SUFFIX * _of_one_generation(merger, x, y)
            if names in described:
                strength, text = strength + _DESCRIBED, text or "the name of one in what is said of the other"
            is_other = least == _OTHER_SCRIPT
            is_unlike = names not in alike and names not in described
            if (
                strength < least
                or (is_unlike and _rarely_one(merger, x, y, is_other=is_other))
                or merger.conflict(x, y)[0]
                or merger.given_names_conflict(x, y)
            ):
                continue
            pair = (min(x, y), max(x, y))
            rank = strength - least + _LIKENESS * alike.get(names, 0.0)
            found[pair] = max(found.get(pair, (0.0, 0.0, "")), (rank, least, text))
    return found


def _with_name_described(merger: Merger, kinds: Mapping[str, Set[str]]) -> set[tuple[str, str]]:
    """Return names of one kind where one is described with all words of the other, two or more of them."""
    described: dict[str, set[str]] = defaultdict(set)
    for base in kinds:
        for n in () if is_general_noun(base) else merger.numbers[base]:
            cluster = merger.clusters[merger.root(n)]
            for word in cluster.attributes.words if kind_of_type(cluster.majority_type()) != "place" else ():
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


def _rarely_one(merger: Merger, x: int, y: int, *, is_other: bool) -> bool:
    """Return whether two things of which the names are not alike are rarely one.

    They are of two kinds, or, unless of two scripts, places or people with full names.
    """
    table = merger.table
    kinds = {kind_of_type(merger.clusters[merger.root(n)].majority_type()) for n in (x, y)}
    return (
        len(kinds) > 1
        or (not is_other and kinds == {"place"})
        or (
            not is_other
            and kinds == {"person"}
            and all(
                any(" " in table.base(row) for row in table.first_of_each_spelling(merger.clusters[n].rows))
                for n in (x, y)
            )
        )
    )


def _as_written(merger: Merger, bases: Iterable[str]) -> dict[str, str]:
    table = merger.table
    return {
        base: table.strings[table.written[int(merger.clusters[merger.numbers[base][0]].rows[0])]]
        for base in bases
    }


def _with_shared_context(merger: Merger, kinds: Mapping[str, Set[str]]) -> Counter[tuple[str, str]]:
    """Count the context names and the rare words of descriptions that two names of one kind have in common."""
    bearers: dict[int | str, set[str]] = defaultdict(set)
    for base in kinds:
        for n in merger.numbers[base]:
            cluster = merger.clusters[merger.root(n)]
            if cluster.is_lower_case():
                continue
            for context in cluster.context_ids().tolist():
                bearers[merger.same_as(context)].add(base)
            for word in cluster.attributes.words:
                bearers[word].add(base)
    pairs: Counter[tuple[str, str]] = Counter()
    for names in bearers.values():
        if 1 < len(names) <= _MAX_BLOCK:
            pairs.update(pair for pair in combinations(sorted(names), 2) if kinds[pair[0]] & kinds[pair[1]])
    return pairs
