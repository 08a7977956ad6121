"""From bytes to text: size limits, gzip and zip, encodings, control characters."""

import codecs
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Set
from contextlib import suppress
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
_SUPERSETS = {
    **dict.fromkeys(("iso-8859-1", "latin-1", "latin1", "l1", "ascii", "us-ascii"), "cp1252"),
    "iso-8859-9": "cp1254", "iso-8859-11": "cp874", "tis-620": "cp874",
    "shift_jis": "cp932", "shift-jis": "cp932", "sjis": "cp932", "x-sjis": "cp932", "big5": "big5hkscs",
    "gb2312": "gb18030", "gbk": "gb18030", "ks_c_5601-1987": "cp949", "euc-kr": "cp949",
}  # fmt: skip
"""Encoding that is meant by the name of one that it contains, as browsers read it (WHATWG, Encoding)."""
_SEVEN_BIT = re.compile(r"(?:iso-?2022-?.*|hz(?:-gb-2312)?|utf-7)$", re.IGNORECASE)
"""Names of encodings whose bytes are all ASCII, so that they pass for UTF-8."""
_ESCAPE_JP, _ESCAPE_KR = re.compile(rb"\x1b(?:\$[@B(]|\([BJ])"), b"\x1b$)C"
_RIVALS = frozenset(
    {
        "cp1250",
        "cp1252",
        "cp1254",
        "cp1257",
        "cp1258",
        "mac_latin2",
        *(f"iso8859_{n}" for n in (2, 3, 4, 9, 10, 13, 14, 16)),
    }
)
"""Encodings of Latin letters that `charset_normalizer` takes for each other."""
_HALF_WIDTH = re.compile("[\x00-\x7f\uff61-\uff9f]*")
"""Degree signs and the like, read as Japanese."""
_NOT_WESTERN = re.compile(r"[šžŠŽðþ]|[^\W\d_](?:[¹³¿£¥¼¾¯][^\W\d_]|[^\W\d_][¹³¾])|(?<!\w)[³¹£][^\W\d_]{2}")
"""Letters of Central European, Baltic and Turkish texts, read as cp1252: some are symbols inside words there."""
_HEAD = 8_192
_SAMPLE = 65_536
_NOT_ASCII = re.compile(rb"[\x80-\xff]")

_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_LINE_END = re.compile("\r\n?|[\x0b\x0c\x85\u2028]")
_UNCLEAN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Every character that `clean` changes. Hardly any text has one, so a single search is quicker."""
_DATA_URI = re.compile(r"(data:[\w.+/;=-]{1,100};base64,)[A-Za-z0-9+/=_%-]{100,}")
_ENCODED = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{10000,}")
"""More letters and digits in a row than a passage holds: no word or address. Scripts without spaces have others."""
_DECODE = "decode it, or index the file that it was made from"
_ENCODED_LINES = re.compile(
    r"^(?P<whole>(?P<indent>[ \t]{0,40})[A-Za-z0-9+/]{64,76}$(?:\n(?P=indent)[A-Za-z0-9+/]{64,76}$)+)"
    r"(?P<last>\n(?P=indent)[A-Za-z0-9+/]{1,76}={0,2}$)?",
    re.MULTILINE,
)
"""Base64 as it stands in mails (76 characters a line) and in PEM and PGP (64): two lines or more, and a shorter one."""
_LONGEST_NAME = 20
"""Characters of a line below encoded data that may be a name or a word."""


class HoldsNothing(BadInput):
    """A file was read, and there is no text in it."""


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
        raise HoldsNothing("is empty")
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

    Tried in order: a byte order mark; encodings of seven bits that the file declares or whose escapes it holds; UTF-16
    by its zeros; UTF-8, also with a few damaged bytes; the encoding that the file declares; the one that
    `charset_normalizer` finds most likely. What cannot be decoded becomes U+FFFD.

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
    if encoding := _seven_bit(data, declared) or _by_zeros(head):
        with suppress(UnicodeDecodeError):
            return data.decode(encoding), encoding
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
    for encoding in (_SUPERSETS.get(declared.lower(), declared), _likely(data)):
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


def without_encoded_data(text: str) -> str:
    r"""Replace base64 in a text by ``…``: data URIs (``data:image/png;base64,``) and lines as in mails and PEM files.

    Raises:
        BadInput: if nothing else is in the text, or most of the rest is encoded data as well.

    >>> without_encoded_data("The plan: ![](data:image/png;base64," + 200 * "iVBORw0K" + ")")
    'The plan: ![](data:image/png;base64,…)'
    >>> without_encoded_data("See the attachment:\n" + 3 * (8 * "iVBORw0K" + "\n") + "iVBORw==\nAda")
    'See the attachment:\n…\nAda'
    """
    text = _DATA_URI.sub(r"\1…", text)
    shorter = _ENCODED_LINES.sub(_without_lines, text)
    encoded = [len(found) for found in _ENCODED.findall(shorter)]
    if shorter != text and not any(map(str.isalnum, shorter)):
        raise BadInput(f"is encoded data, such as base64, and no text: {len(text):,} characters; {_DECODE}")
    if 2 * sum(encoded) > len(shorter):
        raise BadInput(
            f"is mostly encoded data, such as base64, and no text: {max(encoded):,} characters without a space; "
            f"{_DECODE}"
        )
    return shorter


def _without_lines(found: "re.Match[str]") -> str:
    """Return ``…`` for lines of base64, and other lines as they are.

    Lines of base64 are equally long and hold capitals, small letters and digits; sequences of genes and lists of hashes
    do not.
    """
    lines, last = found["whole"].split("\n"), found["last"] or ""
    is_equal = len(set(map(len, lines[:-1]))) == 1 and len(lines[-1]) <= len(lines[0])
    if not is_equal or not all(any(map(kind, lines[0])) for kind in (str.isupper, str.islower, str.isdigit)):
        return found.group()
    end = last.strip()
    is_end = len(lines[-1]) == len(lines[0]) and len(end) % 4 == 0
    is_data = is_end and (len(end) > _LONGEST_NAME or not end.isalpha())
    return found["indent"] + "…" + ("" if is_data else last)


def _likely(data: bytes) -> str:
    from charset_normalizer import from_bytes

    # Text before the first character beyond ASCII tells nothing. Begin at its line, since the bytes of one
    # character must not be split.
    first = _NOT_ASCII.search(data)
    begin = data.rfind(b"\n", 0, first.start()) + 1 if first else 0
    begin = max(begin, first.start() - 1_000) if first else 0
    sample = data[begin : begin + _SAMPLE]
    found = from_bytes(sample)
    best = found.best()
    if best is None:
        return ""
    if best.encoding not in _RIVALS and not _HALF_WIDTH.fullmatch(str(best)):
        return best.encoding
    western = sample.decode("cp1252", "replace")
    if _is_turkish(set(western)):
        return "cp1254"
    return "cp1252" if _is_western(western) else best.encoding


def _is_western(text: str) -> bool:
    """Tell whether a text that was decoded as cp1252 is plausible, so that it is no other encoding of Latin letters."""
    letters = set(text)
    is_hungarian = letters & set("õû") and letters & set("öü") and not letters & set("äàèêçã")
    if "\ufffd" in text or is_hungarian:
        return False
    is_icelandic = letters >= set("áð") and letters & set("æýþ") and not letters & set("èçšž")
    return bool(is_icelandic) or not _NOT_WESTERN.search(text)


def _is_turkish(letters: Set[str]) -> bool:
    """Tell whether a text that was decoded as cp1252 has the letters of a Turkish one in cp1254.

    Its ı and its ğ or ş are read as letters that only Icelandic has both of, beside others that Turkish has not.
    """
    return "ý" in letters and not letters.isdisjoint("ðþ") and letters.isdisjoint("áéíóúæ")


def _seven_bit(data: bytes, declared: str) -> str:
    """Return the encoding of a text whose bytes are all ASCII but stand for other characters; else an empty string."""
    if _SEVEN_BIT.match(declared):
        try:
            return codecs.lookup(declared).name
        except LookupError:
            return ""
    if b"\x1b" not in data:
        return ""
    if _ESCAPE_KR in data:
        return "iso2022_kr"
    return "iso2022_jp_ext" if len(_ESCAPE_JP.findall(data)) > 1 else ""


def _by_zeros(head: bytes) -> str:
    """Return the UTF-16 of a text without a byte order mark, most of whose characters are Latin."""
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) * 3 < len(head) or min(even, odd) * 50 > len(head):
        return ""
    return "utf-16-le" if odd > even else "utf-16-be"


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:,.0f} MB" if n_bytes >= 1_000_000 else f"{n_bytes:,} bytes"
