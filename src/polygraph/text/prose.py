"""Numbers, lists and refused values in English messages, and texts that are cut off."""

from collections.abc import Mapping, Sequence
from typing import Any

_ADVICE = {
    "int_": "Give a whole number",
    "float_": "Give a number",
    "bool_": "Give true or false",
    "string_type": "Give a text",
    "path_": "Give a path",
    "tuple_": "Give a list of texts",
    "list_": "Give a list",
    "literal_error": "Choose one of: {expected}",
    "greater_than_equal": "Give at least {ge:,g}",
    "greater_than": "Give more than {gt:,g}",
    "less_than_equal": "Give at most {le:,g}",
}
"""What to give instead, by the beginning of pydantic's name of the problem; the first that fits."""


def advice(problem: Mapping[str, Any]) -> str:
    """Return what to give instead of a value that pydantic refuses.

    Args:
        problem: one of ``ValidationError.errors()``.

    >>> advice({"type": "less_than_equal", "ctx": {"le": 200}, "msg": "Input should be less than or equal to 200"})
    'Give at most 200'
    """
    limits = dict(problem.get("ctx", {}))
    if "expected" in limits:
        # The empty text means that nothing is chosen.
        limits["expected"] = str(limits["expected"]).removeprefix("'', ").removeprefix("'' or ")
    for refused, given in _ADVICE.items():
        if problem["type"].startswith(refused):
            return given.format(**limits)
    return str(problem["msg"])


def count_noun(n: int, noun: str) -> str:
    """Return a number with its noun in the singular or plural.

    >>> count_noun(1, "passage"), count_noun(1200, "passage"), count_noun(2, "entity")
    ('1 passage', '1,200 passages', '2 entities')
    """
    plural = f"{noun[:-1]}ies" if noun[-1] == "y" and noun[-2] not in "aeiou" else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"


def join_list(items: Sequence[str]) -> str:
    """Join items with commas and a final ``and``; with semicolons if one of three or more has a comma.

    >>> join_list(["tar"]), join_list(["tar", "oil"]), join_list(["tar", "oil", "rope"])
    ('tar', 'tar and oil', 'tar, oil and rope')
    >>> join_list(["paint, red", "paint, blue", "rope"])
    'paint, red; paint, blue; and rope'
    """
    if len(items) > 2 and any(", " in item for item in items):
        return "; ".join([*items[:-1], f"and {items[-1]}"])
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def clip(text: str, most: int) -> str:
    """Return a text on one line, cut off if it has more than `most` characters, an ellipsis included.

    >>> clip("The  Halcyon sank", 13), clip("The Halcyon", 13)
    ('The Halcyon…', 'The Halcyon')
    """
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def shorten(text: str, most: int) -> str:
    """Cut a text off at a word, after at most `most` characters.

    >>> shorten("The Halcyon sank", 13)
    'The Halcyon …'
    """
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0].rstrip(" ,;:") + " …"
