"""Malformed input for every place that reads what somebody else wrote: seeded, so that a fault can be repeated.

    python benchmarks/fuzz.py [--inputs 100000] [--seed 0] [--kinds loaders,replies] [--processes 2]

An input is a valid one with a few mutations, or none. It passes if it is read, or refused with an error of ours that
says why, within 10 s of processor time and 500 MB of additional memory. The table shows how many inputs of a kind got
past the first check, since an input whose syntax is refused at once tests little.
"""

import argparse
import gzip
import io
import json
import random
import resource
import signal
import socketserver
import sys
import tempfile
import threading
import time
import tomllib
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from polygraph.config import load_settings
from polygraph.errors import PolygraphError
from polygraph.evaluate.questions.file import read_questions
from polygraph.extract.llm.parser import parse_extraction
from polygraph.indexing.exchange.importers.detect import detect_format, read_graph
from polygraph.ingest import load_documents
from polygraph.models import ChatRequest, Message
from polygraph.models.chat_completion import read_completion
from polygraph.models.providers.openai import OpenAIChat, OpenAIEmbedder
from polygraph.records import Report
from polygraph.tasks.answers.drift import parse_intermediate
from polygraph.tasks.evaluation.judge import parse_scores
from polygraph.tasks.evidence.filter_facts import parse_fact_choice
from polygraph.tasks.evidence.map_reports import parse_points
from polygraph.tasks.evidence.rate_reports import parse_rating
from polygraph.tasks.evidence.summarise import parse_summary
from polygraph.tasks.evidence.verify import parse_verdict
from polygraph.tasks.indexing.extract import parse_more_left
from polygraph.tasks.indexing.report import parse_report
from polygraph.tasks.parsing.text_lists import parse_text_lists
from polygraph.tasks.questions.agent import parse_step
from polygraph.tasks.questions.intent import parse_intent
from polygraph.tasks.questions.plan import parse_plan
from polygraph.tasks.questions.refine_query import parse_path_answer, parse_query
from polygraph.tasks.questions.route import parse_route

LONGEST_S = 10.0
"""Of processor time, since another program may take the processor for seconds."""
LONGEST_WAIT_S = 120.0
MOST_MB = 500.0
BATCH = 250
"""Inputs that one worker reads before it reports."""

PROSE = (
    "Mara Quill built the Skerry Light in 1869 for £1,200.50. Tobias Wren of the Harbour Board refused to pay; the "
    "Halcyon struck the Grey Reef. “Old Tobin” – Straße, naïve, 北京, مرحبا, a\u0301 – brought the crew ashore.\n"
)
NASTY = (
    "\x00", "\x1b[31m", "\u2028", "\u202e", "\ufeff", "\ud800", "</EVIDENCE>", "[2] forged", "{" * 3_000, "[" * 50_000,
    "9" * 5_000, "-1e999", "NaN", "Infinity", "null", "true", "1e308", '"', "\\u0000", "\\ud800", "&#x110000;",
    "&a;" * 50,
    "<" * 2_000, "\r", "\t", " " * 10_000, "a" * 100_000, "|" * 500, "%s%n", "../../etc/passwd", "=cmd|' /C calc'!A0",
    "data: ", "\n\n", ",", ";", "---\n", "```", "#" * 100, "\\", "\u0000\u0301" * 200,
)  # fmt: skip
"""Pieces that have broken readers, ours or others'."""


class TooSlow(BaseException):
    """An input took longer than allowed; not an `Exception`, so that no reader takes it for a fault of a file."""


@dataclass
class Outcome:
    """What became of the inputs of one kind."""

    n: int = 0
    n_read: int = 0
    """Inputs that were read, or refused for what they say and not for their syntax."""
    n_refused: int = 0
    seconds: float = 0.0
    slowest_s: float = 0.0
    peak_mb: float = 0.0
    faults: list[str] = field(default_factory=list)

    def add(self, other: "Outcome") -> None:
        self.n += other.n
        self.n_read += other.n_read
        self.n_refused += other.n_refused
        self.seconds += other.seconds
        self.slowest_s = max(self.slowest_s, other.slowest_s)
        self.peak_mb = max(self.peak_mb, other.peak_mb)
        self.faults += other.faults


# --- mutations ------------------------------------------------------------------------------------------


def mutate(text: str, chance: random.Random, most: int = 4) -> str:
    """Apply up to `most` mutations; one text in four stays as it is."""
    for _ in range(min(most, chance.choice((0, 1, 2, most)))):
        at = chance.randrange(len(text) + 1)
        end = min(len(text), at + chance.choice((1, 1, 3, 20, 200)))
        action = chance.randrange(6)
        if action == 0:
            text = text[:at] + text[end:]
        elif action == 1:
            text = text[:at] + chance.choice(NASTY) + text[at:]
        elif action == 2:
            text = text[:end] + text[at:end] * chance.choice((1, 2, 50)) + text[end:]
        elif action == 3:
            text = text[:at] + chance.choice(NASTY) + text[end:]
        elif action == 4 and at > len(text) // 2:
            text = text[:at]
        else:
            other = chance.randrange(len(text) + 1)
            text = text[:at] + text[other : other + end - at] + text[end:]
    return text


def mutate_bytes(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((0, 1, 2, 8))):
        if not changed:
            break
        at = chance.randrange(len(changed))
        if chance.random() < 0.6:
            changed[at] = chance.randrange(256)
        elif chance.random() < 0.5:
            del changed[at : at + chance.choice((1, 10, 1000))]
        else:
            changed[at:at] = bytes(chance.randrange(256) for _ in range(chance.choice((1, 10, 1000))))
    return bytes(changed)


def mutate_zip(data: bytes, chance: random.Random) -> bytes:
    """Change the parts inside an archive and pack it again, so that it can still be opened."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        names = old.namelist()
        chosen = set(chance.sample(names, min(len(names), chance.choice((1, 2, 3)))))
        for name in names:
            part = old.read(name)
            if name in chosen:
                part = mutate(part.decode("utf-8", "replace"), chance).encode("utf-8", "replace")
            new.writestr(name, part)
    return packed.getvalue()


def mutate_json(value: Any, chance: random.Random) -> Any:
    """Put a value of another type somewhere into a JSON value, which stays JSON."""
    odd: tuple[Any, ...] = (
        None,
        True,
        -1,
        0,
        10**30,
        1e308,
        float("nan"),
        "",
        "x" * 1000,
        [],
        {},
        [[]],
        {"a": {}},
        "\ud800",
        PROSE,
    )
    if chance.random() < 0.15:
        return chance.choice(odd)
    if isinstance(value, dict) and value:
        key = chance.choice(list(value))
        changed = {**value, key: mutate_json(value[key], chance)}
        if chance.random() < 0.2:
            del changed[key]
        return changed
    if isinstance(value, list) and value:
        at = chance.randrange(len(value))
        return [*value[:at], mutate_json(value[at], chance), *value[at + 1 :]]
    return chance.choice(odd)


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def all_json(text: str) -> bool:
    """Tell whether a text is JSON or JSON Lines, so that a reader gets past the syntax."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        try:
            return all(isinstance(json.loads(line), dict) for line in text.splitlines())
        except (ValueError, RecursionError):
            return False
    return True


# --- loaders --------------------------------------------------------------------------------------------

TABLE = "id,title,text,year\n" + "".join(f'{n},"Ship {n}","{PROSE.strip()}",{1860 + n}\n' for n in range(6))
RECORDS = [
    {"id": f"d{n}", "title": f"Ship {n}", "text": PROSE, "year": 1860 + n, "tags": ["a", {"b": n}]}
    for n in range(5)
]
PAGE = (
    "<!doctype html><html lang=en><head><meta charset=utf-8><title>Log &amp; register</title><style>p{}</style>"
    "</head><body>"
    f"<h1>Log</h1><p>{PROSE}</p><table><tr><th>Ship</th><th>Year</th></tr><tr><td>Halcyon</td><td>1869</td></tr></table>"
    "<ul><li>one<li>two</ul><script>alert(1)</script><pre>code</pre></body></html>"
)
TEXTS = {
    "txt": PROSE * 3,
    "md": f"---\ntitle: Log\nyear: 1869\n---\n# Log\n\n{PROSE}\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode\n```\n",
    "rst": f"Log\n===\n\n{PROSE}\n\n.. note:: {PROSE}",
    "html": PAGE,
    "csv": TABLE,
    "tsv": TABLE.replace(",", "\t"),
    "json": json.dumps(RECORDS),
    "jsonl": "\n".join(map(json.dumps, RECORDS)),
    "eml": (
        "From: Mara <m@x.org>\nTo: Tobin\nSubject: =?utf-8?q?Oil?=\nMIME-Version: 1.0\n"
        f"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain; charset=utf-8\n\n{PROSE}\n"
        f"--b\nContent-Type: text/html\n\n{PAGE}\n--b\nContent-Type: message/rfc822\n\nFrom: a\n\n{PROSE}\n--b--\n"
    ),
    "mbox": "".join(
        f"From a@b Mon Nov 14 10:00:00 1881\nMessage-ID: <{n}@x>\nFrom: Mara\nSubject: Oil\n\n{PROSE}\n"
        for n in range(4)
    ),
    "ipynb": json.dumps(
        {
            "cells": [
                {"cell_type": "markdown", "source": ["# Oil\n", PROSE]},
                {
                    "cell_type": "code",
                    "source": "print(1)",
                    "outputs": [{"text": [PROSE], "data": {"text/plain": "1"}}],
                },
            ],
            "metadata": {"language_info": {"name": "python"}},
        }
    ),
    "rtf": (
        "{\\rtf1\\ansi\\ansicpg1252{\\fonttbl{\\f0 Arial;}}{\\info{\\title Log}}\\f0 Caf\\'e9 \\u8364? "
        f"{{\\*\\x y}}\\b Oil\\b0\\par\\trowd A\\cell B\\cell\\row {PROSE}}}"
    ),
    "py": f"def build():\n    return 1  # {PROSE}",
    "yaml": f"lamp:\n  - oil: {PROSE}",
}


def office_files() -> dict[str, bytes]:
    """One small file of each format that a library reads; those whose library is missing are left out."""
    files: dict[str, bytes] = {}
    with suppress(ImportError):
        import docx

        document, out = docx.Document(), io.BytesIO()
        document.add_heading("Log")
        document.add_paragraph(PROSE.replace("\u0301", ""))
        document.add_table(2, 2).cell(0, 0).text = "Ship"
        document.save(out)
        files["docx"] = out.getvalue()
    with suppress(ImportError):
        import openpyxl  # type: ignore[import-untyped, unused-ignore]

        book, out = openpyxl.Workbook(), io.BytesIO()
        for row in (("Ship", "Year"), ("Halcyon", 1869)):
            book.active.append(row)
        book.save(out)
        files["xlsx"] = out.getvalue()
    with suppress(ImportError):
        import pptx

        slides, out = pptx.Presentation(), io.BytesIO()
        slides.slides.add_slide(slides.slide_layouts[0]).shapes.title.text = "Halcyon"
        slides.save(out)
        files["pptx"] = out.getvalue()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as book:
        book.writestr(
            "META-INF/container.xml",
            '<container><rootfiles><rootfile full-path="o.opf"/></rootfiles></container>',
        )
        book.writestr(
            "o.opf",
            '<package><metadata><title>Log</title></metadata><manifest><item id="a" href="a.xhtml" '
            'media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>',
        )
        book.writestr("a.xhtml", PAGE)
    files["epub"] = out.getvalue()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as text:
        text.writestr(
            "content.xml",
            f'<office:text><text:h text:outline-level="2">Log</text:h><text:p>{PROSE}<text:s text:c="3"/></text:p>'
            "<text:list><text:list-item><text:p>oil</text:p></text:list-item></text:list><table:table><table:table-row>"
            '<table:table-cell table:number-columns-repeated="2"><text:p>Ship</text:p></table:table-cell>'
            "</table:table-row></table:table></office:text>",
        )
        text.writestr("meta.xml", "<dc:title>Log</dc:title><dc:creator>Vane</dc:creator>")
    files["odt"] = out.getvalue()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as folder:
        for kind, part in TEXTS.items():
            folder.writestr(f"a/file.{kind}", part.encode("utf-8", "replace"))
    files["zip"] = out.getvalue()
    files["pdf"] = pdf()
    return files


def pdf() -> bytes:
    """Return a PDF of one page, written by hand."""
    content = b"BT /F1 12 Tf 72 720 Td (The Halcyon struck the Grey Reef.) Tj ET"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, offsets = b"%PDF-1.4\n", []
    for n, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (n, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return out + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start)


class Loaders:
    """Files of every format: ours as text, foreign ones as bytes and with changed parts."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._office = folder, office_files()

    def __call__(self, chance: random.Random) -> bool:
        if chance.random() < 0.12:
            kind = chance.choice(sorted(self._office))
            data = self._office[kind]
            whole = kind == "pdf" or chance.random() < 0.3
            data = mutate_bytes(data, chance) if whole else mutate_zip(data, chance)
        else:
            kind = chance.choice(sorted(TEXTS))
            text = TEXTS[kind]
            if kind in {"json", "jsonl", "ipynb"} and chance.random() < 0.5:
                text = json.dumps(mutate_json(RECORDS[0] if kind == "jsonl" else json.loads(text), chance))
            else:
                text = mutate(text, chance)
            data = encode(text)
            if chance.random() < 0.1:
                data = mutate_bytes(data, chance)
            if chance.random() < 0.05:
                data, kind = gzip.compress(data), f"{kind}.gz"
        path = self._folder / f"file.{kind}"
        path.write_bytes(data)
        loaded = load_documents([path], max_bytes=50_000_000)
        own = kind.removesuffix(".gz") in TEXTS
        for each in loaded.unread:
            if own and "cannot be read as" in each.reason:
                raise AssertionError(each.reason)
        return bool(loaded.documents)


# --- replies of models ----------------------------------------------------------------------------------

RECORD_LINES = (
    "entity | Mara Quill | person | Keeps the light since 1869.\nentity | Halcyon | ship | A barque.\n"
    "relation | Mara Quill | Halcyon | saved | rescue; sea | 8 | She saved its crew.\nEND"
)
RECORD_JSON = {
    "entities": [{"name": "Mara Quill", "type": "person", "description": "Keeps the light."}],
    "relations": [
        {
            "source": "Mara Quill",
            "target": "Halcyon",
            "predicate": "saved",
            "keywords": ["sea"],
            "strength": 8,
            "description": "x",
        }
    ],
}
REPORT = Report(
    community="c0", level=0, title="Light", summary="The light.", findings=(), rating=5.0, chunks=(), weight=1.0,
    written_by="model",
)  # fmt: skip
PARSERS: Sequence[tuple[Any, Callable[[str], object]]] = (
    (
        {"title": "t", "summary": "s", "rating": 7, "findings": [{"summary": "a", "explanation": "b"}]},
        parse_report,
    ),
    (
        {"points": [{"description": "Built in 1869 [1].", "score": 80}]},
        lambda text: parse_points(text, [REPORT]),
    ),
    (
        {"entities": ["Mara Quill"], "themes": ["light"]},
        lambda text: parse_text_lists(text, ["entities", "themes"], most=20),
    ),
    (
        {"comprehensiveness": [3, 4]},
        lambda text: parse_scores(text, ["comprehensiveness"], 2),
    ),
    ({"facts": [1, 2]}, lambda text: parse_fact_choice(text, ["a b c", "d e f"])),
    ({"steps": [{"question": "Who?", "operator": "get_spo", "object": "Alder Mill"}]}, parse_plan),
    ("QUESTION", parse_intent),
    (
        {"answer": "x [1]", "score": 50, "follow_up": ["why?"]},
        lambda text: parse_intermediate(text, ["why?"]),
    ),
    ({"summary": "x", "used": [1]}, lambda text: parse_summary(text, ["a note"])),
    ({"thought": "who?", "actions": [{"tool": "RetrieveNode", "argument": "Mara"}]}, parse_step),
    ("rating: 4", parse_rating),
    ("reasoning", parse_route),
    ("yes, supported", parse_verdict),
    ("YES", parse_more_left),
    ({"short": "1869", "answer": "In 1869 [1]."}, parse_path_answer),
    ({"query": "who built it?"}, parse_query),
)


class Replies:
    """Replies to extraction, of both notations."""

    def __init__(self, folder: Path) -> None:
        del folder

    def __call__(self, chance: random.Random) -> bool:
        form = chance.randrange(3)
        if form == 0:
            text = mutate(RECORD_LINES * chance.choice((1, 1, 20)), chance)
        elif form == 1:
            text = json.dumps(mutate_json(RECORD_JSON, chance))
        else:
            text = mutate(json.dumps(RECORD_JSON), chance)
        return bool(parse_extraction(text, window=PROSE, max_records=200).entities)


class Tasks:
    """Replies to every other task."""

    def __init__(self, folder: Path) -> None:
        del folder

    def __call__(self, chance: random.Random) -> bool:
        base, parse = chance.choice(PARSERS)
        if isinstance(base, str):
            text = mutate(base, chance, most=1)
        elif chance.random() < 0.5:
            text = json.dumps(mutate_json(base, chance))
        else:
            text = mutate(json.dumps(base), chance)
        parse(text)
        return True


# --- endpoints ------------------------------------------------------------------------------------------

COMPLETION = {
    "id": "x",
    "object": "chat.completion",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "In 1869 [1]."}}
    ],
    "usage": {"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19},
}
EVENTS = (
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "In "}, "finish_reason": None}]},
    {"choices": [{"index": 0, "delta": {"content": "1869."}, "finish_reason": None}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 7}},
)
VECTORS = {
    "data": [{"index": 0, "embedding": [0.1, 0.2]}, {"index": 1, "embedding": [0.3, 0.4]}],
    "usage": {"prompt_tokens": 4},
}


KEY = "sk-secret-key"


class _Endpoint(socketserver.ThreadingTCPServer):
    """Answers every request with the body that was put into `body`, and closes the connection."""

    allow_reuse_address = daemon_threads = True
    body = b""
    kind = "application/json"
    status = "200 OK"

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        size = 0
        while (line := self.rfile.readline()) not in {b"\r\n", b"\n", b""}:
            if line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
        self.rfile.read(size)
        server = self.server
        assert isinstance(server, _Endpoint)
        head = f"HTTP/1.1 {server.status}\r\ncontent-type: {server.kind}\r\ncontent-length: {len(server.body)}\r\n"
        with suppress(OSError):
            self.wfile.write(head.encode() + b"connection: close\r\n\r\n" + server.body)


class Endpoints:
    """Answers of an endpoint: streams, whole completions, vectors, errors; and lines of batch files."""

    def __init__(self, folder: Path) -> None:
        del folder
        self._server = _Endpoint()
        url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._new = partial(OpenAIChat, "m", base_url=url, api_key=KEY, timeout_s=5.0)
        self._chat = self._new()
        self._embedder = OpenAIEmbedder("m", base_url=url, api_key=KEY, timeout_s=5.0, dimensions=2)
        self._n = 0

    def __call__(self, chance: random.Random) -> bool:
        kind = chance.random()
        request = ChatRequest(messages=(Message("user", "When?"),))
        if kind < 0.4:
            body = mutate_json(COMPLETION, chance)
            if isinstance(body, dict):
                read_completion(body, 10)
            return True
        server = self._server
        server.status, server.kind = "200 OK", "application/json"
        if kind < 0.5:
            server.body = encode(json.dumps(mutate_json(VECTORS, chance)))
            return bool(len(self._embedder.embed(["a", "b"], "document")))
        if kind < 0.6:
            server.status = chance.choice(
                ("400 Bad", "401 No", "404 No", "422 No", "429 Wait", "500 Oh", "302 Found")
            )
            server.body = encode(
                mutate(json.dumps({"error": {"message": "no " + KEY + "", "type": "x"}}), chance)
            )
        else:
            server.kind = "text/event-stream"
            events: list[Any] = list(EVENTS)
            if chance.random() < 0.6:
                at = chance.randrange(len(events))
                events[at] = mutate_json(events[at], chance)
                lines = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
            else:
                lines = mutate("".join(f"data: {json.dumps(event)}\n\n" for event in events), chance)
            server.body = encode(lines)
        self._n += 1
        if self._n % 50 == 0 or server.status != "200 OK":
            self._chat = self._new()
        try:
            reply = self._chat.chat(request)
        except PolygraphError as error:
            if KEY in str(error):
                raise AssertionError("the key is in the error") from error
            raise
        for n_tokens in (reply.prompt_tokens, reply.completion_tokens):
            if not 0 <= n_tokens < 10_000:
                raise AssertionError(f"implausible number of tokens is believed: {str(n_tokens)[:20]}")
        reply.text.encode("utf-8")  # a lone surrogate could not be stored
        return True


# --- imports, configuration, questions ------------------------------------------------------------------

ENTITIES_CSV = "id,name,type,description\n0,Mara Quill,person,keeper\n1,Halcyon,ship,a barque\n"
RELATIONS_CSV = "source,target,predicate,description,weight\nMara Quill,Halcyon,saved,She saved it,2\n"
GRAPHML = (
    '<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    '<key id="d0" for="node" attr.name="entity_type"/>'
    '<key id="d1" for="node" attr.name="description"/><key id="d2" for="edge" attr.name="weight"/>'
    '<graph edgedefault="undirected">'
    '<node id="MARA QUILL"><data key="d0">person</data><data key="d1">keeper</data></node><node id="HALCYON"/>'
    '<edge source="MARA QUILL" target="HALCYON"><data key="d2">1.0</data></edge></graph></graphml>'
)
OPENIE = {
    "docs": [
        {
            "idx": "chunk-1",
            "passage": "Light\nMara Quill built the Skerry Light.",
            "extracted_entities": ["Mara Quill", "Skerry Light"],
            "extracted_triples": [["Mara Quill", "built", "Skerry Light"]],
        }
    ]
}


class Imports:
    """Graphs of other programs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "graph"

    def __call__(self, chance: random.Random) -> bool:
        folder = self._folder
        folder.mkdir(exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        form = chance.choice(("csv", "lightrag", "openie"))
        if form == "csv":
            tables = {"entities.csv": ENTITIES_CSV, "relations.csv": RELATIONS_CSV}
            changed = chance.choice(sorted(tables))
            tables[changed] = mutate(tables[changed], chance)
            for name, text in tables.items():
                (folder / name).write_bytes(encode(text))
        elif form == "lightrag":
            (folder / "graph_chunk_entity_relation.graphml").write_bytes(encode(mutate(GRAPHML, chance)))
            chunks: Any = {
                "c1": {"content": PROSE, "full_doc_id": "d1", "chunk_order_index": 0, "tokens": 20}
            }
            (folder / "kv_store_text_chunks.json").write_bytes(
                encode(json.dumps(mutate_json(chunks, chance)))
            )
            docs: Any = {"d1": {"content": PROSE}}
            (folder / "kv_store_full_docs.json").write_bytes(encode(mutate(json.dumps(docs), chance)))
        else:
            value = mutate_json(OPENIE, chance) if chance.random() < 0.6 else OPENIE
            text = json.dumps(value)
            (folder / "openie_results.json").write_bytes(
                encode(mutate(text, chance) if value is OPENIE else text)
            )
        self.parses = form == "csv" or all(
            all_json(file.read_text("utf-8", "replace")) for file in folder.glob("*.json")
        )
        place = folder / "openie_results.json" if form == "openie" else folder
        return bool(read_graph(place, detect_format(place, form)).entities)


SETTINGS = (
    'chat_model = "small"\nbase_url = "http://localhost:1/v1"\ntimeout_s = 30.5\nconcurrency = 4\nchunk_tokens = 200\n'
    'entity_types = ["person", "place"]\noffline = false\n\n[prices.small]\ninput = 0.1\noutput = 0.2\n'
)


class Configuration:
    """Settings files and environment variables."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "settings"
        self._folder.mkdir(exist_ok=True)

    def __call__(self, chance: random.Random) -> bool:
        text = SETTINGS
        if chance.random() < 0.5:
            lines = text.splitlines()
            at = chance.randrange(len(lines))
            lines[at] = mutate(lines[at], chance, most=1)
            text = "\n".join(lines)
        else:
            text = mutate(text, chance, most=1)
        self.parses = False
        with suppress(ValueError, RecursionError):
            self.parses = bool(tomllib.loads(text)) and bool(text.encode())
        (self._folder / "polygraph.toml").write_bytes(encode(text))
        environ = {"POLYGRAPH_CONFIG": str(self._folder / "polygraph.toml")} if chance.random() < 0.5 else {}
        if chance.random() < 0.3:
            environ["POLYGRAPH_CONCURRENCY"] = mutate("8", chance, most=1).replace("\x00", "")
        load_settings(environ=environ, folder=self._folder)
        return True


QUESTIONS = [
    {
        "id": f"q{n}",
        "question": "When was the light built?",
        "answer": ["1869"],
        "evidence": ["d1", "d2"],
        "type": "fact",
    }
    for n in range(3)
]


class Questions:
    """Files of questions with gold answers."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "questions.jsonl"

    def __call__(self, chance: random.Random) -> bool:
        if chance.random() < 0.5:
            at = chance.randrange(len(QUESTIONS))
            listed = [mutate_json(q, chance) if n == at else q for n, q in enumerate(QUESTIONS)]
            text = "\n".join(map(json.dumps, listed))
        else:
            text = mutate("\n".join(map(json.dumps, QUESTIONS)), chance)
        self.parses = all_json(text)
        self._path.write_bytes(encode(text))
        return bool(read_questions(self._path))


KINDS: dict[str, tuple[Callable[[Path], Callable[[random.Random], bool]], float]] = {
    "loaders": (Loaders, 0.30),
    "replies": (Replies, 0.20),
    "tasks": (Tasks, 0.18),
    "endpoints": (Endpoints, 0.12),
    "imports": (Imports, 0.07),
    "configuration": (Configuration, 0.06),
    "questions": (Questions, 0.07),
}
"""Reader and share of all inputs."""


# --- running --------------------------------------------------------------------------------------------


def _memory_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 2**20)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return peak


def _stop(*_: object) -> None:
    raise TooSlow


def run(kind: str, seed: int, begin: int, end: int) -> Outcome:
    """Read some inputs of a kind in this process."""
    outcome = Outcome()
    signal.signal(signal.SIGALRM, _stop)
    signal.signal(signal.SIGPROF, _stop)
    with tempfile.TemporaryDirectory() as folder:
        read = KINDS[kind][0](Path(folder))
        for n in range(begin, end):
            before, started = _memory_mb(), time.process_time()
            problem = ""
            signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
            signal.setitimer(signal.ITIMER_REAL, LONGEST_WAIT_S)
            try:
                outcome.n_read += read(random.Random(f"{kind} {seed} {n}"))
            except PolygraphError:
                outcome.n_refused += 1
                outcome.n_read += getattr(read, "parses", False)
            except TooSlow:
                problem = f"over {LONGEST_S:g} s of processor time, or {LONGEST_WAIT_S:g} s in all"
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                problem = (
                    f"{type(error).__name__}: {str(error)[:200]} ({Path(where.filename).name}:{where.lineno})"
                )
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
                signal.setitimer(signal.ITIMER_REAL, 0)
            took, more = time.process_time() - started, _memory_mb() - before
            outcome.slowest_s, outcome.peak_mb = max(outcome.slowest_s, took), max(outcome.peak_mb, more)
            outcome.seconds += took
            outcome.n += 1
            if not problem and more > MOST_MB:
                problem = f"{more:.0f} MB"
            if problem:
                outcome.faults.append(f"{kind} {seed} {n}: {problem}")
    return outcome


def parts(n_inputs: int, kinds: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    total = sum(KINDS[kind][1] for kind in kinds)
    for kind in kinds:
        n = round(n_inputs * KINDS[kind][1] / total)
        for begin in range(0, n, BATCH):
            yield kind, begin, min(n, begin + BATCH)


def fuzz(n_inputs: int, seed: int, kinds: Sequence[str], processes: int) -> dict[str, Outcome]:
    """Read `n_inputs` inputs, shared out over kinds, and return what became of them."""
    outcomes = {kind: Outcome() for kind in kinds}
    with ProcessPoolExecutor(processes) as pool:
        running = [
            (kind, pool.submit(run, kind, seed, begin, end)) for kind, begin, end in parts(n_inputs, kinds)
        ]
        for kind, each in running:
            outcomes[kind].add(each.result())
    return outcomes


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--inputs", type=int, default=100_000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--kinds", default=",".join(KINDS))
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--repeat", help="one input, as a fault is listed: KIND SEED N")
    given = options.parse_args()
    if given.repeat:
        kind, seed, n = given.repeat.split()
        with tempfile.TemporaryDirectory() as folder:
            print(KINDS[kind][0](Path(folder))(random.Random(f"{kind} {int(seed)} {int(n)}")))
        return 0
    outcomes = fuzz(given.inputs, given.seed, given.kinds.split(","), given.processes)
    print(
        "| kind | inputs | past the first check | refused with a reason | faults | slowest s | most MB | ms each |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for kind, o in outcomes.items():
        print(
            f"| {kind} | {o.n:,} | {o.n_read / max(1, o.n):.0%} | {o.n_refused / max(1, o.n):.0%} | {len(o.faults)} "
            f"| {o.slowest_s:.2f} | {o.peak_mb:.0f} | {1000 * o.seconds / max(1, o.n):.1f} |"
        )
    faults = [fault for o in outcomes.values() for fault in o.faults]
    for text, count in Counter(fault.partition(": ")[2] for fault in faults).most_common(30):
        first = next(fault for fault in faults if fault.endswith(text))
        print(f"{count} x {first}")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
