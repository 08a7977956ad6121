"""The sentences that are told of entities and relations, as arrays.

Sentences are those of the descriptions; one that stands in several is one. Each takes some hundred bytes, and the
records that they come from are read one after the other.
"""

from array import array
from collections import defaultdict
from itertools import count

import numpy as np

from polygraph.columns import Array, Qualities, text_hash
from polygraph.graph.communities import chunk_key
from polygraph.graph.groups import distinct_pairs
from polygraph.graph.members import Descriptions, GraphRows
from polygraph.graph.readable import LEGAL_NOTICE, LEGAL_SHARE, namely, pieces, quality


class Told:
    """Read once; then only looked at. Entities and relations are told by their numbers, as in `GraphRows`."""

    def __init__(self, graph: GraphRows, language: str, known: Qualities | None = None) -> None:
        """Read all descriptions: those of entities, then those of relations.

        Args:
            graph: whose.
            language: of the documents.
            known: how well descriptions read that are one sentence each.
        """
        read = _Reading(language, known)
        self.names: list[str] = []
        """Of the entities."""
        chunks, said_of_entities, said_of_relations = _Lists(), _Lists(), _Lists()
        for name, own, descriptions in graph.told_of_entities():
            self.names.append(name)
            chunks.add([read.chunks[chunk] for chunk in own])
            said_of_entities.add(read.sentences(descriptions))
        for descriptions in graph.told_of_relations():
            said_of_relations.add(read.sentences(descriptions))

        self.chunks: list[str] = sorted(read.chunks, key=lambda chunk: (chunk_key(chunk), chunk))
        """Ids of all chunks, in the order of documents; elsewhere a chunk is its place here."""
        place = np.empty(len(self.chunks), dtype=np.int32)
        place[[read.chunks[chunk] for chunk in self.chunks]] = np.arange(len(self.chunks), dtype=np.int32)
        self.namely: Array = np.array([namely(name) for name in self.names])
        """How much each name looks like one."""
        self.chunk_ends, numbers = chunks.arrays()
        self.entity_chunks: Array = place[numbers]
        """Chunks of the entities, one entity after the other; where each begins is told by `chunk_ends`."""
        self.entity_ends, self.said_of_entities = said_of_entities.arrays()
        """Where the sentences of each entity begin, and the last ones end; and the sentences."""
        self.relation_ends, self.said_of_relations = said_of_relations.arrays()
        """The same for relations."""
        self.chunk: Array = place[np.array(read.chunk)]
        """Where each sentence was read first."""
        self.quality: Array = _without_legal_chunks(np.array(read.quality), self.chunk)
        """How well each sentence reads by itself."""
        self._texts, self._text_ends = read.texts, read.text_ends
        self.name_ends, self.named = self._names(graph)
        """Where the names of each sentence begin, and the last ones end; and whom it is known to name, ascending."""

    def text(self, sentence: int) -> str:
        """What a sentence says."""
        begin, end = self._text_ends[sentence], self._text_ends[sentence + 1]
        return self._texts[begin:end].decode("utf-8", "surrogatepass")

    def _names(self, graph: GraphRows) -> tuple[Array, Array]:
        """The entities that a sentence is told of, and both ends of the relations that it is told of."""
        ends = np.fromiter(((a, b) for a, b, _ in graph.edges()), dtype=[("a", "i4"), ("b", "i4")])
        entity = np.repeat(np.arange(len(self.names)), np.diff(self.entity_ends))
        relation = np.repeat(np.arange(len(ends)), np.diff(self.relation_ends))
        pairs = distinct_pairs(
            np.concatenate((self.said_of_entities, self.said_of_relations, self.said_of_relations)),
            np.concatenate((entity, ends["a"][relation], ends["b"][relation])),
            len(self.quality),
            len(self.names),
        )
        return pairs.ends, pairs.value.astype(np.int32)


class _Reading:
    """What is known while descriptions are read."""

    def __init__(self, language: str, known: Qualities | None) -> None:
        self._language, self._known = language, known
        self.chunks: defaultdict[str, int] = defaultdict(count().__next__)
        """Number of each chunk, given when it is first asked for."""
        self.texts = bytearray()
        self.text_ends = array("q", [0])
        self.quality = array("d")
        self.chunk = array("i")
        self._number: dict[int, int] = {}
        """Of each sentence, by the hash of its text."""
        self._whole = bytearray()
        """Whether a description that is this sentence is known to be no more than that."""
        self._parts: dict[int, list[int]] = {}
        """Sentences of the other descriptions, by the hash of the text."""

    def sentences(self, descriptions: Descriptions) -> list[int]:
        """Numbers of the sentences of some descriptions, those of new ones included."""
        number_of, whole, parts = self._number, self._whole, self._parts
        found = []
        for text, chunk in descriptions:
            code = text_hash(text)
            number = number_of.get(code, -1)
            if number >= 0 and whole[number]:
                found.append(number)
            else:
                found += parts[code] if code in parts else self._read(text, code, chunk)
        return found

    def _read(self, text: str, code: int, chunk: str) -> list[int]:
        value = self._known.of(code) if self._known is not None else None
        if value is not None:
            parts = [self._sentence(text, code, chunk, value)]
        else:
            parts = [self._sentence(part, text_hash(part), chunk) for part in pieces(text, self._language)]
        if len(parts) == 1 and parts[0] == self._number.get(code):
            self._whole[parts[0]] = True
        else:
            self._parts[code] = parts
        return parts

    def _sentence(self, text: str, code: int, chunk: str, value: float | None = None) -> int:
        number = self._number.setdefault(code, len(self._number))
        if number == len(self.quality):
            self.quality.append(quality(text, self._language) if value is None else value)
            self.chunk.append(self.chunks[chunk])
            self.texts += text.encode("utf-8", "surrogatepass")
            self.text_ends.append(len(self.texts))
            self._whole.append(False)
        return number


class _Lists:
    """Lists of numbers, one after the other."""

    def __init__(self) -> None:
        self._ends, self._numbers = array("q", [0]), array("i")

    def add(self, numbers: list[int]) -> None:
        self._numbers.extend(numbers)
        self._ends.append(len(self._numbers))

    def arrays(self) -> tuple[Array, Array]:
        """Where each list begins, and the last one ends; and the numbers."""
        return np.array(self._ends, dtype=np.int64), np.array(self._numbers, dtype=np.int32)


def _without_legal_chunks(values: Array, chunk: Array) -> Array:
    """Extend the verdict on legal notices to the sentences that stand among them."""
    if not len(values):
        return values
    legal = values < LEGAL_NOTICE
    n_all, n_legal = np.bincount(chunk), np.bincount(chunk[legal], minlength=int(chunk.max()) + 1)
    among = (n_legal > 1) & (n_legal > 0.25 * n_all)
    return np.where(among[chunk] & ~legal, values * LEGAL_SHARE, values)
