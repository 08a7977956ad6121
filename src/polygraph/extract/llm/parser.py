"""Reading the records of entities and relations that a language model wrote.

The format that we ask for is one record per line, the free text last:

```
entity | name | type | description
relation | source | target | predicate | keywords; keywords | strength | description
END
```

Why lines and not JSON: 192 replies of real models to another prompt show that they hold to a line-based form
almost without fault, and that what does go wrong (a lost quote, a broken delimiter, ``|`` for ``<|>``) costs
one field of one record, while one such fault makes a whole JSON text invalid. A reply that is cut off at its
limit loses its last line only; all JSON extractions of small local models that were measured ended there and
could not be parsed. Written in this form the records of those replies take 36 tokens each; in compact JSON
44, in indented JSON 62. The free text stands last, so that a ``|`` inside it does no harm, and the prompt has
relations follow their entities at once, so that a cut takes the end of the text rather than all relations. No
delimiter is more than one character long, since the defects of the 192 replies are nearly all broken copies
of a longer one.

Models do not always do as asked. Also read: code fences, numbering, bullets, bold, quotes; other delimiters;
tuples such as ``("entity"<|>"NAME"<|>...)##``; JSON, whole, per line or cut off; Markdown tables; sections
under a heading; fields that are missing, swapped or too many; strengths as ``8/10`` or words. What cannot be
used is kept in `ParsedExtraction.dropped` with its reason.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from polygraph.errors import UnusableReply
from polygraph.extract.llm.formats import Candidate, JsonRecords, Lines, is_ending, is_json
from polygraph.records import Json
from polygraph.tasks.output_parsing import json_values, printable, unquote, without_thinking
from polygraph.text.normalize import normalize_name

MAX_CHARS = 200_000
"""Of a reply that is longer, the rest is not read."""
MAX_NAME = 120
"""Characters; what is longer is a sentence and not a name."""
MAX_TYPE = 40
MAX_PREDICATE = 80
MAX_KEYWORDS = 8
MAX_KEYWORD = 60
MAX_DESCRIPTION = 1_500
"""Characters of a description; the rest is cut off, and said to be."""
MAX_DROPPED = 100
"""Dropped lines that are kept word for word; all are counted."""
UNSTATED_STRENGTH = 5.0
"""Strength of a relation for which the model gives none: the middle of the scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedEntity:
    """An entity as written, cleaned of marks."""

    name: str
    type: str = ""
    """Lower case; empty if not stated, or if only a relation names the entity."""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRelation:
    """A relation as written; both ends are names in `ParsedExtraction.entities`."""

    source: str
    target: str
    predicate: str = ""
    """Lower case."""
    keywords: tuple[str, ...] = ()
    description: str = ""
    strength: float = UNSTATED_STRENGTH
    """From 1 to 10."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """Something of the reply that was not used."""

    line: str
    """Its beginning."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedExtraction:
    """What a reply holds."""

    entities: tuple[ParsedEntity, ...] = ()
    """Distinct by normalised name, in order of appearance; ends that only relations name come last."""
    relations: tuple[ParsedRelation, ...] = ()
    """Distinct by ends and predicate, in order of appearance."""
    dropped: tuple[Dropped, ...] = ()
    """Records that could not be used and fields that were cut, at most `MAX_DROPPED`."""
    n_dropped: int = 0
    """All of them."""
    n_merged: int = 0
    """Records that repeat an earlier one and were merged with it."""
    n_created: int = 0
    """Entities that only relations name: they have neither type nor description."""
    n_ignored: int = 0
    """Lines that are not records: prose, headings, fences."""
    complete: bool = False
    """True if the reply ends with the marker that we ask for."""

    def __add__(self, other: "ParsedExtraction") -> "ParsedExtraction":
        """Add the records of a later reply about the same text, merging what is repeated."""
        merged = _Collected(max_records=None)
        for part in (self, other):
            for entity in part.entities:
                merged.add_entity(entity)
            for relation in part.relations:
                merged.add_relation(relation)
        return replace(
            merged.result(),
            dropped=(*self.dropped, *other.dropped)[:MAX_DROPPED],
            n_dropped=self.n_dropped + other.n_dropped,
            n_merged=self.n_merged + other.n_merged,
            n_created=sum(not (entity.type or entity.description) for entity in merged.entities.values()),
            n_ignored=self.n_ignored + other.n_ignored,
            complete=other.complete,
        )


def parse_extraction(
    text: str,
    *,
    window: str = "",
    example: Collection[str] = (),
    types: Collection[str] = (),
    max_records: int = 200,
    may_be_empty: bool = False,
) -> ParsedExtraction:
    """Read the records of a reply.

    Args:
        text: the reply, of any form and length.
        window: the text that the model was given; names of `example` that stand in it are legitimate.
        example: names of the prompt's own example: records that copy them are dropped.
        types: entity types that were asked for, which tell a type from a name where fields are swapped.
        max_records: entities and relations together that are kept, in the order of the reply.
        may_be_empty: accept a reply without any record, as after "what was missed?".

    Returns:
        The records in order. Cost grows with the length of the text.

    Raises:
        UnusableReply: if there is no usable record, unless the reply says that there is nothing to extract.

    >>> found = parse_extraction('''entity | Mara Quill | person | Keeps the light.
    ... relation | Mara Quill | The Halcyon | saved | rescue; sea | 8/10 | She saved its crew.
    ... END''')
    >>> [e.name for e in found.entities], found.relations[0].predicate, found.relations[0].strength
    (['Mara Quill', 'The Halcyon'], 'saved', 8.0)
    """
    raw = text
    text = printable(without_thinking(text[:MAX_CHARS]))
    reader = Lines(text) if not is_json(text) else JsonRecords(text)
    candidates = list(reader.candidates())
    if not candidates and isinstance(reader, JsonRecords):
        reader = Lines(text)
        candidates = list(reader.candidates())

    collected = _Collected(max_records=max_records)
    collected.complete = reader.complete
    collected.n_ignored = reader.n_ignored
    kind_words = frozenset(type_.casefold() for type_ in types) | _COMMON_TYPES
    names = {
        normalize_name(_clean(c.fields[0])) for c in candidates if c.kind == "entity" and len(c.fields) > 0
    } - {""}
    copied = _Copied(example, window)
    last_is_cut = _cut_off(candidates, reader.complete)
    for i, candidate in enumerate(candidates):
        try:
            if last_is_cut and i == len(candidates) - 1:
                raise _Refused("cut off")
            if candidate.kind == "entity":
                entity = _entity(candidate, kind_words)
                copied.check(entity.name)
                collected.add_entity(_bounded(entity, candidate.line, collected))
            else:
                relation = _relation(candidate, names)
                copied.check(relation.source)
                copied.check(relation.target)
                collected.add_relation(_bounded(relation, candidate.line, collected))
        except _Refused as refused:
            collected.drop(candidate.line, refused.reason)
    found = collected.result()
    if found.entities or may_be_empty or _says_nothing(text):
        return found
    raise UnusableReply(_problem(text, found), raw)


class _Refused(Exception):
    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def _cut_off(candidates: Sequence[Candidate], complete: bool) -> bool:
    """True if the last record seems to have lost its end: it is shorter than any of its kind before it."""
    if complete or not candidates or candidates[-1].named:
        return False
    last = candidates[-1]
    if not last.closed and len(last.fields) < (3 if last.kind == "entity" else 4):
        return True
    others = [len(c.fields) for c in candidates[:-1] if c.kind == last.kind]
    return len(last.fields) < min(others, default=2 if last.kind == "entity" else 3)


# --- what a reply without records means -------------------------------------------------------------

_NONE = re.compile(
    r"(?:none|null|nothing|n/?a|empty|nothing to extract|no (?:entities|records?|relations?|relationships?))",
    re.I,
)
_NONE_SENTENCE = re.compile(
    r"\b(?:there (?:are|is)|i (?:found|find|see)|contains?|mentions?|has) (?:no|nothing|not any)\b"
    r"|\b(?:no|not any) (?:\w+ ){0,4}(?:entities|records?|relations?|relationships?)\b"
    r"|\bnothing (?:\w+ ){0,3}(?:to extract|worth|relevant)\b",
    re.I,
)
_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry|unable|afraid|not able)|i (?:can(?:no|')t|won't|will not)|as an ai)\b", re.I
)


def _says_nothing(text: str) -> bool:
    """True if the reply states that the text holds nothing to extract, in a word or one short sentence."""
    words = [unquote(line.strip(" \t.!*_-#()[]")) for line in text[:2_000].splitlines()]
    words = [word for word in words if word and not is_ending(word)]
    if words and all(_NONE.fullmatch(word) for word in words):
        return True
    if is_json(text):
        values = json_values(text[:2_000])
        return bool(values) and not any(_leaves(value) for value in values)
    return len(text) <= 200 and bool(_NONE_SENTENCE.search(text)) and not _REFUSAL.search(text)


def _leaves(value: Json) -> bool:
    """True if a value holds anything at all."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif item not in (None, ""):
            return True
    return False


def _problem(text: str, found: ParsedExtraction) -> str:
    form = (
        "write one record per line, as `entity | name | type | description` or "
        "`relation | source | target | predicate | keywords | strength | description`, and nothing else; "
        "if the document holds nothing to extract, write NONE"
    )
    if not text.strip():
        return f"it is empty: {form}"
    if found.n_dropped:
        first = found.dropped[0]
        return f"none of its {found.n_dropped} records can be used (the first: {first.reason}): {form}"
    if _REFUSAL.search(text[:500]):
        return f"it declines, but the task is only to list what the document names: {form}"
    return f"it holds no record: {form}"


# --- from fields to records -------------------------------------------------------------------------

_COMMON_TYPES = frozenset(
    {
        *("person", "people", "organization", "organisation", "company", "institution", "group", "place"),
        *("location", "geo", "geography", "city", "country", "event", "date", "time", "object", "product"),
        *("artifact", "concept", "idea", "law", "work", "technology", "animal", "role"),
    }
)
_NO_NAME = frozenset(
    {
        *("none", "null", "unknown", "n/a", "na", "nil", "undefined", "tbd", "name", "source", "target"),
        *("entity", "relation", "it", "he", "she", "they", "we", "you", "i"),
    }
)
_EMPTY = frozenset(("none", "null", "unknown", "n/a", "na", "-", "undefined", "?", "<unk>"))
_NUMBER = re.compile(r"(\d{1,6}(?:[.,]\d{1,6})?)\s?(?:(/|of|out of)\s?(\d{1,4}(?:\.\d{1,3})?)|(%))?", re.I)
_STRENGTH_LABEL = re.compile(
    r"^(?:relationship\s|relation\s)?(?:strength|score|weight|rating)\s?[:=]?\s?", re.I
)
_STRENGTH_WORDS = {
    **dict.fromkeys(("very low", "very weak", "minimal", "negligible"), 1.0),
    **dict.fromkeys(("low", "weak", "minor", "slight"), 3.0),
    **dict.fromkeys(("medium", "moderate", "average", "mid"), 5.0),
    **dict.fromkeys(("high", "strong", "major", "significant"), 8.0),
    **dict.fromkeys(("very high", "very strong", "extremely strong", "maximum", "critical"), 10.0),
}


def _clean(text: str) -> str:
    """One line without marks around it."""
    text = " ".join(text[: 4 * MAX_DESCRIPTION].split())
    text = unquote(text)
    # A quote that lost its partner at either end.
    if text[:1] in '"“' and text.count('"') + text.count("“") + text.count("”") == 1:
        text = text[1:].lstrip()
    if text[-1:] in '"”“' and text.count('"') + text.count("“") + text.count("”") == 1:
        text = text[:-1].rstrip()
    return "" if text.casefold() in _EMPTY else text


def _name(text: str, what: str) -> str:
    name = _clean(text).strip('*`<>[]{}"“”').strip()
    if not normalize_name(name):
        raise _Refused(f"{what} has no name")
    if len(name) > MAX_NAME:
        raise _Refused(f"{what} is no name but a text of {len(name)} characters")
    if name.casefold() in _NO_NAME:
        raise _Refused(f"{what} is no name: {name}")
    return name


def _entity(candidate: Candidate, types: Collection[str]) -> ParsedEntity:
    fields = [_clean(f) for f in candidate.fields]
    if not candidate.named and len(fields) >= 4 and _strength(fields[-1]) is not None:
        fields.pop()  # a strength, which only relations have
    name, kind, *texts = [*fields, "", ""][: max(2, len(fields))]
    description = " | ".join(t for t in texts if t)
    if not candidate.named:
        if name.casefold() in types and kind.casefold() not in types and kind and not _is_text(kind):
            name, kind = kind, name
        if _is_text(kind):
            kind, description = (
                (description, kind) if not _is_text(description) else ("", f"{kind} {description}")
            )
    return ParsedEntity(name=_name(name, "the entity"), type=_type(kind), description=description)


def _is_text(field_: str) -> bool:
    """True for a field that is a sentence rather than a type or a phrase."""
    return len(field_) > MAX_TYPE or field_.count(" ") >= 5 or (field_.endswith(".") and " " in field_)


def _type(text: str) -> str:
    text = text.strip("<>[](){}*`'\"#").casefold().replace("_", " ").strip()
    return "" if text in _EMPTY or len(text) > MAX_TYPE else text


def _relation(candidate: Candidate, names: Collection[str]) -> ParsedRelation:
    fields = [_clean(f) for f in candidate.fields]
    if len(fields) < 2:
        raise _Refused("a relation needs a source and a target")
    source, target, *rest = fields
    if not candidate.named and rest and _is_triple(target, rest[0], names):
        target, rest = rest[0], [target, *rest[1:]]
    source, target = _name(source, "the source"), _name(target, "the target")
    if normalize_name(source) == normalize_name(target):
        raise _Refused(f"{source} is related to itself")
    predicate, keywords, strength, description = _details(rest, candidate.named)
    return ParsedRelation(
        source=source,
        target=target,
        predicate=predicate,
        keywords=keywords,
        description=description,
        strength=UNSTATED_STRENGTH if strength is None else strength,
    )


def _is_triple(second: str, third: str, names: Collection[str]) -> bool:
    """True for ``source | predicate | target``: the third field is an entity of the reply, the second not."""
    return normalize_name(third) in names and normalize_name(second) not in names


def _details(rest: Sequence[str], named: bool) -> tuple[str, tuple[str, ...], float | None, str]:
    """Tell predicate, keywords, strength and description apart in what follows the two names."""
    if len(rest) >= 3 and (named or _strength(rest[2]) is not None):
        description = " | ".join(r for r in rest[3:] if r)
        if _is_text(rest[0]) and not description:
            return "", _keywords(rest[1]), _strength(rest[2]), rest[0]
        return _predicate(rest[0]), _keywords(rest[1]), _strength(rest[2]), description
    texts = list(rest)
    strength = None
    for i in range(len(texts) - 1, -1, -1):
        strength = _strength(texts[i])
        if strength is not None:
            del texts[i]
            break
    texts = [t for t in texts if t]
    if not texts:
        return "", (), strength, ""
    if len(texts) == 1:
        only = texts[0]
        return ("", (), strength, only) if _is_text(only) else (_predicate(only), (), strength, "")
    if len(texts) == 2:
        short, long = sorted(texts, key=lambda t: (len(t), texts.index(t)))
        if ";" in short or "," in short:
            return "", _keywords(short), strength, long
        return _predicate(short), (), strength, long
    if _is_text(texts[0]) and not _is_text(texts[-1]):
        return "", _keywords("; ".join(texts[1:])), strength, texts[0]
    return _predicate(texts[0]), _keywords(texts[1]), strength, " | ".join(texts[2:])


def _predicate(text: str) -> str:
    text = " ".join(text.replace("_", " ").strip("<>[](){}*`'\".-→: ").casefold().split())
    return text if len(text) <= MAX_PREDICATE else ""


def _keywords(text: str) -> tuple[str, ...]:
    parts = re.split(r"[;；]" if re.search("[;；]", text) else r"[,，、/]", text)
    found: dict[str, str] = {}
    for part in parts:
        word = _clean(part.strip(" []()#*'\""))
        if word and len(word) <= MAX_KEYWORD:
            found.setdefault(word.casefold(), word)
    return tuple(found.values())[:MAX_KEYWORDS]


def _strength(text: str) -> float | None:
    """Read a strength on the scale 1 to 10; None if the field is something else.

    >>> _strength("8/10"), _strength("very strong"), _strength("0.9"), _strength("80 %"), _strength("in 1843")
    (8.0, 10.0, 9.0, 8.0, None)
    """
    if len(text) > 60:
        return None
    text = _STRENGTH_LABEL.sub("", text.strip(" *`\"“”'()[]").casefold(), count=1)
    if text in _STRENGTH_WORDS:
        return _STRENGTH_WORDS[text]
    number = _NUMBER.match(text)
    # A number may be explained in brackets or after a dash, but not be the start of a phrase.
    if number is None or not re.match(r"\s?(?:$|[(—–:-])", text[number.end() :]):
        return None
    value = float(number[1].replace(",", "."))
    if number[4]:
        value /= 10
    elif number[3]:
        whole = float(number[3])
        value = 10 * value / whole if whole else value
    elif 0 < value < 1:
        value *= 10  # on a scale to 1
    elif 10 < value <= 100:
        value /= 10  # on a scale to 100
    elif value > 100:
        return None  # a year
    return min(10.0, max(1.0, value))


# --- what is kept -----------------------------------------------------------------------------------


class _Copied:
    """Tells names that a model copied from the prompt's example from names of the text."""

    def __init__(self, example: Collection[str], window: str) -> None:
        names = {normalize_name(name) for name in example} - {""}
        text = normalize_name(window) if names else ""
        self._names = {name for name in names if name not in text}

    def check(self, name: str) -> None:
        if normalize_name(name) in self._names:
            raise _Refused(f"{name} is copied from the prompt's example")


@dataclass(slots=True)
class _Collected:
    """Records so far, distinct and bounded."""

    max_records: int | None
    entities: dict[str, ParsedEntity] = field(default_factory=dict)
    relations: dict[tuple[str, str, str], ParsedRelation] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)
    n_dropped: int = 0
    n_merged: int = 0
    n_ignored: int = 0
    complete: bool = False

    def drop(self, line: str, reason: str) -> None:
        self.n_dropped += 1
        if len(self.dropped) < MAX_DROPPED:
            self.dropped.append(Dropped(" ".join(line[:200].split()), reason))

    def _make_room(self) -> None:
        if self.max_records is not None and len(self.entities) + len(self.relations) >= self.max_records:
            raise _Refused(f"more than {self.max_records} records")

    def add_entity(self, entity: ParsedEntity) -> None:
        key = normalize_name(entity.name)
        known = self.entities.get(key)
        if known is None:
            self._make_room()
            self.entities[key] = entity
            return
        self.n_merged += 1
        self.entities[key] = replace(
            known,
            type=known.type or entity.type,
            description=_joined(known.description, entity.description),
        )

    def add_relation(self, relation: ParsedRelation) -> None:
        key = (normalize_name(relation.source), normalize_name(relation.target), relation.predicate)
        known = self.relations.get(key)
        if known is None:
            self._make_room()
            self.relations[key] = relation
            return
        self.n_merged += 1
        keywords: dict[str, str] = {}
        for word in (*known.keywords, *relation.keywords):
            keywords.setdefault(word.casefold(), word)
        self.relations[key] = replace(
            known,
            keywords=tuple(keywords.values())[:MAX_KEYWORDS],
            description=_joined(known.description, relation.description),
            strength=max(known.strength, relation.strength),
        )

    def result(self) -> ParsedExtraction:
        """Return the records; ends of relations are spelled as their entities, or made entities."""
        entities = dict(self.entities)
        relations = []
        for (source, target, _), relation in self.relations.items():
            ends = []
            for key, name in ((source, relation.source), (target, relation.target)):
                if key not in entities:
                    entities[key] = ParsedEntity(name=name)
                ends.append(entities[key].name)
            relations.append(replace(relation, source=ends[0], target=ends[1]))
        return ParsedExtraction(
            entities=tuple(entities.values()),
            relations=tuple(relations),
            dropped=tuple(self.dropped),
            n_dropped=self.n_dropped,
            n_merged=self.n_merged,
            n_created=len(entities) - len(self.entities),
            n_ignored=self.n_ignored,
            complete=self.complete,
        )


def _joined(first: str, second: str) -> str:
    if not second or second.casefold() in first.casefold():
        return first
    both = f"{first} {second}" if first else second
    return both if len(both) <= MAX_DESCRIPTION else first


_Record = TypeVar("_Record", ParsedEntity, ParsedRelation)


def _bounded(record: _Record, line: str, collected: _Collected) -> _Record:
    """Cut a description that is too long, and say so."""
    if len(record.description) <= MAX_DESCRIPTION:
        return record
    collected.drop(line, f"its description was cut at {MAX_DESCRIPTION} characters")
    return replace(record, description=record.description[:MAX_DESCRIPTION].rstrip())
