"""What one mention tells of its bearer, for keeping namesakes apart."""

import re
from dataclasses import dataclass

from polygraph.extract.lexicon import (
    FEMALE_TITLES,
    MALE_TITLES,
    MEN,
    OCCUPATIONS,
    OFFICES,
    TITLE_FAMILY,
    TITLES,
    TYPE_OF_NOUN,
    WOMEN,
)
from polygraph.text.normalize import normalise

_YOUNGER, _ELDER = ("jr", "junior", "jun"), ("sr", "senior", "sen")
_SUFFIXES = {**dict.fromkeys(_YOUNGER, "younger"), **dict.fromkeys(_ELDER, "elder")}
_CRAFT = ("master", "mistress", "keeper", "maker", "builder", "wright", "smith", "monger", "founder")
_WORD = re.compile(r"[^\W\d_]+(?:[-’'][^\W\d_]+)*")
_AFTER = re.compile(
    r"^(?:,|\s+(?:is|was|became)\b|,?\s+who\s+(?:is|was|became)\b)\s*((?:[^\W\d_][\w’'-]*[ ]?){1,6})"
)
_SMALL_WORDS = "of at in and who from for to by with on that which"
_STOPS = frozenset(_SMALL_WORDS.split())
_EPITHET = re.compile(r"^,?\s+(?:the\s+(elder|younger)\b|(junior|senior|jun|sen|jr|sr)\b\.?)", re.I)
_SEVERAL = re.compile(
    r"\b(?:[Tt]he other [A-Z]|also (?:called|named)|namesakes?\b|of (?:the|that) same name|share (?:a|the) name)"
)
_YEAR = re.compile(r"(?<!\d)[12]\d{3}(?!\d)")
_DASH = re.compile(r"[-–—]")
_BORN = re.compile(r"^[^.]{0,30}?\b(?:born|b\.)\s[^.;)]{0,30}?\b(\d{4})\b")
_DIED = re.compile(r"^[^.]{0,60}?\b(?:died|d\.)\s[^.;)]{0,30}?\b(\d{4})\b")
_VESSEL = re.compile(r"\b(?:S\.?S|H\.?M\.?S|M\.?V|R\.?M\.?S|U\.?S\.?S)\.?\s*$")
_ABOARD = re.compile(r"\b(?:aboard|on board)\s+(?:the\s+)?$", re.I)


_WIVES = frozenset(["mrs", "frau", "madame"])


@dataclass(frozen=True, slots=True)
class Name:
    """A name taken apart."""

    key: str
    """Normalised, as written."""
    base: str
    """Without titles, suffixes and legal forms; the key where nothing would be left."""
    words: tuple[str, ...]
    """Of the base."""
    titles: frozenset[str]
    suffix: str
    """``elder``, ``younger`` or empty."""
    written_low: bool
    """No capital in it."""


@dataclass(slots=True)
class Evidence:
    """What is known of a bearer; grows as mentions are added."""

    gender: str = ""
    suffix: str = ""
    married: str = ""
    """``yes`` or ``no``, where a woman's title or the word widow tells."""
    kind: str = ""
    """``person`` or ``ship`` where the text says so; a recogniser's type is no evidence."""
    born: int = 0
    died: int = 0
    titles: frozenset[str] = frozenset()
    occupations: frozenset[str] = frozenset()

    def empty(self) -> bool:
        """Say whether nothing is known."""
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

    def add(self, other: "Evidence") -> None:
        """Take over what another mention of the same bearer tells; what is known already stays."""
        self.gender = self.gender or other.gender
        self.suffix = self.suffix or other.suffix
        self.married = self.married or other.married
        self.kind = self.kind or other.kind
        self.born = self.born or other.born
        self.died = self.died or other.died
        self.titles |= other.titles
        self.occupations |= other.occupations

    def callings(self, *, wide: bool) -> frozenset[str]:
        """Trades that speak against another; `wide`: offices and titles as well."""
        if not wide:
            return self.occupations - OFFICES
        return self.occupations | (self.titles - MALE_TITLES - FEMALE_TITLES)

    def conflict(self, other: "Evidence", *, strangers: bool) -> str:
        """Say why two cannot be one, or nothing.

        Args:
            other: the other bearer.
            strangers: whether they are mentioned in the company of quite different names. Offices and
                trades change in a life, so they count only then.

        >>> Evidence(born=1820).conflict(Evidence(born=1871), strangers=False)
        'born 1820 and 1871'
        >>> Evidence(occupations=frozenset({"pilot"})).conflict(
        ...     Evidence(occupations=frozenset({"mayor"})), strangers=False
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
        for what, mine, theirs in years:
            if mine and theirs and abs(mine - theirs) > 1:
                return f"{what} {min(mine, theirs)} and {max(mine, theirs)}"
        families = {TITLE_FAMILY.get(t, "") for t in self.titles} - {""}
        others = {TITLE_FAMILY.get(t, "") for t in other.titles} - {""}
        if families and others and not families & others:
            return f"{min(self.titles)} and {min(other.titles)}"
        return self.soft_conflict(other, wide=False) if strangers else ""

    def soft_conflict(self, other: "Evidence", *, wide: bool) -> str:
        """Say which callings speak against one bearer, or nothing."""
        mine, theirs = self.callings(wide=wide), other.callings(wide=wide)
        if mine and theirs and not mine & theirs:
            first, second = sorted((min(mine), min(theirs)))
            return f"{first} and {second}, in different company"
        return ""

    def descriptor(self) -> str:
        """A word that tells this bearer from its namesakes, or nothing."""
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
        callings = sorted(t for t in self.titles if t not in MALE_TITLES and t not in FEMALE_TITLES)
        if callings:
            return callings[0]
        polite = sorted(self.titles)
        return polite[0] if polite else {"m": "a man", "f": "a woman"}.get(self.gender, "")


def take_apart(name: str) -> Name:
    """Split a name in titles, base and suffix.

    >>> n = take_apart("Captain Thomas Quill, Jr.")
    >>> n.base, sorted(n.titles), n.suffix
    ('thomas quill', ['captain'], 'younger')
    >>> take_apart("Mrs. Cratchit").base
    'cratchit'
    """
    key = normalise(name)
    words = key.split()
    first, last, suffix = 0, len(words), ""
    capital = any(c.isupper() for c in name)
    while (
        capital
        and first < last - 1
        and words[first] in TITLES
        and words[first + 1] not in ("of", "the", "and")
    ):
        first += 1
    titles = frozenset(words[:first])
    if last - first > 1 and words[last - 1] in _SUFFIXES:
        suffix, last = _SUFFIXES[words[last - 1]], last - 1
    elif last - first > 2 and words[last - 2] == "the" and words[last - 1] in ("elder", "younger"):
        suffix, last = words[last - 1], last - 2
    base = words[first:last]
    if titles and base[-1] in TYPE_OF_NOUN:
        # ``King Street``, ``Lady Chapel``: a place, not a person with a title.
        return Name(key, key, tuple(words), frozenset(), "", not capital)
    return Name(key, " ".join(base), tuple(base), titles, suffix, not capital)


def several(description: str) -> bool:
    """Say whether a text speaks of more than one bearer of a name.

    >>> several("It was meant for the other Silas Threave."), several("Silas Threave was there.")
    (True, False)
    """
    return _SEVERAL.search(description) is not None


def gender_of(name: Name) -> str:
    """``m``, ``f`` or empty, by title, then by given name."""
    if name.titles & FEMALE_TITLES:
        return "f"
    if name.titles & MALE_TITLES:
        return "m"
    given = name.words[0] if len(name.words) > 1 else ""
    return "m" if given in MEN else "f" if given in WOMEN else ""


def evidence(name: Name, written: str, kind: str, description: str) -> Evidence:
    """Read what a mention tells of its bearer.

    Args:
        name: the name, taken apart.
        written: as it stands in the text.
        kind: type by the extractor; decides only whether to look for a person's particulars.
        description: a sentence that mentions it.

    >>> text = "They asked Thomas Quill, the old harbour-master, about it."
    >>> evidence(take_apart("Thomas Quill"), "Thomas Quill", "person", text).occupations
    frozenset({'harbour-master'})
    """
    found = Evidence(suffix=name.suffix, titles=name.titles)
    if kind in ("", "person"):
        found.gender = gender_of(name)
    at = description.find(written) if written else -1
    if kind == "ship":
        found.kind = "ship"
    if at >= 0:
        before, after = (
            description[max(0, at - 60) : at],
            description[at + len(written) : at + len(written) + 120],
        )
        _around(found, kind, before, after)
    if found.kind == "ship":
        return Evidence(kind="ship")
    if found.titles or found.occupations or found.suffix:
        found.kind = "person"
    if "widow" in found.occupations or found.titles & _WIVES:
        found.married = "yes"
    elif "miss" in found.titles:
        found.married = "no"
    return found


def _around(found: Evidence, kind: str, before: str, after: str) -> None:
    epithet = _EPITHET.match(after)
    if epithet and kind in ("", "person"):
        word = (epithet.group(1) or epithet.group(2)).lower()
        found.suffix = _SUFFIXES.get(word, word)
        after = after[epithet.end() :]
    words = _WORD.findall(before.lower())
    near = words[-1] if words and not before.rstrip().endswith((",", ".", ";", ":")) else ""
    if TYPE_OF_NOUN.get(near) == "ship" or _VESSEL.search(before) or _ABOARD.search(before):
        found.kind = "ship"
        return
    if kind not in ("", "person"):
        return
    if near in TITLES:
        found.titles |= {near}
    if occupation(near):
        found.occupations |= {occupation(near)}
    match = _AFTER.match(after)
    if match:
        for word in match.group(1).lower().split():
            if word in _STOPS:
                break
            if occupation(word):
                found.occupations |= {occupation(word)}
    opening = after.find("(", 0, 40)
    bracket = after[opening : after.find(")", opening) + 1] if opening >= 0 else ""
    years = _YEAR.findall(bracket)
    if len(years) == 2 and _DASH.search(bracket):
        found.born, found.died = int(years[0]), int(years[1])
        return
    born, died = _BORN.match(after), _DIED.match(after)
    found.born = int(born.group(1)) if born else 0
    found.died = int(died.group(1)) if died else 0


def occupation(word: str) -> str:
    """The word, if it names what a person does.

    >>> occupation("harbour-master"), occupation("keeper,"), occupation("tide")
    ('harbour-master', 'keeper', '')
    """
    word = word.strip(".,;:()’'")
    plain = word.replace("-", "")
    if (
        word in OCCUPATIONS
        or plain in OCCUPATIONS
        or any(plain.endswith(craft) and len(plain) > len(craft) + 2 for craft in _CRAFT)
    ):
        return word
    return ""
