"""File formats: which reader takes which file."""

from collections.abc import Callable, Mapping

from polygraph.errors import BadInput
from polygraph.ingest.content import FileContent
from polygraph.ingest.decode import clean, decode, read_bytes
from polygraph.ingest.discover import SourceFile, suffix
from polygraph.ingest.epub import read_epub
from polygraph.ingest.html import declared_charset, read_html
from polygraph.ingest.ipynb import read_ipynb
from polygraph.ingest.mail import read_eml
from polygraph.ingest.odt import read_odt
from polygraph.ingest.office import read_docx, read_pptx, read_xlsx
from polygraph.ingest.outlook import read_msg
from polygraph.ingest.pdf import read_pdf
from polygraph.ingest.plain_text import read_code, read_markdown, read_plain, read_rst
from polygraph.ingest.rtf import read_rtf
from polygraph.ingest.tables import read_csv, read_json, read_jsonl

FORMATS: Mapping[str, str] = {
    ".txt": "txt", ".text": "txt", ".md": "md", ".markdown": "md", ".rst": "rst",
    ".html": "html", ".htm": "html", ".xhtml": "html",
    ".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".eml": "eml", ".msg": "msg", ".ipynb": "ipynb", ".odt": "odt", ".rtf": "rtf",
    ".log": "txt", ".yaml": "code", ".yml": "code", ".toml": "code", ".ini": "code", ".cfg": "code",
    ".py": "code", ".pyi": "code", ".js": "code", ".mjs": "code", ".ts": "code", ".jsx": "code", ".tsx": "code",
    ".java": "code", ".kt": "code", ".scala": "code", ".cs": "code", ".c": "code", ".h": "code", ".cc": "code",
    ".cpp": "code", ".hpp": "code", ".m": "code", ".go": "code", ".rs": "code", ".rb": "code", ".php": "code",
    ".swift": "code", ".sh": "code", ".bash": "code", ".ps1": "code", ".sql": "code", ".r": "code", ".jl": "code",
    ".lua": "code", ".pl": "code", ".hs": "code", ".ex": "code", ".clj": "code", ".proto": "code",
    ".zip": "zip",
    ".pdf": "pdf", ".docx": "docx", ".pptx": "pptx", ".xlsx": "xlsx", ".epub": "epub",
}  # fmt: skip
"""Format by the suffix of a file's name; ``.gz`` may follow each."""

_TEXT_READERS: Mapping[str, Callable[[str], FileContent]] = {
    "txt": read_plain,
    "md": read_markdown,
    "rst": read_rst,
    "html": read_html,
    "csv": read_csv,
    "tsv": lambda text: read_csv(text, delimiter="\t"),
    "json": read_json,
    "jsonl": read_jsonl,
    "ipynb": read_ipynb,
    "code": read_code,
}
BINARY_READERS: Mapping[str, Callable[[bytes, int], FileContent]] = {
    "pdf": lambda data, _: read_pdf(data),
    "docx": read_docx,
    "pptx": read_pptx,
    "xlsx": read_xlsx,
    "epub": read_epub,
    "eml": lambda data, _: read_eml(data),
    "msg": lambda data, _: read_msg(data),
    "odt": read_odt,
    "rtf": lambda data, _: read_rtf(data),
}
"""Readers that take bytes and the largest unpacked size."""
ARCHIVE = "zip"
"""Read as a folder."""
TABULAR = frozenset({"csv", "tsv", "json", "jsonl", "xlsx"})
"""Read as one document, such a file begins with some field, not with a title."""


def format_of(file: SourceFile) -> str:
    """Return the format of a file by its name; plain text if the suffix is not known."""
    return FORMATS.get(suffix(file.path.name), "txt")


def check_known(file: SourceFile) -> None:
    """Refuse a file of no known format, unless the file itself was given.

    Raises:
        BadInput: then.
    """
    ending = suffix(file.path.name)
    if ending not in FORMATS and not file.given:
        problem = f"has the suffix {ending!r}, which is not read" if ending else "has no suffix"
        raise BadInput(f"{problem}; to read it as plain text, give the file itself as a path")


def read_file(file: SourceFile, max_bytes: int) -> tuple[FileContent, str]:
    """Read a file, and return its encoding, empty for UTF-8 and binary formats.

    Raises:
        BadInput: if it is empty, damaged, too large or of no known format.
        MissingExtra: if its format needs the extra `documents`.
    """
    check_known(file)
    format = format_of(file)
    return read_content(format, read_bytes(file.path, max_bytes), max_bytes)


def read_content(format: str, data: bytes, max_bytes: int) -> tuple[FileContent, str]:
    """Read the bytes of a file of a format, and return its encoding, as `read_file`."""
    if format in BINARY_READERS:
        return BINARY_READERS[format](data, max_bytes), ""
    text, encoding = decode(data, declared_charset(data) if format == "html" else "")
    if not text or text.isspace():
        raise BadInput("is empty")
    if format not in TABULAR:  # there, what looks like a line end may stand inside a field
        text = clean(text)
    return _TEXT_READERS[format](text), "" if encoding == "utf-8" else encoding
