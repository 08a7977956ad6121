"""Headings of a text, in whatever format it is written."""

import re

from polygraph.text.sentences import atx_heading

MAX_HEADING = 120
"""Characters of a heading."""

_FENCE = re.compile(r"[ \t]{0,3}(?:```|~~~)")
UNDERLINE = re.compile(r"[ \t]*([=\-~^*+#])\1{2,}[ \t]*$")
_NUMBERED = re.compile(
    r"(?i:(?:chapter|book|part|section|act|scene|canto|stave|volume|appendix|article|letter|lecture|day|episode"
    r"|kapitel|teil|buch|chapitre|livre|capítulo|capitolo)\s+(?:the\s+)?[\w-]{1,14}\b"
    r"|(?:prologue|epilogue|introduction|preface|foreword|conclusions?|abstract|summary|references|contents"
    r"|acknowledge?ments)\b)"
    r"|\d{1,3}(?:\.\d{1,3}){0,4}\.?\s+[^\W_a-z\d]|[IVXLC]{1,7}\.?$|第.{1,6}[章节回部]"
)


def headings(text: str) -> list[tuple[int, str]]:
    r"""Find the headings of a text.

    Markdown headings (not in fenced code); lines underlined as in reStructuredText; and single short lines
    between blank lines that are numbered (``CHAPTER I``, ``2.1 Scope``) or in capitals.

    Returns:
        Offset and text of each, in order; the text without markup, on one line, cut at 120 characters.

    >>> headings("STAVE ONE\n\nMARLEY'S GHOST\n\nMarley was dead.\n\n## Notes ##\nA note.")
    [(0, 'STAVE ONE'), (11, "MARLEY'S GHOST"), (45, 'Notes')]
    """
    found: list[tuple[int, str]] = []
    fenced = False
    offset = 0
    before_blank = True
    previous: tuple[int, str] | None = None  # a line below a blank line
    pending: tuple[int, str] | None = None  # one that is a heading if a blank line follows
    for line in text.split("\n"):
        stripped = line.strip()
        if not stripped:
            if pending:
                found.append(pending)
            pending = previous = None
            before_blank = True
        else:
            here = offset + len(line) - len(line.lstrip())
            pending = None
            if _FENCE.match(line):
                fenced = not fenced
                previous = None
            elif fenced:
                previous = None
            elif stripped[0] == "#" and (title := atx_heading(stripped)):
                found.append((here, title))
                previous = None
            elif previous and UNDERLINE.match(line) and len(stripped) >= min(3, len(previous[1])):
                found.append(previous)
                previous = None
            else:
                short = before_blank and len(stripped) <= MAX_HEADING
                previous = (here, stripped) if short else None
                pending = previous if previous and _stands_out(stripped) else None
            before_blank = False
        offset += len(line) + 1
    if pending:
        found.append(pending)
    return [(start, _short(title)) for start, title in found]


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
    words = " ".join(title[: 10 * MAX_HEADING].strip("*_= \t").split())
    return words if len(words) <= MAX_HEADING else words[: MAX_HEADING - 1].rstrip() + "…"
