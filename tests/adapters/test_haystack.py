"""The component in a pipeline of Haystack."""

import pytest

pytest.importorskip("haystack", reason="needs the extra `haystack`")

from haystack import Pipeline
from haystack.components.builders import PromptBuilder

from polygraph.adapters.haystack import PolygraphRetriever

QUESTION = "Who built the Skerry Light?"
TEMPLATE = "{% for d in documents %}{{ d.content }}\n{% endfor %}{{ question }}"


def _pipeline(index):
    pipeline = Pipeline()
    pipeline.add_component("retriever", PolygraphRetriever(index, "bm25", top_k=1))
    pipeline.add_component("prompt", PromptBuilder(TEMPLATE, required_variables="*"))
    pipeline.connect("retriever.documents", "prompt.documents")
    return pipeline


def test_a_pipeline_puts_the_documents_into_the_prompt(index):
    inputs = {"retriever": {"query": QUESTION}, "prompt": {"question": QUESTION}}
    text = _pipeline(index).run(inputs)["prompt"]["prompt"]
    assert text.startswith("light\nMara Quill built")
    assert "Halcyon" not in text


def test_arguments_of_a_run_add_to_those_of_the_component(index):
    component = PolygraphRetriever(index, "bm25", where={"format": "txt"})
    found = component.run("Skerry Light", where={"path": "ship.txt"}, top_k=1)["documents"]
    assert [each.meta["document"] for each in found] == ["ship.txt"]
    assert found[0].score > 0


def test_a_pipeline_is_saved_with_the_folder_of_the_index(index, monkeypatch):
    restored = Pipeline.loads(_pipeline(index).dumps(), allowed_modules=["polygraph.adapters.haystack"])
    opened = []

    def open_index(folder):
        opened.append(folder)
        return index

    monkeypatch.setattr("polygraph.adapters.haystack.opened", open_index)
    inputs = {"retriever": {"query": QUESTION}, "prompt": {"question": QUESTION}}
    for _ in range(2):
        assert "Mara Quill" in restored.run(inputs)["prompt"]["prompt"]
    assert opened == [str(index.folder)]
