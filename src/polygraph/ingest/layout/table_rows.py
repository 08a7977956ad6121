"""Rows of cells as a table: which rows name the columns, and how a row reads in the text of its document.

All formats share one form. A row is a line ``column: value; column: value.`` so that each chunk of a table names its
columns. A table within the bounds below is also kept as a record, from which questions are answered by rule. A larger
one is text only, since a sum over a part of it would be wrong.
"""

import re
from collections.abc import Sequence

from polygraph.ingest.content import LoadedTable

MAX_TABLE_CELLS = 100_000
"""Cells of a table that is kept as a record."""
MAX_TABLE_CHARACTERS = 4_000_000
MAX_COLUMNS = 200
MAX_CELL = 1_000
"""Characters of a cell in a record; a table with longer ones is text only."""
SPACED_CELL = re.compile(r"\S(?:\s?\S)*")
"""A cell of a table whose columns are parted by two spaces or more."""
MAX_SPACED_COLUMNS = 30
_MAX_HEADER = 100
"""Characters of a cell that names a column, where the format does not say which row is the header."""
_ROW_NAME = "row"
"""Name of a first column without one."""
_TITLE_ROWS = 5
"""Rows above a header that may hold a title."""
_NUMERIC = re.compile(r"[-−+(]?\s?[£$€]?\s?[\d.,' ]+\s?(?:[£$€%)]|[^\W\d]{1,4})?|\d{4}-\d{2}(?:-\d{2})?")

Row = Sequence[str]


def column_names(header: Row) -> list[str]:
    """Return distinct column names.

    An empty one becomes ``column 3``; the first, which holds the names of the rows, ``row``. A repeated one becomes
    ``name 2``.

    >>> column_names(["a", "", "a"]), column_names(["", "2022", "2023"])
    (['a', 'column 2', 'a 2'], ['row', '2022', '2023'])
    """
    names: list[str] = []
    seen: dict[str, int] = {}
    for position, title in enumerate(header, 1):
        name = " ".join(title.split()) or (f"column {position}" if position > 1 else _ROW_NAME)
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return names


def named_cells(columns: Row, row: Row) -> list[tuple[str, str]]:
    """Return the cells of a row with the names of their columns, also those beyond the header."""
    names = [*columns, *(f"column {n}" for n in range(len(columns) + 1, len(row) + 1))]
    return list(zip(names, row, strict=False))


def row_line(columns: Row, row: Row) -> str:
    """Return a row as a line that reads like a sentence; empty cells are left out.

    >>> row_line(["Ship", "Port"], ["Halcyon", "Wick"])
    'Ship: Halcyon; Port: Wick.'
    """
    cells = [f"{name}: {' '.join(cell.split())}" for name, cell in named_cells(columns, row) if cell.strip()]
    line = "; ".join(cells)
    # The full stop makes each row a sentence.
    return line if not line or line.endswith((".", "!", "?")) else f"{line}."


def make_table(header: Row, rows: Sequence[Row], title: str = "") -> tuple[list[str], LoadedTable | None]:
    """Return the lines of a table, and its record if it is within the bounds.

    Args:
        header: names the columns; trailing empty cells are left out.
        rows: cells; rows without any text are left out.
        title: caption or name of the sheet.
    """
    names = list(header)
    while names and not names[-1].strip():
        names.pop()
    rows = [[" ".join(cell.split()) for cell in row] for row in rows if any(cell.strip() for cell in row)]
    width = max([len(names), *(_width(row) for row in rows)])
    columns = column_names([*names, *[""] * (width - len(names))])
    lines = [row_line(columns, row) for row in rows]
    cells = [(*row[:width], *[""] * (width - len(row))) for row in rows]
    fits = (
        rows
        and width <= MAX_COLUMNS
        and width * len(rows) <= MAX_TABLE_CELLS
        and sum(map(len, lines)) <= MAX_TABLE_CHARACTERS
        and max(len(cell) for row in cells for cell in row) <= MAX_CELL
    )
    if not fits:
        return lines, None
    table = LoadedTable(columns=tuple(columns), rows=tuple(cells), lines=tuple(lines), title=title)
    return lines, table


def write_table(
    header: Row, rows: Sequence[Row], written: list[str], tables: list[LoadedTable], following: str
) -> None:
    """Add a table to the lines of a text, between empty ones.

    Args:
        header: names the columns.
        rows: cells.
        written: the lines so far.
        tables: receives the record of the table if it is within the bounds.
        following: the line behind the table.
    """
    lines, table = make_table(header, rows)
    if written and written[-1].strip():
        written.append("")
    written += lines
    tables += [table] if table else []
    if following.strip():
        written.append("")


def split_title(rows: Sequence[Row]) -> tuple[list[str], Sequence[Row]]:
    """Return the titles above a table and its other rows.

    A title is a row with a single cell, if one of the next rows has several.

    >>> split_title([["Vans of 2024", ""], ["Plate", "Driver"], ["LS-11", "Roe"]])
    (['Vans of 2024'], [['Plate', 'Driver'], ['LS-11', 'Roe']])
    """
    filled = [sum(1 for cell in dict.fromkeys(row) if cell.strip()) for row in rows[: _TITLE_ROWS + 1]]
    first = next((n for n, count in enumerate(filled) if count > 1), 0)
    titles = [
        next(cell for cell in row if cell.strip()) for row, n in zip(rows[:first], filled, strict=False) if n
    ]
    return titles, rows[first:]


def looks_like_header(rows: Sequence[Row]) -> bool:
    """Return whether the first of some rows names columns: short, distinct, filled cells that are no numbers."""
    if len(rows) < 2:
        return False
    names = [cell.strip() for cell in rows[0]]
    return (
        len(names) > 1
        and all(names[1:])
        and len(set(names)) == len(names)
        and not any(len(name) > _MAX_HEADER or is_numeric(name) for name in names)
    )


def is_list_of_pairs(rows: Sequence[Row]) -> bool:
    """Return whether rows of two cells are names with values of several kinds, rather than a table with a header."""
    if len(rows) < 2 or any(len(row) != 2 for row in rows):
        return False
    names = [row[0].strip() for row in rows]
    kinds = {is_numeric(row[1]) for row in rows[1:] if row[1].strip()}
    return all(names) and len(set(names)) == len(names) and len(kinds) > 1 and not any(map(is_numeric, names))


def is_numeric(cell: str) -> bool:
    """Return whether a cell holds a number or a date, with a unit at most."""
    cell = cell.strip()
    return len(cell) <= 40 and any(map(str.isdigit, cell)) and _NUMERIC.fullmatch(cell) is not None


def join_header(rows: Sequence[Row]) -> list[str]:
    """Return the names of the columns below a header of several rows.

    >>> join_header([["Model", "Limits", "Limits"], ["Model", "bar", "°C"]])
    ['Model', 'Limits bar', 'Limits °C']
    """
    return [
        " ".join(dict.fromkeys(cell.strip() for cell in cells if cell.strip()))
        for cells in zip(*rows, strict=True)
    ]


def grid_lines(
    rows: Sequence[Row], n_header: int = 0, title: str = ""
) -> tuple[list[str], LoadedTable | None]:
    """Return the lines of a grid of cells, and its record if it is a table.

    Args:
        rows: of equal length.
        n_header: rows that name columns, as the format says; 0 if it does not say.
        title: caption.

    Returns:
        Lines ``column: value; column: value.`` below a header; ``name: value.`` for names with values; else the cells
        of a row joined by ``|``.
    """
    titles, rows = ([], rows) if n_header else split_title(rows)
    if not n_header and is_list_of_pairs(rows):
        return [*titles, *(row_line([row[0]], [row[1]]) for row in rows if row[1].strip())], None
    if not n_header and looks_like_header(rows):
        n_header = 1
    if not n_header or len(rows) <= n_header:
        return [*titles, *(" | ".join(row).rstrip(" |") for row in rows if any(row))], None
    lines, table = make_table(join_header(rows[:n_header]), rows[n_header:], title or " ".join(titles))
    return [*titles, *lines], table


def _width(row: Row) -> int:
    return max((n for n, cell in enumerate(row, 1) if cell), default=0)
