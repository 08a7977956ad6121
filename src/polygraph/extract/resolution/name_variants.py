"""One thing under several names across documents: initials, short forms, other scripts, places before a name.

Likeness of names only suggests a pair. Names merge if the longer one is the only one that fits and the form leaves no
doubt, or if both have something in common: names beside them, an office, a place, a year, words of their descriptions.
Other pairs stay apart and are listed as undecided.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from polygraph.extract.lexicon import FULL_NAMES, MEN, WOMEN
from polygraph.extract.resolution.aliases import is_full_name
from polygraph.extract.resolution.blocking import similarity
from polygraph.extract.resolution.kinds import kind_of_type
from polygraph.extract.resolution.merger import Merger
from polygraph.extract.resolution.name_parts import fold
from polygraph.extract.resolution.records import Rule
from polygraph.extract.resolution.regions import place_in_english
from polygraph.extract.resolution.romanize import consonants, is_other_script, sounds

_EPITHETS = frozenset(
    ["young", "old", "little", "big", "elder", "younger", "junior", "senior", "late", "former", "saint"]
)
_LANDFORMS = frozenset(["river", "mount", "mt", "rio", "río", "fiume", "rivière"])
_MAX_BLOCK = 100
"""Names per block; in larger ones no name is the only one that fits."""
_ENOUGH = 1.0
"""Evidence that makes one of a form that leaves doubt; see `Merger.evidence`."""
_SOUNDS_ALIKE = 0.8
_TRANSCRIPTION = 0.1
"""Transcriptions of one name are that much less alike than the best at most."""


def merge_name_variants(merger: Merger) -> None:
    """Merge clusters whose names are forms of one name, unless something conflicts."""
    if merger.table.by_model:
        _merge_scripts(merger)
        _merge_exonyms(merger)
        _merge_people(merger)
        _merge_qualified(merger)


def _merge_people(merger: Merger) -> None:
    """Merge short forms of full names with the only longer name that fits."""
    people = [
        base for base, kind in _kinds(merger).items() if kind == "person" and is_full_name(base.split())
    ]
    longer: dict[str, set[str]] = defaultdict(set)
    for block in _blocks(people):
        for short in block:
            longer[short].update(long for long in block if _may_be_short_for(short, long))
    for short in sorted(longer, key=lambda base: (len(base), base)):
        fitting = [long for long in sorted(longer[short]) if not _is_nested(long, longer[short], longer)]
        if fitting:
            certain = all(_is_certain(short, long) for long in fitting)
            for n in merger.roots([short]):
                _merge_with_one(merger, n, merger.roots(fitting), certain=certain, rule="short name")


def _kinds(merger: Merger) -> dict[str, str]:
    """Return the kind of each base name: that of its first cluster."""
    return {
        base: kind_of_type(merger.clusters[merger.root(numbers[0])].majority_type())
        for base, numbers in merger.numbers.items()
    }


def _blocks(people: Iterable[str]) -> Iterator[list[str]]:
    """Yield people with one surname and initial, and people with the same last two names."""
    blocks: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for base in people:
        words = fold(base).split()
        for letter in sorted({word[0] for word in (words[0], *FULL_NAMES.get(words[0], ()))}):
            blocks[words[-1], letter].append(base)
        blocks[words[-2], words[-1], ""].append(base)
        if len(words) == 2:
            blocks[*sorted(words), "reversed"].append(base)
    return (block for block in blocks.values() if 1 < len(block) <= _MAX_BLOCK)


def _may_be_short_for(short: str, long: str) -> bool:
    """Return whether a name is a form of a longer one: initials, omitted names, a nickname, the last names only."""
    a, b = fold(short).split(), fold(long).split()
    if len(a) == 2 and a == b[::-1] and a < b:
        return True  # the surname first
    if a == b or len(" ".join(a)) > len(" ".join(b)) + 3 or a[-1] != b[-1]:
        return False
    if 1 < len(a) < len(b) and b[-len(a) :] == a:
        return a[0] not in MEN | WOMEN and not _EPITHETS.intersection(b[: -len(a)])
    given, full = a[:-1], b[:-1]
    if len(given) > len(full) or (
        len(given) == len(full) and not any(_is_shorter(x, y) for x, y in zip(given, full, strict=True))
    ):
        return False
    if not _fits(given[0], full[0]):
        return False
    rest = iter(full[1:])
    return all(any(_fits(word, other) for other in rest) for word in given[1:])


def _fits(word: str, full: str) -> bool:
    return word == full or _is_shorter(word, full)


def _is_shorter(word: str, full: str) -> bool:
    return word != full and ((len(word) == 1 and full.startswith(word)) or full in FULL_NAMES.get(word, ()))


def _is_certain(short: str, long: str) -> bool:
    """Return whether the form leaves no doubt: two initials or more and none missing, or several last names."""
    a, b = fold(short).split(), fold(long).split()
    if b[-len(a) :] == a or a == b[::-1]:
        return len(a) > 1
    return len(a) == len(b) and len(a) > 2


def _is_nested(long: str, fitting: set[str], longer: dict[str, set[str]]) -> bool:
    """Return whether a name is itself short for another one that fits: ``J. R. Vane`` beside ``John R. Vane``."""
    return any(other in fitting for other in longer.get(long, ()))


def _merge_with_one(
    merger: Merger, n: int, candidates: Sequence[int], *, certain: bool, rule: Rule, near: str = ""
) -> None:
    """Merge a cluster with the only candidate, or with the one that has most evidence; else leave it undecided."""
    n = merger.root(n)
    possible = [m for m in candidates if merger.root(m) != n and not merger.conflict(n, m)[0]]
    if not possible:
        return
    ranked = sorted(((merger.evidence(n, m), m) for m in possible), key=lambda pair: (-pair[0][0], pair[1]))
    (best, text), first = ranked[0]
    alone = len(ranked) == 1
    enough = best >= _ENOUGH and (alone or best > ranked[1][0][0])
    if (alone and certain) or enough or (alone and near):
        merger.merge(n, first, rule, 0.9 if enough else 0.8, text or near or "the only name that fits")
    else:
        for _, m in ranked[:3]:
            merger.leave_undecided(n, m, rule, text or "nothing in common")


def _merge_scripts(merger: Merger) -> None:
    """Merge names of other scripts with their transcriptions."""
    kinds = _kinds(merger)
    others = [base for base in kinds if is_other_script(base)]
    if not others:
        return
    by_consonants: dict[tuple[str, str], list[str]] = defaultdict(list)
    for base, kind in kinds.items():
        if not is_other_script(base) and len(base) > 3 and kind:
            by_consonants[kind, consonants(base)].append(base)
    for base in others:
        key = consonants(base)
        alike = [
            (similarity(sounds(base), sounds(latin)), latin)
            for latin in by_consonants.get((kinds[base], key), ())[:_MAX_BLOCK]
            if len(key) > 2
        ]
        best = max((score for score, _ in alike), default=0.0)
        # Scripts without vowels are alike in consonants only.
        limit = 0.0 if not set("aeiou") & set(sounds(base)) else max(_SOUNDS_ALIKE, best - _TRANSCRIPTION)
        for score, latin in sorted(alike, key=lambda pair: (-pair[0], pair[1])):
            ours, theirs = merger.roots([base]), merger.roots([latin])
            if score >= limit and len(ours) == len(theirs) == 1:
                merger.merge(ours[0], theirs[0], "transliteration", 0.85, f"sounds like {latin}")


def _merge_exonyms(merger: Merger) -> None:
    """Merge the names that languages have for one place (``Munich``, ``München``)."""
    by_english: dict[str, list[str]] = defaultdict(list)
    for base, kind in _kinds(merger).items():
        if kind in ("place", "organization"):
            by_english[place_in_english(base)].append(base)
    for english, bases in by_english.items():
        for base in bases[1:]:
            ours, theirs = merger.roots([bases[0]]), merger.roots([base])
            if len(ours) == len(theirs) == 1:
                merger.merge(ours[0], theirs[0], "transliteration", 0.9, f"{english} in another language")


def _merge_qualified(merger: Merger) -> None:
    """Merge a name with the only longer one that begins with a place or ends with a whole.

    ``Harbour Board`` is the ``Sallowmouth Harbour Board`` where a text names Sallowmouth beside it.
    """
    kinds = _kinds(merger)
    longer: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for long, kind in sorted(kinds.items()):
        words = long.split()
        if kind not in ("organization", "place") or not 1 < len(words) < 9:
            continue
        for n in (1, 2):
            short = " ".join(words[n:])
            if len(words) - n > 1 and kinds.get(short) == kind:
                longer[short].append((long, " ".join(words[:n])))
        if kind == "place" and words[0] in _LANDFORMS:
            short = " ".join(words[1:])
            if kinds.get(short) == kind:
                longer[short].append((long, ""))
        for joint in ("of the", "of", "in", "at"):
            short, found, rest = long.partition(f" {joint} ")
            if found and " " in short and kinds.get(short) == kind:
                longer[short].append((long, rest))
    for short in sorted(longer):
        for n in merger.roots([short]):
            beside = {merger.table.bases[i] for i in merger.clusters[n].context_ids().tolist()}
            near = sorted(place for _, place in longer[short] if place in beside)
            candidates = merger.roots([long for long, _ in longer[short]])
            text = f"beside {near[0]}" if near else ""
            if not any(merger.side_by_side(n, m) for m in candidates):
                _merge_with_one(merger, n, candidates, certain=False, rule="short name", near=text)
