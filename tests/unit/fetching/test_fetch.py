"""Pages from a real server on loopback: politeness, bounds, what changed, and what a server may not do."""

import gzip
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("protego", reason="needs the extra `web`")

from polygraph.errors import BadInput
from polygraph.fetching import FetchLimits, fetch_pages
from polygraph.fetching.addresses import file_name, folder_name, normal_address, read_list
from polygraph.fetching.client import FetchFailed, Reply, is_public
from polygraph.fetching.politeness import Politeness
from polygraph.fetching.sitemaps import read_sitemap
from polygraph.ingest import load_documents, select

FAST = FetchLimits(pause_s=0.0, deadline_s=5.0, max_page_bytes=100_000)


class Site:
    """A server whose pages are functions of the request, with a log of what was asked for."""

    def __init__(self):
        self.pages, self.asked = {}, []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                site.asked.append((self.path, dict(self.headers)))
                status, headers, body = site.pages.get(self.path, lambda _: (404, {}, b""))(self)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if status != 304:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def page(self, path, body, kind="text/html", status=200, **headers):
        data = body if isinstance(body, bytes) else body.encode()
        fields = {"Content-Type": kind} | {name.replace("_", "-"): value for name, value in headers.items()}
        self.pages[path] = lambda _: (status, fields, data)
        return self.url + path

    def paths(self):
        return [path for path, _ in self.asked if path != "/robots.txt"]


@pytest.fixture
def site():
    found = Site()
    yield found
    found.server.shutdown()
    found.server.server_close()


def fetch(addresses, folder, limits=FAST, **options):
    return fetch_pages(addresses, folder, limits=limits, allow_private=True, **options)


def counts(report):
    return report.new, report.changed, report.unchanged, len(report.failed)


def test_pages_become_documents_that_know_their_address(site, tmp_path):
    urls = [
        site.page("/guide/Bell.html", "<title>Bells</title><p>Ines Corve cast the bell.</p>"),
        site.page("/raw", "The barque Halcyon struck Grey Reef.", "text/plain; charset=utf-8"),
        site.page("/data.csv", "ship,year\nHalcyon,1874\n", "application/octet-stream"),
    ]
    (tmp_path / "list.txt").write_text("# pages\n\n" + "\n".join(urls) + "\n")
    report = fetch([tmp_path / "list.txt"], tmp_path / "pages")
    assert counts(report) == (3, 0, 0, 0)
    documents = load_documents([tmp_path / "pages"]).documents
    assert {d.metadata["source"] for d in documents} == set(urls)
    assert {d.metadata["format"] for d in documents} == {"html", "txt", "csv"}
    assert next(d.title for d in documents if d.metadata["format"] == "html") == "Bells"
    (alone,) = load_documents([documents[0].source]).documents
    assert "source" not in alone.metadata  # the list counts for its folder


def test_a_second_run_asks_for_changes_only_and_gives_the_same_bytes(site, tmp_path):
    def dated(request):
        if request.headers.get("If-None-Match") == '"1"':
            return 304, {"Content-Encoding": "gzip"}, b""
        return 200, {"Content-Type": "text/html", "ETag": '"1"'}, b"<p>One"

    site.pages["/a"] = dated
    urls = [site.url + "/a", site.page("/b", "<p>Two")]
    fetch(urls, tmp_path / "p")
    files = {p.name: p.read_bytes() for p in (tmp_path / "p").rglob("*") if p.is_file()}
    assert counts(fetch(urls[::-1], tmp_path / "p")) == (0, 0, 2, 0)
    assert {p.name: p.read_bytes() for p in (tmp_path / "p").rglob("*") if p.is_file()} == files
    site.page("/b", "<p>Three")
    assert counts(fetch(urls, tmp_path / "p")) == (0, 1, 1, 0)


def test_pages_that_are_gone_stay_until_they_are_pruned(site, tmp_path):
    url = site.page("/a", "<p>One")
    fetch([url], tmp_path / "p")
    del site.pages["/a"]
    report = fetch([url], tmp_path / "p")
    assert report.failed == [(url, "has the status 404; the file of an earlier run is kept")]
    assert len(list((tmp_path / "p").rglob("*.html"))) == 1
    assert fetch([url], tmp_path / "p", prune=True).removed == 1
    assert not list((tmp_path / "p").rglob("*.html"))


def test_an_interrupted_run_goes_on_where_it_was(site, tmp_path):
    urls = [site.page(f"/{n}", f"<p>Page {n}") for n in range(6)]

    def stop(done, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(urls, tmp_path / "p", progress=stop)
    assert len(site.paths()) == 3
    assert counts(fetch(urls, tmp_path / "p")) == (3, 0, 3, 0)
    assert sorted(site.paths()) == [f"/{n}" for n in range(6)]
    # A finished run is forgotten: the next asks for everything.
    fetch(urls, tmp_path / "p")
    assert len(site.paths()) == 12


def test_sitemaps_of_sitemaps_list_pages_of_their_own_site(site, tmp_path):
    for n in range(3):
        site.page(f"/docs/{n}", f"<p>Page {n}")
    one = f"<urlset><url><loc>{site.url}/docs/0?a=1&amp;b=2</loc></url><url><loc>http://other.example/</loc></url></urlset>"
    site.page("/docs/0?a=1&b=2", "<p>Zero")
    site.page("/one.xml.gz", gzip.compress(one.encode()), "application/gzip")
    site.page("/two.txt", f"{site.url}/docs/1\n{site.url}/news/2\n", "text/plain")
    index = "".join(
        f"<s:sitemap><s:loc>{site.url}/{each}</s:loc></s:sitemap>"
        for each in ("one.xml.gz", "two.txt", "none.xml")
    )
    root = site.page(
        "/sitemap.xml", f'<s:sitemapindex xmlns:s="x">{index}</s:sitemapindex>', "application/xml"
    )
    report = fetch([], tmp_path / "p", sitemaps=[root], selection=select(exclude=["news/"]))
    assert report.new == 2
    assert report.elsewhere == 1
    assert report.failed == [(f"{site.url}/none.xml", "as a sitemap: has the status 404")]
    with pytest.raises(BadInput, match=r"none\.xml cannot be used: has the status 404"):
        fetch([], tmp_path / "q", sitemaps=[f"{site.url}/none.xml"])


def test_robots_are_obeyed_also_behind_a_redirect(site, tmp_path):
    site.page(
        "/robots.txt", "User-agent: *\nDisallow: /private/*.html$\nAllow: /private/open.html\n", "text/plain"
    )
    urls = [
        site.page("/private/a.html", "<p>x"),
        site.page("/private/open.html", "<p>y"),
        site.page("/hop", "", status=302, Location="/private/a.html"),
    ]
    report = fetch(urls, tmp_path / "p")
    assert counts(report) == (1, 0, 0, 2)
    assert {reason for _, reason in report.failed} == {"is forbidden by the site's robots.txt"}
    assert "/private/a.html" not in site.paths()


@pytest.mark.parametrize(("status", "allowed"), [(404, True), (403, True), (500, False), (429, False)])
def test_a_site_whose_robots_cannot_be_read_is_left_alone(site, tmp_path, status, allowed):
    site.page("/robots.txt", "", status=status)
    assert fetch([site.page("/a", "<p>x")], tmp_path / "p").new == allowed


def test_requests_to_a_site_wait_as_long_as_it_asks():
    now, slept = [0.0], []
    robots = {
        "https://a.org": b"User-agent: *\nCrawl-delay: 5",
        "https://b.org": b"",
        "https://c.org": b"User-agent: *\nCrawl-delay: 999",
    }

    def get(url, _):
        return Reply(url=url, status=200, headers={}, body=robots[url.removesuffix("/robots.txt")])

    def sleep(seconds):
        slept.append(seconds)
        now[0] += seconds

    ask = Politeness(get, 1.0, sleep=sleep, clock=lambda: now[0])
    for url in ("https://a.org/1", "https://b.org/1", "https://a.org/2", "https://b.org/2"):
        ask(url)
    assert slept == [1.0, 1.0, 4.0]
    with pytest.raises(FetchFailed, match="more than 60 s"):
        ask("https://c.org/1")
    ask.put_off("https://b.org/1", 10_000)
    ask("https://b.org/3")
    assert slept[-1] == 60.0


def test_this_machine_and_private_networks_are_not_reached(site, tmp_path):
    url = site.page("/a", "<p>secret")
    report = fetch_pages([url, url.replace("127.0.0.1", "localhost")], tmp_path / "p", limits=FAST)
    assert len(report.failed) == 2
    assert all("--allow-private" in reason for _, reason in report.failed)
    assert not site.asked
    private = "10.1.2.3 172.16.0.1 192.168.1.1 100.64.0.1 0.0.0.0 224.0.0.1 ::1 fe80::1 fc00::1"
    embedded = "fec0::1 64:ff9b:1::7f00:1 ::127.0.0.1 ::ffff:10.0.0.1 64:ff9b::7f00:1 2002:7f00:1::"
    assert not any(map(is_public, f"{private} {embedded}".split()))
    assert all(map(is_public, ("8.8.8.8", "2606:4700::1111", "64:ff9b::808:808")))


def test_what_a_server_sends_is_bounded(site, tmp_path):
    def endless(request):
        request.send_response(200)
        request.send_header("Content-Type", "text/html")
        request.end_headers()
        for _ in range(10_000):
            request.wfile.write(b"x" * 10_000)
        return 200, {}, b""

    def slow(request):
        request.send_response(200)
        request.end_headers()
        for _ in range(40):
            request.wfile.write(b"x")
            time.sleep(0.1)
        return 200, {}, b""

    site.pages["/endless"], site.pages["/slow"] = endless, slow
    site.pages["/short"] = lambda request: (
        200,
        {"Content-Type": "text/html"},
        request.headers["Accept-Encoding"].encode(),
    )
    bomb = gzip.compress(b"0" * 50_000_000)
    urls = [
        site.url + "/endless",
        site.url + "/slow",
        site.page("/bomb", bomb, Content_Encoding="gzip"),
        site.page("/other", b"x", Content_Encoding="br"),
        site.page("/broken", b"no gzip", Content_Encoding="gzip"),
        site.page("/cut", gzip.compress(b"<p>" + bytes(range(256)) * 9)[:200], Content_Encoding="gzip"),
        site.page("/round", "", status=301, Location="/round"),
        site.page("/file", "", status=302, Location="file:///etc/passwd"),
        site.page("/picture", b"x", "image/png"),
        site.page("/good", "<p>good"),
    ]
    limits = FetchLimits(pause_s=0.0, deadline_s=1.0, max_page_bytes=100_000)
    report = fetch(urls, tmp_path / "p", limits)
    reasons = {url.rpartition("/")[2]: reason for url, reason in report.failed}
    assert report.new == 1
    assert reasons["endless"] == reasons["bomb"] == "has over 0.1 MB"
    assert reasons["slow"] == "takes longer than 1 s"
    assert "br" in reasons["other"]
    assert "unpacked" in reasons["broken"]
    assert reasons["cut"] == "ends before its packed content does"
    assert "more than 5 times" in reasons["round"]
    assert "not a page" in reasons["file"]
    assert reasons["picture"] == "is image/png, which is not read"
    total = FetchLimits(pause_s=0.0, max_total_bytes=8)
    report = fetch([site.page("/x", "<p>1234"), site.page("/y", "<p>5")], tmp_path / "q", total)
    assert counts(report) == (1, 0, 0, 1)
    assert "MB" in report.failed[0][1]


def test_a_busy_server_is_asked_again_when_it_says(site, tmp_path):
    replies = [
        (503, {"Retry-After": "0"}, b""),
        (429, {"Retry-After": "0"}, b""),
        (200, {"Content-Type": "text/html"}, b"<p>x"),
    ]
    site.pages["/a"] = lambda _: replies.pop(0)
    assert fetch([site.url + "/a"], tmp_path / "p").new == 1
    assert not replies


def test_an_encoding_that_only_the_header_tells_is_kept(site, tmp_path):
    url = site.page("/a", "Größe: fünf Fuß. Ærø".encode("latin-1"), "text/plain; charset=iso-8859-1")
    fetch([url], tmp_path / "p")
    (document,) = load_documents([tmp_path / "p"]).documents
    assert document.text.startswith("Größe: fünf Fuß. Ærø")


def test_addresses_never_become_paths(site, tmp_path):
    url = site.page("/..%2f..%2fetc/passwd", "<p>x")
    fetch([url], tmp_path / "p")
    files = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert all(p.is_relative_to(tmp_path / "p") for p in files)
    listed = next(p for p in files if p.name == ".polygraph-pages.jsonl")
    row = json.loads(listed.read_text())
    (tmp_path / "victim.html").write_text("keep")
    listed.write_text(json.dumps(row | {"file": "../../victim.html"}) + "\nno json\n")
    del site.pages["/..%2f..%2fetc/passwd"]
    fetch([url], tmp_path / "p", prune=True)
    assert (tmp_path / "victim.html").read_text() == "keep"
    assert folder_name("http://a_b.example:80/") == "a-b.example-80"
    assert file_name("http://a.org/" + "x" * 500, ".html") == file_name("http://a.org/" + "x" * 500, ".html")
    assert len(file_name("http://a.org/" + "x" * 500, ".html")) < 90


@pytest.mark.parametrize(
    "text",
    [
        "ftp://a.org/",
        "javascript:alert(1)",
        "http://",
        "https://u:p@a.org/",
        "http://a b/",
        "http://[::1",
        "x" * 3000,
    ],
)
def test_what_is_no_address_is_refused_with_its_line(tmp_path, text):
    with pytest.raises(BadInput):
        normal_address(text)
    (tmp_path / "list").write_text(f"https://a.org/\n{text}\n")
    with pytest.raises(BadInput, match="line 2"):
        read_list(tmp_path / "list")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<html><a href='x'>",
        b"\x1f\x8bbroken",
        gzip.compress(b"http://a.org/", mtime=0)[:-9],
        b"<urlset/>",
    ],
)
def test_what_is_no_sitemap_is_refused(data):
    with pytest.raises(BadInput):
        read_sitemap(data)


def test_two_runs_do_not_write_one_folder(site, tmp_path):
    url = site.page("/a", "<p>x")

    def second(done, total):
        with pytest.raises(BadInput, match="another process"):
            fetch([url], tmp_path / "p")

    assert fetch([url], tmp_path / "p", progress=second).new == 1
