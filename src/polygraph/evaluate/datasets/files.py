"""Published files of data sets: reading JSON objects and texts, and building a corpus with questions from them."""

import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from polygraph.errors import BadInput

MAX_BYTES = 2_000_000_000
"""Most bytes of one file, uncompressed."""


@dataclass
class DatasetBuilder:
    """Documents and questions of a data set while its files are read."""

    documents: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    """By title and text, in the order of first appearance."""
    questions: list[dict[str, Any]] = field(default_factory=list)
    document_ids: dict[str, int] = field(default_factory=dict)
    """How often each id was requested."""
    question_ids: dict[str, int] = field(default_factory=dict)

    def add_document(self, title: str, text: str, *, id: str = "", **more: Any) -> str:
        """Add a document unless it was added before; return its id."""
        key = (title, text)
        if key not in self.documents:
            name = _unique(id or f"p{len(self.documents) + 1:06d}", self.document_ids)
            self.documents[key] = {"id": name, "title": title, "text": text, **more}
        return str(self.documents[key]["id"])

    def add_question(self, id: str, question: str, **more: Any) -> None:
        """Add a question; a repeated id gets a number."""
        name = _unique(id or f"q{len(self.questions) + 1}", self.question_ids)
        self.questions.append(
            {"id": name, "question": question, **{k: v for k, v in more.items() if v is not None}}
        )


def _unique(name: str, taken: dict[str, int]) -> str:
    """Return the name, with a number if it is taken."""
    n = taken.get(name, 0) + 1
    found = name if n == 1 else f"{name}-{n}"
    while n > 1 and found in taken:
        n += 1
        found = f"{name}-{n}"
    taken[name] = n
    taken[found] = max(taken.get(found, 0), 1)
    return found


DatasetReader: TypeAlias = Callable[[Sequence[Path], DatasetBuilder], None]
"""Adds the documents and questions of files to a builder."""


def read_objects(files: Sequence[Path]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the JSON objects of files: lists, single objects, or one per line, whatever the file is called.

    Raises:
        BadInput: if a file cannot be read, or holds something else.
    """
    for file in files:
        with open_lines(file) as lines:
            for value in _values(file, lines):
                if not isinstance(value, dict):
                    raise BadInput(f"{file} contains something other than JSON objects")
                yield file, value


def read_text(file: Path) -> str:
    """Return the text of a file."""
    with open_lines(file) as lines:
        return "".join(lines)


def stem(file: Path) -> str:
    """Return the name of a file without its endings.

    >>> stem(Path("Books/Mrs. Dalloway.txt.gz")), stem(Path("3-1.json"))
    ('Mrs. Dalloway', '3-1')
    """
    return Path(file.name.removesuffix(".gz")).stem


def _values(file: Path, lines: Iterator[str]) -> Iterator[Any]:
    if file.name.endswith((".jsonl", ".jsonl.gz")):
        yield from _by_line(file, lines)
        return
    first = next(lines, "")
    alone = _object(first)
    if alone is None:
        value = _parse(first + "".join(lines), file, 1)
        yield from value if isinstance(value, list) else [value]
        return
    # A single object, or JSON Lines in a .json file.
    yield alone
    yield from _by_line(file, lines, 2)


def _by_line(file: Path, lines: Iterator[str], begin: int = 1) -> Iterator[Any]:
    for n, line in enumerate(lines, begin):
        if line.strip():
            value = _parse(line, file, n)
            # A list in one line, or JSON in a .jsonl file.
            yield from value if isinstance(value, list) else [value]


def _object(line: str) -> Any:
    """Return the JSON object in a line; None if the line is anything else or only the beginning of an object."""
    if not line.startswith("{"):
        return None
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _parse(text: str, file: Path, line: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise BadInput(f"{file} is not JSON, line {line}") from problem


@contextmanager
def open_lines(file: Path) -> Iterator[Iterator[str]]:
    """Open the lines of a text file, gzipped or not, up to `MAX_BYTES`.

    Raises:
        BadInput: if it cannot be read or is not UTF-8.
    """
    try:
        with file.open("rb") as raw:
            plain = gzip.GzipFile(fileobj=raw) if file.name.endswith(".gz") else raw
            with io.TextIOWrapper(plain, encoding="utf-8-sig", newline="") as text:
                yield _lines(file, text)
    except UnicodeDecodeError as problem:
        raise BadInput(f"{file} is not UTF-8") from problem
    except (OSError, EOFError, zlib.error) as problem:
        raise BadInput(f"{file} cannot be read: {problem}") from problem


def _lines(file: Path, text: io.TextIOWrapper) -> Iterator[str]:
    left = MAX_BYTES
    # A line may be as long as the file.
    while line := text.readline(left + 1):
        left -= len(line)
        if left < 0:
            raise BadInput(f"{file} is larger than {MAX_BYTES:,} characters; split it")
        yield line


def required(item: dict[str, Any], name: str, kind: type, file: Path) -> Any:
    """Return a required field of a given type.

    Raises:
        BadInput: if it is missing or of another type.
    """
    value = item.get(name)
    if not isinstance(value, kind):
        raise BadInput(f"{file} has an item without {name!r}")
    return value


def required_text(item: dict[str, Any], name: str, file: Path) -> str:
    """Return a required text.

    Raises:
        BadInput: if it is missing or empty.
    """
    value = item.get(name) if isinstance(item, dict) else None
    if not isinstance(value, str) or not value.strip():
        raise BadInput(f"{file} has an item without {name!r}")
    return value
