"""Paragraphs of a text as single lines, with a mapping back to the original offsets."""

import re
from bisect import bisect_right
from dataclasses import dataclass

from polygraph.text.sentences import FENCE, blocks
from polygraph.text.surrogates import replace_surrogates

MAX_CHARS = 10_000
"""Longest paragraph; bounds the memory of the parser."""

_LINE = re.compile(r"[^\n]+")
_SPACE = re.compile(r"\s+")
# No written word is this long; encoded data is, and it is expensive to parse.
_RUN = re.compile(r"\S{200,}")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph, list item, heading or unwrapped line as one line, with single spaces."""

    text: str
    _positions: tuple[int, ...]
    """Positions in `text` from which a new shift applies, ascending, the first 0."""
    _shifts: tuple[int, ...]

    def origin(self, position: int) -> int:
        """Map a position in this paragraph to a position in the original text."""
        return position + self._shifts[bisect_right(self._positions, position) - 1]

    def origin_end(self, position: int) -> int:
        """Map the end of a span in this paragraph to an end in the original text."""
        return self.origin(position - 1) + 1 if position else self.origin(0)


def split_paragraphs(text: str) -> list[Paragraph]:
    r"""Split a text into paragraphs, in order: the blocks of `text.sentences`, and the lines of code.

    Line breaks inside a hard-wrapped paragraph are white space. Paragraphs have at most `MAX_CHARS` characters.

    >>> text = "Chapter 1\n\nIt was a dark and\nstormy  night."
    >>> [paragraph.text for paragraph in split_paragraphs(text)]
    ['Chapter 1', 'It was a dark and stormy night.']
    >>> second = split_paragraphs(text)[1]
    >>> text[second.origin(18):second.origin_end(24)]
    'stormy'
    """
    text = _RUN.sub(lambda match: " " * len(match.group()), replace_surrogates(text))
    found: list[Paragraph] = []
    for begin, end in blocks(text):
        if FENCE.match(text, begin, end):
            for line in _LINE.finditer(text, begin, end):
                found += _bounded(text, *line.span())
        else:
            found += _bounded(text, begin, end)
    return found


def _bounded(text: str, begin: int, end: int) -> list[Paragraph]:
    found: list[Paragraph] = []
    while end - begin > MAX_CHARS:
        cut = max(text.rfind(". ", begin, begin + MAX_CHARS) + 1, begin)
        if cut <= begin + MAX_CHARS // 2:
            cut = text.rfind(" ", begin, begin + MAX_CHARS)
        if cut <= begin:
            cut = begin + MAX_CHARS
        found += _on_one_line(text, begin, cut)
        begin = cut
    return found + _on_one_line(text, begin, end)


def _on_one_line(text: str, begin: int, end: int) -> list[Paragraph]:
    """Return the span as a paragraph, or nothing if it is white space."""
    raw = text[begin:end]
    body = raw.strip()
    if not body:
        return []
    begin += len(raw) - len(raw.lstrip())
    parts, positions, shifts, at, size = [], [0], [begin], 0, 0
    for match in _SPACE.finditer(body):
        if match.end() - match.start() == 1 and match.group() == " ":
            continue
        parts.append(body[at : match.start()])
        size += match.start() - at + 1
        at = match.end()
        positions.append(size)
        shifts.append(begin + at - size)
    parts.append(body[at:])
    return [Paragraph(" ".join(parts), tuple(positions), tuple(shifts))]
