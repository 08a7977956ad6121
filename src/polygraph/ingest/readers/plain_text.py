"""Plain text, Markdown and reStructuredText: kept as written, with a title."""

import re
from pathlib import PurePosixPath

from polygraph.ingest.content import FileContent, LoadedTable, LoadedText
from polygraph.ingest.layout.space_tables import space_tables
from polygraph.ingest.layout.text_tables import pair_lines, pipe_tables
from polygraph.ingest.source_fields import header_fields
from polygraph.records import Json
from polygraph.text.prose import clip
from polygraph.text.sentences import atx_heading

_TITLE_CHARS = 200
_FIRST_LINE_CHARS = 80
_FRONT = re.compile(r"(?:---|\+\+\+)[ \t]*\n")
_FRONT_CHARS = 20_000
_PAIR = re.compile(r"([A-Za-z_][\w .-]{0,60}?)[ \t]{0,8}[:=](?:[ \t]+(.*))?$")
_ITEM = re.compile(r"-[ \t]+([^\s{\[|>].*)$")
_UNDERLINE = re.compile(r"[ \t]*([=\-~^*+#\"'`:._])\1{2,}[ \t]*$")
_MARKUP = re.compile(r"!?\[([^\]\n]{0,300})\]\([^)\n]{0,600}\)|[*_`]{1,3}")


def read_plain(text: str) -> FileContent:
    """Read plain text; its title is the subject of a mail, or the first line if that looks like one.

    A file of lines ``name = value`` or ``name: value`` is read as one unit for each block of lines. A row of a table
    that is aligned by spaces reads ``column: value; column: value.``
    """
    fields = header_fields(text)
    if not fields and (pairs := pair_lines(text)):
        lines, table = pairs
        return FileContent([LoadedText(text="\n".join(lines), tables=(table,) if table else ())])
    text, tables = space_tables(text)
    title = str(fields.pop("subject", "")) or first_line_title(text)
    return FileContent([LoadedText(text=text, title=title, metadata=fields, tables=tuple(tables))])


def read_code(text: str) -> FileContent:
    """Read source code and settings, kept as written; the name of the file is the title."""
    return FileContent([LoadedText(text=text, title="")])


def read_rst(text: str) -> FileContent:
    """Read reStructuredText, kept as written except for simple tables; its title is the first underlined line."""
    text, tables = space_tables(text)
    title = _underlined(text) or first_line_title(text)
    return FileContent([LoadedText(text=text, title=title, tables=tuple(tables))])


def read_markdown(text: str) -> FileContent:
    """Read Markdown, kept as written except for tables; its title is the first heading.

    A row of a table reads ``column: value; column: value.``

    YAML front matter of simple lines (``key: value``, ``key: [a, b]`` or a list of ``- item``) becomes metadata and is
    removed from the text. If it holds anything else, it also stays in the text, so that nothing is lost.
    """
    metadata: dict[str, Json] = {}
    opening = _FRONT.match(text)
    if opening:
        mark = text[:3]
        close = text.find(f"\n{mark}", opening.end() - 1, _FRONT_CHARS)
        line_end = text.find("\n", close + 1) if close >= 0 else -1
        if close >= 0 and not text[close + 4 : line_end if line_end >= 0 else None].strip():
            metadata, simple = _front_matter(text[opening.end() : close])
            if simple:
                text = text[line_end + 1 :] if line_end >= 0 else ""
    text, tables = _markdown_tables(text)
    title = metadata.get("title")
    if not isinstance(title, str) or not title:
        title = _first_heading(text) or first_line_title(text)
    return FileContent([LoadedText(text=text, title=title, metadata=metadata, tables=tuple(tables))])


def _markdown_tables(text: str) -> tuple[str, list[LoadedTable]]:
    text, with_bars = pipe_tables(text)
    text, with_spaces = space_tables(text, markdown=True)
    if with_bars and with_spaces:
        return text, sorted([*with_bars, *with_spaces], key=lambda table: text.find(f"{table.lines[0]}\n"))
    return text, with_bars or with_spaces


def first_line_title(text: str) -> str:
    r"""Return the first line if it looks like a title, else an empty string.

    It must be short, must not end like a sentence, and must stand alone, be underlined, or be written with
    capitals throughout.

    >>> first_line_title("Minutes of the Harbour Board\n\nPresent were ...")
    'Minutes of the Harbour Board'
    >>> first_line_title("The board met on Tuesday at the\nusual place.")
    ''
    """
    lines = text.lstrip()[:1_000].split("\n", 2)
    first = _plain(lines[0])
    if not 2 <= len(first) <= _FIRST_LINE_CHARS or first.endswith((".", ",", ";", ":", "。", "，")):
        return ""
    if not any(map(str.isalpha, first)):
        return ""
    second = lines[1] if len(lines) > 1 else ""
    if len(lines) == 1 or not second.strip() or _UNDERLINE.match(second):
        return first
    words = [word for word in re.findall(r"[^\W\d_]+", first) if len(word) > 3]
    capital = sum(1 for word in words if not word[0].islower())
    return first if words and capital == len(words) and len(words) <= 12 and first[0].isupper() else ""


def file_title(name: str) -> str:
    """Return a title for a file that has none.

    >>> file_title("letters/harbour_log.txt.gz")
    'harbour log'
    """
    base = PurePosixPath(name).name
    stem = re.sub(r"\.gz$", "", base, flags=re.IGNORECASE)
    stem = stem.rsplit(".", 1)[0] or stem
    return short_title(stem.replace("_", " ")) or base or "untitled"


def short_title(title: str) -> str:
    """Return a title on one line of bounded length."""
    return clip(title[: 4 * _TITLE_CHARS], _TITLE_CHARS)


def _plain(line: str) -> str:
    line = line[: 2 * _TITLE_CHARS].strip().strip("=~#*_ \t").strip()
    return _MARKUP.sub(lambda found: found[1] or "", line).strip()


def _first_heading(text: str) -> str:
    fenced = False
    previous = ""
    for line in text[:100_000].split("\n"):
        stripped = line.strip()
        if stripped.startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            if (heading := atx_heading(stripped)) and (title := _plain(heading)):
                return title
            if previous and set(stripped) in ({"="}, {"-"}) and len(stripped) >= 3:
                return _plain(previous)
        # Only a line below a blank one can be underlined; a longer paragraph above a rule cannot.
        previous = stripped if not previous and 0 < len(stripped) <= _TITLE_CHARS and not fenced else ""
    return ""


def _underlined(text: str) -> str:
    previous = ""
    for line in text[:100_000].split("\n"):
        stripped = line.strip()
        if previous and _UNDERLINE.match(line) and len(stripped) >= len(previous) // 2:
            return previous
        previous = "" if _UNDERLINE.match(line) or len(stripped) > _TITLE_CHARS else stripped
    return ""


def _front_matter(block: str) -> tuple[dict[str, Json], bool]:
    """Return what the simple lines say, and whether there are no others."""
    found: dict[str, Json] = {}
    simple = True
    key = ""  # whose value may follow as a list
    for line in block.split("\n"):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        pair = _PAIR.match(line.rstrip())
        item = _ITEM.match(line.strip())
        if pair and not line[0].isspace() and pair[1] not in found:
            value = pair[2] or ""
            key = pair[1] if not value else ""
            if value[:1] in ("{", "|", ">", "&", "*", "!"):
                simple = False
            elif value.startswith("["):
                if not value.endswith("]"):
                    simple = False
                else:
                    found[pair[1]] = [part for part in map(_unquoted, value[1:-1].split(",")) if part]
            else:
                found[pair[1]] = _unquoted(value)
        elif item and key:
            values = found[key]
            entry = _unquoted(item[1])
            found[key] = [*values, entry] if isinstance(values, list) else [entry]
        else:
            simple = False
    return found, simple


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value
