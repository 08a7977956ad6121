"""Mails as files (`.eml`), read with the standard library."""

import re
from collections.abc import Iterable, Mapping, Sequence
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.parser import BytesParser
from email.utils import parseaddr

from polygraph.errors import BadInput
from polygraph.ingest.content import FileContent, LoadedText
from polygraph.ingest.decode import clean, decode
from polygraph.ingest.limits import ReadLimits
from polygraph.ingest.readers.html import page_text
from polygraph.records import Json

_SHOWN = ("From", "To", "Cc", "Date", "Subject")
MAX_HEADER = 2_000
"""Characters of a header that are kept."""
_TEXTS = frozenset({"text/plain", "text/html", "text/markdown", "text/x-markdown", "text/enriched"})
_MAX_PARTS = 10_000
_MAX_DEPTH = 50
_UNDECODED = "\ufffd"
_BOUNDARY = b"\n--"
_LONG_HEADER = re.compile(
    rb"^content-(?:type|disposition)[ \t]{0,9}:(?:[^\r\n]|\r?\n[ \t]){4000}", re.IGNORECASE | re.MULTILINE
)
"""The standard library takes quadratic time on the parameters of such a header."""


def read_eml(data: bytes) -> FileContent:
    """Read a mail: the usual headers as lines, the text, the names of the attachments, and mails inside it.

    If a text is present as plain text and as HTML, the plain text is read. Attachments are not read; save them
    beside the mail.

    Raises:
        BadInput: if it is no mail, holds no text, or takes too much to read (see `limits`).
    """
    limits = ReadLimits()
    # Each part begins with a boundary on a line of its own; the parser builds a tree of them before we see one.
    if data.count(_BOUNDARY) > 2 * _MAX_PARTS:
        raise BadInput(f"has over {_MAX_PARTS:,} parts, more than a mail; save the part that matters as text")
    if _LONG_HEADER.search(data):
        raise BadInput(
            "has a header of over 4,000 characters that says what a part is; save the text as .txt"
        )
    mail = BytesParser().parsebytes(data)
    head = shown_headers(mail)
    if not head:
        raise BadInput("holds none of the headers of a mail; rename it to .txt to read it as plain text")
    texts: list[str] = []
    attached: list[str] = []
    _read(mail, texts, attached, limits, 0)
    return mail_content(head, texts, attached)


def mail_content(head: Mapping[str, str], texts: Iterable[str], attached: Sequence[str]) -> FileContent:
    """Lay out a mail: its headers as lines, the names of its attachments, its texts.

    Args:
        head: headers that are shown, by name; the subject becomes the title, else the sender, the others metadata.
        texts: in their order; empty ones are left out.
        attached: names of files.
    """
    lines = [f"{name}: {value}" for name, value in head.items()]
    if attached:
        lines.append(f"Attachments: {', '.join(attached)}")
    metadata: dict[str, Json] = {
        name.lower(): value for name, value in head.items() if name not in {"Subject"}
    }
    blocks = ["\n".join(lines), *(text for text in texts if text.strip())]
    return FileContent([LoadedText(text=clean("\n\n".join(blocks)), title=_title(head), metadata=metadata)])


def _title(head: Mapping[str, str]) -> str:
    sender = parseaddr(head.get("From", ""))
    return head.get("Subject", "") or (f"Mail from {sender[0] or sender[1]}" if any(sender) else "")


def _read(part: Message, texts: list[str], attached: list[str], limits: ReadLimits, depth: int) -> None:
    """Append the texts of a part in their order, and the names of what is attached."""
    limits.count()
    if depth > _MAX_DEPTH:
        raise BadInput(f"has parts more than {_MAX_DEPTH} levels deep; save the part that matters as text")
    kind = part.get_content_type()
    payload = part.get_payload()
    parts = [each for each in payload if isinstance(each, Message)] if isinstance(payload, list) else []
    if kind == "message/rfc822" and parts:
        for inner in parts:
            texts.append("\n".join(f"{name}: {value}" for name, value in shown_headers(inner).items()))
            _read(inner, texts, attached, limits, depth + 1)
    elif parts:
        plain = [
            each
            for each in parts
            if kind == "multipart/alternative"
            and each.get_content_type() == "text/plain"
            and _text(each).strip()
        ]
        for inner in plain or parts:
            _read(inner, texts, attached, limits, depth + 1)
    elif _file_name(part) or part.get_content_disposition() == "attachment":
        attached.append(_file_name(part) or kind)
    elif kind in _TEXTS:
        text = _text(part)
        texts.append(page_text(text)[0] if kind == "text/html" else text.strip())
    elif not kind.startswith("multipart/"):
        attached.append(kind)


def _text(part: Message) -> str:
    raw = part.get_payload(decode=True)
    return decode(raw, str(part.get_content_charset() or ""))[0] if isinstance(raw, bytes) else ""


def shown_headers(mail: Message) -> dict[str, str]:
    """Return the headers of a mail that are shown, each on one line, in a fixed order."""
    found: dict[str, str] = {}
    for name in _SHOWN:
        value = _header(mail, name)
        if value:
            found[name] = value
    return found


def _header(mail: Message, name: str) -> str:
    value = str(mail.get(name) or "")[:MAX_HEADER]
    if _UNDECODED in value:  # letters beyond ASCII that are not encoded, as old programs write them
        raw = next((raw for own, raw in mail.raw_items() if own.lower() == name.lower()), "")
        charset = str(mail.get_content_charset() or "latin-1")
        value = decode(str(raw)[:MAX_HEADER].encode("utf-8", "surrogateescape"), charset)[0]
    try:
        parts = decode_header(value)
    except (HeaderParseError, ValueError):
        parts = [(value, None)]
    found = "".join(
        part if isinstance(part, str) else decode(part, charset or "")[0] if part else ""
        for part, charset in parts
    )
    return " ".join(clean(found).split())


def _file_name(part: Message) -> str:
    try:
        return " ".join(clean(str(part.get_filename() or ""))[:200].split())
    except (ValueError, LookupError, IndexError, AttributeError, TypeError):
        return "attachment"
