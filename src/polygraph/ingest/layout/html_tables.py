"""Tables of HTML pages: cells that span rows and columns, header cells, names with values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polygraph.ingest.content import LoadedTable
from polygraph.ingest.layout.table_rows import MAX_COLUMNS, grid_lines, row_line

_MAX_SPAN = 1_000
"""Rows that one cell may span."""
_MAX_GRID = 500_000
"""Cells of a grid with all spans filled; a table with more keeps its cells without spans."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table."""

    text: str
    is_header: bool
    n_columns: int
    n_rows: int

    @classmethod
    def of(cls, text: str, tag: str, attributes: Mapping[str, str]) -> "Cell":
        """Return a cell with the spans that its tag states."""
        return cls(
            text,
            tag == "th",
            _number(attributes.get("colspan", ""), MAX_COLUMNS),
            _number(attributes.get("rowspan", ""), _MAX_SPAN),
        )


def table_lines(rows: Sequence[Sequence[Cell]], caption: str) -> tuple[list[str], LoadedTable | None]:
    """Return the lines of a table, and its record if it has a header; see `table_rows.grid_lines`."""
    n_header = 0
    while n_header < len(rows) and all(cell.is_header for cell in rows[n_header]):
        n_header += 1
    begins_with_names = all(
        len(row) == 2 and row[0].is_header and not row[1].is_header for row in rows[n_header:]
    )
    if not n_header and begins_with_names:
        return [row_line([row[0].text], [row[1].text]) for row in rows if row[1].text], None
    grid = fill_spans(rows)
    # A table of header cells only has no rows below them.
    return grid_lines(grid, n_header if n_header < len(rows) else 0, caption)


def fill_spans(rows: Sequence[Sequence[Cell]]) -> list[list[str]]:
    """Return the texts of a table as a grid in which a cell stands in each row and column that it spans."""
    grid: list[list[str]] = []
    below: dict[int, tuple[str, int]] = {}  # column: text and number of rows that it still spans
    n_cells = 0
    for row in rows:
        filled: list[str] = []
        cells = iter(row)
        cell = next(cells, None)
        while cell is not None or len(filled) in below:
            column = len(filled)
            if column in below:
                text, left = below.pop(column)
                if left > 1:
                    below[column] = (text, left - 1)
                filled.append(text)
            elif cell is not None:
                for n in range(column, min(column + cell.n_columns, MAX_COLUMNS + 1)):
                    filled.append(cell.text)
                    if cell.n_rows > 1:
                        below[n] = (cell.text, cell.n_rows - 1)
                if len(filled) == column:
                    break  # wider than any table is read
                cell = next(cells, None)
        grid.append(filled)
        n_cells += len(filled)
        if n_cells > _MAX_GRID:
            return [[each.text for each in each_row] for each_row in rows]
    width = max(map(len, grid), default=0)
    return [[*row, *[""] * (width - len(row))] for row in grid]


def _number(value: str, most: int) -> int:
    return min(max(int(value), 1), most) if value.isascii() and value.isdigit() and len(value) < 6 else 1
