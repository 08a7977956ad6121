"""The keywords and entities of a question, which a method looks up in the graph.

Methods whose papers mean the same thing share a task, so that comparing them makes one call. Asks for lists of texts
as JSON; a reply without any of the lists raises `UnusableReply` after the repair round. Without a model, the lists are
phrases of the question.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polygraph.errors import UnusableReply
from polygraph.models import ChatModel, Models
from polygraph.models.protocols import ChatRequest, Message
from polygraph.prompts import prompt
from polygraph.tasks.json_repair import repair_json
from polygraph.tasks.output_parsing import printable
from polygraph.text.words import phrases

_MAX_ITEMS = 10
"""Of each list, as the prompts say."""
_MAX_CHARACTERS = 200
"""Of one item."""
_MAX_REPLY_TOKENS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Keywords:
    """High-level and low-level keywords (LightRAG, arXiv:2410.05779, section 3.2; ROGRAG, dual-level retrieval)."""

    high: tuple[str, ...]
    """Themes, most important first."""
    low: tuple[str, ...]
    """Names and details, most important first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionEntities:
    """Entities that a question mentions (FastGraphRAG)."""

    named: tuple[str, ...]
    """Names."""
    generic: tuple[str, ...]
    """Notions without a name."""


def question_keywords(question: str, models: Models, *, method: str) -> Keywords:
    """List the themes and details of a question: one call with a model.

    Without a model: phrases that look like names are details, and the other phrases are themes. If the only names are
    numbers such as years, the other phrases are details too, before the numbers.
    """
    if models.chat is None:
        named, generic = _split(question)
        # The vector of a number is near those of other numbers, not of anything that the question is about.
        numbers_only = named and all(name.isdigit() for name in named)
        return Keywords(high=generic, low=(*generic, *named)[:_MAX_ITEMS] if numbers_only else named)
    high, low = _ask("keywords", ("themes", "details"), question, models, models.chat, method)
    return Keywords(high=high, low=low)


def question_entities(question: str, models: Models, *, method: str) -> QuestionEntities:
    """List the entities that a question names, and the notions in it: one call with a model.

    Without a model: phrases that look like names, and the other phrases.
    """
    if models.chat is None:
        named, generic = _split(question)
        return QuestionEntities(named=named, generic=generic)
    named, generic = _ask("question_entities", ("named", "generic"), question, models, models.chat, method)
    return QuestionEntities(named=named, generic=generic)


def graph_keywords(question: str, models: Models, *, method: str) -> tuple[str, ...]:
    """List the terms to look up in the graph, most important first, at most 10: one call with a model.

    Without a model: phrases that look like names, then the other phrases.
    """
    if models.chat is None:
        named, generic = _split(question)
        return (*named, *generic)[:_MAX_ITEMS]
    (found,) = _ask("graph_keywords", ("keywords",), question, models, models.chat, method)
    return found


def parse_text_lists(
    text: str, fields: Sequence[str], *, most: int = _MAX_ITEMS, characters: int = _MAX_CHARACTERS
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

    >>> parse_text_lists('{"themes": ["debt", "Debt"], "details": []}', ("themes", "details"))
    (('debt',), ())
    """
    found = repair_json(text)
    if not isinstance(found, dict) or not any(isinstance(found.get(field), list) for field in fields):
        form = ", ".join(f'"{field}": [...]' for field in fields)
        raise UnusableReply(f"the reply is not JSON of the form {{{form}}}", text)
    return tuple(_texts(found.get(field), characters)[:most] for field in fields)


def text_lists_schema(fields: Sequence[str]) -> Mapping[str, Any]:
    """Return the JSON schema of a reply for `parse_text_lists`."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(fields),
        "properties": {field: {"type": "array", "items": {"type": "string"}} for field in fields},
    }


def _split(question: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found = [(text[:_MAX_CHARACTERS], named) for text, named in phrases(question)]
    return (
        tuple(text for text, named in found if named)[:_MAX_ITEMS],
        tuple(text for text, named in found if not named)[:_MAX_ITEMS],
    )


def _ask(
    task: str, fields: Sequence[str], question: str, models: Models, chat: ChatModel, method: str
) -> tuple[tuple[str, ...], ...]:
    system, user = prompt(task).fill({"question": question})
    request = ChatRequest(
        messages=(Message("system", system), Message("user", user)),
        max_output_tokens=_MAX_REPLY_TOKENS,
        schema=text_lists_schema(fields),
    )
    return models.calls.ask(
        chat, request, lambda text: parse_text_lists(text, fields), stage=task, method=method
    )


def _texts(value: object, characters: int) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    kept: dict[str, str] = {}
    for item in value:
        if isinstance(item, str | int | float) and not isinstance(item, bool):
            one = " ".join(printable(str(item)).split())[:characters]
            if one:
                kept.setdefault(one.casefold(), one)
    return tuple(kept.values())
