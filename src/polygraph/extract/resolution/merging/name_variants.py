"""People under several names across documents: initials, omitted names, nicknames, the surname first.

Likeness of names only suggests a pair. Names merge if the longer one is the only one that fits and the form leaves no
doubt, or if both have something in common: names beside them, an office, a place, a year, words of their descriptions.
Other pairs stay apart and are listed as undecided.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from polygraph.extract.full_names import is_full_name
from polygraph.extract.lexicon import FULL_NAMES, MEN, WOMEN
from polygraph.extract.resolution.clusters.merger import Merger
from polygraph.extract.resolution.merging.candidates import kind_of_each_name, merge_with_one
from polygraph.extract.resolution.names.name_parts import SUFFIX_OF_NUMBER
from polygraph.text.normalize import fold

_EPITHETS = frozenset(
    ["young", "old", "little", "big", "elder", "younger", "junior", "senior", "late", "former", "saint"]
)
_DOUBLE_INITIALS = re.compile(r"\w\.?-\w\.? ")
_JOINED = re.compile(r"\.?-|\.(?= )")
_MAX_BLOCK = 100
"""Names per block; in larger ones no name is the only one that fits."""


def merge_name_variants(merger: Merger) -> None:
    """Merge clusters whose names are forms of one name, unless something conflicts."""
    if merger.table.by_model:
        _merge_people(merger)
        _merge_numbered(merger)


def _merge_people(merger: Merger) -> None:
    """Merge short forms of full names with the only longer name that fits."""
    people = [
        base
        for base, kind in kind_of_each_name(merger).items()
        if kind == "person" and is_full_name(base.split())
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
                merge_with_one(merger, n, merger.roots(fitting), certain=certain)


def _merge_numbered(merger: Merger) -> None:
    """Merge ``Johann Strauss II`` with the Johann Strauss who is called the younger, and I with the elder."""
    for base in list(merger.numbers):
        name, _, number = base.rpartition(" ")
        suffix = SUFFIX_OF_NUMBER.get(number, "")
        if not suffix or " " not in name:
            continue
        same = [m for m in merger.roots([name]) if merger.clusters[m].attributes.suffix == suffix]
        for n in merger.roots([base]):
            merge_with_one(merger, n, same, certain=True)


def _blocks(people: Iterable[str]) -> Iterator[list[str]]:
    """Yield people with one surname and initial, and people with the same last two names."""
    blocks: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for base in people:
        words = fold(base).split()
        for letter in sorted({word[0] for word in (words[0], *FULL_NAMES.get(words[0], ()))}):
            blocks[words[-1], letter].append(base)
        blocks[words[-2], words[-1], ""].append(base)
        blocks[words[0], words[1], "first"].append(base)
        if len(words) == 2:
            blocks[*sorted(words), "reversed"].append(base)
    return (block for block in blocks.values() if 1 < len(block) <= _MAX_BLOCK)


def _may_be_short_for(short: str, long: str) -> bool:
    """Return whether a name is a form of a longer one: initials, omitted names, a nickname, the last names only."""
    a, b = _words(short, long)
    if len(a) == 2 and a == b[::-1] and a < b:
        return True  # the surname first
    if len(a) > 1 and len(b) == len(a) + 1 and b[:-1] == a and len(b[-1]) > 2:
        return True  # without the second surname
    if a == b or len(" ".join(a)) > len(" ".join(b)) + 3 or a[-1] != b[-1]:
        return False
    if 1 < len(a) < len(b) and b[-len(a) :] == a:
        # ``C. Okafor`` is not ``T. C. Okafor``: an initial that stands first is that of a first name.
        return len(a[0]) > 1 and a[0] not in MEN | WOMEN and not _EPITHETS.intersection(b[: -len(a)])
    given, full = a[:-1], b[:-1]
    if len(given) > len(full) or (
        len(given) == len(full) and not any(_is_shorter(x, y) for x, y in zip(given, full, strict=True))
    ):
        return False
    if not _fits(given[0], full[0]):
        return False
    rest = iter(full[1:])
    return all(any(_fits(word, other) for other in rest) for word in given[1:])


def _words(short: str, long: str) -> tuple[list[str], list[str]]:
    """Return the words of two names; those of a double given name if one name has its initials (``J.-B.``)."""
    a, b = fold(short), fold(long)
    if _DOUBLE_INITIALS.match(a) or _DOUBLE_INITIALS.match(b):
        a, b = (_JOINED.sub(" ", name) for name in (a, b))
    return a.split(), b.split()


def _fits(word: str, full: str) -> bool:
    return word == full or _is_shorter(word, full)


def _is_shorter(word: str, full: str) -> bool:
    """Return whether a word is the initial, a nickname or the beginning of a given name (``Lil``, ``Lilian``)."""
    if word == full:
        return False
    is_beginning = len(word) > 2 and len(full) > len(word) + 1 and not {word, full} <= MEN | WOMEN
    return (full.startswith(word) and (len(word) == 1 or is_beginning)) or full in FULL_NAMES.get(word, ())


def _is_certain(short: str, long: str) -> bool:
    """Return whether the form leaves no doubt: two initials or more and none missing, or several last names."""
    a, b = _words(short, long)
    if b[:-1] == a:
        return False
    if b[-len(a) :] == a or a == b[::-1]:
        return len(a) > 1
    return len(a) == len(b) and len(a) > 2


def _is_nested(long: str, fitting: set[str], longer: dict[str, set[str]]) -> bool:
    """Return whether a name is itself short for another one that fits: ``J. R. Vane`` beside ``John R. Vane``."""
    return any(other in fitting for other in longer.get(long, ()))
