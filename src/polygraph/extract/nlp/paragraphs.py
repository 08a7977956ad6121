"""Paragraphs of a text as clean lines, with the way back to the original offsets."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

MAX_CHARS = 10_000
"""Longest block; bounds the memory of whatever reads it."""

_PARAGRAPH = re.compile(r"\n[ \t\r]*\n\s*|\n(?=[ \t]*(?:[-*+•|>]|\d{1,3}[.)]|#{1,6})[ \t])")
_SPACE = re.compile(r"\s+")
# Nothing that people write has words of this length; encoded data does, and costs a parser dearly.
_RUN = re.compile(r"\S{200,}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SPEAKER = re.compile(r"[ \t]*[^\W\d][\w .'’-]{0,30}:\s")
_END = re.compile(r"[.!?:;。！？…][\"'”’)\]]*\s*$")


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list item, heading or line on one line, white space runs made one space."""

    text: str
    _places: tuple[int, ...]
    """Positions in `text` from which a new shift holds, ascending, the first 0."""
    _shifts: tuple[int, ...]

    def origin(self, position: int) -> int:
        """Turn a position in this block into one in the text that it comes from."""
        return position + self._shifts[bisect_right(self._places, position) - 1]

    def origin_end(self, position: int) -> int:
        """The same for the end of a span, which lies behind its last character."""
        return self.origin(position - 1) + 1 if position else self.origin(0)


def blocks(text: str) -> list[Block]:
    r"""Split a text in blocks, in order.

    Line breaks inside a paragraph are white space if its lines are filled, as in a book's file, and end a
    block if they are not, as in verse, lists and chats. Blocks are at most `MAX_CHARS` long.

    >>> text = "Chapter 1\n\nIt was a dark and\nstormy  night."
    >>> [block.text for block in blocks(text)]
    ['Chapter 1', 'It was a dark and stormy night.']
    >>> second = blocks(text)[1]
    >>> text[second.origin(18):second.origin_end(24)]
    'stormy'
    """
    text = _RUN.sub(lambda match: " " * len(match.group()), _SURROGATE.sub("\ufffd", text))
    found: list[Block] = []
    begin = 0
    for gap in _PARAGRAPH.finditer(text):
        found += _paragraph(text, begin, gap.start())
        begin = gap.end()
    return found + _paragraph(text, begin, len(text))


def _paragraph(text: str, begin: int, end: int) -> list[Block]:
    found: list[Block] = []
    for start, b in _filled(text, begin, end):
        a = start
        while b - a > MAX_CHARS:
            cut = max(text.rfind(". ", a, a + MAX_CHARS) + 1, a)
            if cut <= a + MAX_CHARS // 2:
                cut = text.rfind(" ", a, a + MAX_CHARS)
            if cut <= a:
                cut = a + MAX_CHARS
            found += _block(text, a, cut)
            a = cut
        found += _block(text, a, b)
    return found


def _filled(text: str, begin: int, end: int) -> list[tuple[int, int]]:
    """Cut a paragraph at the line breaks that were meant."""
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
        room = width - (b - a) - 1 - len(following.split(None, 1)[0])
        ended = _END.search(text, a, b) is not None
        meant = room > 0.3 * width or (width < 60 and ended) or _SPEAKER.match(text, c, d) is not None
        if meant:
            pieces.append((start, b))
            start = c
    pieces.append((start, lines[-1][1]))
    return pieces


def _block(text: str, begin: int, end: int) -> list[Block]:
    raw = text[begin:end]
    body = raw.strip()
    if not body:
        return []
    begin += len(raw) - len(raw.lstrip())
    parts, places, shifts, at, size = [], [0], [begin], 0, 0
    for match in _SPACE.finditer(body):
        if match.end() - match.start() == 1 and match.group() == " ":
            continue
        parts.append(body[at : match.start()])
        size += match.start() - at + 1
        at = match.end()
        places.append(size)
        shifts.append(begin + at - size)
    parts.append(body[at:])
    return [Block(" ".join(parts), tuple(places), tuple(shifts))]
