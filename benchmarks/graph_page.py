"""How smoothly the page moves the graph of an index in a browser, and when its first picture is there.

    python benchmarks/graph_page.py INDEX [--browser chromium] [--width 1280]

Starts `polygraph serve` and a browser without a graphics card, opens every entity of the index, then drags with the
mouse (through the view and back, and around the middle), holds arrow keys, and zooms with the wheel, 3 s each. A frame
counts if what it shows is at another place than in the frame before. The browser's own trace says how many frames were
drawn to the screen: it must not be fewer, or frames were counted that nobody saw. Needs Playwright for Python.
"""

import argparse
import json
import math
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

_TOKEN = "benchmark-" + "x" * 24
_FLAGS = ["--no-sandbox", "--enable-unsafe-swiftshader", "--use-angle=swiftshader"]
_SECONDS = 3.0
_RECORD = """() => {
  const picture = document.querySelector('.sigma-near');
  const camera = document.querySelector('.canvas').sigma.getCamera();
  const seen = window.seen = { times: [], moved: 0, on: true };
  let last = '';
  const frame = (now) => {
    const moving = picture.parentElement.classList.contains('moving');
    const place = moving ? picture.style.transform : JSON.stringify(camera.getState());
    if (last && place !== last) seen.moved++;
    last = place;
    seen.times.push(now);
    if (seen.on) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}"""


@contextmanager
def served(index: Path) -> Iterator[str]:
    """Yield the address of a server over an index."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "polygraph", "serve", "--port", str(port), "--offline", "--read-only",
         "--index", f"measured={index}"],
        env=os.environ | {"POLYGRAPH_SERVER_TOKENS": f"benchmark read {_TOKEN}"},
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        while True:
            try:
                urllib.request.urlopen(f"{address}/healthz", timeout=2).close()
                break
            except OSError:
                if process.poll() is not None:
                    raise SystemExit("the server has stopped") from None
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait(30)


def first_picture(page: Any) -> float:
    """Return the seconds from the last navigation, or from `window.began`, until the entities are on the screen."""
    ms: float = page.evaluate(
        """async () => {
          const frame = () => new Promise((done) => requestAnimationFrame(done));
          while (!(Number(document.querySelector('.canvas')?.dataset.nodes) > 3000)) await frame();
          for (let i = 0; i < 2; i++) await frame();
          return performance.now() - (window.began ?? 0);
        }"""
    )
    return ms / 1000


def measure(browser: Any, page: Any, name: str, move: Callable[[float], None]) -> None:
    """Move the view for some seconds by a function of the time, and print the frames."""
    browser.start_tracing(page=page, categories=["viz"])
    page.evaluate(_RECORD)
    start = time.monotonic()
    while (seconds := time.monotonic() - start) < _SECONDS:
        move(seconds)
    seen = page.evaluate("() => { seen.on = false; return seen; }")
    trace = json.loads(browser.stop_tracing())["traceEvents"]
    drawn = sum(each["name"] == "Display::DrawAndSwap" and each["ph"] in "XB" for each in trace)
    times = seen["times"]
    taken = (times[-1] - times[0]) / 1000
    gaps = sorted(b - a for a, b in pairwise(times))
    print(
        f"| {name} | {seen['moved'] / taken:.0f} | {drawn / taken:.0f} | {statistics.median(gaps):.0f} "
        f"| {gaps[int(0.95 * len(gaps))]:.0f} | {gaps[-1]:.0f} |",
        flush=True,
    )
    page.wait_for_timeout(1500)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("index", type=Path)
    parser.add_argument("--browser", default="chromium")
    parser.add_argument("--width", type=int, default=1280)
    given = parser.parse_args()
    with served(given.index) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which(given.browser), args=_FLAGS)
        page = browser.new_page(viewport={"width": given.width, "height": 800})
        page.goto(f"{address}/#token={_TOKEN}")
        page.goto(f"{address}/#/measured/graph")
        page.wait_for_selector(".canvas[data-nodes]:not([data-nodes='0'])", timeout=120_000)
        page.wait_for_timeout(1000)
        page.evaluate(
            """() => {
              window.began = performance.now();
              [...document.querySelectorAll('button')].find((each) => each.textContent === 'entities').click();
            }"""
        )
        print(f"first picture after the choice of entities: {first_picture(page):.1f} s")
        print(page.locator(".graph-legend .number").first.inner_text())
        page.goto(f"{address}/#/measured/graph?level=entities")
        page.reload()
        print(f"first picture after loading the page at its address: {first_picture(page):.1f} s")
        page.wait_for_timeout(2000)
        box = page.locator(".canvas").bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        reach = 0.42 * box["width"]
        print(
            "| movement | frames a second that moved | drawn | median ms | 95% | worst |\n|---|---|---|---|---|---|"
        )

        def around(seconds: float) -> None:
            page.mouse.move(x + 0.4 * reach * math.sin(3 * seconds), y + 100 * math.sin(5 * seconds))

        def through(seconds: float) -> None:
            page.mouse.move(x - reach * math.cos(math.pi * seconds / _SECONDS * 2), y)

        def keys(seconds: float) -> None:
            page.keyboard.down("ArrowRight" if seconds % 1 < 0.5 else "ArrowLeft")
            page.wait_for_timeout(30)  # as a held key repeats

        def wheel(seconds: float) -> None:
            page.mouse.wheel(0, -100 if seconds % 2 < 1 else 100)
            page.wait_for_timeout(60)

        for zoom in (1, 0.1):
            page.evaluate(
                "(ratio) => document.querySelector('.canvas').sigma.getCamera().setState({ x: 0.5, y: 0.5, ratio })",
                zoom,
            )
            page.wait_for_timeout(1500)
            for name, move in (
                ("drag around the middle", around),
                ("drag through the view and back", through),
            ):
                page.mouse.move(x - (reach if move is through else 0), y)
                page.mouse.down()
                measure(browser, page, f"{name}, zoom {1 / zoom:g}", move)
                page.mouse.up()
                page.wait_for_timeout(1500)
            page.locator(".canvas").focus()
            measure(browser, page, f"arrow keys, zoom {1 / zoom:g}", keys)
            page.keyboard.up("ArrowRight")
            page.keyboard.up("ArrowLeft")
        page.mouse.move(x, y)
        measure(browser, page, "wheel, in and out", wheel)
        browser.close()


if __name__ == "__main__":
    main()
