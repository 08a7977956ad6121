"""The table of a retrieval evaluation: found from the view, sorted by its heads, never wider than the window."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("width", [1280, 390])
def test_the_methods_are_read_without_scrolling_sideways(open_page, width):
    page = open_page("#/town/evaluate", width=width)
    tables = page.locator(".wide:has(.methods-table)")
    tables.first.wait_for()
    assert tables.evaluate_all("all => all.every((each) => each.scrollWidth <= each.clientWidth)")
    cells = tables.first.locator("tbody tr").first.locator("td")
    assert all(cells.evaluate_all("all => all.map((each) => each.checkVisibility())"))


def test_a_retrieval_evaluation_is_read_on_a_phone_without_scrolling_sideways(open_page):
    page = open_page("#/town/evaluate?r=town", width=390)
    for name in ("Methods by metrics", "Paired differences"):
        table = page.get_by_role("region", name=name)
        table.wait_for()
        assert table.evaluate("each => each.scrollWidth <= each.clientWidth")
    row = page.get_by_role("region", name="Methods by metrics").locator("tbody tr").first
    assert "MRR" not in shown_labels(row)
    page.get_by_label("Sort by").select_option("MRR")
    assert shown_labels(row) == ["questions", "MRR", "ms", "tokens", "cost"]


def shown_labels(row):
    return row.locator("td").evaluate_all(
        "all => all.filter((each) => each.checkVisibility()).map((each) => each.dataset.label)"
    )


def test_a_study_that_is_not_there_is_named(open_page):
    page = open_page("#/town/evaluate?s=gone")
    expect(page.get_by_role("alert")).to_have_text("There is no study gone.")
    page.get_by_role("button", name="all studies and evaluations").click()
    page.get_by_role("heading", name="Retrieval").wait_for()


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (768, True)])
def test_a_retrieval_evaluation_is_a_table_that_can_be_sorted(open_page, width, dark):
    page = open_page("#/town/evaluate", width=width, dark=dark)
    page.get_by_role("button", name="town", exact=True).click()
    table = page.get_by_role("region", name="Methods by metrics")
    names = table.locator("tbody th")
    table.wait_for()
    assert "2 questions asked, of 2" in table.locator("caption").inner_text()
    assert sorted(names.all_inner_texts()) == ["bm25", "hybrid", "naive"]
    head = table.get_by_role("columnheader", name="method")
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert names.all_inner_texts() == ["bm25", "hybrid", "naive"]
    head.get_by_role("button").press("Enter")
    assert names.all_inner_texts() == ["naive", "hybrid", "bm25"]
    for title in ("ms", "tokens"):
        head = table.get_by_role("columnheader", name=title)
        column = [each.split()[0] for each in table.locator("thead th").all_inner_texts()].index(title)
        for _ in range(2):
            head.get_by_role("button").click()
            cells = [
                float(row.replace(",", ""))
                for row in table.locator(f"tbody tr > :nth-child({column + 1})").all_inner_texts()
            ]
            assert cells == sorted(cells, reverse=head.get_attribute("aria-sort") == "descending")
    assert page.get_by_role("region", name="Paired differences").locator("tbody tr").count() == 3
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.go_back()
    page.get_by_role("heading", name="Retrieval").wait_for()
