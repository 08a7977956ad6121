"""Rate how much a report helps to answer a question: dynamic community selection.

Asks for a rating from 0 to 5. A reply that holds none, also after the repair round, is None.
"""

from collections.abc import Mapping
from typing import Any

from polygraph.errors import UnusableReply
from polygraph.models import Models
from polygraph.models.protocols import ChatRequest, opening
from polygraph.prompts import as_data, prompt
from polygraph.records import Report
from polygraph.tasks.parsing.json_repair import repair_json
from polygraph.tasks.parsing.schemas import object_schema
from polygraph.tasks.parsing.short_replies import integer
from polygraph.text.words import content_stems

HIGHEST = 5
"""Highest rating."""
_MAX_REPLY_TOKENS = 100
_SCHEMA: Mapping[str, Any] = object_schema({"rating": {"type": "integer"}})


def rate_report(question: str, report: Report, models: Models, *, sample: int = 0, method: str) -> int | None:
    """Rate one report from 0 to 5: one call with a model.

    Without a model: the share of the question's content words that the report holds, times 5.

    Args:
        question: as asked.
        report: to rate.
        models: in use.
        sample: number of the rating, if a report is rated several times.
        method: for the ledger.

    Returns:
        The rating, or None if the model gives none.
    """
    if models.chat is None:
        wanted = set(content_stems(question))
        return round(HIGHEST * len(wanted & set(content_stems(report.text))) / len(wanted)) if wanted else 0
    system, user = prompt("rate").fill({"report": as_data(report.text, "report"), "question": question})
    request = ChatRequest(
        messages=opening(system, user),
        max_output_tokens=_MAX_REPLY_TOKENS,
        temperature=1.0 if sample else 0.0,
        schema=_SCHEMA,
        sample=sample,
    )
    try:
        return models.calls.ask(models.chat, request, parse_rating, stage="rate", method=method)
    except UnusableReply:
        return None


def parse_rating(text: str) -> int:
    """Parse a reply to `rate_report`: JSON, or a lone number.

    Raises:
        UnusableReply: if it holds no rating from 0 to 5.

    >>> parse_rating('{"rating": 4}'), parse_rating("Rating: 3/5")
    (4, 3)
    """
    found = repair_json(text)
    value = integer(
        str(found["rating"]) if isinstance(found, dict) and "rating" in found else text, 0, HIGHEST
    )
    if value is None:
        raise UnusableReply(f'the reply is not JSON of the form {{"rating": 0 to {HIGHEST}}}', text)
    return value
