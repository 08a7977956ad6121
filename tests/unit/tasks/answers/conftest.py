"""Questions about tables that a test writes down as text."""

from collections.abc import Callable

import pytest

from polygraph.records import Table
from polygraph.tasks.answers.table_answer import NamedTable, answer_from_tables

Ask = Callable[..., str | None]


def table_of(title: str, text: str, *, heading: str = "", headings: str = "") -> NamedTable:
    """Return a table of lines with cells between bars."""
    header, *lines = [tuple(cell.strip() for cell in line.split("|")) for line in text.strip().splitlines()]
    spans = tuple((100 * n, 100 * n + 50) for n in range(len(lines)))
    table = Table(title=heading, columns=header, rows=tuple(lines), spans=spans)
    return NamedTable(document=f"{title}.csv", title=title, table=table, headings=headings)


@pytest.fixture
def ask() -> Ask:
    """Return the result that a question gets from some tables, without how it was found; None if it gets none."""

    def ask(question: str, *tables: NamedTable) -> str | None:
        answer = answer_from_tables(question, tables)
        return None if answer is None else answer.text.split(". (")[0]

    return ask
