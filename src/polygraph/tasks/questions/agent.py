"""The next step of an agent on a graph (Graph-CoT): a thought and actions, which are data and never run as code.

Asks for the step as JSON in one call, or for the thought and then the actions in two. A reply without an action that
is still unusable after the repair round raises `UnusableReply`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from polygraph.errors import UnusableReply
from polygraph.models import Models
from polygraph.models.protocols import ChatModel, ChatRequest, opening
from polygraph.prompts import as_data, prompt
from polygraph.records import Json
from polygraph.tasks.parsing.json_repair import repair_json
from polygraph.tasks.parsing.schemas import object_schema
from polygraph.tasks.parsing.short_replies import field_line, printable, without_thinking
from polygraph.text.tokens import count_tokens

_MAX_ACTIONS = 5
_THOUGHT_CHARACTERS = 600
_NODE_CHARACTERS = 300
_ARGUMENT_CHARACTERS = 4_000
_LAST_STEP = "This is the last step: Finish now, from the evidence in the transcript."
_FORMS = {
    "both": 'Write the next step as JSON only: {"thought": "...", "actions": [...]}, with at most 5 actions.',
    "thought": "Write only the thought of the next step, as one line of plain text, without actions.",
    "actions": 'The thought of this step is: $thought\nWrite only its actions as JSON: {"actions": [...]}, at most 5.',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAction:
    """One action as the model wrote it; whether the tool and the node exist is checked when it runs."""

    tool: str
    node: str = ""
    argument: str = ""

    def __str__(self) -> str:
        inside = ", ".join(part for part in (self.node, self.argument) if part)
        return f"{self.tool}[{inside}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStep:
    """A thought and the actions that follow from it."""

    thought: str
    actions: tuple[AgentAction, ...]


def step_tokens(question: str, transcript: str, steps_left: int) -> int:
    """Return the length of the prompt for the next step, in tokens."""
    return sum(count_tokens(part) for part in _filled(question, transcript, steps_left, _FORMS["both"]))


def next_step(
    question: str,
    transcript: str,
    models: Models,
    chat: ChatModel,
    *,
    steps_left: int,
    separate_thought: bool,
    max_tokens: int,
    method: str,
) -> AgentStep:
    """Ask for the next step: one call, or two with `separate_thought`.

    Args:
        question: as asked.
        transcript: of the steps so far.
        models: in use.
        chat: the agent.
        steps_left: this one included; of the last one the agent is told to finish.
        separate_thought: ask for the thought and the actions one after the other, as the paper does.
        max_tokens: maximum length of a reply.
        method: for the ledger.

    Raises:
        UnusableReply: if a reply holds no action, also after the repair round.
    """
    if not separate_thought:
        form = _FORMS["both"]
        request = _request(question, transcript, steps_left, form, max_tokens, _schema("thought", "actions"))
        return models.calls.ask(chat, request, parse_step, stage="graph_cot", method=method)
    request = _request(question, transcript, steps_left, _FORMS["thought"], max_tokens, None)
    thought = models.calls.ask(chat, request, _read_thought, stage="graph_cot_thought", method=method)
    form = _FORMS["actions"].replace("$thought", thought)
    request = _request(question, transcript, steps_left, form, max_tokens, _schema("actions"))
    found = models.calls.ask(chat, request, parse_step, stage="graph_cot_action", method=method)
    return AgentStep(thought=thought, actions=found.actions)


def parse_step(text: str) -> AgentStep:
    """Parse a reply to `next_step`; at most five actions.

    Raises:
        UnusableReply: if it holds no action.

    >>> step = parse_step('{"thought": "who?", "actions": [{"tool": "RetrieveNode", "argument": "Mara"}]}')
    >>> [str(action) for action in step.actions]
    ['RetrieveNode[Mara]']
    """
    found = repair_json(text)
    listed = found.get("actions", [found]) if isinstance(found, dict) else found
    listed = [listed] if isinstance(listed, dict) else listed
    actions = [_action(item) for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    actions = [action for action in actions if action.tool]
    if not actions:
        raise UnusableReply(
            'the reply is not JSON of the form {"thought": "...", "actions": [{"tool": ...}]}', text
        )
    thought = found.get("thought") if isinstance(found, dict) else ""
    return AgentStep(thought=field_line(thought, _THOUGHT_CHARACTERS), actions=tuple(actions[:_MAX_ACTIONS]))


def _action(item: Mapping[str, Json]) -> AgentAction:
    argument = item.get("argument")
    return AgentAction(
        tool=field_line(item.get("tool"), _NODE_CHARACTERS),
        node=field_line(item.get("node"), _NODE_CHARACTERS),
        argument=printable(argument).strip()[:_ARGUMENT_CHARACTERS]
        if isinstance(argument, str)
        else field_line(argument, _NODE_CHARACTERS),
    )


def _read_thought(text: str) -> str:
    # As in the paper, a thought ends with its line.
    line = next((one for one in without_thinking(text).splitlines() if one.strip()), "")
    if not line:
        raise UnusableReply("the reply was empty", text)
    return field_line(line, _THOUGHT_CHARACTERS)


def _filled(question: str, transcript: str, steps_left: int, form: str) -> tuple[str, str]:
    shown = as_data(transcript or "(nothing yet)", "transcript", keep_numbers=True)
    left = f"Steps left, this one included: {steps_left}." if steps_left > 1 else _LAST_STEP
    return prompt("graph_cot").fill({"transcript": shown, "question": question, "left": left, "form": form})


def _request(
    question: str,
    transcript: str,
    steps_left: int,
    form: str,
    max_tokens: int,
    schema: Mapping[str, Any] | None,
) -> ChatRequest:
    turns = opening(*_filled(question, transcript, steps_left, form))
    return ChatRequest(messages=turns, max_output_tokens=max_tokens, schema=schema)


def _schema(*names: Literal["thought", "actions"]) -> dict[str, Any]:
    parts = ("tool", "node", "argument")
    action = object_schema({part: {"type": "string"} for part in parts})
    kinds = {"thought": {"type": "string"}, "actions": {"type": "array", "items": action}}
    return object_schema({name: kinds[name] for name in names})
