"""Files of public data sets as they were published: objects out of JSON, texts, and what is gathered from them."""

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
"""Of one file, unpacked."""


@dataclass
class Collected:
    """Documents and questions as they are read."""

    documents: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    """By title and text, in the order in which they were met."""
    questions: list[dict[str, Any]] = field(default_factory=list)
    document_ids: dict[str, int] = field(default_factory=dict)
    """How often each id was asked for."""
    question_ids: dict[str, int] = field(default_factory=dict)

    def document(self, title: str, text: str, *, id: str = "", **more: Any) -> str:
        """Take in a document, each only once; return its id."""
        key = (title, text)
        if key not in self.documents:
            name = _free(id or f"p{len(self.documents) + 1:06d}", self.document_ids)
            self.documents[key] = {"id": name, "title": title, "text": text, **more}
        return str(self.documents[key]["id"])

    def question(self, id: str, question: str, **more: Any) -> None:
        """Take in a question; of equal ids the later gets a number."""
        name = _free(id or f"q{len(self.questions) + 1}", self.question_ids)
        self.questions.append(
            {"id": name, "question": question, **{k: v for k, v in more.items() if v is not None}}
        )


def _free(name: str, taken: dict[str, int]) -> str:
    """The name, with a number if it is taken."""
    n = taken.get(name, 0) + 1
    found = name if n == 1 else f"{name}-{n}"
    while n > 1 and found in taken:
        n += 1
        found = f"{name}-{n}"
    taken[name] = n
    taken[found] = max(taken.get(found, 0), 1)
    return found


Reader: TypeAlias = Callable[[Sequence[Path], Collected], None]
"""Takes documents and questions out of files."""


def items(files: Sequence[Path]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Objects of files: lists of them, one alone, or one a line, whatever the file is called."""
    for file in files:
        with opened(file) as lines:
            for value in _values(file, lines):
                if not isinstance(value, dict):
                    raise BadInput(f"{file} holds something else than objects")
                yield file, value


def whole_text(file: Path) -> str:
    """A file of plain text."""
    with opened(file) as lines:
        return "".join(lines)


def stem(file: Path) -> str:
    """The name of a file without what tells its form.

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
    # A single object, or one a line under the name of a .json file.
    yield alone
    yield from _by_line(file, lines, 2)


def _by_line(file: Path, lines: Iterator[str], begin: int = 1) -> Iterator[Any]:
    for n, line in enumerate(lines, begin):
        if line.strip():
            value = _parse(line, file, n)
            # A list in one line is a .json file under the name of a .jsonl file.
            yield from value if isinstance(value, list) else [value]


def _object(line: str) -> Any:
    """The object that a line holds; None if it holds something else, or ends before its object does."""
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
def opened(file: Path) -> Iterator[Iterator[str]]:
    """Lines of a text file, packed or not, as far as `MAX_BYTES`."""
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
    """A field that has to be there and to be of a kind.

    Raises:
        BadInput: if it is not.
    """
    value = item.get(name)
    if not isinstance(value, kind):
        raise BadInput(f"{file} has an item without {name!r}")
    return value


def required_text(item: dict[str, Any], name: str, file: Path) -> str:
    """A field that has to be a text that is not empty.

    Raises:
        BadInput: if it is not.
    """
    value = item.get(name) if isinstance(item, dict) else None
    if not isinstance(value, str) or not value.strip():
        raise BadInput(f"{file} has an item without {name!r}")
    return value
