"""Retriever and query engine in engines of LlamaIndex."""

import asyncio

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra `llama-index`")

from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.tools import QueryEngineTool

from polygraph.adapters.llama_index import PolygraphQueryEngine, PolygraphRetriever
from polygraph.config import Settings
from polygraph.testing import hashed_models
from polygraph.workspace.index import Index

QUESTION = "Who built the Skerry Light?"


def test_nodes_carry_text_place_and_score(index):
    found = PolygraphRetriever(index, "bm25", k=1).retrieve(QUESTION)
    assert len(found) == 1
    assert found[0].node.get_content().startswith("light\nMara Quill built")
    assert found[0].node.metadata["document"] == "light.txt"
    assert found[0].score > 0


def test_an_engine_of_theirs_reads_our_nodes(index):
    engine = RetrieverQueryEngine.from_args(
        PolygraphRetriever(index, "bm25"),
        llm=MockLLM(),
        node_postprocessors=[SimilarityPostprocessor(similarity_cutoff=0.0)],
    )
    reply = engine.query(QUESTION)
    # Their model repeats its prompt, which holds the texts alone.
    assert "Mara Quill built the Skerry Light" in str(reply)
    assert "bm25" not in str(reply)
    assert reply.source_nodes[0].node.node_id == "light.txt:0"


def test_our_engine_answers_with_citations(index):
    engine = PolygraphQueryEngine(index, "bm25")
    reply = engine.query(QUESTION)
    assert str(reply) == index.ask(QUESTION, "bm25").text
    assert reply.metadata["citations"][0]["document"] == "light.txt"
    assert not reply.metadata["refused"]
    assert reply.source_nodes
    assert str(asyncio.run(engine.aquery(QUESTION))) == str(reply)


def test_our_engine_gives_the_nearest_passages_of_a_refusal(index):
    with Index.open(index.folder, settings=Settings(), models=hashed_models()) as offline:
        reply = PolygraphQueryEngine(offline, "bm25").query("Did Zebulon see the Skerry Light?")
    assert reply.metadata["refused"]
    assert reply.metadata["nearest"][0]["document"] == "light.txt"


def test_our_engine_is_a_tool_for_their_agents(index):
    tool = QueryEngineTool.from_defaults(
        PolygraphQueryEngine(index, "bm25"), name="papers", description="papers"
    )
    assert "Mara Quill" in str(tool.call(QUESTION))
