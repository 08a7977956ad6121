"""Replies that are JSON lists of texts: keywords, entities, questions, statements."""

from collections.abc import Mapping, Sequence
from typing import Any

from polygraph.errors import UnusableReply
from polygraph.tasks.parsing.json_repair import repair_json
from polygraph.tasks.parsing.schemas import object_schema
from polygraph.tasks.parsing.short_replies import field_line


def parse_text_lists(
    text: str, fields: Sequence[str], *, most: int, characters: int = 200
) -> tuple[tuple[str, ...], ...]:
    """Parse a JSON reply that holds lists of texts.

    Args:
        text: the reply.
        fields: names of the lists; a missing list counts as empty if another one is present.
        most: maximum number of texts in a list.
        characters: a text is cut to this length.

    Returns:
        For each field the texts in order, distinct apart from case.

    Raises:
        UnusableReply: if the reply holds none of the lists.

    >>> parse_text_lists('{"themes": ["debt", "Debt"], "details": []}', ("themes", "details"), most=10)
    (('debt',), ())
    """
    found = repair_json(text)
    if not isinstance(found, dict) or not any(isinstance(found.get(field), list) for field in fields):
        form = ", ".join(f'"{field}": [...]' for field in fields)
        raise UnusableReply(f"the reply is not JSON of the form {{{form}}}", text)
    return tuple(_texts(found.get(field), characters)[:most] for field in fields)


def text_lists_schema(fields: Sequence[str]) -> Mapping[str, Any]:
    """Return the JSON schema of a reply for `parse_text_lists`."""
    return object_schema({field: {"type": "array", "items": {"type": "string"}} for field in fields})


def _texts(value: object, characters: int) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    kept: dict[str, str] = {}
    for item in value:
        if line := field_line(item, characters):
            kept.setdefault(line.casefold(), line)
    return tuple(kept.values())
