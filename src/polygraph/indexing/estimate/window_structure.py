"""Which names of a window are joined by relations, as in windows that the model has read.

How many communities a graph has, and how large they are, depends on this: of 40 names and 20 relations, half of the
names may stay alone, and the others may form one star or ten pairs. A window that is simulated is given the structure
of a window that was read and is about as long.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from polygraph.records import Extraction
from polygraph.text.normalize import normalize_name

_NEAREST = 5
"""Structures of about the same length, of which one is taken."""


@dataclass(frozen=True, slots=True)
class WindowStructure:
    """The relations of a window, without their names."""

    n_tokens: int
    """Tokens of the window's text."""
    n_names: int
    pairs: tuple[tuple[int, int], ...]
    """Both ends of each relation, as ranks among the names: 0 is the one that occurs most often in the window."""

    def pairs_of(self, n_names: int) -> list[tuple[int, int]]:
        """Return the relations of a window with another number of names; those whose ends coincide are left out.

        >>> WindowStructure(300, 4, ((0, 3), (1, 2))).pairs_of(8)
        [(0, 6), (2, 4)]
        """
        scaled = [(a * n_names // self.n_names, b * n_names // self.n_names) for a, b in self.pairs]
        return [(a, b) for a, b in scaled if a != b]


def structure_of(n_tokens: int, rows: Extraction) -> WindowStructure:
    """Return the structure of the rows of a window; ties between names that occur equally often by their order."""
    occurrences: dict[str, int] = {}
    for row in rows.entities:
        name = normalize_name(row.name)
        occurrences[name] = occurrences.get(name, 0) + len(row.spans)
    ordered = sorted(occurrences, key=lambda name: -occurrences[name])
    rank = {name: n for n, name in enumerate(ordered)}
    ends = [(rank.get(normalize_name(r.source)), rank.get(normalize_name(r.target))) for r in rows.relations]
    pairs = [(a, b) for a, b in ends if a is not None and b is not None and a != b]
    return WindowStructure(n_tokens, len(ordered), tuple(pairs))


def choose_structure(
    structures: Sequence[WindowStructure], window: str, n_tokens: int
) -> WindowStructure | None:
    """Return one of the structures whose windows are nearest in length, chosen by the id of the window."""
    near = sorted(structures, key=lambda each: abs(each.n_tokens - n_tokens))[:_NEAREST]
    if not near:
        return None
    return near[int.from_bytes(sha256(window.encode()).digest()[:8], "big") % len(near)]
