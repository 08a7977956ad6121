"""Readers of data sets published as folders, with texts and questions in separate files."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from polygraph.errors import BadInput
from polygraph.evaluate.datasets.files import (
    DatasetBuilder,
    read_objects,
    read_text,
    required,
    required_text,
    stem,
)

Item: TypeAlias = tuple[Path, dict[str, Any]]
_LETTERS = "ABCDEFGH"
_TASK = re.compile(r"[1-3]-[1-5]")
TASKS = {
    "1-1": "multiple choice",
    "1-2": "multiple answers",
    "1-3": "fill in",
    "1-4": "generation",
    "2-1": "simple summary",
    "2-2": "key information",
    "3-1": "reading: multiple choice",
    "3-2": "reading: multiple answers",
    "3-3": "reading: fill in",
    "3-4": "reading: generation",
    "3-5": "reading: subcategory",
}
"""Types of question of SeedBench, by the number in the name of their file."""


# --- NovelQA ----------------------------------------------------------------------------------------------


def novelqa(files: Sequence[Path], builder: DatasetBuilder) -> None:
    """Read NovelQA: a novel and its questions are two files of the same name; options follow the question.

    Questions are a list or an object by number, as in different releases. The public files have no answers; if a copy
    has the field ``Gold`` or ``Answer``, the letter is the answer.
    """
    texts, others = _texts(files)
    if not texts:
        raise BadInput("no novel (.txt) is among the files")
    about = [(file, item) for file, item in read_objects(others) if _is_table(item, "title")]
    titles = {name: str(meta["title"]) for _, item in about for name, meta in item.items()}
    novels: dict[str, str] = {}
    for name, file in texts.items():
        novels[name] = builder.add_document(titles.get(name, name), read_text(file), id=name)
    for file, item in read_objects(others):
        if _is_table(item, "title"):
            continue
        name = stem(file)
        if name not in novels:
            raise BadInput(
                f"{file} asks about {name}.txt, which is not among the files; add the novel, or leave the questions out"
            )
        asked = item.items() if _is_table(item, "Question") else [(str(item.get("QID") or ""), item)]
        for number, one in asked:
            _novel_question(file, number, one, novels[name], builder)


def _novel_question(
    file: Path, number: str, item: dict[str, Any], novel: str, builder: DatasetBuilder
) -> None:
    given = item.get("Options")
    options = dict(zip(_LETTERS, given, strict=False)) if isinstance(given, list) else given or {}
    if not isinstance(options, dict):
        raise BadInput(f"{file} has Options that are neither a list nor an object")
    lines = [f"{letter}. {text}" for letter, text in options.items() if text]
    golds = [str(item[field]).strip() for field in ("Gold", "Answer") if item.get(field)]
    letters = [gold for gold in golds if gold in options]
    spelled = [letter for letter, text in options.items() if str(text).strip() in golds]
    complexity = item.get("Complexity") or item.get("Complex")
    builder.add_question(
        f"{novel}-{number}" if number else "",
        "\n".join([required_text(item, "Question", file), *lines]),
        # A letter, the letter of the option that the answer spells out, or a text, as in the generative task.
        answer=next(iter([*letters, *spelled, *golds]), None),
        type=complexity,
        evidence=[novel],
        aspect=item.get("Aspect"),
        complexity=complexity,
    )


# --- ODSum ------------------------------------------------------------------------------------------------


def odsum(files: Sequence[Path], builder: DatasetBuilder) -> None:
    """Read ODSum: stories in pieces, or meetings as texts, and questions that name neither.

    A rewritten question belongs to the story with the same summaries. Gold documents are all pieces of the story, or
    the meetings that the question was merged from.
    """
    texts, others = _texts(files)
    listed = list(read_objects(others))
    stories = [each for each in listed if "divided_document" in each[1]]
    of_stories = [each for each in listed if "responses" in each[1]]
    of_meetings = [each for each in listed if _is_table(each[1], "query")]
    if not (stories and of_stories) and not (texts and of_meetings):
        raise BadInput("documents (stories: divided_document; meetings: .txt) and queries are both needed")
    if stories or of_stories:
        _stories(stories, of_stories, builder)
    if texts or of_meetings:
        _meetings(texts, of_meetings, builder)


def _stories(stories: Sequence[Item], queries: Sequence[Item], builder: DatasetBuilder) -> None:
    pieces: dict[str, list[str]] = {}
    story_of: dict[str, str] = {}
    """By reference summary."""
    for file, item in stories:
        name = str(required(item, "metadata", dict, file).get("passage_id", ""))
        title = str(item.get("title") or name)
        texts = [str(piece) for piece in required(item, "divided_document", list, file)]
        found = [
            builder.add_document(title, text, id=f"{name}-{n}")
            for n, text in enumerate(texts, 1)
            if text.strip()
        ]
        pieces[name] = list(dict.fromkeys(found))
        for original in required(item, "questions", list, file):
            for text in _responses(original, file):
                story_of.setdefault(text, name)
    for file, item in queries:
        references = _responses(item, file)
        votes = Counter(story_of[text] for text in references if text in story_of)
        story = votes.most_common(1)[0][0] if votes else ""
        builder.add_question(
            f"{story}-q{item.get('question_number', '')}" if story else "",
            required_text(item, "question_text", file),
            references=references,
            type="story",
            evidence=pieces.get(story, []),
            evidence_complete=None if story else False,
        )


def _meetings(texts: dict[str, Path], queries: Sequence[Item], builder: DatasetBuilder) -> None:
    ids = {name: builder.add_document(name, read_text(file), id=name) for name, file in texts.items()}
    for file, item in queries:
        for number, asked in item.items():
            names = list(dict.fromkeys(map(str, required(asked, "meetings_list", list, file))))
            builder.add_question(
                f"meetings-{number}",
                required_text(asked, "query", file),
                references=[required_text(asked, "answer", file)],
                type="meeting",
                evidence=[ids[name] for name in names if name in ids],
                evidence_complete=None if all(name in ids for name in names) else False,
            )


def _responses(item: dict[str, Any], file: Path) -> list[str]:
    return [required_text(each, "response_text", file) for each in required(item, "responses", list, file)]


# --- SeedBench --------------------------------------------------------------------------------------------


def seedbench(files: Sequence[Path], builder: DatasetBuilder) -> None:
    """Read SeedBench: segments of papers, and one file of questions per task, named after the task's number.

    Gold documents are the segments that a question contains (reading and summaries); the questions of tasks 1-1 to 1-4
    have no evidence.
    """
    listed = list(read_objects(files))
    segments = [each for each in listed if "segment" in each[1]]
    asked = [each for each in listed if "question" in each[1]]
    if not segments or not asked:
        raise BadInput("segments (with a segment) and questions (with a question) are both needed")
    by_text: dict[str, str] = {}
    for file, item in segments:
        text = required_text(item, "segment", file)
        more = {"category": item["subcategory"]} if item.get("subcategory") else {}
        name = builder.add_document("", text, id=f"segment-{len(by_text) + 1}", **more)
        by_text.setdefault(_without_whitespace(text), name)
    numbers: Counter[str] = Counter()
    for file, item in asked:
        task = _TASK.fullmatch(stem(file))
        if task is None or task[0] not in TASKS:
            raise BadInput(f"{file} is not named after a task, such as 1-1.json")
        question, split = required_text(item, "question", file), item.get("split") or {}
        inside = _without_whitespace(question)
        builder.add_question(
            f"{task[0]}-{numbers[task[0]]}",
            question,
            answer=item.get("answer"),
            type=TASKS[task[0]],
            evidence=[name for text, name in by_text.items() if text in inside],
            category=split.get("level1") if isinstance(split, dict) else None,
        )
        numbers[task[0]] += 1


def _without_whitespace(text: str) -> str:
    """Remove white space, which differs between a segment and the questions that contain it."""
    return "".join(text.split())


# --- parts ------------------------------------------------------------------------------------------------


def _texts(files: Sequence[Path]) -> tuple[dict[str, Path], list[Path]]:
    """Return the text files by name, and the other files."""
    texts = [file for file in files if file.name.endswith((".txt", ".txt.gz"))]
    found: dict[str, Path] = {}
    for file in texts:
        if stem(file) in found:
            raise BadInput(f"{file} and {found[stem(file)]} have the same name; give one of them")
        found[stem(file)] = file
    return found, [file for file in files if file not in texts]


def _is_table(item: dict[str, Any], field: str) -> bool:
    """Return whether an object consists of objects with a given field, under names or numbers."""
    return bool(item) and all(isinstance(one, dict) and field in one for one in item.values())
