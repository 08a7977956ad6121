"""Statements of reports, ranked without a language model."""

from dataclasses import replace

from polygraph.records import Finding, Report
from polygraph.tasks.offline.map_reports import rank_statements
from polygraph.testing import hashed_models


def models(reranker=None):
    return replace(hashed_models(), reranker=reranker)


def report(n, *findings, rating=5.0):
    return Report(
        community=f"0-{n}", level=0, title=f"Group {n}", summary="s", rating=rating, weight=0.5,
        findings=tuple(Finding(summary=f, chunks=(f"c{n}:{i}",)) for i, f in enumerate(findings)),
        chunks=(f"c{n}:0",),
    )  # fmt: skip


def test_statements_about_particular_things_are_ranked_by_their_words():
    found = rank_statements(
        "Who bought the fog horn?",
        [report(1, "Mara Quill built the light."), report(2, "Tobias Wren bought the fog horn.")],
        models(),
    )
    assert found[0].text == "Tobias Wren bought the fog horn."
    assert (found[0].report, found[0].chunks) == ("0-2", ("c2:0",))
    assert all(0 <= s.score <= 100 for s in found)


def test_a_question_about_the_whole_collection_gets_statements_of_several_reports():
    reports = [
        report(n, f"The {w} was argued over by the board for many years.")
        for n, w in enumerate(("oil", "reef", "chapel"))
    ]
    found = rank_statements("What are the main disputes of these papers?", reports, models())
    assert len({s.report for s in found}) == 3


def test_a_statement_of_two_reports_counts_once():
    same = "Tobias Wren bought the fog horn."
    found = rank_statements("Who bought the fog horn?", [report(1, same), report(2, same)], models())
    assert [s.report for s in found if s.text == same] == ["0-1"]


def test_no_reports_give_no_statements_and_there_is_a_limit():
    assert rank_statements("Who?", [], models()) == []
    many = [report(n, f"The horn number {n} was bought by Tobias Wren.") for n in range(50)]
    assert len(rank_statements("Who bought the horn?", many, models(), most=7)) == 7


def test_a_statement_about_him_names_the_report_that_it_is_from():
    told = report(1, "His course was altered before three.", "The helm was put down before three.")
    found = rank_statements("Whose course was altered before three?", [told], models())
    texts = [s.text for s in found]
    assert "Group 1: His course was altered before three." in texts
    assert "The helm was put down before three." in texts


def test_an_overview_shows_the_central_sentences_of_an_extractive_report_and_what_a_model_summed_up():
    told = replace(
        report(
            1, "The lamp of the light burns colza oil.", "The board bought oil for the lamp of the light."
        ),
        summary="The keeper of the light trims the lamp. The band played twice.",
    )
    (found,) = rank_statements("What are these papers about?", [told], models())
    assert (
        found.text
        == "Group 1: The lamp of the light burns colza oil. The board bought oil for the lamp of the light."
    )
    (found,) = rank_statements("What are these papers about?", [replace(told, written_by="gpt")], models())
    assert found.text == f"Group 1: {told.summary}"
