"""The sample papers and their gold questions agree with each other."""

from __future__ import annotations

import csv
import json
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

SAMPLE = Path(str(files("polygraph") / "sample"))
PAPERS = SAMPLE / "papers"
BLOCKS = {"p", "h1", "h2", "h3", "li", "title", "header", "footer", "nav", "main", "body", "div"}
LITERAL = ("single", "multi_hop", "temporal")


class VisibleText(HTMLParser):
    """Collects the text that a reader of the page would see."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("head", "script", "style"):
            self.hidden += 1
        if tag in BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("head", "script", "style"):
            self.hidden -= 1
        if tag in BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.parts.append(data)


def collapse(text: str) -> str:
    return " ".join(text.split())


@cache
def documents() -> dict[str, str]:
    """Document id to text, whitespace collapsed (a CSV cell ends at a line break)."""
    found: dict[str, str] = {}
    for path in sorted(p for p in PAPERS.rglob("*") if p.is_file()):
        name = path.relative_to(PAPERS).as_posix()
        raw = path.read_text(encoding="utf-8")
        if path.suffix in (".json", ".jsonl"):
            records = (
                json.loads(raw)
                if path.suffix == ".json"
                else [json.loads(line) for line in raw.splitlines() if line.strip()]
            )
            for record in records:
                key = f"{name}#{record['id']}"
                assert key not in found, key
                found[key] = collapse(record["text"])
        elif path.suffix == ".html":
            parser = VisibleText()
            parser.feed(raw)
            found[name] = collapse("".join(parser.parts))
        elif path.suffix == ".csv":
            rows = csv.reader(raw.splitlines())
            found[name] = "\n".join(collapse(cell) for row in rows for cell in row)
        else:
            assert path.suffix in (".txt", ".md"), path
            found[name] = collapse(raw)
    return found


@cache
def questions() -> list[dict[str, Any]]:
    lines = (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_there_are_at_least_thirty_documents() -> None:
    assert len([p for p in PAPERS.rglob("*") if p.is_file()]) >= 30
    assert len(documents()) >= 30
    assert all(documents().values())


def test_there_are_at_least_fifteen_thousand_words() -> None:
    assert sum(len(text.split()) for text in documents().values()) >= 15_000


def test_every_kind_of_file_is_present() -> None:
    kinds = Counter(p.suffix for p in PAPERS.rglob("*") if p.is_file())
    assert kinds[".html"] >= 2
    assert kinds[".csv"] == 2
    assert kinds[".json"] == 1
    assert kinds[".jsonl"] == 1
    assert kinds[".txt"] > 0
    assert kinds[".md"] > 0


def test_every_markdown_file_starts_with_a_title() -> None:
    for path in PAPERS.rglob("*.md"):
        assert path.read_text(encoding="utf-8").startswith("# "), path


def test_every_table_has_a_full_row_on_every_line() -> None:
    for path in PAPERS.rglob("*.csv"):
        with path.open(encoding="utf-8", newline="") as lines:
            header, *rows = list(csv.reader(lines))
        assert 12 <= len(rows) <= 25, path
        assert all(len(row) == len(header) for row in rows), path


def test_there_are_forty_questions_with_the_agreed_types() -> None:
    assert [q["id"] for q in questions()] == [f"q{n:02d}" for n in range(1, 41)]
    assert Counter(q["type"] for q in questions()) == {
        "single": 10,
        "multi_hop": 10,
        "comparison": 5,
        "temporal": 5,
        "corpus_wide": 4,
        "unanswerable": 6,
    }


def test_no_question_is_asked_twice() -> None:
    assert len({q["question"].casefold() for q in questions()}) == 40


@pytest.mark.parametrize("question", questions(), ids=lambda q: q["id"])
def test_every_evidence_document_exists(question: dict[str, Any]) -> None:
    assert set(question["evidence"]) <= set(documents())
    assert len(set(question["evidence"])) == len(question["evidence"])


@pytest.mark.parametrize("question", questions(), ids=lambda q: q["id"])
def test_every_quote_stands_in_its_document(question: dict[str, Any]) -> None:
    for quote in question["quotes"]:
        assert quote["document"] in question["evidence"]
        assert collapse(quote["text"]) in documents()[quote["document"]], quote


@pytest.mark.parametrize("question", [q for q in questions() if q["type"] in LITERAL], ids=lambda q: q["id"])
def test_the_answer_stands_in_an_evidence_document(question: dict[str, Any]) -> None:
    forms = [collapse(form).casefold() for form in [question["answer"], *question["aliases"]]]
    texts = [documents()[name].casefold() for name in question["evidence"]]
    assert any(form in text for form in forms for text in texts)


def test_no_quote_depends_on_markdown_signs() -> None:
    for question in questions():
        for quote in question["quotes"]:
            assert not set("*_#`") & set(quote["text"]), question["id"]


def test_every_answerable_question_is_quoted_from_the_papers() -> None:
    for question in questions():
        if question["type"] != "unanswerable":
            assert question["answer"]
            assert question["quotes"], question["id"]


def test_multi_hop_questions_rest_on_more_than_one_document() -> None:
    for question in questions():
        if question["type"] == "multi_hop":
            assert len({quote["document"] for quote in question["quotes"]}) >= 2, question["id"]


def test_unanswerable_questions_have_no_answer_and_no_evidence() -> None:
    for question in questions():
        if question["type"] == "unanswerable":
            assert question["answer"] is None
            assert question["aliases"] == question["evidence"] == question["quotes"] == []


def test_corpus_wide_questions_list_points_and_four_documents() -> None:
    for question in questions():
        if question["type"] == "corpus_wide":
            assert 4 <= len(question["points"]) <= 6
            assert len(question["evidence"]) >= 4
            assert question["aliases"] == []
        else:
            assert "points" not in question
