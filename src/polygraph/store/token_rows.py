"""Rows of an embedder that adds up token vectors, kept as tokens.

The vector of a row is the sum of the vectors of its tokens, scaled to unit length. So the tokens are the vector, in a
tenth of the bytes, and nothing is lost. Rows share most of what they are made of: a sentence describes every relation
that it states, a name is an end of many. Such parts of texts are kept once, and a row lists its parts. The cosine of a
question with every row takes one product with the vectors of all tokens, then sums over parts and over rows.
"""

import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from polygraph.arrays import dot_rows, members, offsets, text_hash
from polygraph.models.protocols import Vectors
from polygraph.models.providers.static import installed_token_vectors
from polygraph.store.atomic_files import write_folder

ABOUT = "tokens.json"
"""File that names the embedder; it marks the folder of a layer as this kind."""
_TOKENS, _TOKEN_ENDS = "part_tokens.npy", "part_ends.npy"
_PARTS, _PART_ENDS = "row_parts.npy", "row_ends.npy"
_LENGTHS = "row_lengths.npy"
_SUMS = "part_sums.tmp"
_BATCH = 512
"""Rows that are tokenized at once."""
_GROUPS = 8_192
"""Rows, or parts, that are summed at once."""
_PRODUCTS = 16
"""Questions whose products with the tokens are kept: one question searches several layers."""

Numbers = NDArray[Any]
Scores = NDArray[np.float64]


class TokenTable(Protocol):
    """What writing needs of an embedder; see `models.protocols.TokenEmbedder`."""

    @property
    def name(self) -> str:
        """Identifies the embedder."""

    def token_ids(self, texts: Sequence[str]) -> Iterator[list[int]]:
        """Yield the tokens of each text."""

    def token_vectors(self) -> Vectors:
        """Return the vector of every token, shape ``(n_tokens, dimension)``."""


class TokenRows:
    """Rows as parts of texts, and parts as tokens, mapped into memory.

    Args:
        folder: written by `write_token_rows`.
    """

    def __init__(self, folder: Path) -> None:
        self._embedder = str(json.loads((folder / ABOUT).read_text(encoding="utf-8"))["embedder"])
        self._tokens, self._token_ends, self._parts, self._part_ends, self._lengths = (
            np.load(folder / name, mmap_mode="r")
            for name in (_TOKENS, _TOKEN_ENDS, _PARTS, _PART_ENDS, _LENGTHS)
        )

    def __len__(self) -> int:
        return len(self._lengths)

    def scores(self, vectors: Vectors) -> NDArray[np.float32]:
        """Cosine of every row with unit vectors, shape ``(k, dimension)``; shape ``(k, n)``."""
        found = np.empty((len(vectors), len(self)), dtype=np.float32)
        for n, vector in enumerate(vectors):
            by_token = _products(self._embedder, vector.astype(np.float32).tobytes())
            by_part = _sums(by_token, self._tokens, self._token_ends)
            found[n] = self._scaled(_sums(by_part, self._parts, self._part_ends), self._lengths)
        return found

    def scores_of(self, vector: Vectors, ns: NDArray[np.int64]) -> NDArray[np.float32]:
        """Cosine of some rows with a unit vector, in the order asked for."""
        by_token = _products(self._embedder, vector.astype(np.float32).tobytes())
        # The same numbers in the same order as `scores` adds them.
        parts, part_ends = _members(self._parts, self._part_ends, ns)
        distinct, positions = np.unique(parts, return_inverse=True)
        by_part = _sums(by_token, *_members(self._tokens, self._token_ends, distinct))
        return self._scaled(_sums(by_part, positions, part_ends), self._lengths[ns])

    def rows(self, ns: NDArray[np.int64]) -> Vectors:
        """The vectors of some rows, shape ``(len(ns), dimension)``."""
        table = installed_token_vectors(self._embedder)
        parts, ends = _members(self._parts, self._part_ends, ns)
        distinct, positions = np.unique(parts, return_inverse=True)
        tokens, token_ends = _members(self._tokens, self._token_ends, distinct)
        # Exact, and so the same in any order: token vectors are half-precision numbers.
        sums = np.array([table[tokens[i:j]].sum(axis=0, dtype=np.float64) for i, j in pairwise(token_ends)])
        total = _total(sums.reshape(-1, table.shape[1]), positions, ends)
        lengths = np.sqrt((total * total).sum(axis=1))
        return (total / np.where(lengths > 0, lengths, 1.0)[:, None]).astype(np.float32)

    @staticmethod
    def _scaled(sums: Scores, lengths: NDArray[np.float32]) -> NDArray[np.float32]:
        return (sums / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


@lru_cache(maxsize=_PRODUCTS)
def _products(embedder: str, vector: bytes) -> Scores:
    """Return the product of every token vector with a vector."""
    table = installed_token_vectors(embedder)
    return dot_rows(table, np.frombuffer(vector, dtype=np.float32)).astype(np.float64)


def _members(places: Numbers, ends: Numbers, groups: Numbers) -> tuple[Numbers, Numbers]:
    """Return what stands in `places` for some groups, one after the other, and the offsets of these groups."""
    found, owner = members(ends, groups)
    return places[found], offsets(np.bincount(owner, minlength=len(groups)))


def _sums(values: Scores, places: Numbers, ends: Numbers) -> Scores:
    """Return the sum of `values` at the places of each group; 0 for a group without any.

    Args:
        values: what is summed.
        places: group after group.
        ends: offsets of the groups in `places`, shape ``(n + 1,)``.
    """
    found = np.zeros(len(ends) - 1, dtype=np.float64)
    for first in range(0, len(found), _GROUPS):
        some = ends[first : first + _GROUPS + 1].astype(np.int64)
        filled = np.flatnonzero(some[1:] > some[:-1])
        if len(filled):
            # Converted first: `take` checks numbers of other types one by one.
            taken = values.take(places[some[0] : some[-1]].astype(np.intp))
            found[first + filled] = np.add.reduceat(taken, some[filled] - some[0])
    return found


def write_token_rows(
    folder: Path,
    texts: Iterable[Sequence[str]],
    embedder: TokenTable,
    *,
    on_done: Callable[[int], None] = lambda _: None,
    finish: Callable[[Path], object] = lambda _: None,
) -> int:
    """Write the tokens of texts as a layer.

    Args:
        folder: of the layer; written under a temporary name and renamed.
        texts: each as parts that a space separates, in the order of the rows.
        embedder: whose vectors the tokens have. A part is tokenized by itself.
        on_done: called with the number of rows that are done.
        finish: called with the folder that has all these files, before it is renamed.

    Returns:
        The number of rows.
    """
    n_rows = 0

    def fill(target: Path) -> None:
        nonlocal n_rows
        numbers: dict[int, int] = {}
        parts, part_ends, token_ends = array("I"), array("Q", [0]), array("Q", [0])
        table = embedder.token_vectors()
        rest = iter(texts)
        with (target / _TOKENS).open("wb") as tokens, (target / _SUMS).open("wb") as sums:
            while batch := list(islice(rest, _BATCH)):
                new: list[str] = []
                for row in batch:
                    for part in row:
                        key = text_hash(part)
                        if key not in numbers:
                            numbers[key] = len(numbers)
                            new.append(part)
                        parts.append(numbers[key])
                    part_ends.append(len(parts))
                for ids in embedder.token_ids(new):
                    tokens.write(np.array(ids, dtype=_width(len(table) - 1)).tobytes())
                    token_ends.append(token_ends[-1] + len(ids))
                    sums.write(table[ids].sum(axis=0, dtype=np.float64).astype(np.float32).tobytes())
                n_rows += len(batch)
                on_done(n_rows)
        del numbers
        np.save(target / _TOKENS, np.fromfile(target / _TOKENS, dtype=_width(len(table) - 1)))
        ends = np.asarray(part_ends)
        lengths = _lengths(target / _SUMS, table.shape[1], np.asarray(parts), ends)
        (target / _SUMS).unlink()
        np.save(target / _TOKEN_ENDS, _narrow(np.asarray(token_ends)))
        np.save(target / _PARTS, _narrow(np.asarray(parts)))
        np.save(target / _PART_ENDS, _narrow(ends))
        np.save(target / _LENGTHS, lengths)
        (target / ABOUT).write_text(json.dumps({"embedder": embedder.name}), encoding="utf-8")
        finish(target)

    write_folder(folder, fill, sealed=True)
    return n_rows


def _lengths(sums: Path, dimension: int, parts: Numbers, ends: Numbers) -> NDArray[np.float32]:
    """Return the length of the sum of the parts of each row, shape ``(n,)``."""
    found = np.zeros(len(ends) - 1, dtype=np.float32)
    if not sums.stat().st_size:
        return found
    for first in range(0, len(found), _GROUPS // 4):
        # Mapped anew, so that what was read before does not count as memory in use.
        of_parts = np.memmap(sums, mode="r", dtype=np.float32).reshape(-1, dimension)
        total = _total(of_parts, parts, ends[first : first + _GROUPS // 4 + 1].astype(np.int64))
        found[first : first + len(total)] = np.sqrt((total * total).sum(axis=1))
    return found


def _total(sums: NDArray[Any], parts: Numbers, ends: Numbers) -> Scores:
    """Return the sum of the parts of each row, shape ``(n, dimension)``."""
    total = np.zeros((len(ends) - 1, sums.shape[1]), dtype=np.float64)
    counts = np.diff(ends)
    for k in range(int(counts.max(initial=0))):
        having = np.flatnonzero(counts > k)
        total[having] += sums[parts[ends[having] + k]]
    return total


def _width(largest: int) -> Any:
    """Return the narrowest type for numbers from 0 to `largest`."""
    return np.uint16 if largest < 1 << 16 else np.uint32 if largest < 1 << 32 else np.uint64


def _narrow(numbers: Numbers) -> Numbers:
    return numbers.astype(_width(int(numbers.max(initial=0))))
