"""OpenDocument texts (`.odt`), read with the standard library."""

import re
from html import unescape

from polygraph.errors import BadInput
from polygraph.ingest.content import FileContent, LoadedTable, LoadedText
from polygraph.ingest.decode import decode, open_zip
from polygraph.ingest.layout.scripts import raised_or_lowered
from polygraph.ingest.layout.table_rows import grid_lines
from polygraph.ingest.limits import ReadLimits
from polygraph.ingest.readers.html import attributes, tags
from polygraph.ingest.source_fields import author_field

_HIDDEN = frozenset({"office:annotation", "text:tracked-changes", "office:forms", "text:note-citation"})
_SPACE = re.compile(r"\s+")
_MAX_SPACES = 100
_MAX_REPEATED = 1_000
"""Times that a cell may stand for itself; programs write a million for the empty rest of a row."""


def read_odt(data: bytes, max_bytes: int) -> FileContent:
    """Read headings, paragraphs, lists and tables in their order, without comments and deleted text.

    Raises:
        BadInput: if it is damaged, protected, too large unpacked, or takes too much to read (see `limits`).
    """
    limits = ReadLimits()
    with open_zip(data, max_bytes) as archive:
        names = set(archive.namelist())
        if "content.xml" not in names:
            raise BadInput("is damaged: its part 'content.xml' is missing")
        limits.count_tags(archive)
        try:
            content = decode(archive.read("content.xml"))[0]
            about = decode(archive.read("meta.xml"))[0] if "meta.xml" in names else ""
        except RuntimeError as problem:  # encrypted
            raise BadInput("is protected by a password; save it without one") from problem
    reader = _Reader(limits)
    for text, name, raw in tags(content, xml=True):
        reader.take(unescape(text), name, raw)
    names_of_fields = {"/dc:title", "/dc:creator", "/meta:initial-creator"}
    fields = {name: text for text, name, _ in tags(about, xml=True) if name in names_of_fields}
    author = fields.get("/dc:creator") or fields.get("/meta:initial-creator", "")
    title = " ".join(unescape(fields.get("/dc:title", "")).split()) or reader.title
    return FileContent(
        [
            LoadedText(
                text="\n\n".join(map("\n".join, reader.blocks)),
                title=title,
                metadata=author_field(unescape(author)),
                tables=tuple(reader.tables),
            )
        ]
    )


class _Reader:
    """The blocks of a document, from its tags."""

    def __init__(self, limits: ReadLimits) -> None:
        self.blocks: list[list[str]] = []
        """Pieces of each, to be joined by line breaks."""
        self.tables: list[LoadedTable] = []
        self.title = ""
        self._limits = limits
        self._parts: list[str] = []
        self._level = 0
        self._paragraphs = 0
        """Paragraphs that are open: a note stands inside one."""
        self._hidden = 0
        self._lists = 0
        self._rows: list[list[str]] = []
        self._cell: list[str] | None = None
        self._repeat = 1
        self._tables = 0
        self._style = ""
        self._raised: dict[str, bool] = {}
        """By name of a style of superscripts or subscripts, whether they are superscripts."""
        self._spans: list[tuple[str, int]] = []
        """Style of each open span, and the number of parts before it."""

    def take(self, text: str, name: str, raw: str) -> None:
        """Read a tag and the text before it."""
        self._limits.count()
        if self._paragraphs and not self._hidden:
            self._parts.append(_SPACE.sub(" ", text))
        empty = raw.endswith("/")
        if name.removeprefix("/") in _HIDDEN:
            self._hidden += 0 if empty else -1 if name.startswith("/") and self._hidden else 1
        elif self._hidden:
            return
        elif name in {"text:p", "text:h"} and not empty:
            self._begin(name, raw)
        elif name in {"/text:p", "/text:h"}:
            self._end()
        elif name in {"text:s", "text:tab", "text:line-break"}:
            self._space(name, raw)
        elif name in {"text:list", "/text:list"} and not empty:
            self._lists = max(0, self._lists + (-1 if name.startswith("/") else 1))
        elif name in {"text:span", "/text:span"} and not empty:
            self._span(name, raw)
        elif name == "style:style":
            self._style = attributes(raw).get("style:name", "")
        elif name == "style:text-properties":
            position = attributes(raw).get("style:text-position", "")
            if position.startswith(("super", "sub")):
                self._raised[self._style] = position.startswith("super")
        elif ":table" in name:
            self._table(name, raw, empty)

    def _begin(self, name: str, raw: str) -> None:
        if self._paragraphs and "".join(self._parts).strip():
            self._parts.append(" ")
        self._paragraphs += 1
        if name == "text:h":
            level = attributes(raw).get("text:outline-level", "1")
            self._level = min(int(level), 6) if level.isdecimal() and len(level) < 3 else 1

    def _end(self) -> None:
        self._paragraphs = max(0, self._paragraphs - 1)
        if self._paragraphs:
            return
        text, level = "".join(self._parts).strip(), self._level
        self._parts, self._spans, self._level = [], [], 0
        if not text:
            return
        if self._cell is not None:
            self._cell.append(text)
        elif level:
            self.title = self.title or (text if level == 1 else "")
            self.blocks.append(["#" * level + " " + " ".join(text.split())])
        elif self._lists and self.blocks and self.blocks[-1][0].startswith("- "):
            self.blocks[-1].append(f"- {text}")
        else:
            self.blocks.append([f"- {text}" if self._lists else text])

    def _span(self, name: str, raw: str) -> None:
        if name == "text:span":
            self._spans.append((attributes(raw).get("text:style-name", ""), len(self._parts)))
        elif self._spans:
            style, start = self._spans.pop()
            if style in self._raised:
                text = "".join(self._parts[start:])
                self._parts[start:] = [raised_or_lowered(text, raised=self._raised[style])]

    def _space(self, name: str, raw: str) -> None:
        if not self._paragraphs:
            return
        count = attributes(raw).get("text:c", "1")
        n = min(int(count), _MAX_SPACES) if count.isdecimal() and len(count) < 9 else 1
        self._parts.append({"text:s": " " * n, "text:tab": "\t", "text:line-break": "\n"}[name])

    def _table(self, name: str, raw: str, empty: bool) -> None:
        if name == "table:table":
            self._tables += 1
            if self._tables == 1:
                self._rows = []
        elif name == "/table:table":
            self._tables = max(0, self._tables - 1)
            if not self._tables:
                self._end_table()
        elif name == "table:table-row" and self._tables == 1:
            self._rows.append([])
        elif name in {"table:table-cell", "table:covered-table-cell"} and self._tables == 1:
            self._cell = []
            repeat = attributes(raw).get("table:number-columns-repeated", "1")
            known = repeat.isdecimal() and len(repeat) < 9
            self._repeat = min(max(int(repeat), 1), _MAX_REPEATED) if known else 1
            if empty:
                self._end_cell()
        elif name in {"/table:table-cell", "/table:covered-table-cell"} and self._tables == 1:
            self._end_cell()

    def _end_cell(self) -> None:
        if self._cell is not None and self._rows:
            text = " ".join(" ".join(self._cell).split())
            repeat = self._repeat if text else 1
            self._limits.count(repeat)
            self._rows[-1] += [text] * repeat
        self._cell = None

    def _end_table(self) -> None:
        for row in self._rows:
            while row and not row[-1]:
                row.pop()
        width = max(map(len, self._rows), default=0)
        self._limits.count(width * len(self._rows))
        grid = [[*row, *[""] * (width - len(row))] for row in self._rows]
        self._rows = []
        lines, table = grid_lines(grid) if grid else ([], None)
        if lines:
            self.blocks.append(lines)
        if table is not None:
            self.tables.append(table)
