"""Ask a model for questions that test a system."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from polygraph.errors import UnusableReply
from polygraph.models import ChatModel
from polygraph.models.calls import Calls
from polygraph.models.protocols import ChatRequest, Message
from polygraph.prompts import as_data, prompt
from polygraph.records import Json
from polygraph.tasks.output_parsing import printable, salvage_json

Level: TypeAlias = Literal["node", "edge", "subgraph"]

_MAX_QUESTION = 600
"""Characters of one question."""
_SHORTEST = 8
"""Characters below which a reply is no question."""
_GIST_WORDS = 400
_STAGE = "questions"
_POSED: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["question"],
    "properties": {"question": {"type": "string"}},
}


def pose_question(
    level: Level,
    structure: str,
    sources: str,
    chat: ChatModel,
    calls: Calls,
    *,
    temperature: float,
    sample: int,
) -> str:
    """Pose one question about a part of the graph, with its source texts alongside; one call.

    Args:
        level: `node`, `edge` or `subgraph`.
        structure: the entities and relations, a line each.
        sources: their source texts, or a summary of these.
        chat: the generator.
        calls: the gate.
        temperature: of the generator.
        sample: which of several replies to the same request is meant.
    """
    system, user = prompt("pose").fill(
        {
            "level": level,
            "structure": as_data(structure, "structure"),
            "sources": as_data(sources, "sources"),
        }
    )
    request = ChatRequest(
        messages=(Message("system", system), Message("user", user)),
        max_output_tokens=200,
        temperature=temperature,
        schema=_POSED,
        sample=sample,
    )
    return calls.ask(chat, request, _question, stage=_STAGE)


def summarise_sources(sources: str, chat: ChatModel, calls: Calls) -> str:
    """Sum up the source texts of a subgraph, from which a question about it is posed; one call."""
    system, user = prompt("gist").fill({"max_words": _GIST_WORDS, "sources": as_data(sources, "sources")})
    request = ChatRequest(
        messages=(Message("system", system), Message("user", user)), max_output_tokens=2 * _GIST_WORDS
    )
    return calls.ask(chat, request, _text, stage=_STAGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserQuestion:
    """A question with who would ask it, and for what."""

    user: str
    task: str
    question: str


def name_users(
    description: str,
    chat: ChatModel,
    calls: Calls,
    *,
    n_users: int = 5,
    n_tasks: int = 5,
    n_questions: int = 5,
    temperature: float = 0.0,
) -> list[UserQuestion]:
    """Name users, their tasks and their questions (LightRAG: 5 x 5 x 5 = 125); one call, one repair round.

    Raises:
        UnusableReply: if there are not exactly as many as asked for, also after the repair round.
    """
    system, user = prompt("users").fill(
        {
            "n_users": n_users,
            "n_tasks": n_tasks,
            "n_questions": n_questions,
            "description": as_data(description, "description"),
        }
    )
    request = ChatRequest(
        messages=(Message("system", system), Message("user", user)),
        max_output_tokens=60 * n_users * n_tasks * n_questions + 500,
        temperature=temperature,
    )
    return calls.ask(chat, request, lambda text: _users(text, n_users, n_tasks, n_questions), stage=_STAGE)


def _question(text: str) -> str:
    found = salvage_json(text)
    asked = _clean(found.get("question")) if isinstance(found, dict) else ""
    if len(asked) < _SHORTEST:
        raise UnusableReply('the reply is not JSON of the form {"question": "..."}', text)
    return asked


def _text(text: str) -> str:
    if not text.strip():
        raise UnusableReply("the reply was empty", text)
    return text.strip()


def _users(text: str, n_users: int, n_tasks: int, n_questions: int) -> list[UserQuestion]:
    found = salvage_json(text)
    users = _items(found.get("users") if isinstance(found, dict) else found)
    questions = []
    for user in users[:n_users]:
        for task in _items(user.get("tasks"))[:n_tasks]:
            listed = task.get("questions")
            texts = [_clean(q) for q in listed] if isinstance(listed, list) else []
            questions += [
                UserQuestion(user=_clean(user.get("user")), task=_clean(task.get("task")), question=q)
                for q in [q for q in texts if len(q) >= _SHORTEST][:n_questions]
            ]
    wanted = n_users * n_tasks * n_questions
    distinct = {q.question.casefold() for q in questions}
    if len(distinct) != wanted:
        raise UnusableReply(
            f"{len(distinct)} distinct questions where {n_users} users x {n_tasks} tasks x {n_questions} questions "
            f"= {wanted} are needed",
            text,
        )
    return questions


def _items(value: Json) -> list[dict[str, Json]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _clean(value: Json) -> str:
    return " ".join(printable(value).split())[:_MAX_QUESTION] if isinstance(value, str) else ""
