"""Look-up: cells of the rows that a question is about, and how many things there are of what it names."""

import re

from polygraph.tasks.answers.table_answer.cells import Column, is_empty
from polygraph.tasks.answers.table_answer.filters import RowFilter, asks_for_persons, filter_text
from polygraph.tasks.answers.table_answer.question import DETERMINERS, AskedColumn, Reading, ValueMention
from polygraph.tasks.answers.table_answer.shown import (
    MAX_LISTED,
    Result,
    cell_text,
    column_name,
    described,
    replacement,
)
from polygraph.tasks.answers.table_answer.view import QUANTITY, TableView, plain_words
from polygraph.tasks.answers.table_answer.words import ADJECTIVES, COUNTED, LIGHT, PERSONS, singular
from polygraph.text.prose import join_list
from polygraph.text.words import stem

_AMOUNT = re.compile(r"[£$€~]?\s?\d[\d.,]*(?=$|[\s,;–-])")


def look_up(
    reading: Reading,
    table: TableView,
    asked: list[AskedColumn],
    chosen: RowFilter,
    rows: list[int],
) -> Result | None:
    """Return the cells of the columns that are asked for."""
    if not chosen.values and not chosen.bounds:
        return _distinct(reading, table, asked, chosen, rows)
    words = {token.text for token in reading.tokens}
    targets = list(dict.fromkeys(c for _, c in asked))
    used = {c for c, _ in chosen.values}
    dates = [c for c, column in enumerate(table.columns) if column.kind == "date"]
    if not targets:
        by_adjective = {c for _, word in reading.adjectives for c in columns_of(table, word)}
        if len(by_adjective) == 1:
            targets = list(by_adjective)
        elif table.key >= 0 and table.key not in used and _asks_for_rows(reading, table):
            targets = [table.key]
    if "when" in words:
        # The number or name of a row is no time.
        targets = [c for c in targets if c not in table.naming] or (dates if len(dates) == 1 else [])
    elif "who" in words and not table.persons:
        targets = [c for c in targets if c != table.key]
    targets = [c for c in targets if c not in used]
    if not targets or ("how" in words and not reading.adjectives and not {"much", "many"} & words):
        return None
    first = table.columns[targets[0]]
    if ("who" in words and first.kind in ("number", "date")) or {"when", "where"} <= words:
        return None
    if len(rows) > 1 and (len(targets) > 1 or first.kind == "number" or _has_several_dates(first, rows)):
        return None  # which of the rows is not said
    shown = []
    for c in targets:
        cells = table.columns[c].cells
        alone = len(rows) == len(targets) == 1
        texts = _texts(table, c, chosen, [n for n in rows if cells[n] and (alone or not is_empty(cells[n]))])
        if not texts and alone:
            texts = ["empty"]
        if not texts or len(texts) > MAX_LISTED:
            return None
        shown.append(f"{column_name(table, c)}: {join_list(texts)}")
    if len(rows) == 1 and not table.naming.intersection(targets) and table.replaced not in {*targets, *used}:
        shown += [note] if (note := replacement(table, rows[0])) else []
    return Result("; ".join(shown), f"looked up with {filter_text(table, chosen)}", tuple(rows), len(rows))


def _has_several_dates(column: Column, rows: list[int]) -> bool:
    return column.kind == "date" and len({column.cells[n] for n in rows}) > 1


def _distinct(
    reading: Reading,
    table: TableView,
    asked: list[AskedColumn],
    chosen: RowFilter,
    rows: list[int],
) -> Result | None:
    """Return all values of a column, each once: which departments are there."""
    words = [token.text for token in reading.tokens]
    if len(asked) != 1 or reading.adjectives or not {"which", "what", "who", "list"}.intersection(words):
        return None
    mention, c = asked[0]
    last = words[mention.last]
    if last == singular(last) and not {"there", "exist", "list"}.intersection(words):
        return None  # the department of what
    if table.columns[c].kind not in ("text", "code") or table.lists[c].rows or {"same", "both"} & set(words):
        return None
    filled = [n for n in rows if not is_empty(table.columns[c].cells[n])]
    texts = _texts(table, c, chosen, filled)
    if not texts or len(texts) > MAX_LISTED:
        return None
    return Result(join_list(texts), f"different {table.columns[c].name} listed", tuple(filled), len(filled))


def _asks_for_rows(reading: Reading, table: TableView) -> bool:
    """Return whether a question asks for the names of rows: which orders, but not *what is the set value*."""
    words = [token.text for token in reading.tokens]
    if asks_for_persons(reading, table):
        return True
    if any(n and words[n - 1] == "which" for n in (value.first for value in reading.values)):
        return True  # which diesels
    if not any(words[n] in table.persons or words[n] not in PERSONS for n in reading.row_nouns):
        return False
    if {"which", "list", "who"} & set(words) or words[:2] == ["what", "are"]:
        return True
    content = (n for n, word in enumerate(words) if word not in LIGHT)
    return "what" in words and next(content, -1) in reading.row_nouns


def _texts(table: TableView, column: int, chosen: RowFilter, rows: list[int]) -> list[str]:
    """Return the cells of a column, each once; those that name rows with what else is known of the row."""
    if column not in table.naming:
        return list(dict.fromkeys(cell_text(table, column, n) for n in rows))
    bounds = [c for c, bound in chosen.bounds if bound.low < bound.high]
    used = [c for c, _ in chosen.values]
    return list(dict.fromkeys(described(table, column, n, bounds, without=used) for n in rows))


def count_rows(
    reading: Reading,
    table: TableView,
    asked: list[AskedColumn],
    chosen: RowFilter,
    rows: list[int],
) -> Result | None:
    """Return how many rows or values there are, or the cell that says how many."""
    at, phrase = next((n, text) for n, name, text in reading.operators if name == "count")
    following = at + len(phrase.split())
    mention = next(((m, c) for m, c in asked if m.first >= following), None)
    in_values = {n for value in reading.values for n in range(value.first, value.last + 1)}
    noun = next((n for n in reading.row_nouns if n >= following and n not in in_values), None)
    if noun is not None and not all(
        n in in_values or n in reading.row_nouns or reading.tokens[n].text in DETERMINERS
        for n in range(following, noun)
    ):
        noun = None  # a verb, as in: how many lamps were ordered
    if noun is not None and not _says_what_rows_are(reading, table, noun):
        return None
    text = filter_text(table, chosen)
    how = f"counted with {text}" if text else "counted"
    is_first = mention is not None and (noun is None or mention[0].first <= noun)
    if mention is not None and is_first and mention[1] != table.key:
        column = table.columns[mention[1]]
        if len({c for _, c in asked}) > 1:
            return None
        of_one_row = any(c == table.key for c, _ in chosen.values)
        if column.kind == "number" or _has_amounts(column) or of_one_row:
            # How many seats does the course have: the cell of one row, or nothing if there are several.
            is_amount = any(re.search(r"\d", cell) for cell in column.cells)
            return look_up(reading, table, asked, chosen, rows) if len(rows) == 1 and is_amount else None
        if table.lists[mention[1]].rows:
            return None  # several values in one cell
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
        counts = any(QUANTITY & set(words) for words in table.name_words)
        if not named or counts or table.key < 0:
            return None
        is_counted = all(token.text in DETERMINERS for token in reading.tokens[following : named[0].first])
        if is_counted and not _names_one_row(reading, named[0]):
            return None
    return Result(f"{len(rows)}", how, tuple(rows), len(rows))


def _says_what_rows_are(reading: Reading, table: TableView, noun: int) -> bool:
    """Return whether a noun is that of the title, the key or persons: *engineers* are not rows of Engineering."""
    while noun + 1 in reading.row_nouns:
        noun += 1
    token = reading.tokens[noun]
    if token.text in PERSONS:
        return token.text in table.persons
    in_key = table.key >= 0 and token.stem in table.name_words[table.key]
    return in_key or token.text in COUNTED or {*map(singular, plain_words(token.text))} <= table.title_words


def _has_amounts(column: Column) -> bool:
    """Return whether most cells begin with a number, as in *20, or 26 after ten years*: they are not to be counted."""
    filled = [cell for cell in column.cells if not is_empty(cell)]
    return 2 * sum(_AMOUNT.match(cell) is not None for cell in filled) >= len(filled)


def _names_one_row(reading: Reading, value: ValueMention) -> bool:
    """Return whether a value says what its rows are: a code, or *Laptop* for laptops, but not *Sales* for sales.

    A plural in a cell names a department or a group, of which a row is not one.
    """
    text = reading.question[reading.tokens[value.first].start : reading.tokens[value.last].end].casefold()
    return any(map(str.isdigit, text)) or all(text != cell for _, cell in value.cells)


def columns_of(table: TableView, adjective: str) -> list[int]:
    """Return the columns of numbers or dates that an adjective is about, by their names."""
    stems = set(map(stem, ADJECTIVES.get(adjective, "").split()))
    return [
        c
        for c, column in enumerate(table.columns)
        if column.kind in ("number", "date") and stems & set(table.name_words[c])
    ]
