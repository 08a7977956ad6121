"""What to look for: keywords and entities of a question, by a model or by the words of the question.

Methods share these tasks where their papers mean the same thing, so that comparing them asks once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polygraph.errors import UnusableReply
from polygraph.models import ChatModel, Models
from polygraph.models.protocols import ChatRequest, Message
from polygraph.prompts import prompt
from polygraph.tasks.output_parsing import printable, salvage_json
from polygraph.text.words import phrases

_MOST = 10
"""Of each kind, as the prompts say."""
_CHARACTERS = 200
"""One keyword is at most so long."""
_MAX_REPLY_TOKENS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Keywords:
    """What a question is about (LightRAG, arXiv:2410.05779, section 3.2; ROGRAG, dual-level retrieval)."""

    high: tuple[str, ...]
    """Themes, most important first."""
    low: tuple[str, ...]
    """Names and details, most important first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionEntities:
    """What a question mentions (FastGraphRAG)."""

    named: tuple[str, ...]
    generic: tuple[str, ...]


def question_keywords(question: str, models: Models, *, method: str) -> Keywords:
    """List the themes and details of a question: one call with a model.

    Without a model: phrases that look like names are details, the other phrases themes. Where nothing but years and
    other numbers look like names, the other phrases are details, too, and stand before them.
    """
    if models.chat is None:
        named, generic = _split(question)
        # A number alone is near to other numbers, and to nothing that the question is about.
        numbers_only = named and all(name.isdigit() for name in named)
        return Keywords(high=generic, low=(*generic, *named)[:_MOST] if numbers_only else named)
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
    """List what to look up in a graph of names, most important first, at most 10: one call with a model.

    Without a model: phrases that look like names, then the other phrases.
    """
    if models.chat is None:
        named, generic = _split(question)
        return (*named, *generic)[:_MOST]
    (found,) = _ask("graph_keywords", ("keywords",), question, models, models.chat, method)
    return found


def text_lists(
    text: str, fields: Sequence[str], *, most: int = _MOST, characters: int = _CHARACTERS
) -> tuple[tuple[str, ...], ...]:
    """Read a JSON reply that holds lists of texts; distinct texts in order, letter case aside.

    Args:
        text: the reply.
        fields: names of the lists; one that is missing counts as empty, as long as one is there.
        most: of each list, so many are read.
        characters: of each text, so much is read.

    Raises:
        UnusableReply: if none of the lists is there.

    >>> text_lists('{"themes": ["debt", "Debt"], "details": []}', ("themes", "details"))
    (('debt',), ())
    """
    found = salvage_json(text)
    if not isinstance(found, dict) or not any(isinstance(found.get(field), list) for field in fields):
        form = ", ".join(f'"{field}": [...]' for field in fields)
        raise UnusableReply(f"the reply is not JSON of the form {{{form}}}", text)
    return tuple(_texts(found.get(field), characters)[:most] for field in fields)


def lists_schema(fields: Sequence[str]) -> Mapping[str, Any]:
    """The JSON schema of a reply that `text_lists` reads."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(fields),
        "properties": {field: {"type": "array", "items": {"type": "string"}} for field in fields},
    }


def _split(question: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found = [(text[:_CHARACTERS], named) for text, named in phrases(question)]
    return (
        tuple(text for text, named in found if named)[:_MOST],
        tuple(text for text, named in found if not named)[:_MOST],
    )


def _ask(
    task: str, fields: Sequence[str], question: str, models: Models, chat: ChatModel, method: str
) -> tuple[tuple[str, ...], ...]:
    system, user = prompt(task).fill({"question": question})
    request = ChatRequest(
        messages=(Message("system", system), Message("user", user)),
        max_output_tokens=_MAX_REPLY_TOKENS,
        schema=lists_schema(fields),
    )
    return models.calls.ask(chat, request, lambda text: text_lists(text, fields), stage=task, method=method)


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
