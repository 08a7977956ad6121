"""What each of several methods alone has."""

from polygraph.records import Evidence, Retrieval, Span
from polygraph.retrieve.overlap import found_alone


def piece(kind, id_, chunk):
    return Evidence(kind=kind, id=id_, text=id_, score=1.0, spans=(Span("d", chunk, 0, 1),))


def retrieval(method, *evidence):
    return Retrieval(question="q", method=method, evidence=evidence, context="")


def test_a_passage_behind_another_methods_relation_is_not_found_alone_but_the_relation_is():
    passages = retrieval("bm25", piece("chunk", "d:0", "d:0"), piece("chunk", "d:1", "d:1"))
    relations = retrieval("kg-triplets", piece("relation", "a|b", "d:1"))
    assert found_alone([passages, relations]) == [[1], [1]]


def test_equal_retrievals_have_nothing_alone():
    one = retrieval("bm25", piece("chunk", "d:0", "d:0"), piece("report", "c", "d:1"))
    assert found_alone([one, one]) == [[], []]
