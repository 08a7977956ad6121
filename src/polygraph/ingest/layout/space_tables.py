"""Tables in texts whose columns are aligned by spaces."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from polygraph.ingest.content import LoadedTable
from polygraph.ingest.layout.table_rows import MAX_SPACED_COLUMNS, SPACED_CELL, write_table
from polygraph.text.sentences import FENCE

_SENTENCES = re.compile(r"[.!?][\"'”’)]?  (?=[\"'“‘(]?[A-Z])")
"""The end of a sentence with two spaces behind it, as some people type."""
_RULE = re.compile(r"[ \t]*[-=─━═]{2,}(?:[ \t]+[-=─━═]{2,})*[ \t]*$")
_INDENTED_CODE = re.compile(r" {4}|\t")
_MAX_LINE = 2_000
_MAX_NAME = 40
"""Characters of the name of a column."""
_MIN_RULE = 0.8
"""Share of the header's width that one rule over all columns covers."""
_MAX_CELL_WORDS = 5
"""Mean words of a cell where no rule marks the header; columns of prose have more."""
_VALUE = re.compile(r"[-+−±~<>≤≥]{0,2}\s?[£$€]?\s?\d\S*(?:\s\S{1,8})?")
"""A number, date or time with at most one more word."""
_BEGINS_AS_VALUE = re.compile(r"[-+−±~<>≤≥(]{0,2}\s?[£$€]?\s?\d")
_YEAR = re.compile(r"(?:19|20)\d\d")
_BLANKS = frozenset({"-", "–", "—", "n/a", "none", "unknown", "free", "closed", "yes", "no"})
"""What stands in a cell instead of a value; no column has such a name."""
_CODE = re.compile(r"[{}]|;$|//|=>|==|\(\)|:=")

_Span = tuple[int, int]


class _Found(NamedTuple):
    """A table among the lines of a text."""

    end: int
    """The first line behind it."""
    grid: list[list[str]]
    """Cells; the first row names the columns."""


def space_tables(text: str, *, markdown: bool = False) -> tuple[str, list[LoadedTable]]:
    r"""Replace tables that are aligned by spaces by lines ``column: value; column: value.``, and return these tables.

    A table has columns with two spaces or more between them in all of its lines, and a first line that names them:
    above a rule of dashes; beside an empty corner; or above a column of numbers, if there are three columns or the
    names are in capitals. Without a rule, the cells of each column must begin or end at the same place. Everything
    else stays as it is: verse, addresses and signatures side by side, lists of names with values, code.

    Args:
        text: with tabs of eight characters.
        markdown: leave out fenced and indented code.

    >>> space_tables("Ships:\n\nShip     Port\n-------  ----\nHalcyon  Wick\n\nAll.")[0]
    'Ships:\n\nShip: Halcyon; Port: Wick.\n\nAll.'
    """
    if "  " not in text and "\t" not in text:
        return text, []
    lines = text.split("\n")
    written: list[str] = []
    tables: list[LoadedTable] = []
    fenced = False
    n = 0
    run = 0  # the first of the lines so far that have columns
    while n < len(lines):
        if markdown and FENCE.match(lines[n]):
            fenced = not fenced
        is_first = n == run
        in_columns = not fenced and _has_columns(lines[n])
        if not in_columns and not _RULE.match(lines[n]):
            run = n + 1
        found = _table(lines, n, is_first=is_first) if in_columns else None
        if found is None or (markdown and all(_INDENTED_CODE.match(x) for x in lines[n + 1 : found.end])):
            written.append(lines[n])
            n += 1
            continue
        if written and _RULE.match(written[-1]):  # above the header
            written.pop()
        n = run = found.end
        write_table(found.grid[0], found.grid[1:], written, tables, lines[n] if n < len(lines) else "")
    return ("\n".join(written), tables) if tables else (text, [])


def has_columns(line: str) -> bool:
    """Return whether a line may be one of a table: it has a gap between words, or is a rule."""
    body = line.strip()
    return len(line) <= _MAX_LINE and ("  " in body or "\t" in body or _RULE.match(line) is not None)


def _has_columns(line: str) -> bool:
    return not _RULE.match(line) and has_columns(line) and not _SENTENCES.search(line)


def _table(lines: Sequence[str], n: int, *, is_first: bool) -> _Found | None:
    """Return the table whose columns are named by a line, if there is one."""
    header = lines[n].expandtabs()
    rule = lines[n + 1].expandtabs() if n + 1 < len(lines) else ""
    if len(rule) <= _MAX_LINE and _RULE.match(rule):
        parts = [found.span() for found in re.finditer(r"\S+", rule)]
        if len(parts) > 1:
            return _below_parted_rule(lines, n, parts) if len(parts) <= MAX_SPACED_COLUMNS else None
        (begin, end), width = parts[0], len(header.strip())
        return _aligned(lines, n, n + 2, is_ruled=True) if end - begin >= _MIN_RULE * width else None
    # Below other lines with columns, a line is a row of theirs.
    return _aligned(lines, n, n + 1, is_ruled=False) if is_first else None


def _name_columns(names: Sequence[str]) -> bool:
    """Return whether each column but the first has a short name of its own."""
    return (
        len(names) > 1
        and all(names[1:])
        and len(set(names)) == len(names)
        and not any(len(name) > _MAX_NAME or name.endswith((":", ",", ";")) or "|" in name for name in names)
    )


def _below_parted_rule(lines: Sequence[str], n: int, parts: Sequence[_Span]) -> _Found | None:
    """Return the table below a rule with a part for each column: its cells begin there or within."""
    starts = [begin for begin, _ in parts]
    header = _sliced(lines[n], starts)
    if header is None or not _name_columns(header):
        return None
    grid = [header]
    end = filled_end = n + 2
    n_filled = 1
    while end < len(lines) and lines[end].strip():
        line = lines[end]
        if not _RULE.match(line):
            row = _sliced(line, starts)
            if row is None:
                break
            filled = [k for k, cell in enumerate(row) if cell]
            if len(filled) == 1 and filled[0] > 0 and len(grid) > 1:  # a cell of the row above goes on
                [k] = filled
                grid[-1][k] = f"{grid[-1][k]} {row[k]}".strip()
                end += 1
                filled_end = end if n_filled == len(grid) else filled_end
                continue
            grid.append(row)
            if len(filled) > 1:
                n_filled, filled_end = len(grid), end + 1
        elif n_filled == len(grid):
            filled_end = end + 1
        end += 1
    # A short line below a table is no row.
    return _Found(filled_end, grid[:n_filled]) if n_filled > 1 else None


def _sliced(line: str, starts: Sequence[int]) -> list[str] | None:
    """Cut a line at the starts of columns; None if a word stands across one, or before the first."""
    if len(line) > _MAX_LINE:
        return None
    line = line.expandtabs().rstrip()
    if line[: starts[0]].strip() or any(
        line[s - 1 : s].strip() and line[s : s + 1].strip() for s in starts[1:]
    ):
        return None
    return [
        " ".join(line[begin:end].split()) for begin, end in zip(starts, [*starts[1:], len(line)], strict=True)
    ]


def _aligned(lines: Sequence[str], n: int, first: int, *, is_ruled: bool) -> _Found | None:
    """Return the table below a line that names columns, if at least two rows keep a gap between the same columns."""
    end = first
    while end < len(lines) and (_has_columns(lines[end]) or (is_ruled and _RULE.match(lines[end]))):
        end += 1
    body = [line.expandtabs() for line in lines[first:end] if not _RULE.match(line)]
    if len(body) < 2:
        return None
    header = lines[n].expandtabs()
    columns = _columns(header, body)
    cells = [[_cell(line, span) for span in columns] for line in [header, *body]]
    grid = [[text for text, _ in row] for row in cells]
    if len(columns) > MAX_SPACED_COLUMNS or not _name_columns(grid[0]):
        return None
    if any(_BEGINS_AS_VALUE.match(name) and not _YEAR.fullmatch(name) for name in grid[0]):
        return None  # a row, perhaps the last one of another table
    if any(sum(map(bool, row)) < 2 or any("|" in cell for cell in row) for row in grid[1:]):
        return None
    # What stands between the gaps of the header is the name of one column each.
    if len([name for name in grid[0] if name]) != len(SPACED_CELL.findall(header)):
        return None
    if not is_ruled and not (_is_exact(cells[1:]) and _is_clear(grid)):
        return None
    return _Found(end, grid)


def _columns(header: str, body: Sequence[str]) -> list[_Span]:
    """Return the columns between gaps of two characters or more that all lines leave; each but the first has a name."""
    used = [" "] * max(map(len, [header, *body]))
    for line in [header, *body]:
        for found in SPACED_CELL.finditer(line):
            used[found.start() : found.end()] = "x" * (found.end() - found.start())
    spans = [found.span() for found in SPACED_CELL.finditer("".join(used))]
    columns: list[_Span] = []
    for begin, end in spans:
        if columns and not header[begin:end].strip():
            columns[-1] = (columns[-1][0], end)
        else:
            columns.append((begin, end))
    return columns


def _cell(line: str, span: _Span) -> tuple[str, _Span]:
    """Return the text of a line in a column, and where it begins and ends."""
    part = line[span[0] : span[1]]
    begin = span[0] + len(part) - len(part.lstrip())
    return " ".join(part.split()), (begin, begin + len(part.strip()))


def _is_exact(rows: Sequence[Sequence[tuple[str, _Span]]]) -> bool:
    """Return whether the cells of each column but the first begin, or end, at the same place."""
    for column in list(zip(*rows, strict=True))[1:]:
        places = [place for text, place in column if text]
        if len({begin for begin, _ in places}) > 1 and len({end for _, end in places}) > 1:
            return False
    return True


def _is_clear(grid: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row of a grid without a rule names the columns of the others."""
    names, rows = grid[0], grid[1:]
    filled = [cell for row in rows for cell in row if cell]
    if any(map(_CODE.search, [*names, *filled])):
        return False
    if sum(len(cell.split()) for cell in filled) > _MAX_CELL_WORDS * len(filled):
        return False
    if not names[0]:
        return len(names) > 2 and all(row[0] for row in rows)
    if any(name.casefold() in _BLANKS for name in names):
        return False
    words = [name for name in names if name[0].isalpha()]
    if len({name[0].isupper() for name in words}) > 1:
        return False
    in_capitals = all(name.isupper() for name in words) and not all(cell.isupper() for cell in filled)
    if len(names) == 2 and not in_capitals:
        return False
    return (in_capitals and len(names) > 2) or any(map(_is_value_column, zip(*rows, strict=True)))


def _is_value_column(cells: Sequence[str]) -> bool:
    values = [cell for cell in cells if cell and cell.casefold() not in _BLANKS]
    return len(values) > 1 and all(map(_VALUE.fullmatch, values))
