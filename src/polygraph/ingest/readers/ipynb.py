"""Jupyter notebooks, read with the standard library."""

import json
import re
from typing import Any

from polygraph.errors import BadInput
from polygraph.ingest.content import FileContent, LoadedText
from polygraph.ingest.limits import ReadLimits
from polygraph.ingest.readers.plain_text import read_markdown

_MAX_OUTPUT = 2_000
"""Characters of the output of one cell that are read: tables of numbers and progress bars go on for pages."""
_ESCAPES = re.compile("\x1b\\[[0-9;]{0,20}[A-Za-z]")


def read_ipynb(text: str) -> FileContent:
    """Read the cells of a notebook in order: text as it is, code between fences, and the text of outputs.

    Raises:
        BadInput: if it is no notebook, or has too many cells (see `limits`).
    """
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise BadInput(f"is not a notebook: {problem}; save it again") from problem
    if not isinstance(notebook, dict):
        raise BadInput("is not a notebook: it holds no cells")
    cells = notebook.get("cells")
    sheets = notebook.get("worksheets")
    if cells is None and isinstance(sheets, list):  # before version 4
        cells = [cell for sheet in _dicts(sheets) for cell in _dicts(sheet.get("cells"))]
    if not isinstance(cells, list):
        raise BadInput("is not a notebook: it holds no cells")
    language = _language(notebook)
    limits = ReadLimits()
    blocks: list[str] = []
    for cell in _dicts(cells):
        limits.count()
        kind = cell.get("cell_type")
        source = _joined(cell.get("source", cell.get("input")))
        if kind == "heading":
            blocks.append(f"# {source}")
        elif kind != "code":
            blocks.append(source)
        else:
            if source.strip():
                blocks.append(f"```{language}\n{source.rstrip()}\n```")
            for output in _dicts(cell.get("outputs")):
                limits.count()
                blocks.append(_output(output))
    whole = "\n\n".join(block.strip("\n") for block in blocks if block.strip())
    title = next((each.title for each in read_markdown(whole).texts), "")
    return FileContent([LoadedText(text=whole, title="" if title.startswith("```") else title)])


def _output(output: dict[str, Any]) -> str:
    data = output.get("data")
    found = _joined(output.get("text")) or (_joined(data.get("text/plain")) if isinstance(data, dict) else "")
    found = _ESCAPES.sub("", found[: 2 * _MAX_OUTPUT]).strip()
    return found if len(found) <= _MAX_OUTPUT else found[: _MAX_OUTPUT - 1] + "…"


def _language(notebook: dict[str, Any]) -> str:
    metadata = notebook.get("metadata")
    about = metadata.get("language_info") if isinstance(metadata, dict) else None
    name = about.get("name") if isinstance(about, dict) else ""
    return name if isinstance(name, str) and re.fullmatch(r"[\w+#.-]{1,30}", name) else ""


def _joined(value: object) -> str:
    """Return a text that a notebook holds as one string or as a list of lines."""
    if isinstance(value, list):
        return "".join(line for line in value if isinstance(line, str))
    return value if isinstance(value, str) else ""


def _dicts(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
