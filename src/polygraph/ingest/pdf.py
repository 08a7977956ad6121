"""The text layer of PDF files."""

import io

from polygraph.errors import BadInput
from polygraph.ingest.content import FileContent, LoadedText, join_pages
from polygraph.ingest.decode import clean
from polygraph.ingest.library import import_library, without_warnings
from polygraph.ingest.limits import ReadLimits
from polygraph.ingest.source_fields import author_field

_MAX_PAGES = 20_000
_BYTES_OF_ELEMENT = 20
"""Bytes of a page's instructions that count as one element."""


def read_pdf(data: bytes) -> FileContent:
    """Read the text layer of a PDF, page by page; ``metadata["pages"]`` holds the offsets of the page starts.

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
        for page in reader.pages:
            contents = page.get_contents()
            # An operator takes some bytes: a page that is larger than a book would take hours.
            limits.count(1 + (len(contents.get_data()) // _BYTES_OF_ELEMENT if contents is not None else 0))
            # Instructions may call others, so that each is counted, and the time is checked within a page.
            text = page.extract_text(visitor_operand_before=lambda *_: limits.count())
            texts.append(clean(text).strip())
        title = clean(str((reader.metadata and reader.metadata.title) or "")).strip()
        author = author_field(clean(str((reader.metadata and reader.metadata.author) or "")))
    if not any(texts):
        raise BadInput("has no text layer (its pages are pictures); run OCR on it first")
    text, pages = join_pages(texts)
    # Some programs put the name of their own file there.
    title = "" if title.lower().endswith((".doc", ".docx", ".indd", ".tex", ".pdf")) else title
    return FileContent([LoadedText(text=text, title=title, metadata=author | {"pages": list(pages)})])
