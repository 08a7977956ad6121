"""Sentences of passages, embedded once and ranked for several queries: follow-up questions and summaries."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from polygraph.arrays import dot_rows
from polygraph.models import Models
from polygraph.records import Span
from polygraph.tasks.offline.sentences import (
    DUPLICATE_OVERLAP,
    MAIL_HEADER,
    Passage,
    QuotedSentence,
    candidate_sentences,
    overlap,
    similarities,
    term_weights,
)
from polygraph.text.words import content_stems

_MIN_CONTENT_WORDS = 4
"""A sentence with fewer content words says too little by itself."""


class SentencePool:
    """Sentences of passages, cut and embedded once. No cross-encoder is called.

    Args:
        passages: any; a sentence that occurs in several belongs to the first.
        models: embed the sentences.
    """

    def __init__(self, passages: Sequence[Passage], models: Models) -> None:
        self._models = models
        self._candidates = candidate_sentences(passages)
        self._content = [frozenset(content_stems(c.quoted.text)) for c in self._candidates]
        self._vectors = models.name_embedder.embed([c.quoted.text for c in self._candidates], "document")

    def nearest(
        self,
        query: str,
        *,
        most: int,
        chunks: Collection[str] | None = None,
        exclude: Collection[Span] = (),
    ) -> list[QuotedSentence]:
        """Return the sentences nearest to a query by words and meaning, best first; ties in the order of the passages.

        Args:
            query: any text.
            most: maximum number; a near duplicate of a better sentence is left out.
            chunks: ids of the chunks to choose from; None for all.
            exclude: sentences that are not returned.
        """
        taken = [
            i
            for i, c in enumerate(self._candidates)
            if (chunks is None or c.quoted.span.chunk in chunks)
            and c.quoted.span not in exclude
            and not c.is_heading
            and not c.is_question
            and not MAIL_HEADER.match(c.quoted.text)
            and len(self._content[i]) >= _MIN_CONTENT_WORDS
        ]
        if not taken:
            return []
        some = [self._candidates[i] for i in taken]
        vector = self._models.name_embedder.embed([query], "query")[0]
        weights = term_weights(content_stems(query), [c.terms for c in some])
        scores = similarities(some, weights, dot_rows(self._vectors[taken], vector))
        chosen: list[int] = []
        for i in sorted(range(len(some)), key=lambda i: (-scores[i], i)):
            own = self._content[taken[i]]
            if all(overlap(own, self._content[taken[j]]) < DUPLICATE_OVERLAP for j in chosen):
                chosen.append(i)
                if len(chosen) == most:
                    break
        return [replace(some[i].quoted, score=round(float(scores[i]), 4)) for i in chosen]
