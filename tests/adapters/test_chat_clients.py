"""A second client of OpenAI's API, beside the `openai` package: the chat model of LangChain, in a pipeline."""

import pytest

langchain_openai = pytest.importorskip("langchain_openai", reason="needs langchain-openai")

from langchain_core.output_parsers import StrOutputParser  # noqa: E402  optional packages
from langchain_core.prompts import ChatPromptTemplate  # noqa: E402

from tests.server.conftest import READ, build, serving  # noqa: E402


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    with serving({"papers": build(tmp_path_factory.mktemp("served") / "papers")}) as server:
        yield langchain_openai.ChatOpenAI(
            base_url=f"{server.url}/v1", api_key=READ, model="polygraph/papers/bm25", max_retries=0
        )


def test_a_pipeline_of_langchain_asks_an_index_as_a_model(model):
    chain = ChatPromptTemplate.from_messages([("user", "{question}")]) | model | StrOutputParser()
    whole = chain.invoke({"question": "Who built the Skerry Light?"})
    assert "Mara Quill" in whole
    assert "".join(chain.stream({"question": "Who built the Skerry Light?"})) == whole


def test_usage_reaches_the_client(model):
    found = model.invoke("Who owned the barque Halcyon?")
    used = found.usage_metadata
    assert used["total_tokens"] == used["input_tokens"] + used["output_tokens"]
