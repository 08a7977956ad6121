"""One step of an agent on a graph: a thought, and actions that are data, never run as code."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from polygraph.errors import UnusableReply
from polygraph.models import Models
from polygraph.models.protocols import ChatModel, ChatRequest, Message
from polygraph.prompts import as_data, prompt
from polygraph.records import Json
from polygraph.tasks.output_parsing import printable, salvage_json, without_thinking
from polygraph.text.tokens import count_tokens

_MOST_ACTIONS = 5
_THOUGHT = 600
_NODE = 300
_ARGUMENT = 4_000
"""Characters that are read of each part."""
_FORMS = {
    "both": 'Write the next step as JSON only: {"thought": "...", "actions": [...]}, with at most 5 actions.',
    "thought": "Write only the thought of the next step, as one line of plain text, without actions.",
    "actions": 'The thought of this step is: $thought\nWrite only its actions as JSON: {"actions": [...]}, at most 5.',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One action as the model wrote it; whether there is such a tool and node is for the tools to say."""

    tool: str
    node: str = ""
    argument: str = ""

    def __str__(self) -> str:
        inside = ", ".join(part for part in (self.node, self.argument) if part)
        return f"{self.tool}[{inside}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """What the agent does next."""

    thought: str
    acts: tuple[Act, ...]


def step_tokens(question: str, transcript: str) -> int:
    """Length of the prompt for the next step, in tokens."""
    return sum(count_tokens(part) for part in _filled(question, transcript, _FORMS["both"]))


def next_step(
    question: str,
    transcript: str,
    models: Models,
    chat: ChatModel,
    *,
    separate_thought: bool,
    max_tokens: int,
    method: str,
) -> Next:
    """Ask for the next step: one call, or two if thought and actions are asked for one after the other.

    Args:
        question: as asked.
        transcript: of the steps so far.
        models: in use.
        chat: the agent.
        separate_thought: ask twice, as the paper does.
        max_tokens: length of a reply.
        method: for the ledger.

    Raises:
        UnusableReply: if a reply holds no action.
    """
    if not separate_thought:
        request = _request(question, transcript, _FORMS["both"], max_tokens, _schema("thought", "actions"))
        return models.calls.ask(chat, request, read_step, stage="graph_cot", method=method)
    request = _request(question, transcript, _FORMS["thought"], max_tokens, None)
    thought = models.calls.ask(chat, request, _read_thought, stage="graph_cot_thought", method=method)
    form = _FORMS["actions"].replace("$thought", thought)
    request = _request(question, transcript, form, max_tokens, _schema("actions"))
    found = models.calls.ask(chat, request, read_step, stage="graph_cot_action", method=method)
    return Next(thought=thought, acts=found.acts)


def read_step(text: str) -> Next:
    """Read a reply to `next_step`.

    Raises:
        UnusableReply: if there is no action in it.

    >>> step = read_step('{"thought": "who?", "actions": [{"tool": "RetrieveNode", "argument": "Mara"}]}')
    >>> [str(act) for act in step.acts]
    ['RetrieveNode[Mara]']
    """
    found = salvage_json(text)
    listed = found.get("actions", [found]) if isinstance(found, dict) else found
    listed = [listed] if isinstance(listed, dict) else listed
    acts = [_act(item) for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    acts = [act for act in acts if act.tool]
    if not acts:
        raise UnusableReply(
            'the reply is not JSON of the form {"thought": "...", "actions": [{"tool": ...}]}', text
        )
    thought = found.get("thought") if isinstance(found, dict) else ""
    return Next(thought=_line(thought, _THOUGHT), acts=tuple(acts[:_MOST_ACTIONS]))


def _act(item: Mapping[str, Json]) -> Act:
    argument = item.get("argument")
    return Act(
        tool=_line(item.get("tool"), _NODE),
        node=_line(item.get("node"), _NODE),
        argument=printable(argument).strip()[:_ARGUMENT]
        if isinstance(argument, str)
        else _line(argument, _NODE),
    )


def _read_thought(text: str) -> str:
    # As the paper has it, a thought ends where its line ends.
    line = next((one for one in without_thinking(text).splitlines() if one.strip()), "")
    if not line:
        raise UnusableReply("the reply was empty", text)
    return _line(line, _THOUGHT)


def _line(value: object, most: int) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return " ".join(printable(str(value)).split())[:most]


def _filled(question: str, transcript: str, form: str) -> tuple[str, str]:
    shown = as_data(transcript or "(nothing yet)", "transcript")
    return prompt("graph_cot").fill({"transcript": shown, "question": question, "form": form})


def _request(
    question: str, transcript: str, form: str, max_tokens: int, schema: Mapping[str, Any] | None
) -> ChatRequest:
    system, user = _filled(question, transcript, form)
    turns = (Message("system", system), Message("user", user))
    return ChatRequest(messages=turns, max_output_tokens=max_tokens, schema=schema)


def _schema(*names: Literal["thought", "actions"]) -> dict[str, Any]:
    parts = ("tool", "node", "argument")
    act = {
        "type": "object",
        "additionalProperties": False,
        "required": list(parts),
        "properties": {part: {"type": "string"} for part in parts},
    }
    kinds = {"thought": {"type": "string"}, "actions": {"type": "array", "items": act}}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(names),
        "properties": {name: kinds[name] for name in names},
    }
