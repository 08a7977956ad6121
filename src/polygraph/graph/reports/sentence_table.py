"""The sentences that are told of entities and relations, as arrays.

Sentences are those of the descriptions; one that stands in several is one. What there is for each lies in files, and
the records that sentences come from are read one after the other.
"""

import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from math import isnan, nan
from pathlib import Path
from struct import Struct

import numpy as np

from polygraph.columnar import Array, Qualities, text_hash
from polygraph.columnar.gather import ByHash, parts
from polygraph.columnar.group_sort import by_group
from polygraph.columnar.groupby import distinct
from polygraph.columnar.memmap import Column, Spill, room
from polygraph.columnar.memory import let_go
from polygraph.graph.chunk_numbers import ChunkIds, ChunkOrder
from polygraph.graph.reports.members import Descriptions, GraphRows, edges_of
from polygraph.graph.reports.sentence_quality import LEGAL_NOTICE, LEGAL_SHARE, namely, pieces, quality

_RECENT = 1 << 14
"""Hashes that are held in a dictionary."""
_GROWTH = 8
"""Sorted hashes so many times as long as those that come after are not merged with them yet."""
_DESCRIPTIONS = 1 << 12
"""Descriptions that are looked up together."""
_HELD = 1 << 10
"""Sentences that are held in memory before they are written away."""
_PAIRS = 1 << 16
"""Pairs of a sentence and a name that are sorted together."""
_ENDS = Struct("=qq")
"""Where a text ends, and the next one."""


class Told:
    """Read once; then only looked at. Entities and relations are told by their numbers, as in `GraphRows`.

    Of sentences and relations all lies in files, and whoever has looked at it lets it go.
    """

    def __init__(
        self,
        graph: GraphRows,
        language: str,
        known: Qualities | None = None,
        *,
        edges: tuple[Array, Array, Array] | None = None,
        folder: Path | None = None,
    ) -> None:
        """Read all descriptions: those of entities, then those of relations.

        Args:
            graph: whose.
            language: of the documents.
            known: how well descriptions read that are one sentence each.
            edges: of the graph, as `edges_of` gives them; read if not given.
            folder: for the files that hold texts and lists while this is in use; None: as in `Spill`.
        """
        self.folder = folder
        """For files that are in use for a moment, as for these."""
        self._texts = Spill(folder)
        read = _Reading(language, known, self._texts, folder)
        self.names: list[str] = []
        """Of the entities."""
        mentioning, mentions = Column("q", folder), array("q", [0])
        said_of_entities, said_of_relations = _Said(folder), _Said(folder)
        of_entities = self._of_entities(graph, read.ids, mentioning, mentions)
        for sentences in read.sentences(of_entities):
            said_of_entities.add(sentences)
        for sentences in read.sentences(graph.relation_descriptions()):
            said_of_relations.add(sentences)
        read.forget()

        self.chunks = ChunkOrder(read.ids, (mentioning, read.chunk), folder)
        """Ids of all chunks, in the order of documents; elsewhere a chunk is its place here."""
        self._mentioning, self._mentions = Column("i", folder), np.asarray(mentions)
        for places in self.chunks.places(mentioning):
            self._mentioning.put(places)
        del mentioning
        self.namely: Array = np.array([namely(name) for name in self.names])
        """How much each name looks like one."""
        self.n_chunks: Array = np.diff(self._mentions)
        """How many chunks mention each entity."""
        self.entity_ends, self.said_of_entities = said_of_entities.arrays()
        """Where the sentences of each entity begin, and the last ones end; and the sentences."""
        self.relation_ends, self.said_of_relations = said_of_relations.arrays()
        """The same for relations."""
        chunk = Column("i", folder)
        for places in self.chunks.places(read.chunk):
            chunk.put(places)
        self.chunk: Array = chunk.mapped()
        """Where each sentence was read first."""
        self.quality: Array = _without_legal_chunks(read.quality, self.chunk, len(self.chunks), folder)
        """How well each sentence reads by itself."""
        self._text_ends = read.text_ends
        del read
        self.name_ends, self.named = self._names(edges or edges_of(graph, folder))
        """Where the names of each sentence begin, and the last ones end; and whom it is known to name, ascending."""

    def _of_entities(
        self, graph: GraphRows, ids: ChunkIds, mentioning: Column, mentions: "array[int]"
    ) -> Iterator[Descriptions]:
        """Note the name and the chunks of each entity, and give its descriptions."""
        for name, own, descriptions in graph.entity_descriptions():
            self.names.append(name)
            mentioning.extend(ids.codes(own))
            mentions.append(len(mentioning))
            yield descriptions

    def text(self, sentence: int) -> str:
        """What a sentence says."""
        place = sentence * _ENDS.size // 2
        begin, end = _ENDS.unpack(self._text_ends.read(place, place + _ENDS.size))
        found = self._texts.read(begin, end)
        return found.decode("utf-8", "surrogatepass")

    def chunks_of(self, entity: int) -> Array:
        """The chunks that mention an entity, in its own order."""
        return self._mentioning.part(int(self._mentions[entity]), int(self._mentions[entity + 1]))

    def _names(self, edges: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        """The entities that a sentence is told of, and both ends of the relations that it is told of."""
        width, n = max(len(self.names), 1), len(self.quality)
        n_pairs = len(self.said_of_entities) + 2 * len(self.said_of_relations)
        n_parts = n_pairs // _PAIRS + 1
        step = -(-n // n_parts) or 1
        blocks = partial(self._pairs, edges, width, step)
        ends = room(n + 1, np.int32 if n_pairs < 1 << 31 else np.int64, self.folder)
        named = Column("i", self.folder)
        for i, part in enumerate(parts(*by_group(blocks, n_parts, np.int64, self.folder))):
            begin, keys = i * step, distinct(part)
            counts = np.bincount(keys // width - begin, minlength=max(min(step, n - begin), 0))
            ends[begin + 1 : begin + 1 + len(counts)] = len(named) + np.cumsum(counts)
            keys %= width
            named.put(keys)
            let_go(ends)
        return ends, named.mapped()

    def _pairs(
        self, edges: tuple[Array, Array, Array], width: int, step: int
    ) -> Iterator[tuple[Array, Array]]:
        """Some pairs of a sentence and an entity, each as one number, and which part of the sentences it is of."""
        sources, targets, _ = edges
        for sentence, entity in _said(self.said_of_entities, self.entity_ends):
            yield sentence // step, sentence * width + entity
        for sentence, relation in _said(self.said_of_relations, self.relation_ends):
            for end in (sources, targets):
                yield sentence // step, sentence * width + end[relation]
                let_go(end)


class _Reading:
    """What is known while descriptions are read."""

    def __init__(self, language: str, known: Qualities | None, texts: Spill, folder: Path | None) -> None:
        self._language, self._known, self._texts = language, known, texts
        self.ids = ChunkIds()
        self.quality, self.chunk = Column("d", folder), Column("q", folder)
        self.text_ends = Spill(folder)
        self.text_ends.add(array("q", [0]).tobytes())
        self._n = 0
        self._held: list[tuple[bytes, str]] = []
        """The last sentences, each with its chunk."""
        self._marks = _Numbers(folder)
        """Of each sentence, by its hash: twice its number, and one more if a description of this text is known to be no
        more than this sentence."""
        self._places, self._lists = _Numbers(folder), Spill(folder)
        """Of each other description, by its hash: where it is listed how many sentences it has, and which."""
        self._cut: dict[int, list[tuple[int, str]]] = {}
        """Sentences of new descriptions, each with its hash, by the hash of the description."""
        self._marks_of_cut: dict[int, int] = {}

    def sentences(self, rows: Iterable[Descriptions]) -> Iterator[list[int]]:
        """Numbers of the sentences of each row's descriptions, those of new ones included."""
        marks, places = self._marks.recent, self._places.recent
        for batch in _batches(rows):
            known = self._looked_up([text for row in batch for text, _ in row])
            for row in batch:
                found: list[int] = []
                for text, chunk in row:
                    code, mark, place, value = next(known)
                    if mark < 0:
                        mark = marks.get(code, -1)
                    if mark >= 0 and mark & 1:
                        found.append(mark >> 1)
                        continue
                    if place < 0:
                        place = places.get(code, -1)
                    if place >= 0:
                        found += self._listed(place)
                    else:
                        found += self._read(text, code, mark, value, chunk)
                yield found
            self._marks.settle()
            self._places.settle()

    def settle(self) -> None:
        """Write away what was read last."""
        ends = accumulate([len(text) for text, _ in self._held], initial=len(self._texts))
        self.text_ends.add(array("q", ends)[1:].tobytes())
        self._texts.add(b"".join([text for text, _ in self._held]))
        self.chunk.extend(self.ids.codes([chunk for _, chunk in self._held]))
        self.quality.settle()
        self._held.clear()

    def forget(self) -> None:
        """Drop what is needed for reading alone."""
        self.settle()
        self._marks, self._places, self._known = _Numbers(None), _Numbers(None), None
        self._cut, self._marks_of_cut = {}, {}

    def _looked_up(self, texts: Sequence[str]) -> Iterator[tuple[int, int, int, float]]:
        """Hash, mark, place and quality of descriptions, as far as they are known; new ones are cut in sentences."""
        codes = list(map(text_hash, texts))
        hashes = np.array(codes, dtype=np.uint64)
        marks, places, values = (
            self._marks.before(hashes),
            self._places.before(hashes),
            np.full(len(codes), nan),
        )
        new = np.flatnonzero((places < 0) & ((marks < 0) | (marks & 1 == 0)))
        if self._known is not None:
            values[new] = self._known.of(hashes[new])
        self._cut = {}
        for i in new[np.isnan(values[new])].tolist():
            code = codes[i]
            if not (code in self._cut or code in self._places.recent or self._marks.recent.get(code, 0) & 1):
                self._cut[code] = [(text_hash(part), part) for part in pieces(texts[i], self._language)]
        parts = list({code for cut in self._cut.values() for code, _ in cut})
        before = self._marks.before(np.array(parts, dtype=np.uint64)).tolist()
        self._marks_of_cut = dict(zip(parts, before, strict=True))
        return zip(codes, marks.tolist(), places.tolist(), values.tolist(), strict=True)

    def _read(self, text: str, code: int, mark: int, value: float, chunk: str) -> list[int]:
        cut = self._cut[code] if isnan(value) else [(code, text)]
        if len(cut) == 1 and cut[0][0] == code:
            if mark < 0:
                return [self._sentence(*cut[0], chunk, value, whole=True)]
            found = [mark >> 1]
        else:
            found = [self._part(*part, chunk) for part in cut]
        listed = array("i", (len(found), *found)).tobytes()
        self._places.recent[code] = self._lists.add(listed) - len(listed)
        return found

    def _listed(self, place: int) -> "array[int]":
        found, size = array("i"), array("i").itemsize
        n = int.from_bytes(self._lists.read(place, place + size), sys.byteorder)
        found.frombytes(self._lists.read(place + size, place + (1 + n) * size))
        return found

    def _part(self, code: int, text: str, chunk: str) -> int:
        mark = self._marks.recent.get(code, -1)
        if mark < 0:
            mark = self._marks_of_cut.get(code, -1)
        return self._sentence(code, text, chunk, nan, whole=False) if mark < 0 else mark >> 1

    def _sentence(self, code: int, text: str, chunk: str, value: float, *, whole: bool) -> int:
        number = self._n
        self._n += 1
        self._marks.recent[code] = 2 * number + whole
        self.quality.append(quality(text, self._language) if isnan(value) else value)
        self._held.append((text.encode("utf-8", "surrogatepass"), chunk))
        if len(self._held) >= _HELD:
            self.settle()
        return number


class _Numbers:
    """A number for each hash: of the last ones in a dictionary, of those before in files, a few of growing length."""

    def __init__(self, folder: Path | None) -> None:
        self.recent: dict[int, int] = {}
        """The last ones; to give a hash a number, put it here."""
        self._folder = folder
        self._before: list[ByHash] = []

    def before(self, hashes: Array) -> Array:
        """The numbers of some hashes among those before the last; -1 for one that has none there."""
        found = np.full(len(hashes), -1, dtype=np.int64)
        for some in self._before:
            np.maximum(found, some.of(hashes, -1), out=found)
        return found

    def settle(self) -> None:
        """Move the last ones to those before, if they are many."""
        n = len(self.recent)
        if n < _RECENT:
            return
        hashes = np.fromiter(self.recent.keys(), dtype=np.uint64, count=n)
        numbers = np.fromiter(self.recent.values(), dtype=np.int64, count=n)
        self.recent.clear()
        order = np.argsort(hashes)
        last = ByHash(hashes[order], numbers[order])
        # All in one would be copied more and more often.
        while self._before and len(self._before[-1]) < _GROWTH * len(last):
            last = self._before.pop().merged(last, self._folder)
        self._before.append(last)


class _Said:
    """Lists of sentences, one after the other."""

    def __init__(self, folder: Path | None) -> None:
        self._ends, self._sentences = Column("i", folder), Column("i", folder)
        self._ends.append(0)

    def add(self, sentences: Sequence[int]) -> None:
        self._sentences.extend(sentences)
        self._ends.append(len(self._sentences))

    def arrays(self) -> tuple[Array, Array]:
        """Where each list begins, and the last one ends; and the sentences."""
        return self._ends.mapped(), self._sentences.mapped()


def _batches(rows: Iterable[Descriptions]) -> Iterator[list[list[Sequence[str]]]]:
    """Rows with some thousand descriptions together."""
    batch: list[list[Sequence[str]]] = []
    n = 0
    for row in rows:
        batch.append(list(row))
        n += len(batch[-1])
        if n >= _DESCRIPTIONS:
            yield batch
            batch, n = [], 0
    yield batch


def _said(said: Array, ends: Array) -> Iterator[tuple[Array, Array]]:
    """Sentences, some at a time, each with the number of what it is told of."""
    for begin in range(0, len(said), _PAIRS):
        some = said[begin : begin + _PAIRS].astype(np.int64)
        # Of the same type as `ends`, which would be copied otherwise.
        places = np.arange(begin, begin + len(some), dtype=ends.dtype)
        of = np.searchsorted(ends, places, side="right") - 1
        let_go(said, ends)
        yield some, of


def _without_legal_chunks(values: Column, chunk: Array, n_chunks: int, folder: Path | None) -> Array:
    """Extend the verdict on legal notices to the sentences that stand among them."""
    n_all, n_legal = room(n_chunks, np.int32, folder), room(n_chunks, np.int32, folder)
    at = 0
    for some in values.blocks():
        chunks = chunk[at : at + len(some)]
        at += len(some)
        np.add.at(n_all, chunks, 1)
        np.add.at(n_legal, chunks[some < LEGAL_NOTICE], 1)
        let_go(chunk, n_all, n_legal)
    found = Column("d", folder)
    at = 0
    for some in values.blocks():
        chunks = chunk[at : at + len(some)]
        at += len(some)
        n = n_legal[chunks]
        among = (n > 1) & (n > 0.25 * n_all[chunks])
        found.put(np.where(among & (some >= LEGAL_NOTICE), some * LEGAL_SHARE, some))
        let_go(chunk, n_all, n_legal)
    return found.mapped()
