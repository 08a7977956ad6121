"""A table as questions see it: columns with their values, stems of their names, and no rows of totals."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from polygraph.tasks.answers.table_answer.cells import Column, is_empty, read_column
from polygraph.tasks.answers.table_answer.lists import ColumnLists, read_lists
from polygraph.tasks.answers.table_answer.units import UNIT_NOTE, Units
from polygraph.tasks.answers.table_answer.words import (
    FIRST_NAMES,
    LAST_NAMES,
    MEMBERS,
    NO,
    PEOPLE,
    PERSON_COLUMNS,
    PERSONS,
    SNAKE_UNITS,
    SYNONYMS,
    TOTALS,
    UNIT_WORDS,
    YES,
    singular,
)
from polygraph.text.words import stem, word_set

_NAMES = frozenset({"name", "title"})
"""Columns by which people call a row."""
_NUMBER_WORDS = frozenset(("id", "no", "number"))
_NUMBER_STEMS = frozenset(map(stem, _NUMBER_WORDS))
_NAME = re.compile(r"(?:(?:van|von|de|der|den|di|la|le|el|al|bin) )*[^\W\d_a-z][^\d()\[\]:;/]*")
"""What may be the name of a person."""
_DESCRIPTIONS = frozenset(
    map(
        stem,
        word_set("name title description designation label bezeichnung beschreibung benennung nom nombre"),
    )
)
"""Columns that say what a code stands for."""
_THINGS = frozenset(map(stem, ("item", "product", "article", "object", "gegenstand", "artikel")))
"""Columns that do so if no two rows have the same."""
_REPLACED = re.compile(
    r"(?:replaced|superseded|succeeded) by|successor|ersetzt durch|nachfolger|remplacé par|sustituido por",
    re.IGNORECASE,
)
QUANTITY = frozenset(
    map(stem, ("quantity", "count", "number", "stock", "units", "pieces", "amount", "seats", "population"))
)
"""Names of columns that count things, so that rows do not."""
_SERIES = re.compile(r"(?<![\w-])[A-Z]{2,5}(?![\w-]| \d)")
_PLACE_IN_BOOK = re.compile(
    r"(?<![^\W_])(?:part|chapter|section|annex|appendix|volume|table|figure|teil|kapitel|band|anhang|tabelle)"
    r"[ _-]?(?:\d{1,2}|[IVX]+)(?![^\W_])",
    re.IGNORECASE,
)
"""Words of a title that name a place in it: *Part 2* has no parts."""
_MODEL = re.compile(r"(?<![\w-])([A-Z]{2,5})[- ]?\d")
_WORDS = re.compile(r"[^\W_]+")


@dataclass(slots=True)
class TableView:
    """A table that is asked: its columns with their values, without rows of totals."""

    title: str
    columns: list[Column]
    rows: list[int]
    """Numbers of the rows in the table."""
    title_stems: frozenset[str]
    title_words: frozenset[str]
    """The same as they stand, in the singular."""
    context: str
    """Words of titles, headings and the name of the file, case-folded."""
    key: int
    """The column that names each row, `name` or `title` before the first that does; -1 if there is none."""
    name_words: list[list[str]] = field(default_factory=list)
    """Stems of the name of each column, without its unit."""
    full_words: list[list[str]] = field(default_factory=list)
    """The same with its unit."""
    cells: list[dict[str, list[int]]] = field(default_factory=list)
    """Rows by case-folded cell, for each column."""
    lists: list[ColumnLists] = field(default_factory=list)
    """Values that cells list, for each column."""
    units: Units = field(init=False)
    series: frozenset[str] = frozenset()
    """Names of series in the title, such as `ZR`, case-folded; not those of which it names one model."""
    description: int = -1
    """The column that says what the code of a row stands for; -1 if there is none."""
    naming: frozenset[int] = frozenset()
    """Columns that name rows: those with a cell of its own for each, and the description."""
    replaced: int = -1
    """The column that says what replaces a row; -1 if there is none."""
    persons: frozenset[str] = frozenset()
    """Words for its rows if each is a person; empty if not."""
    name_parts: tuple[int, ...] = ()
    """The columns of first and last names that name a person beside a number; empty if there are none."""
    flags: dict[int, tuple[str, str]] = field(default_factory=dict)
    """The cells for *yes* and for *no*, case-folded, of each column that says nothing else."""

    @classmethod
    def of(cls, title: str, context: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> "TableView":
        """Read a table.

        Args:
            title: how it is called in an answer.
            context: words that may stand in a question about it: titles, headings, name of the file.
            names: of the columns.
            rows: cells.
        """
        kept = [n for n, row in enumerate(rows) if not _is_total(row)]
        columns = [read_column(name, [rows[n][c] for n in kept]) for c, name in enumerate(names)]
        context = _PLACE_IN_BOOK.sub(" ", context)
        title_stems = frozenset(map(stem, plain_words(context)))
        if columns and _numbers_rows(columns[0], title_stems):
            columns[0] = replace(columns[0], kind="code")
        keys = [
            c
            for c, column in enumerate(columns)
            if column.kind in ("text", "code")
            and all(column.cells)
            and len(set(column.cells)) == len(column.cells)
        ]
        # Beside a number of the row, its name is what people call it by.
        key = next((c for c in keys if columns[c].name.casefold() in _NAMES), keys[0] if keys else -1)
        folded = " ".join(plain_words(context))
        view = cls(title, columns, kept, title_stems, frozenset(map(singular, folded.split())), folded, key)
        one_model = set(_MODEL.findall(context))
        view.series = frozenset(n.casefold() for n in _SERIES.findall(context) if n not in one_model)
        for c, column in enumerate(columns):
            view.name_words.append(name_stems(column.name))
            view.full_words.append([stem(SYNONYMS.get(word, word)) for word in plain_words(column.name)])
            by_cell: dict[str, list[int]] = {}
            for n, cell in enumerate(column.cells):
                if cell:
                    by_cell.setdefault(" ".join(cell.casefold().split()), []).append(n)
            view.cells.append(by_cell)
            has_lists = column.kind == "text" and c != key
            view.lists.append(read_lists(by_cell, column.cells) if has_lists else ColumnLists())
            yes, no = by_cell.keys() & YES, by_cell.keys() & NO
            if len(yes) == len(no) == 1 and all(map(is_empty, by_cell.keys() - yes - no)):
                view.flags[c] = (yes.pop(), no.pop())
        view.units = Units(columns, key, [bool(QUANTITY & set(words)) for words in view.name_words])
        view.description = _description(view)
        view.naming = frozenset({*keys, view.description} - {-1})
        names = [" ".join(plain_words(column.name)) for column in columns]
        view.replaced = next((c for c, name in enumerate(names) if _REPLACED.search(name)), -1)
        view.persons = _person_words(view, names)
        if view.persons and key >= 0 and columns[key].name.casefold() not in _NAMES:
            view.name_parts = _name_parts(names)
        return view


def _description(table: TableView) -> int:
    """Return the column that says what a row is: a description, or a thing that no other row has."""
    for c, words in enumerate(table.name_words):
        column = table.columns[c]
        if column.kind != "text" or not words:
            continue
        is_unique = len(table.cells[c]) == len(table.rows)
        if words[-1] in _DESCRIPTIONS or (is_unique and words[-1] in _THINGS):
            return c
    return -1


def _person_words(table: TableView, names: Sequence[str]) -> frozenset[str]:
    """Return the words for the rows of a table of persons: its key is a name or a number, and its names say so."""
    if table.key < 0:
        return frozenset()
    key = set(names[table.key].split())
    if not key & (PERSONS | MEMBERS | {"name", "surname"} | _NUMBER_WORDS):
        return frozenset()
    if not key & _NUMBER_WORDS and not all(map(_NAME.fullmatch, table.columns[table.key].cells)):
        return frozenset()
    words = {word for name in names for word in name.split()}
    if key & PERSONS or words & PERSON_COLUMNS or table.title_stems & set(map(stem, PERSONS)):
        return PERSONS
    is_of_members = key & MEMBERS or table.title_stems & set(map(stem, MEMBERS))
    return PEOPLE if is_of_members or _name_parts(names) else frozenset()


def _name_parts(names: Sequence[str]) -> tuple[int, ...]:
    """Return the columns of first and last names, if there is one of each."""
    bare = [name.replace(" ", "") for name in names]
    first = [c for c, name in enumerate(bare) if name in FIRST_NAMES]
    last = [c for c, name in enumerate(bare) if name in LAST_NAMES]
    return (*first, *last) if len(first) == len(last) == 1 else ()


def _numbers_rows(column: Column, title_stems: frozenset[str]) -> bool:
    """Return whether the first column holds the numbers by which rows are called: `ticket_no` of the tickets.

    Its name is that of the table, or it counts the rows without a gap.
    """
    name = set(name_stems(column.name))
    if column.kind != "number" or not all(cell.isdigit() for cell in column.cells):
        return False
    if name - _NUMBER_STEMS and name - _NUMBER_STEMS <= title_stems:
        return len(set(column.cells)) == len(column.cells)
    numbers = [int(cell) for cell in column.cells]
    return len(numbers) > 2 and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def name_stems(name: str) -> list[str]:
    """Return the stems of the name of a column, without its unit.

    >>> name_stems("unit_price_eur"), name_stems("Max. pressure (bar)")
    (['unit', 'price'], ['maximum', 'pressur'])
    """
    found = plain_words(UNIT_NOTE.sub(" ", name))
    units = UNIT_WORDS | SNAKE_UNITS if "_" in name else UNIT_WORDS
    while len(found) > 1 and found[-1] in units:
        found.pop()
    if len(found) > 1 and found[-1] == "no":
        found[-1] = "number"
    return [stem(SYNONYMS.get(word, word)) for word in found]


def plain_words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return _WORDS.findall(text.casefold())


def _is_total(row: Sequence[str]) -> bool:
    first = next((cell for cell in row if cell.strip()), "")
    found = plain_words(first)
    return bool(found) and found[0] in TOTALS
