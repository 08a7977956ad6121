"""Distinct sentences of all descriptions, indexed by entity and relation."""

import tempfile
import weakref
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, compress
from math import isnan
from pathlib import Path
from typing import TypeAlias

import numpy as np

from polygraph.arrays import BATCH, Array, members, offsets, text_hash
from polygraph.graph.chunk_numbers import ChunkNumbers
from polygraph.graph.reports.members import Descriptions, GraphRows
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
            graph: read twice: first each text is hashed, then each distinct text is cut in sentences.
            sources: source row of each relation.
            targets: target row of each relation.
            language: of the documents.
            qualities: of descriptions that are known to be one sentence each.
            folder: for the temporary file; None: where the system has them.
        """
        read = _read_descriptions(graph)
        trim_heap()  # arrays that grow side by side leave holes
        self.names: list[str] = read.names
        """Names of the entities."""
        self.name_likeness: Array = np.array([name_likeness(name) for name in self.names])
        """How much each name looks like one."""
        self.chunks: list[str] = read.chunk_ids
        """Ids of all chunks, in the order of documents."""
        self.n_chunks: Array = read.n_mentions
        """How many chunks mention each entity."""
        self._mention_offsets, self._mentions = offsets(read.n_mentions), read.mentions

        first, text = _number(read.hashes)
        chunk_of_text = read.chunks[first]
        parts = _split(graph, read.hashes, first, language, qualities, folder)
        self._texts = parts.texts
        self._text_number, sentence = _number(parts.hashes)
        self.quality: Array = parts.qualities[self._text_number]
        """How well each sentence reads by itself."""
        self.chunk: Array = np.repeat(chunk_of_text, parts.counts)[self._text_number]
        """Chunk of each sentence, where it was first read."""
        lower_legal_chunks(self.quality, self.chunk, len(self.chunks))

        ends = offsets(parts.counts[text])[offsets(read.counts)]
        sentences = _concatenated(sentence, offsets(parts.counts), text)
        n = len(self.names)
        self.entity_offsets, self.entity_sentences = ends[: n + 1], sentences[: ends[n]]
        """Sentences of the entities' descriptions: offsets by entity, and the sentences."""
        self.relation_offsets, self.relation_sentences = ends[n:] - ends[n], sentences[ends[n] :]
        """The same for relations."""
        del read, parts, first, text, chunk_of_text, sentence
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
        """Return the chunks that mention an entity, in its own order."""
        return self._mentions[self._mention_offsets[entity] : self._mention_offsets[entity + 1]]

    def _named(self, sources: Array, targets: Array) -> tuple[Array, Array]:
        """Return the entities that have each sentence in a description, and both ends of such relations."""
        width = max(len(self.names), 1)
        entity = np.repeat(np.arange(len(self.names), dtype=np.int32), np.diff(self.entity_offsets))
        relation = np.repeat(np.arange(len(sources), dtype=np.int32), np.diff(self.relation_offsets))
        # One number for each pair; changed in place, since there are some for each sentence.
        pairs = np.concatenate((self.entity_sentences, self.relation_sentences, self.relation_sentences))
        pairs = pairs.astype(np.int64)
        pairs *= width
        pairs += np.concatenate((entity, sources[relation], targets[relation]))
        pairs.sort()
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
        return offsets(np.bincount(pairs // width, minlength=len(self))), (pairs % width).astype(np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class _Descriptions:
    """All descriptions without their texts: those of entities, then those of relations."""

    names: list[str]
    chunk_ids: list[str]
    """Ids of all chunks, in the order of documents; elsewhere a chunk is its position here."""
    mentions: Array
    """Chunks that mention each entity, one entity after the other."""
    n_mentions: Array
    hashes: Array
    chunks: Array
    counts: Array
    """How many descriptions each entity or relation has."""


def _read_descriptions(graph: GraphRows) -> _Descriptions:
    numbers = ChunkNumbers()
    names: list[str] = []
    mentions, n_mentions = array("i"), array("i")
    hashes, chunks, counts = array("q"), array("i"), array("i")

    def add(descriptions: Descriptions) -> None:
        before = len(hashes)
        for text, chunk in descriptions:
            hashes.append(text_hash(text))
            chunks.append(numbers[chunk])
        counts.append(len(hashes) - before)

    for name, own, descriptions in graph.entity_descriptions():
        names.append(name)
        mentions.extend([numbers[chunk] for chunk in own])
        n_mentions.append(len(own))
        add(descriptions)
    for descriptions in graph.relation_descriptions():
        add(descriptions)
    chunk_ids, position = numbers.in_order()
    return _Descriptions(
        names,
        chunk_ids,
        position[np.asarray(mentions)],
        np.asarray(n_mentions),
        np.asarray(hashes),
        position[np.asarray(chunks)],
        np.asarray(counts),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """The sentences of each distinct description, one description after the other; some may be equal."""

    texts: "_TextFile"
    hashes: Array
    qualities: Array
    counts: Array
    """How many sentences each distinct description has."""


def _split(
    graph: GraphRows,
    description_hashes: Array,
    first: Array,
    language: str,
    qualities: Qualities | None,
    folder: Path | None,
) -> _Parts:
    """Read the descriptions again, and split those at some positions in sentences."""
    is_first = np.zeros(len(description_hashes), dtype=np.bool_)
    is_first[first] = True
    keys = description_hashes[first]
    known = _look_up(keys, qualities)
    texts, hashes, values, counts = _TextFile(folder), array("q"), array("d"), array("i")
    # Views of arrays, since a list of so many numbers takes forty bytes for each.
    distinct_texts = compress(_texts(graph), is_first.data)
    for text, key, value in zip(distinct_texts, keys.data, known.data, strict=True):
        parts = split_sentences(text, language) if isnan(value) else [text]
        for part in parts:
            texts.add(part)
            hashes.append(key if part == text else text_hash(part))
            values.append(quality(part, language) if isnan(value) else value)
        counts.append(len(parts))
    return _Parts(texts, np.asarray(hashes), np.asarray(values), np.asarray(counts))


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


def _texts(graph: GraphRows) -> Iterator[str]:
    """Yield all descriptions, in the order in which they are numbered."""
    of_entities = (descriptions for _, _, descriptions in graph.entity_descriptions())
    for descriptions in chain(of_entities, graph.relation_descriptions()):
        for text, _ in descriptions:
            yield text


def _number(hashes: Array) -> tuple[Array, Array]:
    """Number distinct hashes by first occurrence.

    Returns:
        Position where each first occurs, ascending, and the number of each hash (int32).
    """
    order = np.argsort(hashes, kind="stable")
    in_order = hashes[order]
    starts = np.flatnonzero(
        np.concatenate((np.ones(min(1, len(order)), np.bool_), in_order[1:] != in_order[:-1]))
    )
    del in_order
    first = order[starts]
    by_position = np.argsort(first)
    number = np.empty(len(first), dtype=np.int32)
    number[by_position] = np.arange(len(first))
    numbers = np.empty(len(hashes), dtype=np.int32)
    numbers[order] = np.repeat(number, np.diff(starts, append=len(order)))
    return first[by_position], numbers


def _concatenated(values: Array, ends: Array, groups: Array) -> Array:
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
    if qualities is None or not len(qualities[0]):
        return np.full(len(hashes), np.nan)
    known, values = qualities
    position = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    return np.where(known[position] == hashes, values[position], np.nan)


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
