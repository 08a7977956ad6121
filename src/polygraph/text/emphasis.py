"""Emphasis of Markdown."""

import re

_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_INSIDE = ".{1,1000}?"
"""Text between two marks; without a bound, many marks that nothing closes would take quadratic time."""
_CODE = re.compile(rf"(?<!`)(`++){_INSIDE}(?<!`)\1(?!`)")
_PAIR = re.compile(
    r"(?<![\w*_\\])(?:"
    # A path such as `*.txt` or `*/data` begins no emphasis.
    rf"(?P<stars>\*{{2,3}}|\*(?![./]))(?=[^\s*])(?P<starred>{_INSIDE})(?<=[^\s*\\])(?P=stars)"
    # A name such as `__init__` is none.
    rf"|(?P<lines>_{{1,3}})(?=[^\s_])(?!(?<=__)[a-z]+__)(?P<lined>{_INSIDE})(?<=[^\s_\\])(?P=lines)"
    r")(?![\w*_])"
)
_NESTED = 3
"""Marks inside each other that are removed."""


def without_emphasis(text: str) -> str:
    """Remove pairs of the marks ``**``, ``__``, ``*`` and ``_`` around whole words; code stays as it is.

    >>> without_emphasis("**Severity** 1, see *Self Service* and `**kwargs`")
    'Severity 1, see Self Service and `**kwargs`'
    >>> without_emphasis("snake_case_name, 2*3*4, a * b * c, *.txt and *.md")
    'snake_case_name, 2*3*4, a * b * c, *.txt and *.md'
    """
    if "*" not in text and "_" not in text:
        return text
    lines: list[str] = []
    fenced = False
    for line in text.split("\n"):
        is_fence = _FENCE.match(line) is not None
        lines.append(line if fenced or is_fence else _line_without_emphasis(line))
        fenced ^= is_fence
    return "\n".join(lines)


def _line_without_emphasis(line: str) -> str:
    codes: list[str] = []

    def hidden(code: re.Match[str]) -> str:
        codes.append(code[0])
        return f"\0{len(codes) - 1}\0"

    plain = _CODE.sub(hidden, line.replace("\0", ""))
    for _ in range(_NESTED):
        plain, n = _PAIR.subn(lambda pair: pair["starred"] or pair["lined"], plain)
        if not n:
            break
    return re.sub("\0(\\d+)\0", lambda found: codes[int(found[1])], plain)
