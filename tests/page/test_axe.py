"""Accessibility of every view, by axe-core, in both colour schemes and at both widths."""

import re
from pathlib import Path

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


def test_colours_of_groups_stand_out_on_both_pages():
    """Axe-core checks text alone. WCAG 2.2, 1.4.11: graphics need a contrast of 3 to 1."""
    style = Path(__file__).parents[2] / "web/src"
    pages = re.findall(r"--raised: (#\w{6})", (style / "style/base.css").read_text())
    colours = re.findall(r'"(#\w{6})"', (style / "lib/palette.ts").read_text())
    assert len(pages) == 2
    assert len(colours) == 11
    assert not [(c, page) for c in colours for page in pages if _contrast(c, page) < 3]


def _contrast(one, other):
    lighter, darker = sorted(map(_luminance, (one, other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour):
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * p for weight, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
