"""The visible text of HTML pages, block by block.

The parser of the standard library takes quadratic time on some broken pages (15 s for 40 kB of ``<a `` with Python
3.11.7), so a small scanner of our own finds the tags. It never searches again for a mark that was not found, so its
cost is linear whatever the page contains.
"""

import re
import sys
from collections.abc import Iterator
from html import unescape

from polygraph.ingest.content import FileContent, LoadedTable, LoadedText, join_blocks
from polygraph.ingest.layout.html_tables import Cell, table_lines
from polygraph.ingest.layout.scripts import raised_or_lowered
from polygraph.ingest.source_fields import page_field
from polygraph.records import Json

_NAME = re.compile(r"/?[a-zA-Z][\w:-]{0,40}")
_VALUE_OR_END = re.compile(r">|=\s{0,8}[\"']")
_ATTRIBUTE = re.compile(r"([\w:-]{1,40})\s{0,8}=\s{0,8}(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_HIDDEN = re.compile(r"(?:^|\s)hidden(?:[\s=/]|$)|aria-hidden\s{0,4}=\s{0,4}[\"']?true", re.IGNORECASE)
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s{0,4}=\s{0,4}[\"']?\s{0,4}([\w.:-]{2,40})", re.IGNORECASE)

_RAW = frozenset({"script", "style"})
_UNSEEN = frozenset(
    {"audio", "button", "canvas", "dialog", "embed", "iframe", "map", "noscript", "object", "select", "svg"}
    | {"template", "textarea", "video"}
)
_BOILERPLATE = frozenset({"nav", "header", "footer"})
_CONTENT = frozenset({"article", "main", "section"})
_HIDEABLE = frozenset({"div", "span", "section", "ul", "ol", "table"})
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dir", "div"}
    | {"dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "hr", "html"}
    | {"legend", "li", "main", "menu", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody"}
    | {"tfoot", "thead", "tr", "ul", "h1", "h2", "h3", "h4", "h5", "h6"}
)
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_WRAPPERS = frozenset({"p", "div", "center", "figure", "section"})
"""Blocks that may stand around the text of a list item, or empty before it, as where a script writes formulas."""
_MAX_INDENT = 6
_TITLE_CHARS = 1_000
_NOWHERE = sys.maxsize


def read_html(source: str) -> FileContent:
    """Read a page: its headings, lists, tables, code and paragraphs.

    Headings become ``# ``, list items ``- ``, rows below a header ``column: value; column: value.``, other rows
    ``a | b``, ``<pre>`` fenced code.

    Scripts, styles, navigation, page headers and footers, form controls and hidden parts are left out. A page of
    which nothing would remain is read with its navigation, header and footer.
    """
    page = _read(source, xml=False)
    return FileContent(
        [
            LoadedText(
                text=page.text(),
                title=page.title or page.first_h1,
                metadata=page.fields,
                tables=tuple(page.tables),
            )
        ]
    )


def page_text(source: str, *, xml: bool = False) -> tuple[str, str]:
    """Return the text of a page and its title, from ``<title>`` or else the first ``<h1>``."""
    page = _read(source, xml=xml)
    return page.text(), page.title or page.first_h1


def declared_charset(data: bytes) -> str:
    """Return the encoding that a page declares, or an empty string."""
    found = _CHARSET.search(data[:4_096])
    return found[1].decode("ascii", "replace") if found else ""


def attributes(raw: str) -> dict[str, str]:
    """Return the attributes of a tag, names in lower case.

    >>> attributes(' href="a&amp;b" ID=x')
    {'href': 'a&b', 'id': 'x'}
    """
    return {
        found[1].lower(): unescape(found[2] or found[3] or found[4] or "")
        for found in _ATTRIBUTE.finditer(raw[:4_000])
    }


def tags(source: str, *, xml: bool = False) -> Iterator[tuple[str, str, str]]:
    """Split a page into tags and the text between them.

    Yields:
        The text before a tag (with its entities), the tag's name in lower case (end tags with a leading ``/``), and
        the rest of the tag. The name is empty where only text is left, or a comment follows.

    >>> list(tags("a<b class='x>y'>c</B>d < e"))
    [('a', 'b', " class='x>y'"), ('c', '/b', ''), ('d <', '', ''), (' e', '', '')]
    """
    missing: set[str] = set()
    lower = ""
    trust_quotes = True

    def find(mark: str, start: int, within: str = source) -> int:
        if mark in missing:
            return -1
        at = within.find(mark, start)
        if at < 0:
            missing.add(mark)
        return at

    def tag_end(start: int) -> int:
        while trust_quotes:
            found = _VALUE_OR_END.search(source, start)
            if not found:
                return -1
            if found[0] == ">":
                return found.start()
            close = find(found[0][-1], found.end())
            start = close + 1 if close >= 0 else found.end()
        return find(">", start)

    pos = 0
    while True:
        at = find("<", pos)
        if at < 0:
            yield source[pos:], "", ""
            return
        if source.startswith(("<!", "<?"), at):
            opening, mark = (4, "-->") if source.startswith("<!--", at) else (2, ">")
            close = find(mark, at + opening)
            yield source[pos:at], "", ""
            pos = close + len(mark) if close >= 0 else at + opening
            continue
        name = _NAME.match(source, at + 1)
        end = tag_end(name.end()) if name and ">" not in missing else -1
        if name and end < 0 and trust_quotes:
            # A quote is never closed: from here on a tag ends at the next `>`, quoted or not.
            trust_quotes = False
            end = tag_end(name.end())
        if not name or end < 0:
            yield source[pos : at + 1], "", ""
            pos = at + 1
            continue
        tag, raw = name[0].lower(), source[name.end() : end]
        yield source[pos:at], tag, raw
        pos = end + 1
        if tag in _RAW and not (xml and raw.endswith("/")):
            lower = lower or source.lower()
            # A few letters are longer in lower case; then positions differ, and the search is by exact case.
            close = find(f"</{tag}", pos, lower) if len(lower) == len(source) else find(f"</{tag}", pos)
            pos = close if close >= 0 else len(source)


def _read(source: str, *, xml: bool) -> "_Page":
    page = _Page(keep_all=False, xml=xml)
    page.read(source)
    if not page.blocks and page.left_out:
        page = _Page(keep_all=True, xml=xml)
        page.read(source)
    return page


class _Page:
    """The blocks of a page, collected tag by tag."""

    def __init__(self, *, keep_all: bool, xml: bool) -> None:
        self.keep_all = keep_all
        self.xml = xml
        self.title = ""
        self.first_h1 = ""
        self.fields: dict[str, Json] = {}
        """Author and date that the head states; the first of each."""
        self.left_out = False
        self.blocks: list[tuple[str, str]] = []
        """Kind (`block`, `item`, `row`) and text."""
        self.tables: list[LoadedTable] = []
        self._table_rows: dict[int, list[Cell]] = {}
        """Cells of the rows among the blocks, by position."""
        self._table_starts: list[tuple[int, bool]] = []
        """First block of each open table, and whether its cells hold blocks, as in a table for layout."""
        self._caption = ""
        self._script: tuple[str, int] | None = None
        self._formula = _NOWHERE
        """Where the open formula begins among the texts of the line."""
        self._inline: list[str] = []
        """Texts of the line so far."""
        self._is_blank = True
        """Whether nothing but blanks is on the line."""
        self._prefix = ""
        self._kind = "block"
        self._cells: list[Cell] | None = None
        self._cell_tag: tuple[str, str] = ("td", "")
        self._in_cell = False
        self._lists = 0
        self._pre = 0
        self._content = 0
        self._dropped = ""
        self._drop_depth = 0
        self._heading: list[str] | None = None
        self._in_title = False
        self._in_head = False

    def read(self, source: str) -> None:
        for text, name, raw in tags(source, xml=self.xml):
            if text:
                self._data(unescape(text))
            if name.startswith("/"):
                self._end(name[1:])
            elif name:
                self._start(name, raw)
                if self.xml and raw.rstrip().endswith("/"):
                    self._end(name)
        self._flush_row()
        self._flush()

    def text(self) -> str:
        return join_blocks(self.blocks)

    def _data(self, text: str) -> None:
        if self._heading is not None:
            self._heading.append(text)
        if self._in_title:
            self.title += text[: max(0, _TITLE_CHARS - len(self.title))]
        elif not self._dropped and not self._in_head:
            self._inline.append(text if self._pre else re.sub(r"\s+", " ", text))
            self._is_blank = self._is_blank and not text.strip()

    def _start(self, name: str, raw: str) -> None:
        if name == "h1" and not self.first_h1:
            self._heading = []
        self._end_title()  # in case it was never closed
        if self._dropped:
            if name == self._dropped:
                self._drop_depth += 1
            elif name in ("main", "article", "body") and self._dropped in _BOILERPLATE:
                self._dropped = ""  # it was never closed
            else:
                return
        if self._dropped:
            return
        if name == "title":
            self._in_title = not self.title
        elif name == "meta":
            self.fields = page_field(attributes(raw)) | self.fields
        elif name == "head":
            self._in_head = True
        elif name == "body":
            self._in_head = False
        elif self._unwanted(name, raw):
            self._dropped, self._drop_depth = name, 1
        elif name == "br":
            self._inline.append("\n")
        elif name in ("td", "th"):
            self._in_head = False
            if self._cells is None:
                self._flush()
                self._cells = []
            elif self._in_cell or not self._is_blank:
                self._end_cell()
            self._in_cell = True
            self._cell_tag = (name, raw)
        elif name in ("sup", "sub") or (name == "a" and "noteref" in raw):
            self._script = (name, len(self._inline))
        elif name == "math":
            self._formula = len(self._inline)
        elif name == "annotation" and "tex" in raw.lower():
            del self._inline[self._formula :]  # the formula in TeX says more than its letters in a row
        elif name in _BLOCKS:
            self._in_head = False
            self._block(name)
        self._content += name in _CONTENT

    def _block(self, name: str) -> None:
        if self._cells is not None and name in ("p", "div", "center"):
            self._inline.append(" ")
            return
        if self._cells is not None and name not in ("tr", "tbody", "thead", "tfoot") and self._table_starts:
            self._table_starts[-1] = (self._table_starts[-1][0], True)
        if self._kind == "item" and name in _WRAPPERS and self._is_blank:
            return  # the text of a list item, in a paragraph of its own
        self._flush_row()
        self._flush()
        self._prefix = _HEADINGS.get(name, "")
        if name == "table":
            self._table_starts.append((len(self.blocks), False))
        elif name in ("ul", "ol", "menu", "dir"):
            self._lists += 1
        elif name == "li":
            self._prefix = "  " * min(max(self._lists - 1, 0), _MAX_INDENT) + "- "
            self._kind = "item"
        elif name == "pre":
            self._pre += 1

    def _end(self, name: str) -> None:
        if name == "h1" and self._heading is not None:
            self.first_h1 = " ".join("".join(self._heading).split())
            self._heading = None
        if self._dropped:
            if name == self._dropped:
                self._drop_depth -= 1
                if not self._drop_depth:
                    self._dropped = ""
            return
        if name == "title":
            self._end_title()
        elif name == "head":
            self._in_head = False
        elif name in ("td", "th"):
            if self._in_cell:
                self._end_cell()
        elif name in ("sup", "sub") or (self._script is not None and self._script[0] == name):
            self._end_script(name)
        elif name == "math":
            self._formula = _NOWHERE
        elif name in _BLOCKS:
            if self._cells is not None and name in ("p", "div", "center"):
                self._inline.append(" ")
            elif not (self._kind == "item" and name in _WRAPPERS and self._is_blank):
                self._flush_row()
                self._flush()
            if name == "table":
                self._end_table()
            elif name == "caption" and self._table_starts and self.blocks:
                self._table_starts[-1] = (len(self.blocks), self._table_starts[-1][1])
                self._caption = self.blocks[-1][1]
            elif name in ("ul", "ol", "menu", "dir"):
                self._lists = max(0, self._lists - 1)
            elif name == "pre":
                self._pre = max(0, self._pre - 1)
        self._content = max(0, self._content - (name in _CONTENT))

    def _end_script(self, name: str) -> None:
        """Write what stands above or below the line with the characters for it, if there are such."""
        if self._script is not None and self._script[0] == name and self._script[1] <= len(self._inline):
            at = self._script[1]
            self._inline[at:] = [raised_or_lowered("".join(self._inline[at:]), raised=name != "sub")]
        self._script = None

    def _end_table(self) -> None:
        """Join the rows since the start of a table, unless it is one for layout."""
        start, is_layout = self._table_starts.pop() if self._table_starts else (len(self.blocks), True)
        caption, self._caption = self._caption, ""
        rows = [self._table_rows.pop(n) for n in range(start, len(self.blocks)) if n in self._table_rows]
        if is_layout or not rows or len(rows) < len(self.blocks) - start:
            return
        lines, table = table_lines(rows, caption)
        self.blocks[start:] = [("block", "\n".join(lines))] if lines else []
        self.tables += [table] if table else []

    def _end_title(self) -> None:
        if self._in_title:
            self._in_title = False
            self.title = " ".join(self.title.split())

    def _unwanted(self, name: str, raw: str) -> bool:
        if name in _RAW or name in _UNSEEN:
            return True
        if self.keep_all:
            return False
        page_level = name == "nav" or not self._content
        hidden = name in _HIDEABLE and bool(_HIDDEN.search(raw[:2_000]))
        unwanted = (name in _BOILERPLATE and page_level) or hidden
        self.left_out |= unwanted
        return unwanted

    def _end_cell(self) -> None:
        if self._cells is not None:
            name, raw = self._cell_tag
            self._cells.append(Cell.of(" ".join("".join(self._inline).split()), name, attributes(raw)))
        self._clear_line()
        self._in_cell = False

    def _flush_row(self) -> None:
        if self._cells is None:
            return
        if not self._is_blank:
            self._end_cell()
        cells, self._cells = self._cells, None
        self._clear_line()
        self._in_cell = False
        texts = [cell.text for cell in cells]
        while texts and not texts[-1]:
            texts.pop()
        if texts:
            self._table_rows[len(self.blocks)] = cells
            self.blocks.append(("row", " | ".join(texts)))

    def _flush(self) -> None:
        text = "".join(self._inline)
        self._clear_line()
        if self._pre:
            text = text.strip("\n").rstrip()
            text = f"```\n{text}\n```" if "\n" in text and "```" not in text else text
        else:
            text = "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))
        if text.strip():
            if self._prefix.startswith("#"):
                text = text.replace("\n", " ")
            self.blocks.append((self._kind, self._prefix + text))
        self._prefix, self._kind = "", "block"

    def _clear_line(self) -> None:
        self._inline.clear()
        self._is_blank = True
