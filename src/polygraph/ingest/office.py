"""Word, PowerPoint and Excel files; their libraries come with the extra `documents`."""

import io
from typing import Any

from polygraph.ingest.content import FileContent, LoadedText, join_pages
from polygraph.ingest.decode import clean, open_zip
from polygraph.ingest.library import import_library, without_warnings
from polygraph.ingest.limits import ReadLimits
from polygraph.ingest.source_fields import author_field
from polygraph.ingest.tables import column_names, row_line

MAX_CELLS = 5_000_000
"""Of a workbook."""


def read_docx(data: bytes, max_bytes: int) -> FileContent:
    """Read paragraphs, headings, lists and tables of a Word file in their order.

    Raises:
        BadInput: if it is damaged, too large unpacked, or takes too much to read (see `limits`).
        MissingExtra: without `python-docx`.
    """
    docx, table = import_library("docx", "Word"), import_library("docx.table", "Word")
    limits = ReadLimits()
    limits.count_tags(open_zip(data, max_bytes))
    document = docx.Document(io.BytesIO(data))
    title = str(document.core_properties.title or "").strip()
    blocks: list[tuple[str, str]] = []
    for item in document.iter_inner_content():
        limits.count()
        if isinstance(item, table.Table):
            blocks.append(("block", _docx_table(item, limits)))
            continue
        text = item.text.strip()
        style = str(getattr(item.style, "name", "") or "")
        level = style[8:].strip() if style.startswith("Heading ") else ""
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
    fields = author_field(document.core_properties.author)
    return FileContent([LoadedText(text=_join_blocks(blocks), title=title, metadata=fields)])


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
    for slide in show.slides:
        head = slide.shapes.title
        blocks = []
        if head is not None and head.has_text_frame and head.text_frame.text.strip():
            blocks.append("# " + " ".join(head.text_frame.text.split()))
        others = (shape for shape in slide.shapes if head is None or shape.shape_id != head.shape_id)
        blocks += _shape_texts(others, limits)
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
    return FileContent([LoadedText(text=text, title=title, metadata=fields)])


def read_xlsx(data: bytes, max_bytes: int) -> FileContent:
    """Read an Excel file as one document: a heading for each sheet, a line for each row below its first one.

    Formulas count by their last computed values.

    Raises:
        BadInput: if it is damaged, too large unpacked, has over five million cells, or takes too long.
        MissingExtra: without `openpyxl`.
    """
    openpyxl = import_library("openpyxl", "Excel")
    ReadLimits().count_tags(open_zip(data, max_bytes), except_below="xl/worksheets/")
    limits = ReadLimits(max_elements=MAX_CELLS)
    with without_warnings("openpyxl"):
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        parts: list[str] = []
        for sheet in book.worksheets:
            columns: list[str] = []
            lines: list[str] = []
            for row in sheet.iter_rows(values_only=True):
                limits.count(len(row))
                cells = [_cell(value) for value in row]
                if not any(cells):
                    continue
                if columns:
                    lines.append(row_line(columns, cells))
                else:
                    while cells and not cells[-1]:
                        cells.pop()
                    columns = column_names(cells)
            if columns:
                body = "\n".join(lines) or "; ".join(columns) + "."
                parts.append(f"# {' '.join(str(sheet.title).split())}\n\n{body}")
    title = str(book.properties.title or "").strip()
    fields = author_field(book.properties.creator)
    return FileContent([LoadedText(text="\n\n".join(parts), title=title, metadata=fields)])


def _join_blocks(blocks: list[tuple[str, str]]) -> str:
    parts: list[str] = []
    previous = ""
    for kind, text in blocks:
        if text:
            if parts:
                parts.append("\n" if kind == previous == "item" else "\n\n")
            parts.append(text)
            previous = kind
    return "".join(parts)


def _docx_table(table: Any, limits: ReadLimits) -> str:
    lines = []
    for row in table.rows:
        cells: list[str] = []
        seen = None
        for cell in row.cells:  # a span of a thousand columns is a thousand cells
            limits.count()
            if cell._tc is not seen:  # a merged cell is handed out once for each column
                cells.append(" ".join(cell.text.split()))
            seen = cell._tc
        if any(cells):
            lines.append(" | ".join(cells))
    return "\n".join(lines)


def _is_numbered(paragraph: Any) -> bool:
    properties = paragraph._p.pPr
    return properties is not None and properties.numPr is not None


def _shape_texts(shapes: Any, limits: ReadLimits) -> list[str]:
    texts = []
    for shape in shapes:
        limits.count()
        if hasattr(shape, "shapes"):
            texts += _shape_texts(shape.shapes, limits)
        elif getattr(shape, "has_table", False):
            rows = [" | ".join(" ".join(cell.text.split()) for cell in row.cells) for row in shape.table.rows]
            texts.append("\n".join(rows))
        elif getattr(shape, "has_text_frame", False):
            lines = [line.text.strip() for line in shape.text_frame.paragraphs]
            texts.append("\n".join(line for line in lines if line))
    return [text for text in texts if text.strip()]


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return clean(str(value)).strip().removesuffix(" 00:00:00")  # a date without a time of day
