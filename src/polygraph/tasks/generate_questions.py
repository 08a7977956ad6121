"""Generate questions for an evaluation: from parts of the graph, or from users and their tasks.

`generate_question` asks for one question about a node, an edge or a subgraph; `generate_user_questions` for users,
their tasks and their questions. A reply without a question, or with the wrong number of questions, raises
`UnusableReply` after the repair round.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from polygraph.errors import UnusableReply
from polygraph.models import ChatModel
from polygraph.models.calls import Calls
from polygraph.models.protocols import ChatRequest, Message
from polygraph.prompts import as_data, prompt
from polygraph.records import Json
from polygraph.tasks.parsing.json_repair import repair_json
from polygraph.tasks.parsing.short_replies import printable

Level: TypeAlias = Literal["node", "edge", "subgraph"]

_MAX_CHARACTERS = 600
_MIN_CHARACTERS = 8
"""A shorter text is not a question."""
_GIST_WORDS = 400
_STAGE = "questions"
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["question"],
    "properties": {"question": {"type": "string"}},
}


def generate_question(
    level: Level,
    structure: str,
    sources: str,
    chat: ChatModel,
    calls: Calls,
    *,
    temperature: float,
    sample: int,
) -> str:
    """Ask for one question about a part of the graph and its source texts; one call.

    Args:
        level: `node`, `edge` or `subgraph`.
        structure: the entities and relations, one per line.
        sources: their source texts, or a summary of these.
        chat: the generator.
        calls: sends the request.
        temperature: of the generator.
        sample: number of the reply, if the same request is sent several times.
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
        schema=_SCHEMA,
        sample=sample,
    )
    return calls.ask(chat, request, _question, stage=_STAGE)


def summarise_sources(sources: str, chat: ChatModel, calls: Calls) -> str:
    """Summarise the source texts of a subgraph, for `generate_question`; one call."""
    system, user = prompt("gist").fill({"max_words": _GIST_WORDS, "sources": as_data(sources, "sources")})
    request = ChatRequest(
        messages=(Message("system", system), Message("user", user)), max_output_tokens=2 * _GIST_WORDS
    )
    return calls.ask(chat, request, _text, stage=_STAGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserQuestion:
    """A question, the user who asks it and the task it is for."""

    user: str
    task: str
    question: str


def generate_user_questions(
    description: str,
    chat: ChatModel,
    calls: Calls,
    *,
    n_users: int = 5,
    n_tasks: int = 5,
    n_questions: int = 5,
    temperature: float = 0.0,
) -> list[UserQuestion]:
    """Ask for users, their tasks and their questions (LightRAG: 5 x 5 x 5 = 125); one call.

    Args:
        description: of the collection.
        chat: the generator.
        calls: sends the request.
        n_users: number of users.
        n_tasks: of each user.
        n_questions: of each task.
        temperature: of the generator.

    Raises:
        UnusableReply: if the number of distinct questions is wrong, also after the repair round.
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
    found = repair_json(text)
    asked = _clean(found.get("question")) if isinstance(found, dict) else ""
    if len(asked) < _MIN_CHARACTERS:
        raise UnusableReply('the reply is not JSON of the form {"question": "..."}', text)
    return asked


def _text(text: str) -> str:
    if not text.strip():
        raise UnusableReply("the reply was empty", text)
    return text.strip()


def _users(text: str, n_users: int, n_tasks: int, n_questions: int) -> list[UserQuestion]:
    found = repair_json(text)
    users = _items(found.get("users") if isinstance(found, dict) else found)
    questions = []
    for user in users[:n_users]:
        for task in _items(user.get("tasks"))[:n_tasks]:
            listed = task.get("questions")
            texts = [_clean(q) for q in listed] if isinstance(listed, list) else []
            questions += [
                UserQuestion(user=_clean(user.get("user")), task=_clean(task.get("task")), question=q)
                for q in [q for q in texts if len(q) >= _MIN_CHARACTERS][:n_questions]
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
    return " ".join(printable(value).split())[:_MAX_CHARACTERS] if isinstance(value, str) else ""
