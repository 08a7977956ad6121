"""What a method found in the graph, as an answer without a model."""

from dataclasses import replace

from polygraph.records import Chunk, Evidence, Span
from polygraph.retrieve.graph_statements import connections, list_themes

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
        "- Orrin: The mill at Orrin was built by Ada Brook in 1871. [1] (1 of 1 document)",
    )
    assert found.citations[0].quote == "The mill at Orrin was built by Ada Brook in 1871."


def test_each_sentence_of_a_point_cites_its_own():
    text = "# Orrin\nThe mill at Orrin was built by Ada Brook. Ben Olsen sold the rope of the pier."
    first, second = (
        "The mill at Orrin was built by Ada Brook in 1871.",
        "Ben Olsen sold the rope of the pier.",
    )

    class Two(Index):
        documents_allowed = frozenset({"mill.md", "pier.md"})

        def chunks_by_id(self, chunks):
            texts = {"mill.md:0": first, "pier.md:0": second}
            return [
                Chunk(id=i, document=i[:-2], ordinal=0, start=0, end=60, text=texts[i], n_tokens=9)
                for i in chunks
            ]

    spans = tuple(Span(d, f"{d}:0", 0, 60) for d in ("mill.md", "pier.md"))
    item = Evidence(kind="report", id="1", text=text, score=1.0, spans=spans, why="")
    found = list_themes([item], Two(), only_summaries=True)
    assert found.lines == (
        "- Orrin: The mill at Orrin was built by Ada Brook. [1] Ben Olsen sold the rope of the pier. [1] "
        "(2 of 2 documents)",
    )
    assert [c.quote for c in found.citations] == [first, second]


def test_a_relation_without_a_space_in_its_middle_is_cut_off_too():
    text = f"Ada Brook sells Orrin: the mill at {'x' * 500}"
    span = Span("mill.md", "mill.md:0", 0, len(PASSAGE))
    item = Evidence(kind="relation", id="1", text=text, score=1.0, spans=(span,), why="")
    found = connections("How is Ada Brook connected to Orrin?", [item], Index())
    assert found.lines == ("- Relation: Ada Brook sells Orrin: the mill at … [1]",)
