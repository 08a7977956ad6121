"""Rich Text Format: the text of a file, without a library.

Microsoft, Rich Text Format (RTF) Specification, version 1.9.1 (2008).
"""

import codecs
import re

from polygraph.errors import BadInput
from polygraph.ingest.content import FileContent, LoadedText
from polygraph.ingest.limits import ReadLimits

_TOKEN = re.compile(
    rb"\\(?:([a-z]{1,32})(-?\d{1,10})? ?|'([0-9a-fA-F]{2})|([^a-z]))|([{}])|[\r\n]+|([^\\{}\r\n]+)",
    re.IGNORECASE,
)
_HIDDEN = frozenset(
    b"author buptim category colortbl comment company creatim datafield doccomm filetbl fldinst fonttbl footer footerf "
    b"footerl footerr ftncn ftnsep ftnsepc generator header headerf headerl headerr info keywords listoverridetable "
    b"listtable manager object operator pict printim private revtim revtbl rsidtbl stylesheet subject tc themedata "
    b"txe xe xmlnstbl".split()
)
"""Destinations whose text is not part of the document."""
_SIGNS = {
    b"par": "\n", b"sect": "\n\n", b"page": "\n\n", b"line": "\n", b"row": "\n", b"cell": " | ", b"nestcell": " | ",
    b"nestrow": "\n", b"tab": "\t", b"emdash": "—", b"endash": "–", b"lquote": "‘", b"rquote": "’",
    b"ldblquote": "“", b"rdblquote": "”", b"bullet": "•", b"emspace": " ", b"enspace": " ", b"qmspace": " ",
}  # fmt: skip
_SYMBOLS = {b"~": "\u00a0", b"_": "-", b"-": "", b"\n": "\n", b"\r": "\n"}
_MAX_DEPTH = 10_000
_MAX_FALLBACK = 100
"""Characters that may stand for one Unicode character where it is not understood."""
_MANY_BREAKS = re.compile(r"\n{3,}")


def read_rtf(data: bytes) -> FileContent:
    """Read the text of an RTF file; cells of a table row are joined by ``|``.

    Raises:
        BadInput: if it is no RTF file, or takes too much to read (see `limits`).
    """
    if not data.lstrip()[:5].lower() == rb"{\rtf":
        raise BadInput("is not an RTF file, whatever its name says; save it again")
    reader = _Reader()
    limits = ReadLimits()
    for n, token in enumerate(_TOKEN.finditer(data)):
        if n % 1000 == 0:
            limits.count(1000 if n else 1)
        reader.take(token)
    text = _MANY_BREAKS.sub("\n\n", reader.text())
    lines = (line.strip().removesuffix("|").rstrip() for line in text.split("\n"))
    return FileContent([LoadedText(text="\n".join(lines).strip(), title=reader.title())])


class _Reader:
    """The state of the groups, and the text so far."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._title: list[str] = []
        self._bytes = bytearray()
        """Bytes of the code page that are not decoded yet: a character may have several."""
        self._encoding = "cp1252"
        self._surrogate = 0
        self._skip = 0
        """Characters still to be left out, since they repeat a Unicode character."""
        self._fallback = 1
        self._hidden = False
        self._in_title = False
        self._starred = False
        self._stack: list[tuple[bool, bool, int]] = []

    def text(self) -> str:
        """Return the text so far."""
        self._flush()
        return "".join(self._parts)

    def title(self) -> str:
        """Return the title of the properties."""
        return " ".join("".join(self._title).split())

    def take(self, token: re.Match[bytes]) -> None:
        """Read one token."""
        word, number, code, symbol, brace, plain = token.groups()
        if brace == b"{":
            if len(self._stack) >= _MAX_DEPTH:
                raise BadInput(f"has over {_MAX_DEPTH:,} groups inside each other; save it again")
            self._stack.append((self._hidden, self._in_title, self._fallback))
            self._skip = 0
        elif brace == b"}":
            self._flush()
            if self._stack:
                self._hidden, self._in_title, self._fallback = self._stack.pop()
            self._skip = 0
        elif word:
            self._word(word.lower(), int(number) if number else None)
        elif code:
            if not self._skipped():
                self._add_byte(int(code, 16))
        elif symbol == b"*":
            self._starred = True
            return
        elif symbol:
            self._put(_SYMBOLS.get(symbol, symbol.decode("latin-1")))
        elif plain:
            left = plain[self._skip :]
            self._skip = max(0, self._skip - len(plain))
            if left and not self._hidden:
                self._bytes += left
        self._starred = False

    def _word(self, word: bytes, number: int | None) -> None:
        if self._starred or word in _HIDDEN:
            self._flush()
            # A title is the one part of the properties that is wanted.
            self._hidden = True
        elif word == b"title":
            self._flush()
            self._in_title, self._hidden = True, False
        elif word == b"ansicpg" and number is not None:
            self._encoding = _encoding(number)
        elif word in {b"mac", b"pc", b"pca"}:
            self._encoding = {b"mac": "mac_roman", b"pc": "cp437", b"pca": "cp850"}[word]
        elif word == b"uc" and number is not None:
            self._fallback = min(max(number, 0), _MAX_FALLBACK)
        elif word == b"u" and number is not None:
            self._unicode(number % 0x10000)
        elif word == b"bin" and number is not None:
            raise BadInput("holds binary data, which is not read; save it again without pictures")
        elif word in _SIGNS and not self._skipped():
            self._put(_SIGNS[word])

    def _unicode(self, unit: int) -> None:
        self._skip = self._fallback
        if 0xD800 <= unit < 0xDC00:
            self._surrogate = unit
            return
        if 0xDC00 <= unit < 0xE000:
            high, self._surrogate = self._surrogate, 0
            self._put(chr(0x10000 + ((high - 0xD800) << 10) + unit - 0xDC00) if high else "\ufffd")
            return
        self._put(chr(unit))

    def _skipped(self) -> bool:
        if not self._skip:
            return False
        self._skip -= 1
        return True

    def _add_byte(self, byte: int) -> None:
        if not self._hidden:
            self._bytes.append(byte)

    def _put(self, text: str) -> None:
        self._flush()
        if not self._hidden:
            (self._title if self._in_title else self._parts).append(text)

    def _flush(self) -> None:
        if self._bytes:
            text = self._bytes.decode(self._encoding, "replace")
            (self._title if self._in_title else self._parts).append(text)
            self._bytes.clear()


def _encoding(code_page: int) -> str:
    names = {65001: "utf-8", 10000: "mac_roman", 932: "cp932", 936: "gbk", 949: "cp949", 950: "big5"}
    name = names.get(code_page, f"cp{code_page}")
    try:
        codecs.lookup(name)
    except LookupError:
        return "cp1252"
    return name
