"""Describe entities and relations in one text each, where the documents say more about them than can be shown.

Several items share a call. Statements are numbered data in a fence; a reply gives a description by the number of its
item. Items that a reply leaves out have no description; a reply without any raises `UnusableReply` after the repair
round. Without a model, `graph.descriptions.select_statements` chooses statements instead.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from polygraph.errors import UnusableReply
from polygraph.models import ChatModel, ChatRequest
from polygraph.models.calls import Calls
from polygraph.models.protocols import opening
from polygraph.prompts import as_data, numbered, one_line, prompt
from polygraph.records import Json
from polygraph.tasks.parsing.json_repair import repair_json
from polygraph.tasks.parsing.schemas import object_schema
from polygraph.tasks.parsing.short_replies import field_text, integer
from polygraph.text.tokens import count_tokens

STAGE = "descriptions"
"""Stage of the calls in the ledger and the estimate."""
MAX_INPUT_TOKENS = 4_000
"""Tokens of the statements in one call, and of those about one item (GraphRAG: 4,000)."""
MAX_ITEMS = 10
"""Items in one call: replies to more get shorter and lose numbers."""
_MAX_NAME = 300  # characters
_CHARACTERS_PER_WORD = 12
"""A description longer than this on average is cut."""

SCHEMA: dict[str, Any] = object_schema(
    {
        "descriptions": {
            "type": "array",
            "items": object_schema({"number": {"type": "integer"}, "description": {"type": "string"}}),
        }
    }
)


@dataclass(frozen=True, slots=True)
class Statements:
    """What documents say about an entity or relation."""

    name: str
    """Name of the entity with its type, or of both ends of the relation."""
    texts: tuple[str, ...]


def describe_request(items: Sequence[Statements], max_words: int) -> ChatRequest:
    """Build the request for the descriptions of some items."""
    listing = numbered([_shown(item) for item in items], "material")
    system, user = prompt("describe").fill({"max_words": max_words, "material": as_data(listing, "material")})
    return ChatRequest(
        messages=opening(system, user),
        # Two tokens a word, because some languages need them, and the JSON syntax.
        max_output_tokens=(2 * max_words + 40) * len(items) + 40,
        schema=SCHEMA,
    )


def describe(
    items: Sequence[Statements], chat: ChatModel, calls: Calls, *, max_words: int
) -> tuple[str, ...]:
    """Have the model describe some items; one call.

    Args:
        items: with their statements.
        chat: the model.
        calls: sends the request.
        max_words: length of a description that the prompt asks for.

    Returns:
        A description for each item; empty where the reply has none.

    Raises:
        UnusableReply: if the reply holds no description, also after the repair round.
    """
    return calls.ask(
        chat,
        describe_request(items, max_words),
        lambda text: parse_descriptions(text, len(items), max_words=max_words),
        stage=STAGE,
    )


def parse_descriptions(text: str, n_items: int, *, max_words: int) -> tuple[str, ...]:
    """Parse a reply to `describe`.

    Args:
        text: the reply.
        n_items: that were shown.
        max_words: that were asked for.

    Raises:
        UnusableReply: if it holds no description of an item.

    >>> parse_descriptions('{"descriptions": [{"number": 2, "description": "A keeper."}]}', 2, max_words=9)
    ('', 'A keeper.')
    """
    found = repair_json(text)
    listed = found.get("descriptions") if isinstance(found, dict) else found
    described: dict[int, str] = {}
    for item in listed[: 2 * n_items] if isinstance(listed, list) else ():
        number, description = _numbered_text(item, n_items)
        if number is not None and description:
            described.setdefault(number, description[: max_words * _CHARACTERS_PER_WORD])
    if not described:
        raise UnusableReply(
            'the reply is not JSON of the form {"descriptions": [{"number": 1, "description": "..."}]}', text
        )
    return tuple(described.get(n, "") for n in range(1, n_items + 1))


def _numbered_text(item: Json, n_items: int) -> tuple[int | None, str]:
    if not isinstance(item, dict):
        return None, ""
    number = integer(str(item.get("number", "")), 1, n_items)
    return number, one_line(field_text(item.get("description")))


def _shown(item: Statements) -> str:
    return "\n".join([one_line(item.name)[:_MAX_NAME], *(f"- {one_line(text)}" for text in item.texts)])


def share_calls(items: Iterable[Statements]) -> Iterator[list[Statements]]:
    """Yield items that share a call, in their order: at most `MAX_ITEMS`, within `MAX_INPUT_TOKENS`."""
    some: list[Statements] = []
    size = 0
    for item in items:
        n = count_tokens(item.name) + sum(count_tokens(text) + 2 for text in item.texts)
        if some and (len(some) == MAX_ITEMS or size + n > MAX_INPUT_TOKENS):
            yield some
            some, size = [], 0
        some.append(item)
        size += n
    if some:
        yield some


def max_words(budget: int) -> int:
    """Return the length to ask a model for, which fits into a budget in tokens in most languages.

    >>> max_words(400), max_words(0)
    (200, 50)
    """
    return max(50, budget // 2)
