"""What the rows of one document state about the identity of its names.

A model that writes records of their own for two names of one reply, and a relation between them, means two things,
unless the predicate itself says that they are one. It means two as well if it adds different words to one name, as the
prompt asks for namesakes: ``Ruth Vane (pilot)``, ``Ruth Vane (chemist)``.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from string import ascii_letters, digits

from polygraph.extract.lexicon import GENERIC_HEADS, OCCUPATIONS, TITLES, TYPE_OF_NOUN
from polygraph.extract.resolution.evidence.attributes import Attributes
from polygraph.extract.resolution.evidence.other_names import (
    is_only_name,
    names_said,
    says_name,
    says_name_in,
)
from polygraph.extract.resolution.evidence.predicates import kind_of_predicate
from polygraph.extract.resolution.names.name_parts import NameParts
from polygraph.extract.resolution.records import Mention, NameRelation, Rule
from polygraph.extract.resolution.vocabulary.kinds import kind_of_type, kinds_conflict
from polygraph.extract.resolution.vocabulary.regions import place_in_english
from polygraph.text.normalize import fold, normalize_name
from polygraph.text.quantities import located_dates
from polygraph.text.words import ascii_splitter

EQUATES, APART, MAYBE, LISTED = "equates", "apart", "maybe", "listed"
"""What a text says of two names: one thing, two, one is described as a name of something, or a model lists a person's
short name beside the longer one."""
_GENERIC = TITLES | OCCUPATIONS | frozenset(TYPE_OF_NOUN) | GENERIC_HEADS
_OTHER_NAME = re.compile(
    r"\b((?:also|better|formerly|previously|originally|once|now|commonly) (?:known as|called|named)|known as"
    r"|n[ée]e|formerly|alias|aka|renamed(?: to| as)?|nick-?named?(?: of| for)?|(?:another|other|chemical|scientific"
    r"|common|generic|brand|original|later|former|old|new"
    r"|maiden|real|stage|pen|full|short|German|French|English|Latin) name (?:of|for)|abbreviat(?:ed|ion) (?:as"
    r"|of|for)|acronym (?:of|for)|short for|stands for|same (?:as|person as)|auch(?: bekannt als| genannt)?"
    r"|genannt|früher|vormals|ehemals|geborene|alias|umbenannt in|connue? sous le nom de|anciennement"
    r"|aussi appelée?|dite?|(?:también )?(?:conocid[oa] como|llamad[oa])|antes|apodad[oa]|conhecid[oa] como"
    r"|antigamente|dett[oa]|conosciut[oa] come|già|også kalt|tidligere|kjent som|även kallad|även känd som"
    r"|известн\w+ как|также|бывш\w+)"
    r"\s+([^.;:,()]{2,60})",
    re.I,
)
_BEGINNINGS = """
formerly nee alias aka renamed nick nickname nicknamed abbreviated abbreviation acronym auch genannt vormals ehemals
geborene umbenannt connu connue anciennement aussi dit dite conocido conocida llamado llamada antes apodado apodada
conhecido conhecida antigamente detto detta conosciuto conosciuta tidligere kjent
"""
_BEFORE_NAME = """
another other chemical scientific common generic brand original later former old new maiden real stage pen full short
german french english latin
"""
_BEFORE_CALLED = "also better previously originally once now commonly"
_CALLED = frozenset(["known", "called", "named"])
_FIRST_WORDS = {
    **dict.fromkeys(_BEGINNINGS.split(), frozenset[str]()),
    **dict.fromkeys(_BEFORE_NAME.split(), frozenset(["name"])),
    **dict.fromkeys(_BEFORE_CALLED.split(), _CALLED),
    "known": frozenset(["as"]),
    "same": frozenset(["as"]),
    "short": frozenset(["name", "for"]),
    "stands": frozenset(["for"]),
}
"""Words in ASCII with which `_OTHER_NAME` can begin, each with those of which one must follow, if any.

Looking them up takes a tenth of the time of a search.
"""
_BEGINS = frozenset(_FIRST_WORDS)
_ascii_words = ascii_splitter(ascii_letters + digits + "_")
_MAX_WORDS = 6
_MAX_TEXT = 80
"""Characters of a predicate or a description that are kept."""
_OFTEN_NAMED = frozenset(["", "person", "place", "organization"])
"""Kinds of things that descriptions often name beside others of their kind."""
_NEVER_EQUATED = frozenset(["date", "event", "quantity", "time", "number"])


@dataclass(slots=True)
class WindowName:
    """A distinct name of a window."""

    mention: Mention
    parts: NameParts
    base: str
    rule: Rule = "same name"
    score: float = 1.0


@dataclass(slots=True)
class Statements:
    """Statements about the names of one document, by the position of the name."""

    links: dict[int, list[tuple[int, str, str]]] = field(default_factory=lambda: defaultdict(list))
    """For each name, others that it is or is not, with the predicate; each pair is stored once."""
    apart_keys: set[frozenset[str]] = field(default_factory=set)
    within: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    creators: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))

    def are_apart(self, key: str, base: str) -> bool:
        """Return whether a name is kept apart from another, each by its key or base name."""
        return frozenset((key, base)) in self.apart_keys

    def add_to(self, attributes: Attributes, n: int) -> None:
        """Add what relations say of a name to its attributes."""
        if attributes.kind != "person":
            if n in self.within:
                attributes.within |= self.within[n]
            if n in self.creators:
                attributes.creators |= self.creators[n]


def read_statements(names: Sequence[WindowName], relations: Iterable[NameRelation]) -> Statements:
    """Collect what relations, descriptions and the names themselves state about the identity of names.

    Args:
        names: of one document.
        relations: of the same windows; relations with unknown names are ignored.
    """
    found = Statements()
    position = {(name.mention.window, name.mention.name): n for n, name in enumerate(names)}
    seen: set[tuple[int, int, str]] = set()
    for relation in sorted(relations, key=lambda r: (r.window, r.source, r.target, r.predicate)):
        i, j = (position.get((relation.window, name)) for name in (relation.source, relation.target))
        if i is None or j is None or names[i].parts.key == names[j].parts.key:
            continue
        source, target = names[i], names[j]
        kind = kind_of_predicate(relation.predicate)
        if kind == "within":
            found.within[i].add(place_in_english(fold(target.parts.base)))
        elif kind == "creates" and kind_of_type(target.mention.type) in ("work", "software"):
            found.creators[j].add(fold(source.parts.base))
        equates = kind == "equates" or (kind == "becomes" and _are_names(source, target))
        link = EQUATES if equates and _may_be_one(source, target) else APART
        if link == APART and kind == "other" and says_name_in(relation.predicate):
            link = MAYBE if _are_of_one_kind(source, target) else APART
        if (min(i, j), max(i, j), link) in seen or (
            link == APART and not _comparable(source.parts, target.parts)
        ):
            continue
        seen.add((min(i, j), max(i, j), link))
        found.links[min(i, j)].append((max(i, j), link, relation.predicate[:_MAX_TEXT]))
        if link == APART:
            keys = ((a, b) for a in (source.parts.key, source.base) for b in (target.parts.key, target.base))
            found.apart_keys.update(frozenset(pair) for pair in keys if pair[0] != pair[1])
    _add_namesakes(found, names)
    _add_descriptions(found, names, seen)
    return found


def _add_namesakes(found: Statements, names: Sequence[WindowName]) -> None:
    """Keep apart what a model names alike in one window with different additions: ``Mercury (planet)``."""
    by_name: dict[tuple[str, str], list[int]] = defaultdict(list)
    for n, name in enumerate(names):
        if name.parts.apposition:
            by_name[name.mention.window, name.parts.base].append(n)
    for some in by_name.values():
        for i, j in combinations(some, 2):
            first, second = (set(normalize_name(names[n].parts.apposition).split()) for n in (i, j))
            if not (first <= second or second <= first):
                found.links[i].append((j, APART, "named apart"))


def _add_descriptions(
    found: Statements, names: Sequence[WindowName], seen: set[tuple[int, int, str]]
) -> None:
    """Add the other names that descriptions give: ``also known as Strider``."""
    by_window: dict[str, dict[str, int]] = defaultdict(dict)
    for n, name in enumerate(names):
        by_window[name.mention.window].setdefault(name.parts.key, n)
    for i, name in enumerate(names):
        others, text = by_window[name.mention.window], name.mention.description
        if text.isascii() and not _may_give_other_name(text):
            continue
        for match in _OTHER_NAME.finditer(text):
            words = normalize_name(match.group(2)).split()
            for end in range(min(len(words), _MAX_WORDS), 0, -1):
                j = others.get(" ".join(words[:end]))
                if j is not None:
                    pair = (min(i, j), max(i, j), EQUATES)
                    if i != j and pair not in seen and _may_be_one(name, names[j]):
                        seen.add(pair)
                        found.links[pair[0]].append((pair[1], EQUATES, match.group(1)))
                    break
    _add_described_names(found, names, seen)


def _add_described_names(
    found: Statements, names: Sequence[WindowName], seen: set[tuple[int, int, str]]
) -> None:
    """Add what a name may be where its description only says that it is one: ``Abbreviation of the institute``.

    It is that of the name of its kind that the description speaks of, or the only one of its kind.
    """
    by_window: dict[str, list[int]] = defaultdict(list)
    for n, name in enumerate(names):
        by_window[name.mention.window].append(n)
    for i, name in enumerate(names):
        text = name.mention.description
        said = says_name(text)
        if not said and (len(text) > _MAX_TEXT or kind_of_type(name.mention.type) in _OFTEN_NAMED):
            continue
        others = [
            j
            for j in by_window[name.mention.window]
            if name.parts.key != names[j].parts.key and _are_of_one_kind(name, names[j])
        ]
        named = [others[n] for n in names_said(text, [names[j].parts.words for j in others])]
        if not said:
            # ``The liner Halcyon``
            others = []
            named = [j for j in named if is_only_name(text, names[j].parts.words)]
        if len(some := named or others) == 1:
            pair = (min(i, some[0]), max(i, some[0]))
            if not {(*pair, EQUATES), (*pair, APART), (*pair, MAYBE)} & seen:
                seen.add((*pair, MAYBE))
                found.links[pair[0]].append((pair[1], MAYBE, text[:_MAX_TEXT]))


def _are_of_one_kind(a: WindowName, b: WindowName) -> bool:
    """Return whether the types of two names are of one kind, or one type that is of none."""
    first, second = (kind_of_type(name.mention.type) or name.mention.type for name in (a, b))
    return first == second != "" and first not in _NEVER_EQUATED


# A sentence describes every name in it.
@lru_cache(maxsize=256)
def _may_give_other_name(text: str) -> bool:
    """Return whether `_OTHER_NAME` may occur in a text in ASCII."""
    words = frozenset(_ascii_words(text.lower()))
    return any(not (needed := _FIRST_WORDS[word]) or not needed.isdisjoint(words) for word in _BEGINS & words)


def _may_be_one(a: WindowName, b: WindowName) -> bool:
    """Return whether two names may be equated: of things of one kind, and no dates."""
    # A model writes ``renamed in | 1991`` without a record for the year.
    types = {name.mention.type or ("date" if _is_date(name.mention.name) else "") for name in (a, b)}
    if types & _NEVER_EQUATED and len(types) > 1:
        return False
    return not kinds_conflict(kind_of_type(a.mention.type), kind_of_type(b.mention.type))


def _is_date(name: str) -> bool:
    """Return whether a name is nothing but a date."""
    return any(end - start == len(name.strip()) for _, start, end in located_dates(name.strip()[:_MAX_TEXT]))


def _are_names(*names: WindowName) -> bool:
    """Return whether no name is an office, a trade or another general noun."""
    return not any(
        _GENERIC.issuperset(name.parts.words)
        or name.parts.is_lower_case
        or not name.mention.type
        or name.mention.type in ("concept", "role", "title")
        for name in names
    )


def _comparable(a: NameParts, b: NameParts) -> bool:
    """Return whether a later rule may compare two names: some of their words begin alike."""
    is_ascii = a.key.isascii() and b.key.isascii()
    return not is_ascii or not _first_letters(a.key).isdisjoint(_first_letters(b.key))


@lru_cache(maxsize=2_048)
def _first_letters(key: str) -> frozenset[str]:
    return frozenset(fold(word)[:1] for word in key.split())
