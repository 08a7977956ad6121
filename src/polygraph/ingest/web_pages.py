"""Where the files of a folder came from on the web: a list beside them, written by `polygraph fetch`."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

PAGES_FILE = ".polygraph-pages.jsonl"
"""One page a line, with at least its `url` and the name of its `file` in the same folder."""
MAX_LIST_BYTES = 100_000_000
_ADDRESS = re.compile(r"https?://[!-~]{1,2000}")


def page_line(url: str, file: str) -> bytes:
    """Return a line of the list for a page of which nothing else is known."""
    return json.dumps({"file": file, "url": url}).encode() + b"\n"


def page_addresses(folder: Path) -> Mapping[str, str]:
    """Return the address of each fetched page in a folder, by the name of its file; lines that say nothing are skipped.

    The last line of a file counts. A list that cannot be read is none: the pages are still documents.
    """
    try:
        with (folder / PAGES_FILE).open("rb") as file:
            lines = file.read(MAX_LIST_BYTES).splitlines()
    except OSError:
        return {}
    found: dict[str, str] = {}
    for line in lines:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        url, name = (row.get("url"), row.get("file")) if isinstance(row, dict) else (None, None)
        if isinstance(name, str) and isinstance(url, str) and _ADDRESS.fullmatch(url):
            found[name] = url
    return found
