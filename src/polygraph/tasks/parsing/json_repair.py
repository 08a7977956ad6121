"""Tolerant parsing of JSON replies, also of broken and truncated ones.

Replies are untrusted: parsing is linear in the length of the text, and the depth of nesting is bounded.
"""

import json
import re
from typing import TypeAlias

from polygraph.records import Json
from polygraph.tasks.parsing.short_replies import without_thinking

MAX_DEPTH = 64
"""Values nested more deeply are dropped."""
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
# A quote ends its string if valid JSON can follow; otherwise it is part of the text.
_AFTER = (
    r"(?=\s*+(?:[:}\]]|\Z|,\s*+(?:[\"'“„‘{\[}\]\d/-]|\w{1,40}+\s*+:|true\b|false\b|null\b|None\b|\Z))"
    r"|[ \t]*+[\r\n])"
)
_STRING_END = {mark: re.compile(re.escape(mark) + _AFTER) for mark in set(_CLOSING.values())}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "", "f": "", "/": "/", "\\": "\\"}


def repair_json(text: str) -> "Json | None":
    r"""Parse the JSON value of a reply, also if it is wrapped or broken.

    Strict JSON is parsed as such. Otherwise code fences and prose around it are skipped, and these faults are accepted:
    trailing and missing commas, line breaks and unescaped quotes inside strings, single or typographic quotes, bare
    keys, line comments, ``True`` and ``None``, and a missing end. Of a truncated reply everything complete is kept; a
    string or number that may be incomplete is dropped, and so is an incomplete record at the end of a list.

    Returns:
        The value that covers most of the text, ties: the first; an object or list unless the whole text is a scalar.
        None if there is no value.

    >>> repair_json('Sure!\n```json\n{"title": "Fog", "n": 3,}\n```')
    {'title': 'Fog', 'n': 3}
    >>> repair_json('[{"a": 1, "b": "x"}, {"a": 2, "b": "cut o')
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
    r"""Parse every object and list of a reply in order, such as one object per line.

    >>> json_values('{"a": 1}\n{"a": 2}\nDone.')
    [{'a': 1}, {'a': 2}]
    """
    text = without_thinking(text)
    value = _strict(text)
    if value is not _NOTHING:
        return [value]  # type: ignore[list-item]  # the marker is excluded
    return [found for _, _, found in _values(text)]


class _CutOff(Exception):
    """The text ended inside a value."""


class _NotJson(Exception):
    """The text is not a JSON value."""

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
    """Return every object and list with its extent, in order; linear in the length of the text."""
    found: list[tuple[int, int, Json]] = []
    at = 0
    while opening := _OPEN.search(text, at):
        parser = _JsonParser(text, opening.start())
        value, end = parser.parse()
        if value is not None:
            found.append((opening.start(), end, value))
        # After an error, continue where it occurred and not before: this keeps the cost linear.
        at = max(end, opening.end())
    return found


class _JsonParser:
    """Parses one object or list; at the end of the text or an error, keeps what is complete."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.at = start
        self.open: list[_Container] = []
        """Open containers from the root inwards, each already inside the one before it."""

    def parse(self) -> "tuple[Json | None, int]":
        """Return the value, or its complete part, and the position where parsing ended."""
        try:
            value: Json = self._container()
        except _CutOff:
            return self._complete_part(), len(self.text)
        except _NotJson as error:
            return self._complete_part(), error.at
        return value, self.at

    def _complete_part(self) -> "Json | None":
        # An incomplete list element is half a record and is dropped, unless it holds complete records itself.
        for outer, inner in reversed(list(zip(self.open, self.open[1:], strict=False))):
            if not inner or (isinstance(outer, list) and not _holds_records(inner)):
                _remove_last(outer)
        root = self.open[0] if self.open else None
        return root or None

    def _skip(self) -> str:
        """Skip white space and comments; return the next character."""
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
        # The wrong bracket closes too: models confuse them at the end of long replies.
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
    """Key of the next container inside an object."""

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
    """Return whether a container holds objects or lists; in an object, a list of words is a field like others."""
    if isinstance(value, list):
        return any(isinstance(item, dict | list) for item in value)
    inner = [item for item in value.values() if isinstance(item, dict | list)]
    return any(isinstance(item, dict) or _holds_records(item) for item in inner)


def _append(holder: _Container, value: Json, key: str) -> None:
    if isinstance(holder, dict):
        holder.pop(key, None)  # a repeated key moves to the end, where `_remove_last` expects it
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
    # Join pairs of surrogates.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
