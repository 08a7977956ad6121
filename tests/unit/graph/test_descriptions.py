"""Which descriptions outgrow the budget, what is selected of them, and how they share calls."""

from polygraph.graph.descriptions import outgrows, select_statements
from polygraph.records import Description
from polygraph.tasks.indexing.describe import MAX_INPUT_TOKENS, MAX_ITEMS, Statements, share_calls
from polygraph.text.tokens import count_tokens


def said(n_by_document: dict[str, int]) -> list[Description]:
    return [
        Description(f"statement {n} of {document}", f"{document}:{n}")
        for document, count in n_by_document.items()
        for n in range(count)
    ]


def test_a_single_description_never_outgrows_the_budget():
    assert not outgrows([Description("word " * 500, "a:0")], 10)
    assert outgrows([Description("word " * 500, "a:0"), Description("more", "a:1")], 10)
    assert outgrows(said({"a": 2}), 0)
    assert not outgrows(said({"a": 2}), 100)


def test_a_selection_is_spread_over_documents_and_within_the_budget():
    chosen = select_statements(said({"diary": 40, "letter": 1, "news": 2}), 30)
    assert sum(count_tokens(d.text) for d in chosen) <= 30
    assert {d.chunk.partition(":")[0] for d in chosen} == {"diary", "letter", "news"}
    assert chosen == sorted(chosen, key=said({"diary": 40, "letter": 1, "news": 2}).index)


def test_of_more_documents_than_fit_distant_ones_are_chosen():
    descriptions = said({f"d{n:02}": 1 for n in range(64)})
    chosen = [int(d.chunk[1:3]) for d in select_statements(descriptions, 8 * 6)]
    assert min(chosen) < 8
    assert max(chosen) > 50


def test_a_description_longer_than_the_budget_is_cut():
    (only,) = select_statements([Description("word " * 50, "a:0")], 10)
    assert 0 < count_tokens(only.text) <= 10


def test_items_share_calls_within_the_limits():
    small = [Statements(f"name {n}", ("a statement",)) for n in range(2 * MAX_ITEMS + 1)]
    assert [len(some) for some in share_calls(small)] == [MAX_ITEMS, MAX_ITEMS, 1]
    large = [Statements(f"name {n}", ("word " * (MAX_INPUT_TOKENS - 100),)) for n in range(3)]
    assert [len(some) for some in share_calls(large)] == [1, 1, 1]
