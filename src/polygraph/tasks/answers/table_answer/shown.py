"""What an answer shows of the rows that it gives: their names, descriptions, compared cells and replacements."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from polygraph.tasks.answers.table_answer.cells import is_empty
from polygraph.tasks.answers.table_answer.view import TableView

MAX_LISTED = 10
"""Values that an answer lists; a longer list is not given."""
_CODE = re.compile(r"(?=.*\d)[\w./-]+")
"""A cell that says nothing to those who do not know it."""


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a question for one table."""

    answer: str
    """What is asked for."""
    how: str
    """The operation, with the filter."""
    rows: tuple[int, ...]
    """Positions of the rows that it rests on, those that are shown first."""
    n_matching: int
    """Rows within the filter."""


def label_column(table: TableView, row: int) -> int:
    """Return the column that names a row: its key, else its first text; -1 if it has none."""
    order = [table.key] if table.key >= 0 else []
    order += [c for c, column in enumerate(table.columns) if column.kind == "text"]
    return next((c for c in order if table.columns[c].cells[row]), -1)


def label(table: TableView, row: int) -> str:
    """Return the name of a row with that of its column."""
    column = label_column(table, row)
    if column < 0:
        return f"row {row + 1}"
    return f"{column_name(table, column)}: {row_name(table, column, row)}"


def column_name(table: TableView, column: int) -> str:
    """Return the name of a column; of one that numbers persons, that of what is shown instead."""
    return "Name" if column == table.key and table.name_parts else table.columns[column].name


def row_name(table: TableView, column: int, row: int) -> str:
    """Return a cell; for the number of a person, first and last name."""
    parts = table.name_parts if column == table.key else ()
    return " ".join([table.columns[c].cells[row] for c in parts or (column,)]).strip()


def cell_text(table: TableView, column: int, row: int) -> str:
    """Return a cell with the unit that a column beside it gives."""
    unit = table.units.beside(column, row)
    return f"{table.columns[column].cells[row]} {unit}".strip()


def named_cell(table: TableView, column: int, row: int) -> str:
    """Return a cell with the name of its column."""
    return f"{table.columns[column].name}: {cell_text(table, column, row)}"


def replacement(table: TableView, row: int) -> str:
    """Return what replaces a row, as the table says it; empty if nothing does."""
    c = table.replaced
    return "" if c < 0 or is_empty(table.columns[c].cells[row]) else named_cell(table, c, row)


def described(
    table: TableView,
    column: int,
    row: int,
    compared: Sequence[int],
    *,
    without: Collection[int] = (),
    named: str = "",
) -> str:
    """Return a cell that names a row, with its description, what was compared, and its replacement.

    Args:
        table: the table.
        column: the column of the cell.
        row: the row.
        compared: columns whose cells decided that the row is given.
        without: columns that the answer shows elsewhere.
        named: what is shown instead of the cell alone.
    """
    cell = row_name(table, column, row) if column >= 0 else ""
    notes = []
    d = table.description
    if (
        d >= 0
        and d not in (column, *compared, *without)
        and _CODE.fullmatch(cell)
        and table.columns[d].cells[row]
    ):
        notes.append(table.columns[d].cells[row])
    notes += [named_cell(table, c, row) for c in dict.fromkeys(compared) if c not in (column, table.replaced)]
    if (
        column != table.replaced
        and table.replaced not in (*compared, *without)
        and (note := replacement(table, row))
    ):
        notes.append(note)
    return f"{named or cell} ({'; '.join(notes)})" if notes else named or cell
