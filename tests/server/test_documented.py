"""The page on the server lists every address, and no other."""

import re
from pathlib import Path

from tests.server.conftest import ADMIN

PAGE = Path(__file__).parents[2] / "docs" / "server.md"
BESIDE = {("GET", "/openapi.json")}


def plain(path):
    return re.sub(r"\{\w+\}", "{}", path)


def test_every_address_is_documented_and_no_other(server):
    with server.client(ADMIN) as client:
        paths = client.get("/openapi.json").json()["paths"]
    real = {(verb.upper(), plain(path)) for path, verbs in paths.items() for verb in verbs}
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    named = {
        (verb, plain(path)) for row in rows for verb, path in re.findall(r"`(GET|POST|DELETE) (/\S+)`", row)
    }
    assert named == real | BESIDE
