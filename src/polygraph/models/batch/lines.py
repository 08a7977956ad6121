"""Lines of the request and reply files of an OpenAI-compatible batch service; reply files are not trusted."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polygraph.models.chat_completion import describe_error
from polygraph.records import digest

URL = "/v1/chat/completions"
MAX_LINE_BYTES = 16_000_000
"""Longer lines are skipped."""
_PIECE_LINES = 500
_PIECE_BYTES = 32_000_000
_MAX_ID_CHARS = 64
_MAX_PROBLEM_CHARS = 300


def request_line(key: str, body: Mapping[str, Any]) -> bytes:
    r"""Return a request as a line, with its key as the id.

    >>> request_line("k", {"model": "m"})
    b'{"custom_id": "k", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m"}}\n'
    """
    row = {"custom_id": key, "method": "POST", "url": URL, "body": body}
    # ASCII only, so that no character of a document can be mistaken for the end of a line.
    return json.dumps(row).encode() + b"\n"


def listing_path(requests: Path) -> Path:
    """Return the path of the listing of a request file; scripts that send ``requests-*.jsonl`` do not match it.

    >>> listing_path(Path("requests-0001.jsonl")).name
    'listing-0001.jsonl'
    """
    return requests.with_name(requests.name.replace("requests-", "listing-", 1))


def listing_line(key: str, stage: str, method: str, question: str) -> bytes:
    r"""Return what a request is for as a line of a listing.

    >>> listing_line("k", "judge", "", "node-001")
    b'{"key": "k", "stage": "judge", "method": "", "question": "node-001"}\n'
    """
    row = {"key": key, "stage": stage, "method": method, "question": question}
    return json.dumps(row).encode() + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyLine:
    """A line with the reply or the error of one request."""

    key: str
    digest: bytes
    """Identifies the line, so that it counts once."""
    completion: Mapping[str, Any] | None = None
    """Body of the reply; None for an error."""
    status: int = 0
    """HTTP status; 0 if there was no response."""
    problem: str = ""


def reply_line(data: bytes, file: str) -> ReplyLine | None:
    r"""Parse a line; None if it is not a reply line.

    Args:
        data: the line.
        file: name of its file. Equal lines without an id of the service are different lines if their files differ.

    >>> line = reply_line(b'{"custom_id": "k", "response": {"status_code": 200, "body": {"choices": []}}}', "f")
    >>> line.key, line.completion
    ('k', {'choices': []})
    >>> reply_line(b'{"custom_id": "k", "error": {"code": "batch_expired", "message": "too late"}}', "f").problem
    'batch_expired: too late'
    """
    try:
        row = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    key, response, error = row.get("custom_id"), row.get("response"), row.get("error")
    # Half of a surrogate pair, or a zero byte, cannot be looked up in a database.
    if not isinstance(key, str) or not 0 < len(key) <= _MAX_ID_CHARS or not key.isprintable():
        return None
    if not isinstance(response, dict) and not error:
        return None
    name = "" if isinstance(row.get("id"), str) else file
    seen = hashlib.sha256(digest("line", name).encode() + data.strip()).digest()[:16]
    status, body = 0, None
    if isinstance(response, dict):
        reported, body = response.get("status_code", 200), response.get("body")
        status = reported if isinstance(reported, int) and 0 <= reported <= 999 else 0
        if status == 200 and isinstance(body, dict) and not error and "error" not in body:
            return ReplyLine(key=key, digest=seen, completion=body, status=status)
        error = error or (body.get("error") if isinstance(body, dict) else body)
    return ReplyLine(key=key, digest=seen, status=status, problem=_describe(status, error))


def _describe(status: int, error: object) -> str:
    """Return an error as one line of bounded length."""
    text = ": ".join(part for part in (str(status) if status else "", describe_error(error)) if part)
    return text[:_MAX_PROBLEM_CHARS] or "an error without a message"


@dataclass(slots=True)
class ScannedLines:
    """Lines of a part of a file."""

    invalid: int = 0
    """Lines that are not replies or are too long."""
    lines: list[tuple[int, ReplyLine]] = field(default_factory=list)
    """Replies with the position of their first byte."""


def scan(path: Path) -> Iterator[ScannedLines]:
    """Read a reply file, or any other file, in parts of bounded size."""
    found = ScannedLines()
    n = at = n_bytes = 0
    with path.open("rb") as file:
        while data := file.readline(MAX_LINE_BYTES):
            begin, at = at, at + len(data)
            whole = data.endswith(b"\n") or len(data) < MAX_LINE_BYTES
            if not whole:
                while (rest := file.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
                    at += len(rest)
                at += len(rest)
            line = reply_line(data, path.name) if whole and data.strip() else None
            if line is not None:
                found.lines.append((begin, line))
            elif data.strip():
                found.invalid += 1
            n, n_bytes = n + 1, n_bytes + len(data)
            if n == _PIECE_LINES or n_bytes > _PIECE_BYTES:
                yield found
                found, n, n_bytes = ScannedLines(), 0, 0
    yield found


def read_at(path: Path, begin: int) -> ReplyLine | None:
    """Read one line again at its position; None if the file is missing or has changed."""
    try:
        with path.open("rb") as file:
            file.seek(begin)
            return reply_line(file.readline(MAX_LINE_BYTES), path.name)
    except OSError:
        return None
