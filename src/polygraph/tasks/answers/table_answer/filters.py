"""The rows that a question is about: each assignment of its values and bounds to columns of the table."""

import math
from dataclasses import dataclass
from itertools import product

from polygraph.tasks.answers.table_answer.cells import Column, same_unit
from polygraph.tasks.answers.table_answer.reading import ColumnMention, Condition, Reading
from polygraph.tasks.answers.table_answer.view import TableView

_MAX_READINGS = 16


@dataclass(frozen=True, slots=True)
class RowFilter:
    """One assignment of the values of a question to columns."""

    values: tuple[tuple[int, str], ...]
    bounds: tuple[tuple[int, Condition], ...]


def column_choices(reading: Reading) -> list[list[tuple[ColumnMention, int]]]:
    """Return each choice of one column for each mention; none if there are too many."""
    n = math.prod(len(mention.columns) for mention in reading.columns)
    if n > _MAX_READINGS:
        return []
    return [
        list(zip(reading.columns, choice, strict=True))
        for choice in product(*(mention.columns for mention in reading.columns))
    ]


def row_filters(
    reading: Reading, table: TableView, columns: list[tuple[ColumnMention, int]]
) -> tuple[list[tuple[ColumnMention, int]], list[RowFilter]]:
    """Return the columns that are asked for, and every assignment of values and bounds to columns."""
    used: set[int] = set()
    options: list[list[tuple[int, str]]] = []
    for value in reading.values:
        cells = sorted(value.cells)
        beside = [
            (m, c)
            for m, c in columns
            if (m.last + 1 == value.first or m.first - 1 == value.last)
            and any(c == each for each, _ in cells)
        ]
        if beside:
            used.add(id(beside[0][0]))
            cells = [(c, cell) for c, cell in cells if c == beside[0][1]]
        options.append(cells)
    asked = [(m, c) for m, c in columns if id(m) not in used]
    asked_columns = {c for _, c in asked}
    options = [[(c, cell) for c, cell in cells if c not in asked_columns] or cells for cells in options]
    if not reading.operators:
        # An attribute of what a row is about: the manager of X is that of the row of X.
        options = [[(c, cell) for c, cell in cells if c == table.key] or cells for cells in options]
    bound_options: list[list[tuple[int, Condition]]] = []
    for condition in reading.conditions:
        fitting = [c for c, column in enumerate(table.columns) if _can_bound(column, condition)]
        near = [
            (abs(m.first - condition.at), m, c)
            for m, c in asked
            if c in fitting and abs(m.first - condition.at) <= 4
        ]
        if near:
            _, mention, c = min(near, key=lambda each: each[0])
            fitting = [c]
            if len(asked) > 1 or reading.row_nouns:
                asked = [(m, each) for m, each in asked if m is not mention]
        bound_options.append([(c, condition) for c in fitting])
    if math.prod([*(len(each) for each in options), *(len(each) for each in bound_options)]) > _MAX_READINGS:
        return asked, []
    filters = [
        RowFilter(tuple(values), tuple(bounds))
        for values in product(*options)
        for bounds in product(*bound_options)
    ]
    return asked, filters


def _can_bound(column: Column, condition: Condition) -> bool:
    if condition.is_date:
        return column.kind == "date"
    return column.kind == "number" and (
        not condition.unit
        or same_unit(column.unit, condition.unit)
        or condition.unit.casefold() in column.name.casefold()
    )


def matching_rows(table: TableView, chosen: RowFilter) -> list[int]:
    """Return the rows that have one of the values in each column that is named, within the bounds."""
    wanted: dict[int, set[str]] = {}
    for c, cell in chosen.values:
        wanted.setdefault(c, set()).add(cell)
    found = None
    for c, cells in wanted.items():
        rows = {n for cell in cells for n in table.cells[c].get(cell, ())}
        found = rows if found is None else found & rows
    if found is None:
        found = set(range(len(table.rows)))
    for c, bound in chosen.bounds:
        values = table.columns[c].values
        found = {n for n in found if (v := values[n]) is not None and bound.low <= v.value <= bound.high}
    return sorted(found)


def filter_text(table: TableView, chosen: RowFilter) -> str:
    """Return a filter as an answer shows it."""
    parts = []
    wanted: dict[int, list[str]] = {}
    for c, cell in chosen.values:
        wanted.setdefault(c, []).append(table.columns[c].cells[table.cells[c][cell][0]])
    for c, cells in wanted.items():
        parts.append(f"{table.columns[c].name}: {' or '.join(dict.fromkeys(cells))}")
    parts += [f"{table.columns[c].name} {bound.text}" for c, bound in chosen.bounds]
    return "; ".join(parts)
