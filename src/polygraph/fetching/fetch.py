"""Fetch the pages of listed addresses and sitemaps into a folder; a later run asks only for what has changed."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from polygraph.errors import BadInput
from polygraph.fetching.addresses import file_name, normal_address, read_list, site_of
from polygraph.fetching.client import Client, FetchFailed, Reply
from polygraph.fetching.page_folder import PageFolder
from polygraph.fetching.politeness import Politeness
from polygraph.fetching.sitemaps import MAX_BYTES as MAX_SITEMAP_BYTES
from polygraph.fetching.sitemaps import read_sitemap
from polygraph.ingest import EVERYTHING, FORMATS, Selection
from polygraph.ingest.formats import ARCHIVE, BINARY, MAIL_ARCHIVE
from polygraph.ingest.readers.html import declared_charset

_SUFFIXES = {
    "application/epub+zip": ".epub", "application/json": ".json", "application/mbox": ".mbox",
    "application/pdf": ".pdf", "application/rtf": ".rtf", "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/x-ndjson": ".jsonl", "application/xhtml+xml": ".html", "message/rfc822": ".eml", "text/csv": ".csv",
    "text/html": ".html", "text/markdown": ".md", "text/rtf": ".rtf", "text/tab-separated-values": ".tsv",
    "text/x-rst": ".rst",
}  # fmt: skip
"""Suffix by type of content."""
_VAGUE = frozenset({"", "application/octet-stream", "binary/octet-stream", "text/plain"})
"""Types that say nothing of the format; the address may."""
_CHARSET = re.compile(r"charset\s{0,4}=\s{0,4}\"?([\w.:-]{2,40})", re.IGNORECASE)
_GONE = frozenset({404, 410})
_BUSY = frozenset({429, 503})
_ATTEMPTS = 3
_DEFAULT_RETRY_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """How much is fetched, and how fast."""

    max_pages: int = 1_000
    """Addresses of one run."""
    max_page_bytes: int = 20_000_000
    max_total_bytes: int = 5_000_000_000
    max_sitemaps: int = 200
    """Sitemaps that sitemaps list."""
    pause_s: float = 1.0
    """Between two requests to one site; its robots.txt may ask for more."""
    deadline_s: float = 120.0
    """For one page."""


@dataclass(slots=True, kw_only=True)
class FetchReport:
    """What a run did."""

    folder: str
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    """Pages that are gone and whose files were deleted."""
    failed: list[tuple[str, str]] = field(default_factory=list)
    """Address and reason, by address."""
    left_out: int = 0
    """Addresses above the limit of pages."""
    elsewhere: int = 0
    """Addresses of sitemaps that belong to other sites."""

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON of `fetch`."""
        return asdict(self)


def fetch_pages(
    addresses: Sequence[str | Path],
    folder: Path,
    *,
    sitemaps: Sequence[str] = (),
    selection: Selection = EVERYTHING,
    limits: FetchLimits | None = None,
    allow_private: bool = False,
    prune: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> FetchReport:
    """Fetch pages into a folder that can be indexed. An interrupted run continues where it stopped.

    Nothing is followed but redirects: what is fetched was listed by the user, or by a sitemap of the same site.

    Args:
        addresses: addresses of pages, and files with one address per line.
        folder: with a folder for each host; created if it is not there.
        sitemaps: addresses of sitemaps, of their indexes, or of lists of addresses.
        selection: of the paths of addresses, without the leading ``/``.
        limits: how much, and how fast.
        allow_private: reach addresses of this machine and of private networks too.
        prune: delete the files of pages that are gone (status 404 or 410).
        progress: called with pages done and of how many.

    Raises:
        BadInput: if an address or a list is none, a sitemap cannot be read, or nothing is selected.
        MissingExtra: without the extra `web`.
        StorageFailed: if the folder cannot be written.
    """
    limits = limits or FetchLimits()
    listed = _listed(addresses)
    roots = [normal_address(each) for each in sitemaps]
    client = Client(allow_private=allow_private, deadline_s=limits.deadline_s)
    politeness = Politeness(client.get, limits.pause_s)
    report = FetchReport(folder=str(folder))
    try:
        listed += _of_sitemaps(client, politeness, roots, limits, report)
        wanted = [url for url in dict.fromkeys(listed) if _takes(selection, url)]
        if not wanted:
            raise BadInput(
                "no address is left to fetch. Name pages, a list or --sitemap, and check the patterns"
            )
        report.left_out = max(0, len(wanted) - limits.max_pages)
        wanted = wanted[: limits.max_pages]
        with PageFolder(folder) as pages:
            left = limits.max_total_bytes
            for done, url in enumerate(_by_turns(wanted)):
                if progress is not None:
                    progress(done, len(wanted))
                if url in pages.finished:
                    report.unchanged += pages.page(url) is not None
                    continue
                try:
                    left -= _fetch(
                        url, client, politeness, pages, report, min(limits.max_page_bytes, left), prune
                    )
                except FetchFailed as problem:
                    report.failed.append((url, str(problem)))
                pages.finish(url)
            pages.end_run()
    finally:
        client.close()
    report.failed.sort()
    return report


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPage:
    """A single page."""

    url: str
    """As asked for, in normal form."""
    name: str
    """For a file."""
    body: bytes


def fetch_page(address: str, *, max_bytes: int, deadline_s: float) -> FetchedPage:
    """Fetch one page of the public web.

    Args:
        address: of the page.
        max_bytes: of the page.
        deadline_s: for its robots.txt, and for itself.

    Raises:
        BadInput: if it is no address.
        FetchFailed: if the page cannot be fetched or read, `PrivateAddress` if it is not public.
        MissingExtra: without the extra `web`.
    """
    url = normal_address(address)
    client = Client(allow_private=False, deadline_s=deadline_s)
    try:
        reply = client.get(url, max_bytes, allowed=Politeness(client.get, 0.0))
    finally:
        client.close()
    if reply.status != 200:
        raise FetchFailed(f"has the status {reply.status}")
    suffix = _suffix(reply)
    return FetchedPage(url=url, name=file_name(url, suffix), body=_in_utf8(reply, suffix))


def _listed(addresses: Sequence[str | Path]) -> list[str]:
    found: list[str] = []
    for each in addresses:
        if isinstance(each, str) and re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://", each):
            found.append(normal_address(each))
        else:
            found += read_list(Path(each))
    return found


def _of_sitemaps(
    client: Client, politeness: Politeness, roots: Sequence[str], limits: FetchLimits, report: FetchReport
) -> list[str]:
    """Return the pages that sitemaps list, those of one before those of the next.

    Raises:
        BadInput: if one that the user named cannot be read; others are counted as failed.
    """
    found: dict[str, None] = {}
    seen = dict.fromkeys(roots)
    waiting = deque(roots)
    while waiting:
        url = waiting.popleft()
        try:
            reply = client.get(url, MAX_SITEMAP_BYTES, allowed=politeness)
            if reply.status != 200:
                raise FetchFailed(f"has the status {reply.status}")
            pages, more = read_sitemap(reply.body)
        except (FetchFailed, BadInput) as problem:
            if url in roots:
                raise BadInput(f"the sitemap {url} cannot be used: {problem}") from problem
            report.failed.append((url, f"as a sitemap: {problem}"))
            continue
        mine = [each for each in pages if site_of(each) == site_of(url)]
        report.elsewhere += len(pages) - len(mine)
        found.update(dict.fromkeys(mine))
        for each in more:
            if (
                each not in seen
                and site_of(each) == site_of(url)
                and len(seen) < limits.max_sitemaps + len(roots)
            ):
                seen[each] = None
                waiting.append(each)
    return list(found)


def _fetch(
    url: str,
    client: Client,
    politeness: Politeness,
    pages: PageFolder,
    report: FetchReport,
    max_bytes: int,
    prune: bool,
) -> int:
    """Fetch one page, and return the number of its bytes.

    Raises:
        FetchFailed: if it is not there, or not what can be read.
    """
    if max_bytes <= 0:
        raise FetchFailed("comes after the limit of all bytes together")
    before = pages.page(url)
    reply = _get_with_retries(
        url, client, politeness, max_bytes, before.conditions if before is not None else {}
    )
    if reply.status == 304 and before is not None:
        report.unchanged += 1
        return 0
    if reply.status in _GONE and before is not None and prune:
        pages.remove(url)
        report.removed += 1
        return 0
    if reply.status != 200:
        kept = "; the file of an earlier run is kept" if before is not None else ""
        raise FetchFailed(f"has the status {reply.status}{kept}")
    suffix = _suffix(reply)
    changed = pages.save(url, _in_utf8(reply, suffix), suffix, reply.headers)
    if before is None:
        report.new += 1
    elif changed:
        report.changed += 1
    else:
        report.unchanged += 1
    return len(reply.body)


def _get_with_retries(
    url: str, client: Client, politeness: Politeness, max_bytes: int, conditions: dict[str, str]
) -> Reply:
    """Get an address, and again while the server is busy, after the delay that it asks for."""
    for attempt in range(1, _ATTEMPTS + 1):
        reply = client.get(url, max_bytes, conditions, allowed=politeness)
        if reply.status not in _BUSY or attempt == _ATTEMPTS:
            break
        asked = reply.headers.get("retry-after", "")
        politeness.put_off(reply.url, float(asked) if asked.isdecimal() else _DEFAULT_RETRY_S)
    return reply


def _suffix(reply: Reply) -> str:
    """Return the suffix by which loaders know the format of a reply.

    Raises:
        FetchFailed: if it is of none that is read.
    """
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in _SUFFIXES:
        return _SUFFIXES[kind]
    own = PurePosixPath(unquote(urlsplit(reply.url).path)).suffix.lower()
    if kind in _VAGUE or kind.startswith("text/"):
        if own in FORMATS:
            return own
        if kind.startswith("text/"):
            return ".txt"
    raise FetchFailed(f"is {kind[:100] or 'of no stated type'}, which is not read")


def _in_utf8(reply: Reply, suffix: str) -> bytes:
    """Return the body in UTF-8 if only the header gave its encoding, which a file does not keep."""
    told = _CHARSET.search(reply.headers.get("content-type", ""))
    if told is None or FORMATS[suffix] in BINARY | {ARCHIVE, MAIL_ARCHIVE}:
        return reply.body
    if suffix == ".html" and declared_charset(reply.body):
        return reply.body
    try:
        return reply.body.decode(told[1]).encode("utf-8")
    except (LookupError, ValueError):
        return reply.body


def _by_turns(urls: Iterable[str]) -> list[str]:
    """Return addresses so that sites take turns, since each must be given time."""
    by_site: dict[str, list[str]] = {}
    for url in urls:
        by_site.setdefault(site_of(url), []).append(url)
    return [url for turn in zip_longest(*by_site.values()) for url in turn if url is not None]


def _takes(selection: Selection, url: str) -> bool:
    """Tell whether the path of an address is selected, as that of a file below the folders that lead to it."""
    parts = [part for part in unquote(urlsplit(url).path).split("/") if part]
    folders = ("/".join(parts[:n]) for n in range(1, len(parts)))
    return all(selection.takes(each, folder=True) for each in folders) and selection.takes(
        "/".join(parts) or "index", folder=False
    )
