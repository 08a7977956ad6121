"""The addresses in a sitemap (sitemaps.org protocol): a set of pages, an index of sitemaps, or a plain list."""

import zlib
from html import unescape

from polygraph.errors import BadInput
from polygraph.fetching.addresses import normal_address
from polygraph.ingest.readers.html import tags

MAX_ENTRIES = 50_000
"""Most entries of one sitemap, as the protocol says."""
MAX_BYTES = 52_428_800
"""Most bytes of one unpacked sitemap, as the protocol says."""


def read_sitemap(data: bytes) -> tuple[list[str], list[str]]:
    """Return the pages and the further sitemaps that a sitemap lists, each in its order; other lines are skipped.

    Args:
        data: XML, or one address per line, possibly packed with gzip.

    Raises:
        BadInput: if it is too large, damaged, or holds no address.
    """
    text = _unpacked(data).decode("utf-8-sig", "replace")
    pages: list[str] = []
    sitemaps: list[str] = []
    if text.lstrip()[:1] == "<":
        within, value = "", ""
        for before, name, _ in tags(text, xml=True):
            plain = (
                name.rpartition(":")[2]
                if not name.startswith("/")
                else "/" + name.rpartition(":")[2].lstrip("/")
            )
            value += before
            if plain in ("url", "sitemap"):
                within = plain
            if plain == "loc":
                value = ""
            elif plain == "/loc":
                _add(sitemaps if within == "sitemap" else pages, unescape(value))
    else:
        for line in text.splitlines():
            _add(pages, line)
    if not pages and not sitemaps:
        raise BadInput("is not a sitemap: it lists no address")
    return pages[:MAX_ENTRIES], sitemaps[:MAX_ENTRIES]


def _add(found: list[str], text: str) -> None:
    text = text.strip().removeprefix("<![CDATA[").removesuffix("]]>")
    try:
        found.append(normal_address(text))
    except BadInput:
        return


def _unpacked(data: bytes) -> bytes:
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        unpacker = zlib.decompressobj(31)
        text = unpacker.decompress(data, MAX_BYTES)
    except zlib.error as problem:
        raise BadInput(f"is damaged: {problem}") from problem
    if unpacker.unconsumed_tail:
        raise BadInput(f"has over {MAX_BYTES // 1_000_000} MB unpacked")
    if not unpacker.eof:
        raise BadInput("is damaged: it ends too early")
    return text
