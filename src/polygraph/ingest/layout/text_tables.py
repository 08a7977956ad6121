"""Tables in texts: tables of Markdown, and files of names with values."""

import re

from polygraph.ingest.content import LoadedTable
from polygraph.ingest.layout.table_rows import make_table, row_line, write_table
from polygraph.text.sentences import FENCE

# Quantifiers are possessive, so that a long run of spaces is read once.
_RULE = re.compile(r"(?:[ \t]{0,3}\|)?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+$")
_CELL_END = re.compile(r"(?<!\\)\|")
_MARKUP = re.compile(r"!?\[([^\]\n]{0,300})\]\([^)\n]{0,600}\)|\*{1,3}|__|`|(?<!\w)_|_(?!\w)")
_PAIR = re.compile(r"[ \t]{0,8}([^\W\d][\w .()/-]{0,40}?)[ \t]*(?:=[ \t]*|:[ \t]+)(\S.{0,300})$")
_SECTION = re.compile(r"[ \t]*\[([^\]\n]{1,80})\][ \t]*$")
_MIN_PAIRS = 3
_PAIR_SHARE = 0.9
"""Share of the lines that are names with values in a file of such lines."""
_UNIT_PAIRS = 12
"""A block of more lines is one unit a line."""
_MAX_LINES = 20_000


def pipe_tables(text: str) -> tuple[str, list[LoadedTable]]:
    r"""Replace the tables of a Markdown text by lines ``column: value; column: value.``, and return these tables.

    Tables in fenced code stay as they are.

    >>> pipe_tables("Ships:\n\n| Ship | Port |\n|---|---|\n| *Halcyon* | Wick |\n\nAll.")[0]
    'Ships:\n\nShip: Halcyon; Port: Wick.\n\nAll.'
    """
    if "|" not in text or "-" not in text:
        return text, []
    lines = text.split("\n")
    written: list[str] = []
    tables: list[LoadedTable] = []
    fenced = False
    n = 0
    while n < len(lines):
        line = lines[n]
        if FENCE.match(line):
            fenced = not fenced
        rule = lines[n + 1] if n + 1 < len(lines) else ""
        if not fenced and "|" in line and "|" in rule and len(rule) < 2_000 and _RULE.match(rule):
            header = _cells(line)
            if len(header) > 1 and len(header) == len(_cells(rule)):
                end = n + 2
                while end < len(lines) and "|" in lines[end] and not FENCE.match(lines[end]):
                    end += 1
                rows = [_cells(each)[: len(header)] for each in lines[n + 2 : end]]
                if any(cell for row in rows for cell in row):
                    n = end
                    write_table(header, rows, written, tables, lines[n] if n < len(lines) else "")
                    continue
        written.append(line)
        n += 1
    return "\n".join(written), tables


def pair_lines(text: str) -> tuple[list[str], LoadedTable | None] | None:
    r"""Return the units of a file of names with values; None if the text is something else.

    A block of lines is one unit ``name: value; name: value.``, a long one has a unit for each line. Blocks with the
    same names are the rows of a table.

    >>> pair_lines("model = Kestrel\ntray = A3\ntoner = K-88")[0]
    ['model: Kestrel; tray: A3; toner: K-88.']
    """
    lines = [line.rstrip() for line in text.split("\n")]
    filled = [line for line in lines if line.strip()]
    if not _MIN_PAIRS <= len(filled) <= _MAX_LINES:
        return None
    blocks: list[tuple[str, list[tuple[str, str]]]] = [("", [])]
    n_pairs = 0
    for line in lines:
        section, pair = _SECTION.match(line), _PAIR.match(line)
        if section:
            blocks.append((section[1], []))
        elif not line.strip():
            blocks.append((blocks[-1][0] if not blocks[-1][1] else "", []))
        elif pair:
            blocks[-1][1].append((" ".join(pair[1].split()), pair[2].strip()))
            n_pairs += 1
        elif line.lstrip()[0] not in "#;":
            blocks[-1][1].append(("", line.strip()))
    other = sum(1 for _, pairs in blocks for name, _ in pairs if not name)
    # Prose whose paragraphs begin with a label has long values.
    long = sum(1 for _, pairs in blocks for _, value in pairs if len(value.split()) > 12)
    if n_pairs < _MIN_PAIRS or n_pairs < _PAIR_SHARE * (n_pairs + other) or 4 * long > n_pairs:
        return None
    blocks = [block for block in blocks if block[1]]
    # The speakers of a conversation repeat.
    if 5 * sum(len({name for name, _ in pairs}) for _, pairs in blocks) < 4 * (n_pairs + other):
        return None
    names = [name for name, _ in blocks[0][1]]
    alike = all([name for name, _ in pairs] == names and not section for section, pairs in blocks)
    if alike and len(set(names)) == len(names) and all(names) and len(names) <= _UNIT_PAIRS:
        return make_table(names, [[value for _, value in pairs] for _, pairs in blocks])
    units: list[str] = []
    for name_of_block, pairs in blocks:
        units += [""] if units else []
        units += [f"# {name_of_block}", ""] if name_of_block else []
        plain = [(name, value) for name, value in pairs if name]
        if len(plain) == len(pairs) <= _UNIT_PAIRS:
            units.append(row_line([name for name, _ in pairs], [value for _, value in pairs]))
        else:
            units += [f"{name}: {value}" if name else value for name, value in pairs]
    return units, None


def _cells(line: str) -> list[str]:
    body = line.strip()
    body = body.removeprefix("|")
    if body.endswith("|") and not body.endswith("\\|"):
        body = body[:-1]
    return [
        _MARKUP.sub(lambda m: m[1] or "", cell).replace("\\|", "|").strip() for cell in _CELL_END.split(body)
    ]
