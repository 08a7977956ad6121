"""The records of one file of a JSON Lines export, each checked before it is used."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from polygraph.errors import BadInput
from polygraph.indexing.exchange.exporters.folder import MANIFEST
from polygraph.indexing.exchange.exporters.records import Row
from polygraph.indexing.exchange.schema import SHAPES, find_fault, shorten
from polygraph.text.prose import count_noun

MAX_LINE_BYTES = 400_000_000
"""Longest line: twice the largest file that is loaded, since a line feed takes two characters in JSON."""


class RecordFile:
    """The records of one file, in order; the next one can be looked at before it is taken.

    Args:
        folder: of the export.
        kind: of the records, which names the file.
        n_lines: that the manifest states.
        key: of a record; keys must ascend.

    Raises:
        BadInput: when the file is missing, and while reading, for the first line that is wrong, with file and line.
    """

    def __init__(
        self, folder: Path, kind: str, n_lines: int, key: Callable[[Row], Any] | None = None
    ) -> None:
        self._path = folder / f"{kind}.jsonl"
        self._shape = SHAPES[kind]
        self._n_lines = n_lines
        self._key = key
        self._last: Any = None
        self._n = 0
        if not self._path.is_file():
            raise BadInput(
                f"{self._path} is missing. Export the index again, or put the file back; nothing was imported"
            )
        self._file = self._path.open("rb")
        self._next: Row | None = None
        self._ended = False

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def reject(self, problem: str) -> NoReturn:
        """Raise an error about the line that was read last."""
        raise BadInput(
            f"{self._path}:{self._n}: {problem}. Export the index again, or mend the line; nothing was imported"
        )

    def peek(self) -> Row | None:
        """Return the next record, or None at the end."""
        if self._next is None and not self._ended:
            self._next = self._read()
        return self._next

    def take_while(self, condition: Callable[[Row], bool]) -> Iterator[Row]:
        """Yield the next records as long as they meet a condition; `reject` is then about the one yielded."""
        while (row := self.peek()) is not None and condition(row):
            self._next = None
            yield row

    def all(self) -> Iterator[Row]:
        """Yield all records, and close the file."""
        try:
            yield from self.take_while(lambda _: True)
        finally:
            self.close()

    def require_end(self, problem: str) -> None:
        """Raise an error if a record is left."""
        if self.peek() is not None:
            self.reject(problem)

    def _read(self) -> Row | None:
        data = self._file.readline(MAX_LINE_BYTES + 1)
        self._n += 1
        if not data:
            self._ended = True
            if self._n - 1 != self._n_lines:
                self.reject(
                    f"the file ends after {count_noun(self._n - 1, 'line')}, and {MANIFEST} says {self._n_lines}"
                )
            return None
        if len(data) > MAX_LINE_BYTES:
            self.reject(f"the line is longer than {MAX_LINE_BYTES:,} bytes")
        if self._n > self._n_lines:
            self.reject(
                f"{MANIFEST} says that the file has {count_noun(self._n_lines, 'line')}, and there are more"
            )
        row = self._parse(data)
        if problem := find_fault(row, self._shape):
            self.reject(problem)
        if self._key is not None:
            key = self._key(row)
            if self._last is not None and key <= self._last:
                self.reject(f"{shorten(key)} is there twice, or stands out of order")
            self._last = key
        return row

    def _parse(self, data: bytes) -> Row:
        try:
            text = data.decode("utf-8")
            row: Row = json.loads(
                text,
                parse_constant=reject_constant,
                parse_float=finite_number,
                object_pairs_hook=_unique_keys,
            )
            if "\\ud" in text or "\\uD" in text:  # half a character cannot be stored
                json.dumps(row, ensure_ascii=False).encode("utf-8")
        except RecursionError:
            self.reject("is nested too deeply")
        except UnicodeError as error:
            self.reject(f"is not UTF-8 ({error.reason if isinstance(error, UnicodeDecodeError) else error})")
        except ValueError as error:
            self.reject(f"is not JSON ({error})")
        return row


def reject_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which are not JSON; for ``json.loads(parse_constant=...)``."""
    raise ValueError(f"{name} is not a number of JSON")


def finite_number(text: str) -> float:
    """Return a number, or refuse one that is too large; for ``json.loads(parse_float=...)``."""
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text[:20]} is too large")
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> Row:
    row = dict(pairs)
    if len(row) != len(pairs):
        raise ValueError("a key is there twice")
    return row
