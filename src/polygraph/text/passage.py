"""How a passage is written for a reader: the text of a chunk below what is known of its document."""

import re
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from polygraph.records import Chunk, Metadata, Window
from polygraph.text.sentences import begins_line

_MAIL_DATE = re.compile(r"(?:\w{3}, )?\d{1,2} \w{3} \d{4} \d{1,2}:\d{2}")
FIRST_FIELDS = ("date", "author", "from", "to")
"""Fields that come first, in this order; the others follow by name."""
_HOW_READ = "creation_date document encoding format hash id mtime pages path size title"
_HOW_IMPORTED = "imported_from joined_from_units source_id stand_in text_unit"
HIDDEN_FIELDS = frozenset({*_HOW_READ.split(), *_HOW_IMPORTED.split()})
"""Fields that say where and how a document was read, or repeat what stands elsewhere."""
_ADDRESS = re.compile(r"\S*[/\\.]\S*|[\W\d_]*")
"""A `source` that says where a document was read, as loaders write it; any other tells who says what it says."""
MAX_FIELDS = 8
MAX_VALUE = 120
"""Characters of a value; longer ones are text, not a field."""
MAX_PATH = 240
"""Characters of the titles of a section and those that hold it."""
MAX_DATE = 40
"""Characters of a date; a longer value is none."""
MAX_CHARACTERS = 400
"""Characters of the line of fields."""


def joined_text(chunks: Sequence[Chunk]) -> str:
    r"""Return the text of consecutive chunks of a document, without reading the document.

    Only white space lies between two chunks. One character is a line break before what begins a line, as a row of a
    table does, otherwise a space; more are line breaks. Text that chunks share stands once.

    >>> def part(start: int, text: str) -> Chunk:
    ...     return Chunk(id="", document="", ordinal=0, start=start, end=start + len(text), text=text, n_tokens=0)
    >>> joined_text([part(5, "It rained."), part(16, "Ann left."), part(20, "left. Then"), part(32, "nothing.")])
    'It rained. Ann left. Then\n\nnothing.'
    >>> joined_text([part(0, "- Rope."), part(8, "- Tar.")])
    '- Rope.\n- Tar.'
    """
    text, at = "", chunks[0].start
    for chunk in chunks:
        gap = chunk.start - at
        between = " " if gap == 1 and not begins_line(chunk.text) else "\n" * gap
        text += between + chunk.text[max(0, -gap) :]
        at = chunk.end
    return text


class Heading(NamedTuple):
    """What stands above the passages of a document."""

    title: str
    fields: str = ""
    """Short fields on one line, such as ``date: 1881-11-14; from: Corve; to: Captain Ritson``."""
    date: str = ""
    """The field `date` as it is written; of a mail's date, the day as ``1881-11-14``."""

    @classmethod
    def of(cls, title: str, metadata: Metadata) -> "Heading":
        """Return the heading of a document."""
        return cls(title, short_fields(metadata), date_of(metadata)) if metadata else cls(title)


def date_of(metadata: Metadata) -> str:
    """Return the field `date` of a document as `Heading` has it; empty if there is none.

    >>> date_of({"Date": "Mon, 20 Feb 2023 10:00:00 +0000"}), date_of({"year": 1871})
    ('2023-02-20', '')
    """
    date = next((_value(v) for name, v in metadata.items() if name.casefold().strip() == "date"), "")
    return _short_date(date) if len(date) <= MAX_DATE else ""


def short_fields(metadata: Metadata) -> str:
    """Write the fields of `fields_shown` on one line.

    >>> short_fields({"to": "Ritson", "date": "1881-11-14", "path": "a.json", "tags": ["wreck", "lost"]})
    'date: 1881-11-14; to: Ritson; tags: wreck, lost'
    """
    return "; ".join(f"{name}: {value}" for name, value in fields_shown(metadata))


def fields_shown(metadata: Metadata) -> list[tuple[str, str]]:
    """Return the short fields of a document with their values: date, author, from, to, then the others by name.

    Texts, numbers and short lists of them count; long values, nested ones, `HIDDEN_FIELDS` and a `source` that is an
    address, a path or a number do not. At most `MAX_FIELDS` fields are returned, and as many as `short_fields` writes
    in `MAX_CHARACTERS` characters.
    """
    names = {name.casefold().strip(): name for name in metadata}
    first = [name for name in FIRST_FIELDS if name in names]
    others = sorted(name for name in names if name not in FIRST_FIELDS and name not in HIDDEN_FIELDS)
    found: list[tuple[str, str]] = []
    n_characters = 0
    for name in [*first, *others]:
        value = _value(metadata[names[name]])
        if not name or len(name) > MAX_VALUE or not value or len(value) > MAX_VALUE:
            continue
        if name == "source" and _ADDRESS.fullmatch(value):
            continue
        shown = " ".join(name.split())
        n_characters += len(f"{shown}: {value}") + (len("; ") if found else 0)
        if len(found) == MAX_FIELDS or n_characters > MAX_CHARACTERS:
            break
        found.append((shown, value))
    return found


def _short_date(date: str) -> str:
    """Return the day of a date in the form of mails, since time and zone would stand behind every statement.

    >>> _short_date("Mon, 20 Feb 2023 10:00:00 +0000"), _short_date("spring of 1881")
    ('2023-02-20', 'spring of 1881')
    """
    if not _MAIL_DATE.match(date):
        return date
    try:
        return parsedate_to_datetime(date).date().isoformat()
    except ValueError:
        return date


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        parts = [_value(each) for each in value[:MAX_FIELDS] if not isinstance(each, list | tuple | Mapping)]
        return ", ".join(part for part in parts if part)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return " ".join(str(value)[: 2 * MAX_VALUE].split())


def with_heading(heading: Heading, text: str, metadata: Metadata | None = None) -> str:
    r"""Put title and fields of a document above a passage, but not those with which the passage begins.

    Args:
        heading: of the document.
        text: the passage.
        metadata: of the passage: the section in which it begins and those that hold it, unless the title begins with
            them or the passage holds their heading, and its page.

    >>> with_heading(Heading("The Storm", "date: 1871-03-02"), "It rose at noon.")
    'The Storm\ndate: 1871-03-02\nIt rose at noon.'
    >>> with_heading(Heading("The Storm"), "# The Storm of 1871")
    '# The Storm of 1871'
    >>> with_heading(Heading("Delay", "from: Ada; to: Ben; year: 1871"), "From: Ada\nTo: Ben\n\nIt comes late.")
    'Delay\nyear: 1871\nFrom: Ada\nTo: Ben\n\nIt comes late.'
    >>> with_heading(Heading("Manual"), "Turn it off.", {"section": "Safety", "page": 3})
    'Manual\nsection: Safety; page: 3\nTurn it off.'
    >>> with_heading(Heading("Manual"), "Turn it off.", {"section": "Fire", "sections": ["Manual", "Safety"]})
    'Manual\nsection: Safety > Fire\nTurn it off.'
    >>> with_heading(Heading("Log"), "Rain.\n# May 2\nFog.", {"section": "May 2", "begins_in": ["May 1"]})
    'Log\nsection: May 1\nRain.\n# May 2\nFog.'
    """
    lines = [] if text.lstrip("# ").startswith(heading.title) else [heading.title]
    parts = [fields] if (fields := _fields_not_in(text, heading.fields)) else []
    if metadata:
        if section := _section_above(heading.title, metadata, text):
            parts.append(section)
        if page := _value(metadata.get("page", "")):
            parts.append(f"page: {page}")
    if parts:
        lines.append("; ".join(parts))
    return "\n".join([*lines, text])


def _fields_not_in(text: str, fields: str) -> str:
    """Return the fields that are none of the first lines of a passage, as the headers of a mail are."""
    if not fields or ": " not in text[:MAX_VALUE]:
        return fields
    lines = {line.strip().casefold() for line in text[: 2 * MAX_CHARACTERS].splitlines()}
    return "; ".join(field for field in fields.split("; ") if field.casefold() not in lines)


def fields_above(window: Window) -> str:
    r"""Write what stands between the title and the text of a window: fields, and the section in which it begins.

    Fields with which the text begins are left out, as the headers of a mail are. Of the path of the section, only
    titles that do not begin the document's title or stand in the first chunk are written.

    >>> from dataclasses import replace
    >>> from polygraph.records import Chunk
    >>> text = "Turn it off."
    >>> metadata = {"section": "Fire", "sections": ["Manual", "Safety"]}
    >>> chunk = Chunk(id="d:3", document="d", ordinal=3, start=0, end=12, text=text, n_tokens=4, metadata=metadata)
    >>> fields_above(Window(id="d@1", document="d", ordinal=1, title="Manual", chunks=(chunk,), text=text))
    'section: Safety > Fire'
    >>> chunk = Chunk(id="d:0", document="d", ordinal=0, start=0, end=19, text="From: Ada\n\nIt comes.", n_tokens=6)
    >>> mail = Window(id="d@0", document="d", ordinal=0, title="Delay", chunks=(chunk,), text=chunk.text)
    >>> fields_above(replace(mail, fields="date: 1871-03-02; from: Ada"))
    'date: 1871-03-02'
    """
    first = window.chunks[0]
    section = _section_above(window.title, first.metadata, first.text)
    return "; ".join(part for part in (_fields_not_in(window.text, window.fields), section) if part)


def as_read(window: Window) -> str:
    """Return everything that an extractor reads of a window: title, fields, section and text, below each other."""
    return "\n".join(part for part in (window.title, fields_above(window), window.text) if part)


def _section_above(title: str, metadata: Metadata, text: str) -> str:
    """Write the section in which a passage begins, without titles that begin that of the document."""
    if begins := metadata.get("begins_in"):
        held = [each for each in _titles(begins) if not title.startswith(each)]
    else:
        path = [each for each in _sections(metadata) if not title.startswith(each)]
        # A section whose heading stands in the passage does not hold the beginning of it, nor do those below it.
        lines = [line.strip("#*_ \t") for line in text.splitlines()] if path else []
        n_held = (n for n, each in enumerate(path) if any(line.startswith(each) for line in lines))
        held = path[: next(n_held, len(path))]
    return f"section: {' > '.join(held)}" if held else ""


def _sections(metadata: Metadata) -> list[str]:
    """Return the titles of the section of a passage, the outermost first, without those that make them too long."""
    if "sections" not in metadata and "section" not in metadata:
        return []
    outer = metadata.get("sections", [])
    return _titles([*(outer if isinstance(outer, list) else ()), _value(metadata.get("section", ""))])


def _titles(path: object) -> list[str]:
    """Return some titles, the outermost first, without those that make them too long."""
    found = [_value(title) for title in path if isinstance(title, str)] if isinstance(path, list) else []
    found = [title[:MAX_VALUE] for title in found if title]
    while len(found) > 1 and sum(map(len, found)) > MAX_PATH:
        del found[0]
    return found
