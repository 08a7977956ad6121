"""What the adapters have in common."""

import importlib
import importlib.util

import pytest

from polygraph.adapters.retrieving import Retriever, fields_of, opened
from polygraph.errors import MissingExtra
from tests.adapters.conftest import PAPERS

PACKAGES = {
    "langchain": "langchain_core",
    "llama_index": "llama_index",
    "haystack": "haystack",
    "dspy": "dspy",
}


def test_the_first_pieces_of_evidence_are_those_of_the_method(index):
    found, evidence = Retriever(index=index, method="bm25", k=1).retrieve("Who built the Skerry Light?")
    assert evidence == list(found.evidence[:1])
    assert fields_of(evidence[0], found.method) == {
        "kind": "chunk",
        "document": "light.txt",
        "start": 0,
        "end": len(PAPERS["light.txt"]),
        "score": evidence[0].score,
        "method": "bm25",
    }


def test_filters_add_up(index):
    ask = Retriever(index=index, method="bm25", where={"format": "txt"})
    _, evidence = ask.retrieve("Skerry Light", {"path": "ship.txt"})
    assert {each.document for each in evidence} == {"ship.txt"}


def test_an_open_index_stays_the_same(index):
    assert opened(index) is index


@pytest.mark.parametrize("name", sorted(PACKAGES))
def test_a_missing_package_is_an_error_that_names_the_extra(name):
    if importlib.util.find_spec(PACKAGES[name]):
        pytest.skip("the package is installed")
    with pytest.raises(MissingExtra, match=name.replace("_", "-")):
        importlib.import_module(f"polygraph.adapters.{name}")
