"""Parser for the entities and relations in a reply of a language model.

The requested format has one record per line, with the free text last:

```
entity | name | type | description
relation | source | target | predicate | keywords; keywords | strength | description
END
```

Reasons for lines instead of JSON: 192 replies of real models to another prompt follow a line-based format almost
without errors. An error (a missing quote, a broken delimiter, ``|`` for ``<|>``) affects one field of one record,
while one such error makes a whole JSON text invalid. A reply that is truncated at its limit loses only its last
line; all JSON extractions of small local models that were measured ended there and could not be parsed. In this
format the records of those replies take 36 tokens each; in compact JSON 44, in indented JSON 62. The free text is
last, so a ``|`` inside it does no harm. The prompt asks for relations right after their entities, so truncation
affects the end of the text and not all relations. Delimiters have one character, since nearly all defects
of the 192 replies are broken copies of a longer one.

The parser also accepts code fences, numbering, bullets, bold, quotes; other delimiters; tuples such as
``("entity"<|>"NAME"<|>...)##``; JSON, whole, per line or truncated; Markdown tables; sections under a heading;
missing, swapped or additional fields; strengths as ``8/10`` or words. Unusable records are kept in
`ParsedExtraction.dropped` with the reason.
"""

import re
from collections.abc import Collection, Sequence
from functools import cached_property

from polygraph.errors import UnusableReply
from polygraph.extract.llm.fields import (
    COMMON_TYPES,
    clean_field,
    parse_entity,
    parse_relation,
    truncate_description,
)
from polygraph.extract.llm.formats import JsonRecords, LineRecords, RawRecord, is_ending, is_json
from polygraph.extract.llm.parsed_records import ParsedExtraction, RecordCollector, UnusableRecord
from polygraph.records import Json
from polygraph.tasks.parsing.json_repair import json_values
from polygraph.tasks.parsing.short_replies import printable, unquote, without_thinking
from polygraph.text.normalize import normalize_name

MAX_CHARS = 200_000
"""Characters of a reply; the rest of a longer one is ignored."""


def parse_extraction(
    text: str,
    *,
    window: str = "",
    example: Collection[str] = (),
    types: Collection[str] = (),
    max_records: int = 200,
    may_be_empty: bool = False,
) -> ParsedExtraction:
    """Parse the records of a reply.

    Args:
        text: the reply, in any format and of any length.
        window: the text that the model was given; names of `example` that occur in it are legitimate.
        example: names in the prompt's example; records that copy them are dropped.
        types: requested entity types, which help to recognise swapped fields.
        max_records: number of entities and relations that are kept, in the order of the reply.
        may_be_empty: accept a reply without records, as in gleaning.

    Returns:
        The records in order. Cost is linear in the length of the text.

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
    reader = LineRecords(text) if not is_json(text) else JsonRecords(text)
    found = list(reader.records())
    if not found and isinstance(reader, JsonRecords):
        reader = LineRecords(text)
        found = list(reader.records())

    collector = RecordCollector(max_records=max_records)
    type_words = frozenset(type_.casefold() for type_ in types) | COMMON_TYPES
    names = {
        normalize_name(record.fields[0] if record.clean else clean_field(record.fields[0]))
        for record in found
        if record.kind == "entity" and record.fields
    } - {""}
    example_filter = _ExampleFilter(example, window)
    last_is_truncated = _is_last_truncated(found, reader.complete)
    for i, record in enumerate(found):
        try:
            if last_is_truncated and i == len(found) - 1:
                raise UnusableRecord("cut off")
            if record.kind == "entity":
                entity = parse_entity(record, type_words)
                example_filter.check(entity.name)
                collector.add_entity(truncate_description(entity, record.line, collector))
            else:
                relation = parse_relation(record, names)
                example_filter.check(relation.source)
                example_filter.check(relation.target)
                collector.add_relation(truncate_description(relation, record.line, collector))
        except UnusableRecord as error:
            collector.drop(record.line, error.reason, record.kind)
    result = collector.result()
    if result.entities or may_be_empty or _is_empty_result(text):
        return result
    raise UnusableReply(_problem(text, result), raw, instruction=_FORM)


class _ExampleFilter:
    """Rejects names that the model copied from the prompt's example."""

    def __init__(self, example: Collection[str], window: str) -> None:
        self._names = {normalize_name(name) for name in example} - {""}
        self._window = window

    @cached_property
    def _text(self) -> str:
        """The window, normalised when a reply first holds one of the names."""
        return normalize_name(self._window)

    def check(self, name: str) -> None:
        key = normalize_name(name)
        if key in self._names and key not in self._text:
            raise UnusableRecord(f"{name} is copied from the prompt's example")


def _is_last_truncated(records: Sequence[RawRecord], complete: bool) -> bool:
    """Return whether the last record is truncated: it has fewer fields than any record of its kind before it."""
    if complete or not records or records[-1].named:
        return False
    last = records[-1]
    if not last.closed and len(last.fields) < (3 if last.kind == "entity" else 4):
        return True
    others = [len(c.fields) for c in records[:-1] if c.kind == last.kind]
    return len(last.fields) < min(others, default=2 if last.kind == "entity" else 3)


# --- replies without records -------------------------------------------------------------

_FORM = (
    "write one record per line, as `entity | name | type | description` or "
    "`relation | source | target | predicate | keywords | strength | description`, and nothing else; "
    "if the document holds nothing to extract, write NONE"
)

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


def _is_empty_result(text: str) -> bool:
    """Return whether the reply states, in a word or a short sentence, that there is nothing to extract."""
    words = [unquote(line.strip(" \t.!*_-#()[]")) for line in text[:2_000].splitlines()]
    words = [word for word in words if word and not is_ending(word)]
    if words and all(_NONE.fullmatch(word) for word in words):
        return True
    if is_json(text):
        values = json_values(text[:2_000])
        return bool(values) and not any(_has_content(value) for value in values)
    return len(text) <= 200 and bool(_NONE_SENTENCE.search(text)) and not _REFUSAL.search(text)


def _has_content(value: Json) -> bool:
    """Return whether a value is not empty."""
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
    if not text.strip():
        return "it is empty"
    if found.n_dropped:
        return f"none of its {found.n_dropped} records can be used (the first: {found.dropped[0].reason})"
    if _REFUSAL.search(text[:500]):
        return "it declines, but the task is only to list what the document names"
    return "it holds no record"
