"""BM25 over chunks: Robertson and Zaragoza (2009), scored by tantivy (Lucene's form, k1 = 1.2, b = 0.75)."""

from dataclasses import dataclass
from typing import ClassVar

from polygraph.models import Models
from polygraph.records import Retrieval, Step
from polygraph.retrieve.base import require
from polygraph.retrieve.steps import RANKED, hits_as_json, pack_chunks
from polygraph.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class BM25:
    """Rank chunks by the words they share with the question."""

    needs: ClassVar[frozenset[str]] = frozenset({"chunks", "lexical"})
    calls: ClassVar[str] = "1"

    k: int = 10
    """Chunks that go into the context (ROGRAG's table: 5)."""
    max_tokens: int = 6_000
    """Budget of the context."""

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Rank chunks for the question; ties by chunk order."""
        require(index, "bm25", self.needs, models)
        hits = index.search_words(question, max(self.k, RANKED))
        return pack_chunks(
            question,
            "bm25",
            index,
            hits,
            [f"BM25 {hit.score:.2f}, rank {rank}" for rank, hit in enumerate(hits, 1)],
            k=self.k,
            max_tokens=self.max_tokens,
            trace=[Step(name="bm25", value=hits_as_json(hits[: self.k], index))],
            empty_because="no passage shares a word with the question",
        )
