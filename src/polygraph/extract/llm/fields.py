"""From the fields of one record to an entity or relation."""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from polygraph.extract.llm.formats import MAX_FIELD, RawRecord
from polygraph.extract.llm.parsed_records import (
    MAX_DESCRIPTION,
    MAX_KEYWORDS,
    UNSTATED_STRENGTH,
    ParsedEntity,
    ParsedRelation,
    RecordCollector,
    UnusableRecord,
)
from polygraph.tasks.parsing.short_replies import unquote
from polygraph.text.normalize import normalize_name

MAX_NAME = 120
"""Characters; a longer text is a sentence and not a name."""
MAX_TYPE = 40
MAX_PREDICATE = 80
MAX_KEYWORD = 60

_Record = TypeVar("_Record", ParsedEntity, ParsedRelation)

COMMON_TYPES = frozenset(
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
_SEMICOLON = re.compile("[;；]")
_COMMA = re.compile("[,，、/]")
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


def clean_field(text: str) -> str:
    """Return a field on one line, without markup around it; empty for words such as ``unknown``."""
    text = " ".join(text[:MAX_FIELD].split())
    text = unquote(text)
    # An unmatched quote at either end.
    if text[:1] in '"“' and text.count('"') + text.count("“") + text.count("”") == 1:
        text = text[1:].lstrip()
    if text[-1:] in '"”“' and text.count('"') + text.count("“") + text.count("”") == 1:
        text = text[:-1].rstrip()
    return "" if text.casefold() in _EMPTY else text


def clean_fields(record: RawRecord) -> list[str]:
    """Return the fields of a record, each as `clean_field` does."""
    return [*record.fields] if record.clean else [clean_field(text) for text in record.fields]


def _name(text: str, what: str, *, is_clean: bool) -> str:
    name = text if is_clean else clean_field(text).strip('*`<>[]{}"“”').strip()
    if not normalize_name(name):
        raise UnusableRecord(f"{what} has no name")
    if len(name) > MAX_NAME:
        raise UnusableRecord(f"{what} is no name but a text of {len(name)} characters")
    if name.casefold() in _NO_NAME:
        raise UnusableRecord(f"{what} is no name: {name}")
    return name


def parse_entity(record: RawRecord, types: Collection[str]) -> ParsedEntity:
    """Read an entity; `types` are words that are types and not names.

    Raises:
        UnusableRecord: if it has no usable name.
    """
    fields = clean_fields(record)
    if not record.named and len(fields) >= 4 and _strength(fields[-1]) is not None:
        fields.pop()  # a strength, which only relations have
    name, type_, *texts = [*fields, "", ""][: max(2, len(fields))]
    description = texts[0] if len(texts) == 1 else " | ".join(t for t in texts if t)
    if not record.named:
        if name.casefold() in types and type_.casefold() not in types and type_ and not _is_text(type_):
            name, type_ = type_, name
        if _is_text(type_):
            type_, description = (
                (description, type_) if not _is_text(description) else ("", f"{type_} {description}")
            )
    return ParsedEntity(
        name=_name(name, "the entity", is_clean=record.clean), type=_type(type_), description=description
    )


def _is_text(field_: str) -> bool:
    """Return whether a field is a sentence and not a type or phrase."""
    return len(field_) > MAX_TYPE or field_.count(" ") >= 5 or (field_.endswith(".") and " " in field_)


def _type(text: str) -> str:
    text = text.strip("<>[](){}*`'\"#").casefold().replace("_", " ").strip()
    return "" if text in _EMPTY or len(text) > MAX_TYPE else text


def parse_relation(record: RawRecord, names: Collection[str]) -> ParsedRelation:
    """Read a relation; `names` are the normalised names of the reply's entities.

    Raises:
        UnusableRecord: if source or target is missing, unusable or the same.
    """
    fields = clean_fields(record)
    if len(fields) < 2:
        raise UnusableRecord("a relation needs a source and a target")
    source, target, *rest = fields
    if not record.named and rest and _is_triple(target, rest[0], names):
        target, rest = rest[0], [target, *rest[1:]]
    source = _name(source, "the source", is_clean=record.clean)
    target = _name(target, "the target", is_clean=record.clean)
    if normalize_name(source) == normalize_name(target):
        raise UnusableRecord(f"{source} is related to itself")
    predicate, keywords, strength, description = _details(rest, record.named)
    return ParsedRelation(
        source=source,
        target=target,
        predicate=predicate,
        keywords=keywords,
        description=description,
        strength=UNSTATED_STRENGTH if strength is None else strength,
    )


def _is_triple(second: str, third: str, names: Collection[str]) -> bool:
    """Return whether the fields are ``source | predicate | target``: only the third names an entity of the reply."""
    return normalize_name(third) in names and normalize_name(second) not in names


def _details(rest: Sequence[str], named: bool) -> tuple[str, tuple[str, ...], float | None, str]:
    """Return predicate, keywords, strength and description from the fields after the two names."""
    if len(rest) >= 3 and ((stated := _strength(rest[2])) is not None or named):
        description = rest[3] if len(rest) == 4 else " | ".join(r for r in rest[3:] if r)
        if _is_text(rest[0]) and not description:
            return "", _keywords(rest[1]), stated, rest[0]
        return _predicate(rest[0]), _keywords(rest[1]), stated, description
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


# Predicates recur; keywords do where a model has few for a text.
@lru_cache(maxsize=2_048)
def _predicate(text: str) -> str:
    """Return a predicate in lower case but for its names; empty if it is too long to be one.

    A predicate all of whose words are capitalised is written as a label, which says nothing of names.

    >>> [_predicate(text) for text in ("Member of the Harbour Board", "MEMBER_OF", "Is Member Of", "CEO of")]
    ['member of the Harbour Board', 'member of', 'is member of', 'CEO of']
    """
    words = text.replace("_", " ").strip("<>[](){}*`'\".-→: ").split()
    if all(word[0] != word[0].lower() for word in words):
        words = [word.lower() for word in words]
    elif words[0][1:] == words[0][1:].lower():
        words[0] = words[0].lower()
    text = " ".join(words)
    return text if len(text) <= MAX_PREDICATE else ""


@lru_cache(maxsize=1_024)
def _keywords(text: str) -> tuple[str, ...]:
    parts = (_SEMICOLON if _SEMICOLON.search(text) else _COMMA).split(text)
    found: dict[str, str] = {}
    for part in parts:
        word = clean_field(part.strip(" []()#*'\""))
        if word and len(word) <= MAX_KEYWORD:
            found.setdefault(word.casefold(), word)
    return tuple(found.values())[:MAX_KEYWORDS]


def _strength(text: str) -> float | None:
    """Return a strength on the scale 1 to 10, or None if the field is not a strength.

    >>> _strength("8/10"), _strength("very strong"), _strength("0.9"), _strength("80 %"), _strength("in 1843")
    (8.0, 10.0, 9.0, 8.0, None)
    """
    return _short_strength(text) if len(text) <= 60 else None


# Most relations have one of few strengths.
@lru_cache(maxsize=1_024)
def _short_strength(text: str) -> float | None:
    text = _STRENGTH_LABEL.sub("", text.strip(" *`\"“”'()[]").casefold(), count=1)
    if text in _STRENGTH_WORDS:
        return _STRENGTH_WORDS[text]
    number = _NUMBER.match(text)
    # An explanation may follow in brackets or after a dash, but the number must not start a phrase.
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


def truncate_description(record: _Record, line: str, collector: RecordCollector) -> _Record:
    """Truncate a description that is too long, and report it."""
    if len(record.description) <= MAX_DESCRIPTION:
        return record
    collector.drop(line, f"its description was cut at {MAX_DESCRIPTION} characters")
    return replace(record, description=record.description[:MAX_DESCRIPTION].rstrip())
