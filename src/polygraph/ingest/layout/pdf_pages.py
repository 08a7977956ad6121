"""Pages of a PDF: tables in their layout, running heads, page numbers, hyphens at line ends."""

import re
from collections import Counter
from collections.abc import Sequence

from polygraph.ingest.content import LoadedTable
from polygraph.ingest.layout.table_rows import MAX_SPACED_COLUMNS, SPACED_CELL, looks_like_header, make_table

_MIN_ROWS = 3
"""Lines of a table, the header included."""
_MAX_CELL = 30
"""Mean characters of a cell; columns of prose have longer lines."""
_MAX_CELL_WORDS = 4
"""Mean words of a cell."""
_SLACK = 2
"""Characters by which a cell may begin before its column."""
_HYPHEN = re.compile(r"(?<=[^\W\d_])-\n(?=[^\W\d_A-Z])")
_WORD_BEFORE = re.compile(r"[^\W\d_]+$")
_WORD_AFTER = re.compile(r"[^\W\d_]+")
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(
    r"\W{0,4}(?:page|seite|p\.|s\.|página|pagina)?\s?(\d{1,5})\s?(?:(?:/|of|von|de|sur)\s?\d{1,5})?\W{0,4}",
    re.IGNORECASE,
)
_EDGE_LINES = 2
"""Lines at the top and at the bottom of a page that may be running heads."""
_SHARE_OF_PAGES = 0.6
"""Share of the pages on which a line stands that is a running head."""
_MAX_HEAD = 120

_Cells = list[tuple[int, str]]


def page_by_layout(layout: str, plain: str) -> tuple[str, list[LoadedTable]] | None:
    """Return the text of a page with its tables, if it has some.

    A table is at least three lines, one below the other, whose cells stand below the cells of the first line. A page
    with columns of prose is none: there, lines with gaps have long parts.

    Args:
        layout: the page with spaces for gaps.
        plain: the page in reading order, whose words the layout must hold as well.

    Returns:
        The text, in which the rows of tables read ``column: value``, with the tables; None for a page without tables.
    """
    lines = [_cells(line) for line in layout.split("\n")]
    lines = [line for line in lines if line]
    groups = _table_groups(lines)
    if not groups or sum(map(str.isalnum, plain)) > 1.02 * sum(map(str.isalnum, layout)):
        return None
    outside = [
        line for n, line in enumerate(lines) if not any(a <= n < b for a, b in groups) and len(line) > 1
    ]
    if sum(len(line) > 1 and min(len(text) for _, text in line) > _MAX_CELL // 2 for line in outside) > 2:
        return None
    written: list[str] = []
    tables: list[LoadedTable] = []
    done = 0
    for begin, end in groups:
        written += [" ".join(text for _, text in line) for line in lines[done:begin]]
        grid = _grid(lines[begin:end])
        rows, table = make_table(grid[0], grid[1:])
        if written:
            written.append("")
        written += [*rows, ""]
        tables += [table] if table else []
        done = end
    written += [" ".join(text for _, text in line) for line in lines[done:]]
    return "\n".join(written).strip(), tables


def join_hyphens(text: str) -> str:
    r"""Join words that are divided at the end of a line, unless the text has them with a hyphen elsewhere.

    >>> join_hyphens("a pres-\nsure of ten; a well-known value, well-\nknown")
    'a pressure of ten; a well-known value, well-known'
    """
    if "-\n" not in text:
        return text
    lower = text.lower()

    def joined(found: re.Match[str]) -> str:
        before = _WORD_BEFORE.search(lower[max(0, found.start() - 40) : found.start()])
        after = _WORD_AFTER.match(lower, found.end())
        compound = f"{before[0]}-{after[0]}" if before and after else ""
        return "-" if compound and compound in lower else ""

    return _HYPHEN.sub(joined, text)


def without_running_heads(pages: Sequence[str]) -> list[str]:
    r"""Leave out page numbers, and lines that stand at the top or bottom of most pages.

    A line of a number is a page number if it counts the pages.

    >>> without_running_heads(["Report\nIt rained.\n1", "Report\nThen fog.\n2"])
    ['It rained.', 'Then fog.']
    """
    lines = [[line for line in page.split("\n") if line.strip()] for page in pages]
    edges = [_edge_positions(each) for each in lines]
    heads: Counter[str] = Counter()
    offsets: Counter[int] = Counter()
    for number, (page, positions) in enumerate(zip(lines, edges, strict=True), 1):
        heads.update({_DIGITS.sub("#", page[n].strip()) for n in positions if len(page[n]) <= _MAX_HEAD})
        offsets.update(
            {int(m[1]) - number for n in positions if (m := _PAGE_NUMBER.fullmatch(page[n].strip()))}
        )
    filled = sum(map(bool, lines))
    common = {head for head, count in heads.items() if count > 1 and count >= _SHARE_OF_PAGES * filled}
    counted = {o for o, count in offsets.items() if count > 1 and count >= _SHARE_OF_PAGES * filled}
    if filled == 1:
        counted = {0}
    kept_pages = []
    for number, (page, text, positions) in enumerate(zip(lines, pages, edges, strict=True), 1):
        dropped = set()
        for n in positions:
            line = page[n].strip()
            found = _PAGE_NUMBER.fullmatch(line)
            if (found and int(found[1]) - number in counted) or (
                not found and len(line) <= _MAX_HEAD and _DIGITS.sub("#", line) in common
            ):
                dropped.add(n)
        kept_pages.append(_without_lines(text, dropped) if dropped else text)
    # A text that repeats on every page is not a running head of nothing.
    return kept_pages if any(page.strip() for page in kept_pages) else list(pages)


def _edge_positions(lines: Sequence[str]) -> list[int]:
    """Return the positions of the first and last lines of a page."""
    n = len(lines)
    return [k for k in range(n) if k < _EDGE_LINES or k >= n - _EDGE_LINES]


def _without_lines(text: str, dropped: set[int]) -> str:
    """Leave out some of the lines that are not blank, by position."""
    kept = []
    n = -1
    for line in text.split("\n"):
        n += bool(line.strip())
        if not line.strip() or n not in dropped:
            kept.append(line)
    return "\n".join(kept).strip()


def _cells(line: str) -> _Cells:
    return [(found.start(), found[0]) for found in SPACED_CELL.finditer(line)]


def _table_groups(lines: Sequence[_Cells]) -> list[tuple[int, int]]:
    """Return first line and end of each table among the lines of a page."""
    groups = []
    n = 0
    while n < len(lines):
        end = n + 1
        while end < len(lines) and _fits_below(lines[n], lines[end]):
            end += 1
        if end - n >= _MIN_ROWS and _is_table(lines[n:end]):
            groups.append((n, end))
            n = end
        else:
            n += 1
    return groups


def _fits_below(header: _Cells, line: _Cells) -> bool:
    """Return whether each cell of a line stands below one of the header, and at least two do."""
    if not 2 <= len(header) <= MAX_SPACED_COLUMNS or not 2 <= len(line) <= len(header):
        return False
    columns = [_column(header, start, start + len(text)) for start, text in line]
    return all(c >= 0 for c in columns) and len(set(columns)) == len(columns)


def _column(header: _Cells, start: int, end: int) -> int:
    """Return the column of the header that a cell overlaps or begins in; -1 if it is none or several."""
    below = [n for n, (at, text) in enumerate(header) if start < at + len(text) + 1 and end > at - 1]
    if len(below) == 1:
        return below[0]
    near = [n for n, (at, _) in enumerate(header) if abs(at - start) <= _SLACK]
    return near[0] if len(near) == 1 else -1


def _is_table(lines: Sequence[_Cells]) -> bool:
    texts = [text for line in lines for _, text in line]
    full = sum(1 for line in lines if len(line) == len(lines[0]))
    return (
        sum(map(len, texts)) <= _MAX_CELL * len(texts)
        and sum(len(text.split()) for text in texts) <= _MAX_CELL_WORDS * len(texts)
        and 2 * full >= len(lines)
        and looks_like_header(_grid(lines[:2]))
    )


def _grid(lines: Sequence[_Cells]) -> list[list[str]]:
    header = lines[0]
    grid = [[text for _, text in header]]
    for line in lines[1:]:
        row = [""] * len(header)
        for start, text in line:
            row[_column(header, start, start + len(text))] = text
        grid.append(row)
    return grid
