"""File formats: which reader takes which file."""

from collections.abc import Mapping

from polygraph.errors import BadInput
from polygraph.ingest.content import FileContent
from polygraph.ingest.decode import HoldsNothing, clean, decode, read_bytes, without_encoded_data
from polygraph.ingest.discover import SourceFile, suffix
from polygraph.ingest.readers.plain_text import read_code, read_markdown, read_plain, read_rst

FORMATS: Mapping[str, str] = {
    ".txt": "txt", ".text": "txt", ".md": "md", ".markdown": "md", ".rst": "rst",
    ".html": "html", ".htm": "html", ".xhtml": "html",
    ".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".eml": "eml", ".mbox": "mbox", ".msg": "msg", ".ipynb": "ipynb", ".odt": "odt", ".rtf": "rtf",
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

BINARY = frozenset({"pdf", "docx", "pptx", "xlsx", "epub", "eml", "msg", "odt", "rtf"})
"""Read from bytes; every other format is text."""
_WRITTEN = frozenset({"txt", "md", "rst", "code"})
"""Kept as written, but for embedded data."""
ARCHIVE = "zip"
"""Read as a folder."""
MAIL_ARCHIVE = "mbox"
"""Read message by message, whatever its size."""
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
    if ending in FORMATS:
        return
    from polygraph.ingest.readers.mail_archive import begins_as_archive

    if begins_as_archive(file.path):
        raise BadInput(f"is a mail archive; rename or copy it to {file.path.name}.mbox to read its messages")
    if not file.given:
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
    if format == MAIL_ARCHIVE:
        from polygraph.ingest.readers.mail_archive import read_mbox_file

        return read_mbox_file(file.path, max_bytes), ""
    return read_content(format, read_bytes(file.path, max_bytes), max_bytes)


def read_content(format: str, data: bytes, max_bytes: int) -> tuple[FileContent, str]:
    """Read the bytes of a file of a format, and return its encoding, as `read_file`."""
    if format == MAIL_ARCHIVE:
        from polygraph.ingest.readers.mail_archive import read_mbox

        return read_mbox(data, max_bytes), ""
    if format in BINARY:
        return _read_binary(format, data, max_bytes), ""
    charset = ""
    if format == "html":
        from polygraph.ingest.readers.html import declared_charset

        charset = declared_charset(data)
    text, encoding = decode(data, charset)
    if not text or text.isspace():
        raise HoldsNothing("is empty")
    if format not in TABULAR:  # there, what looks like a line end may stand inside a field
        text = clean(text)
    if format in _WRITTEN:
        text = without_encoded_data(text)
    return _read_text(format, text), "" if encoding == "utf-8" else encoding


# A reader is imported for the first file of its format: most folders hold few formats.


def _read_text(format: str, text: str) -> FileContent:
    match format:
        case "txt":
            return read_plain(text)
        case "md":
            return read_markdown(text)
        case "rst":
            return read_rst(text)
        case "code":
            return read_code(text)
        case "html":
            from polygraph.ingest.readers.html import read_html

            return read_html(text)
        case "ipynb":
            from polygraph.ingest.readers.ipynb import read_ipynb

            return read_ipynb(text)
    from polygraph.ingest.readers.tables import read_csv, read_json, read_jsonl

    match format:
        case "csv":
            return read_csv(text)
        case "tsv":
            return read_csv(text, delimiter="\t")
        case "json":
            return read_json(text)
        case "jsonl":
            return read_jsonl(text)
    raise ValueError(f"no text format {format!r}")


def _read_binary(format: str, data: bytes, max_bytes: int) -> FileContent:
    """Read bytes, which are unpacked to at most `max_bytes`."""
    match format:
        case "pdf":
            from polygraph.ingest.readers.pdf import read_pdf

            return read_pdf(data)
        case "docx" | "pptx" | "xlsx":
            from polygraph.ingest.readers import office

            read = {"docx": office.read_docx, "pptx": office.read_pptx, "xlsx": office.read_xlsx}[format]
            return read(data, max_bytes)
        case "epub":
            from polygraph.ingest.readers.epub import read_epub

            return read_epub(data, max_bytes)
        case "eml":
            from polygraph.ingest.readers.mail import read_eml

            return read_eml(data)
        case "msg":
            from polygraph.ingest.readers.outlook import read_msg

            return read_msg(data)
        case "odt":
            from polygraph.ingest.readers.odt import read_odt

            return read_odt(data, max_bytes)
        case "rtf":
            from polygraph.ingest.readers.rtf import read_rtf

            return read_rtf(data)
    raise ValueError(f"no binary format {format!r}")
