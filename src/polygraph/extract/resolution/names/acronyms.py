"""Acronyms, and the initials of names that they may stand for."""

from collections.abc import Sequence

from polygraph.extract.lexicon import COMPANY_FORMS

_NOT_IN_ACRONYMS = """
of the and for de la in on at to an der die das und für von du des le les et pour el los las y del da do das dos e
l d per dell dello della delle degli nel nella al alla allo zu zur zum am im aan van voor och til för av af
"""
_SHORT_WORDS = frozenset(_NOT_IN_ACRONYMS.split())


def is_acronym(written: str) -> bool:
    """Return whether a name may be an acronym: two to eight capitals and digits.

    >>> [is_acronym(name) for name in ("BFU", "T2DM", "U.N.", "Bfu", "1871")]
    [True, True, True, False, False]
    """
    letters = written.replace(".", "").replace("&", "")
    return 1 < len(letters) <= 8 and letters.isalnum() and letters.isupper() and letters[0].isalpha()


def is_initials(base: str) -> bool:
    """Return whether a base name consists of single letters.

    >>> [is_initials(base) for base in ("e.l", "j r", "e l quill", "nasa", "x")]
    [True, True, False, False, False]
    """
    letters = base.replace(".", " ").split()
    return len(letters) > 1 and all(len(letter) == 1 and letter.isalpha() for letter in letters)


def initials(words: Sequence[str]) -> frozenset[str]:
    """Return the initials of a name, with and without its short words; empty for one word.

    >>> sorted(initials(["bank", "of", "america"]))
    ['ba', 'boa']
    """
    if len(words) < 2:
        return frozenset()
    long = [word for word in words if word not in _SHORT_WORDS]
    named = [word for word in long if word not in COMPANY_FORMS]
    found = {"".join(word[0] for word in some) for some in (words, long, named) if len(some) > 1}
    return frozenset(found)


def acronym_letters(base: str) -> str:
    """Return the letters of an acronym's base name."""
    return base.replace(".", "").replace("&", "").replace(" ", "")
