"""A page of the web as a document: fetched by the server, within its bounds and from public addresses only."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import pytest

from polygraph.fetching import client
from tests.server.conftest import WRITE, build, serving
from tests.server.test_jobs import DOCUMENTS, FAST, finished

pytest.importorskip("protego", reason="needs the extra `web`")


@pytest.fixture(scope="module")
def writer(tmp_path_factory):
    index = build(tmp_path_factory.mktemp("pages") / "papers")
    with serving({"papers": index}, open_index=FAST) as server, server.client(WRITE) as client:
        yield client


def test_a_page_of_the_web_becomes_a_document_that_knows_its_address(writer, monkeypatch):

    page = b"<title>Bells</title><p>Ines Corve cast the bell of Grey Reef in 1882."
    with small_site({"/bell": page}) as site:
        refused = writer.post(DOCUMENTS, json={"url": f"{site}/bell"})
        assert refused.status_code == 422
        assert "not of the public web" in refused.json()["detail"]
        # The address of a test is never public; all else is as it is.
        monkeypatch.setattr(client, "is_public", lambda _: True)
        missing = writer.post(DOCUMENTS, json={"url": f"{site}/none"})
        assert missing.json()["detail"] == "the page was not fetched: has the status 404"
        job = finished(writer, writer.post(DOCUMENTS, json={"url": f"{site}/bell"}).json()["job"])
    assert job["state"] == "done"
    (found,) = (
        each for each in writer.get(f"{DOCUMENTS}?q=bell").json()["documents"] if each["title"] == "Bells"
    )
    shown = writer.get(f"{DOCUMENTS}/{quote(found['id'])}").json()
    assert shown["fields"]["source"] == f"{site}/bell"
    assert (
        finished(writer, writer.delete(f"{DOCUMENTS}/{quote(found['id'])}").json()["job"])["state"] == "done"
    )


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://a.org/x", "javascript:1", "https://u:p@a.org/"])
def test_what_is_no_page_is_not_fetched(writer, url):
    assert 400 <= writer.post(DOCUMENTS, json={"url": url}).status_code < 500


@contextmanager
def small_site(pages):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = pages.get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
