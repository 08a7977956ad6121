"""A Haystack component over an index."""

from pathlib import Path
from typing import Any

from polygraph.adapters.retrieving import Retriever, fields_of, opened
from polygraph.errors import MissingExtra
from polygraph.workspace.index import Index

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ModuleNotFoundError as error:
    raise MissingExtra("polygraph.adapters.haystack", "haystack") from error


@component
class PolygraphRetriever:
    """Finds the evidence for a question with any method.

    Args:
        index: an index, or its folder, which is opened at the first question. A pipeline is saved with the folder.
        method: one of `polygraph methods`; default: the setting `method`.
        where: metadata fields and the values that documents must have.
        max_tokens: budget of the context; default: the method's own.
        top_k: most documents; default: as many as the method packs.
    """

    def __init__(
        self,
        index: Index | str,
        method: str | None = None,
        where: dict[str, str] | None = None,
        max_tokens: int | None = None,
        top_k: int | None = None,
    ) -> None:
        self.folder = str(index.folder if isinstance(index, Index) else Path(index))
        self.method, self.where, self.max_tokens, self.top_k = method, where, max_tokens, top_k
        self._index = index if isinstance(index, Index) else None

    def warm_up(self) -> None:
        """Open the index."""
        self._open()

    def _open(self) -> Index:
        self._index = self._index or opened(self.folder)
        return self._index

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, where: dict[str, str] | None = None, top_k: int | None = None
    ) -> dict[str, Any]:
        """Return the evidence for a question as documents; the arguments add to those of the component."""
        ask = Retriever(
            index=self._open(),
            method=self.method,
            where=self.where,
            max_tokens=self.max_tokens,
            k=self.top_k if top_k is None else top_k,
        )
        found, evidence = ask.retrieve(query, where)
        documents = [
            Document(
                id=each.id, content=each.text, meta=fields_of(each, found.method), score=float(each.score)
            )
            for each in evidence
        ]
        return {"documents": documents}

    def to_dict(self) -> dict[str, Any]:
        """Return the component as plain values, for a pipeline that is saved."""
        found: dict[str, Any] = default_to_dict(
            self,
            index=self.folder,
            method=self.method,
            where=self.where,
            max_tokens=self.max_tokens,
            top_k=self.top_k,
        )
        return found

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "PolygraphRetriever":
        """Make the component from plain values."""
        made: PolygraphRetriever = default_from_dict(cls, data)
        return made
