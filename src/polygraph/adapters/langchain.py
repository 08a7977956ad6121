"""A LangChain retriever over an index."""

from collections.abc import Mapping

from polygraph.adapters.retrieving import Retriever, fields_of
from polygraph.errors import MissingExtra
from polygraph.workspace.index import Index

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ModuleNotFoundError as error:
    raise MissingExtra("polygraph.adapters.langchain", "langchain") from error


class PolygraphRetriever(BaseRetriever):
    """Finds the evidence for a question with any method.

    Each document has the text as ``page_content``, the id of the evidence as ``id``, and as ``metadata``: kind,
    document, start, end, score and method.
    """

    index: Index
    method: str | None = None
    """One of `polygraph methods`; default: the setting `method`."""
    where: Mapping[str, str] | None = None
    """Metadata fields and the values that documents must have."""
    max_tokens: int | None = None
    k: int | None = None
    """Most documents; default: as many as the method packs."""

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - of the base class
    ) -> list[Document]:
        ask = Retriever(
            index=self.index, method=self.method, where=self.where, max_tokens=self.max_tokens, k=self.k
        )
        found, evidence = ask.retrieve(query)
        return [
            Document(id=each.id, page_content=each.text, metadata=fields_of(each, found.method))
            for each in evidence
        ]
