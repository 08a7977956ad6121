"""Given names that part two people of one surname, however well a third name fits both (``E. Tanaka``)."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache

from polygraph.extract.lexicon import FULL_NAMES
from polygraph.extract.resolution.names.given_names import are_translated
from polygraph.extract.resolution.names.romanize import is_other_script, sound_alike
from polygraph.text.normalize import fold

_WORD = re.compile(r"\w+")
_BEGINNING = 3
"""Letters of a short form that begins a given name (``Lil``)."""


def given_names_conflict(first: Iterable[str], second: Iterable[str]) -> bool:
    """Return whether the names of two people have a surname in common and no given name.

    Initials, nicknames, abbreviations, short forms, transcriptions and translations do not conflict.

    Args:
        first: base names of one.
        second: of the other.

    >>> given_names_conflict(["e tanaka", "ed tanaka"], ["emi tanaka"])
    True
    >>> given_names_conflict(["e tanaka"], ["emi tanaka"]), given_names_conflict(["karla vondrick"], ["karla hale"])
    (False, False)
    >>> given_names_conflict(["jas orme"], ["james orme"]), given_names_conflict(["jas orme"], ["wm orme"])
    (False, True)
    """
    ours, theirs = _given_by_surname(frozenset(first)), _given_by_surname(frozenset(second))
    return any(
        not any(_may_be_one(x, y) for x in ours[surname] for y in theirs[surname])
        for surname in ours.keys() & theirs.keys()
    )


# An entity is compared with several others.
@lru_cache(maxsize=16_384)
def _given_by_surname(bases: frozenset[str]) -> Mapping[str, list[list[str]]]:
    """Return the given names before each surname, without names that have only initials."""
    found: dict[str, list[list[str]]] = defaultdict(list)
    for base in sorted(bases):
        *given, surname = fold(base).split()
        if (
            given
            and not all(len(word) == 1 for word in _WORD.findall(" ".join(given)))
            and not is_other_script(base)
        ):
            found[surname].append(given)
    return found


def _may_be_one(a: list[str], b: list[str]) -> bool:
    return any(_is_form(x, y) for x in a for y in b if min(len(x), len(y)) > 1)


def _is_form(a: str, b: str) -> bool:
    if are_translated(a, b) or a in FULL_NAMES.get(b, ()) or b in FULL_NAMES.get(a, ()):
        return True
    short, long = sorted((a, b), key=len)
    return (len(short) >= _BEGINNING and long.startswith(short)) or sound_alike(a, b)
