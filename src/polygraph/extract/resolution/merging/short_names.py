"""Short names across documents: a surname, a given name or an acronym merges with the nearest longer name.

Where several longer names fit, each document decides for itself, by names, offices, years and words that it shares with
one of them; without such evidence the name stays an entity of its own.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from polygraph.arrays import distinct, overlap
from polygraph.extract.full_names import is_full_name
from polygraph.extract.lexicon import FEMALE_TITLES, MALE_TITLES, MEN, TITLES_BEFORE_GIVEN_NAMES, WOMEN
from polygraph.extract.resolution.clusters.cluster import Cluster
from polygraph.extract.resolution.clusters.merger import Merger
from polygraph.extract.resolution.mentions.mention_table import MentionTable
from polygraph.extract.resolution.merging.candidates import SURE
from polygraph.extract.resolution.merging.courtesy_titles import COURTESY_TITLES, is_title_left_out
from polygraph.extract.resolution.names.acronyms import acronym_letters, initials, is_acronym
from polygraph.extract.resolution.names.name_parts import SUFFIX_OF_NUMBER, gender_of
from polygraph.extract.resolution.names.romanize import is_other_script, phonetic_key
from polygraph.extract.resolution.records import RULES, Rule
from polygraph.extract.resolution.vocabulary.kinds import kind_of_type
from polygraph.text.normalize import fold

_HAN = re.compile("[\u4e00-\u9fff]+")
_ALIAS = RULES.index("alias in document")
_NEAR = 1.0
"""Minimum evidence for assigning a short name to one of several longer names."""
_MAX_CANDIDATES = 30
"""Longer names that a short one is compared with; cost grows with their number times that of the short ones."""
_MAX_PRESUMED = 3
"""Clusters of one short name that a model is asked about where nothing speaks for the only longer name."""
_MAX_LISTED = 3
"""Longer names for which the reasons against a merge are listed."""
_MANY, _MOST = 10, 0.75
"""Mentions, and share of the mentions of a given name, with which the rest go where they are."""
_MAX_LEFT = 20
"""Clusters of one short name that others of it are compared with."""


class LongNames:
    """The longer names that a surname, a given name or an acronym may stand for.

    Args:
        table: of all mentions.
    """

    def __init__(self, table: MentionTable) -> None:
        self._by_model = table.by_model
        self.surnames: dict[str, list[str]] = defaultdict(list)
        """Base names of people by their folded surname."""
        self.sounding: dict[str, list[str]] = defaultdict(list)
        """Base names of people by the phonetic key of their surname."""
        self.given: dict[str, list[str]] = defaultdict(list)
        """Base names of people by their folded first name."""
        self.middle: dict[str, list[str]] = defaultdict(list)
        """Base names of people by their folded last name but one, which is a surname in Spanish and Portuguese."""
        self.beginning: dict[str, list[str]] = defaultdict(list)
        """Base names of people in Chinese characters by their first one or two, which are the surname."""
        self.acronyms: dict[str, list[str]] = defaultdict(list)
        """Base names that a document abbreviates, by the base name of the acronym; else those with its initials."""
        self.single: set[str] = set()
        """Base names of people that are one word."""
        person = np.array([kind_of_type(type_) == "person" for type_ in table.types], dtype=np.bool_)
        by_initials: dict[str, list[str]] = defaultdict(list)
        short = []
        for base, (begin, end) in zip(table.bases, pairwise(table.ends.tolist()), strict=False):
            words = base.split()
            if len(words) > 2 and words[-1] in SUFFIX_OF_NUMBER:
                del words[-1]
            if person[table.type[begin:end]].any():
                self._add_person(base, words)
            elif 1 < len(words) < 10 and not words[0][0].isdigit():
                for letters in sorted(initials(words)):
                    by_initials[letters].append(base)
            if len(words) == 1 and len(base) < 12 and is_acronym(table.strings[table.written[begin]]):
                short.append(base)
            if table.by_model and len(words) > 1:
                self._add_abbreviations(base, table, range(begin, end))
        for base in short:
            letters = acronym_letters(base)
            if base not in self.acronyms and len(letters) > 2 and by_initials.get(letters):
                self.acronyms[base] = by_initials[letters]

    def _add_person(self, base: str, words: Sequence[str]) -> None:
        """Add a name of a person."""
        if len(words) == 1:
            self.single.add(base)
            if self._by_model and 2 < len(base) < 5 and _HAN.fullmatch(base):
                for n in (1, 2):
                    self.beginning[base[:n]].append(base)
        elif len(words) > 1 and is_full_name(words):
            self.surnames[fold(words[-1])].append(base)
            if self._by_model:
                self.sounding[phonetic_key(words[-1])].append(base)
                self.given[fold(words[0])].append(base)
                if len(words) > 2 and words[-2] not in MEN | WOMEN and len(words[-2]) > 2:
                    self.middle[fold(words[-2])].append(base)

    def _add_abbreviations(self, base: str, table: MentionTable, rows: Iterable[int]) -> None:
        """Add the acronyms by which documents abbreviate a name."""
        for row in rows:
            if table.rule[row] == _ALIAS and is_acronym(table.strings[table.written[row]]):
                key = table.name(row).key
                if base not in self.acronyms[key]:
                    self.acronyms[key].append(base)

    def uncertain(self, base: str) -> list[str]:
        """Return the base names that a single name may stand for by other than the surname."""
        return self.given.get(fold(base), []) + self.middle.get(fold(base), [])

    def with_surname(self, base: str) -> list[str]:
        """Return the base names of people with a surname, also in another script."""
        found, other = self.surnames.get(fold(base), []), is_other_script(base)
        alike = [name for name in self.sounding.get(phonetic_key(base), ()) if is_other_script(name) != other]
        return found + self.beginning.get(base, []) + (alike if len(base) > 3 else [])

    def ambiguous(self) -> set[str]:
        """Return the short base names that several longer ones fit."""
        # A name that one person bears may still be that of two, if the clusters of his name are two.
        least = 1 if self._by_model else 2
        people = {base for base in self.single if len(self.with_surname(base)) >= least}
        people |= {base for base in self.single if self.uncertain(base)}
        return people | {base for base, long in self.acronyms.items() if len(long) > 1}


class _Choice(NamedTuple):
    """What a cluster of a short name may stand for."""

    cluster: int
    is_certain: bool
    """Whether it is the first candidate without evidence."""
    least: float
    """Evidence that the first candidate needs otherwise."""
    ranked: list[tuple[float, str, int]]
    """Evidence for each candidate, a text that names it, and its cluster; strongest first."""


def merge_short_names(merger: Merger, long: LongNames) -> None:
    """Merge short names with the longer name that they stand for, unless attributes conflict."""
    bases = sorted(base for base in merger.numbers if base in long.acronyms)
    for base in bases:
        _merge_with_longer(merger, base, long.acronyms[base], "acronym")
    for base in sorted(base for base in merger.numbers if base in long.single):
        surnames, others = long.with_surname(base), long.uncertain(base)
        if surnames and others and merger.table.by_model:
            _merge_with_longer(merger, base, others, "alias in document", is_given=True, of_given=True)
        if surnames:
            _merge_with_longer(merger, base, surnames, "alias in document")
        elif others:
            _merge_with_longer(merger, base, others, "alias in document", is_given=True)


def _merge_with_longer(
    merger: Merger,
    base: str,
    names: Iterable[str],
    rule: Rule,
    *,
    is_given: bool = False,
    of_given: bool = False,
) -> None:
    """Merge each cluster of a short name with the nearest longer name.

    Args:
        merger: of the clusters.
        base: the short name.
        names: base names of the longer ones.
        rule: of the merges.
        is_given: whether it is not their surname, so that the only one needs evidence.
        of_given: only clusters with a title that stands before given names (``Sir Elton``).
    """
    is_person, table = rule == "alias in document", merger.table
    candidates = merger.roots(sorted(names))
    if is_person:
        # A ship or a work that bears the surname does not make it ambiguous.
        candidates = [m for m in candidates if _is_person(merger.clusters[m])]
    if len(candidates) > _MAX_CANDIDATES:
        return  # so common a name says nothing
    short = _unmerged(merger, base, is_person=is_person, of_given=of_given)
    sizes = {n: merger.clusters[n].size for n in short}
    # All choose before any merges, so that none is drawn by what another brought along.
    choices = _choices(merger, base, short, candidates, is_person=is_person, is_given=is_given)
    unsure = [c.cluster for c in choices if not c.is_certain and (not c.ranked or c.ranked[0][0] < _NEAR)]
    unsure = unsure[:_MAX_LEFT] if is_person and table.by_model else []
    left = []
    for choice in choices:
        n, ranked = choice.cluster, choice.ranked
        # ``Wray`` is rather the Inspector Wray of another text than the only other person of that name.
        has_nearer = any(m != n and _hold_one_office(merger, n, m) for m in unsure)
        if (has_nearer and ranked and ranked[0][0] < _NEAR) or not _merge_nearest(
            merger, choice, rule, is_few=len(choices) <= _MAX_PRESUMED
        ):
            left.append(n)
    if is_given and len(candidates) == 1 and table.by_model:
        left = _merge_with_most(merger, left, sizes, candidates[0])
    _merge_left(merger, left, least=_NEAR if len(candidates) > 1 else 0.0)


def _unmerged(merger: Merger, base: str, *, is_person: bool, of_given: bool) -> list[int]:
    """Return the clusters of a short name that no rule has merged or presumed to be a longer one."""
    found = [
        n
        for n in merger.numbers[base]
        if merger.root(n) == n
        and not merger.has_presumed(n)
        and (not is_person or _is_surname(merger.clusters[n], merger.table))
    ]
    if of_given:
        found = [n for n in found if merger.clusters[n].attributes.titles & TITLES_BEFORE_GIVEN_NAMES]
    return found


def _choices(
    merger: Merger,
    base: str,
    short: Sequence[int],
    candidates: Sequence[int],
    *,
    is_person: bool,
    is_given: bool,
) -> list[_Choice]:
    """Return what each cluster of a short name may stand for.

    Where the candidates are few, the reasons against each are listed.
    """
    table = merger.table
    # What a text says of ``Alderman Threave`` holds for that name in other texts.
    key_of = {n: table.name(int(merger.clusters[n].rows[0])).key for n in short}
    refused = {
        (key_of[n], m)
        for n in short
        for m in candidates
        if key_of[n] != base and m != n and merger.conflict(n, m)[0] == "statement"
    }
    for n in short if len(candidates) <= _MAX_LISTED else ():
        for m in candidates:
            if m != n:
                merger.keep_apart(n, m)
    choices = []
    for n in short:
        possible = [
            m
            for m in candidates
            if m != n and (key_of[n], m) not in refused and _may_stand_for(merger, n, m, is_person)
        ]
        if is_person and not table.by_model:
            # In a text that gives full names with it, a surname means one of these people, or a holder of its office.
            near = {m for m in possible if _share_document(merger, n, m)}
            possible = [m for m in possible if not near or m in near or _hold_one_office(merger, n, m)]
        ranked = _ranked(merger, n, possible)
        least = _evidence_needed(merger, n, ranked[0][2]) if is_person and ranked else _NEAR
        is_certain = (
            bool(possible)
            and least <= _NEAR
            and merger.are_presumed_one(possible)
            and not is_given
            and not (is_person and _is_other_office(merger, n, ranked[0]))
            # Where several people have the surname, ``Mrs.`` may be the wife of any of them.
            and not (
                is_person and _is_married(merger.clusters[n]) and _is_unsure(merger, candidates, possible[0])
            )
        )
        choices.append(_Choice(n, is_certain, least, ranked))
    return choices


def _ranked(merger: Merger, n: int, candidates: Sequence[int]) -> list[tuple[float, str, int]]:
    """Return the evidence for each candidate, strongest first."""
    found = [(*merger.evidence(n, m), m) for m in candidates]
    return sorted(found, key=lambda item: (-item[0], item[2]))


def _merge_nearest(merger: Merger, choice: _Choice, rule: Rule, *, is_few: bool) -> bool:
    """Merge a cluster with the only candidate, or with the one that has most evidence; return whether it was merged."""
    n, ranked = choice.cluster, choice.ranked
    if not ranked:
        return False
    best, text, first = ranked[0]
    if choice.is_certain:
        merge = merger.presume if is_few and best < _NEAR else merger.merge
        return merge(n, first, rule, 0.7, "the only one of this name", unrelated=True)
    if best >= choice.least and (merger.are_presumed_one([m for _, _, m in ranked]) or best > ranked[1][0]):
        merge = merger.presume if _is_of_unknown_gender(merger, n, first) else merger.merge
        if not (merger.asks and _has_equal(merger, n, ranked)) and merge(n, first, rule, 0.7, text):
            return True
    for _, _, m in ranked[:3]:
        merger.leave_undecided(
            n, m, rule, "several of this name" if len(ranked) > 1 else "too little in common"
        )
    return False


def _has_equal(merger: Merger, n: int, ranked: Sequence[tuple[float, str, int]]) -> bool:
    """Return whether a cluster has as much in common with another candidate as with the first.

    The first may be ahead only because less is said of it: what is shared with a larger cluster counts less.
    """
    first, *others = (merger.evidence(n, m, size=1)[0] for _, _, m in ranked)
    return any(other >= first for other in others)


def _merge_with_most(merger: Merger, left: list[int], sizes: Mapping[int, int], long: int) -> list[int]:
    """Merge what is left of a given name of which most mentions are the only longer name; return what is still left.

    Args:
        merger: of the clusters.
        left: clusters of the given name.
        sizes: of all clusters of the given name, before they merged.
        long: the cluster of the longer name.
    """
    joined = [n for n in sizes if merger.root(n) == merger.root(long)]
    if sum(sizes[n] for n in joined) < max(_MANY, _MOST * sum(sizes.values())):
        return left
    return [
        n
        for n in left
        if not _may_stand_for(merger, n, merger.root(long), is_person=True)
        or not merger.merge(n, long, "alias in document", 0.7, "as most mentions of the name")
    ]


def _merge_left(merger: Merger, left: Sequence[int], *, least: float) -> None:
    """Merge what is left of a short name: the same title and something in common.

    Args:
        merger: of the clusters.
        left: clusters of one base name.
        least: evidence that is needed.
    """
    first_with: list[tuple[str, int]] = []
    for n in left:
        key = merger.table.name(int(merger.clusters[n].rows[0])).key
        for other, m in first_with[:_MAX_LEFT]:
            score, text = merger.evidence(n, m)
            needed = least if key == other else max(least, _NEAR)
            if score >= needed and merger.merge(m, n, "same name", 0.8, text, unrelated=score <= 0):
                break
        else:
            first_with.append((key, n))


def _may_stand_for(merger: Merger, short: int, long: int, is_person: bool) -> bool:
    """Return whether nothing speaks against a short name standing for a longer one."""
    if merger.conflict(short, long)[0]:
        return False
    if not is_person:
        return True
    table = merger.table
    person, name = merger.clusters[long], merger.clusters[short]
    if not _is_person(person) or merger.given_names_conflict(short, long):
        return False
    if not table.by_model and name.attributes.courtesy_conflict(person.attributes):
        return False
    # ``Mrs. Quill`` requires a woman; a bare name or ``Mr.`` only excludes one.
    ours, theirs = _gender(name, table), _gender(person, table)
    requires = "f" in (ours, theirs) and not (table.by_model and "" in (ours, theirs))
    return ours in ("", theirs) or not requires


def _evidence_needed(merger: Merger, n: int, long: int) -> float:
    """Return how much evidence a longer name needs: more if the names themselves speak for two people.

    ``Dr. Roth the younger`` says that there is another of that name, who has his town and trade as well; a longer name
    may stand without ``Mr.`` where others have it.
    """
    short, full = merger.clusters[n], merger.clusters[long]
    if not merger.table.by_model:
        return _NEAR
    if short.attributes.suffix and short.attributes.suffix != full.attributes.suffix:
        return math.inf
    is_mr = bool(short.attributes.titles & COURTESY_TITLES)
    return SURE if is_mr and is_title_left_out(merger.table, full.rows) else _NEAR


def _is_of_unknown_gender(merger: Merger, n: int, long: int) -> bool:
    """Return whether a wife may be the person of a longer name only if that is a woman, which nothing says."""
    return _is_married(merger.clusters[n]) and not _gender(merger.clusters[long], merger.table)


def _is_unsure(merger: Merger, candidates: Sequence[int], candidate: int) -> bool:
    """Return whether a wife may be another person than the only woman of that name."""
    return len(candidates) > 1 or not _gender(merger.clusters[candidate], merger.table)


def _is_other_office(merger: Merger, n: int, ranked: tuple[float, str, int]) -> bool:
    """Return whether a title such as ``Captain`` is the only thing known of a surname, and nothing links it to a name.

    Many people share a surname; ``Mr.`` may be any of them, but an office is usually told of its holder.
    """
    strength = ranked[0]
    return bool(merger.clusters[n].attributes.titles - MALE_TITLES - FEMALE_TITLES) and strength < _NEAR


def _hold_one_office(merger: Merger, n: int, m: int) -> bool:
    """Return whether a title of one surname is a title or an occupation of another."""
    first, second = (merger.clusters[x].attributes for x in (n, m))
    shared = (first.titles | first.occupations) & (second.titles | second.occupations)
    return bool(shared - MALE_TITLES - FEMALE_TITLES)


def _share_document(merger: Merger, n: int, m: int) -> bool:
    """Return whether a document mentions both of two clusters."""
    first, second = (distinct(merger.table.document(merger.clusters[x].rows)) for x in (n, m))
    return overlap(first, second)


def _is_married(cluster: Cluster) -> bool:
    return cluster.attributes.married == "yes"


def _is_surname(cluster: Cluster, table: MentionTable) -> bool:
    return _is_person(cluster) and not table.all_lower_case(cluster.rows[:1])


def _is_person(cluster: Cluster) -> bool:
    return kind_of_type(cluster.majority_type()) == "person" and cluster.attributes.kind != "ship"


def _gender(cluster: Cluster, table: MentionTable) -> str:
    found: Iterable[str] = (gender_of(table.name(row)) for row in table.first_of_each_spelling(cluster.rows))
    return next((gender for gender in found if gender), "") or cluster.attributes.gender
