"""Every method by name. `method` alone is our recommended variant; `method:source` reproduces a source."""

from collections.abc import Mapping
from dataclasses import replace

from polygraph.errors import UnknownMethod
from polygraph.retrieve.base import Method
from polygraph.retrieve.methods.combine import Arm, Integrate, Select
from polygraph.retrieve.methods.fastgraphrag import FastGraphRAG
from polygraph.retrieve.methods.fgrag import FGRAG
from polygraph.retrieve.methods.graft import Graft
from polygraph.retrieve.methods.graphcot import GraphCoT
from polygraph.retrieve.methods.graphrag_drift import GraphRAGDrift
from polygraph.retrieve.methods.graphrag_global import GraphRAGGlobal
from polygraph.retrieve.methods.graphrag_local import GraphRAGLocal
from polygraph.retrieve.methods.hipporag import HippoRAG
from polygraph.retrieve.methods.hybrid import Hybrid
from polygraph.retrieve.methods.kg import KnowledgeGraph, kg_index
from polygraph.retrieve.methods.lexical import BM25
from polygraph.retrieve.methods.lightrag import LightRAG, lightrag_1_0
from polygraph.retrieve.methods.rograg.dual import RogragDual
from polygraph.retrieve.methods.rograg.logic_form import RogragLogic
from polygraph.retrieve.methods.rograg.rograg import Rograg
from polygraph.retrieve.methods.rqrag import RQRAG
from polygraph.retrieve.methods.vector import Naive
from polygraph.retrieve.methods.walk import NameWalk

_RAG = Arm(name="naive:rag-vs-graphrag", method=Naive(k=10, max_tokens=1_000_000))
_GRAPH = Arm(name="graphrag-local:microsoft", method=GraphRAGLocal(seed_names=False))
_FGRAG_PAPER = FGRAG(per_entity=0, share_visited=False, entity_tokens=1_000_000, max_tokens=1_000_000)

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
    "rq-rag": RQRAG(),
    "rq-rag:paper": RQRAG(drop_repeated=False, query_temperature=1.0),
    "rq-rag:flashrag": RQRAG(depth=3, max_calls=79, drop_repeated=False, answer_temperature=1.0),
    "graph-cot": GraphCoT(),
    "graph-cot:paper": GraphCoT(separate_thought=True, k=1, exact_names=False),
    "graphrag-local": GraphRAGLocal(),
    "graphrag-local:microsoft": GraphRAGLocal(seed_names=False),
    "graphrag-global": GraphRAGGlobal(),
    "graphrag-global:microsoft": GraphRAGGlobal(rollup="none"),
    "graphrag-global:dynamic": GraphRAGGlobal(preselect="rating"),
    "graphrag-global:preselect": GraphRAGGlobal(preselect="embedding"),
    "graphrag-drift": GraphRAGDrift(),
    "graphrag-drift:microsoft": GraphRAGDrift(hyde="random", order="shuffle", seed_names=False),
    "fg-rag": FGRAG(),
    "fg-rag:paper": _FGRAG_PAPER,
    "fg-rag:without-expansion": replace(_FGRAG_PAPER, without="expansion"),
    "fg-rag:without-summaries": replace(_FGRAG_PAPER, without="summaries"),
    "fg-rag:multi-hop": replace(_FGRAG_PAPER, answer_form="word"),
    "graft": Graft(),
    "graft:paper": Graft(k_reports=1, max_tokens=1_000_000),
    "kg-triplets": KnowledgeGraph(),
    "kg-triplets:rag-vs-graphrag": kg_index(text=False),
    "kg-text": KnowledgeGraph(text=True),
    "kg-text:rag-vs-graphrag": kg_index(text=True),
    "lightrag-local": LightRAG(mode="local"),
    "lightrag-global": LightRAG(mode="global"),
    "lightrag-hybrid": LightRAG(mode="hybrid"),
    "lightrag-mix": LightRAG(mode="mix"),
    "lightrag-mix:v1-5": LightRAG(mode="mix", fill_empty=False, rerank=20),
    "lightrag-local:v1-0": lightrag_1_0("local"),
    "lightrag-global:v1-0": lightrag_1_0("global"),
    "lightrag-hybrid:unbiased-evaluation": lightrag_1_0("hybrid"),
    "rograg-dual": RogragDual(),
    "rograg-dual:paper": RogragDual(seed_names=False, order="graph"),
    "rograg-logic": RogragLogic(),
    "rograg-logic:paper": RogragLogic(least_facts=1, whole_facts=False),
    "rograg": Rograg(),
    "rograg:paper": Rograg(
        refuse_below=0.1808, seed_names=False, least_facts=1, whole_facts=False, order="graph"
    ),
    "select": Select(),
    "select:rag-vs-graphrag": Select(arms=(replace(_RAG, kind="fact"), replace(_GRAPH, kind="reasoning"))),
    "integrate": Integrate(),
    "integrate:rag-vs-graphrag": Integrate(arms=(_RAG, _GRAPH)),
    "walk": NameWalk(),
    "fast-graphrag": FastGraphRAG(),
    "fast-graphrag:circlemind": FastGraphRAG(seed_names=False, multi_edges="keep"),
    "hipporag": HippoRAG(),
    "hipporag:2": HippoRAG(combine="overwrite", entity_edges=2.0, k=5),
}


def method(name: str) -> Method:
    """Look a method up.

    Raises:
        UnknownMethod: listing the names there are.
    """
    if name not in METHODS:
        raise UnknownMethod(name, METHODS)
    return METHODS[name]
