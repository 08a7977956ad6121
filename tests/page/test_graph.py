"""The graph: communities first, entities by search, pictures to keep, 67,000 nodes."""

import math
import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow


def test_an_entity_is_found_by_its_name_and_its_relations_lead_to_sentences(open_page):
    page = open_page("#/town/graph")
    expect(page.get_by_role("heading", name="What town is about")).to_be_visible()
    page.get_by_label("Find an entity").fill("skerry")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("Enter")
    panel = page.get_by_role("region", name="Details")
    expect(panel.get_by_role("heading", level=2)).to_contain_text("Skerry Light")
    assert "e=" in page.url
    panel.get_by_role("button", name=re.compile("Skerry Light")).first.click()
    expect(page.locator("mark.current")).to_contain_text("Skerry Light")
    page.reload()
    expect(panel.get_by_role("heading", level=2)).to_contain_text("Skerry Light")


def test_the_picture_is_saved_as_svg_without_markup_of_the_documents(open_page):
    page = open_page("#/town/graph?level=entities")
    page.wait_for_selector(".canvas[data-nodes]:not([data-nodes='0'])")
    for kind in ("SVG", "PNG"):
        page.get_by_role("button", name="Save the picture").click()
        with page.expect_download() as saved:
            page.get_by_role("button", name=kind).click()
        content = saved.value.path().read_bytes()
        if kind == "PNG":
            assert content.startswith(b"\x89PNG")
            assert len(content) > 5_000
        else:
            assert b"<circle" in content
            assert b"<script" not in content
            assert b"<img" not in content


def test_an_answer_is_shown_in_the_graph(open_page):
    page = open_page("#/town/ask")
    page.get_by_label("Question").fill("Who built the Skerry Light?")
    page.keyboard.press("Enter")
    page.wait_for_selector(".under")
    page.locator(".tools").get_by_role("button", name="graph").click()
    expect(page.get_by_role("heading", name="Behind an answer")).to_be_visible()
    expect(page.get_by_role("region", name="Details").get_by_role("button").first).to_be_visible()


def test_67000_entities_are_drawn_and_moved(open_page):
    page = open_page()
    n = 67_000
    columns = {
        "ids": [f"e{i}" for i in range(n)],
        "names": [f"Entity {i}" for i in range(n)],
        "types": [("person", "place", "work")[i % 3] for i in range(n)],
        # A sunflower, which fills the plane evenly.
        "x": [round(math.sqrt(i) * math.cos(2.4 * i), 2) for i in range(n)],
        "y": [round(math.sqrt(i) * math.sin(2.4 * i), 2) for i in range(n)],
        "degree": [1 + n // (i + 1) for i in range(n)],
        "community": ["c"] * n,
        "edges": {"source": list(range(n - 1)), "target": list(range(1, n)), "weight": [1] * (n - 1)},
    }
    page.route("**/graph/entities?*", lambda route: route.fulfill(json=columns))
    page.goto(f"{page.url.split('#')[0]}#/town/graph?level=entities")
    page.wait_for_selector(f".canvas[data-nodes='{n}']", timeout=60_000)
    expect(page.locator(".graph-legend")).to_contain_text("67,000 entities, 25,000 edges")
    rate = page.evaluate(
        """async () => {
          const camera = document.querySelector('.canvas').sigma.getCamera();
          const frame = () => new Promise((done) => requestAnimationFrame(done));
          await frame();
          const start = performance.now();
          for (let i = 0; i < 20; i++) { camera.setState({ x: 0.5 + 0.01 * i }); await frame(); }
          return 20000 / (performance.now() - start);
        }"""
    )
    print(f"{rate:.1f} frames a second")
    # Drawn by the processor, which other tests use too; a graphics card draws sixty.
    assert rate > 1
