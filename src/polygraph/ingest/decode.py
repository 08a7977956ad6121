"""From bytes to text: size limits, gzip and zip, encodings, control characters."""

import codecs
import gzip
import io
import re
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO, cast

from polygraph.errors import BadInput
from polygraph.text.surrogates import replace_surrogates

GZIP_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile)
"""What a damaged gzip file raises."""
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_BINARY_SHARE = 0.02
_STRAY = 4
"""Control characters that any text file may hold, however short."""
_HEAD = 8_192
_SAMPLE = 65_536
_NOT_ASCII = re.compile(rb"[\x80-\xff]")

_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_LINE_END = re.compile("\r\n?|[\x0b\x0c\x85\u2028]")
_UNCLEAN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Every character that `clean` changes. Hardly any text has one, so a single search is quicker."""


def open_file(path: Path) -> BinaryIO:
    """Open a file to read its bytes, unpacked if its name ends in ``.gz``.

    A damaged file raises one of `GZIP_ERRORS` where it is read.
    """
    return cast(BinaryIO, gzip.open(path, "rb")) if is_packed(path) else path.open("rb")


def is_packed(path: Path) -> bool:
    """Tell whether a file is packed with gzip, by its name."""
    return path.name.lower().endswith(".gz")


def read_bytes(path: Path, max_bytes: int) -> bytes:
    """Read a file, unpacked if its name ends in ``.gz``.

    Raises:
        BadInput: if it is empty, too large before or after unpacking, or damaged.
        OSError: if the system does not let us read it.
    """
    if path.stat().st_size > max_bytes:
        raise BadInput(f"is larger than {_size(max_bytes)}; split it in smaller files")
    try:
        with open_file(path) as file:
            # `read(n)` allocates n bytes at once, so it is used only where the size is not known.
            data = file.read(max_bytes + 1) if is_packed(path) else file.read()
    except GZIP_ERRORS as problem:
        raise BadInput(f"is a damaged gzip file: {problem}") from problem
    if len(data) > max_bytes:
        raise BadInput(f"is larger than {_size(max_bytes)} when unpacked; split it in smaller files")
    if not data:
        raise BadInput("is empty")
    return data


def open_zip(data: bytes, max_bytes: int) -> zipfile.ZipFile:
    """Open a zip file of bounded contents; `zipfile` never unpacks more than a member declares.

    Raises:
        BadInput: if it is damaged, or too large unpacked.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as problem:
        raise BadInput(f"is damaged or of another format than its name says: {problem}") from problem
    size = sum(member.file_size for member in archive.infolist())
    if size > max_bytes:
        raise BadInput(
            f"unpacks to {size / 1e6:,.0f} MB, more than the {max_bytes / 1e6:,.0f} MB that are read"
        )
    return archive


def decode(data: bytes, declared: str = "") -> tuple[str, str]:
    r"""Decode bytes.

    Tried in order: a byte order mark; UTF-8, also with a few damaged bytes; the encoding that the file declares;
    the one that `charset_normalizer` finds most likely. What cannot be decoded becomes U+FFFD.

    Returns:
        The text, not cleaned yet (see `clean`), and the encoding that was used.

    Raises:
        BadInput: if the bytes are not text.

    >>> decode("naïve\r\n".encode("cp1252"), "cp1252")
    ('naïve\r\n', 'cp1252')
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace"), encoding
    head = data[:_HEAD]
    if len(_BINARY.findall(head)) > max(_BINARY_SHARE * len(head), _STRAY):
        raise BadInput("is not text but binary data; check that its name has the right ending")
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        loose = data.decode("utf-8", "replace")
        damaged = loose.count("\ufffd")
        # Text in another encoding has hardly any valid sequence; damaged UTF-8 has many.
        if 10 * damaged <= len(re.findall("[^\x00-\x7f]", loose)):
            return loose, "utf-8"
    for encoding in (declared, _likely(data)):
        if encoding:
            try:
                return data.decode(encoding, "replace"), encoding
            except LookupError:
                continue
    raise BadInput("is in no known encoding; save it as UTF-8")


def clean(text: str) -> str:
    r"""Unify line ends, and remove characters that cannot be stored or shown.

    Control characters other than tab and line ends are dropped; lone surrogates become U+FFFD. Nothing else
    changes: Unicode is not normalised. Cleaning a clean text changes nothing.

    >>> clean("a\x00b\r\nc\rd\x0ce")
    'ab\nc\nd\ne'
    """
    if _UNCLEAN.search(text) is None:
        return text
    text = replace_surrogates(_CONTROL.sub("", text))
    return _LINE_END.sub("\n", text).replace("\u2029", "\n\n")


def _likely(data: bytes) -> str:
    from charset_normalizer import from_bytes

    # Text before the first character beyond ASCII tells nothing. Begin at its line, since the bytes of one
    # character must not be split.
    first = _NOT_ASCII.search(data)
    begin = data.rfind(b"\n", 0, first.start()) + 1 if first else 0
    begin = max(begin, first.start() - 1_000) if first else 0
    best = from_bytes(data[begin : begin + _SAMPLE]).best()
    return best.encoding if best else ""


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:,.0f} MB" if n_bytes >= 1_000_000 else f"{n_bytes:,} bytes"
