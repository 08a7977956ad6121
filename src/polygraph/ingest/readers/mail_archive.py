"""Archives of mails (`.mbox`), as Thunderbird, Apple Mail, Mailman and Google Takeout write them.

A line ``From ADDRESS DATE`` begins each message (RFC 4155). `mailbox.mbox` of the standard library finds them too, but
it reads lines of any length and no packed files, opens the file for writing, and begins a message at each line with
"From ", although programs leave such lines in the text of a mail.
"""

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from email.message import Message
from email.parser import BytesHeaderParser
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

from polygraph.errors import BadInput
from polygraph.ingest.content import MAX_BAD_RECORDS, BadRecord, FileContent, LoadedText
from polygraph.ingest.decode import GZIP_ERRORS, HoldsNothing, clean, is_packed, open_file
from polygraph.ingest.readers.mail import read_eml
from polygraph.records import digest

_BEGINNING = re.compile(rb"From (?:-?[ \t\r]*$|.*\d:\d\d)", re.MULTILINE)
"""A line before a message: with the time of day, or, in files of Thunderbird, with nothing."""
_FIELD = re.compile(rb"[!-9;-~]{1,100}[ \t]*:|>From ")
"""The line after it is a header."""
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)
"""Programs put ``>`` before such a line of a text."""
_HEAD_BYTES = 64_000
"""Bytes of a message within which its id and marks are looked for."""
_LINE_BYTES = 64_000
_BLOCK = 1 << 20
_MAX_PACKING = 50
"""Times its packed size that an archive may unpack to; mails shrink to a tenth at best."""
_KEY_CHARS = 200
_HASH_CHARS = 16
_DELETED = 0x0008
"""Bit of the header ``X-Mozilla-Status``."""

_Open = Callable[[], BinaryIO]


class _Part(NamedTuple):
    data: bytes
    complete: bool
    """False for a message that is too large, of which only the beginning is kept."""


def read_mbox(data: bytes, max_bytes: int) -> FileContent:
    """Read an archive of mails that is in memory; see `read_mbox_file`."""
    return _content(lambda: io.BytesIO(data), max_bytes)


def read_mbox_file(path: Path, max_bytes: int) -> FileContent:
    """Read an archive of mails message by message, each when it is asked for; memory holds one of them.

    The key of a message is its ``Message-ID``, or a hash of its text if it has none, so that it stays the same when
    messages before it are added or removed. Of messages with one id and different texts, all but the first have a
    hash of their text behind the id. A copy (same id, same text) is listed as a bad record, and so is a message that
    Thunderbird marks as deleted, or that `read_eml` refuses, each with its own key. Those behind the first 10,000 are
    one bad record.

    Args:
        path: of the file, which may be packed with gzip.
        max_bytes: of a message.

    Raises:
        BadInput: if it is empty; while it is read, if it is damaged or unpacks to more than 50 times its size.
        OSError: if the system does not let us read it.
    """
    if not path.stat().st_size:
        raise HoldsNothing("is empty")
    most = _MAX_PACKING * path.stat().st_size if is_packed(path) else 0
    return _content(lambda: open_file(path), max_bytes, most)


def begins_as_archive(path: Path) -> bool:
    """Tell whether a file begins like an archive of mails, whatever its name."""
    try:
        with path.open("rb") as file:
            first = file.readline(_LINE_BYTES)
            return bool(_BEGINNING.match(first) and _FIELD.match(file.readline(_LINE_BYTES)))
    except OSError:
        return False


def _content(open_: _Open, max_bytes: int, most: int = 0) -> FileContent:
    messages = _Messages(open_, max_bytes, most)
    return FileContent(messages, messages.bad_records)


class _Messages:
    """The messages of an archive, read as they are asked for.

    Args:
        open_: opens the archive at its beginning.
        max_bytes: of a message.
        most: bytes of the archive; 0 if they are not limited.
    """

    def __init__(self, open_: _Open, max_bytes: int, most: int) -> None:
        self._open, self._max_bytes, self._most = open_, max_bytes, most
        self._n = -1
        self.bad_records: list[BadRecord] = []

    def __len__(self) -> int:
        """Return how many there are at most, by the lines that begin like one."""
        if self._n < 0:
            self._n = 1
            end = b"\n"
            with self._open() as stream:
                for block in self._bounded(iter(partial(stream.read, _BLOCK), b"")):
                    self._n += (end + block).count(b"\nFrom ")
                    end = block[-5:]
        return self._n

    def __iter__(self) -> Iterator[LoadedText]:
        self.bad_records.clear()
        texts: dict[str, str] = {}
        """Hash of the text by key."""
        unlisted: BadRecord | None = None
        n_unlisted = 0
        with self._open() as stream:
            lines = self._bounded(iter(partial(stream.readline, _LINE_BYTES), b""))
            for ordinal, part in enumerate(_split(lines, self._max_bytes), 1):
                found = _read(part, ordinal, self._max_bytes)
                if isinstance(found, LoadedText):
                    found = _with_own_key(found, texts)
                if isinstance(found, LoadedText):
                    yield found
                elif len(self.bad_records) < MAX_BAD_RECORDS:
                    self.bad_records.append(found)
                else:
                    n_unlisted += 1
                    # The first whose document may be in the index stands for all: none is then taken to be gone.
                    if unlisted is None or (unlisted.key and found.key != str(found.ordinal)):
                        unlisted = replace(found, key="" if found.key != str(found.ordinal) else found.key)
        if unlisted is not None:
            others = f" (one of {n_unlisted:,} further messages that are not listed)"
            self.bad_records.append(replace(unlisted, reason=unlisted.reason + others))

    def _bounded(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        if not self._most:
            yield from blocks
            return
        n_bytes = 0
        try:
            for block in blocks:
                n_bytes += len(block)
                if n_bytes > self._most:
                    raise BadInput(
                        f"unpacks to more than {_MAX_PACKING} times its size; unpack it to read it"
                    )
                yield block
        except GZIP_ERRORS as problem:
            raise BadInput(f"is a damaged gzip file: {problem}") from problem


def _split(lines: Iterator[bytes], max_bytes: int) -> Iterator[_Part]:
    """Yield the messages, without the lines before them.

    Args:
        lines: a long one in pieces.
        max_bytes: of a message.
    """
    message = bytearray()
    complete = True
    begins = True  # a line, not another piece of one
    held = b""  # a line that begins a message if a header follows
    for line in lines:
        if held and _FIELD.match(line):
            if message.strip():
                yield _Part(bytes(message), complete)
            message, complete, held = bytearray(), True, b""
        begins_message = begins and line.startswith(b"From ") and bool(_BEGINNING.match(line))
        begins = line.endswith(b"\n")
        if complete:
            message += held if begins_message else held + line
            if len(message) > max_bytes:
                del message[_HEAD_BYTES:]
                complete = False
        held = line if begins_message else b""
    if message.strip():
        yield _Part(bytes(message), complete)


def _read(part: _Part, ordinal: int, max_bytes: int) -> LoadedText | BadRecord:
    head = BytesHeaderParser().parsebytes(part.data[:_HEAD_BYTES])
    key = _key(head)
    if _is_deleted(head):
        reason = "is marked as deleted by Thunderbird; to take it out of the file, compact the folder there"
        return BadRecord(ordinal, reason, str(ordinal))
    try:
        if not part.complete:
            raise BadInput(
                f"is a message of over {max_bytes / 1e6:,.0f} MB; save its text as a file of its own"
            )
        data = _QUOTED.sub(rb"\1", part.data) if b"\n>" in part.data else part.data
        [text] = read_eml(data).texts
    except BadInput as problem:
        return BadRecord(ordinal, str(problem), key or str(ordinal))
    except Exception as problem:
        # The parser of the standard library fails in many ways; the other messages are read.
        reason = f"cannot be read as a mail: {type(problem).__name__}: {problem}"
        return BadRecord(ordinal, reason, key or str(ordinal))
    return replace(text, key=key or _hash(text.text), ordinal=ordinal)


def _with_own_key(text: LoadedText, texts: dict[str, str]) -> LoadedText | BadRecord:
    """Return a message with a key that no other has, and note the hash of its text."""
    own = _hash(text.text)
    for key in (text.key, f"{text.key}~{own}"):
        other = texts.setdefault(key, "")
        if not other:
            texts[key] = own
            return replace(text, key=key)
        if other == own:
            break
    return BadRecord(text.ordinal, "is a copy of another message of the archive", str(text.ordinal))


def _key(head: Message) -> str:
    """Return the id of a message; empty if it states none."""
    key = "".join(clean(str(head.get("Message-ID") or "")).split()).strip("<>")
    return key if len(key) <= _KEY_CHARS else _hash(key)


def _is_deleted(head: Message) -> bool:
    try:
        return bool(int(str(head.get("X-Mozilla-Status") or "0"), 16) & _DELETED)
    except ValueError:
        return False


def _hash(text: str) -> str:
    return digest(text)[:_HASH_CHARS]
