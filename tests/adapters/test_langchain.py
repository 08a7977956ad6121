"""The retriever in a chain of LangChain."""

import asyncio

import pytest

pytest.importorskip("langchain_core", reason="needs the extra `langchain`")

from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from polygraph.adapters.langchain import PolygraphRetriever

QUESTION = "Who built the Skerry Light?"


def test_documents_carry_text_place_and_score(index):
    found = PolygraphRetriever(index=index, method="bm25", k=1).invoke(QUESTION)
    assert len(found) == 1
    assert found[0].page_content.startswith("light\nMara Quill built")
    assert found[0].id == "light.txt:0"
    assert found[0].metadata["document"] == "light.txt"
    assert found[0].metadata["method"] == "bm25"


def test_a_chain_puts_the_documents_into_the_prompt(index):
    retriever = PolygraphRetriever(index=index, method="bm25", where={"path": "ship.txt"})
    join = RunnableLambda(lambda documents: "\n".join(each.page_content for each in documents))
    prompt = ChatPromptTemplate.from_template("{context}\n\n{question}")
    echo = RunnableLambda(lambda value: value.messages[0].content)
    chain = (
        {"context": retriever | join, "question": RunnablePassthrough()} | prompt | echo | StrOutputParser()
    )
    text = chain.invoke(QUESTION)
    assert "Halcyon" in text
    assert "Mara Quill" not in text


def test_it_can_be_awaited_and_batched(index):
    retriever = PolygraphRetriever(index=index, method="bm25", k=1)
    found = asyncio.run(retriever.abatch([QUESTION, "Which ship struck Grey Reef?"]))
    assert [each[0].metadata["document"] for each in found] == ["light.txt", "ship.txt"]
