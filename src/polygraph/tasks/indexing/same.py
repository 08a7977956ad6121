"""Decide which pairs of names are one entity, where the rules of entity resolution cannot.

Asks about several pairs in one call, for the numbers of those that are the same and of those that are different. A pair
in neither list, or in both, stays undecided. Without a model nothing is asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from polygraph.models import ChatModel
from polygraph.models.calls import Calls
from polygraph.models.protocols import ChatRequest, opening
from polygraph.prompts import FENCES, PromptText, as_data, neutralize, one_line, prompt
from polygraph.tasks.parsing.verdict_lists import parse_verdicts, verdict_schema

PAIRS_PER_CALL = 10
"""Pairs in one request."""
MAX_DESCRIPTIONS = 2
"""Descriptions of each name that are shown."""
MAX_PASSAGES = 2
"""Passages that are shown of each name: texts say what a short description leaves out."""
MAX_NAMES = 4
"""Other names that are shown of each."""
STAGE = "same"
"""Stage of the calls in the ledger and the estimate."""
_MAX_NAME = 200
_MAX_DESCRIPTION = 300
"""Characters of a name, a type or a document, and of a description."""
_MAX_PASSAGE = 400
"""Characters of a passage, with the fields of its document."""
_MAX_REPLY_TOKENS = 40 + 10 * PAIRS_PER_CALL
_LISTS = ("same", "different")


@dataclass(frozen=True, slots=True)
class WhoIsAsked:
    """Who decides about names in doubt; as text in the manifest."""

    pairs: str
    """The model and a hash of the prompt about pairs, which determine its answers."""
    lists: str
    """The same of the prompt about lists of names."""
    max_pairs: int
    """Pairs that are asked about at most."""


def identity(model: str, max_pairs: int) -> str:
    """Return what determines the answers, for the manifest: model, prompts, number of pairs.

    >>> identity("gpt-4o", 500).rpartition(":")[2]
    '500'
    """
    return f"{model}:{prompt('same').hash[:8]}+{prompt('suggest_same').hash[:8]}:{max_pairs}"


def who_is_asked(written: str) -> WhoIsAsked | None:
    """Read what `identity` wrote; None for an empty text.

    >>> who_is_asked("m:7b:1f+2e:50")
    WhoIsAsked(pairs='m:7b:1f', lists='m:7b:2e', max_pairs=50)
    """
    if not written:
        return None
    who, _, max_pairs = written.rpartition(":")
    model, _, hashes = who.rpartition(":")
    pairs, _, lists = hashes.partition("+")
    return WhoIsAsked(f"{model}:{pairs}", f"{model}:{lists}", int(max_pairs))


@dataclass(frozen=True, slots=True)
class NameInContext:
    """A name and what documents say about it."""

    name: str
    """As written."""
    type: str
    document: str
    """Title or id of a document that mentions it."""
    descriptions: tuple[str, ...]
    """At most `MAX_DESCRIPTIONS` are shown."""
    other_names: tuple[str, ...] = ()
    """Under which it also occurs; at most `MAX_NAMES` are shown."""
    passages: tuple[str, ...] = ()
    """What texts say around the name; at most `MAX_PASSAGES` are shown."""


def same_request(pairs: Sequence[tuple[NameInContext, NameInContext]]) -> ChatRequest:
    """Return the request about some pairs, at most `PAIRS_PER_CALL`."""
    shown = [
        f"[{n}]\nFirst: {_shown(first, len(pairs))}\nSecond: {_shown(second, len(pairs))}"
        for n, (first, second) in enumerate(pairs, 1)
    ]
    system, user = prompt("same").fill({"pairs": as_data(PromptText("\n\n".join(shown)), "pairs")})
    return ChatRequest(
        messages=opening(system, user),
        max_output_tokens=_MAX_REPLY_TOKENS,
        schema=verdict_schema(*_LISTS),
    )


def same_entities(
    pairs: Sequence[tuple[NameInContext, NameInContext]], chat: ChatModel, calls: Calls
) -> tuple[bool | None, ...]:
    """Decide for each pair whether both names are one entity; one call.

    Args:
        pairs: at most `PAIRS_PER_CALL`.
        chat: the model.
        calls: sends the request.

    Returns:
        For each pair True, False, or None if it stays undecided.

    Raises:
        UnusableReply: if the reply holds no list, also after the repair round.
    """
    return calls.ask(chat, same_request(pairs), lambda text: parse_same(text, len(pairs)), stage=STAGE)


def parse_same(text: str, n_pairs: int) -> tuple[bool | None, ...]:
    """Parse a reply to `same_entities`: for each pair True, False, or None if it stays undecided.

    Raises:
        UnusableReply: if it has neither list.
    """
    return parse_verdicts(text, *_LISTS, n_pairs)


def _shown(name: NameInContext, n_pairs: int) -> str:
    """Return a name with its type, document, other names, descriptions and passages, neutralized field by field."""

    def clean(text: str, length: int) -> str:
        return neutralize(one_line(text)[:length], FENCES["pairs"], n_items=n_pairs)

    head = clean(name.name, _MAX_NAME)
    if name.type:
        head += f" ({clean(name.type, _MAX_NAME)})"
    head += f", from {clean(name.document, _MAX_NAME)}"
    texts = [clean(text, _MAX_DESCRIPTION) for text in name.descriptions[:MAX_DESCRIPTIONS] if text.strip()]
    others = [clean(other, _MAX_NAME) for other in name.other_names[:MAX_NAMES]]
    lines = [f"- Also written: {'; '.join(others)}"] if others else []
    passages = [clean(text, _MAX_PASSAGE) for text in name.passages[:MAX_PASSAGES] if text.strip()]
    return "\n".join([head, *lines, *(f"- {text}" for text in texts), *(f'- "{text}"' for text in passages)])
