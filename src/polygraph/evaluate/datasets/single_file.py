"""Readers of data sets published as single files."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path

from polygraph.errors import BadInput
from polygraph.evaluate.datasets.files import (
    DatasetBuilder,
    open_lines,
    read_objects,
    required,
    required_text,
)


def hotpotqa(files: Sequence[Path], builder: DatasetBuilder) -> None:
    """Read HotpotQA (distractor) and 2WikiMultihopQA: paragraphs are lists of sentences, gold is named by title."""
    for file, item in read_objects(files):
        gold = {title for title, _ in required(item, "supporting_facts", list, file)}
        ids: dict[str, str] = {}
        for title, sentences in required(item, "context", list, file):
            ids[title] = builder.add_document(str(title), "".join(map(str, sentences)).strip())
        missing = sorted(map(str, gold - ids.keys()))
        builder.add_question(
            str(item.get("_id") or item.get("id") or ""),
            required_text(item, "question", file),
            answer=item.get("answer"),
            type=item.get("type"),
            evidence=[i for title, i in ids.items() if title in gold],
            evidence_complete=False if missing else None,
        )


def musique(files: Sequence[Path], builder: DatasetBuilder) -> None:
    """Read MuSiQue: paragraphs with a flag; an unanswerable question is null."""
    for file, item in read_objects(files):
        evidence = []
        for paragraph in required(item, "paragraphs", list, file):
            i = builder.add_document(
                str(paragraph.get("title", "")), required_text(paragraph, "paragraph_text", file)
            )
            if paragraph.get("is_supporting"):
                evidence.append(i)
        answerable = item.get("answerable", True)
        name = str(item.get("id", ""))
        builder.add_question(
            name,
            required_text(item, "question", file),
            answer=[item.get("answer", ""), *item.get("answer_aliases", [])] if answerable else None,
            # "2hop__153573_109006": the type precedes the numbers.
            type=name.partition("__")[0] or None,
            evidence=list(dict.fromkeys(evidence)) if answerable else [],
            null=None if answerable else True,
        )


def multihop_rag(files: Sequence[Path], builder: DatasetBuilder) -> None:
    """Read MultiHop-RAG: articles and questions in two files; evidence is an article's title and a fact."""
    listed = list(read_objects(files))
    articles = [(file, item) for file, item in listed if "body" in item]
    asked = [(file, item) for file, item in listed if "query" in item]
    if not articles or not asked:
        raise BadInput("articles (with a body) and questions (with a query) are both needed")
    ids: dict[str, str] = {}
    for file, item in articles:
        title = required_text(item, "title", file)
        more = {k: item[k] for k in ("source", "author", "category", "published_at", "url") if item.get(k)}
        ids[title] = builder.add_document(title, required_text(item, "body", file), **more)
    for file, item in asked:
        found = required(item, "evidence_list", list, file)
        titles = list(dict.fromkeys(str(e.get("title", "")) for e in found))
        null = item.get("question_type") == "null_query"
        builder.add_question(
            "",
            required_text(item, "query", file),
            answer=item.get("answer"),
            type=item.get("question_type"),
            evidence=[ids[t] for t in titles if t in ids],
            evidence_complete=None if null or all(t in ids for t in titles) else False,
            facts=[{"fact": e["fact"], "title": e.get("title", "")} for e in found if e.get("fact")],
            null=True if null else None,
        )


def dpr(files: Sequence[Path], builder: DatasetBuilder) -> None:
    """Read Natural Questions by DPR: any positive passage is enough; negatives are part of the corpus."""
    for file, item in read_objects(files):
        positive = required(item, "positive_ctxs", list, file)
        evidence = [
            builder.add_document(str(c.get("title", "")), required_text(c, "text", file)) for c in positive
        ]
        for c in (*item.get("negative_ctxs", []), *item.get("hard_negative_ctxs", [])):
            builder.add_document(str(c.get("title", "")), required_text(c, "text", file))
        builder.add_question(
            "",
            required_text(item, "question", file),
            answer=required(item, "answers", list, file),
            evidence=list(dict.fromkeys(evidence)),
            evidence_rule="any",
        )


def popqa(files: Sequence[Path], builder: DatasetBuilder) -> None:
    """Read PopQA: a table whose answers are a JSON list; there are no passages."""
    for file in files:
        with open_lines(file) as lines:
            for n, row in enumerate(csv.DictReader(lines, delimiter="\t"), 2):
                if not row.get("question") or not row.get("possible_answers"):
                    raise BadInput(f"{file} has no question and possible_answers in line {n}")
                try:
                    answers = json.loads(row["possible_answers"])
                except ValueError as problem:
                    raise BadInput(f"{file} has possible_answers that are not JSON in line {n}") from problem
                builder.add_question(
                    str(row.get("id") or ""), row["question"], answer=answers, type=row.get("prop")
                )


def qmsum(files: Sequence[Path], builder: DatasetBuilder) -> None:
    """Read QMSum: a meeting is one document with a line per turn; spans are turn numbers, both ends inclusive."""
    for n, (file, item) in enumerate(read_objects(files), 1):
        name = (
            file.name.partition(".")[0] if file.name.endswith((".json", ".json.gz")) else f"meeting-{n:03d}"
        )
        turns = [
            f"{t.get('speaker', '')}: {t.get('content', '')}"
            for t in required(item, "meeting_transcripts", list, file)
        ]
        starts = [0]
        for turn in turns:
            starts.append(starts[-1] + len(turn) + 1)
        meeting = builder.add_document(name, "\n".join(turns), id=name)
        for kind in ("general", "specific"):
            for asked in item.get(f"{kind}_query_list", []):
                passages = [
                    {"document": meeting, "start": starts[int(a)], "end": starts[int(b) + 1] - 1}
                    for a, b in asked.get("relevant_text_span", [])
                    if 0 <= int(a) <= int(b) < len(turns)
                ]
                builder.add_question(
                    f"{meeting}-{kind[0]}",
                    required_text(asked, "query", file),
                    references=[required_text(asked, "answer", file)],
                    type=kind,
                    evidence=[meeting],
                    passages=passages or None,
                )


def squality(files: Sequence[Path], builder: DatasetBuilder) -> None:
    """Read SQuALITY: a story with five questions, four summaries each; question 1 asks for the plot."""
    for file, item in read_objects(files):
        name = str(required(item, "metadata", dict, file).get("passage_id", ""))
        story = builder.add_document(name, required_text(item, "document", file), id=name)
        for asked in required(item, "questions", list, file):
            number = str(asked.get("question_number", ""))
            builder.add_question(
                f"{story}-{number}",
                required_text(asked, "question_text", file),
                references=[
                    required_text(r, "response_text", file) for r in required(asked, "responses", list, file)
                ],
                type="overview" if number == "1" else "specific",
                evidence=[story],
            )


def ultradomain(files: Sequence[Path], builder: DatasetBuilder) -> None:
    """Read UltraDomain: one long text with one question per line; many questions share a text."""
    for file, item in read_objects(files):
        text = required_text(item, "context", file)
        book = builder.add_document(" ".join(text.split()[:8]), text)
        builder.add_question(
            str(item.get("_id") or ""),
            required_text(item, "input", file),
            answer=item.get("answers"),
            type=item.get("label") or item.get("dataset"),
            evidence=[book],
        )


def beir(files: Sequence[Path], builder: DatasetBuilder) -> None:
    """Read BEIR: corpus, queries, and a table of query, document and grade; grades above 0 are gold."""
    tables = [file for file in files if file.name.endswith((".tsv", ".tsv.gz"))]
    if not tables:
        raise BadInput("no .tsv of relevance judgements is among the files")
    judged: dict[str, list[str]] = {}
    for file in tables:
        with open_lines(file) as lines:
            for n, row in enumerate(csv.reader(lines, delimiter="\t"), 1):
                if n == 1 and row[:1] == ["query-id"]:
                    continue
                if len(row) != 3 or not row[2].strip().lstrip("-").isdigit():
                    raise BadInput(f"{file} has no query, document and grade in line {n}")
                if int(row[2]) > 0:
                    judged.setdefault(row[0], []).append(row[1])
    for file, item in read_objects([file for file in files if file not in tables]):
        name, text = str(item.get("_id", "")), required_text(item, "text", file)
        if "title" in item:
            # Keyed by id, which the judgements refer to, so that equal abstracts stay two documents.
            builder.documents[name, ""] = {"id": name, "title": item["title"] or name, "text": text}
        elif name in judged:
            builder.add_question(name, text, evidence=judged[name])
