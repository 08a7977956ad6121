"""The sentences that are told of entities and relations, as arrays.

Sentences are those of the descriptions; one that stands in several is one. Each takes some dozen bytes in memory; what
it says lies in a file, and the records that sentences come from are read one after the other.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from polygraph.columns import Array, Qualities, text_hash
from polygraph.columns.spill import Column, Spill
from polygraph.graph.chunk_ids import ChunkIds, ChunkOrder
from polygraph.graph.groups import distinct
from polygraph.graph.members import Descriptions, GraphRows, edges_of
from polygraph.graph.readable import LEGAL_NOTICE, LEGAL_SHARE, namely, pieces, quality

_RECENT = 1 << 13
"""Hashes that are held in a dictionary."""
_HELD = 1 << 10
"""Descriptions that are looked up together, and sentences that are held in memory before they are written away."""
_PAIRS = 1 << 17
"""Pairs of a sentence and a name that are sorted together."""
_MOST_PASSES = 64
"""In how many passes all pairs are sorted at most."""
_NONE = np.zeros(0, dtype=np.int32)


class Told:
    """Read once; then only looked at. Entities and relations are told by their numbers, as in `GraphRows`."""

    def __init__(
        self, graph: GraphRows, language: str, known: Qualities | None = None, *, folder: Path | None = None
    ) -> None:
        """Read all descriptions: those of entities, then those of relations.

        Args:
            graph: whose.
            language: of the documents.
            known: how well descriptions read that are one sentence each.
            folder: for the files that hold texts and lists while this is in use; None: as in `Spill`.
        """
        self._folder = folder
        self._texts = Spill(folder)
        read = _Reading(language, known, self._texts, folder)
        self.names: list[str] = []
        """Of the entities."""
        mentioning, mentions = Column("q", folder), array("q", [0])
        said_of_entities, said_of_relations = _Said(folder), _Said(folder)
        of_entities = self._of_entities(graph, read.ids, mentioning, mentions)
        for sentences in read.sentences(of_entities):
            said_of_entities.add(sentences)
        for sentences in read.sentences(graph.told_of_relations()):
            said_of_relations.add(sentences)
        read.forget()

        self.chunks = ChunkOrder(read.ids, (mentioning, read.chunk))
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
        self.chunk: Array = np.concatenate([_NONE, *self.chunks.places(read.chunk)])
        """Where each sentence was read first."""
        self.quality: Array = _without_legal_chunks(read.quality.array(), self.chunk)
        """How well each sentence reads by itself."""
        # An array of Python, of which one number at a time is read faster.
        self._text_ends = array("q" if len(self._texts) >> 31 else "i")
        for ends in read.text_ends.blocks():
            self._text_ends.extend(ends.tolist())
        del read
        self.name_ends, self.named = self._names(graph)
        """Where the names of each sentence begin, and the last ones end; and whom it is known to name, ascending."""

    def _of_entities(
        self, graph: GraphRows, ids: ChunkIds, mentioning: Column, mentions: "array[int]"
    ) -> Iterator[Descriptions]:
        """Note the name and the chunks of each entity, and give its descriptions."""
        for name, own, descriptions in graph.told_of_entities():
            self.names.append(name)
            mentioning.extend(ids.codes(own))
            mentions.append(len(mentioning))
            yield descriptions

    def text(self, sentence: int) -> str:
        """What a sentence says."""
        found = self._texts.read(self._text_ends[sentence], self._text_ends[sentence + 1])
        return found.decode("utf-8", "surrogatepass")

    def chunks_of(self, entity: int) -> Array:
        """The chunks that mention an entity, in its own order."""
        return self._mentioning.part(int(self._mentions[entity]), int(self._mentions[entity + 1]))

    def _names(self, graph: GraphRows) -> tuple[Array, Array]:
        """The entities that a sentence is told of, and both ends of the relations that it is told of."""
        sources, targets, _ = edges_of(graph)
        width, n = max(len(self.names), 1), len(self.quality)
        n_pairs = len(self.said_of_entities) + 2 * len(self.said_of_relations)
        ends = np.zeros(n + 1, dtype=np.int32 if n_pairs < 1 << 31 else np.int64)
        named = Column("i", self._folder)
        step = -(-n // min(_MOST_PASSES, n_pairs // _PAIRS + 1)) or 1
        for begin in range(0, n, step):
            of_entities, entity = _within(self.said_of_entities, self.entity_ends, begin, begin + step)
            of_relations, relation = _within(self.said_of_relations, self.relation_ends, begin, begin + step)
            keys = distinct(
                np.concatenate(
                    (
                        of_entities * width + entity,
                        of_relations * width + sources[relation],
                        of_relations * width + targets[relation],
                    )
                )
            )
            counts = np.bincount(keys // width, minlength=min(step, n - begin))
            ends[begin + 1 : begin + 1 + len(counts)] = len(named) + np.cumsum(counts)
            keys %= width
            named.put(keys)
        return ends, named.array()


class _Reading:
    """What is known while descriptions are read."""

    def __init__(self, language: str, known: Qualities | None, texts: Spill, folder: Path | None) -> None:
        self._language, self._known, self._texts = language, known, texts
        self.ids = ChunkIds()
        self.text_ends, self.quality, self.chunk = (Column(code, folder) for code in "qdq")
        self.text_ends.append(0)
        self._end = 0
        self._held: list[tuple[bytes, str]] = []
        """The last sentences, each with its chunk."""
        self._number = _Numbers()
        """Of each sentence, by the hash of its text."""
        self._whole = bytearray()
        """Whether a description that is this sentence is known to be no more than that."""
        self._place, self._parts, self._part_ends = _Numbers(), array("i"), array("q", [0])
        """Sentences of the other descriptions, and which of these lists by the hash of the text."""

    def sentences(self, rows: Iterable[Descriptions]) -> Iterator[list[int]]:
        """Numbers of the sentences of each row's descriptions, those of new ones included."""
        whole, recent, recent_places = self._whole, self._number.recent, self._place.recent
        for batch in _batches(rows):
            codes = [text_hash(text) for row in batch for text, _ in row]
            known = zip(codes, self._number.before(codes), self._place.before(codes), strict=True)
            for row in batch:
                found: list[int] = []
                for text, chunk in row:
                    code, number, place = next(known)
                    if number < 0:
                        number = recent.get(code, -1)
                    if number >= 0 and whole[number]:
                        found.append(number)
                        continue
                    if place < 0:
                        place = recent_places.get(code, -1)
                    if place >= 0:
                        found += self._parts[self._part_ends[place] : self._part_ends[place + 1]]
                    else:
                        found += self._read(text, code, number, chunk)
                yield found
            self._number.settle()
            self._place.settle()

    def settle(self) -> None:
        """Write away what was read last."""
        self._texts.add(b"".join([text for text, _ in self._held]))
        self.chunk.extend(self.ids.codes([chunk for _, chunk in self._held]))
        for column in (self.text_ends, self.quality):
            column.settle()
        self._held.clear()

    def forget(self) -> None:
        """Drop what is needed for reading alone."""
        self.settle()
        self._number, self._place, self._known = _Numbers(), _Numbers(), None

    def _read(self, text: str, code: int, number: int, chunk: str) -> list[int]:
        value = self._known.of(code) if self._known is not None else None
        if value is not None:
            number = self._sentence(text, code, number, chunk, value)
            self._whole[number] = True
            return [number]
        parts = []
        for part in pieces(text, self._language):
            hash_ = text_hash(part)
            parts.append(self._sentence(part, hash_, self._number.get(hash_), chunk))
        if len(parts) == 1 and parts[0] == self._number.get(code):
            self._whole[parts[0]] = True
        else:
            self._place.recent[code] = len(self._part_ends) - 1
            self._parts.extend(parts)
            self._part_ends.append(len(self._parts))
        return parts

    def _sentence(self, text: str, code: int, number: int, chunk: str, value: float | None = None) -> int:
        if number >= 0:
            return number
        number = len(self._whole)
        self._number.recent[code] = number
        self._whole.append(False)
        encoded = text.encode("utf-8", "surrogatepass")
        self._end += len(encoded)
        self.text_ends.append(self._end)
        self.quality.append(quality(text, self._language) if value is None else value)
        self._held.append((encoded, chunk))
        if len(self._held) >= _HELD:
            self.settle()
        return number


class _Numbers:
    """A number for each hash: of the last ones in a dictionary, of those before in sorted arrays, an eighth as long."""

    def __init__(self) -> None:
        self.recent: dict[int, int] = {}
        """The last ones; to give a hash a number, put it here."""
        self._hashes, self._numbers = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int32)

    def before(self, hashes: Sequence[int]) -> list[int]:
        """The numbers of some hashes among those before the last; -1 for one that has none there."""
        if not len(self._hashes):
            return [-1] * len(hashes)
        wanted = np.array(hashes, dtype=np.uint64)
        place = np.minimum(np.searchsorted(self._hashes, wanted), len(self._hashes) - 1)
        found: list[int] = np.where(self._hashes[place] == wanted, self._numbers[place], -1).tolist()
        return found

    def get(self, hash_: int) -> int:
        """The number of a hash; -1 if it has none."""
        found = self.recent.get(hash_)
        return self.before((hash_,))[0] if found is None else found

    def settle(self) -> None:
        """Move the last ones to those before, if they are many."""
        n = len(self.recent)
        # A share of all, so that the arrays are not copied more and more often.
        if n < max(_RECENT, len(self._hashes) // 32):
            return
        hashes = np.fromiter(self.recent.keys(), dtype=np.uint64, count=n)
        numbers = np.fromiter(self.recent.values(), dtype=np.int32, count=n)
        self.recent.clear()
        order = np.argsort(hashes)
        places = np.searchsorted(self._hashes, hashes[order])
        self._hashes = np.insert(self._hashes, places, hashes[order])
        self._numbers = np.insert(self._numbers, places, numbers[order])


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
        return self._ends.array(), self._sentences.array()


def _batches(rows: Iterable[Descriptions]) -> Iterator[list[list[Sequence[str]]]]:
    """Rows with some hundred descriptions together."""
    batch: list[list[Sequence[str]]] = []
    n = 0
    for row in rows:
        batch.append(list(row))
        n += len(batch[-1])
        if n >= _HELD:
            yield batch
            batch, n = [], 0
    yield batch


def _within(said: Array, ends: Array, begin: int, end: int) -> tuple[Array, Array]:
    """Where sentences of a range are told: each, counted from the first, and the number of what it is told of."""
    places = np.flatnonzero((said >= begin) & (said < end))
    return said[places].astype(np.int64) - begin, np.searchsorted(ends, places, side="right") - 1


def _without_legal_chunks(values: Array, chunk: Array) -> Array:
    """Extend the verdict on legal notices to the sentences that stand among them."""
    if not len(values):
        return values
    legal = values < LEGAL_NOTICE
    n_all, n_legal = np.bincount(chunk), np.bincount(chunk[legal], minlength=int(chunk.max()) + 1)
    among = (n_legal > 1) & (n_legal > 0.25 * n_all)
    return np.where(among[chunk] & ~legal, values * LEGAL_SHARE, values)
