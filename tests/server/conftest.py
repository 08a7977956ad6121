"""A server on loopback over a small index, with a scripted chat model."""

import asyncio
import atexit
import shutil
import tempfile
import threading
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import httpx
import pytest

from polygraph.config import Settings
from polygraph.testing import hashed_models, scripted_chat
from polygraph.workspace.index import Index

pytest.importorskip("fastapi", reason="needs the extra `server`")

from polygraph.server.access.tokens import parse_tokens
from polygraph.server.app import create_app
from polygraph.server.run import listen, make_server
from polygraph.server.settings import ServerSettings

PAPERS = {
    "light.txt": "Mara Quill built the Skerry Light in 1869. She paid for the lamp with her own money.",
    "ship.txt": "The barque Halcyon struck Grey Reef in 1874. Captain Tobin saw the Skerry Light too late.",
    "page.txt": "Ines Corve wrote <script>alert('x')</script> on a slate. <img src=x onerror=alert(1)> it said.",
}
READ, WRITE, ADMIN = "r" * 32, "w" * 32, "a" * 32
TOKENS = parse_tokens(f"ada read {READ}\nbea write {WRITE}\ncleo admin {ADMIN}\ndora read {'d' * 32}", "test")


class Running:
    """A server in a thread of its own."""

    def __init__(self, app, settings):
        self.app = app
        self.server = make_server(app, settings, self._started)
        self.socket = listen("127.0.0.1", 0)
        self.port = self.socket.getsockname()[1]
        self.ready = threading.Event()
        self.url = f"http://127.0.0.1:{self.port}"
        self.thread = threading.Thread(
            target=lambda: asyncio.run(self.server.serve(sockets=[self.socket])), daemon=True
        )
        self.thread.start()
        assert self.ready.wait(60)

    def _started(self, _):
        self.ready.set()

    def client(self, token=READ, **options):
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, **options)

    def stop(self):
        self.server.should_exit = True
        self.thread.join(60)
        assert not self.thread.is_alive()


@contextmanager
def serving(indexes, **settings):
    """Serve indexes by name on a free port."""
    chosen = ServerSettings(**settings)
    running = Running(create_app(indexes, TOKENS, chosen), chosen)
    try:
        yield running
    finally:
        running.stop()


def build(folder, papers=PAPERS, chat=None, **settings):
    """Return a small index, open; the same papers are indexed once."""
    shutil.copytree(_built(tuple(papers.items())), folder)
    return Index.open(folder, settings=Settings(**settings), models=hashed_models(chat or scripted_chat()))


@cache
def _built(papers):
    kept = tempfile.mkdtemp(prefix="polygraph-served-")
    atexit.register(shutil.rmtree, kept, ignore_errors=True)
    source = Path(kept) / "papers"
    source.mkdir()
    for name, text in papers:
        (source / name).write_text(text)
    index = Index.open(Path(kept) / "index", settings=Settings(), models=hashed_models(scripted_chat()))
    index.add(source)
    index.release()
    return index.folder


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One server for the tests of a file, over the index `papers`."""
    with serving({"papers": build(tmp_path_factory.mktemp("served") / "papers")}) as running:
        yield running


@pytest.fixture(scope="module")
def offline_server(tmp_path_factory):
    """One server for the tests of a file, over the index `papers` without a chat model."""
    folder = tmp_path_factory.mktemp("offline") / "papers"
    build(folder).close()
    with serving({"papers": Index.open(folder, settings=Settings(), models=hashed_models())}) as running:
        yield running


@pytest.fixture
def client(server):
    """A client with a token to read."""
    with server.client() as client:
        yield client


def events_of(text):
    """Return the events of a stream as (id, kind, data)."""
    import json

    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            found.append((lines.get("id", ""), lines["event"], json.loads(lines["data"])))
    return found
