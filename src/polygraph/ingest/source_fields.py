"""Author, date and parties of a document, where its format or its first lines state them."""

import re
from collections.abc import Container, Sequence
from datetime import date
from pathlib import PurePosixPath

from polygraph.records import Json
from polygraph.text.quantities import Date, located_dates

_MAX_VALUE = 300
"""Characters of a value that are read."""
_HEADERS = {
    **{name: name for name in ("author", "bcc", "cc", "date", "from", "subject", "to")},
    "by": "author", "sent": "date",
    "von": "from", "an": "to", "kopie": "cc", "datum": "date", "gesendet": "date", "betreff": "subject",
    "de": "from", "à": "to", "copie": "cc", "envoyé": "date", "objet": "subject",
    "para": "to", "fecha": "date", "enviado": "date", "asunto": "subject",
}  # fmt: skip
"""Field by the name of a line at the head of a letter, memorandum or mail: English, German, French, Spanish."""
_MAX_HEADERS = 20
_HEADER = re.compile(r"([^\W\d_][^\W\d_-]{0,30}(?:-[^\W\d_-]{1,30}){0,4})[ \u00a0]?:[ \t\u00a0]+(\S.*)$")
_FIRST_LINES = 12
"""Lines with text among which a date stands that dates the whole document."""
_MAX_DATE_LINE = 60
_MARKS = "*_# \t"
"""What Markdown puts around a line."""
_JOURNAL_CHARACTERS = 200_000
"""Characters among which the entries of a journal are counted."""
_WEEKDAY = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:the|this|dated?)\b", re.IGNORECASE
)
_DATED = re.compile(
    r"(?:date|(?:last )?updated|dated|issued|published|released|signed)(?: on)?:?\s+", re.IGNORECASE
)
_DATE_LABEL = re.compile(
    r"(?:date of (?:the )?(?:hearing|interview|issue|letter|meeting|publication|report|session|signature|visit)|"
    rf"{'|'.join(name for name, field in _HEADERS.items() if field == 'date')})[*_]*:[*_]*\s+",
    re.IGNORECASE,
)
"""What names the date of a whole document, whatever stands behind the day: the time, the room."""
_WRITTEN_DAY = re.compile(
    r"\d{1,2}([./-])\d{1,2}\1\d{4}\b|\d{1,2}\.? (?:de )?[^\W\d_]{3,12}\.? (?:de )?\d{4}\b"
)
"""A day in numbers, whichever of them is the month, or with a month in any language."""
_FIRST_SENTENCE = re.compile(r"[.;,|(]\s+(?=[^\W\d])")
_SIGNED = re.compile(r"signed(?: on)?:? (.{6,40})", re.IGNORECASE)
_LAST_CHARACTERS = 1_000
_FILE_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?!\d)")
_PROGRAMS = frozenset({"python-docx", "openpyxl", "microsoft office user", "user", "unknown", "admin"})
"""Names that programs write where the author is not known."""
_PAGE_FIELDS = {
    "article:author": "author", "author": "author", "byl": "author", "citation_author": "author",
    "dc.creator": "author", "dcterms.creator": "author",
    "article:published_time": "date", "citation_publication_date": "date", "date": "date", "dc.date": "date",
    "dcterms.created": "date", "dcterms.date": "date", "pubdate": "date",
}  # fmt: skip
"""Field by the name or property of a ``<meta>`` tag, in lower case."""


def author_field(name: object) -> dict[str, Json]:
    """Return the author that the properties of a file name, unless a program wrote its own name there.

    Dates of properties are those of the file, not of its text, and are not read.

    >>> author_field(" A. Vane "), author_field("python-docx"), author_field(None)
    ({'author': 'A. Vane'}, {}, {})
    """
    author = " ".join(str(name or "")[:_MAX_VALUE].split())
    return {} if not author or author.casefold() in _PROGRAMS else {"author": author}


def page_field(attributes: dict[str, str]) -> dict[str, Json]:
    """Return the author or the date that a ``<meta>`` tag of a page states.

    A time of day is left out.

    >>> page_field({"property": "article:published_time", "content": "1886-03-13T08:00:00Z"})
    {'date': '1886-03-13'}
    """
    name = attributes.get("name") or attributes.get("property") or ""
    field = _PAGE_FIELDS.get(name.strip().lower(), "")
    value = " ".join(attributes.get("content", "")[:_MAX_VALUE].split())
    if not field or not value:
        return {}
    found = _FILE_DATE.match(value)
    return {field: found[0] if field == "date" and found else value}


def header_fields(text: str) -> dict[str, Json]:
    r"""Return the header lines that a text begins with, as in a mail; they stay in the text.

    At least two lines of the form ``Name: value`` must stand together, one of them naming a sender or a date, with a
    blank line after them.

    >>> header_fields("From: Corve\nTo: Ritson\nDate: 14 Nov 1881\nX-Id: 7\n\nSir,\n...")
    {'from': 'Corve', 'to': 'Ritson', 'date': '14 Nov 1881'}
    >>> header_fields("Von: Tamm\nAn: Alle\nDatum: 17.05.2024\nBetreff: Kantine\n\nHallo")
    {'from': 'Tamm', 'to': 'Alle', 'date': '17.05.2024', 'subject': 'Kantine'}
    >>> header_fields("To: do\nList: of things\n\nBuy oil.")
    {}
    """
    found: dict[str, Json] = {}
    ended = False
    for n, line in enumerate(text.lstrip()[: _MAX_HEADERS * _MAX_VALUE].split("\n")):
        if not line.strip():
            ended = True
            break
        header = _HEADER.match(line.rstrip())
        if not header or n == _MAX_HEADERS:
            break
        name = _HEADERS.get(header[1].lower(), "")
        if name and len(header[2]) <= _MAX_VALUE:
            found.setdefault(name, header[2])
    known = len(found) > 1 and ("from" in found or "date" in found or "author" in found)
    return found if ended and known else {}


def date_of(text: str, file: str, rows: Container[str] = ()) -> dict[str, Json]:
    r"""Return the day that a document is dated with: on a line of its own near its beginning, or in its file's name.

    Such a line holds a whole date and otherwise a day of the week at most, or it begins with words that date the whole
    document: ``Released 12 February 2025.``; or with a label: ``Date of signature:``, ``Datum:``, behind which the time
    of day may follow. The line ``Signed on`` may also stand at the end. A day above one entry of several, as in a
    journal, does not date the document, nor does a label that stands before several days, as in a thread of mails, or a
    line of a sentence that goes over several. A file's name has to begin with the date in ISO format.

    Args:
        text: of the document.
        file: its id.
        rows: lines that are rows of tables; they date no document.

    >>> date_of("To Miss Vane\n\nMeridian Street\n19 January 1890\n\nDear Miss Vane,", "letter.txt")
    {'date': '19 January 1890'}
    >>> date_of("The tide turns.", "letters/1890-01-19-dray.txt"), date_of("In 1890 it turned.", "a.txt")
    ({'date': '1890-01-19'}, {})
    >>> date_of("# Pump 4.2\n\nReleased 12 February 2025. Maintainer: P. Oke.", "notes.md")
    {'date': '12 February 2025'}
    >>> date_of("Pump 4.2\nReleased 12 February 2025.", "notes.txt")
    {'date': '12 February 2025'}
    >>> date_of("The castings were delivered on\n16 February 2026.", "opinion.txt")
    {}
    >>> date_of("# Board\n\nDatum: 14. März 2019, 9 bis 12 Uhr\nOrt: Kiel", "a.md")
    {'date': '14. März 2019'}
    >>> date_of("# Log\n\n## 3 May 1881\n\nFog.\n\n## 4 May 1881, Wick\n\nRain.", "log.md")
    {}
    """
    begin = text[: _FIRST_LINES * 1_000].split("\n")
    lines = [n for n, line in enumerate(begin) if line.strip()][:_FIRST_LINES]
    for n in lines:
        line = begin[n]
        if line in rows:
            continue
        short = line.strip().strip(_MARKS)
        if (label := _DATE_LABEL.match(short)) and (written := _day_at_beginning(short[label.end() :])):
            if _is_thread(text, label[0], written):
                break
            return {"date": written}
        if label := _DATED.match(short):
            short = _FIRST_SENTENCE.split(short[label.end() :], maxsplit=1)[0]
        day = _day_alone(short) if label or not _is_within_sentence(begin, n) else None
        # A letter may mention another day on a line of its own; headings with days are entries.
        if day and (label or not _is_journal(text, n_entries=2 if line.startswith("#") else 3)):
            return {"date": day.text}
    for line in text[-_LAST_CHARACTERS:].split("\n"):
        if signed := _SIGNED.fullmatch(line.strip()):
            days = [day for day, _, _ in located_dates(signed[1]) if day.first == day.last]
            if len(days) == 1:
                return {"date": days[0].text}
    name = _FILE_DATE.match(PurePosixPath(file).name)
    if name and _is_day(*map(int, name.groups())):
        return {"date": name[0]}
    return {}


def _is_within_sentence(lines: Sequence[str], n: int) -> bool:
    """Tell whether a line goes on with a sentence of the line above, and ends it or goes on in the line below."""
    above = lines[n - 1].rstrip() if n else ""
    below = lines[n + 1].lstrip() if n + 1 < len(lines) else ""
    return above[-1:].isalnum() and (lines[n].rstrip().endswith(".") or below[:1].islower())


def _day_at_beginning(text: str) -> str:
    """Return the day with which a text begins, as written; a day of the week may stand before it."""
    for found, start, end in located_dates(text[:_MAX_DATE_LINE]):
        if found.first == found.last:
            return text[start:end] if _is_weekday(text[:start]) else ""
    written = _WRITTEN_DAY.search(text[:_MAX_DATE_LINE])
    return written[0] if written and _is_weekday(text[: written.start()]) else ""


def _is_weekday(text: str) -> bool:
    """Tell whether a text can be a day of the week in any language: it is one word at most."""
    return len(text.split()) <= 1 and not any(map(str.isdigit, text))


def _is_thread(text: str, label: str, day: str) -> bool:
    """Tell whether another line with the same label names another day, as below each mail of a thread."""
    for line in text[:_JOURNAL_CHARACTERS].split("\n"):
        short = line.strip().strip(_MARKS)
        if short.startswith(label) and _day_at_beginning(short[len(label) :]) not in ("", day):
            return True
    return False


def _day_alone(line: str) -> Date | None:
    """Return the day of a line that otherwise holds a day of the week at most."""
    if len(line) > _MAX_DATE_LINE:
        return None
    for found, start, end in located_dates(line):
        rest = _WEEKDAY.sub("", line[:start] + line[end:])
        if found.first == found.last and not any(map(str.isalnum, rest)):
            return found
    return None


def _is_journal(text: str, n_entries: int) -> bool:
    """Tell whether so many different days stand alone on lines, or begin headings."""
    days: set[tuple[int, int, int]] = set()
    for line in text[:_JOURNAL_CHARACTERS].split("\n"):
        short = line.strip().strip(_MARKS)
        day = _day_alone(short)
        if day is None and line.startswith("#"):
            first = next(iter(located_dates(short[:_MAX_DATE_LINE])), None)
            day = first[0] if first and not first[1] and first[0].first == first[0].last else None
        if day is not None:
            days.add(day.first)
            if len(days) == n_entries:
                return True
    return False


def _is_day(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True
