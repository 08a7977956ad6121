"""Readers of public data sets in the forms in which they were published."""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from polygraph.errors import BadInput

MAX_BYTES = 2_000_000_000
"""Of one file, unpacked."""


@dataclass
class Collected:
    """Documents and questions as they are read."""

    documents: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    """By title and text, in the order in which they were met."""
    questions: list[dict[str, Any]] = field(default_factory=list)
    document_ids: dict[str, int] = field(default_factory=dict)
    """How often each id was asked for."""
    question_ids: dict[str, int] = field(default_factory=dict)

    def document(self, title: str, text: str, *, id: str = "", **more: Any) -> str:
        """Take in a document, each only once; return its id."""
        key = (title, text)
        if key not in self.documents:
            name = _free(id or f"p{len(self.documents) + 1:06d}", self.document_ids)
            self.documents[key] = {"id": name, "title": title, "text": text, **more}
        return str(self.documents[key]["id"])

    def question(self, id: str, question: str, **more: Any) -> None:
        """Take in a question; of equal ids the later gets a number."""
        name = _free(id or f"q{len(self.questions) + 1}", self.question_ids)
        self.questions.append(
            {"id": name, "question": question, **{k: v for k, v in more.items() if v is not None}}
        )


def _free(name: str, taken: dict[str, int]) -> str:
    """The name, with a number if it is taken."""
    n = taken.get(name, 0) + 1
    found = name if n == 1 else f"{name}-{n}"
    while n > 1 and found in taken:
        n += 1
        found = f"{name}-{n}"
    taken[name] = n
    taken[found] = max(taken.get(found, 0), 1)
    return found


Reader: TypeAlias = Callable[[Sequence[Path], Collected], None]


def hotpotqa(files: Sequence[Path], into: Collected) -> None:
    """HotpotQA (distractor) and 2WikiMultihopQA: paragraphs are lists of sentences, gold ones named by title."""
    for file, item in _items(files):
        gold = {title for title, _ in _of(item, "supporting_facts", list, file)}
        ids: dict[str, str] = {}
        for title, sentences in _of(item, "context", list, file):
            ids[title] = into.document(str(title), "".join(map(str, sentences)).strip())
        missing = sorted(map(str, gold - ids.keys()))
        into.question(
            str(item.get("_id") or item.get("id") or ""),
            _text(item, "question", file),
            answer=item.get("answer"),
            type=item.get("type"),
            evidence=[i for title, i in ids.items() if title in gold],
            evidence_complete=False if missing else None,
        )


def musique(files: Sequence[Path], into: Collected) -> None:
    """MuSiQue: paragraphs with a flag; a question that is not answerable is null."""
    for file, item in _items(files):
        evidence = []
        for paragraph in _of(item, "paragraphs", list, file):
            i = into.document(str(paragraph.get("title", "")), _text(paragraph, "paragraph_text", file))
            if paragraph.get("is_supporting"):
                evidence.append(i)
        answerable = item.get("answerable", True)
        name = str(item.get("id", ""))
        into.question(
            name,
            _text(item, "question", file),
            answer=[item.get("answer", ""), *item.get("answer_aliases", [])] if answerable else None,
            # "2hop__153573_109006": the kind stands before the numbers.
            type=name.partition("__")[0] or None,
            evidence=list(dict.fromkeys(evidence)) if answerable else [],
            null=None if answerable else True,
        )


def multihop_rag(files: Sequence[Path], into: Collected) -> None:
    """MultiHop-RAG: articles and questions in two files; evidence by the article's title and a fact."""
    items = list(_items(files))
    articles = [(file, item) for file, item in items if "body" in item]
    asked = [(file, item) for file, item in items if "query" in item]
    if not articles or not asked:
        raise BadInput("articles (with a body) and questions (with a query) are both needed")
    ids: dict[str, str] = {}
    for file, item in articles:
        title = _text(item, "title", file)
        more = {k: item[k] for k in ("source", "author", "category", "published_at", "url") if item.get(k)}
        ids[title] = into.document(title, _text(item, "body", file), **more)
    for file, item in asked:
        listed = _of(item, "evidence_list", list, file)
        titles = list(dict.fromkeys(str(e.get("title", "")) for e in listed))
        null = item.get("question_type") == "null_query"
        into.question(
            "",
            _text(item, "query", file),
            answer=item.get("answer"),
            type=item.get("question_type"),
            evidence=[ids[t] for t in titles if t in ids],
            evidence_complete=None if null or all(t in ids for t in titles) else False,
            facts=[{"fact": e["fact"], "title": e.get("title", "")} for e in listed if e.get("fact")],
            null=True if null else None,
        )


def dpr(files: Sequence[Path], into: Collected) -> None:
    """Natural Questions by DPR: each positive passage is enough; negatives belong to the corpus, too."""
    for file, item in _items(files):
        positive = _of(item, "positive_ctxs", list, file)
        evidence = [into.document(str(c.get("title", "")), _text(c, "text", file)) for c in positive]
        for c in (*item.get("negative_ctxs", []), *item.get("hard_negative_ctxs", [])):
            into.document(str(c.get("title", "")), _text(c, "text", file))
        into.question(
            "",
            _text(item, "question", file),
            answer=_of(item, "answers", list, file),
            evidence=list(dict.fromkeys(evidence)),
            evidence_rule="any",
        )


def popqa(files: Sequence[Path], into: Collected) -> None:
    """PopQA: a table whose answers are a JSON list; there are no passages."""
    for file in files:
        with _opened(file) as lines:
            for n, row in enumerate(csv.DictReader(lines, delimiter="\t"), 2):
                if not row.get("question") or not row.get("possible_answers"):
                    raise BadInput(f"{file} has no question and possible_answers in line {n}")
                try:
                    answers = json.loads(row["possible_answers"])
                except ValueError as problem:
                    raise BadInput(f"{file} has possible_answers that are not JSON in line {n}") from problem
                into.question(str(row.get("id") or ""), row["question"], answer=answers, type=row.get("prop"))


def qmsum(files: Sequence[Path], into: Collected) -> None:
    """QMSum: a meeting is one document of a line for each turn; spans are numbers of turns, both ends included."""
    for n, (file, item) in enumerate(_items(files), 1):
        name = (
            file.name.partition(".")[0] if file.name.endswith((".json", ".json.gz")) else f"meeting-{n:03d}"
        )
        turns = [
            f"{t.get('speaker', '')}: {t.get('content', '')}"
            for t in _of(item, "meeting_transcripts", list, file)
        ]
        starts = [0]
        for turn in turns:
            starts.append(starts[-1] + len(turn) + 1)
        meeting = into.document(name, "\n".join(turns), id=name)
        for kind in ("general", "specific"):
            for asked in item.get(f"{kind}_query_list", []):
                passages = [
                    {"document": meeting, "start": starts[int(a)], "end": starts[int(b) + 1] - 1}
                    for a, b in asked.get("relevant_text_span", [])
                    if 0 <= int(a) <= int(b) < len(turns)
                ]
                into.question(
                    f"{meeting}-{kind[0]}",
                    _text(asked, "query", file),
                    references=[_text(asked, "answer", file)],
                    type=kind,
                    evidence=[meeting],
                    passages=passages or None,
                )


def squality(files: Sequence[Path], into: Collected) -> None:
    """SQuALITY: a story with five questions, four summaries each; question 1 asks for the plot."""
    for file, item in _items(files):
        name = str(_of(item, "metadata", dict, file).get("passage_id", ""))
        story = into.document(name, _text(item, "document", file), id=name)
        for asked in _of(item, "questions", list, file):
            number = str(asked.get("question_number", ""))
            into.question(
                f"{story}-{number}",
                _text(asked, "question_text", file),
                references=[_text(r, "response_text", file) for r in _of(asked, "responses", list, file)],
                type="overview" if number == "1" else "specific",
                evidence=[story],
            )


def ultradomain(files: Sequence[Path], into: Collected) -> None:
    """UltraDomain: a long text with a question a line; many questions share a text."""
    for file, item in _items(files):
        text = _text(item, "context", file)
        book = into.document(" ".join(text.split()[:8]), text)
        into.question(
            str(item.get("_id") or ""),
            _text(item, "input", file),
            answer=item.get("answers"),
            type=item.get("label") or item.get("dataset"),
            evidence=[book],
        )


def beir(files: Sequence[Path], into: Collected) -> None:
    """BEIR: corpus, queries, and a table of query, document and grade; grades above 0 are gold."""
    tables = [file for file in files if file.name.endswith((".tsv", ".tsv.gz"))]
    if not tables:
        raise BadInput("no .tsv of relevance judgements was named")
    judged: dict[str, list[str]] = {}
    for file in tables:
        with _opened(file) as lines:
            for n, row in enumerate(csv.reader(lines, delimiter="\t"), 1):
                if n == 1 and row[:1] == ["query-id"]:
                    continue
                if len(row) != 3 or not row[2].strip().lstrip("-").isdigit():
                    raise BadInput(f"{file} has no query, document and grade in line {n}")
                if int(row[2]) > 0:
                    judged.setdefault(row[0], []).append(row[1])
    for file, item in _items([file for file in files if file not in tables]):
        name, text = str(item.get("_id", "")), _text(item, "text", file)
        if "title" in item:
            # Ids are those of the judgements, so that equal abstracts stay two documents.
            into.documents[name, ""] = {"id": name, "title": item["title"] or name, "text": text}
        elif name in judged:
            into.question(name, text, evidence=judged[name])


# --- parts ------------------------------------------------------------------------------------------------


def _items(files: Sequence[Path]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Objects of files: lists of them, one alone, or one a line."""
    for file in files:
        with _opened(file) as lines:
            for value in _values(file, lines):
                if not isinstance(value, dict):
                    raise BadInput(f"{file} holds something else than objects")
                yield file, value


def _values(file: Path, lines: Iterator[str]) -> Iterator[Any]:
    if file.name.endswith((".jsonl", ".jsonl.gz")):
        for n, line in enumerate(lines, 1):
            if line.strip():
                yield _parse(line, file, n)
        return
    whole = _parse("".join(lines), file, 1)
    yield from whole if isinstance(whole, list) else [whole]


def _parse(text: str, file: Path, line: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise BadInput(f"{file} is not JSON, line {line}") from problem


@contextmanager
def _opened(file: Path) -> Iterator[Iterator[str]]:
    """Lines of a text file, packed or not, as far as `MAX_BYTES`."""
    try:
        with file.open("rb") as raw:
            plain = gzip.GzipFile(fileobj=raw) if file.name.endswith(".gz") else raw
            with io.TextIOWrapper(plain, encoding="utf-8-sig", newline="") as text:
                yield _lines(file, text)
    except UnicodeDecodeError as problem:
        raise BadInput(f"{file} is not UTF-8") from problem
    except (OSError, EOFError, zlib.error) as problem:
        raise BadInput(f"{file} cannot be read: {problem}") from problem


def _lines(file: Path, text: io.TextIOWrapper) -> Iterator[str]:
    left = MAX_BYTES
    # A line may be as long as the file.
    while line := text.readline(left + 1):
        left -= len(line)
        if left < 0:
            raise BadInput(f"{file} is larger than {MAX_BYTES:,} characters; split it")
        yield line


def _of(item: dict[str, Any], name: str, kind: type, file: Path) -> Any:
    value = item.get(name)
    if not isinstance(value, kind):
        raise BadInput(f"{file} has an item without {name!r}")
    return value


def _text(item: dict[str, Any], name: str, file: Path) -> str:
    value = item.get(name) if isinstance(item, dict) else None
    if not isinstance(value, str) or not value.strip():
        raise BadInput(f"{file} has an item without {name!r}")
    return value
