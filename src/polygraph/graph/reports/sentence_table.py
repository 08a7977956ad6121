"""Distinct sentences of all descriptions, indexed by entity and relation."""

import tempfile
import weakref
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from math import isnan
from pathlib import Path
from typing import TypeAlias

import numpy as np

from polygraph.arrays import BATCH, Array, distinct, look_up, members, offsets, text_hash
from polygraph.graph.chunk_numbers import ChunkNumbers
from polygraph.graph.reports.members import GraphRows, Hashes
from polygraph.graph.reports.sentence_quality import (
    LEGAL_NOTICE,
    LEGAL_SHARE,
    name_likeness,
    quality,
    split_sentences,
)
from polygraph.memory import trim_heap

Qualities: TypeAlias = tuple[Array, Array]
"""Hashes of texts, ascending, and how well each reads; see `text_hash` and `quality`."""

_SORTED = 1 << 18
"""Numbers that are sorted together."""


class SentenceTable:
    """What the descriptions of a graph say, each sentence once.

    Sentences are numbered in the order in which they are first read: descriptions of entities, then those of
    relations. Entities and relations are given by their rows, as in `GraphRows`; chunks by their position in the order
    of documents. Texts lie in a temporary file, all else in memory.
    """

    def __init__(
        self,
        graph: GraphRows,
        sources: Array,
        targets: Array,
        *,
        language: str,
        qualities: Qualities | None = None,
        folder: Path | None = None,
    ) -> None:
        """Read all descriptions.

        Args:
            graph: read twice: first the hashes of the texts, then the texts, of which each distinct one is cut in
                sentences.
            sources: source row of each relation.
            targets: target row of each relation.
            language: of the documents.
            qualities: of descriptions that are known to be one sentence each.
            folder: for the temporary file; None: where the system has them.
        """
        read = _Descriptions(graph)
        self.names: list[str] = read.names
        """Names of the entities."""
        self.name_likeness: Array = np.array([name_likeness(name) for name in self.names])
        """How much each name looks like one."""
        parts = _split(graph, read, language, qualities, folder)
        self._texts = parts.texts
        self.chunks, position = read.chunk_numbers.in_order()
        """Ids of all chunks, in the order of documents."""
        self.n_chunks: Array = read.n_mentions
        """How many chunks mention each entity."""
        self._mention_offsets, self._mentions = offsets(read.n_mentions), position[read.mentions]

        self._text_number, sentence = _number(parts.hashes)
        self.quality: Array = parts.qualities[self._text_number]
        """How well each sentence reads on its own."""
        self.chunk: Array = position[parts.chunks[self._text_number]]
        """Chunk of each sentence, where it was first read."""
        lower_legal_chunks(self.quality, self.chunk, len(self.chunks))

        n, ends = len(self.names), offsets(_sums(parts.counts[read.number], read.counts))
        sentences = _concatenate(sentence, offsets(parts.counts), read.number)
        self.entity_offsets, self.entity_sentences = ends[: n + 1], sentences[: ends[n]]
        """Sentences of the entities' descriptions: offsets by entity, and the sentences."""
        self.relation_offsets, self.relation_sentences = ends[n:] - ends[n], sentences[ends[n] :]
        """The same for relations."""
        del read, parts, sentence
        trim_heap()
        self.name_offsets, self.named = self._named(sources, targets)
        """Entities that each sentence is about, ascending: offsets by sentence, and the entities."""
        trim_heap()

    def __len__(self) -> int:
        return len(self.chunk)

    def text(self, sentence: int) -> str:
        """Return the text of a sentence."""
        return self._texts.read(int(self._text_number[sentence]))

    def chunks_of(self, entity: int) -> Array:
        """Return the positions in `chunks` of those that mention an entity, in the order of the entity."""
        begin, end = self._mention_offsets[entity : entity + 2]
        chunks: Array = self._mentions[begin:end]
        return chunks

    def _named(self, sources: Array, targets: Array) -> tuple[Array, Array]:
        """Return the entities that have each sentence in a description, and both ends of such relations."""
        width = max(len(self.names), 1)
        entity = np.repeat(np.arange(len(self.names), dtype=np.int32), np.diff(self.entity_offsets))
        relation = np.repeat(np.arange(len(sources), dtype=np.int32), np.diff(self.relation_offsets))
        n_pairs = len(entity) + 2 * len(relation)
        counts, named = np.zeros(len(self), dtype=np.int64), np.empty(n_pairs, dtype=np.int32)
        n = 0
        # Some sentences at a time: there are several pairs for each description.
        step = len(self) * _SORTED // (n_pairs + 1) + 1
        for begin in range(0, len(self), step):
            end = min(begin + step, len(self))
            own, joined = (
                np.flatnonzero((sentences >= begin) & (sentences < end))
                for sentences in (self.entity_sentences, self.relation_sentences)
            )
            of_own, of_joined = self.entity_sentences[own], self.relation_sentences[joined]
            pairs = (np.concatenate((of_own, of_joined, of_joined)) - begin).astype(np.int64) * width
            pairs += np.concatenate((entity[own], sources[relation[joined]], targets[relation[joined]]))
            pairs = distinct(pairs)
            counts[begin:end] = np.bincount(pairs // width, minlength=end - begin)
            named[n : n + len(pairs)] = pairs % width
            n += len(pairs)
        return offsets(counts), named[:n]


class _Descriptions:
    """All descriptions without their texts: those of entities, then those of relations."""

    def __init__(self, graph: GraphRows) -> None:
        self.names: list[str] = []
        self.chunk_numbers = ChunkNumbers()
        mentions, n_mentions = array("i"), array("i")
        hashes, counts = array("q"), array("i")

        def add(descriptions: Hashes) -> None:
            before = len(hashes)
            hashes.extend([key for key, _ in descriptions])
            counts.append(len(hashes) - before)

        for name, chunks, descriptions in graph.entity_description_hashes():
            self.names.append(name)
            mentions.extend([self.chunk_numbers[chunk] for chunk in chunks])
            n_mentions.append(len(chunks))
            add(descriptions)
        for descriptions in graph.relation_description_hashes():
            add(descriptions)
        self.mentions, self.n_mentions = np.asarray(mentions), np.asarray(n_mentions)
        """Numbers of the chunks that mention each entity, one entity after the other; and how many these are."""
        self.counts: Array = np.asarray(counts)
        """How many descriptions each entity or relation has."""
        trim_heap()  # arrays that grow side by side leave holes
        first, self.number = _number(np.asarray(hashes))
        """Number of each description among the distinct ones."""
        self.hashes: Array = np.asarray(hashes)[first]
        """Hashes of the distinct descriptions."""
        self.is_first: Array = np.zeros(len(hashes), dtype=np.bool_)
        """True where a description is read for the first time."""
        self.is_first[first] = True


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """The sentences of each distinct description, one description after the other; some may be equal."""

    texts: "_TextFile"
    hashes: Array
    qualities: Array
    chunks: Array
    """Number of the chunk of each."""
    counts: Array
    """How many sentences each distinct description has."""


def _split(
    graph: GraphRows,
    read: _Descriptions,
    language: str,
    qualities: Qualities | None,
    folder: Path | None,
) -> _Parts:
    """Read the descriptions again, and split the distinct ones in sentences."""
    known = _look_up(read.hashes, qualities)
    texts, hashes, values = _TextFile(folder), array("q"), array("d")
    chunks, counts = array("i"), array("i")
    # Views of arrays, since a list takes forty bytes for each number.
    descriptions = compress(_iterate(graph), read.is_first.data)
    for (text, chunk), key, value in zip(descriptions, read.hashes.data, known.data, strict=True):
        parts = split_sentences(text, language) if isnan(value) else [text]
        for part in parts:
            texts.add(part)
            hashes.append(key if part == text else text_hash(part))
            values.append(quality(part, language) if isnan(value) else value)
            chunks.append(read.chunk_numbers[chunk])
        counts.append(len(parts))
    return _Parts(texts, *(np.asarray(column) for column in (hashes, values, chunks, counts)))


class _TextFile:
    """Texts by number, in a temporary file: first all are added, then they are read."""

    def __init__(self, folder: Path | None) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed when this is gone
        weakref.finalize(self, self._file.close)
        self._ends = array("q", [0])

    def add(self, text: str) -> None:
        """Append a text."""
        self._ends.append(self._ends[-1] + self._file.write(text.encode("utf-8", "surrogatepass")))

    def read(self, number: int) -> str:
        """Return a text."""
        begin, end = self._ends[number], self._ends[number + 1]
        self._file.seek(begin)
        return self._file.read(end - begin).decode("utf-8", "surrogatepass")


def _iterate(graph: GraphRows) -> Iterator[Sequence[str]]:
    """Yield all descriptions, in the order in which `_Descriptions` reads them."""
    of_entities = (descriptions for _, _, descriptions in graph.entity_descriptions())
    for descriptions in chain(of_entities, graph.relation_descriptions()):
        yield from descriptions


def _number(hashes: Array) -> tuple[Array, Array]:
    """Number distinct hashes by first occurrence.

    Returns:
        Position where each first occurs, ascending, and the number of each hash (int32).
    """
    # In parts, since sorting takes several times the memory of what is sorted.
    n_parts = 1 << min(8, (len(hashes) // _SORTED).bit_length())
    part = hashes.view(np.uint8)[::8] & (n_parts - 1)
    number = np.empty(len(hashes), dtype=np.int32)
    firsts = []
    n = 0
    for i in range(n_parts):
        rows = np.flatnonzero(part == i)
        _, first, among = np.unique(hashes[rows], return_index=True, return_inverse=True)
        number[rows] = among + n
        firsts.append(rows[first])
        n += len(first)
    first = np.concatenate(firsts)
    order = np.argsort(first)
    rank = np.empty(n, dtype=np.int32)
    rank[order] = np.arange(n)
    for begin in range(0, len(number), _SORTED):
        number[begin : begin + _SORTED] = rank[number[begin : begin + _SORTED]]
    return first[order], number


def _sums(values: Array, counts: Array) -> Array:
    """Return the sum of each group of values; `values` is changed.

    >>> _sums(np.array([1, 2, 4]), np.array([2, 0, 1])).tolist()
    [3, 0, 4]
    """
    ends = offsets(counts)
    np.cumsum(values, out=values)
    return np.diff(np.where(ends > 0, values[ends - 1], 0)) if len(values) else np.zeros_like(counts)


def _concatenate(values: Array, ends: Array, groups: Array) -> Array:
    """Return the values of some groups, one group after the other.

    Args:
        values: group by group.
        ends: offsets of the groups, shape ``(n + 1,)``.
        groups: in any order, repeated or not; looked at some at a time, since each takes dozens of bytes.
    """
    some = np.array_split(groups, len(groups) // BATCH + 1)
    return np.concatenate([values[members(ends, part)[0]] for part in some])


def _look_up(hashes: Array, qualities: Qualities | None) -> Array:
    """Return the known quality of each text, NaN where it is not known."""
    return np.full(len(hashes), np.nan) if qualities is None else look_up(*qualities, hashes, missing=np.nan)


def lower_legal_chunks(qualities: Array, chunk: Array, n_chunks: int) -> None:
    """Lower the quality of sentences that stand among legal notices, as if they were some, in place.

    Args:
        qualities: of the sentences.
        chunk: of each sentence.
        n_chunks: in all.
    """
    legal = qualities < LEGAL_NOTICE
    n_legal = np.bincount(chunk[legal], minlength=n_chunks)
    among = (n_legal > 1) & (n_legal > 0.25 * np.bincount(chunk, minlength=n_chunks))
    qualities[among[chunk] & ~legal] *= LEGAL_SHARE
