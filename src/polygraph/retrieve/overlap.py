"""What several methods found of one question: which passages they share, and which only one has."""

from collections.abc import Sequence
from dataclasses import dataclass

from polygraph.records import Retrieval


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A passage, and which retrievals hold it."""

    chunk: str
    places: tuple[int | None, ...]
    """For each retrieval the number of the first evidence that rests on it, from 1; None where none does."""

    @property
    def n(self) -> int:
        """How many retrievals hold it."""
        return sum(place is not None for place in self.places)


def passages(retrieval: Retrieval) -> dict[str, int]:
    """Passages under the evidence, with the number of the first evidence that rests on each."""
    found: dict[str, int] = {}
    for n, item in enumerate(retrieval.evidence, 1):
        for span in item.spans:
            found.setdefault(span.chunk, n)
    return found


def overlap(retrievals: Sequence[Retrieval]) -> list[Held]:
    """Passages that at least one retrieval holds: those of most retrievals first, then the best placed, then by id.

    Evidence that is no passage (entities, relations, reports) counts by the passages that it rests on.
    """
    each = [passages(one) for one in retrievals]
    held = [
        Held(chunk=chunk, places=tuple(one.get(chunk) for one in each))
        for chunk in dict.fromkeys(chunk for one in each for chunk in one)
    ]
    return sorted(held, key=lambda h: (-h.n, min(p for p in h.places if p is not None), h.chunk))
