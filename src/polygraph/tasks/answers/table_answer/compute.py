"""What a question asks of a table, computed over its rows; None wherever the question can be read in two ways."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from polygraph.tasks.answers.table_answer.cells import Column
from polygraph.tasks.answers.table_answer.filters import (
    RowFilter,
    column_choices,
    filter_text,
    matching_rows,
    row_filters,
)
from polygraph.tasks.answers.table_answer.reading import ColumnMention, Reading
from polygraph.tasks.answers.table_answer.view import TableView
from polygraph.tasks.answers.table_answer.words import ADJECTIVES, LESS, MORE, YES_NO
from polygraph.text.prose import join_list
from polygraph.text.words import stem

MAX_LISTED = 10
"""Values that an answer lists; a longer list is not given."""
_QUANTITY = frozenset(
    map(stem, ("quantity", "count", "number", "stock", "units", "pieces", "amount", "seats", "population"))
)
"""Names of columns that count things, so that rows do not."""


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


def compute(reading: Reading, table: TableView) -> Result | None:
    """Answer a question that was read, if all readings of it agree."""
    found: list[Result] = []
    for columns in column_choices(reading):
        asked, filters = row_filters(reading, table, columns)
        for each in filters:
            result = _one(reading, table, asked, each)
            if result is None:
                return None
            found.append(result)
    if not found or len({(result.answer, result.n_matching) for result in found}) > 1:
        return None
    return found[0]


def _one(
    reading: Reading, table: TableView, asked: list[tuple[ColumnMention, int]], chosen: RowFilter
) -> Result | None:
    """Answer one reading of a question."""
    operators = list(dict.fromkeys(name for _, name, _ in reading.operators))
    if YES_NO.match(reading.question):
        return _yes_no(reading, table, asked, chosen) if not operators else None
    choice = _alternatives(reading, chosen)
    if choice is not None:
        return _which_of(reading, table, asked, chosen, choice)
    words = {token.text for token in reading.tokens}
    if words & (LESS | MORE) - {"more"} and not reading.conditions and not operators:
        return None  # a comparison of other things than two values
    rows = matching_rows(table, chosen)
    if not rows:
        return None
    if not operators:
        return _look_up(reading, table, asked, chosen, rows)
    if operators == ["count"]:
        return _count(reading, table, asked, chosen, rows)
    if operators in (["sum"], ["mean"]):
        return _aggregate(operators[0], reading, table, asked, chosen, rows)
    if len(operators) == 1:
        return _extreme(reading, table, asked, chosen, rows, operators[0])
    if set(operators) == {"count", "sum"}:  # how many in total
        return (
            _aggregate("sum", reading, table, asked, chosen, rows)
            if asked
            else _count(reading, table, asked, chosen, rows)
        )
    return None


def _label(table: TableView, row: int) -> str:
    """Return the name of a row: its key, else its first text."""
    order = [table.key] if table.key >= 0 else []
    order += [c for c, column in enumerate(table.columns) if column.kind == "text"]
    column = next((c for c in order if table.columns[c].cells[row]), -1)
    return (
        f"{table.columns[column].name}: {table.columns[column].cells[row]}"
        if column >= 0
        else f"row {row + 1}"
    )


def _number(value: float) -> str:
    rounded = round(value, 2)
    return f"{rounded:,.0f}" if float(rounded).is_integer() else f"{rounded:,.2f}".rstrip("0")


def _with_unit(value: float, column: Column) -> str:
    if not column.unit:
        return _number(value)
    return f"{column.unit}{_number(value)}" if column.unit in "£$€" else f"{_number(value)} {column.unit}"


def _look_up(
    reading: Reading,
    table: TableView,
    asked: list[tuple[ColumnMention, int]],
    chosen: RowFilter,
    rows: list[int],
) -> Result | None:
    if not chosen.values and not chosen.bounds:
        return None
    words = {token.text for token in reading.tokens}
    targets = list(dict.fromkeys(c for _, c in asked))
    used = {c for c, _ in chosen.values}
    if not targets:
        by_adjective = {c for _, word in reading.adjectives for c in _columns_of(table, word)}
        dates = [c for c, column in enumerate(table.columns) if column.kind == "date"]
        if len(by_adjective) == 1:
            targets = list(by_adjective)
        elif "when" in words and len(dates) == 1:
            targets = dates
        elif (
            {"which", "what", "list", "who"} & words
            and reading.row_nouns
            and table.key >= 0
            and table.key not in used
        ):
            targets = [table.key]
    targets = [c for c in targets if c not in used]
    if not targets or ("how" in words and not reading.adjectives and not {"much", "many"} & words):
        return None
    if len(rows) > 1 and (len(targets) > 1 or table.columns[targets[0]].kind in ("number", "date")):
        return None  # which of the rows is not said
    shown = []
    for c in targets:
        cells = list(dict.fromkeys(table.columns[c].cells[n] for n in rows if table.columns[c].cells[n]))
        if not cells or len(cells) > MAX_LISTED:
            return None
        shown.append(f"{table.columns[c].name}: {join_list(cells)}")
    return Result("; ".join(shown), f"looked up with {filter_text(table, chosen)}", tuple(rows), len(rows))


def _count(
    reading: Reading,
    table: TableView,
    asked: list[tuple[ColumnMention, int]],
    chosen: RowFilter,
    rows: list[int],
) -> Result | None:
    at = next(n for n, name, _ in reading.operators if name == "count")
    phrase = next(text for n, name, text in reading.operators if name == "count")
    following = at + len(phrase.split())
    mention = next(((m, c) for m, c in asked if m.first >= following), None)
    noun = next((n for n in reading.row_nouns if n >= following), None)
    in_values = {n for value in reading.values for n in range(value.first, value.last + 1)}
    if noun is not None and not all(n in in_values or n in reading.row_nouns for n in range(following, noun)):
        noun = None  # a verb, as in: how many lamps were ordered
    text = filter_text(table, chosen)
    how = f"counted with {text}" if text else "counted"
    is_first = mention is not None and (noun is None or mention[0].first <= noun)
    if mention is not None and is_first and mention[1] != table.key:
        column = table.columns[mention[1]]
        if len(asked) > 1:
            return None
        if column.kind == "number":
            # How many seats does the course have: the cell of one row, or nothing if there are several.
            return _look_up(reading, table, asked, chosen, rows) if len(rows) == 1 else None
        cells = {cell.casefold() for n in rows if (cell := column.cells[n])}
        names = f"different {column.name}"
        return (
            Result(f"{len(cells)}", f"{names} {how}", tuple(rows), len(rows))
            if column.kind == "text"
            else None
        )
    if any(m.first >= following and c != table.key for m, c in asked):
        return None
    if noun is None and mention is None:
        # How many laptops: rows count only if no column counts.
        named = [v for v in reading.values if v.first >= following]
        counts = any(_QUANTITY & set(words) for words in table.name_words)
        if not named or counts or table.key < 0:
            return None
    return Result(f"{len(rows)}", how, tuple(rows), len(rows))


def _aggregate(
    name: str,
    reading: Reading,
    table: TableView,
    asked: list[tuple[ColumnMention, int]],
    chosen: RowFilter,
    rows: list[int],
) -> Result | None:
    if not (chosen.values or chosen.bounds or reading.row_nouns or any(c == table.key for _, c in asked)):
        return None  # the total of what
    numeric = {c for _, c in asked if table.columns[c].kind == "number"}
    if len(numeric) != 1 or {c for _, c in asked} - numeric - {table.key}:
        return None
    column = table.columns[numeric.pop()]
    values = [value.value for n in rows if (value := column.values[n]) is not None]
    if not values:
        return None
    total = math.fsum(values)
    result = total if name == "sum" else total / len(values)
    text = filter_text(table, chosen)
    how = f"{'sum' if name == 'sum' else 'mean'} of {column.name}" + (f" with {text}" if text else "")
    return Result(
        _with_unit(result, column), how, tuple(n for n in rows if column.values[n] is not None), len(values)
    )


def _columns_of(table: TableView, adjective: str) -> list[int]:
    """Return the columns of numbers or dates that an adjective is about, by their names."""
    stems = set(map(stem, ADJECTIVES.get(adjective, "").split()))
    return [
        c
        for c, column in enumerate(table.columns)
        if column.kind in ("number", "date") and stems & set(table.name_words[c])
    ]


def _target(reading: Reading, table: TableView, asked: list[tuple[ColumnMention, int]]) -> int | None:
    """Return the column that is compared: the one that is named, else the only one that an adjective is about."""
    measured = list(dict.fromkeys(c for _, c in asked if table.columns[c].kind in ("number", "date")))
    if len(measured) == 1:
        return measured[0]
    by_adjective = {c for _, word in reading.adjectives for c in _columns_of(table, word)}
    return by_adjective.pop() if not measured and len(by_adjective) == 1 else None


def _extreme(
    reading: Reading,
    table: TableView,
    asked: list[tuple[ColumnMention, int]],
    chosen: RowFilter,
    rows: list[int],
    operator: str,
) -> Result | None:
    target = _target(reading, table, asked)
    others = [c for c in dict.fromkeys(c for _, c in asked) if c != target]
    if target is None:
        return _most_rows(reading, table, others, chosen, rows, operator)
    column = table.columns[target]
    largest = operator == "max"
    phrase = next(text for _, name, text in reading.operators if name == operator)
    if phrase in ("oldest", "youngest"):
        largest = (phrase == "youngest") if column.kind == "date" else (phrase == "oldest")
    elif phrase in ("latest", "newest", "earliest", "most recent") and column.kind != "date":
        return None
    known = [(value, n) for n in rows if (value := column.values[n]) is not None]
    if len(known) < 2 or len(others) > 1:
        return None
    best = (max if largest else min)(value.value for value, _ in known)
    holders = [n for value, n in known if value.value == best]
    if len(holders) > MAX_LISTED:
        return None
    named = (
        [table.columns[others[0]].cells[n] for n in holders]
        if others
        else [_label(table, n) for n in holders]
    )
    text = filter_text(table, chosen)
    kind = "largest" if largest else "smallest"
    how = f"{kind} {column.name} of {len(known)} rows" + (f" with {text}" if text else "")
    shown = f"{join_list(list(dict.fromkeys(named)))} ({column.name}: {column.cells[holders[0]]})"
    return Result(shown, how, tuple(holders), len(known))


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
    if column.kind != "text":
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
    asked: list[tuple[ColumnMention, int]],
    chosen: RowFilter,
    choice: list[tuple[int, str]],
) -> Result | None:
    """Compare the rows of two values by the column that is named."""
    order = _direction(reading)
    target = _target(reading, table, asked)
    if order == 0 or target is None:
        return None
    rest = tuple(value for value in chosen.values if value not in choice)
    sides = [matching_rows(table, RowFilter((*rest, value), chosen.bounds)) for value in choice]
    column = table.columns[target]
    if any(len(rows) != 1 or column.values[rows[0]] is None for rows in sides):
        return None
    first, second = sides[0][0], sides[1][0]
    a, b = column.values[first], column.values[second]
    if a is None or b is None:
        return None
    name = table.columns[choice[0][0]]
    shown = [(name.cells[n], column.cells[n]) for n in (first, second)]
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


def _yes_no(
    reading: Reading, table: TableView, asked: list[tuple[ColumnMention, int]], chosen: RowFilter
) -> Result | None:
    """Answer whether rows of the key have a value: does X run Debian, is X heavier than Y."""
    subjects = [value for value in chosen.values if value[0] == table.key]
    others = [value for value in chosen.values if value[0] != table.key]
    if table.key < 0 or not subjects or any(table.columns[c].kind == "date" for c, _ in others):
        return None
    if re.search(r"\b(?:not|no|never|or|only|all|every)\b|n't\b", reading.question, re.IGNORECASE):
        return None
    rows = [table.cells[table.key][cell][0] for _, cell in subjects]
    if len(subjects) == 2 and not others and (order := _direction(reading)):
        target = _target(reading, table, asked)
        if target is None or " than " not in reading.question.casefold():
            return None
        a, b = (table.columns[target].values[n] for n in rows)
        if a is None or b is None:
            return None
        verdict = "Yes" if (a.value > b.value) == (order > 0) and a.value != b.value else "No"
        shown = "; ".join(
            f"{_label(table, n)}, {table.columns[target].name}: {table.columns[target].cells[n]}"
            for n in rows
        )
        return Result(f"{verdict}: {shown}", "compared", tuple(rows), 2)
    words = {token.text for token in reading.tokens}
    both = len(subjects) == 2 and ("both" in words or " and " in reading.question)
    if len(others) != 1 or chosen.bounds or (len(subjects) > 1 and not both) or words & (LESS | MORE):
        return None
    if any(c != others[0][0] for _, c in asked):
        return None
    column, wanted = others[0]
    cells = [table.columns[column].cells[n] for n in rows]
    verdict = "Yes" if all(" ".join(cell.casefold().split()) == wanted for cell in cells) else "No"
    shown = "; ".join(
        f"{_label(table, n)}, {table.columns[column].name}: {cell or 'empty'}"
        for n, cell in zip(rows, cells, strict=True)
    )
    return Result(f"{verdict}: {shown}", "compared", tuple(rows), len(rows))
