"""Filter facts by whether they help to answer a question: the recognition memory of HippoRAG 2.

Asks for the numbers of the helpful facts and returns their positions. A reply without a list, or one that names only
facts that were not shown, raises `UnusableReply` after the repair round.
"""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from types import MappingProxyType
from typing import Any

from polygraph.errors import UnusableReply
from polygraph.models import ChatModel, Models
from polygraph.models.protocols import ChatRequest, opening
from polygraph.prompts import as_data, numbered, prompt
from polygraph.records import Triple
from polygraph.tasks.parsing.json_repair import repair_json
from polygraph.tasks.parsing.schemas import object_schema
from polygraph.tasks.parsing.short_replies import integer
from polygraph.text.words import content_stems

_MIN_RATIO = 0.6
"""A fact that a reply spells out is the most similar one shown, if the difflib ratio is at least this."""
_MAX_CHARACTERS = 400
"""Most characters of a fact that is shown or compared."""
_MAX_NUMBER_CHARACTERS = 11
"""A longer text that holds a number is a fact spelled out: ``fact 3.`` is a number, ``Quill, born in, 1840`` is not."""
_MAX_REPLY_TOKENS = 300
_NO_NAMES: Mapping[str, str] = MappingProxyType({})
_SCHEMA: Mapping[str, Any] = object_schema({"facts": {"type": "array", "items": {"type": "integer"}}})


def relevant_facts(
    question: str,
    facts: Sequence[Triple],
    models: Models,
    *,
    method: str,
    names: Mapping[str, str] = _NO_NAMES,
) -> tuple[int, ...]:
    """Choose the facts that help to answer a question: one call with a model; none if there are no facts.

    Without a model: the facts whose subject or object shares a content word with the question.

    Args:
        question: to be answered.
        facts: candidates, best first.
        models: with or without a chat model.
        method: for the ledger.
        names: of subjects and objects as documents write them, by id; shown to a model instead of the ids.

    Returns:
        Positions in `facts`, ascending; possibly none.
    """
    if not facts:
        return ()
    if models.chat is None:
        return tuple(i for i, fact in enumerate(facts) if _shares_word(question, fact))
    ends = [(names.get(f.source, f.source), names.get(f.target, f.target)) for f in facts]
    shown = [f"{source}, {f.predicate}, {target}" for f, (source, target) in zip(facts, ends, strict=True)]
    return _ask(question, [line[:_MAX_CHARACTERS] for line in shown], models, models.chat, method)


def parse_fact_choice(text: str, facts: Sequence[str]) -> tuple[int, ...]:
    """Parse a reply to `relevant_facts`: numbers of facts, or facts spelled out as a text or a list of parts.

    Args:
        text: the reply.
        facts: as they were shown, numbered from 1.

    Returns:
        Distinct positions, ascending.

    Raises:
        UnusableReply: if there is no list, or it names facts and none of them is among those given.

    >>> facts = ["Mara Quill, built, Skerry Light", "Old Tobin, sailed, Halcyon"]
    >>> parse_fact_choice('{"facts": [2]}', facts)
    (1,)
    >>> parse_fact_choice('[["mara quill", "built", "skerry light"]]', facts)
    (0,)
    """
    found = repair_json(text)
    if isinstance(found, dict):
        lists = [v for k, v in found.items() if k.casefold() in ("facts", "fact")]
        found = lists[0] if lists else None
    if not isinstance(found, list):
        raise UnusableReply('the reply is not JSON of the form {"facts": [numbers]}', text)
    chosen = {
        position for item in found[: 4 * len(facts)] if (position := _position(item, facts)) is not None
    }
    if found and not chosen:
        raise UnusableReply(f"the reply names no fact from 1 to {len(facts)}", text)
    return tuple(sorted(chosen))


def _position(item: object, facts: Sequence[str]) -> int | None:
    """Return the position of the fact that an item of a reply stands for: by its number, else by its words."""
    if isinstance(item, dict):
        numbers = [item[key] for key in ("number", "n", "id", "index", "fact") if key in item]
        item = numbers[0] if numbers else list(item.values())
    number = integer(str(item), 1, len(facts)) if isinstance(item, int | float | str) else None
    if number is not None and (not isinstance(item, str) or len(item) <= _MAX_NUMBER_CHARACTERS):
        return number - 1
    spelled = ", ".join(map(str, item)) if isinstance(item, list) else str(item)
    spelled = spelled[:_MAX_CHARACTERS].casefold()
    ratios = [SequenceMatcher(None, spelled, fact[:_MAX_CHARACTERS].casefold()).ratio() for fact in facts]
    best = max(range(len(facts)), key=lambda i: (ratios[i], -i))
    return best if ratios[best] >= _MIN_RATIO else None


def _ask(
    question: str, shown: Sequence[str], models: Models, chat: ChatModel, method: str
) -> tuple[int, ...]:
    listing = as_data(numbered(shown, "facts", separator="\n"), "facts")
    system, user = prompt("relevant_facts").fill({"facts": listing, "question": question})
    request = ChatRequest(
        messages=opening(system, user),
        max_output_tokens=_MAX_REPLY_TOKENS,
        schema=_SCHEMA,
    )
    return models.calls.ask(
        chat, request, lambda text: parse_fact_choice(text, shown), stage="relevant_facts", method=method
    )


def _shares_word(question: str, fact: Triple) -> bool:
    folded, wanted = question.casefold(), set(content_stems(question))
    return any(
        # Languages without spaces between words have no words to share: compare the text itself.
        bool(wanted & set(content_stems(end))) or (len(end) > 1 and end in folded)
        for end in (fact.source, fact.target)
    )
