"""Lines of the files that an OpenAI-compatible batch service takes and gives, of which the latter are not trusted."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polygraph.records import digest

URL = "/v1/chat/completions"
LONGEST_LINE = 16_000_000
"""Bytes of a line that is read; the rest of a longer one is passed over."""
_PIECE_LINES = 500
_PIECE_BYTES = 32_000_000
_LONGEST_ID = 64
_LONGEST_PROBLEM = 300


def request_line(key: str, body: Mapping[str, Any]) -> bytes:
    r"""Write a request as a line, its key as its id.

    >>> request_line("k", {"model": "m"})
    b'{"custom_id": "k", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m"}}\n'
    """
    row = {"custom_id": key, "method": "POST", "url": URL, "body": body}
    # Escaped, so that no character of a document can be taken for the end of a line.
    return json.dumps(row).encode() + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyLine:
    """A line with the reply to one request, or with an error."""

    key: str
    digest: bytes
    """Tells the line from every other, so that it counts once."""
    completion: Mapping[str, Any] | None = None
    """The body of a reply, None for an error."""
    status: int = 0
    """Of the HTTP response, 0 if there was none."""
    problem: str = ""


def reply_line(data: bytes, file: str) -> ReplyLine | None:
    r"""Read a line; None if it is not one of a batch's replies.

    Args:
        data: the line.
        file: its file's name. Where a line bears no id of the service, an equal line of another file is another one.

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
    if not isinstance(key, str) or not 0 < len(key) <= _LONGEST_ID:
        return None
    if not isinstance(response, dict) and not error:
        return None
    name = "" if isinstance(row.get("id"), str) else file
    seen = hashlib.sha256(digest("line", name).encode() + data.strip()).digest()[:16]
    status, body = 0, None
    if isinstance(response, dict):
        told, body = response.get("status_code", 200), response.get("body")
        status = told if isinstance(told, int) and 0 <= told <= 999 else 0
        if status == 200 and isinstance(body, dict) and not error and "error" not in body:
            return ReplyLine(key=key, digest=seen, completion=body, status=status)
        error = error or (body.get("error") if isinstance(body, dict) else body)
    return ReplyLine(key=key, digest=seen, status=status, problem=_told(status, error))


def _told(status: int, error: object) -> str:
    """An error in one line of bounded length."""
    parts = [str(status)] if status else []
    if isinstance(error, dict):
        parts += [str(error[name])[:2000] for name in ("code", "message") if error.get(name)]
    elif error:
        parts.append(str(error)[:2000])
    text = " ".join(": ".join(parts).split())
    return text[:_LONGEST_PROBLEM] or "an error without a word"


@dataclass(slots=True)
class Scanned:
    """What a stretch of a file held."""

    odd: int = 0
    """Lines that are not replies, or are too long."""
    lines: list[tuple[int, ReplyLine]] = field(default_factory=list)
    """Replies, each with the place of its first byte."""


def scan(path: Path) -> Iterator[Scanned]:
    """Read a file of replies, or any other, in pieces of bounded size."""
    found = Scanned()
    n = at = n_bytes = 0
    with path.open("rb") as file:
        while data := file.readline(LONGEST_LINE):
            begin, at = at, at + len(data)
            whole = data.endswith(b"\n") or len(data) < LONGEST_LINE
            if not whole:
                while (rest := file.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                    at += len(rest)
                at += len(rest)
            line = reply_line(data, path.name) if whole and data.strip() else None
            if line is not None:
                found.lines.append((begin, line))
            elif data.strip():
                found.odd += 1
            n, n_bytes = n + 1, n_bytes + len(data)
            if n == _PIECE_LINES or n_bytes > _PIECE_BYTES:
                yield found
                found, n, n_bytes = Scanned(), 0, 0
    yield found


def read_at(path: Path, begin: int) -> ReplyLine | None:
    """Read again the line of a file that begins at a place; None if the file is gone or has changed."""
    try:
        with path.open("rb") as file:
            file.seek(begin)
            return reply_line(file.readline(LONGEST_LINE), path.name)
    except OSError:
        return None
