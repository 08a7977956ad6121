"""Find names of one thing in lists of names, so that `same` asks about them with their passages.

Rules suggest pairs by what is alike in two names or by words that say that one is the other's; lists of such words do
not end. A model sees about sixty names in one call, a line each, and returns groups of their numbers. It merges none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polygraph.errors import UnusableReply
from polygraph.models import ChatModel
from polygraph.models.calls import Calls
from polygraph.models.protocols import ChatRequest, opening
from polygraph.prompts import as_data, numbered, one_line, prompt
from polygraph.tasks.parsing.json_repair import repair_json
from polygraph.tasks.parsing.schemas import object_schema
from polygraph.tasks.parsing.short_replies import item_numbers

NAMES_PER_CALL = 60
"""Names in one request."""
MAX_OTHER_NAMES = 3
"""Other names that are shown of each."""
MAX_GROUP = 8
"""Names of one group; a larger one is no guess at one thing."""
STAGE = "suggest_same"
"""Stage of the calls in the ledger and the estimate."""
_MAX_NAME = 100
_MAX_DOCUMENT = 60
_MAX_TYPE = 40
"""Characters of a name, a document and a type."""
_MAX_WORDS = 20
_MAX_DESCRIPTION = 160
"""Words and characters of a description."""
_MAX_REPLY_TOKENS = 600


@dataclass(frozen=True, slots=True)
class NameInList:
    """A line of a list."""

    name: str
    """As written."""
    type: str
    document: str
    """Title or id of a document that mentions it."""
    description: str = ""
    """What is first said of it; its first words are shown."""
    other_names: tuple[str, ...] = ()
    """Under which it is known to occur; at most `MAX_OTHER_NAMES` are shown."""


def suggest_same_request(names: Sequence[NameInList]) -> ChatRequest:
    """Return the request about a list of names, at most `NAMES_PER_CALL`."""
    shown = numbered([shown_line(name) for name in names], "names", separator="\n")
    system, user = prompt("suggest_same").fill({"names": as_data(shown, "names")})
    return ChatRequest(
        messages=opening(system, user),
        max_output_tokens=_MAX_REPLY_TOKENS,
        schema=_SCHEMA,
    )


def suggest_same(names: Sequence[NameInList], chat: ChatModel, calls: Calls) -> tuple[tuple[int, ...], ...]:
    """Return groups of names that may be one thing; one call.

    Args:
        names: at most `NAMES_PER_CALL`.
        chat: the model.
        calls: sends the request.

    Returns:
        Positions in `names`, ascending, in the order of the reply.

    Raises:
        UnusableReply: if the reply has no groups, also after the repair round.
    """
    return calls.ask(
        chat, suggest_same_request(names), lambda text: parse_groups(text, len(names)), stage=STAGE
    )


def parse_groups(text: str, n_names: int) -> tuple[tuple[int, ...], ...]:
    """Parse a reply to `suggest_same`.

    Args:
        text: the reply.
        n_names: numbered from 1; other numbers are dropped.

    Returns:
        Groups of positions from 0, ascending and without repetition: those of two to `MAX_GROUP` names, each once, at
        most as many as names.

    Raises:
        UnusableReply: if the reply has no list of groups, or none of two to `MAX_GROUP` names among them.

    >>> parse_groups('{"groups": [[5, 1], ["2", 9, 2, 3], [4], [1, 5]]}', 5)
    ((0, 4), (1, 2))
    """
    found = repair_json(text)
    groups = (
        next((v for k, v in found.items() if k.casefold() == "groups"), None)
        if isinstance(found, dict)
        else found
    )
    if not isinstance(groups, list):
        raise UnusableReply('the reply is not JSON of the form {"groups": [[numbers], [numbers]]}', text)
    if len(groups) > 1 and all(isinstance(each, int) for each in groups):
        groups = [groups]
    kept: dict[tuple[int, ...], None] = {}
    for group in groups[: 2 * n_names]:
        listed = group[: 2 * MAX_GROUP] if isinstance(group, list) else []
        members = tuple(number - 1 for number in sorted(item_numbers(listed, n_names)))
        if 1 < len(members) <= MAX_GROUP:
            kept[members] = None
    if groups and not kept:
        raise UnusableReply(f"no group of the reply has two to {MAX_GROUP} numbers of the list", text)
    return tuple(kept)[:n_names]


def shown_line(name: NameInList) -> str:
    """Return the line of a list, before what imitates the structure of the prompt is rewritten."""

    def clean(text: str, length: int) -> str:
        return one_line(text)[:length]

    head = clean(name.name, _MAX_NAME)
    if name.type:
        head += f" ({clean(name.type, _MAX_TYPE)})"
    if name.other_names:
        head += f", also {'; '.join(clean(other, _MAX_NAME) for other in name.other_names[:MAX_OTHER_NAMES])}"
    head += f", from {clean(name.document, _MAX_DOCUMENT)}"
    text = clean(" ".join(name.description.split()[:_MAX_WORDS]), _MAX_DESCRIPTION)
    return f"{head}: {text}" if text else head


_SCHEMA: Mapping[str, Any] = object_schema(
    {
        "groups": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
    }
)
