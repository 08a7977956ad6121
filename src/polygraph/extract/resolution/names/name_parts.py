"""The parts of a name: titles, base name, generational suffix."""

import re
from collections.abc import Set
from dataclasses import dataclass, replace
from functools import lru_cache

from polygraph.extract.lexicon import (
    COMPANY_FORMS,
    FEMALE_TITLES,
    GENDER_OF_TITLE,
    MALE_TITLES,
    MEN,
    OCCUPATIONS,
    TITLES,
    TITLES_OF_PEOPLE,
    TYPE_OF_NOUN,
    WOMEN,
)
from polygraph.extract.resolution.vocabulary.kinds import kind_of_type
from polygraph.text.normalize import normalize_name

_YOUNGER = "jr junior jun sohn fils filho hijo nuorempi młodszy mladší младший молодший"
_ELDER = "sr senior sen vater père vanhempi starszy starší старший"
_YOUNGER_PHRASES = (
    "the younger,der jüngere,le jeune,el joven,il giovane,den yngre,den unge,d j,d y,de jonge,ο νεότερος"
)
_ELDER_PHRASES = (
    "the elder,der ältere,el viejo,il vecchio,den eldre,den ældre,den äldre,d ä,d æ,de oude,ο πρεσβύτερος"
)
SUFFIXES = {**dict.fromkeys(_YOUNGER.split(), "younger"), **dict.fromkeys(_ELDER.split(), "elder")}
"""Generational suffixes, each with ``elder`` or ``younger``."""
SUFFIX_OF_NUMBER = {"i": "elder", "ii": "younger"}
"""What the first two numbers after a name mean beside a suffix: ``Johann Strauss II`` is the younger."""
_PHRASES = {
    tuple(phrase.split()): suffix
    for suffix, phrases in (("younger", _YOUNGER_PHRASES), ("elder", _ELDER_PHRASES))
    for phrase in phrases.split(",")
}
"""The same of two words."""
_YOUNG = frozenset(["young", "junge", "jeune", "joven", "giovane"])
_OLD = frozenset(["old", "alte", "vieux", "viejo", "vecchio"])
_ARTICLES = frozenset(["a", "o", "el", "la", "le", "il", "lo", "der", "die", "den", "de", "het"])
"""Before a title that is no name without it (``la jueza Robledo``)."""
_APPOSED = (
    OCCUPATIONS
    | TITLES
    | frozenset(["nephew", "niece", "uncle", "aunt", "son", "daughter", "father", "mother"])
)
_BRACKETS = re.compile(r"(.*?\S)\s*\(([^()]*[^\W\d_]{3}[^()]*|\d{4}\s*[-–—]\s*\d{4})\)")
_HONORIFIC = re.compile(
    r"([\u3040-\u30ff\u4e00-\u9fff]{1,4})(先生|女士|小姐|夫人|さん|様|氏|教授|博士|社長|部長|首相|大統領|总统|主席|总理|市长|市長|将军|将軍"
    r"|医生|医師|老师|大臣|监督|監督|선생|씨)"
)
"""Chinese and Japanese titles stand after the name."""
_TITLED_TYPES = frozenset(["person", "", "organization", "group"])


@dataclass(frozen=True, slots=True)
class NameParts:
    """A name split into its parts."""

    key: str
    """The whole name, normalised."""
    base: str
    """The name without titles, suffixes and legal forms; the key if nothing else would be left."""
    words: tuple[str, ...]
    """Words of the base name."""
    titles: frozenset[str]
    suffix: str
    """``elder``, ``younger`` or empty."""
    is_lower_case: bool
    """True if the name as written has no capital."""
    apposition: str = ""
    """What the name as written adds: ``coxswain`` in ``Matthias Corve, coxswain``."""


def is_capitalized(name: str) -> bool:
    """Return whether a name has a capital, or letters of a script without capitals.

    >>> is_capitalized("Ole Brun"), is_capitalized("the lamp"), is_capitalized("田中"), is_capitalized("1871")
    (True, False, True, False)
    """
    if name.islower():
        return False
    return any(c.isupper() for c in name) or any(c.isalpha() for c in name)


def split_apposition(name: str, kind: str) -> tuple[str, str]:
    """Split what a name says in brackets or behind a comma from the name; (name, "") if it says nothing.

    >>> split_apposition("Matthias Corve, coxswain", "person"), split_apposition("Springfield, Illinois", "place")
    (('Matthias Corve', 'coxswain'), ('Springfield', 'Illinois'))
    >>> split_apposition("Honora Vane (barque)", "ship"), split_apposition("Dray, Anselm", "person")
    (('Honora Vane', 'barque'), ('Anselm Dray', ''))
    """
    bracket = _BRACKETS.fullmatch(name)
    if bracket:
        return bracket.group(1), bracket.group(2)
    head, _, tail = name.partition(", ")
    last = tail.split()[-1].casefold().strip(".") if tail.strip() else ""
    if not last or not head or "," in tail or last in SUFFIXES or last in COMPANY_FORMS:
        return name, ""
    if kind == "place":
        return (head, tail) if tail[0].isupper() else (name, "")
    if kind != "person":
        return name, ""
    first, plain = tail.split()[0], normalize_name(tail)
    words = {*plain.split(), *plain.replace("-", " ").split(), plain.replace("-", "")}
    if first[0].islower() or _APPOSED.intersection(words):
        return head, tail
    if len(head.split()) == 1 and len(tail.split()) < 3 and head[0].isupper():
        return f"{tail} {head}", ""  # ``Dray, Anselm``
    return name, ""


def split_name(name: str, known: Set[str] = TITLES) -> NameParts:
    """Split a name into titles, base name and suffix.

    Args:
        name: as written.
        known: titles.

    >>> n = split_name("Captain Thomas Quill, Jr.")
    >>> n.base, sorted(n.titles), n.suffix
    ('thomas quill', ['captain'], 'younger')
    >>> split_name("Mrs. Cratchit").base, split_name("King's Arms").base
    ('cratchit', 'king s arms')
    """
    key = normalize_name(name)
    words = key.split()
    last, suffix = len(words), ""
    capital = is_capitalized(name)
    has_article = (
        len(words) > 2
        and words[0] in _ARTICLES
        and words[1] in known
        and words[2] not in ("of", "de", "di", "von")
    )
    first = begin = int(has_article)
    while (
        capital
        and first < last - 1
        and words[first] in known
        and words[first + 1] not in ("of", "the", "and", "s")
    ):
        first += 1
    titles = frozenset(words[begin:first])
    if last - first > 1 and words[last - 1] in SUFFIXES:
        suffix, last = SUFFIXES[words[last - 1]], last - 1
    elif last - first > 2 and (phrase := _PHRASES.get(tuple(words[last - 2 : last]))):
        suffix, last = phrase, last - 2
    base = words[first:last]
    if titles and base[-1] in TYPE_OF_NOUN:
        # ``King Street``, ``Lady Chapel``: a place, not a person with a title.
        return NameParts(key, key, tuple(words), frozenset(), "", not capital)
    return NameParts(key, " ".join(base), tuple(base), titles, suffix, not capital)


@lru_cache(maxsize=8_192)
def split_typed_name(name: str, type_: str) -> NameParts:
    """Split a name as its type allows: only people and groups have titles.

    >>> split_typed_name("Captain Quill", "person").base, split_typed_name("King Street", "place").base
    ('quill', 'king street')
    """
    kind = kind_of_type(type_)
    plain, apposition = split_apposition(name, kind)
    honorific = _HONORIFIC.fullmatch(plain) if kind == "person" and not plain.isascii() else None
    if honorific:
        plain = honorific.group(1)
    parts = split_name(plain, TITLES_OF_PEOPLE if kind == "person" else TITLES)
    if honorific:
        parts = replace(parts, key=normalize_name(name), titles=frozenset([honorific.group(2)]))
    if apposition:
        parts = replace(parts, key=normalize_name(name), apposition=apposition)
    elif kind == "person" and not parts.suffix and (n := _epithet_words(parts.words)):
        suffix = "younger" if parts.words[n - 1] in _YOUNG else "elder"
        parts = replace(parts, base=" ".join(parts.words[n:]), words=parts.words[n:], suffix=suffix)
    elif (
        kind == "person"
        and len(parts.words) > 1
        and parts.words[0] in ("elder", "younger")
        and not parts.suffix
    ):
        rest = parts.words[1:]
        parts = replace(parts, base=" ".join(rest), words=rest, suffix=parts.words[0])
    if type_ not in _TITLED_TYPES and kind not in ("person", "") and parts.titles:
        # ``Captain`` before the name of a ship or place is part of the name.
        return NameParts(parts.key, parts.key, tuple(parts.key.split()), frozenset(), "", parts.is_lower_case)
    return parts


def _epithet_words(words: tuple[str, ...]) -> int:
    """Return how many words before a person's name call them young or old.

    Before a surname alone such a word may be a given name (``Young Lee``), unless an article stands before it; a single
    letter may be an initial.

    >>> [_epithet_words(tuple(name.split())) for name in ("old anna vane", "der alte moe", "young lee", "a young lee")]
    [1, 2, 0, 0]
    """
    if len(words) < 3:
        return 0
    n = 1 + (words[0] in _ARTICLES and len(words[0]) > 1)
    return n if words[n - 1] in _YOUNG | _OLD else 0


def gender_of(name: NameParts) -> str:
    """Return ``m``, ``f`` or an empty string: by title, else by given name."""
    if name.titles & FEMALE_TITLES:
        return "f"
    if name.titles & MALE_TITLES:
        return "m"
    if title := next((GENDER_OF_TITLE[t] for t in sorted(name.titles) if t in GENDER_OF_TITLE), ""):
        return title
    given = name.words[0] if len(name.words) > 1 else ""
    return "m" if given in MEN else "f" if given in WOMEN else ""
