"""The graph: communities first, entities by search, pictures to keep, 67,000 nodes."""

import base64
import itertools
import math
import re
import time
from contextlib import contextmanager

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


def test_two_entities_are_compared_by_the_keyboard(open_page):
    page = open_page("#/town/graph?level=entities")
    page.get_by_label("Find an entity").fill("Mara")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="compare with").press("Enter")
    expect(page.get_by_label("Compare with")).to_be_focused()
    page.keyboard.type("Tobin")
    page.get_by_role("option", name="Tobin").wait_for()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="The same?")).to_be_visible()
    # The reasons of entity resolution are sentences.
    expect(page.get_by_text("No rule compared them.")).to_be_visible()


def test_the_legend_names_communities_by_their_titles(open_page):
    page = open_page("#/town/graph?level=entities&colour=community")
    page.wait_for_selector(".canvas[data-nodes]:not([data-nodes='0'])")
    titles = {each.strip() for each in page.locator(".community-button span:not(.soft)").all_inner_texts()}
    names = page.locator(".graph-legend .legend button").all_inner_texts()
    assert any(name.strip().startswith(title[:30]) for name in names for title in titles)
    assert not any(name.strip().startswith("0-") for name in names)


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_nothing_covers_the_graph(open_page, width):
    page = open_page("#/town/graph?level=entities", width=width)
    page.wait_for_selector(".canvas[data-nodes]:not([data-nodes='0'])")
    tools, canvas, legend = (
        page.locator(each).bounding_box() for each in (".graph-tools", ".canvas", ".graph-legend")
    )
    assert tools["y"] + tools["height"] <= canvas["y"]
    assert canvas["y"] + canvas["height"] <= legend["y"]
    groups = page.locator(".graph-tools .segments")
    assert groups.evaluate_all("all => all.every((each) => each.scrollWidth <= each.clientWidth)")


@pytest.mark.parametrize("width", [390, 1280])
def test_names_in_the_graph_cover_neither_each_other_nor_the_edge(open_page, width):
    page = open_page(width=width)
    communities = [
        {"id": f"c{n}", "level": 0, "title": f"Harbour board, lifeboat and bell {n}", "size": 40 - n,
         "parent": None, "rank": 1, "x": n % 6, "y": n // 6}
        for n in range(36)
    ]  # fmt: skip
    page.route(
        "**/graph/communities*",
        lambda route: route.fulfill(json={"levels": [0], "communities": communities, "edges": []}),
    )
    page.goto(f"{page.url.split('#')[0]}#/town/graph")
    page.wait_for_selector(".canvas[data-nodes='36']")
    page.wait_for_timeout(500)
    names = page.evaluate(
        """() => {
          const sigma = document.querySelector('.canvas').sigma;
          const context = sigma.getCanvases().labels.getContext('2d');
          return [...sigma.labels.values()].map(({ text, x, y }) => [x, y, context.measureText(text).width]);
        }"""
    )
    assert len(names) >= 5
    assert all(x >= 0 and x + long <= width for x, _, long in names)
    for (x, y, long), (a, b, wide) in itertools.combinations(names, 2):
        assert x + long <= a or a + wide <= x or abs(y - b) >= 13


def test_the_graph_stays_in_view_beside_a_long_document(open_page):
    page = open_page()
    text = "The bell was raised.\n" * 500
    page.route(
        "**/documents/light.txt*",
        lambda route: route.fulfill(json={"id": "light.txt", "title": "Light", "text": text, "fields": {}}),
    )
    page.goto(f"{page.url.split('#')[0]}#/town/graph")
    page.wait_for_selector(".canvas[data-nodes]:not([data-nodes='0'])")
    wide = page.locator(".canvas").bounding_box()["width"]
    page.goto(f"{page.url.split('#')[0]}#/town/graph?doc=light.txt")
    expect(page.locator("aside.document .prose")).to_contain_text("The bell was raised.")
    canvas = page.locator(".canvas").bounding_box()
    assert canvas["width"] < wide
    assert canvas["y"] + canvas["height"] <= 800
    page.wait_for_timeout(500)
    drawn = page.evaluate("document.querySelector('.canvas').sigma.getDimensions()")
    assert drawn == {"width": round(canvas["width"]), "height": round(canvas["height"])}


def test_an_answer_is_shown_in_the_graph(open_page):
    page = open_page("#/town/ask")
    page.get_by_label("Question").fill("Who built the Skerry Light?")
    page.keyboard.press("Enter")
    page.wait_for_selector(".under")
    page.locator(".tools").get_by_role("button", name="graph").click()
    expect(page.get_by_role("heading", name="Behind an answer")).to_be_visible()
    expect(page.get_by_role("region", name="Details").get_by_role("button").first).to_be_visible()


def test_67000_entities_move_with_the_mouse_and_the_keys(open_page):
    page = open_sunflower(open_page)
    middle = middle_of(page)
    page.mouse.move(*middle)
    page.mouse.down()
    with moved_frames(page) as dragged:
        start = time.monotonic()
        while (seconds := time.monotonic() - start) < 3:
            page.mouse.move(middle[0] + 200 * math.sin(3 * seconds), middle[1] + 100 * math.sin(5 * seconds))
    page.mouse.up()
    page.wait_for_selector(".stage:not(.moving)")
    page.locator(".canvas").focus()
    with moved_frames(page) as by_keys:
        for n in range(60):
            page.keyboard.press("ArrowRight" if n % 8 < 4 else "ArrowLeft")
            page.wait_for_timeout(33)
    drawn = page.evaluate(
        """async () => {
          const sigma = document.querySelector('.canvas').sigma;
          const start = performance.now();
          for (let i = 0; i < 5; i++) {
            sigma.refresh({ partialGraph: {}, skipIndexation: true });
            await new Promise((done) => requestAnimationFrame(done));
          }
          return 5000 / (performance.now() - start);
        }"""
    )
    print(
        f"frames a second that moved the picture: {dragged['rate']:.0f} by the mouse, "
        f"{by_keys['rate']:.0f} by the keys; drawing them all each time: {drawn:.1f}"
    )
    # How many there are depends on what else runs. If no bitmap moved, there would be as many as are drawn.
    assert dragged["rate"] > 2 * drawn
    assert by_keys["rate"] > 2 * drawn


def test_the_moved_picture_is_the_one_that_is_drawn_when_the_view_rests(open_page):
    page = open_sunflower(open_page)
    middle = middle_of(page)
    canvas = page.locator(".canvas")
    before = canvas.screenshot()
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + 120, middle[1] - 70, steps=4)
    # Moving by nothing that is seen keeps the view from resting.
    page.evaluate(
        """() => {
          const camera = document.querySelector('.canvas').sigma.getCamera();
          window.moves = setInterval(() => camera.setState({ x: camera.x + 1e-9 }), 20);
        }"""
    )
    page.wait_for_selector(".stage.moving")
    moved = canvas.screenshot()
    assert page.locator(".stage.moving").count() == 1
    page.evaluate("clearInterval(window.moves)")
    page.wait_for_selector(".stage:not(.moving)")
    # The edges of circles may be smoothed a little differently.
    assert changed(page, moved, canvas.screenshot()) < 0.001
    assert changed(page, moved, before) > 0.1
    page.mouse.up()


def test_a_click_finds_the_node_below_it_while_the_picture_moves(open_page):
    page = open_sunflower(open_page)
    page.evaluate(
        "document.querySelector('.canvas').sigma.getCamera().setState({ x: 0.6, y: 0.6, ratio: 0.02 })"
    )
    page.wait_for_timeout(1000)
    # Moving on keeps the last picture, in which another node is at this place.
    id, x, y = page.evaluate(
        """() => {
          const sigma = document.querySelector('.canvas').sigma;
          const camera = sigma.getCamera();
          const box = document.querySelector('.stage').getBoundingClientRect();
          camera.setState({ x: camera.x + 0.004 });
          const cameraState = camera.getState();
          window.moves = setInterval(() => camera.setState({ x: camera.x + 1e-9 }), 20);
          let found = ["", 0, 0, Infinity];
          sigma.getGraph().forEachNode((id, at) => {
            const point = sigma.graphToViewport(at, { cameraState });
            const away = Math.hypot(point.x - box.width / 2, point.y - box.height / 2);
            if (away < found[3]) found = [id, box.x + point.x, box.y + point.y, away];
          });
          return found.slice(0, 3);
        }"""
    )
    assert page.locator(".stage.moving").count() == 1
    page.mouse.click(x, y)
    page.wait_for_url(f"**e={id}*")
    page.evaluate("clearInterval(window.moves)")


def open_sunflower(open_page):
    """Open a graph of 67,000 entities that fill the plane evenly."""
    page = open_page()
    n = 67_000
    x = [round(math.sqrt(i) * math.cos(2.4 * i), 2) for i in range(n)]
    y = [round(math.sqrt(i) * math.sin(2.4 * i), 2) for i in range(n)]
    columns = {
        "ids": [f"e{i}" for i in range(n)],
        "names": [f"Entity {i}" for i in range(n)],
        "types": [("person", "place", "work")[i % 3] for i in range(n)],
        "x": x,
        "y": y,
        "degree": [1 + n // (i + 1) for i in range(n)],
        "community": ["c"] * n,
        "edges": {"source": list(range(n - 1)), "target": list(range(1, n)), "weight": [1] * (n - 1)},
    }
    community = {"level": 0, "title": "Seeds", "size": n, "parent": None, "rank": 1}
    corners = [
        community | {"id": "low", "x": min(x), "y": min(y)},
        community | {"id": "high", "x": max(x), "y": max(y)},
    ]
    page.route("**/graph/entities?*", lambda route: route.fulfill(json=columns))
    page.route(
        "**/graph/communities*",
        lambda route: route.fulfill(json={"levels": [0], "communities": corners, "edges": []}),
    )
    page.goto(f"{page.url.split('#')[0]}#/town/graph?level=entities")
    page.wait_for_selector(f".canvas[data-nodes='{n}']", timeout=60_000)
    expect(page.locator(".graph-legend")).to_contain_text("67,000 entities, 25,000 edges")
    page.wait_for_timeout(1000)
    return page


def middle_of(page):
    box = page.locator(".canvas").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def changed(page, first, second):
    """Return the share of pixels that differ by more than a sixth of the scale of a colour."""
    return page.evaluate(
        """async (pictures) => {
          const [a, b] = await Promise.all(pictures.map(async (text) => {
            const png = new Blob([Uint8Array.from(atob(text), (each) => each.charCodeAt(0))]);
            const image = await createImageBitmap(png);
            const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
            context.drawImage(image, 0, 0);
            return context.getImageData(0, 0, image.width, image.height).data;
          }));
          let n = 0;
          for (let i = 0; i < a.length; i += 4) {
            if ([0, 1, 2].some((j) => Math.abs(a[i + j] - b[i + j]) > 42)) n++;
          }
          return 4 * n / a.length;
        }""",
        [base64.b64encode(picture).decode() for picture in (first, second)],
    )


@contextmanager
def moved_frames(page):
    """Count the frames that show the picture at another place than the frame before."""
    page.evaluate(
        """() => {
          const picture = document.querySelector('.sigma-near');
          const camera = document.querySelector('.canvas').sigma.getCamera();
          const seen = { frames: 0, start: performance.now(), on: true };
          let last = '';
          const frame = () => {
            const moving = picture.parentElement.classList.contains('moving');
            const place = moving ? picture.style.transform : JSON.stringify(camera.getState());
            if (place !== last) seen.frames++;
            last = place;
            if (seen.on) requestAnimationFrame(frame);
          };
          requestAnimationFrame(frame);
          window.seen = seen;
        }"""
    )
    found = {}
    yield found
    found["rate"] = page.evaluate(
        "() => { seen.on = false; return 1000 * seen.frames / (performance.now() - seen.start); }"
    )
