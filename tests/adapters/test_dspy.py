"""The retriever in a module of DSPy."""

import pytest

pytest.importorskip("dspy", reason="needs the extra `dspy`")

import dspy
from dspy.utils import DummyLM

from polygraph.adapters.dspy import PolygraphRetriever

QUESTION = "Who built the Skerry Light?"


class _Rag(dspy.Module):
    def __init__(self, index):
        super().__init__()
        self.retrieve = PolygraphRetriever(index, "bm25", k=1)
        self.respond = dspy.Predict("context, question -> response")

    def forward(self, question):
        found = self.retrieve(query=question)
        return dspy.Prediction(
            response=self.respond(context=found.passages, question=question).response,
            documents=found.documents,
        )


def test_a_program_reads_the_passages(index):
    model = DummyLM([{"response": "Mara Quill"}])
    with dspy.context(lm=model):
        found = _Rag(index)(question=QUESTION)
    assert found.response == "Mara Quill"
    assert found.documents == ["light.txt"]
    assert "Mara Quill built the Skerry Light" in str(model.history[-1]["messages"])
