"""Readers for what language models write: JSON, lists, numbers, yes or no, in whatever wrapping.

Every reader takes text that nobody controls, so each is one pass over it (cost grows with its length),
has a bounded depth, and answers ``None`` or an empty list instead of raising: what an unreadable reply
means is for the task to say.
"""

import json
import re
from math import isnan
from typing import TypeAlias

from polygraph.records import Json

_THINK = re.compile(r"\s*<(think|thinking|reasoning)>", re.I)
_THINK_END = re.compile(r"</(?:think|thinking|reasoning)>", re.I)
_SURROGATE = re.compile("[\ud800-\udfff]")
# Control and invisible direction characters; tab and newlines are not among them.
_CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)
_MARK = re.compile(r"^(?:[-*+•·▪‣–—>]|#{1,6}|\(?\d{1,3}[.):\]]|\(?[a-zA-Z][.)])\s+")
_INTEGER = re.compile(r"(?<![\w.])[-+]?\d{1,9}(?![\w]|\.\d)")
_YES = re.compile(r"\W*(?:yes|y|true|yeah|yep|oui|ja|sí|si|是|有)\b", re.I)
_NO = re.compile(r"\W*(?:no|n|false|none|nope|non|nein|否|没有|无)\b", re.I)

MAX_DEPTH = 64
"""Deepest nesting that is read; deeper values are given up."""


def printable(text: str) -> str:
    r"""Remove what cannot be stored or hides in a line: lone surrogates, control and direction characters.

    >>> printable("a\x00b\u202ec")
    'abc'
    """
    return _CONTROL.sub("", _SURROGATE.sub("\ufffd", text))


def without_thinking(text: str) -> str:
    r"""Remove the part in which a reasoning model thinks aloud, if an answer follows it.

    >>> without_thinking("<think>hm, a list?</think>\nyes")
    'yes'
    >>> without_thinking("<think>cut off while thinking")
    ''
    """
    ends = list(_THINK_END.finditer(text))
    if ends and text[ends[-1].end() :].strip():
        return text[ends[-1].end() :].strip()
    if _THINK.match(text) and not ends:
        return ""
    return text.strip()


def lines(text: str, *, max_lines: int = 100) -> list[str]:
    r"""Read a list with one item per line, without bullets, numbers, quotes and code fences.

    >>> lines('Here you go:\n1. "Who was Marley?"\n- Who was *Fan*?\n```')
    ['Here you go:', 'Who was Marley?', 'Who was *Fan*?']
    """
    found = []
    for line in without_thinking(text).splitlines():
        item = unquote(_MARK.sub("", line.strip(), count=1))
        if item and not item.startswith("```"):
            found.append(printable(item))
            if len(found) == max_lines:
                break
    return found


def unquote(text: str) -> str:
    """Take away the marks that wrap a whole text: quotes, backticks, bold.

    >>> unquote(' **"The Halcyon"** ')
    'The Halcyon'
    >>> unquote("'tis")
    "'tis"
    """
    text = text.strip()
    for _ in range(3):
        for opening, closing in _WRAPS:
            if len(text) > len(opening) + len(closing) - 1 and text.startswith(opening):
                inner = text[len(opening) : len(text) - len(closing)]
                if text.endswith(closing) and opening not in inner:
                    text = inner.strip()
                    break
        else:
            return text
    return text


_WRAPS = (
    *(("**", "**"), ("__", "__"), ("`", "`"), ('"', '"'), ("'", "'")),
    *(("“", "”"), ("‘", "’"), ("«", "»"), ("„", "“"), ("「", "」")),
)


def integer(text: str, low: int, high: int) -> int | None:
    """Read the one whole number of a reply; None if there is none, or several that differ.

    ``7/10`` is read as 7. A number outside ``low..high`` is not an answer.

    >>> integer("Score: 7/10", 0, 10), integer("**42**", 0, 100), integer("4 or 5", 0, 10)
    (7, 42, None)
    """
    text = re.sub(rf"(\d)\s{{0,3}}/\s{{0,3}}{high}\b", r"\1", without_thinking(text))
    values = {int(found.group()) for found in _INTEGER.finditer(text)}
    inside = {value for value in values if low <= value <= high}
    return inside.pop() if len(inside) == 1 else None


def number(value: object, low: float, high: float) -> float | None:
    """Read a value of a JSON reply as a number; one outside ``low..high`` becomes the nearer bound.

    >>> number("85", 0, 100), number(400, 0, 100), number("high", 0, 100), number(float("nan"), 0, 1)
    (85.0, 100.0, None, None)
    """
    try:
        read = float(str(value))
    except ValueError:
        return None
    return None if isnan(read) else float(min(max(read, low), high))


def yes_no(text: str) -> bool | None:
    r"""Read a yes or no from the beginning of a reply, or from its last line.

    >>> yes_no("**Yes**, several."), yes_no("Let me see.\nNo."), yes_no("Perhaps")
    (True, False, None)
    """
    text = without_thinking(text)
    for part in (text, text.rpartition("\n")[2]):
        answer = re.sub(r"^\W*answer\W{1,5}", "", part[:200], flags=re.I)
        if _YES.match(answer):
            return True
        if _NO.match(answer):
            return False
    return None


def salvage_json(text: str) -> "Json | None":
    r"""Read the JSON value that a reply is about, however it is wrapped or broken.

    Strict JSON is read as such. Otherwise code fences and prose around are passed over, and these are
    accepted: trailing and missing commas, line breaks and unescaped quotes inside strings, single or
    typographic quotes, bare keys, line comments, ``True`` and ``None``, and an end that is missing. Of a
    reply that was cut off, whatever is complete is kept: a string or number that may be unfinished is left
    out, and so is an unfinished record at the end of a list.

    Returns:
        The value that covers most of the text, the first of equals; objects and lists only, unless the
        whole text is one scalar. None if there is nothing to read.

    >>> salvage_json('Sure!\n```json\n{"title": "Fog", "n": 3,}\n```')
    {'title': 'Fog', 'n': 3}
    >>> salvage_json('[{"a": 1, "b": "x"}, {"a": 2, "b": "cut o')
    [{'a': 1, 'b': 'x'}]
    """
    text = without_thinking(text)
    value = _strict(text)
    if value is not _NOTHING:
        return value  # type: ignore[return-value]  # the marker is excluded
    best: Json | None = None
    widest = 0
    for start, end, found in _values(text):
        if end - start > widest:
            best, widest = found, end - start
    return best


def json_values(text: str) -> list[Json]:
    r"""Read every object and list of a reply in order, such as one object per line.

    >>> json_values('{"a": 1}\n{"a": 2}\nDone.')
    [{'a': 1}, {'a': 2}]
    """
    text = without_thinking(text)
    value = _strict(text)
    if value is not _NOTHING:
        return [value]  # type: ignore[list-item]  # the marker is excluded
    return [found for _, _, found in _values(text)]


# --- reading broken JSON --------------------------------------------------------------------------

_Container: TypeAlias = "dict[str, Json] | list[Json]"
_NOTHING = object()
_OPEN = re.compile(r"[{\[]")
_SPACE = re.compile(r"(?:\s|//[^\n]*+)*+")
_NUMBER = re.compile(r"-?\d{1,300}+(?:\.\d{0,300}+)?(?:[eE][-+]?\d{1,3}+)?(?![\w.])")
_WORD = re.compile(r"[^\W\d][\w$-]{0,200}+")
_WORDS: dict[str, Json] = {
    **{"true": True, "false": False, "null": None, "none": None},
    **{"nan": None, "infinity": None, "undefined": None},
}
_CLOSING = {'"': '"', "'": "'", "“": "”", "”": "”", "‘": "’", "„": "“"}
# A quote ends its string where the grammar can go on; elsewhere it is part of the text.
_AFTER = (
    r"(?=\s*+(?:[:}\]]|\Z|,\s*+(?:[\"'“„‘{\[}\]\d/-]|\w{1,40}+\s*+:|true\b|false\b|null\b|None\b|\Z))"
    r"|[ \t]*+[\r\n])"
)
_STRING_END = {mark: re.compile(re.escape(mark) + _AFTER) for mark in set(_CLOSING.values())}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "", "f": "", "/": "/", "\\": "\\"}


class _CutOff(Exception):
    """The text ended inside a value."""


class _NotJson(Exception):
    """The text at hand is not a JSON value."""

    def __init__(self, at: int) -> None:
        self.at = at
        super().__init__(at)


def _strict(text: str) -> object:
    try:
        value: object = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return _NOTHING
    return value


def _values(text: str) -> list[tuple[int, int, Json]]:
    """Every object and list with its extent, in order. Each character is passed over about once."""
    found: list[tuple[int, int, Json]] = []
    at = 0
    while opening := _OPEN.search(text, at):
        reader = _Reader(text, opening.start())
        value, end = reader.read()
        if value is not None:
            found.append((opening.start(), end, value))
        # After an error the search goes on where it was met, never before: this keeps the cost linear.
        at = max(end, opening.end())
    return found


class _Reader:
    """Reads one object or list, keeping what was complete when it meets the end or an error."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.at = start
        self.open: list[_Container] = []
        """Unfinished containers from the root inwards, each already held by the one before it."""

    def read(self) -> "tuple[Json | None, int]":
        """Return the value, or what is complete of it, and where reading ended."""
        try:
            value: Json = self._container()
        except _CutOff:
            return self._salvaged(), len(self.text)
        except _NotJson as error:
            return self._salvaged(), error.at
        return value, self.at

    def _salvaged(self) -> "Json | None":
        # An unfinished list element is half a record and goes, unless it holds finished records itself.
        for outer, inner in reversed(list(zip(self.open, self.open[1:], strict=False))):
            if not inner or (isinstance(outer, list) and not _holds_records(inner)):
                _remove_last(outer)
        root = self.open[0] if self.open else None
        return root or None

    def _skip(self) -> str:
        """Pass over white space and comments; return the next character."""
        space = _SPACE.match(self.text, self.at)
        if space:
            self.at = space.end()
        if self.at >= len(self.text):
            raise _CutOff
        return self.text[self.at]

    def _container(self) -> _Container:
        if len(self.open) >= MAX_DEPTH:
            raise _NotJson(self.at + 1)
        value: _Container = {} if self.text[self.at] == "{" else []
        if self.open:
            _append(self.open[-1], value, self.key)
        self.open.append(value)
        self.at += 1
        while self._skip() not in "}]":
            if self.text[self.at] == ",":
                self.at += 1
            elif isinstance(value, dict):
                self._pair(value)
            else:
                self._value_into(value, "")
        # A wrong bracket closes too: models mix them up at the end of long replies.
        self.at += 1
        self.open.pop()
        return value

    def _pair(self, value: dict[str, Json]) -> None:
        if self._skip() in _CLOSING:
            key = self._string()
        elif word := _WORD.match(self.text, self.at):
            key, self.at = word.group(), word.end()
        else:
            raise _NotJson(self.at)
        if self._skip() != ":":
            raise _NotJson(self.at)
        self.at += 1
        self._value_into(value, key)

    key = ""
    """Under which the next container is put into an object."""

    def _value_into(self, holder: _Container, key: str) -> None:
        mark = self._skip()
        if mark in "{[":
            self.key = key
            self._container()
        elif mark in _CLOSING:
            _append(holder, self._string(), key)
        elif mark in "}],":
            _append(holder, None, key)
        else:
            _append(holder, self._scalar(), key)

    def _scalar(self) -> Json:
        if number := _NUMBER.match(self.text, self.at):
            if number.end() == len(self.text):
                raise _CutOff
            self.at = number.end()
            return _number(number.group())
        word = _WORD.match(self.text, self.at)
        if word and word.group().casefold() in _WORDS:
            self.at = word.end()
            return _WORDS[word.group().casefold()]
        if word and word.end() == len(self.text):
            raise _CutOff
        raise _NotJson(self.at)

    def _string(self) -> str:
        closing = _CLOSING[self.text[self.at]]
        ends = _STRING_END[closing]
        start = at = self.at + 1
        while found := ends.search(self.text, at):
            slashes = 0
            while slashes < found.start() - start and self.text[found.start() - 1 - slashes] == "\\":
                slashes += 1
            if slashes % 2 == 0:
                self.at = found.end()
                return _unescape(self.text[start : found.start()])
            at = found.end()
        raise _CutOff


def _holds_records(value: _Container) -> bool:
    """True if there are objects or lists inside; in an object, a list of words is a field like others."""
    if isinstance(value, list):
        return any(isinstance(item, dict | list) for item in value)
    inner = [item for item in value.values() if isinstance(item, dict | list)]
    return any(isinstance(item, dict) or _holds_records(item) for item in inner)


def _append(holder: _Container, value: Json, key: str) -> None:
    if isinstance(holder, dict):
        holder.pop(key, None)  # a repeated key moves to the end, where `_remove_last` looks for it
        holder[key] = value
    else:
        holder.append(value)


def _remove_last(holder: _Container) -> None:
    if isinstance(holder, dict):
        holder.popitem()
    else:
        holder.pop()


def _number(text: str) -> Json:
    try:
        return int(text)
    except ValueError:
        value = float(text)
        return value if abs(value) <= 1e308 else None


def _unescape(text: str) -> str:
    def plain(escape: re.Match[str]) -> str:
        code = escape.group(1)
        return chr(int(code[1:], 16)) if len(code) == 5 else _ESCAPES.get(code, code)

    if "\\" not in text:
        return text
    text = re.sub(r"\\(u[0-9a-fA-F]{4}|.)", plain, text, flags=re.S)
    # Pairs of surrogates become the character that they stand for.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
