"""Cells that list several values: "VX-10 / VX-20", "red, blue", "all".

A cell is split only if it surely lists values. "Smith and Sons" and "London, Ontario" are one value each.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_SEPARATOR = re.compile(
    r"\s*[;\n]\s*|\s*,(?!\d)\s*|\s*/\s*|\s+(?:and|or|und|oder|et|y|&|\+)\s+", re.IGNORECASE
)
_JOINS_NAMES = re.compile(r"\s(?:and|or|und|oder|et|y|&|\+)\s")
"""What also stands within the name of one thing."""
_CODE = re.compile(r"(?=.*\d)(?=.*[^\W\d_])[\w.-]+")
EVERY_VALUE = frozenset(
    ("all", "any", "every", "alle", "tous", "toutes", "todos", "todas", "wszystkie", "tutti")
)
"""Cells that say that every value is meant, in a column that lists values elsewhere."""
_MAX_WORDS = 4
"""Words of an item; what is longer is a sentence."""


@dataclass(slots=True)
class ColumnLists:
    """The values that the cells of a column list, beside those that are whole cells."""

    rows: dict[str, list[int]] = field(default_factory=dict)
    """Rows by case-folded item, without rows of which it is the whole cell."""
    texts: dict[str, str] = field(default_factory=dict)
    """Items as written."""
    for_all: list[int] = field(default_factory=list)
    """Rows whose cell says that every value is meant."""


def read_lists(cells: Mapping[str, Sequence[int]], texts: Sequence[str]) -> ColumnLists:
    """Read the cells of a column of text that list values.

    Args:
        cells: rows by case-folded cell.
        texts: cells as written, by row.
    """
    found = ColumnLists()
    split = {}
    for cell, rows in cells.items():
        written = [" ".join(item.split()) for item in _SEPARATOR.split(texts[rows[0]].strip())]
        if len(written) > 1:
            split[cell] = {item.casefold(): item for item in written}
    n_cells = Counter(item for cell in cells for item in split.get(cell, (cell,)))
    for cell, items in split.items():
        if _is_list(cell, items, cells, n_cells):
            found.texts |= items
            for item in items:
                found.rows.setdefault(item, []).extend(cells[cell])
    if found.rows:
        found.for_all.extend(n for cell in EVERY_VALUE for n in cells.get(cell, ()))
    return found


def _is_list(
    cell: str, items: Mapping[str, str], cells: Mapping[str, Sequence[int]], n_cells: Counter[str]
) -> bool:
    """Return whether a cell surely lists its items: all are codes, or the column has them elsewhere too."""
    if not all(items) or any(item.isdigit() or len(item.split()) > _MAX_WORDS for item in items):
        return False
    if all(_CODE.fullmatch(item) for item in items):
        return True
    if _JOINS_NAMES.search(cell):
        # Sales and Marketing may be a department beside Sales and Marketing.
        return all(item in cells and written.islower() for item, written in items.items())
    return all(n_cells[item] > 1 for item in items)
