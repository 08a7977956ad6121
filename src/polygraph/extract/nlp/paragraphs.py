"""Paragraphs of a text as single lines, with a mapping back to the original offsets."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

from polygraph.text.sentences import is_table_row
from polygraph.text.surrogates import replace_surrogates

MAX_CHARS = 10_000
"""Longest paragraph; bounds the memory of the parser."""

_PARAGRAPH = re.compile(r"\n[ \t\r]*\n\s*|\n(?=[ \t]*(?:[-*+•|>]|\d{1,3}[.)]|#{1,6})[ \t])")
_SPACE = re.compile(r"\s+")
# No written word is this long; encoded data is, and it is expensive to parse.
_RUN = re.compile(r"\S{200,}")
_SPEAKER = re.compile(r"[ \t]*[^\W\d][\w .'’-]{0,30}:\s")
_END = re.compile(r"[.!?:;。！？…][\"'”’)\]]*\s*$")


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
    r"""Split a text into paragraphs, in order.

    Line breaks inside a paragraph are white space if its lines are filled, as in hard-wrapped prose. In verse, lists
    and chats, and after the row of a table, they end a paragraph. Paragraphs have at most `MAX_CHARS` characters.

    >>> text = "Chapter 1\n\nIt was a dark and\nstormy  night."
    >>> [paragraph.text for paragraph in split_paragraphs(text)]
    ['Chapter 1', 'It was a dark and stormy night.']
    >>> second = split_paragraphs(text)[1]
    >>> text[second.origin(18):second.origin_end(24)]
    'stormy'
    """
    text = _RUN.sub(lambda match: " " * len(match.group()), replace_surrogates(text))
    found: list[Paragraph] = []
    begin = 0
    for gap in _PARAGRAPH.finditer(text):
        found += _split_block(text, begin, gap.start())
        begin = gap.end()
    return found + _split_block(text, begin, len(text))


def _split_block(text: str, begin: int, end: int) -> list[Paragraph]:
    found: list[Paragraph] = []
    for start, b in _unwrapped(text, begin, end):
        a = start
        while b - a > MAX_CHARS:
            cut = max(text.rfind(". ", a, a + MAX_CHARS) + 1, a)
            if cut <= a + MAX_CHARS // 2:
                cut = text.rfind(" ", a, a + MAX_CHARS)
            if cut <= a:
                cut = a + MAX_CHARS
            found += _on_one_line(text, a, cut)
            a = cut
        found += _on_one_line(text, a, b)
    return found


def _unwrapped(text: str, begin: int, end: int) -> list[tuple[int, int]]:
    """Split a block at the line breaks that are not due to wrapping."""
    lines, a = [], begin
    while a < end:
        b = text.find("\n", a, end)
        b = end if b < 0 else b
        if text[a:b].strip():
            lines.append((a, b))
        a = b + 1
    if not lines:
        return []
    width = max(b - a for a, b in lines)
    pieces, start = [], lines[0][0]
    for (a, b), (c, d) in pairwise(lines):
        following = text[c:d].lstrip()
        free = width - (b - a) - 1 - len(following.split(None, 1)[0])
        finished = _END.search(text, a, b) is not None
        if (
            free > 0.3 * width
            or (width < 60 and finished)
            or _SPEAKER.match(text, c, d) is not None
            or is_table_row(text[a:b].strip())
        ):
            pieces.append((start, b))
            start = c
    pieces.append((start, lines[-1][1]))
    return pieces


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
