"""Verdicts about numbered items as two lists of their numbers, such as ``{"same": [1], "different": [2, 3]}``.

Models that write one verdict for each of many items lose count; lists of numbers stay right.
"""

from collections.abc import Mapping
from typing import Any

from polygraph.errors import UnusableReply
from polygraph.tasks.parsing.json_repair import repair_json
from polygraph.tasks.parsing.schemas import object_schema
from polygraph.tasks.parsing.short_replies import item_numbers


def verdict_schema(yes: str, no: str) -> Mapping[str, Any]:
    """Return the JSON schema of a reply with the two lists `yes` and `no`."""
    numbers = {"type": "array", "items": {"type": "integer"}}
    return object_schema({yes: numbers, no: numbers})


def parse_verdicts(text: str, yes: str, no: str, n_items: int) -> tuple[bool | None, ...]:
    """Parse a reply with two lists; an item in neither of them, or in both, is undecided.

    Args:
        text: the reply.
        yes: name of the list of items that are True.
        no: name of the list of those that are False.
        n_items: numbered from 1; other numbers are ignored.

    Returns:
        For each item True, False, or None if it is undecided.

    Raises:
        UnusableReply: if the reply has neither list.

    >>> parse_verdicts('{"same": [1, "3"], "different": [2, 3]}', "same", "different", 4)
    (True, False, None, None)
    """
    found = repair_json(text)
    lists = {key.casefold(): value for key, value in found.items()} if isinstance(found, dict) else {}
    if not any(isinstance(lists.get(key), list) for key in (yes, no)):
        raise UnusableReply(
            f'the reply is not JSON of the form {{"{yes}": [numbers], "{no}": [numbers]}}', text
        )
    true, false = (item_numbers(lists.get(key), n_items) for key in (yes, no))
    return tuple(None if (n in true) == (n in false) else n in true for n in range(1, n_items + 1))
