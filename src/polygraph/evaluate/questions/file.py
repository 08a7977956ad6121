"""Questions with their gold answers and gold evidence, as a file of JSON lines."""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from polygraph.errors import BadInput
from polygraph.records import Json

MAX_LINE = 4_000_000
"""Bytes of one line."""
MAX_QUESTIONS = 1_000_000
MAX_ITEMS = 10_000
"""Answers, documents or passages of one question."""
_SHOWN = 3
"""Problems that a message tells of."""
_NULL_TYPES = frozenset({"null", "null_query", "null query", "unanswerable"})
_NO_ANSWER = frozenset({"insufficient information", "no answer", "unanswerable"})
_KNOWN_FIELDS = """
    id question query type question_type answer answers answer_aliases aliases references evidence evidence_rule
    evidence_complete evidence_chunks passages quotes facts null
"""
_KNOWN = frozenset(_KNOWN_FIELDS.split())

Rule: TypeAlias = Literal["all", "any"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldPassage:
    """A passage that a question rests on: a stretch of a document, or its words."""

    document: str
    start: int = -1
    end: int = -1
    """Characters of the document's text, end exclusive; -1 where only the words are known."""
    text: str = ""
    """The words as they stand in the document; empty where only the place is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question and what is known to be right."""

    id: str
    """Unique in its file; ``line <n>`` where the file has none."""
    question: str
    type: str = ""
    """Kind of question, for tables by type."""
    answers: tuple[str, ...] = ()
    """Gold answers, each of them right."""
    references: tuple[str, ...] = ()
    """Reference texts of tasks whose answer is a summary."""
    evidence: tuple[str, ...] = ()
    """Ids of the gold documents."""
    evidence_rule: Rule = "all"
    """``all``: every document is needed; ``any``: each of them is enough."""
    evidence_complete: bool = True
    """False where some gold document is known not to be in the corpus."""
    chunks: tuple[str, ...] = ()
    """Ids of gold chunks."""
    passages: tuple[GoldPassage, ...] = ()
    facts: tuple[str, ...] = ()
    """Sentences of the documents that prove the answer (MultiHop-RAG)."""
    null: bool = False
    """True if the corpus does not hold the answer, so that the right reply is a refusal."""
    more: Mapping[str, Json] = field(default_factory=dict)
    """Other fields of the line, such as ``aspect`` and ``complexity`` of NovelQA."""


def read_questions(path: str | Path, *, evidence: str = "evidence") -> list[Question]:
    """Read questions in the order of the file, which may be packed (``.gz``).

    One JSON object a line. Needed is `question`; the rest is taken where it is there: `id`, `type`, `answer` (text,
    list or null; also `answers`), `aliases`, `references`, `evidence` (document ids), `evidence_rule` (``all`` or
    ``any``), `evidence_complete`, `evidence_chunks` (chunk ids), `passages` (``{"document", "start", "end"}``),
    `quotes` (``{"document", "text"}``), `facts`, `null`. A question is null if it says so, by its type
    (``null``, ``null_query``, ``unanswerable``), or by an answer like "Insufficient information" without evidence.

    Args:
        path: the file.
        evidence: the field that holds the gold document ids, for files that have several.

    Raises:
        BadInput: if there is no such file, no question in it, or lines that cannot be read, naming each.
    """
    file = Path(path)
    if not file.is_file():
        raise BadInput(f"there is no file of questions at {file}. It is named with --questions FILE.jsonl")
    found: list[Question] = []
    problems: list[str] = []
    lines: dict[str, int] = {}
    has_field = False
    for number, line in _lines(file):
        try:
            value = _object(line)
            has_field = has_field or evidence in value
            question = _question(value, number, evidence)
        except ValueError as problem:
            problems.append(f"line {number} {problem}")
            continue
        if question.id in lines:
            problems.append(f"line {number} has the id {question.id!r} of line {lines[question.id]}")
            continue
        lines[question.id] = number
        found.append(question)
        if len(found) > MAX_QUESTIONS:
            raise BadInput(f"{file} has more than {MAX_QUESTIONS:,} questions. Split it")
    if problems:
        shown = "; ".join(problems[:_SHOWN])
        rest = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        raise BadInput(f"{file} cannot be used: {shown}{rest}. Mend these lines or take them out")
    if not found:
        raise BadInput(
            f'{file} holds no question. Write one JSON object a line: {{"id": "q1", "question": "..."}}'
        )
    if evidence != "evidence" and not has_field:
        raise BadInput(
            f"no line of {file} has the field {evidence!r} that --evidence names. Name one that is there"
        )
    return found


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, counted from 1; empty ones are left out."""
    packed = file.name.lower().endswith(".gz")
    try:
        with gzip.open(file, "rb") if packed else file.open("rb") as opened:
            number = 0
            while raw := opened.readline(MAX_LINE + 1):
                number += 1
                if len(raw) > MAX_LINE:
                    raise BadInput(
                        f"{file} has a line of more than {MAX_LINE:,} bytes, line {number}. Shorten it"
                    )
                try:
                    text = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                except UnicodeDecodeError as problem:
                    raise BadInput(
                        f"{file} is not UTF-8: line {number}, byte {problem.start}. Save it as UTF-8"
                    ) from problem
                if text:
                    yield number, text
    except (OSError, EOFError, zlib.error) as problem:
        raise BadInput(f"{file} cannot be read: {problem}") from problem


def _object(line: str) -> dict[str, Json]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as problem:
        hint = ", and a list over several lines is not JSON lines" if line.startswith("[") else ""
        raise ValueError(f"is not JSON{hint}") from problem
    if not isinstance(value, dict):
        raise ValueError('is not a JSON object, such as {"question": "..."}')
    return value


def _question(value: dict[str, Json], number: int, evidence: str) -> Question:
    text = value.get("question", value.get("query"))
    if not isinstance(text, str) or not text.strip():
        raise ValueError("has no text in the field 'question'")
    gold = [*_texts(value, "answer"), *_texts(value, "answers")]
    answers = list(dict.fromkeys([*gold, *_texts(value, "answer_aliases"), *_texts(value, "aliases")]))
    kind = " ".join(_texts(value, "type") or _texts(value, "question_type"))
    documents, placed = _evidence(value, evidence)
    rule = value.get("evidence_rule") or "all"
    if rule not in ("all", "any"):
        raise ValueError(f"has the evidence_rule {rule!r}, which is neither 'all' nor 'any'")
    refused = len(gold) == 1 and gold[0].casefold().strip(" .") in _NO_ANSWER and not documents
    null = value.get("null") is True or kind.casefold() in _NULL_TYPES or refused
    short = evidence.removeprefix("evidence_")
    complete = value.get(f"{evidence}_complete", value.get(f"{short}_complete"))
    return Question(
        id=str(value["id"]) if value.get("id") not in (None, "") else f"line {number}",
        question=text.strip(),
        type=kind,
        answers=tuple(answers),
        references=tuple(_texts(value, "references")),
        evidence=tuple(documents),
        evidence_rule="any" if rule == "any" else "all",
        evidence_complete=complete is not False or null,
        chunks=tuple(_texts(value, "evidence_chunks")),
        passages=(*placed, *_passages(value, "passages"), *_passages(value, "quotes")),
        facts=tuple(_facts(value)),
        null=null,
        more={k: v for k, v in value.items() if k not in _KNOWN and k != evidence},
    )


def _list(value: Mapping[str, Json], name: str) -> Sequence[Any]:
    items = value.get(name)
    if items is None:
        return ()
    listed = items if isinstance(items, list) else [items]
    if len(listed) > MAX_ITEMS:
        raise ValueError(f"has {len(listed):,} items in {name!r}; at most {MAX_ITEMS:,} are read")
    return listed


def _texts(value: Mapping[str, Json], name: str) -> list[str]:
    """A field that holds a text, a number, or a list of these; each once, empty ones left out."""
    found = []
    for item in _list(value, name):
        if isinstance(item, bool) or not isinstance(item, str | int | float):
            raise ValueError(f"has {_kind(item)} in {name!r} where a text is expected")
        found.append(str(item).strip())
    return list(dict.fromkeys(text for text in found if text))


def _evidence(value: Mapping[str, Json], name: str) -> tuple[list[str], list[GoldPassage]]:
    """Document ids; an item may also be an object that tells the place in the document."""
    plain: dict[str, Json] = {name: [item for item in _list(value, name) if not isinstance(item, dict)]}
    objects: dict[str, Json] = {name: [item for item in _list(value, name) if isinstance(item, dict)]}
    placed = _passages(objects, name)
    documents = [*_texts(plain, name), *(p.document for p in placed)]
    return list(dict.fromkeys(documents)), [p for p in placed if p.text or p.end > p.start]


def _passages(value: Mapping[str, Json], name: str) -> list[GoldPassage]:
    found = []
    for item in _list(value, name):
        if not isinstance(item, dict) or not isinstance(item.get("document"), str | int):
            raise ValueError(f"has an item in {name!r} without a 'document'")
        start, end, text = item.get("start", -1), item.get("end", -1), item.get("text") or ""
        whole = isinstance(start, int) and isinstance(end, int)
        if not whole or not isinstance(text, str):
            raise ValueError(f"has an item in {name!r} whose 'start' and 'end' are not whole numbers")
        assert isinstance(start, int)  # noqa: S101 - `whole` says so
        assert isinstance(end, int)  # noqa: S101
        found.append(GoldPassage(document=str(item["document"]), start=start, end=end, text=text))
    return found


def _facts(value: Mapping[str, Json]) -> list[str]:
    found = []
    for item in _list(value, "facts"):
        text = item.get("fact") if isinstance(item, dict) else item
        if not isinstance(text, str):
            raise ValueError("has an item in 'facts' that is neither a text nor an object with a 'fact'")
        found.append(text.strip())
    return [text for text in found if text]


def _kind(item: object) -> str:
    return {dict: "an object", list: "a list", bool: "true or false"}.get(type(item), "nothing")
