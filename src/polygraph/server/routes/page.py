"""The page: files that were built from `web/`, or a plain page that says how to build them."""

import mimetypes
import re
import threading
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from fastapi import APIRouter, Response

from polygraph.server.state import State
from polygraph.server.views import graph as graph_views

router = APIRouter(include_in_schema=False)

FOLDER = Path(__file__).parent.parent / "page"
"""Where the build puts the page; empty in a clone that was not built."""
_CSP = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types polygraph-report"
)
_NAME = re.compile(r"[\w-]+(\.[\w-]+)*")
_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
"""Not left to the tables of the system, some of which call JavaScript text/plain."""
_YEAR = "public, max-age=31536000, immutable"
_NOT_BUILT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Polygraph</title></head>
<body><h1>Polygraph</h1>
<p>The page is not built in this clone. Build it, with Node.js 20 or newer, with: <code>make web</code></p>
<p>The API under <code>/api/v1</code> works without it.</p></body></html>
"""


class _File(NamedTuple):
    content: bytes
    media_type: str
    changed_ns: int


@router.get("/")
def page(state: State) -> Response:
    """Return the page, and begin to make the maps that it will ask for; a server of programs needs none."""
    if not state.makes_maps:
        state.makes_maps = True
        threading.Thread(target=graph_views.prepare, args=(state.indexes.all(),), daemon=True).start()
    found = _read(FOLDER / "index.html")
    content = found.content if found else _NOT_BUILT.encode()
    headers = {"content-security-policy": _CSP, "cache-control": "no-cache"}
    return Response(content, media_type="text/html", headers=headers)


@router.get("/assets/{name}")
def asset(name: str) -> Response:
    """Return a file of the page. Its name contains a hash of its content, so that browsers keep it."""
    found = _read(FOLDER / "assets" / name) if _NAME.fullmatch(name) else None
    if found is None:
        return Response("there is no such file\n", 404, media_type="text/plain")
    return Response(found.content, media_type=found.media_type, headers={"cache-control": _YEAR})


def _read(file: Path) -> _File | None:
    try:
        return _cached(file, file.stat().st_mtime_ns)
    except OSError:
        return None


@lru_cache(maxsize=64)
def _cached(file: Path, changed_ns: int) -> _File:
    """Return a file; read again when it has changed, as while the page is being worked on."""
    guess = _TYPES.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return _File(file.read_bytes(), guess, changed_ns)
