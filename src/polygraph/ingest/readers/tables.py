"""CSV, JSON and JSON Lines: records with a text become documents, any other file one readable document."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count
from typing import Any

from polygraph.errors import BadInput
from polygraph.ingest.content import MAX_BAD_RECORDS, BadRecord, FileContent, LoadedTable, LoadedText
from polygraph.ingest.decode import HoldsNothing, clean
from polygraph.ingest.layout.table_rows import column_names, make_table, named_cells, row_line, split_title
from polygraph.records import Json

_TEXT_FIELDS = ("text", "content", "body", "description")
_TITLE_FIELDS = ("title", "name", "headline", "subject")
_ID_FIELDS = ("id", "_id", "doc_id", "document_id")
_ID_CHARS = 200
_DELIMITERS = (",", ";", "\t", "|")

_DESCRIPTION_CHARS = 60
_FIRST_LINES = 10
"""Lines in which the delimiter is looked for."""
_FIRST_CHARS = 100_000
_QUOTED = re.compile(r'(?:(?<=[,;\t|\n])|^)"(?:[^"]|"")*"(?=[,;\t|\r\n]|$)')
"""A field in quotes."""
_SEPARATOR = re.compile(r"sep=([,;\t|])\r?\n", re.IGNORECASE)

_MAX_DEPTH = 12
"""Levels of nesting that are kept; what lies deeper becomes a string of JSON."""
_PATH_KEYS = 4
_KEY_CHARS = 80
_UNIT_CHARS = 600
"""An object of plain values is one line up to this length, and a line for each key beyond."""


def read_csv(text: str, *, delimiter: str = "") -> FileContent:
    """Read a table whose first row names the columns.

    With a column `text`, `content`, `body` or `description` (the first of these, upper or lower case) each row is a
    document and the other columns are its metadata; descriptions only if half of them have 60 characters. Without, the
    table is one document of a line for each row: ``Column: value; Column: value.`` Rows of a single cell above the
    header are its title.

    Args:
        text: the file.
        delimiter: between columns; if empty, the one that a line ``sep=;`` above the table names, as Excel writes it,
            else the one of ``, ; tab |`` that stands outside quotes equally often in most of the first lines.

    Raises:
        BadInput: if it has no row below the header.
    """
    # The library's limit (131,072 characters a field) holds for the whole process, and one page may exceed it.
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    named = _SEPARATOR.match(text)
    if named:
        text, delimiter = text[named.end() :], delimiter or named[1]
    delimiter = delimiter or _delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows = [[clean(cell).strip() for cell in row] for row in reader]
    numbered = [(number, row) for number, row in enumerate(rows, 1) if any(row)]
    if len(numbered) < 2:
        raise HoldsNothing("has no rows below its header line")
    titles, below = split_title([row for _, row in numbered])
    numbered = numbered[len(numbered) - len(below) :]
    columns = column_names(numbered[0][1])
    text_column = _field(columns, _TEXT_FIELDS)
    if text_column.lower() == "description" and len(columns) > 2:
        at = columns.index(text_column)
        lengths = sorted(len(row[at]) for _, row in numbered[1:] if at < len(row))
        # The names of things in a list of parts are no texts.
        text_column = text_column if lengths and lengths[len(lengths) // 2] >= _DESCRIPTION_CHARS else ""
    if not text_column:
        lines, table = make_table(numbered[0][1], [row for _, row in numbered[1:]], " ".join(titles))
        text = "\n".join([*titles, *([""] if titles else []), *lines])
        return FileContent([LoadedText(text=text, tables=(table,) if table else ())])
    return _content((number, dict(named_cells(columns, row))) for number, row in numbered[1:])


def _delimiter(text: str) -> str:
    """Return the mark between columns: found equally often in most of the first lines, ties by how often."""
    first = _QUOTED.sub("", text.lstrip("\r\n")[:_FIRST_CHARS]).split("\n", _FIRST_LINES)[:_FIRST_LINES]

    def regularity(mark: str) -> tuple[int, int]:
        counts = Counter(n for line in first if (n := line.count(mark)))
        return max(((n_lines, n) for n, n_lines in counts.items()), default=(0, 0))

    return max(_DELIMITERS, key=regularity)


def read_json(text: str) -> FileContent:
    """Read a JSON file: objects with a text are documents, alone or in a list; anything else is flattened.

    Raises:
        BadInput: if it is not JSON.
    """
    value = _parse(text)
    records = value if isinstance(value, list) else [value]
    if not any(_is_record(record) for record in records):
        return _flattened(value)
    return _content(
        (number if isinstance(value, list) else 0, record) for number, record in enumerate(records, 1)
    )


def read_jsonl(text: str) -> FileContent:
    """Read JSON Lines; a line that is not JSON is reported, and the rest is read.

    Records are read one line at a time, so that a large file is in memory once.

    Raises:
        BadInput: if no line is JSON.
    """
    values: list[Json] = []
    bad_records: list[BadRecord] = []
    for number, line in _lines(text):
        try:
            value = _parse(line)
        except BadInput as problem:
            _note(bad_records, BadRecord(number, str(problem)))
            continue
        if _is_record(value):
            records = _Records(text)
            return FileContent(records, records.bad_records)
        values.append(value)
    if not values:
        raise BadInput(
            f"has no line that is JSON; line {bad_records[0].ordinal} {bad_records[0].reason}"
            if bad_records
            else "is empty"
        )
    return FileContent(_flattened(values).texts, bad_records)


class _Records:
    """The records of JSON Lines, at least one of which is a document."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.bad_records: list[BadRecord] = []

    def __len__(self) -> int:
        return self._text.count("\n") + 1

    def __iter__(self) -> Iterator[LoadedText]:
        self.bad_records.clear()
        for number, line in _lines(self._text):
            try:
                found = _text_of(number, _parse(line))
            except BadInput as problem:
                found = BadRecord(number, str(problem))
            if isinstance(found, LoadedText):
                yield found
            else:
                _note(self.bad_records, found)


def _note(bad_records: list[BadRecord], bad: BadRecord) -> None:
    if len(bad_records) == MAX_BAD_RECORDS:  # the file is something else
        raise BadInput(
            f"has over {MAX_BAD_RECORDS:,} lines without a record, line {bad_records[0].ordinal} "
            f"{bad_records[0].reason}; check that it is JSON Lines"
        )
    bad_records.append(bad)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their numbers."""
    number, at = 0, 0
    while at <= len(text):
        number += 1
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end]
        at = end + 1
        if line.strip():
            yield number, line


def _parse(text: str) -> Json:
    try:
        value = json.loads(text, parse_constant=lambda _: None)
        return _tidy(value, 0)
    except json.JSONDecodeError as problem:
        raise BadInput(f"is not JSON: {problem.msg} at character {problem.pos}") from problem
    except RecursionError as problem:
        raise BadInput("is JSON nested too deeply; make it flatter") from problem
    except ValueError as problem:  # a number of thousands of digits
        raise BadInput(f"is not JSON that can be read: {problem}") from problem


def _tidy(value: Any, depth: int) -> Json:
    """Clean every string, since JSON can encode control characters and lone surrogates; bound the depth."""
    if isinstance(value, str):
        return clean(value)
    if depth >= _MAX_DEPTH and isinstance(value, dict | list):
        return clean(json.dumps(value, ensure_ascii=False))
    if isinstance(value, list):
        return [_tidy(each, depth + 1) for each in value]
    if isinstance(value, dict):
        return {clean(key): _tidy(each, depth + 1) for key, each in value.items()}
    number: int | float | bool | None = value
    return number


def _field(names: Sequence[str], wanted: Sequence[str]) -> str:
    """Return the first of the wanted names that is present, in any case; empty if none is."""
    lower = {name.lower(): name for name in reversed(names)}
    return next((lower[name] for name in wanted if name in lower), "")


def _body(value: Json) -> str | None:
    """Return a text, or a list of texts (sentences, paragraphs) as lines; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return "\n".join(map(str, value))
    return None


def _is_record(value: Json) -> bool:
    if not isinstance(value, dict):
        return False
    name = _field(list(value), _TEXT_FIELDS)
    return bool(name) and _body(value[name]) is not None


def _content(records: Iterable[tuple[int, Json]]) -> FileContent:
    texts: list[LoadedText] = []
    bad_records: list[BadRecord] = []
    for ordinal, record in records:
        found = _text_of(ordinal, record)
        if isinstance(found, LoadedText):
            texts.append(found)
        else:
            bad_records.append(found)
    return FileContent(texts, bad_records)


def _text_of(ordinal: int, record: Json) -> LoadedText | BadRecord:
    """Return the text of a record, or what is wrong with it."""
    if not isinstance(record, dict) or not _is_record(record):
        return BadRecord(ordinal, f"has no text; name its field one of: {', '.join(_TEXT_FIELDS)}")
    names = list(record)
    text_field, id_field = _field(names, _TEXT_FIELDS), _field(names, _ID_FIELDS)
    text = _body(record[text_field]) or ""
    key = record[id_field] if id_field else ""
    key = " ".join(str(key).split()) if isinstance(key, str | int) and not isinstance(key, bool) else ""
    if not text.strip():
        return BadRecord(ordinal, f"has an empty {text_field!r}", holds_nothing=True)
    if len(key) > _ID_CHARS:
        return BadRecord(ordinal, f"has an id of {len(key)} characters; the longest allowed is {_ID_CHARS}")
    title, title_field = "", ""
    for wanted in _TITLE_FIELDS:
        title_field = _field(names, (wanted,))
        value = record[title_field] if title_field else ""
        if isinstance(value, str) and value.strip():
            title = value
            break
    used = {text_field, id_field if key else "", _field(names, ("title",)) if title else ""}
    metadata = {name: value for name, value in record.items() if name not in used}
    return LoadedText(text=text, title=title, key=key, ordinal=ordinal, metadata=metadata)


def _flattened(value: Json) -> FileContent:
    """Return one text of units: an object of plain values is one line, objects of one kind are a table."""
    flat = _Flattened()
    flat.add(value, ())
    text = "\n".join(flat.lines).strip("\n")
    if not text.strip():
        raise HoldsNothing("holds no text")
    return FileContent([LoadedText(text=text, tables=tuple(flat.tables))])


class _Flattened:
    """The lines and tables of a JSON value."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.tables: list[LoadedTable] = []

    def add(self, value: Json, path: tuple[str, ...]) -> None:
        if isinstance(value, dict):
            self._object(value, path)
        elif isinstance(value, list):
            objects = [each for each in value if isinstance(each, dict)]
            if len(objects) == len(value) and _same_kind(objects):
                self._table(objects, path)
            elif any(isinstance(each, dict | list) for each in value):
                for each in value:
                    self.add(each, path)
            else:
                self._line(path, ", ".join(filter(None, map(_scalar, value))))
        else:
            self._line(path, _scalar(value))

    def _object(self, value: dict[str, Json], path: tuple[str, ...]) -> None:
        objects = [each for each in value.values() if isinstance(each, dict)]
        if len(objects) == len(value) and _same_kind(objects):
            # Objects by name: the name is the first column, with a heading that no object has for a value of its own.
            taken = {key for each in objects for key in each}
            headings = chain((*path[-1:], "name", "key"), (f"key {n}" for n in count(2)))
            column = next(each for each in headings if each not in taken)
            rows: list[dict[str, Json]] = [
                {column: key, **each} for key, each in zip(value, objects, strict=True)
            ]
            self._table(rows, path)
            return
        plain = {
            key: text
            for key, each in value.items()
            if _is_plain(each) and (text := _scalar_text(each)).strip()
        }
        line = row_line(list(map(_key, plain)), list(plain.values()))
        if len(plain) > 1 and len(line) <= _UNIT_CHARS:
            self._gap()
            self.lines.append(f"{' / '.join(path)}: {line}" if path else line)
        else:
            for key, text in plain.items():
                self._line((*path, _key(key))[-_PATH_KEYS:], text)
        for key, each in value.items():
            if not _is_plain(each):
                self._gap()
                self.add(each, (*path, _key(key))[-_PATH_KEYS:])

    def _table(self, objects: Sequence[dict[str, Json]], path: tuple[str, ...]) -> None:
        keys = list(dict.fromkeys(key for each in objects for key in each))
        rows = [[_scalar_text(each.get(key)) for key in keys] for each in objects]
        lines, table = make_table(list(map(_key, keys)), rows, " ".join(path[-1:]))
        self._gap()
        if path and lines:
            self.lines += [f"# {' / '.join(path)}", ""]
        self.lines += lines
        self.tables += [table] if table else []

    def _gap(self) -> None:
        if self.lines and self.lines[-1]:
            self.lines.append("")

    def _line(self, path: tuple[str, ...], value: str) -> None:
        if value.strip():
            self.lines.append(f"{' / '.join(path)}: {value}" if path else value)


def _key(key: str) -> str:
    return " ".join(key[:_KEY_CHARS].split())


def _is_plain(value: Json) -> bool:
    """Return whether a value is a scalar or a list of scalars."""
    each = value if isinstance(value, list) else [value]
    return not any(isinstance(item, dict | list) for item in each)


def _same_kind(objects: Sequence[dict[str, Json]]) -> bool:
    """Return whether at least two objects of plain values share half of their keys."""
    if len(objects) < 2 or not all(_is_plain(value) for each in objects for value in each.values()):
        return False
    counts = Counter(key for each in objects for key in each)
    shared = sum(1 for count in counts.values() if 2 * count > len(objects))
    return bool(counts) and 2 * shared >= len(counts)


def _scalar_text(value: Json) -> str:
    return ", ".join(filter(None, map(_scalar, value))) if isinstance(value, list) else _scalar(value)


def _scalar(value: Json) -> str:
    if value is None:
        return ""
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
