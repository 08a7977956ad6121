"""How alike names are that may be forms of one name, found without comparing all pairs."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import combinations

from polygraph.extract.resolution.names.acronyms import acronym_letters, initials, is_acronym
from polygraph.extract.resolution.names.given_names import are_translated
from polygraph.extract.resolution.names.romanize import (
    consonants,
    is_other_script,
    sound_alike,
    sounds,
)
from polygraph.extract.resolution.names.spelling import (
    names_conflict,
    plain_form,
    skeleton,
    without_legal_form,
)
from polygraph.extract.resolution.vocabulary.kinds import CLASS_OF_NOUN
from polygraph.extract.resolution.vocabulary.regions import place_in_english
from polygraph.text.normalize import fold

EQUAL = 1.0
"""One name has all words of the other, is its acronym, or begins with it."""
HALF = 0.5
"""Half of the words of the longer name are in common."""
SOME = 0.25
"""A word is in common."""
_MAX_BLOCK = 30
"""Names that share a word; larger blocks say too little."""
_SHORTEST_WORD = 3
_PREFIX = 5
"""Letters of a name that begins another one."""
_LONG_KEY = 3
"""Consonants of a surname that is compared by its sound."""
_LITTLE_WORDS = """
of the a an in at for and s de la le les des du d l der die das dem den von vom für und im del della di el los las do
da dos e y et og i
"""
_LITTLE = frozenset(_LITTLE_WORDS.split()) | {"no", "nr", "num", "number"}
_INITIALS = frozenset(["e", "i", "y"])
"""Little words that are an initial at the beginning of a name: ``E. coli``."""
_ORDINALS = {
    word: str(n)
    for words in (
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth",
        "1st 2nd 3rd 4th 5th 6th 7th 8th 9th 10th 11th 12th",
    )
    for n, word in enumerate(words.split(), 1)
}
_YEAR_DIGITS = 4
_YEAR = re.compile(r" \d{4}$")
_DIGIT = re.compile(r"\d")
_VERSUS = re.compile(r"(?<=\w) vs?\.? (?!of\b)(?=[^\W\d])")
"""Between the parties of a case."""
_KEY = re.compile(
    r" in [a-h](?:[ -](?:flat|sharp))? (?:major|minor)\b| in [a-h](?:is|es|s)?[ -](?:dur|moll)\b"
)
"""Of a piece of music."""
_POSSESSOR = re.compile(r"(.+) s (?=\w)")
_SHORTEST_ABBREVIATION, _LONGEST_ABBREVIATION = 2, 6
_COMPOUND = 10
"""Letters of a word that may have an abbreviation of its own."""
_STEM = 4
"""Letters with which words of two languages or two cases begin alike."""
_ENDING = 3
"""Letters by which their lengths may differ."""


def similar_names(kinds: Mapping[str, Set[str]], written: Mapping[str, str]) -> dict[tuple[str, str], float]:
    """Return pairs of names that may be forms of one name, with how alike they are.

    Args:
        kinds: what each base name stands for; only names with a kind in common are compared.
        written: each base name as first written.

    >>> work = frozenset({"work"})
    >>> similar_names({"solmar festival": work, "solmar film festival": work}, {})
    {('solmar festival', 'solmar film festival'): 1.0}
    """
    words = {base: content_words(base) for base in kinds}
    people = {base for base, some in kinds.items() if "person" in some}
    blocks: dict[str, list[str]] = defaultdict(list)
    for base in sorted(kinds):
        for key in dict.fromkeys(_keys(base, words[base], written.get(base, ""), is_person=base in people)):
            blocks[key].append(base)
    found: dict[tuple[str, str], float] = {}
    for _, names in sorted(blocks.items()):
        if 1 < len(names) <= _MAX_BLOCK:
            for pair in combinations(names, 2):
                a, b = pair
                if pair not in found and (both := kinds[a] & kinds[b]):
                    if _is_of_other(a, b) or _is_of_other(b, a):
                        found[pair] = 0.0
                        continue
                    found[pair] = max(
                        _of_people(words[a], words[b]) if "person" in both else 0.0,
                        _of_things(a, b, words[a], words[b], written) if both - {"person"} else 0.0,
                    )
    return {pair: likeness for pair, likeness in sorted(found.items()) if likeness}


# Several rules compare the same names.
@lru_cache(maxsize=8_192)
def content_words(base: str) -> tuple[str, ...]:
    """Return the words of a name that say something, folded, without its legal form, ordinals as numbers.

    >>> content_words("the second treaty of vessin"), content_words("marlin t-4")
    (('2', 'treaty', 'vessin'), ('marlin', 't4'))
    """
    words: list[str] = []
    for word in fold(plain_form(without_legal_form(_KEY.sub("", _VERSUS.sub(" versus ", base))))).split():
        # ``T-4`` is one word, ``Ben-Ami`` is two.
        words += (
            [word.replace("-", "")]
            if _DIGIT.search(word)
            else word.replace("-", " ").replace(".", "").split()
        )
    named = tuple(
        _ORDINALS.get(word, place_in_english(word))
        for n, word in enumerate(words)
        if word not in _LITTLE or (n == 0 and word in _INITIALS)
    )
    return named or tuple(words)


def _keys(base: str, words: Sequence[str], written: str, *, is_person: bool) -> Iterator[str]:
    """Yield what a name shares with its forms: a word, the sound of a surname, its first letters, its initials."""
    for word in words:
        if (len(word) >= _SHORTEST_WORD or _DIGIT.search(word)) and word not in CLASS_OF_NOUN:
            yield word
            if word.isalpha() and len(word) > _STEM and (not is_person or word == words[-1]):
                yield f"stem {word[:_STEM]}"
    if is_person:
        for account in _accounts(words):
            yield f"account {account}"
        if words and len(sound := consonants(words[-1])) >= _LONG_KEY:
            yield f"sound {sound}"
        return
    for sound in sorted(_phonetic_beginnings(words)):
        yield f"heard {sound}"
    first = written.split()[:1]
    if len(words) > 1 and first and is_acronym(first[0]):
        yield f"initials {words[0]}"
    letters = skeleton(base)
    if len(letters) >= _PREFIX:
        yield f"begin {letters[:_PREFIX]}"
    name = _YEAR.sub("", base)
    if " " in name:
        for short in sorted(initials(name.split())):
            if len(short) > 1:
                yield f"initials {short}"
    elif _is_abbreviation(written):
        yield f"initials {acronym_letters(name)}"
        for some in _beginnings(acronym_letters(name)):
            yield f"inner {some}"
        return
    if len(words) <= _LONGEST_ABBREVIATION and any(len(word) >= _SHORTEST_WORD for word in words):
        yield f"inner {''.join(word[0] for word in words)}"


def _is_abbreviation(written: str) -> bool:
    """Return whether a name may be an abbreviation: an acronym, or letters of which two or more are capitals.

    >>> [_is_abbreviation(name) for name in ("BFU", "MoT", "BfArM", "Mot", "McDonald")]
    [True, True, True, False, False]
    """
    name = _YEAR.sub("", written)
    return is_acronym(name) or (
        name.isalpha()
        and _SHORTEST_ABBREVIATION < len(name) <= _LONGEST_ABBREVIATION
        and sum(map(str.isupper, name)) >= max(2, len(name) / 2)
    )


def _beginnings(letters: str) -> Iterator[str]:
    """Yield what the first letters of the words may be that an abbreviation stands for: it has others of them as well.

    >>> sorted(_beginnings("ezb"))
    ['e', 'eb', 'ez', 'ezb']
    """
    if len(letters) <= _LONGEST_ABBREVIATION:
        for n in range(len(letters)):
            for rest in combinations(letters[1:], n):
                yield letters[0] + "".join(rest)


def abbreviates(short: str, words: Sequence[str]) -> bool:
    """Return whether a name has the first letter of each word of another, in order, and perhaps further ones of them.

    >>> abbreviates("ezb", ["europaische", "zentralbank"]), abbreviates("ezb", ["europa", "bank"])
    (True, False)
    """
    if not words:
        return not short
    if not short or short[0] != words[0][0]:
        return False
    # As many letters as possible may be of the first word, or only one.
    n_inner, at = [1], 0
    for n, letter in enumerate(short[1:], 2):
        at = words[0].find(letter, at + 1)
        if at < 0:
            break
        n_inner.append(n)
    return any(abbreviates(short[n:], words[1:]) for n in n_inner)


def _of_people(a: Sequence[str], b: Sequence[str]) -> float:
    """Return how alike the names of two people are: none if their given names before one surname, or codes, differ.

    >>> _of_people(["participant", "03011"], ["participant", "02017"]), _of_people(["ada", "roth"], ["ada", "lind"])
    (0.0, 0.5)
    """
    if len(a) > len(b):
        a, b = b, a
    if not a:
        return 0.0
    if len(a) == 1 and len(b) > 1 and a[0] in _accounts(b):
        return EQUAL
    if len(a) == 1:
        if sound_alike(a[0], b[-1]) or a[0] in b:
            return EQUAL
        return SOME if len(b) == 1 and _begin_alike(a[0], b[0]) else 0.0
    codes = [[word for word in some if _DIGIT.search(word)] for some in (a, b)]
    if all(codes):
        if codes[0] != codes[1]:
            return 0.0
        if are_translated(a[0], b[0]):
            return HALF  # monarchs
    # The surname may be the last word but one, as in Spanish.
    surname = next((n for n in range(len(b) - 1, 0, -1) if sound_alike(a[-1], b[n])), 0)
    if surname:
        rest = list(b[:surname])
        for word in a[:-1]:
            fitting = next((n for n, other in enumerate(rest) if _may_be_one(word, other)), None)
            if fitting is None:
                return 0.0
            del rest[: fitting + 1]
        return EQUAL
    if set(a) <= set(b):
        return EQUAL
    # A surname may change.
    if a[0] == b[0] and len(a[0]) > 1:
        return HALF
    return SOME if _begin_alike(a[-1], b[-1]) and _may_be_one(a[0], b[0]) else 0.0


def _accounts(words: Sequence[str]) -> list[str]:
    """Return the names under which a person may have an account, or the name itself if it may be one.

    >>> _accounts(["ruta", "jonaitis"])
    ['rjonaitis', 'rutaj', 'rutajonaitis', 'jonaitisr']
    """
    if len(words) < 2:
        return [word for word in words if len(word) > _STEM]
    first, last = words[0], words[-1]
    return [first[0] + last, first + last[0], first + last, last + first[0]]


def _begin_alike(a: str, b: str) -> bool:
    """Return whether two words may be forms of one in two languages: ``plinius`` and ``pliny``."""
    return a[:_STEM] == b[:_STEM] and min(len(a), len(b)) > _STEM and abs(len(a) - len(b)) <= _ENDING


def _may_be_one(a: str, b: str) -> bool:
    """Return whether two given names may be one: equal, an initial, the beginning, or the same sounds."""
    return (
        a[0] == b[0] and (a.startswith(b) or b.startswith(a))
        if min(len(a), len(b)) < 4
        else sound_alike(a, b)
    )


def _of_things(
    a: str, b: str, words: Sequence[str], others: Sequence[str], written: Mapping[str, str]
) -> float:
    if likeness := _as_abbreviation(a, b, words, others, written):
        return likeness
    mine, theirs = set(words), set(others)
    if _differ_in_number_or_opposite(mine, theirs):
        return 0.0
    if _is_initial_of(words, others) or _is_initial_of(others, words):
        return EQUAL
    shared = {word for word in mine & theirs if word not in CLASS_OF_NOUN}
    if shared and (mine <= theirs or theirs <= mine):
        return EQUAL
    letters = sorted((skeleton(a), skeleton(b)), key=len)
    if len(letters[0]) >= _PREFIX and letters[1].startswith(letters[0]):
        return EQUAL
    if any(_is_acronym_of(*pair, written) for pair in ((a, b, words), (b, a, others))):
        return HALF
    n_shared = len(mine & theirs)
    if shared and n_shared >= HALF * max(len(mine), len(theirs)):
        return HALF
    alike = shared or any(
        x[:_STEM] == y[:_STEM] and (x + y).isalpha() and min(len(x), len(y)) > _STEM
        for x in mine - theirs
        for y in theirs - mine
    )
    if not alike and is_other_script(a) != is_other_script(b):
        alike = not _phonetic_beginnings(words).isdisjoint(_phonetic_beginnings(others))
    return SOME if alike else 0.0


def _as_abbreviation(
    a: str, b: str, words: Sequence[str], others: Sequence[str], written: Mapping[str, str]
) -> float:
    """Return how alike two names are of which one abbreviates the other, else 0."""
    first, second = _YEAR.sub("", a), _YEAR.sub("", b)
    for short, long in ((first, second), (second, first)):
        is_short = (
            " " not in short and " " in long and _is_abbreviation(written.get(a if short is first else b, ""))
        )
        if is_short and acronym_letters(short) in initials(long.split()):
            return EQUAL
    for short, other in ((a, others), (b, words)):
        if " " not in short and _is_abbreviation(written.get(short, "")):
            abbreviation = acronym_letters(short)
            if any(len(word) >= _COMPOUND for word in other) and abbreviates(abbreviation, other):
                return EQUAL if len(other) > 1 else SOME
    if _begins_with_initials(first.split(), second.split()) or _begins_with_initials(
        second.split(), first.split()
    ):
        return EQUAL
    return 0.0


def _differ_in_number_or_opposite(mine: Set[str], theirs: Set[str]) -> bool:
    """Return whether the words of two names hold different numbers or years, or opposites."""
    numbers = [frozenset(filter(str.isdigit, some)) for some in (mine, theirs)]
    # A treaty may be called by its year or its number.
    for some in (
        [{n for n in each if (len(n) == _YEAR_DIGITS) == is_year} for each in numbers]
        for is_year in (True, False)
    ):
        if all(some) and some[0] != some[1]:
            return True
    # Words of two languages are no opposites.
    return bool(mine & theirs) and names_conflict(
        *(" ".join(sorted(some - number)) for some, number in zip((mine, theirs), numbers, strict=True)),
        of_people=False,
        with_codes=False,
    )


def _is_initial_of(short: Sequence[str], long: Sequence[str]) -> bool:
    """Return whether a name has an initial for the first word of another one: ``E. coli``."""
    return (
        len(short) == len(long) > 1
        and len(short[0]) == 1
        and long[0].startswith(short[0])
        and list(short[1:]) == list(long[1:])
    )


def _is_acronym_of(a: str, b: str, words: Sequence[str], written: Mapping[str, str]) -> bool:
    """Return whether a name begins with the initials of the whole other name: ``NGI Bhopal``."""
    first = written.get(a, "").split()[:1]
    return (
        len(words) > 1
        and bool(first)
        and is_acronym(first[0])
        and len(words[0]) > _SHORTEST_ABBREVIATION
        and words[0] in initials(b.split())
    )


def _phonetic_beginnings(words: Sequence[str]) -> set[str]:
    """Return the phonetic beginnings of long words, which every transcription shares."""
    return {sounds(word)[:_PREFIX] for word in words if len(word) >= _PREFIX}


def _is_of_other(a: str, b: str) -> bool:
    """Return whether a name is that of something of the other, or of something else of the same.

    >>> _is_of_other("scrooge s office", "scrooge"), _is_of_other("scrooge s office", "office")
    (True, False)
    """
    if not (match := _POSSESSOR.match(a)):
        return False
    owner = match.group(1)
    theirs = _POSSESSOR.match(b)
    what = set(content_words(a[match.end() :]))
    whose = b[: theirs.end()] if theirs and theirs.group(1) == owner else ""
    return (b == owner or bool(whose)) and not what & set(content_words(b[len(whose) :]))


def _begins_with_initials(short: Sequence[str], long: Sequence[str]) -> bool:
    """Return whether the first word of a name has the initials of the words that another has in its place.

    >>> _begins_with_initials(["ac", "marvale"], ["athletic", "club", "marvale"])
    True
    """
    n = len(long) - len(short) + 1
    return (
        1 < n == len(short[0])
        and len(short) > 1
        and list(short[1:]) == list(long[n:])
        and short[0] == "".join(word[0] for word in long[:n])
    )
