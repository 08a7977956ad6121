"""Passages that repeat what another document already says in the same context: copies of a document.

A copy is another file with the same text, or with another title or date above it. A text in which a value has changed
is none: every sentence has to be the same.
"""

import re
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from polygraph.records import Evidence
from polygraph.text.quantities import located_dates

_MIN_WORDS = 20
"""Below another title, a shorter text is no copy: the title may be what it is about."""
_END_OF_UNIT = re.compile(r"\s(?:(?<=[.!?…。！？]\s)\s*|(?<=\n)\n*)")
"""White space behind the end of a sentence, and line breaks: found in half the time by beginning with white space."""
_ENDS = (".", "!", "?", "…", "。", "！", "？", ";", ":")
_FIELD = re.compile(r"[^:;]{1,40}: \S[^;]*(?:; [^:;]{1,40}: \S[^;]*)*")
_NUMBER = re.compile(r"\d+")
_MAX_DATE_LINE = 60
_MAX_NOTE = 200
"""Characters of what a copy has above its text."""


class _Passage(NamedTuple):
    """What a passage says, and what stands above it."""

    units: frozenset[str]
    """Its sentences and lines, in lower case."""
    n_words: int
    fields: frozenset[str]
    """Fields above it that are no dates, and the numbers in its first line."""
    above: tuple[str, ...]
    """Its title, its fields and its date, as written."""


class Copies:
    """Finds the passage among those taken that already says what another one says."""

    def __init__(self) -> None:
        self._by_unit: dict[str, list[int]] = {}
        """Items that have a sentence, by their positions."""
        self._said: dict[str, set[str]] = {}
        """All sentences of the passages that were taken, by document."""
        self._items: list[tuple[Evidence, _Passage] | None] = []

    def add(self, item: Evidence) -> None:
        """Note what an item says that was taken; their positions count from 0."""
        passage = _read(item)
        if passage is not None:
            self._said.setdefault(item.document, set()).update(passage.units)
            for unit in passage.units:
                self._by_unit.setdefault(unit, []).append(len(self._items))
        self._items.append(None if passage is None else (item, passage))

    def original_of(self, item: Evidence) -> int | None:
        """Return the position of the first item taken whose document says all that a passage says, if there is one."""
        passage = _read(item)
        if passage is None or not passage.units:
            return None
        for position in self._by_unit.get(min(passage.units), ()):
            found = self._items[position]
            if found is None or found[0].document == item.document:
                continue
            other, its = found
            same_title = passage.above == its.above
            if (
                passage.fields == its.fields
                and passage.units <= self._said[other.document]
                and (same_title or passage.n_words >= _MIN_WORDS)
            ):
                return position
        return None


def with_copy(item: Evidence, copy: Evidence) -> Evidence:
    """Return an item that also rests on its copy, and names what the copy has above the same text."""
    spans = tuple(dict.fromkeys((*item.spans, *copy.spans)))
    passage, its = _read(copy), _read(item)
    above = [line for line in passage.above if line not in (its.above if its else ())] if passage else []
    note = f"\n(The same text: {'; '.join(above)[:_MAX_NOTE]})" if above else ""
    return replace(
        item,
        text=item.text if not note or note in item.text else f"{item.text}{note}",
        spans=spans,
        why=f"{item.why}; also in {copy.document}".removeprefix("; "),
    )


def _read(item: Evidence) -> _Passage | None:
    """Return what a passage says; None for evidence that is no whole passage."""
    if item.kind != "chunk" or not item.spans:
        return None
    length = item.spans[0].end - item.spans[0].start
    at = item.text.find("\n(The same text: ") if len(item.spans) > 1 else -1
    text = item.text if at < 0 else item.text[:at]
    return _read_text(text, length) if 0 < length <= len(text) else None


@lru_cache(maxsize=4_096)
def _read_text(text: str, length: int) -> _Passage:
    """Read a text whose last `length` characters are the passage."""
    head = [line.strip() for line in text[: len(text) - length].split("\n") if line.strip()]
    parts = [part.strip(" \t#*_=>") for part in _END_OF_UNIT.split(text[len(text) - length :])]
    parts = [" ".join(part.split()) for part in parts if part]
    above, fields = [*head], set[str]()
    if parts and not parts[0].endswith(_ENDS):
        # The heading of a text can differ, but no number in it.
        first = parts.pop(0)
        above.append(first)
        fields.update(f"number {number}" for number in _NUMBER.findall(_without_dates(first)))
    body: list[str] = []
    for part in parts:
        (above if _is_date(part) else body).append(part)
    for line in above:
        if _FIELD.fullmatch(line):
            named = [each for each in line.split("; ") if not each.startswith(("page: ", "date: "))]
            fields.update(each.casefold() for each in named if not _is_date(each.partition(": ")[2]))
    return _Passage(
        units=frozenset(part.casefold() for part in body),
        # One space stands between two words.
        n_words=sum([part.count(" ") + 1 for part in body if part]),
        fields=frozenset(fields),
        above=tuple(dict.fromkeys(above)),
    )


def _without_dates(text: str) -> str:
    for _, start, end in reversed(located_dates(text)):
        text = text[:start] + text[end:]
    return text


def _is_date(line: str) -> bool:
    """Return whether a line holds a date and hardly anything else, such as where or for what."""
    if len(line) > _MAX_DATE_LINE or not _has_digit(line):
        return False
    rest = _without_dates(line)
    return rest != line and len(rest.split()) <= 2 and not _has_digit(rest)


def _has_digit(text: str) -> bool:
    # The pattern takes a tenth of the time; it knows no superscripts.
    return bool(_NUMBER.search(text)) or (not text.isascii() and any(c.isdigit() for c in text))
