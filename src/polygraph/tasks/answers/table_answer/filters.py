"""The rows that a question is about: each assignment of its values and bounds to columns of the table."""

import math
import re
from dataclasses import dataclass, replace
from itertools import product

from polygraph.tasks.answers.table_answer.cells import Column, is_empty, same_unit
from polygraph.tasks.answers.table_answer.lists import EVERY_VALUE
from polygraph.tasks.answers.table_answer.question import (
    AskedColumn,
    ColumnMention,
    Condition,
    Reading,
    ValueMention,
    is_beside,
)
from polygraph.tasks.answers.table_answer.view import TableView

_MAX_READINGS = 16
_FORMS_OF_BE = ("is", "are", "was", "were")


@dataclass(frozen=True, slots=True)
class RowFilter:
    """One assignment of the values of a question to columns."""

    values: tuple[tuple[int, str], ...]
    bounds: tuple[tuple[int, Condition], ...]
    denied: frozenset[tuple[int, str]] = frozenset()
    """Those of `values` that a row must not have."""


def column_choices(reading: Reading) -> list[list[AskedColumn]]:
    """Return each choice of one column for each mention; none if there are too many."""
    n = math.prod(len(mention.columns) for mention in reading.columns)
    if n > _MAX_READINGS:
        return []
    return [
        list(zip(reading.columns, choice, strict=True))
        for choice in product(*(mention.columns for mention in reading.columns))
    ]


def row_filters(
    reading: Reading, table: TableView, columns: list[AskedColumn]
) -> tuple[list[AskedColumn], list[RowFilter]]:
    """Return the columns that are asked for, and every assignment of values and bounds to columns."""
    used: set[int] = set()
    options: list[list[tuple[int, str]]] = []
    for value in reading.values:
        cells = sorted(value.cells)
        beside = [
            (m, c)
            for m, c in columns
            if (m.first - 1 == value.last or _names_column(reading, table, m, c, value))
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
        options = [
            [(c, cell) for c, cell in cells if c == table.key]
            or [(c, cell) for c, cell in cells if c in table.naming]
            or cells
            for cells in options
        ]
    bound_options: list[list[tuple[int, Condition]]] = []
    for condition in reading.conditions:
        fitting = [c for c, column in enumerate(table.columns) if _can_bound(column, condition)]
        if condition.column >= 0:
            fitting = [condition.column]
        near = [
            (abs(m.first - condition.at), m, c)
            for m, c in asked
            if c in fitting and abs(m.first - condition.at) <= 4
        ]
        if near:
            _, mention, c = min(near, key=lambda each: each[0])
            fitting = [c]
            if len(asked) > 1 or reading.row_nouns or asks_for_persons(reading, table):
                asked = [(m, each) for m, each in asked if m is not mention]
        bound_options.append([(c, condition) for c in fitting])
    if math.prod([*(len(each) for each in options), *(len(each) for each in bound_options)]) > _MAX_READINGS:
        return asked, []
    filters = [
        RowFilter(
            tuple(values),
            tuple(bounds),
            frozenset(cell for cell, value in zip(values, reading.values, strict=True) if value.is_denied),
        )
        for values in product(*options)
        for bounds in product(*bound_options)
    ]
    return asked, filters


def asks_for_persons(reading: Reading, table: TableView) -> bool:
    """Return whether a question asks which rows of a table of persons: who works in Leeds, not who is Ann Roe."""
    words = [token.text for token in reading.tokens]
    if not table.persons or "who" not in words:
        return False
    named = (value for value in reading.values if value.first and words[value.first - 1] in _FORMS_OF_BE)
    return not any(
        reading.question[reading.tokens[value.first].start].isupper()
        or _is_full_name(value_text(table, *cell))
        for value in named
        for cell in value.cells
        if cell[0] not in table.flags
    )


def _is_full_name(text: str) -> bool:
    """Return whether a text is several words with capitals."""
    parts = text.split()
    return len(parts) > 1 and all(part[0].isupper() for part in parts)


def _names_column(
    reading: Reading, table: TableView, mention: ColumnMention, column: int, value: ValueMention
) -> bool:
    """Return whether a column is said before its value: grade 5, a grade of 5; but not the manager of Petra Holm."""
    if mention.last + 1 == value.first:
        return True
    return table.columns[column].kind == "number" and is_beside(reading, mention.last, value.first)


def _can_bound(column: Column, condition: Condition) -> bool:
    if condition.is_date:
        return column.kind == "date"
    return column.kind == "number" and (
        not condition.unit
        or same_unit(column.unit, condition.unit)
        or condition.unit.casefold() in column.name.casefold()
    )


def rows_with(table: TableView, column: int, value: str) -> set[int]:
    """Return the rows that have a value: as their cell, among others in a list, or by a cell that says `all`."""
    if not value:
        return {n for n, cell in enumerate(table.columns[column].cells) if is_empty(cell)}
    lists = table.lists[column]
    return {*table.cells[column].get(value, ()), *lists.rows.get(value, ()), *lists.for_all}


def is_sure(table: TableView, chosen: RowFilter) -> bool:
    """Return whether the rows of a filter are clear.

    They are not if it could have more rows, with a value inside a cell that is no list ("VX-10 from 2021"); if it is
    not said whether rows must list one or all of several values; or if numbers of several units are compared with one
    bound.
    """
    if any(rows_with(table, c, "") for c, _ in chosen.denied):
        return False  # an unknown status may be any
    for c, value in chosen.values:
        others = [other for each, other in chosen.values if each == c and other != value]
        rows = rows_with(table, c, value)
        if others and table.lists[c].rows and any(rows_with(table, c, other) != rows for other in others):
            return False
    if matching_rows(table, chosen) != matching_rows(table, chosen, with_doubtful=True):
        return False
    if not chosen.bounds:
        return True
    unbounded = matching_rows(table, replace(chosen, bounds=()))
    return all(
        bound.is_date or bound.low == bound.high == 0 or table.units.of(c, unbounded) is not None
        for c, bound in chosen.bounds
    )


def _doubtful_rows(table: TableView, column: int, values: set[str]) -> set[int]:
    """Return the rows whose cell has one of some values within it, or may mean it by `all`."""
    if column == table.key or "" in values:
        return set()
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, values))})(?!\w)")
    return {
        n
        for cell, rows in table.cells[column].items()
        if cell not in values and (cell in EVERY_VALUE or pattern.search(cell) is not None)
        for n in rows
    }


def matching_rows(table: TableView, chosen: RowFilter, *, with_doubtful: bool = False) -> list[int]:
    """Return the rows that have one of the values in each column that is named, within the bounds.

    Args:
        table: the table.
        chosen: values and bounds.
        with_doubtful: whether a value may also stand anywhere within a cell.
    """
    wanted: dict[tuple[int, bool], set[str]] = {}
    for c, cell in chosen.values:
        wanted.setdefault((c, (c, cell) in chosen.denied), set()).add(cell)
    found = set(range(len(table.rows)))
    for (c, is_denied), cells in wanted.items():
        rows = set().union(
            *(rows_with(table, c, cell) for cell in cells),
            _doubtful_rows(table, c, cells) if with_doubtful else (),
        )
        found = found - rows if is_denied else found & rows
    for c, bound in chosen.bounds:
        values = table.columns[c].values
        found = {n for n in found if (v := values[n]) is not None and bound.low <= v.value <= bound.high}
    return sorted(found)


def filter_text(table: TableView, chosen: RowFilter) -> str:
    """Return a filter as an answer shows it."""
    parts = []
    wanted: dict[int, list[str]] = {}
    for c, cell in chosen.values:
        denied = "not " if (c, cell) in chosen.denied else ""
        wanted.setdefault(c, []).append(f"{denied}{value_text(table, c, cell)}")
    for c, cells in wanted.items():
        is_listed = any(cell in table.lists[c].rows for each, cell in chosen.values if each == c)
        also = ", alone or with others" if is_listed else ""
        parts.append(f"{table.columns[c].name}: {' or '.join(dict.fromkeys(cells))}{also}")
    parts += [f"{table.columns[c].name} {bound.text}" for c, bound in chosen.bounds]
    return "; ".join(parts)


def value_text(table: TableView, column: int, value: str) -> str:
    """Return a value as the table writes it."""
    if not value:
        return "empty"
    rows = table.cells[column].get(value)
    return table.columns[column].cells[rows[0]] if rows else table.lists[column].texts.get(value, value)
