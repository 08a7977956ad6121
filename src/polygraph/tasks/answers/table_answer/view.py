"""A table as questions see it: columns with their values, stems of their names, and no rows of totals."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from polygraph.tasks.answers.table_answer.cells import Column, read_column
from polygraph.tasks.answers.table_answer.words import SYNONYMS, TOTALS, UNIT_WORDS
from polygraph.text.words import stem

_NAMES = frozenset({"name", "title"})
"""Columns by which people call a row."""
_NUMBER_STEMS = frozenset(map(stem, ("id", "no", "number")))
UNIT_NOTE = re.compile(r"[(\[][^)\]]*[)\]]")
"""A note beside the name of a column, which mostly holds a unit."""
_WORDS = re.compile(r"[^\W_]+")


@dataclass(slots=True)
class TableView:
    """A table that is asked: its columns with their values, without rows of totals."""

    title: str
    columns: list[Column]
    rows: list[int]
    """Numbers of the rows in the table."""
    title_stems: frozenset[str]
    key: int
    """The column that names each row, `name` or `title` before the first that does; -1 if there is none."""
    name_words: list[list[str]] = field(default_factory=list)
    """Stems of the name of each column, without its unit."""
    cells: list[dict[str, list[int]]] = field(default_factory=list)
    """Rows by case-folded cell, for each column."""

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
        view = cls(title, columns, kept, title_stems, key)
        for column in columns:
            view.name_words.append(name_stems(column.name))
            by_cell: dict[str, list[int]] = {}
            for n, cell in enumerate(column.cells):
                if cell:
                    by_cell.setdefault(" ".join(cell.casefold().split()), []).append(n)
            view.cells.append(by_cell)
        return view


def _numbers_rows(column: Column, title_stems: frozenset[str]) -> bool:
    """Return whether a column holds the numbers by which rows are called: `ticket` or `ticket_no` of the tickets."""
    name = set(name_stems(column.name))
    return (
        column.kind == "number"
        and bool(name - _NUMBER_STEMS)
        and name - _NUMBER_STEMS <= title_stems
        and all(cell.isdigit() for cell in column.cells)
        and len(set(column.cells)) == len(column.cells)
    )


def name_stems(name: str) -> list[str]:
    """Return the stems of the name of a column, without its unit.

    >>> name_stems("unit_price_eur"), name_stems("Max. pressure (bar)")
    (['unit', 'pric'], ['maximum', 'pressur'])
    """
    found = plain_words(UNIT_NOTE.sub(" ", name))
    while len(found) > 1 and found[-1] in UNIT_WORDS:
        found.pop()
    return [stem(SYNONYMS.get(word, word)) for word in found]


def plain_words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return _WORDS.findall(text.casefold())


def _is_total(row: Sequence[str]) -> bool:
    first = next((cell for cell in row if cell.strip()), "")
    found = plain_words(first)
    return bool(found) and found[0] in TOTALS
