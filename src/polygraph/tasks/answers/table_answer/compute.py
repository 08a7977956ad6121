"""What a question asks of a table, computed over its rows; None wherever the question can be read in two ways."""

import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from polygraph.tasks.answers.table_answer.cells import is_empty
from polygraph.tasks.answers.table_answer.extremes import extreme, measured_column
from polygraph.tasks.answers.table_answer.filters import (
    RowFilter,
    column_choices,
    filter_text,
    is_sure,
    matching_rows,
    row_filters,
    rows_with,
)
from polygraph.tasks.answers.table_answer.groups import best_value, for_each
from polygraph.tasks.answers.table_answer.lookup import count_rows, look_up
from polygraph.tasks.answers.table_answer.question import AskedColumn, ColumnMention, Reading
from polygraph.tasks.answers.table_answer.shown import Result, cell_text, label, named_cell
from polygraph.tasks.answers.table_answer.units import with_unit
from polygraph.tasks.answers.table_answer.view import TableView
from polygraph.tasks.answers.table_answer.words import LESS, MORE, SPENT, YES_NO

_AGGREGATES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "sum": math.fsum,
    "mean": statistics.fmean,
    "median": statistics.median,
}


def compute(reading: Reading, table: TableView) -> Result | None:
    """Answer a question that was read, if all readings of it agree."""
    found: list[Result] = []
    for columns in column_choices(reading):
        asked, filters = row_filters(reading, table, columns)
        for each in filters:
            result = _one(reading, table, asked, each)
            if result is None or _excludes_model(reading, table, result):
                return None
            found.append(result)
    if not found or len({(result.answer, result.n_matching) for result in found}) > 1:
        return None
    return found[0]


def _excludes_model(reading: Reading, table: TableView, result: Result) -> bool:
    """Return whether a row names other models of the series than the question: error E5 of another machine."""
    cells = [column.cells[n].casefold() for column in table.columns for n in result.rows]
    for model in reading.models:
        series = re.match(r"[^\W\d_]+", model)
        if series is None:
            return True
        others = re.compile(rf"(?<!\w){re.escape(series[0])}[\W_]?\d[\w-]*")
        found = {name for cell in cells for name in others.findall(cell)}
        if found and model not in found:
            return True
    return False


def _one(reading: Reading, table: TableView, asked: list[AskedColumn], chosen: RowFilter) -> Result | None:
    """Answer one reading of a question."""
    if reading.group >= 0:
        of_all = replace(reading, group=-1)
        return for_each(table, chosen, reading.group, lambda each: _one(of_all, table, asked, each))
    if not is_sure(table, chosen):
        return None
    operators = list(dict.fromkeys(name for _, name, _ in reading.operators))
    if YES_NO.match(reading.question):
        return _yes_no(reading, table, asked, chosen) if not operators else None
    choice = _alternatives(reading, chosen)
    if choice is not None:
        return _which_of(reading, table, asked, chosen, choice)
    words = {token.text for token in reading.tokens}
    compared = words & (LESS | MORE) - (set() if words & SPENT else {"more"})
    if compared and not reading.conditions and not operators:
        return None  # a comparison of other things than two values
    if "than" in words and operators and not reading.conditions:
        return None  # a bound that no number sets: more than the average
    rows = matching_rows(table, chosen)
    if not rows:
        return None
    if operators == ["times"]:
        return _times(table, asked, chosen, rows)
    if not operators and words & SPENT:
        operators = ["sum"]
    if not operators:
        return look_up(reading, table, asked, chosen, rows)
    if operators == ["count"] and "we" in words and _counts_column(reading, table, asked):
        operators = ["sum"]  # how many bottles do we have
    if operators == ["count"]:
        return count_rows(reading, table, asked, chosen, rows)
    if len(operators) == 1 and operators[0] in _AGGREGATES:
        found = _aggregate(operators[0], table, _with_measured(reading, table, asked), chosen)
        return None if found is None else found[1]
    if len(operators) == 1:
        return extreme(reading, table, asked, chosen, rows, operators[0])
    if set(operators) == {"count", "sum"}:  # how many in total
        if not asked:
            return count_rows(reading, table, asked, chosen, rows)
        found = _aggregate("sum", table, asked, chosen)
        return None if found is None else found[1]
    return _best_of_groups(operators, table, asked, chosen)


def _times(
    table: TableView, asked: Sequence[AskedColumn], chosen: RowFilter, rows: Sequence[int]
) -> Result | None:
    """Return how often something was so: the rows of a table in which each row has its day."""
    n_dates = sum(column.kind == "date" for column in table.columns)
    if n_dates != 1 or not chosen.values or {c for _, c in asked} - {c for c, _ in chosen.values}:
        return None
    return Result(f"{len(rows)}", f"counted with {filter_text(table, chosen)}", tuple(rows), len(rows))


def _counts_column(reading: Reading, table: TableView, asked: Sequence[AskedColumn]) -> bool:
    """Return whether the noun behind *how many* is the whole name of a column of numbers."""
    at, _, phrase = next(operator for operator in reading.operators if operator[1] == "count")
    noun = at + len(phrase.split())
    return any(
        mention.first == mention.last == noun
        and table.columns[c].kind == "number"
        and table.name_words[c] == [reading.tokens[noun].stem]
        for mention, c in asked
    )


def _best_of_groups(
    operators: Sequence[str], table: TableView, asked: Sequence[AskedColumn], chosen: RowFilter
) -> Result | None:
    """Return the value of a column of which a sum or a mean is the largest or the smallest."""
    groups = {c for _, c in asked if table.columns[c].kind == "text" and c != table.key}
    rest = [(mention, c) for mention, c in asked if c not in groups]
    extremes = {"max", "min"}.intersection(operators)
    aggregates = _AGGREGATES.keys() & set(operators)
    if len(operators) != 2 or not (len(groups) == len(extremes) == len(aggregates) == 1):
        return None
    name, largest = aggregates.pop(), "max" in extremes
    return best_value(
        table, chosen, groups.pop(), lambda each: _aggregate(name, table, rest, each), largest=largest
    )


def _with_measured(reading: Reading, table: TableView, asked: list[AskedColumn]) -> list[AskedColumn]:
    """Return the columns that are asked for, with the one that an adjective is about: how warm, on average."""
    if any(table.columns[c].kind == "number" for _, c in asked):
        return asked
    measured = measured_column(reading, table, asked)
    at = reading.adjectives[0][0] if reading.adjectives else 0
    return asked if measured is None else [*asked, (ColumnMention(at, at, (measured,)), measured)]


def _aggregate(
    name: str, table: TableView, asked: Sequence[AskedColumn], chosen: RowFilter
) -> tuple[float, Result] | None:
    """Return the sum, the mean or the median of a column, as a number and as a result."""
    rows = matching_rows(table, chosen)
    numeric = {c for _, c in asked if table.columns[c].kind == "number"}
    if len(numeric) != 1 or {c for _, c in asked} - numeric - table.naming:
        return None
    c = numeric.pop()
    column = table.columns[c]
    counted = [n for n in rows if column.values[n] is not None]
    unit = table.units.of(c, counted)
    if not counted or unit is None:
        return None
    if name == "sum" and any(cell in table.lists[c].rows for c, cell in chosen.values):
        return None  # an amount may be for all that the cell lists
    numbers = [value.value for n in counted if (value := column.values[n]) is not None]
    result = float(_AGGREGATES[name](numbers))
    text = filter_text(table, chosen)
    how = f"{name} of {column.name}" + (f" with {text}" if text else "")
    return result, Result(with_unit(result, unit), how, tuple(counted), len(counted))


def _alternatives(reading: Reading, chosen: RowFilter) -> list[tuple[int, str]] | None:
    """Return the two values of one column that stand around an `or`; None if there are none."""
    for n in range(len(reading.values) - 1):
        one, other = reading.values[n], reading.values[n + 1]
        between = [token.text for token in reading.tokens[one.last + 1 : other.first]]
        if between in (["or"], ["or", "the"]) and chosen.values[n][0] == chosen.values[n + 1][0]:
            return [chosen.values[n], chosen.values[n + 1]]
    return None


def _which_of(
    reading: Reading,
    table: TableView,
    asked: list[AskedColumn],
    chosen: RowFilter,
    choice: list[tuple[int, str]],
) -> Result | None:
    """Compare the rows of two values by the column that is named."""
    order = _direction(reading)
    target = measured_column(reading, table, asked)
    if order == 0 or target is None:
        return None
    rest = tuple(value for value in chosen.values if value not in choice)
    sides = [matching_rows(table, replace(chosen, values=(*rest, value))) for value in choice]
    column = table.columns[target]
    if any(len(rows) != 1 for rows in sides):
        return None
    (first,), (second,) = sides
    a, b = column.values[first], column.values[second]
    if a is None or b is None or table.units.of(target, [first, second]) is None:
        return None
    name = table.columns[choice[0][0]]
    shown = [(name.cells[n], cell_text(table, target, n)) for n in (first, second)]
    if a.value == b.value:
        return Result(f"Both are equal: {column.name} {a.text}", "compared", (first, second), 2)
    if (a.value < b.value) == (order > 0):
        shown.reverse()
    won, lost = shown
    answer = f"{won[0]} ({column.name}: {won[1]}), against {lost[0]} ({lost[1]})"
    return Result(answer, f"{column.name} compared", (first, second), 2)


def _direction(reading: Reading) -> int:
    """Return 1 if the question asks for the larger of two, -1 for the smaller, 0 if it does not say."""
    words = {token.text for token in reading.tokens}
    more = bool(words & MORE) or any(name == "max" for _, name, _ in reading.operators)
    less = bool(words & LESS) or any(name == "min" for _, name, _ in reading.operators)
    return 0 if more == less else 1 if more else -1


def _yes_no(reading: Reading, table: TableView, asked: list[AskedColumn], chosen: RowFilter) -> Result | None:
    """Answer whether rows of the key have a value: does X run Debian, is X heavier than Y."""
    subjects = [value for value in chosen.values if value[0] == table.key]
    others = [value for value in chosen.values if value[0] != table.key]
    if any(table.columns[c].kind == "date" for c, _ in others):
        return None
    if re.search(r"\b(?:not|no|never|or|only|all|every)\b|n't\b", reading.question, re.IGNORECASE):
        return None
    if table.key < 0 or not subjects:
        return _whether(table, asked, chosen)
    rows = [table.cells[table.key][cell][0] for _, cell in subjects]
    if len(subjects) == 2 and not others and (order := _direction(reading)):
        target = measured_column(reading, table, asked)
        if target is None or " than " not in reading.question.casefold():
            return None
        a, b = (table.columns[target].values[n] for n in rows)
        if a is None or b is None or table.units.of(target, rows) is None:
            return None
        verdict = "Yes" if (a.value > b.value) == (order > 0) and a.value != b.value else "No"
        shown = "; ".join(f"{label(table, n)}, {named_cell(table, target, n)}" for n in rows)
        return Result(f"{verdict}: {shown}", "compared", tuple(rows), 2)
    words = {token.text for token in reading.tokens}
    if "same" in words:
        return _same(table, asked, rows) if len(subjects) == 2 and not others and not chosen.bounds else None
    both = len(subjects) == 2 and ("both" in words or " and " in reading.question)
    if len(others) != 1 or chosen.bounds or (len(subjects) > 1 and not both) or words & (LESS | MORE):
        return None
    if any(c != others[0][0] for _, c in asked):
        return None
    column, wanted = others[0]
    cells = [table.columns[column].cells[n] for n in rows]
    verdict = "Yes" if set(rows) <= rows_with(table, column, wanted) else "No"
    shown = "; ".join(
        f"{label(table, n)}, {table.columns[column].name}: {cell or 'empty'}"
        for n, cell in zip(rows, cells, strict=True)
    )
    return Result(f"{verdict}: {shown}", "compared", tuple(rows), len(rows))


def _whether(table: TableView, asked: Sequence[AskedColumn], chosen: RowFilter) -> Result | None:
    """Answer whether the one row that has some values also has what a column of *yes* and *no* says."""
    stated = [value for value in chosen.values if value[0] in table.flags]
    if len(stated) != 1 or len(chosen.values) < 2 or chosen.bounds or {c for _, c in asked} - table.naming:
        return None
    rows = matching_rows(table, replace(chosen, values=tuple(v for v in chosen.values if v not in stated)))
    if len(rows) != 1:
        return None
    column, wanted = stated[0]
    verdict = "Yes" if rows[0] in rows_with(table, column, wanted) else "No"
    shown = f"{label(table, rows[0])}, {named_cell(table, column, rows[0])}"
    return Result(f"{verdict}: {shown}", "compared", tuple(rows), len(rows))


def _same(table: TableView, asked: list[AskedColumn], rows: list[int]) -> Result | None:
    """Answer whether two rows have the same in the column that is named."""
    columns = {c for _, c in asked}
    if len(columns) != 1:
        return None
    c = columns.pop()
    column = table.columns[c]
    if any(is_empty(column.cells[n]) for n in rows) or table.units.of(c, rows) is None:
        return None
    one, other = (
        value.value if (value := column.values[n]) is not None else column.cells[n].casefold() for n in rows
    )
    shown = "; ".join(f"{label(table, n)}, {named_cell(table, c, n)}" for n in rows)
    return Result(f"{'Yes' if one == other else 'No'}: {shown}", "compared", tuple(rows), len(rows))
