"""CSV, JSON and JSON Lines: records with a text become documents, any other file one readable document."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from polygraph.errors import BadInput
from polygraph.ingest.content import BadRecord, FileContent, LoadedText
from polygraph.ingest.decode import clean
from polygraph.records import Json

_TEXT_FIELDS = ("text", "content", "body", "description")
_TITLE_FIELDS = ("title", "name", "headline", "subject")
_ID_FIELDS = ("id", "_id", "doc_id", "document_id")
_ID_CHARS = 200
_DELIMITERS = (",", ";", "\t", "|")

_MAX_DEPTH = 12
"""Levels of nesting that are kept; what lies deeper becomes a string of JSON."""
_PATH_KEYS = 4
_KEY_CHARS = 80


def read_csv(text: str, *, delimiter: str = "") -> FileContent:
    """Read a table whose first row names the columns.

    With a column `text`, `content`, `body` or `description` (the first of these, upper or lower case) each
    row is a document and the other columns are its metadata. Without, the table is one document of a line
    for each row: ``Column: value; Column: value.``

    Args:
        text: the file.
        delimiter: between columns; if empty, the one of ``, ; tab |`` that is most frequent in the first line.

    Raises:
        BadInput: if it has no row below the header.
    """
    # The library's limit (131,072 characters a field) holds for the whole process, and one page may exceed it.
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    first = text.lstrip("\r\n").split("\n", 1)[0]
    delimiter = delimiter or max(_DELIMITERS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows = [[clean(cell).strip() for cell in row] for row in reader]
    numbered = [(number, row) for number, row in enumerate(rows, 1) if any(row)]
    if len(numbered) < 2:
        raise BadInput("has no rows below its header line")
    columns = column_names(numbered[0][1])
    text_column = _field(columns, _TEXT_FIELDS)
    if not text_column:
        lines = [row_line(columns, row) for _, row in numbered[1:]]
        return FileContent([LoadedText(text="\n".join(lines))])
    return _content((number, dict(_cells(columns, row))) for number, row in numbered[1:])


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
            bad_records.append(BadRecord(number, str(problem)))
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
                self.bad_records.append(found)


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


def column_names(header: Sequence[str]) -> list[str]:
    """Return distinct column names: empty ones become ``column 3``, repeated ones ``name 2``.

    >>> column_names(["a", "", "a"])
    ['a', 'column 2', 'a 2']
    """
    names: list[str] = []
    seen: dict[str, int] = {}
    for position, title in enumerate(header, 1):
        name = " ".join(title.split()) or f"column {position}"
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return names


def row_line(columns: Sequence[str], row: Sequence[str]) -> str:
    """Return a row as a line that reads like a sentence; empty cells are left out.

    >>> row_line(["Ship", "Port"], ["Halcyon", "Wick"])
    'Ship: Halcyon; Port: Wick.'
    """
    cells = [f"{name}: {' '.join(cell.split())}" for name, cell in _cells(columns, row) if cell]
    line = "; ".join(cells)
    # The full stop makes each row a sentence.
    return line if not line or line.endswith((".", "!", "?")) else f"{line}."


def _cells(columns: Sequence[str], row: Sequence[str]) -> list[tuple[str, str]]:
    names = [*columns, *(f"column {n}" for n in range(len(columns) + 1, len(row) + 1))]
    return list(zip(names, row, strict=False))


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
    """Return the first of the wanted names that is there, in any case; empty if none is."""
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
        return BadRecord(ordinal, f"has an empty {text_field!r}")
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
    """Return one text of ``key: value`` lines; objects of a list are paragraphs."""
    lines: list[str] = []
    _flatten(value, (), lines)
    text = "\n".join(lines).strip("\n")
    if not text.strip():
        raise BadInput("holds no text")
    return FileContent([LoadedText(text=text)])


def _flatten(value: Json, path: tuple[str, ...], lines: list[str]) -> None:
    if isinstance(value, dict):
        for key, each in value.items():
            _flatten(each, (*path, " ".join(key[:_KEY_CHARS].split()))[-_PATH_KEYS:], lines)
    elif isinstance(value, list):
        if not any(isinstance(each, dict | list) for each in value):
            _line(path, ", ".join(filter(None, map(_scalar, value))), lines)
            return
        for each in value:
            if isinstance(each, dict) and lines and lines[-1]:
                lines.append("")
            _flatten(each, path, lines)
    else:
        _line(path, _scalar(value), lines)


def _line(path: tuple[str, ...], value: str, lines: list[str]) -> None:
    if value.strip():
        lines.append(f"{' / '.join(path)}: {value}" if path else value)


def _scalar(value: Json) -> str:
    if value is None:
        return ""
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
