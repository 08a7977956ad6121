"""EPUB books, read with the standard library."""

import posixpath
import zipfile
from html import unescape
from typing import NamedTuple
from urllib.parse import unquote

from polygraph.errors import BadInput
from polygraph.ingest.content import FileContent, LoadedText
from polygraph.ingest.decode import HoldsNothing, decode, open_zip
from polygraph.ingest.limits import ReadLimits
from polygraph.ingest.readers.html import attributes, page_text, tags
from polygraph.ingest.source_fields import author_field


class _Package(NamedTuple):
    """What the package document of a book says of it."""

    title: str
    author: str
    chapters: list[str]
    """Where each stands, relative to the package document, in reading order; a chapter may be listed several times."""


def read_epub(data: bytes, max_bytes: int) -> FileContent:
    """Read the chapters of an EPUB book in reading order, each once, with the reader for HTML.

    Raises:
        BadInput: if it is damaged, too large unpacked, or protected.
    """
    with open_zip(data, max_bytes) as book:
        names = set(book.namelist())
        if "META-INF/rights.xml" in names:
            raise BadInput("is a protected (DRM) book, which cannot be read")
        container = _member(book, "META-INF/container.xml", names)
        roots = [
            attributes(raw).get("full-path", "") for _, name, raw in tags(container) if name == "rootfile"
        ]
        package = _read_package(_member(book, roots[0], names) if roots else "")
        folder = posixpath.dirname(roots[0]) if roots else ""
        limits = ReadLimits()
        chapters: dict[str, str] = {}
        for href in package.chapters:
            limits.count()
            path = posixpath.normpath(posixpath.join(folder, unquote(href.split("#")[0])))
            if path not in chapters:  # a spine that names one chapter a million times is no longer book
                chapters[path] = page_text(_member(book, path, names), xml=True)[0]
    text = "\n\n".join(filter(None, chapters.values()))
    if not text:
        raise HoldsNothing("holds no text in its chapters")
    title = " ".join(package.title.split())
    return FileContent([LoadedText(text=text, title=title, metadata=author_field(package.author))])


def _read_package(package: str) -> _Package:
    hrefs: dict[str, str] = {}
    spine: list[str] = []
    title = author = ""
    in_title = in_author = False
    for text, name, raw in tags(package, xml=True):
        if in_title:
            title, in_title = title + text, False
        if in_author:
            author, in_author = unescape(text), False
        if name == "item":
            item = attributes(raw)
            if "html" in item.get("media-type", ""):
                hrefs[item.get("id", "")] = item.get("href", "")
        elif name == "itemref":
            spine.append(attributes(raw).get("idref", ""))
        elif name == "dc:title" and not title:
            in_title = True
        elif name == "dc:creator" and not author:
            in_author = True
    return _Package(title, author, [hrefs[item] for item in spine if item in hrefs])


def _member(archive: zipfile.ZipFile, path: str, names: set[str]) -> str:
    if path not in names:
        raise BadInput(f"is damaged: its part {path[:200]!r} is missing")
    return decode(archive.read(path))[0]
