"""PDF, Word, PowerPoint, Excel and EPUB files.

EPUB is read with the standard library; the others need the extra `documents`. Their libraries are imported
where they are used.
"""

import io
import logging
import posixpath
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from urllib.parse import unquote

from polygraph.errors import BadInput, MissingExtra
from polygraph.ingest.content import Content, Draft
from polygraph.ingest.decode import clean, decode
from polygraph.ingest.html import attributes, page_text, tags
from polygraph.ingest.tables import column_names, row_line

_EXTRA = "documents"
_MAX_CELLS = 5_000_000
_MAX_PAGES = 20_000
_ENDS_SENTENCE = (".", "!", "?", "…", ":", "”", '"', "。", "！", "？")


def read_pdf(data: bytes) -> Content:
    """Read the text layer of a PDF, page by page; ``metadata["pages"]`` holds the offsets of the page starts.

    Raises:
        BadInput: if it is damaged, locked with a password, or has no text layer.
        MissingExtra: without `pypdf`.
    """
    pypdf = _library("pypdf", "PDF")
    with _silent("pypdf"):
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise BadInput("is locked with a password; save it without one")
        if len(reader.pages) > _MAX_PAGES:
            raise BadInput(
                f"has {len(reader.pages):,} pages; the most that are read is {_MAX_PAGES:,}; split it"
            )
        texts = [clean(page.extract_text()).strip() for page in reader.pages]
        title = clean(str((reader.metadata and reader.metadata.title) or "")).strip()
    if not any(texts):
        raise BadInput("has no text layer (its pages are pictures); run OCR on it first")
    text, pages = _join_pages(texts)
    # Programs put the name of their own file there.
    title = "" if title.lower().endswith((".doc", ".docx", ".indd", ".tex", ".pdf")) else title
    return Content([Draft(text=text, title=title, metadata={"pages": list(pages)})])


def read_docx(data: bytes, max_bytes: int) -> Content:
    """Read paragraphs, headings, lists and tables of a Word file in their order.

    Raises:
        BadInput: if it is damaged or too large unpacked.
        MissingExtra: without `python-docx`.
    """
    docx, table = _library("docx", "Word"), _library("docx.table", "Word")
    _check_zip(data, max_bytes)
    document = docx.Document(io.BytesIO(data))
    title = str(document.core_properties.title or "").strip()
    blocks: list[tuple[str, str]] = []
    for item in document.iter_inner_content():
        if isinstance(item, table.Table):
            blocks.append(("block", _docx_table(item)))
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
    return Content([Draft(text=_joined(blocks), title=title)])


def read_pptx(data: bytes, max_bytes: int) -> Content:
    """Read the slides of a PowerPoint file with their notes; ``metadata["pages"]`` holds the slide starts.

    Raises:
        BadInput: if it is damaged or too large unpacked.
        MissingExtra: without `python-pptx`.
    """
    pptx = _library("pptx", "PowerPoint")
    _check_zip(data, max_bytes)
    show = pptx.Presentation(io.BytesIO(data))
    slides: list[str] = []
    for slide in show.slides:
        head = slide.shapes.title
        blocks = []
        if head is not None and head.has_text_frame and head.text_frame.text.strip():
            blocks.append("# " + " ".join(head.text_frame.text.split()))
        blocks += _shape_texts(
            shape for shape in slide.shapes if head is None or shape.shape_id != head.shape_id
        )
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            notes = slide.notes_slide.notes_text_frame.text.strip()
            blocks += [f"Notes: {notes}"] if notes else []
        slides.append(clean("\n\n".join(blocks)))
    title = str(show.core_properties.title or "").strip()
    title = "" if title == "PowerPoint Presentation" else title
    text, pages = _join_pages(slides, gap="\n\n")
    return Content([Draft(text=text, title=title, metadata={"pages": list(pages)})])


def read_xlsx(data: bytes, max_bytes: int) -> Content:
    """Read an Excel file as one document: a heading for each sheet, a line for each row below its first one.

    Formulas count by their last computed values.

    Raises:
        BadInput: if it is damaged, too large unpacked, or has over five million cells.
        MissingExtra: without `openpyxl`.
    """
    openpyxl = _library("openpyxl", "Excel")
    _check_zip(data, max_bytes)
    with _silent("openpyxl"):
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        parts: list[str] = []
        n_cells = 0
        for sheet in book.worksheets:
            columns: list[str] = []
            lines: list[str] = []
            for row in sheet.iter_rows(values_only=True):
                n_cells += len(row)
                if n_cells > _MAX_CELLS:
                    raise BadInput(f"has over {_MAX_CELLS:,} cells; export the sheets that matter as csv")
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
    return Content([Draft(text="\n\n".join(parts), title=title)])


def read_epub(data: bytes, max_bytes: int) -> Content:
    """Read the chapters of an EPUB book in reading order, with the reader for HTML.

    Raises:
        BadInput: if it is damaged, too large unpacked, or protected.
    """
    with _check_zip(data, max_bytes) as book:
        names = set(book.namelist())
        if "META-INF/rights.xml" in names:
            raise BadInput("is a protected (DRM) book, which cannot be read")
        container = _member(book, "META-INF/container.xml", names)
        roots = [
            attributes(raw).get("full-path", "") for _, name, raw in tags(container) if name == "rootfile"
        ]
        package = _member(book, roots[0], names) if roots else ""
        hrefs: dict[str, str] = {}
        spine: list[str] = []
        title = ""
        in_title = False
        for text, name, raw in tags(package, xml=True):
            if in_title:
                title, in_title = title + text, False
            if name == "item":
                item = attributes(raw)
                if "html" in item.get("media-type", ""):
                    hrefs[item.get("id", "")] = item.get("href", "")
            elif name == "itemref":
                spine.append(attributes(raw).get("idref", ""))
            elif name == "dc:title" and not title:
                in_title = True
        folder = posixpath.dirname(roots[0]) if roots else ""
        chapters = []
        for href in (hrefs[item] for item in spine if item in hrefs):
            path = posixpath.normpath(posixpath.join(folder, unquote(href.split("#")[0])))
            chapters.append(page_text(_member(book, path, names), xml=True)[0])
    text = "\n\n".join(chapter for chapter in chapters if chapter)
    if not text:
        raise BadInput("holds no text in its chapters")
    return Content([Draft(text=text, title=" ".join(title.split()))])


def _library(name: str, what: str) -> Any:
    try:
        return import_module(name)
    except ImportError as problem:
        raise MissingExtra(what, _EXTRA) from problem


@contextmanager
def _silent(logger_name: str) -> Iterator[None]:
    """Keep a library's warnings about odd files off the terminal."""
    logger = logging.getLogger(logger_name)
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)


def _check_zip(data: bytes, max_bytes: int) -> zipfile.ZipFile:
    """Open a zip file whose contents are bounded: `zipfile` never unpacks more than a member declares."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as problem:
        raise BadInput(f"is damaged or of another format than its name says: {problem}") from problem
    size = sum(member.file_size for member in archive.infolist())
    if size > max_bytes:
        raise BadInput(
            f"unpacks to {size / 1e6:,.0f} MB, more than the {max_bytes / 1e6:,.0f} MB that are read"
        )
    return archive


def _member(archive: zipfile.ZipFile, path: str, names: set[str]) -> str:
    if path not in names:
        raise BadInput(f"is damaged: its part {path[:200]!r} is missing")
    return decode(archive.read(path))[0]


def _join_pages(texts: list[str], gap: str = "") -> tuple[str, list[int]]:
    """Join pages so that a sentence may go on over the page's end; tell where each page starts."""
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    previous = ""
    for text in texts:
        if previous and text:
            join = gap or ("\n\n" if previous.endswith(_ENDS_SENTENCE) else "\n")
            parts.append(join)
            length += len(join)
        starts.append(length)
        parts.append(text)
        length += len(text)
        previous = text or previous
    return "".join(parts), starts


def _joined(blocks: list[tuple[str, str]]) -> str:
    parts: list[str] = []
    previous = ""
    for kind, text in blocks:
        if text:
            if parts:
                parts.append("\n" if kind == previous == "item" else "\n\n")
            parts.append(text)
            previous = kind
    return "".join(parts)


def _docx_table(table: Any) -> str:
    lines = []
    for row in table.rows:
        cells: list[str] = []
        seen = None
        for cell in row.cells:
            if cell._tc is not seen:  # a merged cell is handed out once for each column
                cells.append(" ".join(cell.text.split()))
            seen = cell._tc
        if any(cells):
            lines.append(" | ".join(cells))
    return "\n".join(lines)


def _is_numbered(paragraph: Any) -> bool:
    properties = paragraph._p.pPr
    return properties is not None and properties.numPr is not None


def _shape_texts(shapes: Any) -> list[str]:
    texts = []
    for shape in shapes:
        if hasattr(shape, "shapes"):
            texts += _shape_texts(shape.shapes)
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
