"""Which of some facts help to answer a question: the recognition memory of HippoRAG 2."""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from polygraph.errors import UnusableReply
from polygraph.models import ChatModel, Models
from polygraph.models.protocols import ChatRequest, Message
from polygraph.prompts import as_data, prompt
from polygraph.records import Triple
from polygraph.tasks.output_parsing import integer, salvage_json
from polygraph.text.words import content

_ALIKE = 0.6
"""A fact that a reply spells out is the one most like it, if it is so alike (difflib ratio)."""
_CHARACTERS = 400
"""Of a fact, so much is shown and compared."""
_MAX_REPLY_TOKENS = 300
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["facts"],
    "properties": {"facts": {"type": "array", "items": {"type": "integer"}}},
}


def relevant_facts(question: str, facts: Sequence[Triple], models: Models, *, method: str) -> tuple[int, ...]:
    """Choose the facts that help: one call with a model, none without or for no facts.

    Without a model: the facts of which the subject or the object shares a content word with the question.

    Args:
        question: to be answered.
        facts: candidates, best first.
        models: with or without a chat model.
        method: in the ledger.

    Returns:
        Positions in `facts`, ascending; there may be none.
    """
    if not facts:
        return ()
    if models.chat is None:
        return tuple(i for i, fact in enumerate(facts) if _touches(question, fact))
    return _ask(question, facts, models, models.chat, method)


def read_choice(text: str, facts: Sequence[str]) -> tuple[int, ...]:
    """Read which facts a reply names: by number, or spelt out as a text or a list of parts.

    Args:
        text: the reply.
        facts: as they were shown, numbered from 1.

    Returns:
        Positions, ascending, each once.

    Raises:
        UnusableReply: if there is no list, or it names facts and none of them is among those given.

    >>> facts = ["Mara Quill, built, Skerry Light", "Old Tobin, sailed, Halcyon"]
    >>> read_choice('{"facts": [2]}', facts), read_choice('[["mara quill", "built", "skerry light"]]', facts)
    ((1,), (0,))
    """
    found = salvage_json(text)
    if isinstance(found, dict):
        lists = [v for k, v in found.items() if k.casefold() in ("facts", "fact")]
        found = lists[0] if lists else None
    if not isinstance(found, list):
        raise UnusableReply('the reply is not JSON of the form {"facts": [numbers]}', text)
    chosen = {place for item in found[: 4 * len(facts)] if (place := _place(item, facts)) is not None}
    if found and not chosen:
        raise UnusableReply(f"the reply names no fact from 1 to {len(facts)}", text)
    return tuple(sorted(chosen))


def _place(item: object, facts: Sequence[str]) -> int | None:
    """The fact that one item of a reply means: its number first, else its words."""
    if isinstance(item, dict):
        numbers = [item[key] for key in ("number", "n", "id", "index", "fact") if key in item]
        item = numbers[0] if numbers else list(item.values())
    number = integer(str(item), 1, len(facts)) if isinstance(item, int | float | str) else None
    if number is not None and (not isinstance(item, str) or len(item) < _LONGEST_NUMBER):
        return number - 1
    said = ", ".join(map(str, item)) if isinstance(item, list) else str(item)
    said = said[:_CHARACTERS].casefold()
    alike = [SequenceMatcher(None, said, fact[:_CHARACTERS].casefold()).ratio() for fact in facts]
    best = max(range(len(facts)), key=lambda i: (alike[i], -i))
    return best if alike[best] >= _ALIKE else None


_LONGEST_NUMBER = 12
"""A longer text that holds a number is a fact spelt out: ``[3]`` and ``fact 3.`` are numbers, a year is not."""


def _ask(
    question: str, facts: Sequence[Triple], models: Models, chat: ChatModel, method: str
) -> tuple[int, ...]:
    shown = [f"{f.source}, {f.predicate}, {f.target}"[:_CHARACTERS] for f in facts]
    listing = as_data("\n".join(f"[{n}] {fact}" for n, fact in enumerate(shown, 1)), "facts")
    system, user = prompt("relevant_facts").fill({"facts": listing, "question": question})
    request = ChatRequest(
        messages=(Message("system", system), Message("user", user)),
        max_output_tokens=_MAX_REPLY_TOKENS,
        schema=_SCHEMA,
    )
    return models.calls.ask(
        chat, request, lambda text: read_choice(text, shown), stage="relevant_facts", method=method
    )


def _touches(question: str, fact: Triple) -> bool:
    plain, wanted = question.casefold(), set(content(question))
    return any(
        # Languages without spaces between words have no words to share.
        bool(wanted & set(content(end))) or (len(end) > 1 and end in plain)
        for end in (fact.source, fact.target)
    )
