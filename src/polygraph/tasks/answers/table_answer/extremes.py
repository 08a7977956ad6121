"""Extremes: the rows with the largest or smallest cell, and the value that most rows have."""

from collections.abc import Sequence

from polygraph.tasks.answers.table_answer.filters import RowFilter, filter_text
from polygraph.tasks.answers.table_answer.lookup import columns_of
from polygraph.tasks.answers.table_answer.question import AskedColumn, Reading
from polygraph.tasks.answers.table_answer.shown import (
    MAX_LISTED,
    Result,
    described,
    label,
    label_column,
)
from polygraph.tasks.answers.table_answer.view import TableView, plain_words
from polygraph.tasks.answers.table_answer.words import OF_TIME
from polygraph.text.prose import count_noun, join_list

_OF_AGE = OF_TIME | {"oldest", "youngest"}
"""Operators that ask for the only years of a table, if they do not say of which column."""


def measured_column(reading: Reading, table: TableView, asked: list[AskedColumn]) -> int | None:
    """Return the column that is compared: the one that is named, else the only one that an adjective is about."""
    measured = list(dict.fromkeys(c for _, c in asked if table.columns[c].kind in ("number", "date")))
    if len(measured) == 1:
        return measured[0]
    by_adjective = {c for _, word in reading.adjectives for c in columns_of(table, word)}
    return by_adjective.pop() if not measured and len(by_adjective) == 1 else None


def extreme(
    reading: Reading,
    table: TableView,
    asked: list[AskedColumn],
    chosen: RowFilter,
    rows: list[int],
    operator: str,
) -> Result | None:
    """Return the rows with the largest or smallest cell of a column."""
    target = measured_column(reading, table, asked)
    phrase = next(text for _, name, text in reading.operators if name == operator)
    years = [c for c, column in enumerate(table.columns) if column.has_years]
    if target is None and phrase in _OF_AGE and len(years) == 1:
        target = years[0]
    others = [c for c in dict.fromkeys(c for _, c in asked) if c != target]
    if target is None:
        return _most_rows(reading, table, others, chosen, rows, operator)
    column = table.columns[target]
    largest = operator == "max"
    is_time = column.kind == "date" or column.has_years
    if phrase in ("oldest", "youngest"):
        largest = (phrase == "youngest") if is_time else (phrase == "oldest")
    elif phrase in OF_TIME:
        named = OF_TIME & set(plain_words(column.name))
        if not is_time or named - {phrase}:
            return None  # the first of the last deliveries
    known = [(value, n) for n in rows if (value := column.values[n]) is not None]
    if len(known) < 2 or len(others) > 1:
        return None
    best = (max if largest else min)(value.value for value, _ in known)
    holders = [n for value, n in known if value.value == best]
    if len(holders) > MAX_LISTED:
        return None
    if table.units.of(target, [n for _, n in known]) is None:
        return None
    text = filter_text(table, chosen)
    kinds = ("latest", "earliest") if is_time else ("largest", "smallest")
    kind = kinds[0] if largest else kinds[1]
    how = f"{kind} {column.name} of {count_noun(len(known), 'row')}" + (f" with {text}" if text else "")
    used = [c for c, _ in chosen.values]
    shown = [
        described(
            table,
            others[0] if others else label_column(table, n),
            n,
            [target],
            without=used,
            named="" if others else label(table, n),
        )
        for n in holders
    ]
    return Result(join_list(list(dict.fromkeys(shown))), how, tuple(holders), len(known))


def _most_rows(
    reading: Reading,
    table: TableView,
    others: Sequence[int],
    chosen: RowFilter,
    rows: list[int],
    operator: str,
) -> Result | None:
    """Return the value of a column that most rows have: which customer placed the most orders."""
    at = next(n for n, name, _ in reading.operators if name == operator)
    phrase = next(text for _, name, text in reading.operators if name == operator)
    noun = any(n == at + len(phrase.split()) for n in reading.row_nouns)
    if phrase not in ("most", "fewest", "least") or not noun or len(others) != 1 or others[0] == table.key:
        return None
    column = table.columns[others[0]]
    if column.kind != "text" or table.lists[others[0]].rows:
        return None
    groups: dict[str, list[int]] = {}
    for n in rows:
        if column.cells[n]:
            groups.setdefault(column.cells[n], []).append(n)
    size = (max if phrase == "most" else min)(map(len, groups.values()), default=0)
    best = [cell for cell, members in groups.items() if len(members) == size]
    if len(groups) < 2 or len(best) > 3:
        return None
    text = filter_text(table, chosen)
    how = f"rows counted for each {column.name}" + (f" with {text}" if text else "")
    members = tuple(n for cell in best for n in groups[cell])
    return Result(f"{join_list(best)} ({size})", how, members, len(rows))
