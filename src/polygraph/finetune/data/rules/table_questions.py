"""Questions about the rows of tables: what a named thing has in a column."""

from collections.abc import Iterator, Sequence

import numpy as np

from polygraph.finetune.data.quotes import MAX_QUOTE
from polygraph.finetune.data.records import Quote, TrainingQuestion
from polygraph.finetune.data.rules.titles import unique_titles
from polygraph.prompts import one_line
from polygraph.records import Chunk, Table
from polygraph.store.snapshot import Snapshot

_PER_ROW = 2
"""Columns of one row that are asked for."""
_MAX_CELL, _MAX_COLUMN = 60, 30
"""Characters of an answer, and of the name of a column."""
_BATCH = 50
"""Documents whose tables are read at once."""


def table_questions(index: Snapshot, *, n: int, seed: int) -> list[TrainingQuestion]:
    """Make questions about rows of tables, each named by a cell that no other row of its table has.

    Args:
        index: whose documents may have tables.
        n: most questions.
        seed: of the order of documents, rows and columns.
    """
    rng = np.random.default_rng([seed, 6])
    titles = unique_titles(index)
    documents = sorted(titles)
    order = [documents[i] for i in rng.permutation(len(documents)).tolist()]
    found: list[TrainingQuestion] = []
    for start in range(0, len(order), _BATCH):
        for document, tables in sorted(index.tables_of(order[start : start + _BATCH]).items()):
            chunks = index.chunks_of(document)
            for table in tables:
                found += _of_table(table, titles[document], chunks, rng)
        if len(found) >= n:
            break
    return found[:n]


def _of_table(
    table: Table, title: str, chunks: Sequence[Chunk], rng: np.random.Generator
) -> Iterator[TrainingQuestion]:
    key = _key_column(table)
    if key is None:
        return
    numbers = [str(n) for n in range(1, len(table.rows) + 1)]
    counted = {j for j in range(len(table.columns)) if [row[j].strip(" .") for row in table.rows] == numbers}
    for i in rng.permutation(len(table.rows)).tolist():
        placed = _quote(table.spans[i], chunks)
        if placed is None:
            continue
        quote, chunk = placed
        row = table.rows[i]
        made = 0
        for j in rng.permutation(len(table.columns)).tolist():
            column, answer = one_line(table.columns[j]).replace("_", " "), one_line(row[j])
            if (
                made >= _PER_ROW
                or j == key
                or j in counted
                or not _is_askable(column, answer, one_line(row[key]), quote.text)
            ):
                continue
            made += 1
            yield TrainingQuestion(
                id="",
                kind="table",
                question=f'According to the document "{title}", what is given as "{column}" for {one_line(row[key])}?',
                answers=(answer,),
                oracles=(chunk,),
                quotes=(quote,),
            )


def _key_column(table: Table) -> int | None:
    """Return the first column whose cells name the rows: distinct texts that begin with a letter; None if none does."""
    for j in range(len(table.columns)):
        cells = [one_line(row[j]).casefold() for row in table.rows]
        named = all(cell[:1].isalpha() and len(cell) <= _MAX_CELL and '"' not in cell for cell in cells)
        if cells and named and len(set(cells)) == len(cells):
            return j
    return None


def _is_askable(column: str, answer: str, key: str, row: str) -> bool:
    short = 0 < len(answer) <= _MAX_CELL and 0 < len(column) <= _MAX_COLUMN and '"' not in column
    return short and answer in row and answer.casefold() not in key.casefold()


def _quote(span: tuple[int, int], chunks: Sequence[Chunk]) -> tuple[Quote, Chunk] | None:
    """Return a row as a quote of the chunk that holds the whole of it; None if none does, or it is too long."""
    start, end = span
    for chunk in chunks:
        if chunk.start <= start and end <= chunk.end:
            text = one_line(chunk.text[start - chunk.start : end - chunk.start])
            quote = Quote(document=chunk.document, chunk=chunk.id, start=start, end=end, text=text)
            return (quote, chunk) if 0 < len(text) <= MAX_QUOTE else None
    return None
