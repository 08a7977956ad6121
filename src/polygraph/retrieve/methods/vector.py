"""Naive RAG: the chunks nearest to the question by embedding. The baseline of the papers; presets use their sizes."""

from dataclasses import dataclass
from typing import ClassVar

from polygraph.models import Models
from polygraph.records import Retrieval, Step
from polygraph.retrieve.base import require
from polygraph.retrieve.steps import RANKED, hits_as_json, pack_chunks, search_dense
from polygraph.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Naive:
    """Rank chunks by cosine between their vector and the question's."""

    needs: ClassVar[frozenset[str]] = frozenset({"chunks", "chunk_vectors"})
    calls: ClassVar[str] = "1"

    k: int = 10
    """Chunks that go into the context (papers: 3 to 60, of different sizes; see the presets)."""
    max_tokens: int = 6_000
    """Budget of the context."""

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Rank chunks for the question; ties by chunk order."""
        require(index, "naive", self.needs, models)
        hits = search_dense(question, index, models, max(self.k, RANKED))
        return pack_chunks(
            question,
            "naive",
            index,
            hits,
            [f"cosine {hit.score:.3f}, rank {rank}" for rank, hit in enumerate(hits, 1)],
            k=self.k,
            max_tokens=self.max_tokens,
            trace=[Step(name="dense", value=hits_as_json(hits[: self.k], index))],
        )
