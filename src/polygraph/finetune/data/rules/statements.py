"""Sentences that can be understood alone: what questions without a model are made from. English."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from polygraph.finetune.data.quotes import sentences
from polygraph.finetune.data.records import Quote
from polygraph.finetune.data.rules.nouns import ANY_TITLE, FEMALE, MALE, TITLES, is_office, is_time, noun_of
from polygraph.records import Chunk, Entity
from polygraph.text.words import STOP_WORDS

MIN_CHARACTERS, MAX_CHARACTERS = 30, 260
_OF_THE_SPEAKER = re.compile(
    r"\b(?:I|me|my|mine|myself|we|us|our|ours|ourselves|you|your|yours|yourself)\b|\bI['’]", re.IGNORECASE
)
_POINTING = re.compile(
    r"\b(?:this|these|those|such|former|latter|here|thus|therefore|hence|accordingly|same|the others?|the rest|"
    r"the following|so|that (?:part|day|night|morning|evening|afternoon|week|month|year|time|place|office|name|sum|"
    r"town|port|way|moment|matter|case|season)|(?:in|on|at|of|by|for|from|with|during|to) that [a-z]+|"
    r"that [a-z]+(?=[.!]$)|"
    r"there(?! (?:is|was|are|were|be|being|been|has|have|had|will|would|should|could|might|may|must|can|no)\b))\b",
    re.IGNORECASE,
)
"""Words that point to what stands outside the sentence."""
_ELLIPTIC = re.compile(
    r"^The (?:first|second|third|fourth|last|next|other|larger|smaller) [a-z]+|\b(?:its|his|her|their) own(?=[,.])"
)
"""Phrases whose noun stands in another sentence."""
_THING_PRONOUN = re.compile(r"\b(?:it|they|them|its|their|theirs|itself|themselves|one)\b", re.IGNORECASE)
_HE = re.compile(r"\b(?:he|him|his|himself)\b", re.IGNORECASE)
_SHE = re.compile(r"\b(?:she|her|hers|herself)\b", re.IGNORECASE)
_MAN = re.compile(
    r"\b(?:man|men|boy|father|son|brother|uncle|nephew|husband|gentleman|king)\b", re.IGNORECASE
)
_WOMAN = re.compile(
    r"\b(?:woman|women|girl|mother|daughter|sister|aunt|niece|wife|widow|lady|queen|ship|vessel|barque|brig|boat|"
    r"lifeboat|schooner|brigantine)\b",
    re.IGNORECASE,
)
_THING = re.compile(r"\b(?:an?|the|his|her|every|each|some|any|two|three|four|five)\s+[a-z]+", re.IGNORECASE)
"""What a pronoun for things may stand for, if it comes before it."""
_ODD = frozenset('"“”„«»?[]|_#:;()…')
"""Characters of speech, lists, code and asides, which lose their meaning in a question."""
_CONJUNCTION = re.compile(r"(?:And|But|So|Yet)\s+(?=[A-Za-z])")
_START = re.compile(r"(?:The|An?|Every|Each|No|Some|All|Many|Most|Both)\s+[\w'’-]+")
_PREPOSITION = re.compile(
    r"(?:In|On|At|By|After|Before|During|From|Until|Since|For|Near|Under|With|Upon|Between|According to)\s+"
    r"[^,]{3,80}(?:,\s+|\s+)(?=(?:the|an?|every|each|no)\s+[a-z]|[A-Z])"
)
_FINITE_VERBS = """
    is was are were has had have did does do will would shall should can could may might must came went gave took said
    wrote made saw lay stood fell sold bought kept held found left put paid brought began rose sat led met sent told
    thought knew won lost built drew grew ran struck broke spoke chose became wore read set let cut bore caught fought
    hung swore taught threw woke forgot flew drove swam sang rang sank shook stole tore understood withdrew laid says
    asks reports believes thinks expects wants wishes hopes knows runs keeps gives takes makes meets stands lies holds
    carries bears leaves lives goes comes supplies buys sells owns rents depends provides contains requires allows uses
    begins ends opens closes shows means proposes
"""
FINITE = frozenset(_FINITE_VERBS.split())
"""Finite verbs that do not end in -ed."""
ANY_FINITE = "|".join(sorted(FINITE))
"""Pattern of such a verb."""
_WHOLE_NAME = r"(?<![\w'’-]){}(?!['’-]?\w)"
_AFTER_NAME = re.compile(
    r"['’]s? |, [^,]+,? |\.? (?:(?:and|or) (?:the )?[A-Z][\w.'’ ]* )?(?P<verb>[a-z][\w'’-]*)\b"
)
_TITLES_BEFORE = re.compile(rf"(?:\b(?:{ANY_TITLE})\.? )+$", re.IGNORECASE)
_NOT_VERBS = "of for on in at by with from to upon under near and or who which that as"
_NO_VERBS = frozenset(_NOT_VERBS.split())
_BEFORE_PARTICIPLE = frozenset(("be", "been", "being", "to", "having", "by", "a", "an", "the", "of", "and"))
"""Words after which a form in -ed is no finite verb."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A sentence with the entities that it names."""

    text: str
    """Without marks of emphasis and without a conjunction at its beginning; with a name for "He" or "She" there."""
    names: tuple[tuple[str, Entity], ...]
    """Spelling and entity, in the order of the text; of overlapping names the longest."""
    title: str
    """Title of its document; empty if other documents have it too."""
    trusted: bool
    """Whether a model extracted the types of the entities."""
    quotes: tuple[Quote, ...]
    """The sentence; before it the one that names whom "He" or "She" stands for."""


@dataclass(frozen=True, slots=True)
class _Person:
    """The person that the sentence before begins with."""

    spelling: str
    quote: Quote
    """That names the person."""
    others: tuple[str, ...]
    """Other people whom the sentence before names."""

    def is_meant(self, pronoun: str) -> bool:
        """Return whether "he" or "she" can only stand for this person, as far as titles say."""
        return _agrees(pronoun, self.spelling) and not any(_agrees(pronoun, other) for other in self.others)


def statements_of(
    chunk: Chunk, entities: Sequence[Entity], title: str, *, trusted: bool
) -> Iterator[Statement]:
    """Yield the sentences of a passage that can be understood alone.

    "He" or "She" at the beginning of a sentence is replaced by a name if the sentence before begins with this person,
    by name or by such a pronoun, and names nobody else whose title agrees.

    Args:
        chunk: the passage.
        entities: that it mentions.
        title: of its document, as for `Statement`.
        trusted: whether a model extracted the types of the entities.
    """
    person: _Person | None = None
    end = chunk.start
    for quote in sentences(chunk):
        if re.search(r"[^\W_]", chunk.text[end - chunk.start : quote.start - chunk.start]):
            person = None  # a heading, or a sentence too long to be quoted
        end = quote.end
        plain = _plain(quote.text)
        quotes: tuple[Quote, ...] = (quote,)
        pronoun = re.match(r"(?:He|She)\b", plain)
        if person is not None and pronoun is not None and person.is_meant(pronoun[0]):
            plain = f"{person.spelling}{plain[pronoun.end() :]}"
            quotes = (person.quote, quote)
        elif pronoun is not None:
            person = None
            continue
        found = names_in(plain, entities)
        person = _first_person(plain, found, quotes[0], trusted=trusted)
        if _is_usable(plain) and is_clear(plain, found):
            yield Statement(text=plain, names=tuple(found), title=title, trusted=trusted, quotes=quotes)


def is_clear(text: str, names: Sequence[tuple[str, Entity]]) -> bool:
    """Return whether a sentence has a subject and a verb, and every pronoun stands for something in it."""
    subject = next((m[0] for s, _ in names if (m := re.match(rf"(?:The )?{re.escape(s)}(?!\w)", text))), "")
    if subject and not subject.startswith("The "):
        after = _AFTER_NAME.match(text[len(subject) :])
        # "Resolved, that ..." has no subject, whatever a parser takes it for.
        if after is None or after["verb"] in _NO_VERBS or (" " not in subject and subject.endswith("ed")):
            return False
    elif not subject and not _START.match(text) and not _PREPOSITION.match(text):
        return False
    if re.match(r"[^,]+, (?:he|she|it|they)\b", text):
        return False
    if not has_verb(text) or _POINTING.search(text) or _ELLIPTIC.search(text):
        return False
    if not all(_has_person(text[: each.start()], "he", names) for each in _HE.finditer(text)):
        return False
    if not all(_has_person(text[: each.start()], "she", names) for each in _SHE.finditer(text)):
        return False
    # "Mr. Bask, for the Board, thought that it ..." does not mean the board.
    said = re.sub(r"^, [^,]+,", "", text[len(subject) :])
    return all(_THING.search(said[: each.start()]) for each in _THING_PRONOUN.finditer(said))


def has_verb(text: str) -> bool:
    """Return whether a text has a finite verb, as far as its form shows."""
    words = re.findall(r"[^\W\d_][\w'’-]*", text)
    past = (w for before, w in pairwise(words) if w.endswith("ed") and before not in _BEFORE_PARTICIPLE)
    return any(word in FINITE for word in words) or any(word.islower() and len(word) > 4 for word in past)


def names_in(text: str, entities: Sequence[Entity]) -> list[tuple[str, Entity]]:
    """Return the names that a sentence contains, in its order.

    Of overlapping names the longest counts, ties by position, then id. Days, months and feasts are no names.
    """
    found: list[tuple[int, int, str, Entity]] = []
    for entity in entities:
        for spelling in sorted({entity.name, *entity.aliases}):
            if spelling in text and is_name(spelling):
                match = re.search(_WHOLE_NAME.format(re.escape(spelling)), text)
                if match:
                    found.append((*match.span(), spelling, entity))
    taken: list[tuple[int, int, str, Entity]] = []
    for each in sorted(found, key=lambda f: (f[0] - f[1], f[0], f[3].id)):
        if all(each[1] <= other[0] or other[1] <= each[0] for other in taken):
            taken.append(each)
    return [(spelling, entity) for _, _, spelling, entity in sorted(taken, key=lambda f: (f[0], f[1]))]


def is_name(text: str) -> bool:
    """Return whether a spelling looks like a proper name.

    >>> is_name("Skerry Light"), is_name("clock"), is_name("STOP"), is_name("Monday")
    (True, False, False, False)
    """
    starts = len(text) > 2 and text[0].isupper() and not text.isupper()
    return starts and text.casefold() not in STOP_WORDS and not is_time(text)


def proper_names(statement: Statement, without: str = "") -> int:
    """Count the names of a statement that are no offices, without those of one entity (an id)."""
    return len({e.id for spelling, e in statement.names if e.id != without and not is_office(spelling)})


# --- parts ----------------------------------------------------------------------------------------------


def _plain(text: str) -> str:
    plain = _CONJUNCTION.sub("", re.sub(r"\*{1,3}", "", text), count=1)
    return f"{plain[:1].upper()}{plain[1:]}"


def _is_usable(text: str) -> bool:
    if not MIN_CHARACTERS <= len(text) <= MAX_CHARACTERS or text[-1] not in ".!" or not text[0].isalpha():
        return False
    return not (_ODD.intersection(text) or text.isupper() or _OF_THE_SPEAKER.search(text))


def _first_person(
    text: str, names: Sequence[tuple[str, Entity]], quote: Quote, *, trusted: bool
) -> _Person | None:
    """Return the person that a sentence begins with, and the other people and offices in it."""
    people = {
        _titled(spelling, text): entity.id
        for spelling, entity in names
        if is_office(spelling) or noun_of(entity, _titled(spelling, text), trusted=trusted) == "person"
    }
    first = next((name for name in people if text.startswith(name) and not is_office(name)), None)
    if first is None or re.match(r"['’]s\b|,? and\b", text[len(first) :]):
        return None
    others = tuple(name for name, entity in people.items() if entity != people[first])
    return _Person(spelling=first, quote=quote, others=others)


def _titled(spelling: str, text: str) -> str:
    """Return a name with the titles before it in a text."""
    before = _TITLES_BEFORE.search(text[: max(text.find(spelling), 0)])
    return f"{before[0] if before else ''}{spelling}"


def _agrees(pronoun: str, name: str) -> bool:
    """Return whether "he" or "she" can stand for a name, as far as its title says."""
    title = name.partition(" ")[0].strip(".").casefold()
    return title not in (FEMALE if pronoun.casefold() == "he" else MALE)


def _has_person(before: str, pronoun: str, names: Sequence[tuple[str, Entity]]) -> bool:
    """Return whether the text before a pronoun has somebody, or a ship, that it can stand for.

    A title that says neither, as "Alderman" or an office, counts for "he" alone; a name without a title for both.
    """
    if (_MAN if pronoun == "he" else _WOMAN).search(before):
        return True
    for spelling, _ in names:
        if spelling not in before:
            continue
        first = _titled(spelling, before).partition(" ")[0].strip(".").casefold()
        neutral = first in TITLES - FEMALE - MALE or is_office(spelling)
        if _agrees(pronoun, first) and (pronoun == "he" or not neutral):
            return True
    return pronoun == "he" and any(is_office(word) for word in re.findall(r"[\w-]+", before))
