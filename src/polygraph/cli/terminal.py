"""Text for a terminal. Documents, replies, file names and error messages may contain control sequences."""

import unicodedata

_INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories that move the cursor, change colours or direction, or cannot be encoded."""
_HARMLESS = "\n\t\u200c\u200d\u00ad"
"""Line feeds and tabs; joiners, which some scripts and emoji need; soft hyphens."""


def printable(text: str) -> str:
    r"""Return a text in which spaces replace the characters that control a terminal.

    >>> printable("a\x1b[31mred\x9b0m, one\\n line\u202e")
    'a [31mred 0m, one\\n line '
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in _HARMLESS or unicodedata.category(c) not in _INVISIBLE else " " for c in text)
