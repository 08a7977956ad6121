"""Cannot-link and must-link constraints of the user, and the mentions that they apply to."""

from collections import defaultdict
from collections.abc import Iterable, Set
from typing import NamedTuple

from polygraph.text.normalize import normalize_name

EACH = "*"
"""As a document or type: each one for itself."""


class ConstraintKey(NamedTuple):
    """One side of a constraint: the mentions that it applies to."""

    name: str
    """Normalised."""
    document: str = ""
    """A document, ``*`` for each document, or empty for all documents."""
    type: str = ""
    """A type, ``*`` for each type, or empty for all types."""


def parse_key(text: str) -> ConstraintKey:
    """Split ``name @ document`` or ``name # type`` into its parts.

    >>> tuple(parse_key("The Halcyon @ log.md")), tuple(parse_key("Halcyon # ship")), tuple(parse_key("Halcyon"))
    (('halcyon', 'log.md', ''), ('halcyon', '', 'ship'), ('halcyon', '', ''))
    """
    name, _, document = text.partition(" @ ")
    if not document:
        name, _, type_ = text.partition(" # ")
        return ConstraintKey(normalize_name(name), "", type_)
    return ConstraintKey(normalize_name(name), document)


class Constraints:
    """Cannot-link constraints, indexed by the mentions that they apply to.

    Args:
        cannot_link: pairs of ``name``, ``name @ document`` or ``name # type``. A name paired with itself is split:
            ``name @ *`` by document, ``name # *`` by type.
    """

    def __init__(self, cannot_link: Iterable[tuple[str, str]]) -> None:
        self._conflicts: dict[ConstraintKey, set[ConstraintKey]] = defaultdict(set)
        self._split: set[ConstraintKey] = set()
        for a, b in cannot_link:
            left, right = parse_key(a), parse_key(b)
            if left != right:
                self._conflicts[left].add(right)
                self._conflicts[right].add(left)
            elif EACH in (left.document, left.type):
                self._split.add(left)

    def __bool__(self) -> bool:
        return bool(self._conflicts or self._split)

    def keys(self, name: str, document: str, type_: str) -> frozenset[ConstraintKey]:
        """Return the keys that match a normalised name in a document: those of constraints, and parts of splits."""
        keys = (ConstraintKey(name), ConstraintKey(name, document), ConstraintKey(name, "", type_))
        found = frozenset(key for key in keys if key in self._conflicts)
        return found | self.split_keys(name, document, type_)

    def split_keys(self, name: str, document: str, type_: str) -> frozenset[ConstraintKey]:
        """Return the parts of splits that a normalised name in a document belongs to."""
        found = set()
        if ConstraintKey(name, EACH) in self._split:
            found.add(ConstraintKey(name, document))
        if type_ and ConstraintKey(name, "", EACH) in self._split:
            found.add(ConstraintKey(name, "", type_))
        return frozenset(found)

    def forbid(self, a: Set[ConstraintKey], b: Set[ConstraintKey]) -> bool:
        """Return whether a constraint forbids one entity for mentions with keys `a` and mentions with keys `b`."""
        if not (a and b):
            return False
        if any(key in self._conflicts and not self._conflicts[key].isdisjoint(b) for key in a):
            return True
        return any(self._are_split(x, y) for x in a for y in b if x.name == y.name)

    def _are_split(self, a: ConstraintKey, b: ConstraintKey) -> bool:
        if a.document and b.document and a.document != b.document:
            return ConstraintKey(a.name, EACH) in self._split
        if a.type and b.type and a.type != b.type:
            return ConstraintKey(a.name, "", EACH) in self._split
        return False
