"""Cannot-link and must-link constraints of the user, and the mentions that they apply to."""

from collections import defaultdict
from collections.abc import Iterable, Set
from typing import TypeAlias

from polygraph.text.normalize import normalize_name

ConstraintKey: TypeAlias = tuple[str, str]
"""One side of a constraint: a normalised name, and a document or ``""`` for all documents."""


def parse_key(text: str) -> ConstraintKey:
    """Split ``name @ document`` into the normalised name and the document, which may be empty.

    >>> parse_key("The Halcyon @ log.md"), parse_key("Halcyon")
    (('halcyon', 'log.md'), ('halcyon', ''))
    """
    name, _, document = text.partition(" @ ")
    return normalize_name(name), document


class Constraints:
    """Cannot-link constraints, indexed by the mentions that they apply to.

    Args:
        cannot_link: pairs of ``name`` or ``name @ document``.
    """

    def __init__(self, cannot_link: Iterable[tuple[str, str]]) -> None:
        self._conflicts: dict[ConstraintKey, set[ConstraintKey]] = defaultdict(set)
        for a, b in cannot_link:
            left, right = parse_key(a), parse_key(b)
            if left != right:  # a name cannot be split from itself unless a document is given
                self._conflicts[left].add(right)
                self._conflicts[right].add(left)

    def __bool__(self) -> bool:
        return bool(self._conflicts)

    def keys(self, name: str, document: str) -> frozenset[ConstraintKey]:
        """Return the constraint keys that match a normalised name in a document."""
        if not self._conflicts:
            return frozenset()
        return frozenset(key for key in ((name, ""), (name, document)) if key in self._conflicts)

    def forbid(self, a: Set[ConstraintKey], b: Set[ConstraintKey]) -> bool:
        """Return whether a constraint forbids one entity for mentions with keys `a` and mentions with keys `b`."""
        return bool(a and b) and any(not self._conflicts[key].isdisjoint(b) for key in a)
