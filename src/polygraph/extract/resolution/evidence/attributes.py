"""Attributes of a mention (gender, occupation, dates, where it lies) used to split entities that share a name."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from sys import intern
from typing import Any

from pydantic_core import from_json

from polygraph.extract.lexicon import FEMALE_TITLES, FIELD_OF_OCCUPATION, MALE_TITLES, OFFICES, TITLE_FAMILY
from polygraph.extract.resolution.names.romanize import is_other_script
from polygraph.extract.resolution.vocabulary.kinds import classes_conflict, kinds_conflict
from polygraph.extract.resolution.vocabulary.regions import one_may_lie_in_other, regions_apart
from polygraph.text.compact_json import compact_json

_LIFETIME = 90
"""Years between two deeds that one person cannot have done."""
_AFTERLIFE = 60
"""Years after a death in which texts still tell something new of a person: books and honours."""
TITLE_IN_FULL = {
    "dr": "doctor",
    "prof": "professor",
    "capt": "captain",
    "rev": "reverend",
    "lieut": "lieutenant",
}
IN_CONTEXT = "in different contexts"
"""How a conflict ends that holds only between mentions that share no context."""
STEM = 6
"""Letters of a stem."""
_MAX_WORDS = 400
"""Stems kept per entity."""


_SETS = ("titles", "occupations", "classes", "within", "regions", "creators", "years")
"""Attributes of which an entity may have several, but `words`."""


@dataclass(slots=True)
class Attributes:
    """Known attributes of an entity; `update` adds those of further mentions."""

    gender: str = ""
    """``m``, ``f`` or empty."""
    suffix: str = ""
    """``elder``, ``younger`` or empty."""
    married: str = ""
    """``yes`` or ``no`` if a woman's title or the word widow states it, else empty."""
    kind: str = ""
    """See `kinds`. Without a model only ``person`` or ``ship``, if the text states it."""
    kind_is_stated: bool = False
    """Whether the description supports the kind, so that it is more than one vote of an extractor."""
    born: int = 0
    """Year, or 0."""
    died: int = 0
    """Year, or 0."""
    titles: frozenset[str] = frozenset()
    occupations: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()
    """Classes of a thing, by `kinds.CLASS_OF_NOUN`."""
    within: frozenset[str] = frozenset()
    """Places that it lies in and wholes that it is part of, folded."""
    regions: frozenset[str] = frozenset()
    """For a place, the country that is named beside it, if it is the only one."""
    creators: frozenset[str] = frozenset()
    """For a work, who made it, folded."""
    years: frozenset[int] = frozenset()
    """In which it is said to have done something."""
    words: frozenset[str] = frozenset()
    """Stems of what is said of it: evidence for one entity, never against."""

    def is_empty(self) -> bool:
        """Return whether nothing is known that could part two entities."""
        return not any(self.parting())

    def parting(self) -> tuple[Hashable, ...]:
        """Return what could distinguish two entities, but `kind_is_stated` and `words`: equal values conflict alike."""
        return (
            self.gender,
            self.suffix,
            self.married,
            self.kind,
            self.born,
            self.died,
            self.titles,
            self.occupations,
            self.classes,
            self.within,
            self.regions,
            self.creators,
            self.years,
        )

    def update(self, other: "Attributes") -> None:
        """Add the attributes of another mention; single values that are already known are kept."""
        self.gender = self.gender or other.gender
        self.suffix = self.suffix or other.suffix
        self.married = self.married or other.married
        if other.kind and (not self.kind or (other.kind_is_stated and not self.kind_is_stated)):
            self.kind, self.kind_is_stated = other.kind, other.kind_is_stated
        self.born = self.born or other.born
        self.died = self.died or other.died
        for name in _SETS:
            if theirs := getattr(other, name):
                ours = getattr(self, name)
                # Most sets are empty: they stay the one that all share, where a union would make another.
                setattr(self, name, ours | theirs if ours else theirs)
        if other.words and len(self.words) < _MAX_WORDS:
            self.words = self.words | other.words if self.words else other.words

    def conflict(self, other: "Attributes", *, unrelated: bool) -> str:
        """Return why two sets of attributes cannot describe one entity, or an empty string.

        Args:
            other: attributes of the other entity.
            unrelated: whether the two are mentioned with different context names. Occupations change in
                a lifetime, so they conflict only then.

        >>> Attributes(born=1820).conflict(Attributes(born=1871), unrelated=False)
        'born 1820 and 1871'
        >>> Attributes(occupations=frozenset({"pilot"})).conflict(
        ...     Attributes(occupations=frozenset({"mayor"})), unrelated=False
        ... )
        ''
        """
        if self.gender and other.gender and self.gender != other.gender:
            return "a man and a woman"
        if self.suffix and other.suffix and self.suffix != other.suffix:
            return "the elder and the younger"
        if self.married and other.married and self.married != other.married:
            return "an unmarried and a married woman"
        if kinds_conflict(self.kind, other.kind):
            return (
                f"{_with_article(min(self.kind, other.kind))} and {_with_article(max(self.kind, other.kind))}"
            )
        if lives := self._lifetime_conflict(other) or other._lifetime_conflict(self):
            return lives
        if apart := regions_apart(self.within, other.within):
            return f"in {apart[0].title()} and in {apart[1].title()}"
        families = {TITLE_FAMILY.get(t, "") for t in self.titles} - {""}
        other_families = {TITLE_FAMILY.get(t, "") for t in other.titles} - {""}
        if families and other_families and not families & other_families:
            return f"{min(self.titles)} and {min(other.titles)}"
        return self._unrelated_conflict(other) if unrelated else ""

    def _lifetime_conflict(self, other: "Attributes") -> str:
        """Return why this life and a later one are two, or an empty string."""
        is_thing = (self.kind or other.kind) not in ("person", "")
        events = ("begun", "ended") if is_thing else ("born", "died")
        for event, ours, theirs in zip(events, (self.born, self.died), (other.born, other.died), strict=True):
            if ours and theirs and abs(ours - theirs) > 1:
                return f"{event} {min(ours, theirs)} and {max(ours, theirs)}"
        if self.died and other.born and other.born > self.died:
            return f"died {self.died} and born {other.born}"
        if "person" not in (self.kind, other.kind):
            return ""
        first, last = min(other.years, default=0), max(self.years, default=0)
        if self.died and first > self.died + _AFTERLIFE:
            return f"died {self.died} and active in {first}"
        if other.born and last and last < other.born:
            return f"active in {last} and born {other.born}"
        if last and other.died and other.died - last > _LIFETIME:
            return f"active in {last} and died {other.died}"
        if first and last and first - last > _LIFETIME:
            return f"active in {last} and in {first}"
        return ""

    def _unrelated_conflict(self, other: "Attributes") -> str:
        """Return why entities without common context differ, or an empty string."""
        if apart := regions_apart(self.within | self.regions, other.within | other.regions):
            return f"beside {apart[0].title()} and beside {apart[1].title()}"
        if self.creators and other.creators and not _share_a_name(self.creators, other.creators):
            return f"made by {min(self.creators)} and by {min(other.creators)}, {IN_CONTEXT}"
        if self.within and other.within and not one_may_lie_in_other(self.within, other.within):
            first, second = sorted((min(self.within), min(other.within)))
            return f"part of {first} and part of {second}, {IN_CONTEXT}"
        if classes_conflict(self.classes, other.classes):
            first, second = sorted((min(self.classes), min(other.classes)))
            return f"{_with_article(first)} and {_with_article(second)}, {IN_CONTEXT}"
        distance = min((abs(x - y) for x in self.years for y in other.years), default=0)
        dated = self.kind == other.kind == "work" or "occurrence" in self.classes & other.classes
        if dated and distance > 1:
            return f"of {min(self.years)} and of {min(other.years)}"
        return self.occupation_conflict(other, with_offices=False)

    def occupation_conflict(self, other: "Attributes", *, with_offices: bool) -> str:
        """Return the occupations that conflict, or an empty string.

        Args:
            other: attributes of the other entity.
            with_offices: compare offices and titles as well, which one person can hold beside a trade.
        """
        ours, theirs = self._occupations(with_offices), other._occupations(with_offices)
        if ours and theirs and not ours & theirs and _fields(ours).isdisjoint(_fields(theirs)):
            first, second = sorted((min(ours), min(theirs)))
            return f"{first} and {second}, {IN_CONTEXT}"
        return ""

    def title_conflict(self, other: "Attributes") -> str:
        """Return the titles of two surnames that have nothing in common, or an empty string.

        >>> doctor, mister = Attributes(titles=frozenset({"dr"})), Attributes(titles=frozenset({"mr"}))
        >>> doctor.title_conflict(mister), doctor.title_conflict(doctor)
        ('dr and mr, in different contexts', '')
        """
        ours, theirs = (frozenset(TITLE_IN_FULL.get(t, t) for t in x.titles) for x in (self, other))
        if (
            not ours
            or not theirs
            or ours & theirs
            or self.words & other.words
            or self.occupations & other.occupations
        ):
            return ""
        first, second = sorted((min(self.titles), min(other.titles)))
        return f"{first} and {second}, {IN_CONTEXT}"

    def courtesy_conflict(self, other: "Attributes") -> str:
        """Return why a woman's courtesy title and an office before one surname are of two people, or an empty string.

        A text that gives a woman her office (``Frau Dr. Ash``), or an office that is a woman's, says otherwise.

        >>> captain, wife = Attributes(titles=frozenset({"captain"})), Attributes(titles=frozenset({"mrs"}))
        >>> captain.courtesy_conflict(wife), captain.courtesy_conflict(captain)
        ('captain and mrs', '')
        """
        for one, two in ((self, other), (other, self)):
            office = two.titles - MALE_TITLES - FEMALE_TITLES
            if one.titles and one.titles <= FEMALE_TITLES and office and two.gender != "f":
                return f"{min(office)} and {min(one.titles)}"
        return ""

    def _occupations(self, with_offices: bool) -> frozenset[str]:
        if not with_offices:
            return self.occupations - OFFICES
        return self.occupations | (self.titles - MALE_TITLES - FEMALE_TITLES)

    def descriptor(self) -> str:
        """Return a phrase that distinguishes the entity from others with its name, or an empty string."""
        if self.classes:
            return min(self.classes)
        if self.kind and self.kind not in ("person", "place", "organization", "object"):
            return self.kind
        if self.suffix:
            return f"the {self.suffix}"
        if self.occupations:
            # A trade tells more than a rank: the pharmacist, and not the chief.
            return min(self.occupations, key=lambda each: (each in OFFICES, each))
        if self.within:
            return min(self.within)
        if self.born:
            return f"born {self.born}"
        if self.died:
            return f"died {self.died}"
        offices = sorted(t for t in self.titles if t not in MALE_TITLES and t not in FEMALE_TITLES)
        if offices:
            return offices[0]
        polite = sorted(self.titles)
        return polite[0] if polite else {"m": "a man", "f": "a woman"}.get(self.gender, "")

    def to_json(self) -> str:
        """Serialise the known attributes for `from_json`."""
        values = zip(self.__slots__, _values(self), strict=True)
        known = {
            name: sorted(value) if isinstance(value, frozenset) else value for name, value in values if value
        }
        return compact_json(known)

    @classmethod
    def from_json(cls, text: str) -> "Attributes":
        """Read what `to_json` wrote."""
        # The same few words stand in the attributes of most names.
        values: dict[str, Any] = {
            f: frozenset(v if f == "years" else map(intern, v)) if isinstance(v, list) else v
            for f, v in from_json(text).items()
        }
        return cls(**values)


_values = attrgetter(*Attributes.__slots__)


def _share_a_name(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Return whether makers have a name in common (``strauss``, ``johann strauss``), or cannot be compared."""
    first, second = ({word for name in names for word in name.split()} for names in (ours, theirs))
    other_script = any(map(is_other_script, ours)) != any(map(is_other_script, theirs))
    return other_script or not first.isdisjoint(second)


def _fields(occupations: Iterable[str]) -> frozenset[str]:
    """Return the fields of occupations; one without a field is its own."""
    return frozenset(FIELD_OF_OCCUPATION.get(word, word) for word in occupations)


def _with_article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeio" else f"a {kind}"
