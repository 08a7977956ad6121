"""BM25 and dense retrieval, combined by reciprocal rank fusion, with an optional cross-encoder.

Cormack, Clarke and Buettcher (2009), with their k of 60.
"""

from dataclasses import dataclass
from typing import ClassVar

from polygraph.models import Models
from polygraph.records import Retrieval, Step
from polygraph.retrieve.base import require
from polygraph.retrieve.steps import (
    RANKED,
    hits_as_json,
    pack_chunks,
    reciprocal_rank_fusion,
    rerank,
    search_dense,
)
from polygraph.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Hybrid:
    """Fuse the rankings by words and by vectors."""

    needs: ClassVar[frozenset[str]] = frozenset({"chunks", "lexical", "chunk_vectors"})
    calls: ClassVar[str] = "1"

    k: int = 10
    """Chunks that go into the context."""
    depth: int = 100
    """Chunks taken from each ranking."""
    rrf_k: int = 60
    """Constant of the fusion (paper: 60)."""
    rerank: int = 0
    """Chunks that the cross-encoder reorders, the first ones; 0 for none. About 60 ms per chunk on two cores."""
    max_tokens: int = 6_000
    """Budget of the context."""

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Rank chunks for the question; ties by chunk order."""
        require(index, "hybrid", self.needs, models)
        words = index.search_words(question, self.depth)
        dense = search_dense(question, index, models, self.depth)
        fused = reciprocal_rank_fusion([[h.n for h in words], [h.n for h in dense]], k=self.rrf_k)
        hits = rerank(question, fused, index, models, self.rerank) if self.rerank else fused
        hits = hits[: max(self.k, RANKED)]
        ranks = [{h.n: r for r, h in enumerate(ranking, 1)} for ranking in (words, dense)]
        return pack_chunks(
            question,
            "hybrid",
            index,
            hits,
            [f"words: {_rank(ranks[0], h.n)}; meaning: {_rank(ranks[1], h.n)}" for h in hits],
            k=self.k,
            max_tokens=self.max_tokens,
            trace=[
                Step(name="bm25", value=hits_as_json(words[: self.k], index)),
                Step(name="dense", value=hits_as_json(dense[: self.k], index)),
                Step(name="fused", value=hits_as_json(hits[: self.k], index)),
            ],
        )


def _rank(ranks: dict[int, int], n: int) -> str:
    return f"rank {ranks[n]}" if n in ranks else "not found"
