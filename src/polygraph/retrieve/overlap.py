"""What several methods found for one question, and which of them found each."""

from collections.abc import Sequence
from dataclasses import dataclass

from polygraph.records import Retrieval
from polygraph.retrieve.evidence import chunk_numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPassage:
    """A passage with its position in every retrieval."""

    chunk: str
    positions: tuple[int | None, ...]
    """For each retrieval the number of the first evidence that rests on the passage, from 1; None if none does."""

    @property
    def n(self) -> int:
        """Number of retrievals that contain it."""
        return sum(position is not None for position in self.positions)


def overlap(retrievals: Sequence[Retrieval]) -> list[SharedPassage]:
    """Rank the passages of several retrievals: by number of retrievals, then best position, then id.

    Entities, relations and reports count by the passages they rest on.
    """
    each = [chunk_numbers(one.evidence) for one in retrievals]
    found = [
        SharedPassage(chunk=chunk, positions=tuple(one.get(chunk) for one in each))
        for chunk in dict.fromkeys(chunk for one in each for chunk in one)
    ]
    return sorted(found, key=lambda s: (-s.n, min(p for p in s.positions if p is not None), s.chunk))


def found_alone(retrievals: Sequence[Retrieval]) -> list[list[int]]:
    """Return for each retrieval the numbers of the evidence that no other one has, from 1, in its order.

    A passage counts as found by every retrieval with evidence that rests on it; entities, relations, reports and
    summaries by their kind and id.
    """
    chunks = [set(chunk_numbers(one.evidence)) for one in retrievals]
    rows = [{(item.kind, item.id) for item in one.evidence} for one in retrievals]
    found: list[list[int]] = []
    for i, one in enumerate(retrievals):
        other_chunks = set[str]().union(*chunks[:i], *chunks[i + 1 :])
        other_rows = set[tuple[str, str]]().union(*rows[:i], *rows[i + 1 :])
        found.append(
            [
                n
                for n, item in enumerate(one.evidence, 1)
                if (
                    item.id not in other_chunks
                    if item.kind == "chunk"
                    else (item.kind, item.id) not in other_rows
                )
            ]
        )
    return found
