"""Headings of a text, in whatever format it is written."""

import re
from typing import NamedTuple

from polygraph.text.prose import clip
from polygraph.text.sentences import FENCE, atx_heading

MAX_HEADING = 120
"""Characters of a heading."""

UNDERLINE = re.compile(r"[ \t]*([=\-~^*+#])\1{2,}[ \t]*$")
_NUMBERED = re.compile(
    r"(?i:(?:chapter|book|part|section|act|scene|canto|stave|volume|appendix|article|letter|lecture|day|episode"
    r"|kapitel|teil|buch|chapitre|livre|capítulo|capitolo)\s+(?:the\s+)?[\w-]{1,14}\b"
    r"|(?:prologue|epilogue|introduction|preface|foreword|conclusions?|abstract|summary|references|contents"
    r"|acknowledge?ments)\b)"
    r"|\d{1,3}(?:\.\d{1,3}){0,4}\.?\s+[^\W_a-z\d]|[IVXLC]{1,7}\.?$|第.{1,6}[章节回部]"
)


_DIVISIONS = {
    **dict.fromkeys(["part", "book", "volume", "teil", "buch", "livre"], 1),
    **dict.fromkeys(["section", "scene", "article"], 3),
}
_NUMBER = re.compile(r"\d{1,3}(?:\.\d{1,3}){0,4}")
_CHAPTER, _NUMERAL, _CAPITALS = 2, 8, 9
"""Levels of chapters and the like, of a Roman numeral alone, and of a line in capitals."""
MAX_OUTER = 5
"""Headings above the nearest one that are kept, the outermost first."""


class _Found(NamedTuple):
    start: int
    title: str
    level: int
    """Smaller for a heading that holds others; lines of different notations compare roughly."""


def headings(text: str) -> list[tuple[int, str]]:
    r"""Find the headings of a text.

    Markdown headings (not in fenced code); lines underlined as in reStructuredText; and single short lines
    between blank lines that are numbered (``CHAPTER I``, ``2.1 Scope``) or in capitals.

    Returns:
        Offset and text of each, in order; the text without markup, on one line, cut at 120 characters.

    >>> headings("STAVE ONE\n\nMARLEY'S GHOST\n\nMarley was dead.\n\n## Notes ##\nA note.")
    [(0, 'STAVE ONE'), (11, "MARLEY'S GHOST"), (45, 'Notes')]
    """
    return [(start, title) for start, title, _ in _find(text)]


def heading_paths(text: str) -> list[tuple[int, tuple[str, ...]]]:
    r"""Find the headings of a text, each with those that hold it.

    A heading ends all earlier ones of its level and below. Levels come from the notation: the number of ``#``, the
    order in which characters of underlines appear, the depth of a number (``2.1``), parts before chapters before
    sections; a line in capitals is below all others.

    Returns:
        Offset of each, in order, and its path: the outermost heading first, at most `MAX_OUTER` and itself.

    >>> heading_paths("# Manual\n\n## Safety\nStop.\n\n## Use\nGo.")
    [(0, ('Manual',)), (10, ('Manual', 'Safety')), (27, ('Manual', 'Use'))]
    """
    above: list[_Found] = []
    paths = []
    for heading in _find(text):
        while above and above[-1].level >= heading.level:
            above.pop()
        above.append(heading)
        titles = tuple(one.title for one in above)
        paths.append((heading.start, titles[:-1][:MAX_OUTER] + titles[-1:]))
    return paths


def _find(text: str) -> list[_Found]:
    found: list[tuple[int, str, int]] = []
    underlines: dict[str, int] = {}
    fenced = False
    offset = 0
    before_blank = True
    previous: tuple[int, str] | None = None  # a line below a blank line
    pending: tuple[int, str] | None = None  # one that is a heading if a blank line follows
    for line in text.split("\n"):
        stripped = line.strip()
        if not stripped:
            if pending:
                found.append((*pending, _level(pending[1])))
            pending = previous = None
            before_blank = True
        else:
            here = offset + len(line) - len(line.lstrip())
            pending = None
            if FENCE.match(line):
                fenced = not fenced
                previous = None
            elif fenced:
                previous = None
            elif stripped[0] == "#" and (title := atx_heading(stripped)):
                found.append((here, title, len(stripped) - len(stripped.lstrip("#"))))
                previous = None
            elif previous and UNDERLINE.match(line) and len(stripped) >= min(3, len(previous[1])):
                found.append((*previous, underlines.setdefault(stripped[0], len(underlines) + 1)))
                previous = None
            else:
                short = before_blank and len(stripped) <= MAX_HEADING
                previous = (here, stripped) if short else None
                pending = previous if previous and _stands_out(stripped) else None
            before_blank = False
        offset += len(line) + 1
    if pending:
        found.append((*pending, _level(pending[1])))
    return [_Found(start, _short(title), level) for start, title, level in found]


def _level(line: str) -> int:
    """Return the level of a heading that only its words mark."""
    if not _NUMBERED.match(line):
        return _CAPITALS
    if number := _NUMBER.match(line):
        return _CHAPTER + 1 + number.group().count(".")
    words = line.casefold().split()
    return (
        _NUMERAL if len(words) == 1 and words[0].strip(".ivxlc") == "" else _DIVISIONS.get(words[0], _CHAPTER)
    )


def _stands_out(line: str) -> bool:
    """Return whether the words of a line between blank lines make it a heading."""
    if len(line) > 80 or line.endswith((",", ";")):
        return False
    if _NUMBERED.match(line):
        return not line.endswith(".") or len(line.split()) <= 4
    letters = sum(map(str.isalpha, line))
    return letters >= 4 and line.upper() == line and line.lower() != line and not line.startswith(("[", "|"))


def _short(title: str) -> str:
    """Return a title on one line, without emphasis, of bounded length."""
    return clip(title[: 10 * MAX_HEADING].strip("*_= \t"), MAX_HEADING)
