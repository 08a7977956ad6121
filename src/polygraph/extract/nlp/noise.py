"""What looks like a name or phrase and is none: column names, identifiers, function words, format noise."""

import re
from bisect import bisect_right
from collections import Counter

from polygraph.text.language import FUNCTION_WORDS, detect_language

_ROW = re.compile(r"^[ \t]*[^\s:;][^:;\n]{0,80}: [^\n]*; [^\s:;][^:;\n]{0,80}: [^\n]*$", re.MULTILINE)
"""A row of a table, as loaders write it: ``column: value; column: value.``"""
_COLUMN = re.compile(r"(?:^[ \t]*|; )([^\s:;][^:;\n]{0,80})(?=: )", re.MULTILINE)
_MIN_COLUMNS = 3
"""A line of two fields is a row only if a field recurs in another line."""
_MIN_DETECTED = 40
"""Characters of a paragraph whose language is detected."""
_IDENTIFIER = re.compile(r"\w*[^\W_]_\w+|[0-9a-fA-F]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
_SYMBOLS = frozenset("{}<>=|\\")


class Noise:
    """Decides which spans of a text are no entities.

    Args:
        text: whose spans are judged.
        language: ISO 639-1 code of the text, or empty.
    """

    def __init__(self, text: str, language: str = "en") -> None:
        self._columns = column_name_spans(text)
        self._starts = [start for start, _ in self._columns]
        parts = {
            language,
            *(detect_language(part) for part in text.split("\n\n") if len(part) > _MIN_DETECTED),
        }
        # Function words of one language are names in another ("Per", "Ole"), so only those of the text count.
        # In English the parser knows them.
        self._stop = frozenset[str]().union(*(FUNCTION_WORDS.get(code, ()) for code in parts - {"en"}))
        if language != "en":
            self._stop |= FUNCTION_WORDS["en"]

    def holds(self, name: str, start: int) -> bool:
        """Return whether a name at a position is noise."""
        is_acronym = len(name) > 1 and name.isupper()
        if (
            (name.casefold() in self._stop and not is_acronym)
            or _IDENTIFIER.fullmatch(name)
            or _ADDRESS.match(name)
        ):
            return True
        if not _SYMBOLS.isdisjoint(name):
            return True
        at = bisect_right(self._starts, start) - 1
        return at >= 0 and start < self._columns[at][1]


def column_name_spans(text: str) -> list[tuple[int, int]]:
    r"""Return the spans of column names in the rows of tables, in order.

    A line of two fields is a row if another line has one of its column names, since prose can have two colons.

    >>> text = "ship: Halcyon; port: Wick.\nship: Grey Lady; port: Thurso.\nNote: one thing; hint: another."
    >>> [text[a:b] for a, b in column_name_spans(text)]
    ['ship', 'port', 'ship', 'port']
    """
    rows = [
        [(row.start() + m.start(1), row.start() + m.end(1)) for m in _COLUMN.finditer(row.group())]
        for row in _ROW.finditer(text)
    ]
    recurring = Counter(name for row in rows for name in {text[a:b] for a, b in row})
    return [
        span
        for row in rows
        if len(row) >= _MIN_COLUMNS or any(recurring[text[a:b]] > 1 for a, b in row)
        for span in row
    ]
