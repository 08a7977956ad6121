"""What a method found in the graph, as an answer without a model."""

from dataclasses import replace

from polygraph.records import Chunk, Evidence, Span
from polygraph.retrieve.graph_statements import list_themes

PASSAGE = "# Orrin\n\nFrom: Ada\n\nThe mill at Orrin was built by Ada Brook in 1871. - rope - oil"


class Index:
    """One document of one passage."""

    documents_allowed = frozenset({"mill.md"})

    def chunks_by_id(self, chunks):
        return [
            Chunk(id=i, document="mill.md", ordinal=0, start=0, end=len(PASSAGE), text=PASSAGE, n_tokens=30)
            for i in chunks
        ]

    def titles(self, documents):
        return dict.fromkeys(documents, "Orrin")


def test_a_passage_is_a_point_of_an_overview_by_its_best_sentence():
    span = Span("mill.md", "mill.md:0", 0, len(PASSAGE))
    item = Evidence(
        kind="chunk", id="mill.md:0", text=f"date: 1871\n{PASSAGE}", score=1.0, spans=(span,), why=""
    )
    copy = replace(item, id="mill.md:1", spans=(Span("mill.md", "mill.md:1", 0, len(PASSAGE)),))
    found = list_themes([item, copy], Index())
    assert found.lines == (
        "- Orrin: The mill at Orrin was built by Ada Brook in 1871. (1 of 1 document) [1]",
    )
    assert found.citations[0].quote == "The mill at Orrin was built by Ada Brook in 1871."
