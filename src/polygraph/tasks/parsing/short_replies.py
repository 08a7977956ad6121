"""Tolerant parsers for short replies: numbers, yes or no, quoted texts, replies of reasoning models.

No parser raises: each returns None or an unchanged text, and the task decides what an unusable reply means. Replies are
untrusted, so each parser is a single pass, linear in the length of the text. JSON replies: `json_repair`.
"""

import re
from math import isnan

from polygraph.text.surrogates import replace_surrogates

_THINK = re.compile(r"\s*<(think|thinking|reasoning)>", re.I)
_THINK_END = re.compile(r"</(?:think|thinking|reasoning)>", re.I)
# Control and invisible direction characters; tab and newlines are not among them.
_CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)
_ASCII_CONTROL = bytes(code for code in range(128) if _CONTROL.match(chr(code)))
_INTEGER = re.compile(r"(?<![\w.])[-+]?\d{1,9}(?![\w]|\.\d)")
_YES = re.compile(r"\W*(?:yes|y|true|yeah|yep|oui|ja|sí|si|是|有)\b", re.I)
_NO = re.compile(r"\W*(?:no|n|false|none|nope|non|nein|否|没有|无)\b", re.I)


def printable(text: str) -> str:
    r"""Remove what cannot be stored or is invisible: lone surrogates, control and direction characters.

    >>> printable("a\x00b\u202ec")
    'abc'
    """
    if text.isascii():  # in a tenth of the time of the patterns
        return text.encode("ascii").translate(None, _ASCII_CONTROL).decode("ascii")
    return _CONTROL.sub("", replace_surrogates(text))


def field_text(value: object) -> str:
    """Return a text or number of a JSON reply as printable text; empty for anything else.

    >>> field_text("Vane"), field_text(1871), field_text(True), field_text(None)
    ('Vane', '1871', '', '')
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return printable(str(value))


def field_line(value: object, max_characters: int) -> str:
    r"""Return a text or number of a JSON reply on one line, cut to a length; empty for anything else.

    >>> field_line("keeper of\n the light", 12), field_line(["Vane"], 12)
    ('keeper of th', '')
    """
    return " ".join(field_text(value).split())[:max_characters]


def without_thinking(text: str) -> str:
    r"""Remove the thinking of a reasoning model; return the empty string if no answer follows it.

    >>> without_thinking("<think>hm, a list?</think>\nyes")
    'yes'
    >>> without_thinking("<think>cut off while thinking")
    ''
    """
    ends = list(_THINK_END.finditer(text))
    if ends and text[ends[-1].end() :].strip():
        return text[ends[-1].end() :].strip()
    if _THINK.match(text) and not ends:
        return ""
    return text.strip()


def unquote(text: str) -> str:
    """Remove quotes, backticks or bold that enclose a whole text.

    >>> unquote(' **"The Halcyon"** ')
    'The Halcyon'
    >>> unquote("'tis")
    "'tis"
    """
    text = text.strip()
    for _ in range(3):
        if text[:1] not in _OPENINGS or text[-1:] not in _CLOSINGS:
            return text
        for opening, closing in _WRAPS:
            if len(text) > len(opening) + len(closing) - 1 and text.startswith(opening):
                inner = text[len(opening) : len(text) - len(closing)]
                if text.endswith(closing) and opening not in inner:
                    text = inner.strip()
                    break
        else:
            return text
    return text


_WRAPS = (
    *(("**", "**"), ("__", "__"), ("`", "`"), ('"', '"'), ("'", "'")),
    *(("“", "”"), ("‘", "’"), ("«", "»"), ("„", "“"), ("「", "」")),
)
# Most texts begin or end with none of these.
_OPENINGS = frozenset(opening[0] for opening, _ in _WRAPS)
_CLOSINGS = frozenset(closing[-1] for _, closing in _WRAPS)


def integer(text: str, low: int, high: int) -> int | None:
    """Parse the one whole number in ``low..high``; None if there is none, or several that differ.

    ``7/10`` counts as 7.

    >>> integer("Score: 7/10", 0, 10), integer("**42**", 0, 100), integer("4 or 5", 0, 10)
    (7, 42, None)
    """
    text = re.sub(rf"(\d)\s{{0,3}}/\s{{0,3}}{high}\b", r"\1", without_thinking(text))
    values = {int(found.group()) for found in _INTEGER.finditer(text)}
    inside = {value for value in values if low <= value <= high}
    return inside.pop() if len(inside) == 1 else None


def item_numbers(listed: object, n_items: int) -> set[int]:
    """Return the numbers from 1 to `n_items` that a list of a JSON reply holds, also as texts; none if it is no list.

    >>> item_numbers([3, "1", 3, 9, True], 4) == {1, 3}, item_numbers("1", 4)
    (True, set())
    """
    items = listed[: 2 * n_items] if isinstance(listed, list) else []
    numbers = (integer(str(item), 1, n_items) for item in items if isinstance(item, int | float | str))
    return {number for number in numbers if number is not None}


def number(value: object, low: float, high: float) -> float | None:
    """Parse a value of a JSON reply as a number, clipped to ``low..high``; None if it is not a number.

    >>> number("85", 0, 100), number(400, 0, 100), number("high", 0, 100), number(float("nan"), 0, 1)
    (85.0, 100.0, None, None)
    """
    try:
        read = float(str(value))
    except ValueError:
        return None
    return None if isnan(read) else float(min(max(read, low), high))


def yes_no(text: str) -> bool | None:
    r"""Parse a yes or no at the beginning of a reply or of its last line; None if there is neither.

    >>> yes_no("**Yes**, several."), yes_no("Let me see.\nNo."), yes_no("Perhaps")
    (True, False, None)
    """
    text = without_thinking(text)
    for part in (text, text.rpartition("\n")[2]):
        answer = re.sub(r"^\W*answer\W{1,5}", "", part[:200], flags=re.I)
        if _YES.match(answer):
            return True
        if _NO.match(answer):
            return False
    return None
