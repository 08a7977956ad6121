"""Attributes of a mention (gender, occupation, dates) used to split entities that share a name."""

import re
from dataclasses import astuple, dataclass
from json import dumps, loads

from polygraph.extract.lexicon import (
    FEMALE_TITLES,
    MALE_TITLES,
    OCCUPATIONS,
    OFFICES,
    TITLE_FAMILY,
    TITLES,
    TYPE_OF_NOUN,
)
from polygraph.extract.resolution.name_parts import SUFFIXES, NameParts, gender_of

_CRAFT_ENDINGS = ("master", "mistress", "keeper", "maker", "builder", "wright", "smith", "monger", "founder")
_WORD = re.compile(r"[^\W\d_]+(?:[-’'][^\W\d_]+)*")
_APPOSITION = re.compile(
    r"^(?:,|\s+(?:is|was|became)\b|,?\s+who\s+(?:is|was|became)\b)\s*((?:[^\W\d_][\w’'-]*[ ]?){1,6})"
)
_FUNCTION_WORDS = "of at in and who from for to by with on that which"
_APPOSITION_ENDS = frozenset(_FUNCTION_WORDS.split())
_SUFFIX_AFTER_NAME = re.compile(r"^,?\s+(?:the\s+(elder|younger)\b|(junior|senior|jun|sen|jr|sr)\b\.?)", re.I)
_NAMESAKE = re.compile(
    r"\b(?:[Tt]he other [A-Z]|also (?:called|named)|namesakes?\b|of (?:the|that) same name|share (?:a|the) name)"
)
_YEAR = re.compile(r"(?<!\d)[12]\d{3}(?!\d)")
_DASH = re.compile(r"[-–—]")
_BORN = re.compile(r"^[^.]{0,30}?\b(?:born|b\.)\s[^.;)]{0,30}?\b(\d{4})\b")
_DIED = re.compile(r"^[^.]{0,60}?\b(?:died|d\.)\s[^.;)]{0,30}?\b(\d{4})\b")
_SHIP_PREFIX = re.compile(r"\b(?:S\.?S|H\.?M\.?S|M\.?V|R\.?M\.?S|U\.?S\.?S)\.?\s*$")
_ABOARD = re.compile(r"\b(?:aboard|on board)\s+(?:the\s+)?$", re.I)
_TITLES_OF_WIVES = frozenset(["mrs", "frau", "madame"])


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
    """``person`` or ``ship`` if the text states it; the type given by an extractor does not count."""
    born: int = 0
    """Year, or 0."""
    died: int = 0
    """Year, or 0."""
    titles: frozenset[str] = frozenset()
    occupations: frozenset[str] = frozenset()

    def is_empty(self) -> bool:
        """Return whether no attribute is known."""
        return not (
            self.gender
            or self.suffix
            or self.married
            or self.kind
            or self.born
            or self.died
            or self.titles
            or self.occupations
        )

    def update(self, other: "Attributes") -> None:
        """Add the attributes of another mention; single values that are already known are kept."""
        self.gender = self.gender or other.gender
        self.suffix = self.suffix or other.suffix
        self.married = self.married or other.married
        self.kind = self.kind or other.kind
        self.born = self.born or other.born
        self.died = self.died or other.died
        self.titles |= other.titles
        self.occupations |= other.occupations

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
        if self.kind and other.kind and self.kind != other.kind:
            return f"a {min(self.kind, other.kind)} and a {max(self.kind, other.kind)}"
        years = (("born", self.born, other.born), ("died", self.died, other.died))
        for event, ours, theirs in years:
            if ours and theirs and abs(ours - theirs) > 1:
                return f"{event} {min(ours, theirs)} and {max(ours, theirs)}"
        families = {TITLE_FAMILY.get(t, "") for t in self.titles} - {""}
        other_families = {TITLE_FAMILY.get(t, "") for t in other.titles} - {""}
        if families and other_families and not families & other_families:
            return f"{min(self.titles)} and {min(other.titles)}"
        return self.occupation_conflict(other, with_offices=False) if unrelated else ""

    def occupation_conflict(self, other: "Attributes", *, with_offices: bool) -> str:
        """Return the occupations that conflict, or an empty string.

        Args:
            other: attributes of the other entity.
            with_offices: compare offices and titles as well, which one person can hold beside a trade.
        """
        ours, theirs = self._occupations(with_offices), other._occupations(with_offices)
        if ours and theirs and not ours & theirs:
            first, second = sorted((min(ours), min(theirs)))
            return f"{first} and {second}, in different contexts"
        return ""

    def _occupations(self, with_offices: bool) -> frozenset[str]:
        if not with_offices:
            return self.occupations - OFFICES
        return self.occupations | (self.titles - MALE_TITLES - FEMALE_TITLES)

    def descriptor(self) -> str:
        """Return a phrase that distinguishes the entity from others with its name, or an empty string."""
        if self.kind and self.kind != "person":
            return self.kind
        if self.suffix:
            return f"the {self.suffix}"
        if self.occupations:
            return min(self.occupations)
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
        """Serialise the attributes for `from_json`."""
        return dumps([sorted(v) if isinstance(v, frozenset) else v for v in astuple(self)])

    @classmethod
    def from_json(cls, text: str) -> "Attributes":
        """Read what `to_json` wrote."""
        gender, suffix, married, kind, born, died, titles, occupations = loads(text)
        return cls(gender, suffix, married, kind, born, died, frozenset(titles), frozenset(occupations))


def mentions_namesake(description: str) -> bool:
    """Return whether a text refers to several entities of one name.

    >>> mentions_namesake("It was meant for the other Silas Threave."), mentions_namesake("Silas Threave was there.")
    (True, False)
    """
    return _NAMESAKE.search(description) is not None


def extract_attributes(name: NameParts, written: str, type_: str, description: str) -> Attributes:
    """Extract the attributes of one mention from its name and description.

    Args:
        name: the parts of the name.
        written: the name as it stands in the text.
        type_: type given by the extractor; only people have personal attributes.
        description: a sentence that mentions the name.

    >>> from polygraph.extract.resolution.name_parts import split_name
    >>> text = "They asked Thomas Quill, the old harbour-master, about it."
    >>> extract_attributes(split_name("Thomas Quill"), "Thomas Quill", "person", text).occupations
    frozenset({'harbour-master'})
    """
    found = Attributes(suffix=name.suffix, titles=name.titles)
    may_be_person = type_ in ("", "person")
    if may_be_person:
        found.gender = gender_of(name)
    at = description.find(written) if written else -1
    if type_ == "ship":
        found.kind = "ship"
    if at >= 0:
        before = description[max(0, at - 60) : at]
        after = description[at + len(written) : at + len(written) + 120]
        _add_from_context(found, may_be_person, before, after)
    if found.kind == "ship":
        return Attributes(kind="ship")
    if found.titles or found.occupations or found.suffix:
        found.kind = "person"
    if "widow" in found.occupations or found.titles & _TITLES_OF_WIVES:
        found.married = "yes"
    elif "miss" in found.titles:
        found.married = "no"
    return found


def _add_from_context(found: Attributes, may_be_person: bool, before: str, after: str) -> None:
    """Add the attributes that the text before and after the name states."""
    suffix = _SUFFIX_AFTER_NAME.match(after)
    if suffix and may_be_person:
        word = (suffix.group(1) or suffix.group(2)).lower()
        found.suffix = SUFFIXES.get(word, word)
        after = after[suffix.end() :]
    words = _WORD.findall(before.lower())
    previous = words[-1] if words and not before.rstrip().endswith((",", ".", ";", ":")) else ""
    if TYPE_OF_NOUN.get(previous) == "ship" or _SHIP_PREFIX.search(before) or _ABOARD.search(before):
        found.kind = "ship"
        return
    if not may_be_person:
        return
    if previous in TITLES:
        found.titles |= {previous}
    if occupation(previous):
        found.occupations |= {occupation(previous)}
    match = _APPOSITION.match(after)
    if match:
        for word in match.group(1).lower().split():
            if word in _APPOSITION_ENDS:
                break
            if occupation(word):
                found.occupations |= {occupation(word)}
    opening = after.find("(", 0, 40)
    brackets = after[opening : after.find(")", opening) + 1] if opening >= 0 else ""
    years = _YEAR.findall(brackets)
    if len(years) == 2 and _DASH.search(brackets):
        found.born, found.died = int(years[0]), int(years[1])
        return
    born, died = _BORN.match(after), _DIED.match(after)
    found.born = int(born.group(1)) if born else 0
    found.died = int(died.group(1)) if died else 0


def occupation(word: str) -> str:
    """Return the word without punctuation if it names an occupation, else an empty string.

    >>> occupation("harbour-master"), occupation("keeper,"), occupation("tide")
    ('harbour-master', 'keeper', '')
    """
    word = word.strip(".,;:()’'")
    plain = word.replace("-", "")
    if (
        word in OCCUPATIONS
        or plain in OCCUPATIONS
        or any(plain.endswith(craft) and len(plain) > len(craft) + 2 for craft in _CRAFT_ENDINGS)
    ):
        return word
    return ""
