"""Types of names that a whole window tells better than one sentence.

The recogniser takes many surnames and given names on their own for places or organizations, and ships, firms and
buildings for people. In English prose, people are named in full first and by one of their names afterwards, so the full
name decides; and their names have no article, and seldom stand behind a preposition of place. A name that is nowhere
written in full is that of a person if a sentence says what only people do: many products and places are taken for one.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from polygraph.extract.full_names import NOT_SURNAMES, is_full_name
from polygraph.extract.lexicon import COMPANY_FORMS, GIVEN_NAMES, TITLES, TYPE_OF_NOUN

_DOUBTED = frozenset(["", "organization", "place", "product", "group"])
"""Types that the recogniser gives to full names of people, too."""
_DOUBTED_ALONE = _DOUBTED | {"concept"}
"""Types that single names of people are given, too."""
_MAX_WORDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class NameInWindow:
    """A capitalised name or phrase, and how one window uses it."""

    words: tuple[str, ...]
    """Normalised."""
    is_name: bool
    """Whether it is a name, and not a phrase: the tagger takes some names at the beginning of a sentence for nouns."""
    types: Counter[str]
    """Votes for each type; changed by `settle_types`."""
    first: int
    """Offset of its first mention."""
    n: int
    """Mentions."""
    n_located: int
    """Mentions behind a preposition of place."""
    n_determined: int
    """Mentions behind an article or a possessive."""
    n_personal: int
    """Mentions of which a sentence says what is said of people alone."""

    @property
    def is_thing(self) -> bool:
        """Whether a good part of its mentions says that something is there, or has an article."""
        return 3 * max(self.n_located, self.n_determined) >= self.n


def likeliest(types: Counter[str]) -> str:
    """Return the type with most votes; ties in favour of ``person``, then in alphabetical order; "" without votes."""
    return min(types, key=lambda t: (-types[t], t != "person", t)) if types else ""


def settle_types(names: Sequence[NameInWindow]) -> None:
    """Make persons of full names with a known given name, and of the single names that stand for a full name.

    What is used like a thing is no person, unless it has a title or a known given name. A surname or given name stands
    for a person if a full name of the window ends or begins with it, and either that was mentioned before or a sentence
    takes it for a person. It does not if it is used like a thing, or begins the name of something else (``Ford``,
    ``Ford Motor``). A single name without a full name is no person unless it is a known given name, or a sentence says
    of it what is said of people alone.

    Args:
        names: of one window; their votes are changed.
    """
    for name in names:
        if name.is_thing and name.words[0] not in GIVEN_NAMES and name.words[0] not in TITLES:
            del name.types["person"]
            if not name.types and (type_ := TYPE_OF_NOUN.get(name.words[-1])):
                name.types[type_] += 1
    full = [name for name in names if name.is_name and _may_be_full_name(name)]
    single = {name.words[0]: name for name in names if _may_be_single_name(name)}
    for name in full:
        by_surname = single.get(name.words[-1])
        speaks = by_surname is not None and likeliest(by_surname.types) == "person"
        if (
            likeliest(name.types) in _DOUBTED
            and not name.is_thing
            and (speaks or name.words[0] in GIVEN_NAMES)
        ):
            _make_person(name)
    people = [name for name in full if likeliest(name.types) == "person"]
    named_in_full = _first_by_end(people)
    full_names = {person.words for person in people}
    begun = {
        name.words[0]
        for name in names
        if name.is_name and len(name.words) > 1 and name.words not in full_names
    }
    for word, name in single.items():
        if word not in named_in_full:
            if not name.n_personal and word not in GIVEN_NAMES:
                del name.types["person"]
        elif (
            likeliest(name.types) in _DOUBTED_ALONE
            and not name.is_thing
            and word not in begun
            and (name.types["person"] or named_in_full[word] < name.first)
        ):
            _make_person(name)


def _make_person(name: NameInWindow) -> None:
    name.types.clear()
    name.types["person"] = name.n


def _may_be_full_name(name: NameInWindow) -> bool:
    words = name.words
    return (
        len(words) <= _MAX_WORDS
        and is_full_name(words)
        and all(word.replace("-", "").isalpha() for word in words)
        and words[-1] not in COMPANY_FORMS
        and not any(word in TYPE_OF_NOUN for word in words)
    )


def _may_be_single_name(name: NameInWindow) -> bool:
    word = name.words[0]
    return (
        len(name.words) == 1
        and len(word) > 2
        and word.replace("-", "").isalpha()
        and word not in NOT_SURNAMES
    )


def _first_by_end(people: Iterable[NameInWindow]) -> dict[str, int]:
    """Return for each first and last word of full names where the first of these names is."""
    found: dict[str, int] = {}
    for person in people:
        for word in (person.words[0], person.words[-1]):
            found[word] = min(person.first, found.get(word, person.first))
    return found
