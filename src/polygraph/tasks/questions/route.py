"""Route a question: a single look-up, or reasoning over several facts.

Fact-based and reasoning-based questions of "RAG vs. GraphRAG", section 4.4 and appendix A.3. Asks for one label. A
reply without exactly one label, also after the repair round, counts as `fact`, whose retrieval is the cheaper one.
"""

import re
from dataclasses import dataclass
from typing import Literal

from polygraph.errors import UnusableReply
from polygraph.models import ChatModel, Models
from polygraph.models.protocols import ChatRequest, opening
from polygraph.prompts import prompt
from polygraph.tasks.parsing.short_replies import without_thinking
from polygraph.text.words import phrases

Kind = Literal["fact", "reasoning"]
KINDS: tuple[Kind, Kind] = ("fact", "reasoning")
_MAX_REPLY_TOKENS = 100
_LABEL = re.compile(r"\b(fact|reasoning)\b", re.IGNORECASE)
_MAX_CHARACTERS = 4_000
"""Most characters of a question or a reply."""
_RULES = tuple(
    (why, re.compile(pattern, re.IGNORECASE))
    for why, pattern in (
        (
            "it compares",
            r"\b(?:both|either|neither|same|differ\w*|similar\w*|compare\w*|than|versus|vs|which of|between)\b",
        ),
        (
            "it orders in time",
            r"\b(?:before|after|since then|earlier|later|first to|chang\w+|over time|led to)\b",
        ),
        ("it asks for reasons", r"\b(?:why|how come|reasons?|caus\w+|because|consequences?|effects?)\b"),
        ("it asks how things hang together", r"\b(?:relat\w+|connect\w+|depend\w*|follow\w* from)\b"),
        (
            "it counts or sums up",
            r"\b(?:how many of|in total|altogether|themes?|overall|most often|all of)\b",
        ),
        ("it sets two against each other", r"\bor (?:the )?(?-i:[A-Z])"),
        (
            "it goes through something that it does not name",
            r"\bwhose\b|\b(?:the|an?) (?:\w+ ){1,2}(?:that|who|which|whom)\b",
        ),
    )
)
_LINK = re.compile(r"\bof\b|\w['’]s?\s")
_MANY_LINKS = 2
_MANY_NAMES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The kind of a question, and why."""

    kind: Kind
    why: str
    """The model or the rule that decided."""
    parsed: bool = True
    """False if the reply of the model was unusable, and the kind is the default."""


def route_question(question: str, models: Models, *, method: str) -> Route:
    """Return the kind of a question: one short call with a model, `route_by_rules` without."""
    if models.chat is None:
        return route_by_rules(question)
    try:
        kind = _ask(question, models, models.chat, method)
    except UnusableReply as error:
        return Route(kind="fact", why=f"the router's reply could not be read: {error.problem}", parsed=False)
    return Route(kind=kind, why=f"{models.chat.name} says so")


def route_by_rules(question: str) -> Route:
    """Route by the words of a question. The rules are English; other questions are `fact` unless they hold three names.

    Of the dev questions of MuSiQue, 2WikiMultihopQA and HotpotQA, 74%, 77% and 78% count as `reasoning`; of those of
    Natural Questions and PopQA, 12% and 1%. The rules were written on these questions.

    >>> route_by_rules("When was the lamp lit?").kind, route_by_rules("Did Quill live longer than Wren?").kind
    ('fact', 'reasoning')
    """
    text = question[:_MAX_CHARACTERS]
    for why, pattern in _RULES:
        if found := pattern.search(text):
            return Route(kind="reasoning", why=f"{why} (“{found.group()}”)")
    if len(_LINK.findall(text)) >= _MANY_LINKS:
        return Route(kind="reasoning", why="it goes from one thing to another and on to a third")
    n = sum(named for _, named in phrases(text))
    if n >= _MANY_NAMES:
        return Route(kind="reasoning", why=f"it names {n} things")
    return Route(kind="fact", why="nothing in it asks for more than one look-up")


def parse_route(text: str) -> Kind:
    """Parse the one label that a reply holds.

    Raises:
        UnusableReply: if it holds none or both.

    >>> parse_route("**Reasoning**.")
    'reasoning'
    """
    found = {match.group().casefold() for match in _LABEL.finditer(without_thinking(text)[:_MAX_CHARACTERS])}
    chosen = [kind for kind in KINDS if kind in found]
    if len(chosen) != 1:
        raise UnusableReply("the reply is not one of the words: fact, reasoning", text)
    return chosen[0]


def _ask(question: str, models: Models, chat: ChatModel, method: str) -> Kind:
    system, user = prompt("route").fill({"question": question})
    turns = opening(system, user)
    request = ChatRequest(messages=turns, max_output_tokens=_MAX_REPLY_TOKENS)
    return models.calls.ask(chat, request, parse_route, stage="route", method=method)
