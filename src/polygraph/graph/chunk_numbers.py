"""Ids of chunks as numbers, without holding the ids.

There are as many chunks as there is text, and an id takes two hundred bytes where it is looked up. Nearly all are the
id of a document and a place in it; so documents are looked up, and a chunk is eight bytes.
"""

from abc import abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import overload

import numpy as np

from polygraph.columnar import Array
from polygraph.columnar.groupby import distinct
from polygraph.columnar.memmap import Column, room
from polygraph.columnar.memory import let_go

_SHIFT = 32
_MASK = (1 << _SHIFT) - 1
_DIGITS = 9  # of a place at most; an id with more is one of those held as they are
_KNOWN = 1 << 12
"""Places whose digits are looked up; longer documents are rare."""
_BLOCK = 1 << 16
"""Chunks that are put in their places at once."""


def chunk_key(chunk: str) -> tuple[str, int]:
    """Sort key of chunk ids: document, then position in it.

    >>> sorted(["b.md:2", "b.md:10", "a:9"], key=chunk_key)
    ['a:9', 'b.md:2', 'b.md:10']
    """
    document, _, ordinal = chunk.rpartition(":")
    # Ids that are not ours (an imported graph) still sort, by their text.
    return (document, int(ordinal)) if ordinal.isascii() and ordinal.isdigit() else (chunk, 0)


class ChunkNumbers:
    """Numbers chunk ids in the order in which they come.

    >>> numbers = ChunkNumbers()
    >>> numbers.of(["b:0", "a:10", "a:9", "b:0"])
    [0, 1, 2, 0]
    >>> ids, position = numbers.in_order()
    >>> ids, position.tolist()
    (['a:9', 'a:10', 'b:0'], [2, 1, 0])
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, chunks: Iterable[str]) -> list[int]:
        """Return the numbers of some chunks."""
        numbers = self._numbers
        return [numbers.setdefault(chunk, len(numbers)) for chunk in chunks]

    def in_order(self) -> tuple[list[str], Array]:
        """Return all ids in the order of documents, and the position there of each number, int32."""
        ids = list(self._numbers)
        order = sorted(range(len(ids)), key=lambda i: (chunk_key(ids[i]), ids[i]))
        position = np.empty(len(ids), dtype=np.int32)
        position[order] = np.arange(len(ids))
        return [ids[i] for i in order], position


class ChunkIds:
    """Gives codes to ids as they come; what a code says is told by `ChunkOrder`."""

    def __init__(self) -> None:
        self._documents: dict[str, int] = {}
        self._places: dict[str, int] = {}
        self._others: dict[str, int] = {}
        """Ids that are not written as ours are: their codes are negative."""
        self._listed: tuple[list[str], list[str]] = ([], [])

    def codes(self, chunks: Iterable[str]) -> list[int]:
        """One code for each id, the same for the same id."""
        documents, places = self._documents, self._places
        found = []
        for chunk in chunks:
            document, _, digits = chunk.rpartition(":")
            place = places.get(digits)
            if place is None:
                place = self._place(digits)
                if place < 0:
                    found.append(-1 - self._others.setdefault(chunk, len(self._others)))
                    continue
            number = documents.get(document)
            if number is None:
                number = documents[document] = len(documents)
            found.append(number << _SHIFT | place)
        return found

    def _place(self, digits: str) -> int:
        """A place from its digits; -1 if it is not written so."""
        if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS):
            return -1
        place = int(digits)
        if str(place) != digits:
            return -1
        if place < _KNOWN:
            self._places[digits] = place
        return place

    def ids(self, codes: Iterable[int]) -> Iterator[str]:
        """The ids that have some codes."""
        if (len(self._documents), len(self._others)) != tuple(map(len, self._listed)):
            self._listed = (list(self._documents), list(self._others))
        documents, others = self._listed
        for code in codes:
            yield others[-1 - code] if code < 0 else f"{documents[code >> _SHIFT]}:{code & _MASK}"

    def ranks(self, codes: Array) -> Array:
        """Sort keys of codes: the same order as of the ids by `chunk_key`, then by themselves."""
        if self._others:
            ids = list(self.ids(codes.tolist()))
            rank = np.empty(len(ids), dtype=np.int64)
            rank[sorted(range(len(ids)), key=lambda i: (chunk_key(ids[i]), ids[i]))] = np.arange(len(ids))
            return rank
        documents = np.empty(len(self._documents), dtype=np.int64)
        documents[[self._documents[document] for document in sorted(self._documents)]] = np.arange(
            len(self._documents)
        )
        keys = np.empty(len(codes), dtype=np.int64)
        for at in range(0, len(codes), _BLOCK):
            some = codes[at : at + _BLOCK]
            keys[at : at + _BLOCK] = documents[some >> _SHIFT] << _SHIFT | some & _MASK
        return keys


class _Ids(Sequence[str]):
    """Ids by place, made as they are asked for, since all of them are several megabytes."""

    @abstractmethod
    def _id(self, place: int) -> str: ...

    def named(self, places: Array) -> list[str]:
        """Ids of the chunks at some places."""
        return [self._id(place) for place in places.tolist()]

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return self.named(np.arange(*place.indices(len(self))))
        return self._id(range(len(self))[place])


class ChunkOrder(_Ids):
    """Some chunks in the order of documents: each is its place here.

    >>> ids = ChunkIds()
    >>> column = Column("q")
    >>> column.extend(ids.codes(["b:0", "a:10", "a:9", "b:0"]))
    >>> order = ChunkOrder(ids, [column])
    >>> list(order), [part.tolist() for part in order.places(column)]
    (['a:9', 'a:10', 'b:0'], [[2, 1, 0, 2]])
    """

    def __init__(self, ids: ChunkIds, columns: Iterable[Column], folder: Path | None = None) -> None:
        """Find the distinct ones.

        Args:
            ids: that gave the codes.
            columns: of codes.
            folder: for the files where they lie from then on, as for `Spill`.
        """
        known = np.zeros(0, dtype=np.int64)
        for column in columns:
            for block in column.blocks():
                new = distinct(block)
                at = np.searchsorted(known, new)
                new = new[known[np.minimum(at, len(known) - 1)] != new] if len(known) else new
                if len(new):
                    known = np.insert(known, np.searchsorted(known, new), new)
        order = np.argsort(ids.ranks(known))
        self._known = room(len(known), np.int64, folder)
        """Codes, ascending."""
        self._known[:] = known
        self._codes = room(len(known), np.int64, folder)
        """Codes by place."""
        self._place = room(len(known), np.int32, folder)
        for begin in range(0, len(order), _BLOCK):
            some = order[begin : begin + _BLOCK]
            self._codes[begin : begin + _BLOCK] = known[some]
            self._place[some] = np.arange(begin, begin + len(some))
        let_go(self._known, self._codes, self._place)
        self._ids = ids

    def places(self, column: Column) -> Iterator[Array]:
        """Places of the chunks of a column, some at a time."""
        for block in column.blocks():
            yield self._place[np.searchsorted(self._known, block)]
        let_go(self._known, self._place)

    def named(self, places: Array) -> list[str]:
        """Ids of the chunks at some places."""
        codes = self._codes[places].tolist()
        let_go(self._codes)
        return list(self._ids.ids(codes))

    def _id(self, place: int) -> str:
        return next(self._ids.ids([int(self._codes[place])]))

    def __len__(self) -> int:
        return len(self._codes)


class Chunks(_Ids):
    """All chunks, by position.

    Args:
        counts: number of chunks of each document that has some, by document.

    >>> chunks = Chunks([("a", 3), ("b", 2)])
    >>> list(chunks), chunks.first_of(["b"]).tolist()
    (['a:0', 'a:1', 'a:2', 'b:0', 'b:1'], [3])
    """

    def __init__(self, counts: Iterable[tuple[str, int]]) -> None:
        self._documents, self._begins = list[str](), array("q", [0])
        for document, n in counts:
            self._documents.append(document)
            self._begins.append(self._begins[-1] + n)

    def first_of(self, documents: Sequence[str]) -> Array:
        """Position of the first chunk of some documents."""
        first = dict(zip(self._documents, self._begins, strict=False))
        return np.array([first.get(document, len(self)) for document in documents], dtype=np.int64)

    def _id(self, place: int) -> str:
        document = bisect_right(self._begins, place) - 1
        return f"{self._documents[document]}:{place - self._begins[document]}"

    def __len__(self) -> int:
        return self._begins[-1]
