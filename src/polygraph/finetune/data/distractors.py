"""Passages that are shown beside the one with the answer: near the question, and without the answer."""

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from polygraph.evaluate.metrics.answer_match import contains_answer, normalise_answer, normalise_passage
from polygraph.evaluate.metrics.relevance import is_searchable
from polygraph.finetune.data.records import Quote, TrainingQuestion
from polygraph.models import Models
from polygraph.prompts import one_line
from polygraph.records import Chunk, Evidence
from polygraph.retrieve.steps import chunk_evidence, reciprocal_rank_fusion, search_dense
from polygraph.store.snapshot import Snapshot

_SEARCHED = 200
"""Chunks of each ranking that are examined; a part may have a small share of them."""
_COPIES = 10
"""Best chunks for the words of a quote that are searched for copies of it."""


class PartPassages:
    """The passages of the documents of one part, as a method shows them to a reader.

    Args:
        index: with chunks and at least one of the layers ``lexical`` and ``chunk_vectors``.
        models: embed questions.
        documents: ids of the part.
    """

    def __init__(self, index: Snapshot, models: Models, documents: Collection[str]) -> None:
        self._index = index
        self._models = models
        self._documents = sorted(documents)
        self._inside = frozenset(documents)

    def evidence(self, chunks: Sequence[Chunk]) -> tuple[Evidence, ...]:
        """Return chunks below title and fields of their documents, in the order given."""
        headings = self._index.headings([chunk.document for chunk in chunks])
        n = len(chunks)
        return chunk_evidence(chunks, [float(n - i) for i in range(n)], [""] * n, headings)

    def distractors(
        self, question: TrainingQuestion, rng: np.random.Generator
    ) -> Iterator[tuple[Chunk, Evidence]]:
        """Yield passages of the part that do not answer a question: the nearest first, then others in random order.

        A distractor is no passage with the answer, nor one excluded by the question; it overlaps no quote and holds
        neither a quote nor an answer of the question, its heading included. If no answer can be searched for, as "yes"
        cannot, no passage of the same documents is a distractor. Passages with the same text are yielded once.
        """
        answers = [normalise_answer(answer) for answer in question.answers]
        searchable = [answer for answer in answers if is_searchable(answer)]
        closed = frozenset(question.documents) if len(searchable) < len(answers) else frozenset()
        taken = {chunk.id for chunk in question.oracles} | question.excluded
        texts: set[str] = set()
        for chunk in self._candidates(question.question, rng):
            if chunk.id in taken or chunk.document not in self._inside or chunk.document in closed:
                continue
            taken.add(chunk.id)
            (shown,) = self.evidence([chunk])
            plain = one_line(shown.text)
            if plain in texts or any(_touches(quote, chunk, plain) for quote in question.quotes):
                continue
            normalised = normalise_passage(shown.text)
            if any(contains_answer(normalised, answer) for answer in searchable):
                continue
            texts.add(plain)
            yield chunk, shown

    def _candidates(self, question: str, rng: np.random.Generator) -> Iterator[Chunk]:
        rankings = []
        if "lexical" in self._index.layers:
            rankings.append([hit.n for hit in self._index.search_words(question, _SEARCHED)])
        if "chunk_vectors" in self._index.layers:
            rankings.append([hit.n for hit in search_dense(question, self._index, self._models, _SEARCHED)])
        yield from self._index.chunks([hit.n for hit in reciprocal_rank_fusion(rankings)])
        for i in rng.permutation(len(self._documents)).tolist():
            chunks = self._index.chunks_of(self._documents[i])
            yield from (chunks[j] for j in rng.permutation(len(chunks)).tolist())


def places_of(question: TrainingQuestion, index: Snapshot) -> tuple[str, ...]:
    """Return the ids of the documents that a question rests on, and of those that hold a copy of one of its quotes."""
    found = dict.fromkeys(question.documents)
    for quote in question.quotes:
        hits = index.search_words(quote.text, _COPIES) if "lexical" in index.layers else []
        for chunk in index.chunks([hit.n for hit in hits]):
            if quote.text in one_line(chunk.text):
                found[chunk.document] = None
    return tuple(found)


def _touches(quote: Quote, chunk: Chunk, shown: str) -> bool:
    """Return whether a chunk overlaps a quote or holds its text."""
    same = chunk.document == quote.document and chunk.start < quote.end and quote.start < chunk.end
    return same or quote.text in shown
