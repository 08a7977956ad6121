"""Results for each value of a column: salaries by department, the department with the highest average salary."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from polygraph.tasks.answers.table_answer.filters import RowFilter, matching_rows, value_text
from polygraph.tasks.answers.table_answer.shown import MAX_LISTED, Result
from polygraph.tasks.answers.table_answer.view import TableView

_T = TypeVar("_T")


def for_each(
    table: TableView, chosen: RowFilter, column: int, compute: Callable[[RowFilter], Result | None]
) -> Result | None:
    """Return the results for all values of a column, in the order of the rows; None if one is not known.

    Args:
        table: the table.
        chosen: the rows that are asked about.
        column: of the values.
        compute: returns the result for the rows of a filter.
    """
    found, whole = _by_value(table, chosen, column, compute), compute(chosen)
    if found is None:
        return None
    answer = "; ".join(
        f"{value_text(table, column, value)}: {result.answer}" for value, result in found.items()
    )
    rows = tuple(n for result in found.values() for n in result.rows)
    n_matching = sum(result.n_matching for result in found.values())
    # Amounts of several currencies have no sum, but those of each currency do.
    how = f"{whole.how}, for each" if whole is not None else "for each"
    return Result(answer, f"{how} {table.columns[column].name}", rows, n_matching)


def best_value(
    table: TableView,
    chosen: RowFilter,
    column: int,
    compute: Callable[[RowFilter], tuple[float, Result] | None],
    *,
    largest: bool,
) -> Result | None:
    """Return the value of a column whose rows have the largest or the smallest result; None if two have it.

    Args:
        table: the table.
        chosen: the rows that are asked about.
        column: of the values.
        compute: returns a number for the rows of a filter, and the result that shows it.
        largest: whether the largest is asked for.
    """
    found, whole = _by_value(table, chosen, column, compute), compute(chosen)
    if found is None or whole is None:
        return None
    best = (max if largest else min)(number for number, _ in found.values())
    holders = [(value, result) for value, (number, result) in found.items() if number == best]
    if len(holders) > 1:
        return None
    ((value, result),) = holders
    how = f"{'largest' if largest else 'smallest'} {whole[1].how}, for each {table.columns[column].name}"
    answer = f"{value_text(table, column, value)} ({result.answer})"
    return Result(answer, how, result.rows, whole[1].n_matching)


def _by_value(
    table: TableView, chosen: RowFilter, column: int, compute: Callable[[RowFilter], _T | None]
) -> dict[str, _T] | None:
    """Return what is computed for each value of a column, by case-folded cell; None if it is not known for one."""
    rows = set(matching_rows(table, chosen))
    values = [value for value, with_it in table.cells[column].items() if not rows.isdisjoint(with_it)]
    if not 2 <= len(values) <= MAX_LISTED or table.lists[column].rows:
        return None
    found: dict[str, _T] = {}
    for value in values:
        result = compute(replace(chosen, values=(*chosen.values, (column, value))))
        if result is None:
            return None
        found[value] = result
    return found
