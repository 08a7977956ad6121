"""Answers by rule, and the chunks that they cite and the method did not retrieve, added to the evidence."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from polygraph.prompts import neutralize
from polygraph.records import Chunk, Citation, Retrieval
from polygraph.retrieve.evidence import chunk_numbers
from polygraph.retrieve.steps import ordered_chunks
from polygraph.store.snapshot import Snapshot
from polygraph.text.tokens import count_tokens

MOST = 5
"""Chunks that are added to the evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleAnswer:
    """An answer by rule, from a table or from what connects two names."""

    text: str
    """With citations."""
    citations: tuple[Citation, ...]
    retrieval: Retrieval
    """With the chunks of what is cited among its evidence."""


def with_chunks(
    retrieval: Retrieval, chunks: Sequence[Chunk], why: str, index: Snapshot
) -> tuple[Retrieval, dict[str, int]]:
    """Add chunks to the evidence, as far as they are no part of it, and return the number of each.

    At most `MOST` are added; those beyond have no number.
    """
    numbers = chunk_numbers(retrieval.evidence)
    distinct = {chunk.id: chunk for chunk in chunks}
    missing = [chunk for chunk in distinct.values() if chunk.id not in numbers][:MOST]
    if missing:
        added = ordered_chunks(missing, {chunk.id: why for chunk in missing}, index)
        n_items = len(retrieval.evidence) + len(added)
        context = retrieval.context
        for n, item in enumerate(added, len(retrieval.evidence) + 1):
            numbers[item.spans[0].chunk] = n
            context += f"\n\n[{n}] {neutralize(item.text, n_items=n_items)}"
        n_tokens = retrieval.n_tokens + sum(count_tokens(item.text) for item in added)
        retrieval = replace(
            retrieval, evidence=(*retrieval.evidence, *added), context=context, n_tokens=n_tokens
        )
    return retrieval, {chunk.id: numbers[chunk.id] for chunk in chunks if chunk.id in numbers}
