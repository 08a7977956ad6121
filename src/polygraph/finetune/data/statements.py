"""Questions from single English sentences: a name, date, number or description is asked for where it stands.

"The Halcyon struck the Grey Reef in the fog." becomes "The Halcyon struck which place in the fog?". The order of words
stays, so that no grammar is needed and the question is as true as its sentence. A sentence that needs its context to be
understood gives no question.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polygraph.records import Entity
from polygraph.text.quantities import NUMBER_WORDS
from polygraph.text.words import STOP_WORDS, content_stems

MIN_CHARACTERS, MAX_CHARACTERS = 40, 260
_MIN_STEMS = 4
"""Content words that a question needs to be about one thing."""
NOUNS = {
    "person": "person",
    "place": "place",
    "location": "place",
    "organization": "organization",
    "group": "group",
    "ship": "ship",
    "work": "work",
    "product": "product",
    "event": "event",
}
"""Noun that asks for an entity, by its type."""
_OF_THE_SPEAKER = re.compile(
    r"\b(?:I|me|my|mine|myself|we|us|our|ours|ourselves|you|your|yours|yourself)\b|\bI['’]", re.IGNORECASE
)
_POINTING = re.compile(
    r"\b(?:he|she|it|they|him|her|them|his|hers|its|their|theirs|himself|herself|itself|themselves|this|these|those|"
    r"such|former|latter|here|there|one)\b",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"(?:this|that|these|those|such|here|there|then|thus|hence|therefore|however|moreover|also|yet|still|nor|or|"
    r"instead|otherwise|meanwhile|afterwards|besides|what|who|which|why|how|when|where|if|because|as)\b",
    re.IGNORECASE,
)
_CONJUNCTION = re.compile(r"(?:And|But|So|For)\s+(?=[A-Za-z])")
_TITLES = r"(?:Mrs?|Ms|Dr|Miss|Sir|Lady|Lord|Captain|Capt|Professor|Prof|Alderman|Councillor|Dean|Rev|Father|Judge)\.?"
_MONTH = (
    "January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun|Jul|"
    "Aug|Sept|Sep|Oct|Nov|Dec"
)
_DATE = re.compile(
    rf"\b(?P<on>[Oo]n )(?P<value>(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTH})\.?(?:,? \d{{4}})?|"
    rf"(?:{_MONTH})\.? \d{{1,2}}(?:st|nd|rd|th)?(?:, \d{{4}})?)\b"
)
_YEAR = re.compile(
    r"\b(?P<on>(?:[Ii]n|[Ss]ince|[Uu]ntil|[Bb]y|[Bb]efore|[Aa]fter) )(?P<value>1[0-9]{3}|20[0-9]{2})\b(?!['’-])"
)
_WORDS = "|".join(sorted((*NUMBER_WORDS, "hundred", "thousand", "million", "dozen"), key=len, reverse=True))
_NUMBER = rf"(?:\d{{1,3}}(?:,\d{{3}})+|\d+|(?:{_WORDS})(?:(?:-| | and )(?:{_WORDS}))*)"
_MONEY = re.compile(
    rf"(?P<on>)(?P<value>[£$€]\d[\d,]*(?:\.\d+)?(?: \d+s\.(?: \d+d\.)?)?|\b{_NUMBER} (?:pounds|guineas|shillings|dollars|euros))(?![\w-])",
    re.IGNORECASE,
)
_COUNT = re.compile(rf"\b(?P<on>)(?P<value>{_NUMBER}) (?P<noun>(?:[a-z]+ )?[a-z]{{3,}}s)\b(?! (?:and|or) )")
_NOT_COUNTED = frozenset(
    {"is", "was", "has", "does", "this", "his", "its", "us", "less", "pounds", "guineas", "shillings"}
)
_IS = r"(?P<verb>is|was|are|were)"
_WHOLE_NAME = r"(?<![\w'’-]){}(?!['’-]?\w)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A sentence with the entities that it names."""

    text: str
    names: tuple[tuple[str, Entity], ...]
    """Spelling and entity, in the order of the text; longest spellings first where names overlap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedStatement:
    """A question about a sentence."""

    question: str
    answer: str
    """As the sentence spells it."""
    asked: Entity | None = None
    """The entity that is the answer, if it is one."""


def read_statement(text: str, entities: Sequence[Entity]) -> Statement | None:
    """Return a sentence with its names; None if it is too short or long, or not understood without its context."""
    if not MIN_CHARACTERS <= len(text) <= MAX_CHARACTERS or not text[0].isupper() or text[-1] not in ".!":
        return None
    if any(c in text for c in '"“”„«»?[]|*_#:') or _OF_THE_SPEAKER.search(text):
        return None
    names = tuple(_names_in(text, entities))
    if not names:
        return None
    bare = _CONJUNCTION.sub("", text, count=1)
    pointing = _POINTING.search(bare)
    first_name = bare.find(names[0][0])
    if _OPENING.match(bare) or (pointing is not None and pointing.start() < first_name):
        return None
    return Statement(text=text, names=names)


def named_entities(statement: Statement) -> Iterator[AskedStatement]:
    """Ask for each name of a sentence that has another name, by its type; not for the name that it begins with."""
    for spelling, entity in statement.names:
        noun = NOUNS.get(entity.type)
        if noun is None:
            continue
        pattern = _WHOLE_NAME.format(
            rf"(?:[Tt]he )?(?P<name>(?:{_TITLES} )*{re.escape(spelling)})(?P<whose>['’]s)?"
        )
        found = list(re.finditer(pattern, statement.text))
        if len(found) != 1 or found[0].start() == 0 or _runs_on(statement.text, found[0].span("name")):
            continue
        asked = f"which {noun}{found[0]['whose'] or ''}"
        question = _asked(statement.text, found[0].span(), asked)
        left = {word.casefold() for word in re.findall(r"[A-Z]\w+", question)}
        own = {
            word.casefold()
            for name in (entity.name, *entity.aliases)
            for word in re.findall(r"[A-Z]\w+", name)
        }
        others = any(other.id != entity.id for _, other in statement.names)
        if others and not left & (own - STOP_WORDS) and _is_specific(question):
            yield AskedStatement(question=question, answer=found[0]["name"], asked=entity)


def values(statement: Statement) -> Iterator[AskedStatement]:
    """Ask for the day, the year, the amount of money or the number in a sentence that has one of them once."""
    for pattern, words in (
        (_DATE, "which day"),
        (_YEAR, "which year"),
        (_MONEY, "how much"),
        (_COUNT, "how many"),
    ):
        found = list(pattern.finditer(statement.text))
        if len(found) != 1 or (words == "how many" and found[0]["noun"].split()[-1] in _NOT_COUNTED):
            continue
        (match,) = found
        if match.start() == 0 and words in ("which day", "which year"):
            # "In 1871 the lamp was lit." asks as "The lamp was lit in which year?".
            rest = statement.text[match.end() :].lstrip(", ").rstrip(".! ")
            question = f"{rest[:1].upper()}{rest[1:]} {match['on'].lower()}{words}?" if rest else ""
        else:
            question = _asked(statement.text, match.span("value"), words)
        if _is_specific(question):
            yield AskedStatement(question=question, answer=match["value"].removeprefix("the "))


def description(statement: Statement) -> AskedStatement | None:
    """Ask who or what the first name of a sentence is, if the sentence says so."""
    spelling, entity = statement.names[0]
    head = rf"(?:The )?{re.escape(spelling)}"
    is_a = re.match(rf"(?P<head>{head}) {_IS} (?P<what>(?:the|an?) [^;:]{{8,140}})[.!]$", statement.text)
    apposed = re.match(rf"(?P<head>{head}), (?P<what>(?:the|an?) [^,;:.]{{8,100}}), ", statement.text)
    found = is_a or apposed
    if found is None or len(content_stems(found["what"])) < 2:
        return None
    word = "Who" if entity.type in ("person", "group") else "What"
    verb = found["verb"] if is_a else "was"
    name = found["head"]
    name = f"the {name[4:]}" if name.startswith("The ") else name
    return AskedStatement(question=f"{word} {verb} {name}?", answer=found["what"])


def _asked(text: str, span: tuple[int, int], words: str) -> str:
    """Replace a part of a sentence by question words, and end it with a question mark."""
    question = _CONJUNCTION.sub("", f"{text[: span[0]]}{words}{text[span[1] :]}".rstrip(".! "), count=1)
    return f"{question[:1].upper()}{question[1:]}?"


def _is_specific(question: str) -> bool:
    return len(content_stems(question)) >= _MIN_STEMS and len(question) >= MIN_CHARACTERS // 2


def _runs_on(text: str, span: tuple[int, int]) -> bool:
    """Return whether a name is a part of a longer one: another capitalised word is next to it."""
    before = re.search(r"([A-Z][\w.'’]*) $", text[: span[0]])
    after = re.match(r" (?:of the |of |de |von |van )?[A-Z]|-", text[span[1] :])
    starts = before is not None and before.start() == 0
    return after is not None or (before is not None and not starts)


def _names_in(text: str, entities: Sequence[Entity]) -> list[tuple[str, Entity]]:
    """Return the names that a sentence contains; of overlapping names the longest, ties by position, then id."""
    found: list[tuple[int, int, str, Entity]] = []
    for entity in entities:
        for spelling in {entity.name, *entity.aliases}:
            if is_name(spelling):
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

    >>> is_name("Skerry Light"), is_name("clock"), is_name("STOP")
    (True, False, False)
    """
    return len(text) > 2 and text[0].isupper() and not text.isupper() and text.casefold() not in STOP_WORDS
