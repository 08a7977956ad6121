"""A LlamaIndex retriever and query engine over an index."""

from collections.abc import Mapping, Sequence

from polygraph.adapters.retrieving import Retriever, fields_of
from polygraph.errors import MissingExtra
from polygraph.records import Answer, Evidence
from polygraph.workspace.index import Index

try:
    from llama_index.core.base.base_query_engine import BaseQueryEngine
    from llama_index.core.base.response.schema import RESPONSE_TYPE, Response
    from llama_index.core.prompts.mixin import PromptMixinType
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ModuleNotFoundError as error:
    raise MissingExtra("polygraph.adapters.llama_index", "llama-index") from error


class PolygraphRetriever(BaseRetriever):
    """Finds the evidence for a question with any method.

    Args:
        index: to ask.
        method: one of `polygraph methods`; default: the setting `method`.
        where: metadata fields and the values that documents must have.
        max_tokens: budget of the context; default: the method's own.
        k: most nodes; default: as many as the method packs.
    """

    def __init__(
        self,
        index: Index,
        method: str | None = None,
        *,
        where: Mapping[str, str] | None = None,
        max_tokens: int | None = None,
        k: int | None = None,
    ) -> None:
        super().__init__()
        self._ask = Retriever(index=index, method=method, where=where, max_tokens=max_tokens, k=k)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found, evidence = self._ask.retrieve(query_bundle.query_str)
        return _nodes(evidence, found.method)


class PolygraphQueryEngine(BaseQueryEngine):
    """Answers a question as `Index.ask` does, with citations that were checked.

    The response has the evidence as source nodes, in the order of its numbers, and as metadata: method, refused,
    citations and nearest (`Answer.nearest`).

    Args:
        index: to ask.
        method: as for `PolygraphRetriever`.
        where: as for `PolygraphRetriever`.
        max_tokens: as for `PolygraphRetriever`.
    """

    def __init__(
        self,
        index: Index,
        method: str | None = None,
        *,
        where: Mapping[str, str] | None = None,
        max_tokens: int | None = None,
    ) -> None:
        super().__init__(callback_manager=None)
        self._index, self._method, self._where, self._max_tokens = index, method, where, max_tokens

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        return _response(
            self._index.ask(
                query_bundle.query_str, self._method, where=self._where, max_tokens=self._max_tokens
            )
        )

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        return _response(
            await self._index.aask(
                query_bundle.query_str, self._method, where=self._where, max_tokens=self._max_tokens
            )
        )

    def _get_prompt_modules(self) -> PromptMixinType:
        return {}


def _response(found: Answer) -> Response:
    citations, nearest = (
        [{"n": c.n, "document": c.document, "start": c.start, "end": c.end, "quote": c.quote} for c in each]
        for each in (found.citations, found.nearest)
    )
    return Response(
        response=found.text,
        source_nodes=_nodes(found.retrieval.evidence, found.method),
        metadata={
            "method": found.method,
            "refused": found.refused,
            "citations": citations,
            "nearest": nearest,
        },
    )


def _nodes(evidence: Sequence[Evidence], method: str) -> list[NodeWithScore]:
    found = []
    for each in evidence:
        fields = fields_of(each, method)
        # What a model reads is the text alone: the fields are for programs.
        node = TextNode(
            id_=each.id,
            text=each.text,
            metadata=fields,
            excluded_llm_metadata_keys=list(fields),
            excluded_embed_metadata_keys=list(fields),
        )
        found.append(NodeWithScore(node=node, score=float(each.score)))
    return found
