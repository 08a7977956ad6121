"""Answers computed from the rows of a table, by rules: look-up, filter, count, sum, mean, median, extremes, comparison.

A question is answered only if every word of it is a column, a value, a word of a title, an operator or a word without
content, and if all ways to read it lead to one result. Otherwise there is no answer, so that nothing is guessed:
docs/design/extractive-answers.md.

- `view`: a table as questions see it; `cells`, `lists`, `units`: its cells as numbers and dates, as lists of values,
  and their units.
- `reading`: what each word of a question (`question`) is to the table; `conditions`: the bounds that it sets; `words`:
  operators and words without content.
- `filters`: the rows that the question is about.
- `compute`: what it asks of them; `lookup`, `extremes`, `groups`: cells, counts, the largest and the smallest, results
  for each value of a column; `shown`: what an answer shows of a row.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from polygraph.records import Table
from polygraph.tasks.answers.table_answer.compute import compute
from polygraph.tasks.answers.table_answer.reading import may_answer, read_question
from polygraph.tasks.answers.table_answer.shown import Result
from polygraph.tasks.answers.table_answer.view import TableView
from polygraph.tasks.answers.table_answer.words import SYNONYMS, TOKEN
from polygraph.text.prose import count_noun


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTable:
    """A table with the document that it is part of."""

    document: str
    title: str
    """Title of the document."""
    table: Table
    headings: str = ""
    """Headings above the one that the table stands under, as words that a question may repeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAnswer:
    """An answer that was computed from a table."""

    text: str
    """The result, the filter and the number of rows."""
    document: str
    spans: tuple[tuple[int, int], ...]
    """Rows that it rests on, as spans of the document's text."""


def answer_from_tables(question: str, tables: Sequence[NamedTable]) -> TableAnswer | None:
    """Answer a question from one of some tables.

    Args:
        question: any text.
        tables: in the order in which they were found; of tables with the same answer, the first is cited.

    Returns:
        None if no table answers, or if tables answer differently.
    """
    if not 2 < len(TOKEN.findall(question)) <= 40:
        return None
    found: list[tuple[NamedTable, Result]] = []
    for named in tables:
        table = named.table
        context = f"{named.title} {table.title} {named.headings} {named.document.rpartition('#')[0] or named.document}"
        if not may_answer(question, table, f"{context} {' '.join(SYNONYMS)} {' '.join(SYNONYMS.values())}"):
            continue
        view = TableView.of(_name_of(named), context, table.columns, table.rows)
        reading = read_question(question, view)
        result = compute(reading, view) if reading is not None else None
        if result is not None:
            rows = tuple(view.rows[n] for n in result.rows)
            found.append((named, Result(result.answer, result.how, rows, result.n_matching)))
    if not found or len({result.answer for _, result in found}) > 1:
        return None
    named, result = found[0]
    how = f"{result.how[0].upper()}{result.how[1:]}"
    share = f"{result.n_matching:,} of {count_noun(len(named.table.rows), 'row')}"
    text = f"{result.answer}. ({how}; {share} of “{_name_of(named)}”.)"
    return TableAnswer(
        text=text, document=named.document, spans=tuple(named.table.spans[n] for n in result.rows)
    )


def _name_of(named: NamedTable) -> str:
    title = named.table.title
    return f"{named.title}, {title}" if title and title not in named.title else named.title
