"""The map step of global search: the points of a batch of reports that help to answer a question.

Asks for points with scores and the numbers of their reports. A reply without a list of points raises `UnusableReply`
after the repair round; items of the list without text or with score 0 are dropped. A point without a readable score
counts as useful: a model that leaves a field out found the statement worth writing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polygraph.errors import UnusableReply
from polygraph.models import Models
from polygraph.models.protocols import ChatRequest, opening
from polygraph.prompts import as_data, numbered, prompt
from polygraph.records import Report
from polygraph.tasks.offline.map_reports import rank_statements
from polygraph.tasks.parsing.citations import supporting_chunks
from polygraph.tasks.parsing.json_repair import repair_json
from polygraph.tasks.parsing.schemas import object_schema
from polygraph.tasks.parsing.short_replies import field_text, integer, number

_MAX_POINTS = 12
_MAX_REPLY_TOKENS = 1_500
_UNSTATED_SCORE = 50.0
"""Score of a point without one: what the prompt calls useful."""
_SCHEMA: Mapping[str, Any] = object_schema(
    {
        "points": {
            "type": "array",
            "items": object_schema(
                {
                    "point": {"type": "string"},
                    "score": {"type": "integer"},
                    "reports": {"type": "array", "items": {"type": "integer"}},
                }
            ),
        }
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A statement that helps to answer a question."""

    text: str
    score: float
    """In [0, 100]."""
    reports: tuple[str, ...]
    """Ids of the communities whose reports make it."""
    chunks: tuple[str, ...]
    """Ids of the chunks that support it."""


def find_points(question: str, reports: Sequence[Report], models: Models) -> list[Point]:
    """Return the points of one batch of reports, at most 12: one call with a model.

    Without a model: the statements of the reports, by `offline.map_reports`.
    """
    if models.chat is None:
        return [
            Point(text=s.text, score=s.score, reports=(s.report,), chunks=s.chunks)
            for s in rank_statements(question, reports, models)
        ]
    listing = numbered([r.text for r in reports], "reports")
    system, user = prompt("points").fill({"reports": as_data(listing, "reports"), "question": question})
    request = ChatRequest(
        messages=opening(system, user),
        max_output_tokens=_MAX_REPLY_TOKENS,
        schema=_SCHEMA,
    )
    return models.calls.ask(
        models.chat, request, lambda text: parse_points(text, reports), stage="map", method="graphrag-global"
    )


def parse_points(text: str, reports: Sequence[Report]) -> list[Point]:
    """Parse a reply to `find_points`; a point that names no report of the batch counts for all.

    Raises:
        UnusableReply: if it holds no list.
    """
    found = repair_json(text)
    items = found.get("points") if isinstance(found, dict) else found
    if not isinstance(items, list):
        raise UnusableReply('the reply is not JSON of the form {"points": [...]}', text)
    points = []
    for item in items[: 4 * _MAX_POINTS]:
        if not isinstance(item, dict):
            continue
        statement = field_text(item.get("point") or item.get("description")).strip()
        score = number(item.get("score"), 0, 100)
        if score is None:
            score = _UNSTATED_SCORE
        named = item.get("reports")
        several = named if isinstance(named, list) else [named]
        numbers = [integer(str(n), 1, len(reports)) for n in several]
        chosen = [reports[n - 1] for n in dict.fromkeys(numbers) if n is not None] or list(reports)
        if statement and score > 0:
            points.append(
                Point(
                    text=statement,
                    score=score,
                    reports=tuple(r.community for r in chosen),
                    chunks=supporting_chunks(statement, chosen),
                )
            )
    return points[:_MAX_POINTS]
