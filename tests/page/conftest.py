"""The page in a real Chromium, in front of a real server over the sample collection."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the extra `server`")
playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright for Python")

# On a busy machine five seconds, the default, are not enough.
playwright.expect.set_options(timeout=30_000)

ROOT = Path(__file__).parent.parent.parent
BUILT = ROOT / "src/polygraph/server/page/index.html"
COMMAND = [sys.executable, "-m", "polygraph"]
TOKEN = "page-tests-token-of-enough-length"
AXE = ROOT / "web/node_modules/axe-core/axe.min.js"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# Background requests of the browser itself would fail and be counted as those of the page. Without a GPU, pages are put
# together with less work where no GPU is imitated for it; WebGL needs one.
FLAGS = [
    "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--enable-unsafe-swiftshader", "--use-angle=swiftshader", "--disable-gpu-compositing",
]  # fmt: skip
NOTES = {
    "light.txt": "Mara Quill built the Skerry Light in 1869. She paid for the lamp with her own money.",
    "ship.txt": "The barque Halcyon struck Grey Reef in 1874. Captain Tobin saw the Skerry Light too late.",
    "attack.md": "# Slate <img src=x onerror=window.attacked=1>\n\n"
    "Ines Corve wrote <script>window.attacked=1</script> on a slate.",
}


@pytest.fixture(scope="session")
def town(tmp_path_factory):
    """The folder of an index of `NOTES`, which nothing may change."""
    if not BUILT.is_file():
        pytest.skip("the page is not built; build it with: make web")
    folder = tmp_path_factory.mktemp("page")
    source = folder / "notes"
    source.mkdir()
    for name, text in NOTES.items():
        (source / name).write_text(text)
    subprocess.run(
        [*COMMAND, "index", str(source), "--index", str(folder / "town.index"), "--offline"],
        check=True, capture_output=True, timeout=240,
    )  # fmt: skip
    return folder / "town.index"


@pytest.fixture(scope="session")
def server(town):
    """The address of a server over the index `town`, with documents, and `new` and `unused`, without."""
    folder = town.parent
    (folder / "studies").mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", str(port), "--offline", "--index", f"town={town}",
         "--index", f"new={folder / 'new.index'}", "--index", f"unused={folder / 'unused.index'}",
         "--studies", str(folder / "studies")],
        env=os.environ | {"POLYGRAPH_SERVER_TOKENS": f"tester admin {TOKEN}"},
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        _measure(folder)  # while the server starts
        wait_for(f"{address}/healthz", process)
        yield address
    finally:
        process.terminate()
        process.wait(30)


def _measure(folder):
    """Write a retrieval evaluation of the index as a user would."""
    questions = folder / "questions.jsonl"
    asked = [("Who built the Skerry Light?", "light.txt"), ("What did the Halcyon strike?", "ship.txt")]
    lines = [
        json.dumps({"id": f"q{n}", "question": text, "evidence": [gold]})
        for n, (text, gold) in enumerate(asked)
    ]
    questions.write_text("\n".join(lines))
    with (folder / "studies" / "town.json").open("wb") as file:
        subprocess.run(
            [*COMMAND, "eval", "retrieval", "--questions", str(questions), "--index",
             str(folder / "town.index"), "--offline", "--json"],
            check=True, stdout=file, timeout=240,
        )  # fmt: skip


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    with playwright.sync_playwright() as started:
        opened = next(filter(None, (_launched(started.chromium) for _ in range(3))), None)
        assert opened is not None, "Chromium was started three times and drew nothing"
        yield opened
        opened.close()


def _launched(chromium):
    """Start the browser; None if it draws nothing, as when one of its helpers has crashed: each test would time out."""
    opened = chromium.launch(executable_path=CHROMIUM, args=FLAGS)
    page = opened.new_page()
    try:
        page.goto("data:text/html,<p>drawn</p>", timeout=20_000)
        page.wait_for_selector("p", timeout=20_000)
        # A click waits until its element stands still for two frames.
        page.wait_for_function("true", polling="raf", timeout=20_000)
        page.screenshot(timeout=20_000)
    except playwright.TimeoutError:
        opened.close()
        return None
    page.close()
    return opened


@pytest.fixture
def open_page(server, browser):
    """Return a function that opens the page at an address; afterwards, no request may have left the server."""
    contexts, requests, errors, said, servers = [], [], [], [], {server}

    def open_at(place="", *, width=1280, dark=False, token=TOKEN, page=None, server=server):
        servers.add(server)
        if page is None:
            address = f"{server}/#token={token}" if token else server
            context = browser.new_context(
                viewport={"width": width, "height": 800},
                color_scheme="dark" if dark else "light",
                accept_downloads=True,
            )
            context.set_default_timeout(30_000)
            contexts.append(context)
            page = context.new_page()
            page.on("request", lambda request: requests.append(request.url))
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on("console", lambda message: said.append(message.text))
            response = page.goto(address)
            try:
                page.wait_for_selector("header.top nav, .token")
            except playwright.TimeoutError as error:
                what = f"status {response.status}, errors {errors}, console {said}, requests {requests}"
                raise AssertionError(f"the page shows nothing: {what}\n{page.content()[:4_000]}") from error
        if place:
            page.goto(f"{server}/{place}")
        return page

    yield open_at
    foreign = [each for each in requests if not each.startswith((*servers, "blob:", "about:"))]
    for context in contexts:
        context.close()
    assert not foreign
    assert not errors


@pytest.fixture
def serious_findings():
    """Return a function that names what axe-core calls serious or critical."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed; install it with: make web")
    return _serious_findings


def _serious_findings(page):
    page.evaluate("() => {" + AXE.read_text() + "}")
    # Sizes of controls are not among what axe-core looks at by itself.
    options = "{resultTypes: ['violations'], rules: {'target-size': {enabled: true}}}"
    found = page.evaluate(f"axe.run(document, {options})")
    serious = [each for each in found["violations"] if each["impact"] in ("serious", "critical")]
    for each in serious:
        # What lies half below the bar or the question field is scrolled to before it is used.
        each["nodes"] = [node for node in each["nodes"] if "partially obscured" not in node["failureSummary"]]
    return [
        f"{each['id']}: {[node['target'] for node in each['nodes'][:3]]} {each['nodes'][0]['failureSummary'][:200]}"
        for each in serious
        if each["nodes"]
    ]


def wait_for(address, process):
    deadline = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(address, timeout=2).close()
            return
        except OSError:
            assert process.poll() is None, "the server has stopped"
            assert time.monotonic() < deadline, "the server does not start"
            time.sleep(0.1)
