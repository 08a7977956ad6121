"""The actions of RQ-RAG: rewrite, decompose or disambiguate a query, or answer.

Chan et al. (2024), arXiv:2404.00610. Their model was trained to write control tokens; one structured call for each
action works with any model. A reply without a query, or without an answer, raises `UnusableReply` after the repair
round.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from polygraph.errors import UnusableReply
from polygraph.models import Models
from polygraph.models.protocols import ChatModel, ChatReply, ChatRequest, opening
from polygraph.prompts import PromptText, as_data, one_line, prompt
from polygraph.tasks.answers.answer import NO_ANSWER
from polygraph.tasks.parsing.json_repair import repair_json
from polygraph.tasks.parsing.schemas import object_schema
from polygraph.tasks.parsing.short_replies import field_line, field_text
from polygraph.text.words import STOP_WORDS, content_stems, phrases

OnReply: TypeAlias = Callable[[ChatReply], None]
Action = Literal["rewrite", "decompose", "disambiguate"]
ACTIONS: tuple[Action, ...] = ("rewrite", "decompose", "disambiguate")
"""In the order in which a node of the tree is expanded."""
_MAX_QUERY_CHARACTERS = 300
_MAX_SHORT_CHARACTERS = 200
_MAX_QUERY_TOKENS = 100
_QUERY_FORM = 'JSON of the form {"query": "..."}'
_ANSWER_FORM = 'JSON of the form {"short": "...", "answer": "..."}'


@dataclass(frozen=True, slots=True, kw_only=True)
class PathAnswer:
    """The answer of one path."""

    short: str
    """A few words, compared with those of other paths; empty if the path has no answer."""
    text: str
    """A sentence or more with citations as ``[n]``; begins with `NO_ANSWER` if the evidence is insufficient."""


def refine_query(
    action: Action,
    question: str,
    searched: Sequence[str],
    context: str,
    models: Models,
    *,
    temperature: float = 0.0,
    method: str,
    on_reply: OnReply | None = None,
) -> str:
    """Write the next query of a path: one call with a model.

    Without a model: `rewrite` keeps the content words; `decompose` returns the first part of the question (names, then
    phrases, then single words) that the context does not hold; `disambiguate` adds the name that is most frequent in
    the context and not in the question.

    Args:
        action: how to refine the question.
        question: as asked.
        searched: queries on the path so far, in order.
        context: the packed results of these queries.
        models: in use.
        temperature: of the model.
        method: for the ledger.
        on_reply: receives the reply with the probabilities of its tokens, where the model gives them.

    Raises:
        UnusableReply: if the model writes no query, also after the repair round.
    """
    if models.chat is None:
        return _by_rule(action, question, context)[:_MAX_QUERY_CHARACTERS]
    return _ask_query(action, question, searched, context, models, models.chat, temperature, method, on_reply)


def answer_path(
    question: str,
    context: str,
    models: Models,
    chat: ChatModel,
    *,
    temperature: float = 0.0,
    max_tokens: int,
    method: str,
    on_reply: OnReply | None = None,
) -> PathAnswer:
    """Answer from the evidence of one path; one call. Without evidence, the model answers from what it knows.

    `on_reply` is as for `refine_query`.

    Raises:
        UnusableReply: if the reply holds no answer, also after the repair round.
    """
    evidence = as_data(context, "evidence", keep_numbers=True) if context else "There is no evidence yet."
    system, user = prompt("rq_answer").fill({"evidence": evidence, "question": question})
    request = ChatRequest(
        messages=opening(system, user),
        max_output_tokens=max_tokens,
        temperature=temperature,
        schema=_schema("short", "answer"),
        likelihood=on_reply is not None,
    )
    return models.calls.ask(
        chat, request, parse_path_answer, stage="rq_answer", method=method, on_reply=on_reply
    )


def parse_path_answer(text: str) -> PathAnswer:
    """Parse a reply to `answer_path`.

    Raises:
        UnusableReply: if it is not JSON of that form.

    >>> parse_path_answer('{"short": "Marley", "answer": "Marley was dead. [1]"}').short
    'Marley'
    >>> parse_path_answer('{"short": "none", "answer": "NO ANSWER: nothing about it"}').short
    ''
    """
    found = repair_json(text)
    if not isinstance(found, dict) or not {"short", "answer"} & found.keys():
        raise UnusableReply(f"the reply is not {_ANSWER_FORM}", text)
    short = field_line(found.get("short"), _MAX_SHORT_CHARACTERS)
    answer = field_text(found.get("answer")).strip()
    if answer.startswith(NO_ANSWER):
        return PathAnswer(short="", text=answer)
    return PathAnswer(short=short or answer[:_MAX_SHORT_CHARACTERS], text=answer or short)


def parse_query(text: str) -> str:
    """Parse a reply to `refine_query`.

    Raises:
        UnusableReply: if it holds no query.

    >>> parse_query('{"query": " keeper of  the light "}')
    'keeper of the light'
    """
    found = repair_json(text)
    value = found.get("query") if isinstance(found, dict) else None
    query = field_line(value, _MAX_QUERY_CHARACTERS)
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
    on_reply: OnReply | None,
) -> str:
    listed = "\n".join(f"- {one_line(query)}" for query in searched) or "(nothing yet)"
    path = f"Searched for so far:\n{as_data(listed, 'queries')}"
    if context:
        path += f"\n\nFound so far:\n{as_data(context, 'evidence', keep_numbers=True)}"
    system, user = prompt("rq_query").fill({"path": PromptText(path), "question": question, "action": action})
    request = ChatRequest(
        messages=opening(system, user),
        max_output_tokens=_MAX_QUERY_TOKENS,
        temperature=temperature,
        schema=_schema("query"),
        likelihood=on_reply is not None,
    )
    return models.calls.ask(chat, request, parse_query, stage="rq_query", method=method, on_reply=on_reply)


def _by_rule(action: Action, question: str, context: str) -> str:
    found = phrases(question)
    core = " ".join(text for text, _ in found) or question
    if action == "rewrite":
        return core
    if action == "decompose":
        held = set(content_stems(context))
        parts = sorted(found, key=lambda part: (not part[1], " " not in part[0]))
        return next((text for text, _ in parts if not set(content_stems(text)) <= held), core)
    asked = set(content_stems(question))
    named = Counter(
        text
        for line in context.splitlines()
        for text, is_name in phrases(line)
        if is_name
        and not text[0].isdigit()
        and text.casefold() not in STOP_WORDS
        and not set(content_stems(text)) & asked
    )
    # Ties: the name that occurs first.
    best = max(named, key=lambda text: named[text], default="")
    return f"{core} {best}".strip()


def _schema(*names: str) -> dict[str, Any]:
    return object_schema({name: {"type": "string"} for name in names})
