"""A DSPy retriever over an index."""

from collections.abc import Mapping
from typing import Any

from polygraph.adapters.retrieving import Retriever
from polygraph.errors import MissingExtra
from polygraph.workspace.index import Index

try:
    import dspy
except ModuleNotFoundError as error:
    raise MissingExtra("polygraph.adapters.dspy", "dspy") from error


class PolygraphRetriever(dspy.Module):
    """Finds the evidence for a question with any method, as a prediction with ``passages`` and ``documents``.

    Args:
        index: to ask.
        method: one of `polygraph methods`; default: the setting `method`.
        where: metadata fields and the values that documents must have.
        k: most passages; default: as many as the method packs.
    """

    def __init__(
        self,
        index: Index,
        method: str | None = None,
        *,
        where: Mapping[str, str] | None = None,
        k: int | None = None,
    ) -> None:
        super().__init__()
        self._ask = Retriever(index=index, method=method, where=where, k=k)

    def forward(self, query: str) -> Any:
        """Return the evidence for a question."""
        _, evidence = self._ask.retrieve(query)
        return dspy.Prediction(
            passages=[each.text for each in evidence], documents=[each.document for each in evidence]
        )
