"""The texts of a file, before they become documents with ids."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from polygraph.records import Json

_SENTENCE_ENDS = (".", "!", "?", "…", ":", "”", '"', "。", "！", "？")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedTable:
    """A table of a text, in which each row is a line."""

    columns: tuple[str, ...]
    """Distinct names."""
    rows: tuple[tuple[str, ...], ...]
    """Cells, as many as there are columns."""
    lines: tuple[str, ...]
    """The line of each row in the text."""
    title: str = ""
    """Caption or name of the sheet; empty if there is none, so that the heading above it counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedText:
    """A text of a file, without an id yet."""

    text: str
    title: str = ""
    """Empty if the file has none; another is then found for the document."""
    key: str = ""
    """The record's own id; empty if it has none."""
    ordinal: int = 0
    """Line, row or position of the record in its file, from 1; 0 if the text is the whole file."""
    metadata: dict[str, Json] = field(default_factory=dict)
    tables: tuple[LoadedTable, ...] = ()
    """In the order of the text."""


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that is not read while the rest of its file is."""

    ordinal: int
    """Line, row or position in the file, from 1."""
    reason: str
    key: str = ""
    """Its own id, or else its position; empty if any document of the file may be the one that is missing."""
    holds_nothing: bool = False
    """Whether it was read, and there is no text in it."""


MAX_BAD_RECORDS = 10_000
"""Records of one file that are listed."""


class LoadedTexts(Protocol):
    """Texts that are in memory, or that are read as they are asked for."""

    def __iter__(self) -> Iterator[LoadedText]:
        """Yield each once, in order."""

    def __len__(self) -> int:
        """Return how many there are at most."""


@dataclass(frozen=True, slots=True)
class FileContent:
    """The texts of one file."""

    texts: LoadedTexts
    bad_records: list[BadRecord] = field(default_factory=list)
    """Complete when all texts were taken."""


def join_blocks(blocks: Iterable[tuple[str, str]]) -> str:
    r"""Join blocks, given as kind and text, by a blank line; items of a list, and rows of a table, by a line break.

    >>> join_blocks([("block", "Bring:"), ("item", "- oil"), ("item", "- rope")])
    'Bring:\n\n- oil\n- rope'
    """
    parts: list[str] = []
    previous = ""
    for kind, text in blocks:
        if text:
            if parts:
                parts.append("\n" if kind == previous != "block" else "\n\n")
            parts.append(text)
            previous = kind
    return "".join(parts)


def join_pages(texts: list[str], gap: str = "") -> tuple[str, list[int]]:
    r"""Join pages so that a sentence may go on over the end of a page.

    Args:
        texts: of the pages.
        gap: between two pages; if empty, a paragraph break after a page that ends a sentence, else a line break.

    Returns:
        The text, and the offset where each page starts.

    >>> join_pages(["It rained", "all day.", "Then fog."])
    ('It rained\nall day.\n\nThen fog.', [0, 10, 20])
    """
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    previous = ""
    for text in texts:
        if previous and text:
            join = gap or ("\n\n" if previous.endswith(_SENTENCE_ENDS) else "\n")
            parts.append(join)
            length += len(join)
        starts.append(length)
        parts.append(text)
        length += len(text)
        previous = text or previous
    return "".join(parts), starts
