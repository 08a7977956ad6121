"""Write a report on a community.

Asks for title, summary, rating and findings as JSON, each statement with the numbers of its sources. A reply with
neither a summary nor a finding raises `UnusableReply` after the repair round.
"""

import math
import re
from dataclasses import dataclass

from polygraph.errors import UnusableReply
from polygraph.models import ChatRequest, Models
from polygraph.models.protocols import opening
from polygraph.prompts import as_data, prompt
from polygraph.records import Json
from polygraph.tasks.parsing.json_repair import repair_json
from polygraph.tasks.parsing.schemas import object_schema
from polygraph.tasks.parsing.short_replies import printable
from polygraph.text.prose import shorten

MAX_FINDINGS = 20
"""Taken from a reply; the prompt asks for at most 10."""
_MAX_TITLE = 200  # characters
_MAX_TEXT = 6000  # characters of one field

_FINDING: dict[str, Json] = object_schema({"summary": {"type": "string"}, "explanation": {"type": "string"}})
SCHEMA: dict[str, Json] = object_schema(
    {
        "title": {"type": "string"},
        "summary": {"type": "string"},
        "rating": {"type": "number"},
        "findings": {"type": "array", "items": _FINDING},
    }
)

# A bracket with numbers and perhaps a label: [3], [2, 5], [Sources: 1-4].
_CITED = re.compile(
    r"\s{0,3}\[(?:(?:sources?|chunks?|data)\s{0,2}:?\s{0,2})?\(?(\d[\d\s,;–+-]{0,80})\)?\]", re.I
)
_TAKEN = "\0"
"""Stands for what was taken out of a text."""
_SECOND_STOP = re.compile(r"([.!?])\0+\.")
"""Behind sources that stood between an abbreviation and the end of its sentence."""
_NUMBERS = re.compile(r"(\d{1,6})(?:\s*[-–]\s*(\d{1,6}))?")
_RATING = re.compile(r"-?\d{1,3}(?:[.,]\d{1,3})?")
_MAX_RANGE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcedText:
    """A text and the numbers of the sources that the model gave for it."""

    text: str
    sources: tuple[int, ...] = ()
    """Ascending, as written; the caller checks that they exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedReport:
    """A report as a model wrote it."""

    title: str
    """May be empty."""
    summary: SourcedText
    findings: tuple[tuple[SourcedText, SourcedText], ...]
    """Pairs of summary and explanation; the explanation may be empty."""
    rating: float | None
    """In [0, 10]; None if the model gave none."""


def write_report(models: Models, material: str, *, max_words: int) -> ParsedReport:
    """Have the chat model write a report; one call.

    Args:
        models: with a chat model.
        material: entities and relations of the community, each with the numbers of its sources in brackets.
        max_words: length of the report that the prompt asks for.

    Raises:
        UnusableReply: if the reply is unusable, also after the repair round.
        ValueError: if there is no chat model.
    """
    if models.chat is None:
        raise ValueError("a report needs a chat model")
    return models.calls.ask(
        models.chat, report_request(material, max_words=max_words), parse_report, stage="reports"
    )


def report_request(material: str, *, max_words: int) -> ChatRequest:
    """Build the request for a report."""
    system, user = prompt("report").fill({"max_words": max_words, "material": as_data(material, "material")})
    return ChatRequest(
        messages=opening(system, user),
        # Two tokens a word, because some languages need them, and the JSON syntax.
        max_output_tokens=2 * max_words + 400,
        schema=SCHEMA,
    )


def parse_report(text: str) -> ParsedReport:
    """Parse a reply to `write_report`; other field names, numbers as text and extra fields are accepted.

    Raises:
        UnusableReply: if it holds neither a summary nor a finding.

    >>> parsed = parse_report('{"title": "Fog", "summary": "It came early [2].", "rating": "7.5/10", "findings": []}')
    >>> parsed.summary, parsed.rating
    (SourcedText(text='It came early.', sources=(2,)), 7.5)
    """
    fields = _fields(repair_json(text))
    if fields is None:
        raise UnusableReply("it must be one JSON object with title, summary, rating and findings", text)
    summary = _statement(_first(fields, "summary", "overview", "abstract", "description"))
    found = _first(fields, "findings", "key_findings", "insights")
    findings = tuple(pair for pair in map(_finding, _listed(found)) if pair)[:MAX_FINDINGS]
    if not summary.text and findings:
        summary = findings[0][0]
    if not summary.text:
        raise UnusableReply('it lacks "summary" and "findings"; write both', text)
    return ParsedReport(
        title=_plain(_first(fields, "title", "name", "heading"), _MAX_TITLE).strip("# *"),
        summary=summary,
        findings=findings,
        rating=_rating(_first(fields, "rating", "importance", "score")),
    )


def strip_sources(text: str) -> tuple[str, tuple[int, ...]]:
    """Remove the source numbers from a text; return it with the distinct numbers, ascending.

    >>> strip_sources("Vane built it [3], Orme paid [1-2; 5]. See [note].")
    ('Vane built it, Orme paid. See [note].', (1, 2, 3, 5))
    >>> strip_sources("She floated at 5 a.m. [3] [4].")
    ('She floated at 5 a.m.', (3, 4))
    """
    if "[" not in text:
        return text.strip(), ()
    numbers: set[int] = set()

    def take(bracket: re.Match[str]) -> str:
        for first, last in _NUMBERS.findall(bracket.group(1)):
            low = int(first)
            high = int(last) if last else low
            numbers.update(range(low, min(high, low + _MAX_RANGE) + 1))
        return _TAKEN

    left = _SECOND_STOP.sub(r"\1", _CITED.sub(take, text.replace(_TAKEN, " ")))
    return left.replace(_TAKEN, "").strip(), tuple(sorted(numbers))


def _fields(value: Json) -> dict[str, Json] | None:
    """Return the object that holds the report, also from ``{"report": {...}}`` or a list of one."""
    for _ in range(3):
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        elif isinstance(value, dict):
            if "summary" in value or len(value) != 1:
                return {key.strip().casefold().replace(" ", "_"): item for key, item in value.items()}
            value = next(iter(value.values()))
        else:
            return None
    return None


def _first(fields: dict[str, Json], *names: str) -> Json:
    return next((fields[name] for name in names if fields.get(name) not in (None, "", [], {})), None)


def _listed(value: Json) -> list[Json]:
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        # Either one finding outside of a list, or findings under keys that the model invented.
        return [value] if "summary" in value else list(value.values())
    return [] if value is None else [value]


def _finding(value: Json) -> tuple[SourcedText, SourcedText] | None:
    if not isinstance(value, dict):
        statement = _statement(value)
        return (statement, SourcedText(text="")) if statement.text else None
    fields = {key.strip().casefold(): item for key, item in value.items()}
    summary = _statement(_first(fields, "summary", "finding", "title", "statement", "insight"))
    explanation = _statement(_first(fields, "explanation", "description", "details", "detail", "text"))
    listed = _first(fields, "sources", "source", "source_ids")
    if listed is not None:
        _, more = strip_sources(f"[{','.join(map(str, listed)) if isinstance(listed, list) else listed}]")
        summary = SourcedText(text=summary.text, sources=tuple(sorted({*summary.sources, *more})))
    if not summary.text:
        summary, explanation = explanation, SourcedText(text="")
    return (summary, explanation) if summary.text else None


def _statement(value: Json) -> SourcedText:
    text, sources = strip_sources(_plain(value, _MAX_TEXT))
    return SourcedText(text=text, sources=sources)


def _plain(value: Json, max_characters: int) -> str:
    if isinstance(value, list):
        value = " ".join(item for item in value if isinstance(item, str))
    if not isinstance(value, str):
        return ""
    return shorten(" ".join(printable(value).split()), max_characters)


def _rating(value: Json) -> float | None:
    if isinstance(value, dict):
        value = next(iter(value.values()), None)
    if isinstance(value, str):
        number = _RATING.search(value)
        value = float(number.group().replace(",", ".")) if number else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return min(max(float(value), 0.0), 10.0)
