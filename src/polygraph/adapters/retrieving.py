"""What the adapters have in common: how they retrieve, and which fields a passage carries."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polygraph.records import Evidence, Retrieval
from polygraph.workspace.index import Index


@dataclass(frozen=True, slots=True, kw_only=True)
class Retriever:
    """How an index is asked; as for `Index.retrieve`.

    The order of the evidence is that of the context, and nothing is shortened: a method has put together what belongs
    together. `k` only leaves out the end.
    """

    index: Index
    method: str | None = None
    where: Mapping[str, str] | None = None
    max_tokens: int | None = None
    k: int | None = None
    """Most pieces of evidence; default: as many as the method packs."""

    def retrieve(
        self, question: str, where: Mapping[str, str] | None = None
    ) -> tuple[Retrieval, list[Evidence]]:
        """Return the retrieval for a question, and its first `k` pieces of evidence.

        Args:
            question: any text.
            where: a filter in addition to the one of this object.
        """
        chosen = {**(self.where or {}), **(where or {})}
        found = self.index.retrieve(question, self.method, where=chosen or None, max_tokens=self.max_tokens)
        return found, list(found.evidence[: self.k])


def opened(index: Index | str | Path) -> Index:
    """Return an index; a folder is opened with the settings of the environment."""
    return index if isinstance(index, Index) else Index.open(index)


def fields_of(evidence: Evidence, method: str) -> dict[str, Any]:
    """Return what is known of a piece of evidence besides its text, as plain values."""
    span = evidence.spans[0] if evidence.spans else None
    return {
        "kind": evidence.kind,
        "document": evidence.document,
        "start": span.start if span else 0,
        "end": span.end if span else 0,
        "score": float(evidence.score),
        "method": method,
    }
