"""Accessibility of every view, by axe-core, in both colour schemes and at both widths."""

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("width", "dark"),
    [
        (1280, False),
        (400, True),
        pytest.param(1280, True, marks=pytest.mark.deep),
        pytest.param(400, False, marks=pytest.mark.deep),
    ],
)
def test_axe_finds_nothing_serious(open_page, serious_findings, width, dark):
    page = open_page("#/town/ask", width=width, dark=dark)
    page.wait_for_selector(".welcome")
    found = {"empty": serious_findings(page)}
    page.get_by_label("Question").fill("Who built the Skerry Light?")
    page.keyboard.press("Enter")
    page.wait_for_selector(".under")
    page.locator(".tools button").first.click()
    found["why"] = serious_findings(page)
    page.locator("button.cite").first.click()
    page.wait_for_selector("mark.current")
    found["document"] = serious_findings(page)
    for view in ("compare", "documents", "evaluate", "graph"):
        open_page(f"#/town/{view}", page=page)
        page.wait_for_timeout(600)
        found[view] = serious_findings(page)
    open_page("#/town/evaluate?r=town", page=page)
    page.get_by_role("region", name="Paired differences").wait_for()
    found["evaluation"] = serious_findings(page)
    assert not {view: each for view, each in found.items() if each}
