"""Lists and fenced code in a text: where they are, and how they are quoted."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from polygraph.text.sentences import atx_heading

FENCES = ("```", "~~~")
"""What stands before and behind code."""
ITEM = re.compile(r"(?:[-*+•‣◦]|(?P<order>\(?(?:\d{1,2}[.)]|[a-z]\))))\s")
"""Beginning of an item; the group `order` is its number or letter."""
_ITEM_OR_CODE = re.compile(rf"{ITEM.pattern}|```|~~~")
_LEADS = (":", ".", "!", "?", ")")
"""Ends of a line behind which a list can begin."""


@dataclass(frozen=True, slots=True)
class ListBlock:
    """A list of a text, from the mark of its first item."""

    start: int
    items: tuple[int, ...]
    """Where each item ends, in order; nested items are part of theirs only by their place."""
    is_ordered: bool
    """Whether the first item has a number or a letter."""

    @property
    def end(self) -> int:
        """End of the last item."""
        return self.items[-1]


def find_lists(text: str) -> list[ListBlock]:
    r"""Return the lists of a text, in order.

    A list ends at a heading, and at a paragraph behind an empty line that is not indented. Lines that continue an item
    and code inside one are part of it.

    >>> text = "You need:\n- a lamp\n- oil for\n  a year\n\nThen climb."
    >>> [(text[found.start : found.end], found.is_ordered) for found in find_lists(text)]
    [('- a lamp\n- oil for\n  a year', False)]
    """
    found: list[ListBlock] = []
    start, items, is_ordered = -1, list[int](), False
    fence, is_after_gap, offset = "", False, 0

    def close() -> None:
        nonlocal start, items
        if start >= 0:
            found.append(ListBlock(start, tuple(items), is_ordered))
        start, items = -1, []

    for line in text.split("\n"):
        body = line.lstrip()
        end = offset + len(line.rstrip())
        is_indented = len(body) < len(line)
        if fence:
            fence = "" if body.startswith(fence) else fence
        elif body.startswith(FENCES):
            fence = body[:3]
        elif not body:
            is_after_gap = True
            offset += len(line) + 1
            continue
        elif item := ITEM.match(body):
            if start < 0:
                start, is_ordered = offset + len(line) - len(body), item["order"] is not None
            items.append(end)
        elif atx_heading(body) or (is_after_gap and not is_indented):
            close()
        if start >= 0:
            items[-1] = end
        is_after_gap = False
        offset += len(line) + 1
    close()
    return found


def join_lists(text: str, spans: Sequence[tuple[int, int]], *, longest: int) -> list[tuple[int, int]]:
    """Join a sentence that ends with a colon to the list items or the code below it.

    Args:
        text: any text.
        spans: of its sentences.
        longest: most characters of a sentence with its list; a longer list stays apart.
    """
    joined: list[tuple[int, int]] = []
    n = 0
    while n < len(spans):
        start, end = spans[n]
        last = n
        if text[end - 1] == ":":
            while last + 1 < len(spans) and _ITEM_OR_CODE.match(text, *spans[last + 1]):
                last += 1
                if text.startswith(FENCES, spans[last][0]):
                    break
            if spans[last][1] - start > longest:
                last = n
        joined.append((start, spans[last][1]))
        n = last + 1
    return joined


def in_lines(quoted: str) -> str:
    r"""Return a quotation on one line, but for a list or fenced code: these keep their lines, and code its indents.

    Args:
        quoted: as its passage has it; a fence that it does not close is closed.

    >>> print(in_lines("You need:\n- a lamp\n- oil for\n  a year"))
    You need:
    - a lamp
    - oil for a year
    """
    lines: list[str] = []
    fence, indent, in_list, goes_on = "", 0, False, False
    # A quotation begins behind the white space of its first line.
    later = quoted.split("\n")[1:]
    margin = min((_indent(line) for line in later if ITEM.match(line.lstrip())), default=0)
    for line in quoted.split("\n"):
        body = line.lstrip()
        if fence:
            lines.append(line[min(indent, len(line) - len(body)) :].rstrip())
            if body.startswith(fence):
                fence = ""
        elif body.startswith(FENCES):
            fence, indent, goes_on = body[:3], len(line) - len(body), False
            lines.append(body.rstrip())
        elif body:
            is_item = bool(ITEM.match(body)) and (in_list or not lines or lines[-1].endswith(_LEADS))
            in_list = in_list or is_item
            if goes_on and not is_item:
                lines[-1] += " " + " ".join(body.split())
            else:
                # An item of a list within an item keeps its place.
                nested = max(0, _indent(line) - margin) if is_item else 0
                lines.append(" " * nested + " ".join(body.split()))
            goes_on = True
    return "\n".join([*lines, fence] if fence else lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
