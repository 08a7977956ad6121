"""The keywords and entities of a question, which a method looks up in the graph.

Methods whose papers mean the same thing share a task, so that comparing them makes one call. Asks for lists of texts
as JSON; a reply without any of the lists raises `UnusableReply` after the repair round. Without a model, the lists are
phrases of the question, or the question.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from polygraph.models import ChatModel, Models
from polygraph.models.protocols import ChatRequest, opening
from polygraph.prompts import prompt
from polygraph.tasks.parsing.text_lists import parse_text_lists, text_lists_schema
from polygraph.text.words import phrases

_MAX_ITEMS = 10
"""Most items of each list, as the prompts say."""
_MAX_CHARACTERS = 200
"""Most characters of one item."""
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

    Without a model: the question itself is the theme, since the words that are left without its names (``film``,
    ``director``) fit half of a graph. Phrases that look like names are details; if these are only numbers such as
    years, the other phrases are details too, before the numbers.
    """
    if models.chat is None:
        named, generic = _split(question)
        # The vector of a number is near those of other numbers, not of anything that the question is about.
        numbers_only = named and all(name.isdigit() for name in named)
        low = (*generic, *named)[:_MAX_ITEMS] if numbers_only else named
        return Keywords(high=(question,), low=low)
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
        messages=opening(system, user),
        max_output_tokens=_MAX_REPLY_TOKENS,
        schema=text_lists_schema(fields),
    )
    return models.calls.ask(
        chat, request, lambda text: parse_text_lists(text, fields, most=_MAX_ITEMS), stage=task, method=method
    )
