"""Questions with gold answers and gold evidence, and the JSON Lines file that contains them."""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from polygraph.errors import BadInput
from polygraph.records import Json

MAX_LINE = 4_000_000
"""In bytes."""
MAX_QUESTIONS = 1_000_000
MAX_ITEMS = 10_000
"""Answers, documents or passages of one question."""
_SHOWN_PROBLEMS = 3
"""Problems that an error message lists."""
_NULL_TYPES = frozenset({"null", "null_query", "null query", "unanswerable"})
_NO_ANSWER = frozenset({"insufficient information", "no answer", "unanswerable"})
_KNOWN_FIELDS = """
    id question query type question_type answer answers answer_aliases aliases references points evidence evidence_rule
    evidence_complete evidence_chunks passages quotes facts null
"""
_KNOWN = frozenset(_KNOWN_FIELDS.split())

EvidenceRule: TypeAlias = Literal["all", "any"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldPassage:
    """A passage that supports the answer: a span of a document, or its text."""

    document: str
    start: int = -1
    end: int = -1
    """Character offsets in the document's text, end exclusive; -1 if only the text is known."""
    text: str = ""
    """Text of the passage in the document; empty if only the span is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with its gold."""

    id: str
    """Unique in its file; ``line <n>`` if the file has none."""
    question: str
    type: str = ""
    """Kind of question, for breakdowns."""
    answers: tuple[str, ...] = ()
    """Gold answers, any of which is correct."""
    references: tuple[str, ...] = ()
    """Reference texts, for tasks whose answer is a summary."""
    points: tuple[str, ...] = ()
    """What an answer about the whole corpus should mention; such a question has reference texts instead of answers."""
    evidence: tuple[str, ...] = ()
    """Ids of the gold documents."""
    evidence_rule: EvidenceRule = "all"
    """``all``: every document is needed; ``any``: one is enough."""
    evidence_complete: bool = True
    """False if some gold document is known to be missing from the corpus."""
    chunks: tuple[str, ...] = ()
    """Ids of gold chunks."""
    passages: tuple[GoldPassage, ...] = ()
    facts: tuple[str, ...] = ()
    """Sentences of the documents that support the answer (MultiHop-RAG)."""
    null: bool = False
    """True if the corpus does not contain the answer, so that a refusal is correct."""
    more: Mapping[str, Json] = field(default_factory=dict)
    """Other fields of the line, such as NovelQA's ``aspect`` and ``complexity``."""


def read_questions(path: str | Path, *, evidence: str = "evidence") -> list[Question]:
    """Read questions in the order of the file, which may be gzipped (``.gz``).

    One JSON object per line. Only `question` is required. Optional are `id`, `type`, `answer` (text, list or null; also
    `answers`), `aliases`, `references`, `points` (then the answer is a reference text), `evidence` (document ids),
    `evidence_rule` (``all`` or ``any``), `evidence_complete`, `evidence_chunks` (chunk ids), `passages`
    (``{"document", "start", "end"}``), `quotes` (``{"document", "text"}``), `facts`, `null`. A question is null if
    `null` is true, if its type is ``null``, ``null_query`` or ``unanswerable``, or if its answer is like "Insufficient
    information" and it has no evidence.

    Args:
        path: the file.
        evidence: the field with the gold document ids, for files that have several.

    Raises:
        BadInput: if the file does not exist, contains no question, or has lines that cannot be read; these are listed.
    """
    file = Path(path)
    if not file.is_file():
        raise BadInput(f"there is no file of questions at {file}. Name one with --questions FILE.jsonl")
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
            problems.append(f"line {number} repeats the id {question.id!r} of line {lines[question.id]}")
            continue
        lines[question.id] = number
        found.append(question)
        if len(found) > MAX_QUESTIONS:
            raise BadInput(f"{file} has more than {MAX_QUESTIONS:,} questions. Split it")
    if problems:
        shown = "; ".join(problems[:_SHOWN_PROBLEMS])
        rest = f"; and {len(problems) - _SHOWN_PROBLEMS} more" if len(problems) > _SHOWN_PROBLEMS else ""
        raise BadInput(f"{file} cannot be used: {shown}{rest}. Correct or remove these lines")
    if not found:
        raise BadInput(
            f'{file} contains no question. Write one JSON object per line: {{"id": "q1", "question": "..."}}'
        )
    if evidence != "evidence" and not has_field:
        raise BadInput(
            f"no line of {file} has the field {evidence!r} given by --evidence. Name a field that the file has"
        )
    return found


def sample_questions(questions: Sequence[Question], n: int, seed: int) -> list[Question]:
    """Return at most `n` questions, chosen by a seed, in their order."""
    if len(questions) <= n:
        return list(questions)
    chosen = np.random.default_rng(seed).permutation(len(questions))[:n]
    return [questions[int(i)] for i in sorted(chosen)]


def question_line(question: Question) -> dict[str, Json]:
    """Return a question as a line that `read_questions` reads."""
    line: dict[str, Json] = {"id": question.id, "question": question.question, "type": question.type}
    if question.answers:
        line["answers"] = list(question.answers)
    if question.references:
        line["references"] = list(question.references)
    if question.points:
        line["points"] = list(question.points)
    if question.evidence:
        line |= {"evidence": list(question.evidence), "evidence_rule": question.evidence_rule}
    if not question.evidence_complete:
        line["evidence_complete"] = False
    if question.chunks:
        line["evidence_chunks"] = list(question.chunks)
    if question.passages:
        line["passages"] = [asdict(passage) for passage in question.passages]
    if question.facts:
        line["facts"] = list(question.facts)
    if question.null:
        line["null"] = True
    return {**line, **{key: value for key, value in question.more.items() if key not in line}}


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not empty, with their numbers, counted from 1."""
    compressed = file.name.lower().endswith(".gz")
    try:
        with gzip.open(file, "rb") if compressed else file.open("rb") as opened:
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
        hint = "; a list over several lines is not JSON Lines" if line.startswith("[") else ""
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
    references, points = _texts(value, "references"), _texts(value, "points")
    if points:
        # No answer contains a whole summary, so it is compared as a text.
        references, answers = references or answers, []
    return Question(
        id=str(value["id"]) if value.get("id") not in (None, "") else f"line {number}",
        question=text.strip(),
        type=kind,
        answers=tuple(answers),
        references=tuple(references),
        points=tuple(points),
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
        raise ValueError(f"has {len(listed):,} items in {name!r}; at most {MAX_ITEMS:,} are allowed")
    return listed


def _texts(value: Mapping[str, Json], name: str) -> list[str]:
    """Return the texts of a field that is a text, a number, or a list of these, without duplicates and empty texts."""
    found = []
    for item in _list(value, name):
        if isinstance(item, bool) or not isinstance(item, str | int | float):
            raise ValueError(f"has {_kind(item)} in {name!r} where a text is expected")
        found.append(str(item).strip())
    return list(dict.fromkeys(text for text in found if text))


def _evidence(value: Mapping[str, Json], name: str) -> tuple[list[str], list[GoldPassage]]:
    """Return document ids, and the passages among the items that are objects with a span or a text."""
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
            raise ValueError(f"has an item in {name!r} whose 'start' and 'end' are not integers")
        assert isinstance(start, int)  # noqa: S101 - checked by `whole`
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
