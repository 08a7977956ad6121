"""Rows of the graph as evidence."""

from polygraph.records import Span, Triple
from polygraph.retrieve.evidence import triple_evidence

DATES = {"letter": "1881-12-04", "minutes": "1878-04-09", "note": ""}


class Index:
    """Three documents of one passage each."""

    def spans(self, chunks):
        return {chunk: Span(chunk.split(":")[0], chunk, 0, 20) for chunk in chunks}

    def dates(self, documents):
        return {document: DATES[document] for document in documents}


def stated_in(*chunks, predicate="lent money to"):
    return Triple(
        id="a | lends | b", source="ada", target="bela", predicate=predicate, weight=1.0, chunks=chunks
    )


def text_of(triple, **more):
    return triple_evidence(triple, 1.0, "step 1", Index(), {"ada": "Ada", "bela": "Bela"}, **more).text


def test_a_triple_is_followed_by_the_dates_of_the_documents_that_state_it():
    assert text_of(stated_in("letter:0")) == "Ada lent money to Bela (1881-12-04)"
    assert (
        text_of(stated_in("letter:0", "note:0", "minutes:3", "letter:1"))
        == "Ada lent money to Bela (1881-12-04, 1878-04-09)"
    )
    assert text_of(stated_in("note:0")) == "Ada lent money to Bela"


def test_a_date_that_stands_in_the_statement_is_not_repeated():
    assert text_of(stated_in("letter:0", predicate="on 1881-12-04 lent money to")).count("1881-12-04") == 1


def test_what_is_shown_in_place_of_a_triple_has_its_dates():
    assert text_of(stated_in("letter:0"), text="Ada and Bela: She lent it.") == (
        "Ada and Bela: She lent it. (1881-12-04)"
    )
