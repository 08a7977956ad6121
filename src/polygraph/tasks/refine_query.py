"""The actions of RQ-RAG: refine a query in one of three ways, or answer; by a model or by rules.

Chan et al. (2024), arXiv:2404.00610. Their model was trained to write control tokens; any model can follow one
structured call for each action.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from polygraph.errors import UnusableReply
from polygraph.models import Models
from polygraph.models.protocols import ChatModel, ChatRequest, Message
from polygraph.prompts import as_data, prompt
from polygraph.tasks.answer import NO_ANSWER
from polygraph.tasks.output_parsing import printable, salvage_json
from polygraph.text.words import STOP, content, phrases

Action = Literal["rewrite", "decompose", "disambiguate"]
ACTIONS: tuple[Action, ...] = ("rewrite", "decompose", "disambiguate")
"""In the order in which a node of the tree is expanded."""
_QUERY_CHARACTERS = 300
_SHORT_CHARACTERS = 200
_MAX_QUERY_TOKENS = 100
_QUERY_FORM = 'JSON of the form {"query": "..."}'
_ANSWER_FORM = 'JSON of the form {"short": "...", "answer": "..."}'


@dataclass(frozen=True, slots=True, kw_only=True)
class PathAnswer:
    """What one path says."""

    short: str
    """The bare answer, which is compared with those of other paths; empty if the path has none."""
    text: str
    """With citations as ``[n]``; begins with `NO_ANSWER` if the evidence does not suffice, empty without any."""


def refine(
    action: Action,
    question: str,
    searched: Sequence[str],
    context: str,
    models: Models,
    *,
    temperature: float = 0.0,
    method: str,
) -> str:
    """Write the next query of a path: one call with a model.

    Without a model: `rewrite` keeps the words that carry content; `decompose` asks for the first part of the question
    (names, then phrases, then single words) that does not stand in what was found so far; `disambiguate` adds the
    name that stands most often in what was found and not in the question.

    Args:
        action: in which way.
        question: as asked.
        searched: queries on the path so far, in order.
        context: what they found, packed.
        models: in use.
        temperature: of the model.
        method: for the ledger.

    Raises:
        UnusableReply: if the model writes no query.
    """
    if models.chat is None:
        return _by_rule(action, question, context)[:_QUERY_CHARACTERS]
    return _ask_query(action, question, searched, context, models, models.chat, temperature, method)


def answer_path(
    question: str,
    context: str,
    models: Models,
    chat: ChatModel,
    *,
    temperature: float = 0.0,
    max_tokens: int,
    method: str,
) -> PathAnswer:
    """Answer from what one path has found; one call. Without evidence the model says what it knows itself.

    Raises:
        UnusableReply: if the reply holds no answer.
    """
    evidence = as_data(context, "evidence") if context else "There is no evidence yet."
    system, user = prompt("rq_answer").fill({"evidence": evidence, "question": question})
    request = ChatRequest(
        messages=(Message("system", system), Message("user", user)),
        max_output_tokens=max_tokens,
        temperature=temperature,
        schema=_schema("short", "answer"),
    )
    return models.calls.ask(chat, request, read_answer, stage="rq_answer", method=method)


def read_answer(text: str) -> PathAnswer:
    """Read a reply to `answer_path`.

    Raises:
        UnusableReply: if it is not JSON of that form.

    >>> read_answer('{"short": "Marley", "answer": "Marley was dead. [1]"}').short
    'Marley'
    >>> read_answer('{"short": "none", "answer": "NO ANSWER: nothing about it"}').short
    ''
    """
    found = salvage_json(text)
    if not isinstance(found, dict) or not {"short", "answer"} & found.keys():
        raise UnusableReply(f"the reply is not {_ANSWER_FORM}", text)
    short = " ".join(printable(_text(found.get("short"))).split())[:_SHORT_CHARACTERS]
    said = printable(_text(found.get("answer"))).strip()
    if said.startswith(NO_ANSWER):
        return PathAnswer(short="", text=said)
    return PathAnswer(short=short or said[:_SHORT_CHARACTERS], text=said or short)


def read_query(text: str) -> str:
    """Read a reply to `refine`.

    Raises:
        UnusableReply: if there is no query in it.

    >>> read_query('{"query": " keeper of  the light "}')
    'keeper of the light'
    """
    found = salvage_json(text)
    value = found.get("query") if isinstance(found, dict) else None
    query = " ".join(printable(_text(value)).split())[:_QUERY_CHARACTERS]
    if not query:
        raise UnusableReply(f"the reply is not {_QUERY_FORM}", text)
    return query


def _ask_query(
    action: Action,
    question: str,
    searched: Sequence[str],
    context: str,
    models: Models,
    chat: ChatModel,
    temperature: float,
    method: str,
) -> str:
    listed = "\n".join(f"- {query}" for query in searched) or "(nothing yet)"
    path = f"Searched for so far:\n{as_data(listed, 'queries')}"
    if context:
        path += f"\n\nFound so far:\n{as_data(context, 'evidence')}"
    system, user = prompt("rq_query").fill({"path": path, "question": question, "action": action})
    request = ChatRequest(
        messages=(Message("system", system), Message("user", user)),
        max_output_tokens=_MAX_QUERY_TOKENS,
        temperature=temperature,
        schema=_schema("query"),
    )
    return models.calls.ask(chat, request, read_query, stage="rq_query", method=method)


def _by_rule(action: Action, question: str, context: str) -> str:
    found = phrases(question)
    core = " ".join(text for text, _ in found) or question
    if action == "rewrite":
        return core
    if action == "decompose":
        held = set(content(context))
        parts = sorted(found, key=lambda part: (not part[1], " " not in part[0]))
        return next((text for text, _ in parts if not set(content(text)) <= held), core)
    asked = set(content(question))
    named = Counter(
        text
        for line in context.splitlines()
        for text, is_name in phrases(line)
        if is_name
        and not text[0].isdigit()
        and text.casefold() not in STOP
        and not set(content(text)) & asked
    )
    # Of names that occur as often, the one that is met first.
    best = max(named, key=lambda text: named[text], default="")
    return f"{core} {best}".strip()


def _text(value: object) -> str:
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _schema(*names: str) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(names),
        "properties": {name: {"type": "string"} for name in names},
    }
