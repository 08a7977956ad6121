"""Aliases within one document: short names, acronyms and legal forms that stand for a longer name."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from polygraph.extract.full_names import NOT_SURNAMES, is_full_name
from polygraph.extract.lexicon import (
    COMPANY_FORMS,
    FEMALE_TITLES,
    MALE_TITLES,
    OFFICES,
    TITLES,
    TITLES_BEFORE_GIVEN_NAMES,
    TYPE_OF_NOUN,
)
from polygraph.extract.resolution.evidence.sentence_attributes import occupation
from polygraph.extract.resolution.names.acronyms import acronym_letters, initials, is_acronym
from polygraph.extract.resolution.names.name_parts import NameParts, gender_of
from polygraph.extract.resolution.vocabulary.kinds import kind_of_type, kinds_conflict, may_be_person

_ADJECTIVES_BEFORE_NAMES = (
    "old young poor dear little good big great master brave here evil merry kind noble wretched blessed sweet "
    "lovely whereat"
)
_EPITHETS = frozenset(_ADJECTIVES_BEFORE_NAMES.split())
_TITLES_OF_WIVES = frozenset(["mrs", "madame", "lady", "frau", "señora", "signora"])
_OTHER_BODIES = (
    "court parliament senate assembly commission authority police army bureau trust fund observatory museum"
)
_BODIES = frozenset(_OTHER_BODIES.split()) | {n for n, kind in TYPE_OF_NOUN.items() if kind == "organization"}
"""Nouns by which a text names a body that it has named in full."""
_OFFICES_AND_TITLES = TITLES | OFFICES
_NUMERAL = re.compile(r"[ivxlc]+|\d.*")


@dataclass(frozen=True, slots=True)
class DocumentName:
    """A name as one document uses it."""

    parts: NameParts
    written: str
    """Its first spelling in code point order."""
    types: frozenset[str]
    windows: frozenset[str]

    def may_be_person(self) -> bool:
        """Return whether its types allow a person."""
        return not self.types or any(map(may_be_person, self.types))

    def is_person(self) -> bool:
        """Return whether one of its types is that of a person."""
        return any(kind_of_type(type_) == "person" for type_ in self.types)

    def may_have_acronym(self) -> bool:
        """Return whether its types allow an acronym."""
        return not self.is_person() and "date" not in self.types


@dataclass(frozen=True, slots=True)
class Alias:
    """The longer name that a name stands for."""

    base: str
    """Base name of the longer name."""
    score: float


def find_aliases(
    names: Iterable[DocumentName], describe: Callable[[str], str], *, by_model: bool = True
) -> dict[str, Alias]:
    """Match short names to the longer names of the same document.

    A single name (``Quill``, ``Captain Quill``, ``Anna``) stands for the only longer name of a person that
    starts or ends with it. A name with initials or without middle names (``J. Vane``) stands for the only name
    that fits. An acronym stands for the only name with these initials; with two letters, only if a sentence puts
    one of the two in brackets. A company with its legal form stands for the company without it. A name that fits
    several longer names is not an alias.

    Args:
        names: the names of the document, each key once.
        describe: returns what is said of a key of one of them.
        by_model: whether a language model gave the names their types.

    Returns:
        An alias for each key whose base name stands for another base name. Aliases are not chained: no target is an
        alias itself.
    """
    ordered = sorted(names, key=lambda name: name.parts.key)
    capitalized = {n.parts.base: n for n in ordered if n.may_be_person() and not n.parts.is_lower_case}
    found: dict[str, Alias] = {}
    full_names = []
    for name in capitalized.values():
        words = name.parts.words
        if len(words) > 1 and words[0] in _EPITHETS and " ".join(words[1:]) in capitalized:
            found[name.parts.key] = Alias(" ".join(words[1:]), 0.9)
        elif is_full_name(words) and words[0] != words[-1]:
            full_names.append(name)
    people = _People(full_names, ordered, by_model=by_model)
    for person in full_names:
        base = people.longest(person.parts.base)
        if base != person.parts.base:
            found[person.parts.key] = Alias(base, 0.9)
    for name in ordered:
        alias = _single_name_alias(name, people, capitalized)
        if alias is not None:
            found[name.parts.key] = alias
    for key, alias in list(found.items()):
        # ``Old Quill`` stands for what ``Quill`` stands for.
        further = found.get(alias.base)
        if further is not None:
            found[key] = further
    _add_acronyms(ordered, describe, found, by_model=by_model)
    _add_legal_forms(ordered, found)
    if by_model:
        _add_general_nouns(ordered, found)
    return {key: alias for key, alias in found.items() if key != alias.base}


class _People:
    """The full names of people in one document, by base name."""

    def __init__(
        self, full_names: Iterable[DocumentName], names: Iterable[DocumentName], *, by_model: bool
    ) -> None:
        self.windows: dict[str, frozenset[str]] = defaultdict(frozenset)
        self.by_end: dict[str, set[str]] = defaultdict(set)
        """Base names by their first and by their last word."""
        self.gender: dict[str, str] = {}
        for person in full_names:
            words, base = person.parts.words, person.parts.base
            self.gender[base] = self.gender.get(base, "") or gender_of(person.parts)
            self.by_end[words[-1]].add(base)
            self.by_end[words[0]].add(base)
            self.windows[base] |= person.windows
        self.by_model = by_model
        self.ladies = {name.parts.words[-1] for name in names if _is_lady(name.parts)}
        """Surnames of women whom the document gives a courtesy title."""
        self._longer: dict[str, str] = {}
        for base in self.gender:
            longer = _longer_names(base.split(), self.by_end)
            if len(longer) == 1:
                self._longer[base] = longer[0]

    def longest(self, base: str) -> str:
        """Return the longest name that a name stands for, or the name itself."""
        for _ in range(4):
            if base not in self._longer:
                break
            base = self._longer[base]
        return base


def _single_name_alias(
    single: DocumentName, people: _People, capitalized: Mapping[str, DocumentName]
) -> Alias | None:
    """Match a surname or given name to the only full name that fits."""
    name = single.parts
    if len(name.words) != 1 or name.is_lower_case or not single.may_be_person():
        return None
    if (
        name.base in NOT_SURNAMES
        or occupation(name.base)
        or len(name.base) < 3
        or _NUMERAL.fullmatch(name.base)
    ):
        return None
    candidates = people.by_end.get(name.words[0], set())
    by_given = people.by_model and not TITLES_BEFORE_GIVEN_NAMES.isdisjoint(name.titles)
    if by_given and any(base.split()[0] == name.words[0] for base in candidates):
        candidates = {base for base in candidates if base.split()[0] == name.words[0]}
    elif name.titles or any(base.split()[-1] == name.words[0] for base in candidates):
        # A title goes with the surname. A word that is somebody's surname is not read as a given name.
        candidates = {base for base in candidates if base.split()[-1] == name.words[0]}
    else:
        # A given name must share a window with its full name: there are many Toms.
        candidates = {base for base in candidates if people.windows[base] & single.windows}
    certain = {base for base in candidates if capitalized[base].is_person()}
    fitting = sorted({people.longest(base) for base in certain or candidates})
    if people.by_model and name.titles & _TITLES_OF_WIVES:
        return None  # she may be his wife or another woman of the name: the whole corpus decides
    if not (name.titles & _TITLES_OF_WIVES and len(fitting) > 1):
        # Where several people have the surname, ``Mrs.`` may be the wife of any of them.
        fitting = [b for b in fitting if _genders_agree(name, people.gender.get(b, ""))]
    if (
        not people.by_model
        and _has_office(name)
        and gender_of(name) != "f"
        and name.words[0] in people.ladies
    ):
        # ``Captain Bly`` is another person than ``Miss Bly``, who may be the one with the full name.
        fitting = [base for base in fitting if people.gender.get(base, "") == "m"]
    if len(fitting) == 1 and (single.is_person() or capitalized[fitting[0]].is_person()):
        return Alias(fitting[0], 0.9)
    return None


def _is_lady(name: NameParts) -> bool:
    """Return whether a name has a woman's courtesy title and no office."""
    return bool(name.titles) and name.titles <= FEMALE_TITLES


def _has_office(name: NameParts) -> bool:
    """Return whether a title of a name is more than polite."""
    return not name.titles <= MALE_TITLES | FEMALE_TITLES


def _genders_agree(name: NameParts, person: str) -> bool:
    """Return whether a title's gender allows a person: ``Mrs.`` requires a woman, ``Mr.`` and ``Ms.`` only exclude one.

    ``Mrs.`` and ``Miss`` may be of the family of somebody of unknown gender; who is called ``Ms.`` was named in full.
    """
    title = gender_of(name)
    if title == "f" and name.titles != {"ms"}:
        return person == "f"
    return not (title and person and title != person)


def _longer_names(words: Sequence[str], by_end: Mapping[str, set[str]]) -> list[str]:
    """Return the longer names with the same surname and the same given name or initial."""
    found = []
    for base in sorted(by_end.get(words[-1], ())):
        other = base.split()
        if other == list(words) or other[-1] != words[-1] or len(" ".join(other)) <= len(" ".join(words)):
            continue
        if _given_names_fit(list(words[:-1]), other[:-1]):
            found.append(base)
    # ``J. Vane`` fits both ``J. R. Vane`` and ``John R. Vane``: take the longest if the others fit it too.
    if len(found) > 1:
        longest = max(found, key=lambda b: (len(b), b)).split()
        if all(b.split() == longest or _given_names_fit(b.split()[:-1], longest[:-1]) for b in found):
            return [" ".join(longest)]
    return found


def _given_names_fit(short: list[str], full: list[str]) -> bool:
    """Return whether given names are a subsequence of a longer list; the first must match."""
    if not short or not full or not _is_initial_or_equal(short[0], full[0]):
        return False
    at = 1
    for word in short[1:]:
        while at < len(full) and not _is_initial_or_equal(word, full[at]):
            at += 1
        if at == len(full):
            return False
        at += 1
    return True


def _is_initial_or_equal(a: str, b: str) -> bool:
    return a == b or (len(a) == 1 and b.startswith(a))


def _add_acronyms(
    names: list[DocumentName], describe: Callable[[str], str], found: dict[str, Alias], *, by_model: bool
) -> None:
    acronyms = [
        name
        for name in names
        if is_acronym(name.written) and name.parts.key not in found and name.may_have_acronym()
    ]
    if not acronyms:
        return
    by_initials: dict[str, list[DocumentName]] = defaultdict(list)
    for long in names:
        if (by_model or not long.parts.is_lower_case) and long.may_have_acronym():
            for letters in sorted(initials(long.parts.words)):
                by_initials[letters].append(long)
    for short in acronyms:
        letters = acronym_letters(short.parts.base)
        fitting = by_initials.get(letters, [])
        if len({f.parts.base for f in fitting}) != 1:
            continue
        long = fitting[0]
        text = f"{describe(short.parts.key)} {describe(long.parts.key)}"
        in_brackets = f"({short.written})" in text or f"({long.written})" in text
        if in_brackets or len(letters) > 2 or (by_model and short.types == long.types):
            found[short.parts.key] = Alias(long.parts.base, 1.0 if in_brackets else 0.8)


def _add_general_nouns(names: list[DocumentName], found: dict[str, Alias]) -> None:
    """Match general names (``Board``, ``Mayor``, ``Supreme Court``) to the only longer name of the document."""
    by_ending: dict[tuple[str, ...], list[DocumentName]] = defaultdict(list)
    """Names by each of their endings."""
    before_of: dict[tuple[str, ...], list[DocumentName]] = defaultdict(list)
    """Names by what stands before an ``of``."""
    for long in names:
        for n, word in enumerate(long.parts.words[1:], 1):
            by_ending[long.parts.words[n:]].append(long)
            if word == "of":
                before_of[long.parts.words[:n]].append(long)
    for short in names:
        words = short.parts.words
        is_office, is_body = words[0] in _OFFICES_AND_TITLES, words[0] in _BODIES
        is_body |= len(words) > 1 and words[-1] in _BODIES
        if short.parts.is_lower_case or short.parts.key in found or not (is_office or is_body):
            continue
        kinds = {kind_of_type(type_) for type_ in short.types}
        longer = {
            long.parts.base
            for long in (*(by_ending[words] if is_body else ()), *before_of[words])
            if not any(kinds_conflict(a, kind_of_type(b)) for a in kinds for b in long.types)
        }
        if len(longer) == 1:
            found[short.parts.key] = Alias(longer.pop(), 0.8)


def _add_legal_forms(names: list[DocumentName], found: dict[str, Alias]) -> None:
    # The firm is not ``Mr. Voss``.
    bases = {n.parts.base for n in names if not n.parts.titles}
    for company in names:
        words = company.parts.words
        if len(words) > 1 and words[-1] in COMPANY_FORMS and not company.parts.is_lower_case:
            short = " ".join(words[:-1])
            if short in bases and short not in found:
                found.setdefault(company.parts.key, Alias(short, 0.95))
