"""Which names of one document stand for a longer name of the same document."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from polygraph.extract.lexicon import COMPANY_FORMS, GROUP_TITLES, OCCUPATIONS, TITLES, TYPE_OF_NOUN
from polygraph.extract.resolution.attributes import Name, gender_of
from polygraph.text.language import FUNCTION_WORDS

_ACRONYM = re.compile(r"[A-Z][A-Z&.]{1,7}")
_SMALL = frozenset(["of", "the", "and", "for", "de", "la", "in", "on"])
_NOT_IN_PEOPLE = (FUNCTION_WORDS["en"] | {"s"}) - frozenset(["i", "a", "will", "may", "do", "so", "an"])
_FOND = (
    "old young poor dear little good big great master brave here evil merry kind noble wretched blessed sweet "
    "lovely whereat"
)
_EPITHETS = frozenset(_FOND.split())
_WIFE = frozenset(["mrs", "madame", "lady", "frau", "señora", "signora"])
_TRADES_IN_SURNAMES = (
    "baker cook cooper mason miller potter smith tailor farmer fisher gardener shepherd judge porter"
)
COMMON = (TITLES | OCCUPATIONS | frozenset(TYPE_OF_NOUN)) - frozenset(_TRADES_IN_SURNAMES.split())
"""Words that are no surname, though they may be written with a capital (``Town Clerk``)."""
_NUMERAL = re.compile(r"[ivxlc]+|\d.*")


@dataclass(frozen=True, slots=True)
class Local:
    """A name as one document uses it."""

    name: Name
    written: str
    """Its first spelling in code point order."""
    types: frozenset[str]
    windows: frozenset[str]

    def may_be_person(self) -> bool:
        """Say whether its types allow a person."""
        return not self.types or bool(self.types & {"person", ""})


@dataclass(frozen=True, slots=True)
class Alias:
    """A name that stands for a longer one."""

    base: str
    """Base of the longer name."""
    score: float


def aliases(locals_: Iterable[Local], sentences: Mapping[str, str]) -> dict[str, Alias]:
    """Match short names to the longer names of the document.

    A single name (``Quill``, ``Captain Quill``, ``Anna``) is the only longer person's name that begins or
    ends with it; a name with initials or without middle names (``J. Vane``) is the only one that fits; an
    acronym is the only name with those initials (two letters: only if a sentence sets it in brackets
    beside the name); a company is itself without its legal form. Where two fit, the name stays its own.

    Args:
        locals_: the document's names, each key once.
        sentences: a description for each key.

    Returns:
        From key to alias, for keys whose base stands for another base. Not chained: targets are no aliases.
    """
    names = sorted(locals_, key=lambda n: n.name.key)
    found: dict[str, Alias] = {}
    known = {n.name.base: n for n in names if n.may_be_person() and not n.name.written_low}
    people = []
    for person in known.values():
        words = person.name.words
        if len(words) > 1 and words[0] in _EPITHETS and " ".join(words[1:]) in known:
            found[person.name.key] = Alias(" ".join(words[1:]), 0.9)
        elif is_full(words) and words[0] != words[-1]:
            people.append(person)
    windows: dict[str, frozenset[str]] = defaultdict(frozenset)
    by_end: dict[str, set[str]] = defaultdict(set)
    gender: dict[str, str] = {}
    for person in people:
        words = person.name.words
        gender.setdefault(person.name.base, "")
        gender[person.name.base] = gender[person.name.base] or gender_of(person.name)
        by_end[words[-1]].add(person.name.base)
        by_end[words[0]].add(person.name.base)
        windows[person.name.base] |= person.windows
    targets: dict[str, str] = {}
    for person in people:
        longer = _longer(person.name.words, by_end)
        if len(longer) == 1:
            targets[person.name.base] = longer[0]
    for person in people:
        base = _end(person.name.base, targets)
        if base != person.name.base:
            found[person.name.key] = Alias(base, 0.9)
    for single in names:
        name = single.name
        if len(name.words) != 1 or name.written_low or not single.may_be_person():
            continue
        if name.base in COMMON or len(name.base) < 3 or _NUMERAL.fullmatch(name.base):
            continue
        bearers = by_end.get(name.words[0], set())
        if name.titles or any(base.split()[-1] == name.words[0] for base in bearers):
            # A title goes with the surname, and so does a word that is somebody's surname.
            bearers = {base for base in bearers if base.split()[-1] == name.words[0]}
        else:
            # A first name needs its full name in the same window somewhere: there are many Toms.
            bearers = {base for base in bearers if windows[base] & single.windows}
        sure = {base for base in bearers if "person" in known[base].types}
        fitting = sorted({_end(base, targets) for base in sure or bearers})
        if not (name.titles & _WIFE and len(fitting) > 1):
            # Beside other bearers of the surname, ``Mrs.`` may be the wife of any.
            fitting = [b for b in fitting if _same_gender(gender_of(name), gender.get(b, ""))]
        if len(fitting) == 1 and ("person" in single.types or "person" in known[fitting[0]].types):
            found[name.key] = Alias(fitting[0], 0.9)
    for key, alias in list(found.items()):
        # An epithet before a surname goes where the surname goes.
        further = found.get(alias.base)
        if further is not None:
            found[key] = further
    _acronyms(names, sentences, found)
    _companies(names, found)
    return {key: alias for key, alias in found.items() if key != alias.base}


def is_full(words: Sequence[str]) -> bool:
    """Say whether words may be a person's first name and surname.

    >>> is_full(["anna", "quill"]), is_full(["king", "of", "rock"]), is_full(["anna", "q"])
    (True, False, False)
    """
    if len(words) < 2 or len(words[-1]) < 2 or words[0] in GROUP_TITLES:
        return False
    return words[-1] not in COMMON and not _NOT_IN_PEOPLE.intersection(words)


def _same_gender(title: str, bearer: str) -> bool:
    """``Mrs.`` needs a woman; ``Mr.`` or nothing only excludes the other sex."""
    if title == "f":
        return bearer == "f"
    return not (title and bearer and title != bearer)


def _end(base: str, targets: Mapping[str, str]) -> str:
    for _ in range(4):
        if base not in targets:
            break
        base = targets[base]
    return base


def _longer(words: tuple[str, ...], by_end: Mapping[str, set[str]]) -> list[str]:
    """Longer names of the same first name or initial and the same surname."""
    found = []
    for base in sorted(by_end.get(words[-1], ())):
        other = base.split()
        if other == list(words) or other[-1] != words[-1] or len(" ".join(other)) <= len(" ".join(words)):
            continue
        if _fits(list(words[:-1]), other[:-1]):
            found.append(base)
    # ``J. Vane`` fits both ``J. R. Vane`` and ``John R. Vane``: the longest decides if the others fit it too.
    if len(found) > 1:
        longest = max(found, key=lambda b: (len(b), b)).split()
        if all(b.split() == longest or _fits(b.split()[:-1], longest[:-1]) for b in found):
            return [" ".join(longest)]
    return found


def _fits(short: list[str], full: list[str]) -> bool:
    """Whether given names can be those of the longer list, in order; the first must match."""
    if not short or not full or not _agree(short[0], full[0]):
        return False
    at = 1
    for word in short[1:]:
        while at < len(full) and not _agree(word, full[at]):
            at += 1
        if at == len(full):
            return False
        at += 1
    return True


def _agree(a: str, b: str) -> bool:
    return a == b or (len(a) == 1 and b.startswith(a))


def _acronyms(names: list[Local], sentences: Mapping[str, str], found: dict[str, Alias]) -> None:
    by_initials: dict[str, list[Local]] = defaultdict(list)
    for long in names:
        words = [w for w in long.name.words if w not in _SMALL]
        if len(words) > 1 and not long.name.written_low and not long.types & {"person", "date"}:
            by_initials["".join(w[0] for w in words)].append(long)
    for short in names:
        if (
            short.name.key in found
            or not _ACRONYM.fullmatch(short.written)
            or short.types & {"person", "date"}
        ):
            continue
        letters = short.name.base.replace(".", "").replace("&", "")
        fitting = by_initials.get(letters, [])
        if len({f.name.base for f in fitting}) != 1:
            continue
        long = fitting[0]
        text = " ".join((sentences.get(short.name.key, ""), sentences.get(long.name.key, "")))
        shown = f"({short.written})" in text or f"({long.written})" in text
        if shown or len(letters) > 2:
            found[short.name.key] = Alias(long.name.base, 1.0 if shown else 0.8)


def _companies(names: list[Local], found: dict[str, Alias]) -> None:
    bases = {n.name.base for n in names}
    for company in names:
        words = company.name.words
        if len(words) > 1 and words[-1] in COMPANY_FORMS and not company.name.written_low:
            short = " ".join(words[:-1])
            if short in bases and short not in found:
                found.setdefault(company.name.key, Alias(short, 0.95))
