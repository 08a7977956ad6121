"""Word, PowerPoint and Excel files; their libraries come with the extra `documents`."""

import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, takewhile
from operator import is_not
from typing import Any

from polygraph.ingest.content import FileContent, LoadedTable, LoadedText, join_blocks, join_pages
from polygraph.ingest.decode import clean, open_zip
from polygraph.ingest.layout.scripts import raised_or_lowered
from polygraph.ingest.layout.space_tables import has_columns, space_tables
from polygraph.ingest.layout.table_rows import grid_lines, make_table, split_title
from polygraph.ingest.library import import_library, without_warnings
from polygraph.ingest.limits import ReadLimits
from polygraph.ingest.source_fields import author_field

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_DOCX_CONTAINERS = frozenset(
    f"{_W}{name}" for name in ("sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag")
)
"""Elements that hold paragraphs and tables."""
_DOCX_UNREAD = frozenset(
    [
        _FALLBACK,
        *(f"{_W}{name}" for name in ("del", "moveFrom", "pPr", "rPr", "rt", "sdtPr", "tblPr", "txbxContent")),
    ]
)
"""Elements whose text is deleted, said elsewhere, or none."""
_DOCX_BREAKS = {
    f"{_W}tab": "\t",
    f"{_W}ptab": "\t",
    f"{_W}br": "\n",
    f"{_W}cr": "\n",
    f"{_W}noBreakHyphen": "-",
}
MAX_CELLS = 5_000_000
"""Most cells of a workbook."""
_MAX_MERGED = 10_000
"""Merged ranges of a sheet that are filled."""
_MERGED = re.compile(rb'<mergeCell ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"')


def read_docx(data: bytes, max_bytes: int) -> FileContent:
    """Read paragraphs, headings, lists, tables and text boxes of a Word file in their order.

    Changes that are tracked count as accepted. A footnote or endnote follows the block that calls it.

    Raises:
        BadInput: if it is damaged, too large unpacked, or takes too much to read (see `limits`).
        MissingExtra: without `python-docx`.
    """
    docx, table = import_library("docx", "Word"), import_library("docx.table", "Word")
    paragraph = import_library("docx.text.paragraph", "Word")
    limits = ReadLimits()
    limits.count_tags(open_zip(data, max_bytes))
    document = docx.Document(io.BytesIO(data))
    title = str(document.core_properties.title or "").strip()
    blocks: list[tuple[str, str]] = []
    tables: list[LoadedTable] = []
    notes = _docx_notes(docx, document)
    aligned: list[str] = []  # paragraphs that may be the lines of one table
    for element in _docx_elements(document.element.body):
        limits.count()
        if element.tag == f"{_W}tbl":
            blocks += _docx_aligned(aligned, tables)
            blocks.append(("block", _docx_table(table.Table(element, document), limits, tables)))
            blocks += _docx_called_notes(element, notes)
            continue
        item = paragraph.Paragraph(element, document)
        written = _docx_text(element).rstrip()
        text = written.strip()
        style = str(getattr(item.style, "name", "") or "")
        level = style[8:].strip() if style.startswith("Heading ") else ""
        called = [*_docx_called_notes(element, notes)]
        is_plain = not level.isdecimal() and style != "Title" and not style.startswith("List")
        if text and is_plain and not called and not _is_numbered(item) and has_columns(written):
            aligned.append(written)
            continue
        blocks += _docx_aligned(aligned, tables)
        if not text:
            continue
        if style == "Title" or level.isdecimal():
            one_line = " ".join(text.split())
            title = title or (one_line if style == "Title" or level == "1" else "")
            blocks.append(("block", "#" * min(int(level or 1), 6) + " " + one_line))
        elif style.startswith("List") or _is_numbered(item):
            blocks.append(("item", f"- {text}"))
        else:
            blocks.append(("block", text))
        blocks += called
    blocks += _docx_aligned(aligned, tables)
    fields = author_field(document.core_properties.author)
    return FileContent(
        [LoadedText(text=join_blocks(blocks), title=title, metadata=fields, tables=tuple(tables))]
    )


def read_pptx(data: bytes, max_bytes: int) -> FileContent:
    """Read the slides of a PowerPoint file with their notes; ``metadata["pages"]`` holds the slide starts.

    Raises:
        BadInput: if it is damaged, too large unpacked, or takes too much to read (see `limits`).
        MissingExtra: without `python-pptx`.
    """
    pptx = import_library("pptx", "PowerPoint")
    limits = ReadLimits()
    limits.count_tags(open_zip(data, max_bytes))
    show = pptx.Presentation(io.BytesIO(data))
    slides: list[str] = []
    tables: list[LoadedTable] = []
    for slide in show.slides:
        head = slide.shapes.title
        blocks = []
        if head is not None and head.has_text_frame and head.text_frame.text.strip():
            blocks.append("# " + " ".join(head.text_frame.text.split()))
        others = (shape for shape in slide.shapes if head is None or shape.shape_id != head.shape_id)
        blocks += _shape_texts(others, limits, tables)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            notes = slide.notes_slide.notes_text_frame.text.strip()
            blocks += [f"Notes: {notes}"] if notes else []
        slides.append(clean("\n\n".join(blocks)))
    title = str(show.core_properties.title or "").strip()
    title = "" if title == "PowerPoint Presentation" else title
    text, pages = join_pages(slides, gap="\n\n")
    # The template of python-pptx names the author of that library.
    author = "" if not title and show.core_properties.author == "Steve Canny" else show.core_properties.author
    fields = author_field(author) | {"pages": list(pages)}
    return FileContent([LoadedText(text=text, title=title, metadata=fields, tables=tuple(tables))])


def read_xlsx(data: bytes, max_bytes: int) -> FileContent:
    """Read an Excel file as one document: a heading for each sheet, a line for each row below its header.

    The header is the first row with several cells; what stands above it is the title of the table. Formulas count by
    their last computed values. A merged cell stands in each cell that it covers.

    Raises:
        BadInput: if it is damaged, too large unpacked, has over five million cells, or takes too long.
        MissingExtra: without `openpyxl`.
    """
    openpyxl = import_library("openpyxl", "Excel")
    archive = open_zip(data, max_bytes)
    ReadLimits().count_tags(archive, except_below="xl/worksheets/")
    limits = ReadLimits(max_elements=MAX_CELLS)
    with without_warnings("openpyxl"):
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        parts: list[str] = []
        tables: list[LoadedTable] = []
        for sheet in book.worksheets:
            merged = _merged_cells(archive, str(getattr(sheet, "_worksheet_path", "")))
            titles, below = split_title([row for row in _xlsx_rows(sheet, merged, limits) if any(row)])
            if not below:
                continue
            name = " ".join(str(sheet.title).split())
            lines, table = make_table(below[0], below[1:], " ".join([name, *titles]))
            tables += [table] if table else []
            body = "\n".join(lines) or "; ".join(filter(None, below[0])) + "."
            parts.append("\n\n".join([f"# {name}", *titles, body]))
    title = str(book.properties.title or "").strip()
    fields = author_field(book.properties.creator)
    return FileContent(
        [LoadedText(text="\n\n".join(parts), title=title, metadata=fields, tables=tuple(tables))]
    )


def _xlsx_rows(
    sheet: Any, merged: Mapping[int, Mapping[int, tuple[int, int]]], limits: ReadLimits
) -> list[list[str]]:
    """Return the texts of the cells of a sheet; a merged cell stands in each that it covers."""
    rows: list[list[str]] = []
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        if row.count(None) == len(row) and number not in merged:
            # A stray cell at the bottom of a sheet has a million empty rows above it.
            limits.count()
            rows.append([])
            continue
        limits.count(len(row))
        cells = [_cell(value) for value in row]
        rows.append(cells)
        for column, (top, left) in merged.get(number, {}).items():
            if column < len(cells) and left < len(rows[top - 1]):
                cells[column] = rows[top - 1][left]
    return rows


def _docx_elements(parent: Any) -> Iterator[Any]:
    """Yield the paragraphs and tables of a body, also those in content controls and text boxes, in order."""
    for child in parent:
        if child.tag in (f"{_W}p", f"{_W}tbl"):
            yield child
            for box in child.iter(f"{_W}txbxContent"):
                above = {each.tag for each in takewhile(partial(is_not, child), box.iterancestors())}
                # A text box is there twice, the second time for old programs; one inside another is found there.
                if above.isdisjoint({_FALLBACK, f"{_W}txbxContent"}):
                    yield from _docx_elements(box)
        elif child.tag in _DOCX_CONTAINERS and not _is_contents(child):
            yield from _docx_elements(child)


def _is_contents(control: Any) -> bool:
    """Tell whether a content control is the table of contents, which repeats the headings."""
    return any(
        gallery.get(f"{_W}val") == "Table of Contents"
        for gallery in control.iterfind(f"{_W}sdtPr/{_W}docPartObj/{_W}docPartGallery")
    )


def _docx_aligned(lines: list[str], tables: list[LoadedTable]) -> list[tuple[str, str]]:
    """Return the blocks of paragraphs that keep columns apart by spaces, as a table if they are one; empty the list."""
    text, found = space_tables("\n".join(lines))
    tables += found
    blocks = [text.strip()] if found else [line.strip() for line in lines]
    lines.clear()
    return [("block", block) for block in blocks]


def _docx_text(element: Any) -> str:
    """Return the text of a paragraph or cell, with superscripts, subscripts, links, equations and inserted text."""
    return "".join(_docx_pieces(element))


def _docx_pieces(element: Any) -> Iterator[str]:
    for child in element:
        if child.tag in (f"{_W}t", f"{_M}t"):
            yield child.text or ""
        elif child.tag in _DOCX_BREAKS:
            if child.get(f"{_W}type") in (None, "textWrapping"):
                yield _DOCX_BREAKS[child.tag]
        elif child.tag == f"{_W}r":
            text = _docx_text(child)
            script = child.find(f"{_W}rPr/{_W}vertAlign")
            position = script.get(f"{_W}val") if script is not None else ""
            scripted = position in ("superscript", "subscript")
            yield raised_or_lowered(text, raised=position == "superscript") if scripted else text
        elif child.tag in (f"{_M}sup", f"{_M}sub"):
            yield raised_or_lowered(_docx_text(child), raised=child.tag == f"{_M}sup")
        elif child.tag == f"{_M}den":
            yield f"/{_docx_text(child)}"
        elif child.tag not in _DOCX_UNREAD and isinstance(child.tag, str):
            yield from _docx_pieces(child)
            if child.tag == f"{_W}p":
                yield "\n"


def _docx_notes(docx: Any, document: Any) -> dict[tuple[str, str], str]:
    """Return the texts of footnotes and endnotes by kind and number."""
    notes: dict[tuple[str, str], str] = {}
    for relation in document.part.rels.values():
        kind = relation.reltype.rpartition("/")[2].removesuffix("s")
        if kind in ("footnote", "endnote") and not relation.is_external:
            for note in docx.oxml.parse_xml(relation.target_part.blob):
                notes[kind, note.get(f"{_W}id", "")] = " ".join(_docx_text(note).split())
    return notes


def _docx_called_notes(element: Any, notes: dict[tuple[str, str], str]) -> Iterator[tuple[str, str]]:
    """Yield a block for each note that is called in an element; each note once."""
    for call in element.iter(f"{_W}footnoteReference", f"{_W}endnoteReference"):
        kind = call.tag.removeprefix(_W).removesuffix("Reference")
        if text := notes.pop((kind, call.get(f"{_W}id", "")), ""):
            yield "block", f"Note: {text}"


def _docx_table(table: Any, limits: ReadLimits, tables: list[LoadedTable]) -> str:
    """Return the lines of a table, and add it to the others."""
    grid: list[list[str]] = []
    n_header = 0
    for n, row in enumerate(table.rows):
        cells: list[str] = []
        text, seen = "", None
        for cell in row.cells:  # a span of a thousand columns is a thousand cells
            limits.count()
            if cell._tc is not seen:  # a merged cell is handed out once for each column
                text = " ".join(_docx_text(cell._tc).split())
            elif not n:
                n_header = 2  # names below a cell that spans several columns
            cells.append(text)
            seen = cell._tc
        grid.append(cells)
    if grid and len(set(grid[0])) == 1:
        n_header = 0  # a title
    width = max(map(len, grid), default=0)
    return _grid_text([[*row, *[""] * (width - len(row))] for row in grid], n_header, tables)


def _grid_text(grid: Sequence[Sequence[str]], n_header: int, tables: list[LoadedTable]) -> str:
    lines, table = grid_lines(grid, n_header if n_header < len(grid) else 0)
    tables += [table] if table else []
    return "\n".join(lines)


def _is_numbered(paragraph: Any) -> bool:
    properties = paragraph._p.pPr
    return properties is not None and properties.numPr is not None


def _shape_texts(shapes: Any, limits: ReadLimits, tables: list[LoadedTable]) -> list[str]:
    texts = []
    for shape in shapes:
        limits.count()
        if hasattr(shape, "shapes"):
            texts += _shape_texts(shape.shapes, limits, tables)
        elif getattr(shape, "has_table", False):
            texts.append(_grid_text(_pptx_grid(shape.table, limits), 0, tables))
        elif getattr(shape, "has_text_frame", False):
            lines = [line.text.strip() for line in shape.text_frame.paragraphs]
            texts.append("\n".join(line for line in lines if line))
    return [text for text in texts if text.strip()]


def _pptx_grid(table: Any, limits: ReadLimits) -> list[list[str]]:
    """Return the texts of a table; a merged cell stands in each cell that it covers."""
    grid = [[" ".join(cell.text.split()) for cell in row.cells] for row in table.rows]
    for r, row in enumerate(table.rows):
        for c, cell in enumerate(row.cells):
            limits.count()
            if cell.is_merge_origin:
                for down in range(r, min(r + cell.span_height, len(grid))):
                    for right in range(c, min(c + cell.span_width, len(grid[down]))):
                        limits.count()
                        grid[down][right] = grid[r][c]
    return grid


def _merged_cells(archive: zipfile.ZipFile, path: str) -> dict[int, dict[int, tuple[int, int]]]:
    """Return row and column of the first cell of each merged range, by row and column of the others; rows from 1."""
    found: dict[int, dict[int, tuple[int, int]]] = {}
    if path.lstrip("/") not in archive.namelist():
        return found
    n_cells = 0
    for match in islice(_MERGED.finditer(archive.read(path.lstrip("/"))), _MAX_MERGED):
        left, right = _column_number(match[1]), _column_number(match[3])
        top, bottom = int(match[2]), int(match[4])
        n_cells += max(0, bottom - top + 1) * max(0, right - left + 1)
        if n_cells > _MAX_MERGED:
            break
        for row in range(top, bottom + 1):
            for column in range(left, right + 1):
                if (row, column) != (top, left):
                    found.setdefault(row, {})[column] = (top, left)
    return found


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number - 1


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return clean(str(value)).strip().removesuffix(" 00:00:00")  # a date without a time of day
