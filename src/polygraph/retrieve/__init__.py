"""Every method by name. `method` alone is our recommended variant; `method:source` reproduces a source."""

from collections.abc import Mapping

from polygraph.errors import UnknownMethod
from polygraph.retrieve.base import Method
from polygraph.retrieve.graphrag_global import GraphRAGGlobal
from polygraph.retrieve.graphrag_local import GraphRAGLocal
from polygraph.retrieve.hybrid import Hybrid
from polygraph.retrieve.lexical import BM25
from polygraph.retrieve.vector import Naive

METHODS: Mapping[str, Method] = {
    "naive": Naive(),
    "naive:fg-rag": Naive(k=10, max_tokens=1_000_000),
    "naive:rag-vs-graphrag": Naive(k=10, max_tokens=1_000_000),
    "naive:graft": Naive(k=3, max_tokens=1_000_000),
    "naive:unbiased-evaluation": Naive(k=60, max_tokens=4_000),
    "bm25": BM25(),
    "bm25:rograg": BM25(k=5),
    "hybrid": Hybrid(),
    "hybrid:reranked": Hybrid(rerank=20),
    "graphrag-local": GraphRAGLocal(),
    "graphrag-local:microsoft": GraphRAGLocal(seed_names=False),
    "graphrag-global": GraphRAGGlobal(),
    "graphrag-global:microsoft": GraphRAGGlobal(rollup="none"),
}


def method(name: str) -> Method:
    """Look a method up.

    Raises:
        UnknownMethod: listing the names there are.
    """
    if name not in METHODS:
        raise UnknownMethod(name, METHODS)
    return METHODS[name]
