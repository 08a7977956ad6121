"""The text layer of PDF files: prose in reading order, tables by their layout."""

import io
from typing import Any

from polygraph.errors import BadInput
from polygraph.ingest.content import FileContent, LoadedTable, LoadedText, join_pages
from polygraph.ingest.decode import clean
from polygraph.ingest.layout.pdf_pages import join_hyphens, page_by_layout, without_running_heads
from polygraph.ingest.library import import_library, without_warnings
from polygraph.ingest.limits import ReadLimits
from polygraph.ingest.source_fields import author_field

_MAX_PAGES = 20_000
_BYTES_OF_ELEMENT = 20
"""Bytes of a page's instructions that count as one element."""
_MAX_LAYOUT_BYTES = 200_000
"""Instructions of a page that is read by its layout too: the layout of a page is a text with a space for each gap."""
_NO_TITLES = frozenset(
    {"anonymous", "untitled", "unknown", "no title", "document", "title", "document1", "print"}
)
_PROGRAM_PREFIX = "microsoft word - "


def read_pdf(data: bytes) -> FileContent:
    """Read the text layer of a PDF, page by page; ``metadata["pages"]`` holds the offsets of the page starts.

    Rows of tables, which are recognized by their layout, read ``column: value; column: value.`` Running heads, page
    numbers and hyphens at line ends are left out.

    Raises:
        BadInput: if it is damaged, locked with a password, has no text layer, or takes too much to read (see `limits`).
        MissingExtra: without `pypdf`.
    """
    pypdf = import_library("pypdf", "PDF")
    with without_warnings("pypdf"):
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise BadInput("is locked with a password; save it without one")
        if len(reader.pages) > _MAX_PAGES:
            raise BadInput(
                f"has {len(reader.pages):,} pages; the most that are read is {_MAX_PAGES:,}; split it"
            )
        limits = ReadLimits()
        texts = []
        tables: list[LoadedTable] = []
        for page in reader.pages:
            contents = page.get_contents()
            # An operator takes some bytes: a page that is larger than a book would take hours.
            size = len(contents.get_data()) if contents is not None else 0
            limits.count(1 + size // _BYTES_OF_ELEMENT)
            # Instructions may call others, so that each is counted, and the time is checked within a page.
            text = page.extract_text(visitor_operand_before=lambda *_: limits.count())
            texts.append(clean(text).strip())
            if 0 < size <= _MAX_LAYOUT_BYTES and texts[-1].count("\n") > 1:
                limits.count(size // _BYTES_OF_ELEMENT)
                if by_layout := page_by_layout(_layout(page), texts[-1]):
                    texts[-1] = by_layout[0]
                    tables += by_layout[1]
        title = clean(str((reader.metadata and reader.metadata.title) or "")).strip()
        author = author_field(clean(str((reader.metadata and reader.metadata.author) or "")))
    if not any(texts):
        raise BadInput("has no text layer (its pages are pictures); run OCR on it first")
    text, pages = join_pages([join_hyphens(page) for page in without_running_heads(texts)])
    fields = author | {"pages": list(pages)}
    return FileContent([LoadedText(text=text, title=pdf_title(title), metadata=fields, tables=tuple(tables))])


def _layout(page: Any) -> str:
    """Return the text of a page with spaces for its gaps; empty if the library fails at this page."""
    try:
        return clean(page.extract_text(extraction_mode="layout", layout_mode_space_vertically=False))
    except Exception:
        # The plain text of the page has been read, so that only its tables are lost.
        return ""


def pdf_title(title: str) -> str:
    """Return the title of a file, unless a program wrote its own words or the name of a file there."""
    if title.lower().startswith(_PROGRAM_PREFIX):
        title = title[len(_PROGRAM_PREFIX) :].strip()
    bare = title.strip("()[]<> ").lower()
    ends = (
        ".htm",
        ".html",
        ".md",
        ".odt",
        ".doc",
        ".docx",
        ".indd",
        ".tex",
        ".pdf",
        ".dvi",
        ".ps",
        ".rtf",
        ".txt",
        ".xls",
        ".xlsx",
        ".ppt",
        ".pptx",
    )
    return "" if bare in _NO_TITLES or bare.endswith(ends) else title
