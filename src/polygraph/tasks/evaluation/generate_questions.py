"""Generate questions for an evaluation: from parts of the graph, or from users and their tasks.

`generate_question` asks for one question about a node, an edge or a subgraph; `generate_user_questions` for users and
their tasks, then for the questions of each user. A reply without a question, or with the wrong number of questions,
raises `UnusableReply` after the repair round.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from polygraph.errors import UnusableReply
from polygraph.models import ChatModel
from polygraph.models.calls import Calls
from polygraph.models.protocols import ChatRequest, opening
from polygraph.models.thread_pool import map_in_order
from polygraph.prompts import as_data, numbered, prompt
from polygraph.records import Json
from polygraph.tasks.parsing.free_text import free_text
from polygraph.tasks.parsing.json_repair import repair_json
from polygraph.tasks.parsing.schemas import object_schema
from polygraph.tasks.parsing.short_replies import field_line

Level: TypeAlias = Literal["node", "edge", "subgraph"]

_MAX_CHARACTERS = 600
_MIN_CHARACTERS = 8
"""A shorter text is not a question."""
_GIST_WORDS = 400
_STAGE = "questions"
_USERS = _TASKS = _QUESTIONS = 5
"""Users, tasks of each user, and questions on each task (LightRAG: 5 x 5 x 5 = 125)."""
_SCHEMA: Mapping[str, Any] = object_schema({"question": {"type": "string"}})
_TEXTS: Mapping[str, Any] = {"type": "array", "items": {"type": "string"}}


def _list_schema(field: str, properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of a list of closed objects under one field."""
    return object_schema({field: {"type": "array", "items": object_schema(properties)}})


_USERS_SCHEMA = _list_schema("users", {"user": {"type": "string"}, "tasks": _TEXTS})
_USER_QUESTIONS_SCHEMA = _list_schema("tasks", {"questions": _TEXTS})


def generate_question(
    level: Level,
    structure: str,
    sources: str,
    chat: ChatModel,
    calls: Calls,
    *,
    temperature: float,
) -> str:
    """Ask for one question about a part of the graph and its source texts; one call.

    Args:
        level: `node`, `edge` or `subgraph`.
        structure: the entities and relations, one per line.
        sources: their source texts, or a summary of these.
        chat: the generator.
        calls: sends the request.
        temperature: of the generator.
    """
    system, user = prompt("pose").fill(
        {
            "level": level,
            "structure": as_data(structure, "structure"),
            "sources": as_data(sources, "sources"),
        }
    )
    request = ChatRequest(
        messages=opening(system, user),
        max_output_tokens=200,
        temperature=temperature,
        schema=_SCHEMA,
    )
    return calls.ask(chat, request, _question, stage=_STAGE)


def summarise_sources(sources: str, chat: ChatModel, calls: Calls) -> str:
    """Summarise the source texts of a subgraph, for `generate_question`; one call."""
    system, user = prompt("gist").fill({"max_words": _GIST_WORDS, "sources": as_data(sources, "sources")})
    request = ChatRequest(messages=opening(system, user), max_output_tokens=2 * _GIST_WORDS)
    return calls.ask(chat, request, free_text, stage=_STAGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserQuestion:
    """A question, the user who asks it and the task it is for."""

    user: str
    task: str
    question: str


def generate_user_questions(description: str, chat: ChatModel, calls: Calls) -> list[UserQuestion]:
    """Ask for 5 users with 5 tasks each, then for 5 questions on each task, as LightRAG does.

    One call for the users, and one per user.

    Args:
        description: of the collection.
        chat: the generator.
        calls: sends the requests.

    Returns:
        The questions by user and task; of equal questions of several users the first.

    Raises:
        UnusableReply: if the number of users, of tasks or of a user's distinct questions is wrong, also after the
            repair round.
    """
    system, user = prompt("users").fill(
        {"n_users": _USERS, "n_tasks": _TASKS, "description": as_data(description, "description")}
    )
    request = ChatRequest(
        messages=opening(system, user),
        max_output_tokens=60 * _USERS * (_TASKS + 1) + 200,
        temperature=0.0,
        schema=_USERS_SCHEMA,
    )
    users = calls.ask(chat, request, _users, stage=_STAGE)

    def ask(user: tuple[str, list[str]]) -> list[UserQuestion]:
        return questions_of_user(*user, description, chat, calls, n_questions=_QUESTIONS, temperature=0.0)

    found = [q for questions in map_in_order(ask, users) for q in questions]
    return list({q.question.casefold(): q for q in reversed(found)}.values())[::-1]


def questions_of_user(
    user: str,
    tasks: Sequence[str],
    description: str,
    chat: ChatModel,
    calls: Calls,
    *,
    n_questions: int,
    temperature: float,
) -> list[UserQuestion]:
    """Ask for `n_questions` questions on each task of a user; one call.

    Raises:
        UnusableReply: if the number of distinct questions is wrong, also after the repair round.
    """
    system, text = prompt("user_questions").fill(
        {
            "n_questions": n_questions,
            "description": as_data(description, "description"),
            "user": user,
            "tasks": as_data(numbered(tasks, "rows", separator="\n"), "rows"),
        }
    )
    request = ChatRequest(
        messages=opening(system, text),
        max_output_tokens=60 * len(tasks) * n_questions + 200,
        temperature=temperature,
        schema=_USER_QUESTIONS_SCHEMA,
    )
    return calls.ask(
        chat, request, lambda reply: _user_questions(reply, user, tasks, n_questions), stage=_STAGE
    )


def _question(text: str) -> str:
    found = repair_json(text)
    asked = _clean(found.get("question")) if isinstance(found, dict) else ""
    if len(asked) < _MIN_CHARACTERS:
        raise UnusableReply('the reply is not JSON of the form {"question": "..."}', text)
    return asked


def _users(text: str) -> list[tuple[str, list[str]]]:
    """Parse users with their tasks."""
    found = repair_json(text)
    users = [
        (_clean(item.get("user")), _texts(item.get("tasks"))[:_TASKS])
        for item in _items(found.get("users") if isinstance(found, dict) else found)
    ][:_USERS]
    if len(users) != _USERS or any(not name or len(tasks) != _TASKS for name, tasks in users):
        raise UnusableReply(f"{_USERS} users with {_TASKS} tasks each are needed", text)
    return users


def _user_questions(text: str, user: str, tasks: Sequence[str], n_questions: int) -> list[UserQuestion]:
    """Parse the questions of one user, a list for each task."""
    found = repair_json(text)
    listed = _items(found.get("tasks") if isinstance(found, dict) else found)
    questions = [
        UserQuestion(user=user, task=task, question=question)
        for task, item in zip(tasks, listed, strict=False)
        for question in [q for q in _texts(item.get("questions")) if len(q) >= _MIN_CHARACTERS][:n_questions]
    ]
    wanted = len(tasks) * n_questions
    distinct = {q.question.casefold() for q in questions}
    if len(distinct) != wanted:
        raise UnusableReply(
            f"{len(distinct)} distinct questions where {len(tasks)} tasks x {n_questions} questions = {wanted} are "
            "needed",
            text,
        )
    return questions


def _items(value: Json) -> list[dict[str, Json]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _texts(value: Json) -> list[str]:
    return [text for text in map(_clean, value) if text] if isinstance(value, list) else []


def _clean(value: Json) -> str:
    return field_line(value, _MAX_CHARACTERS)
