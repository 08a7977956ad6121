"""What the readers of single files hand to `load`."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from polygraph.records import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A text that was read, before it has an id."""

    text: str
    title: str = ""
    """Empty if the file does not say; `load` then finds one."""
    key: str = ""
    """The record's own id; empty if it has none."""
    ordinal: int = 0
    """Line, row or place of the record in its file, from 1; 0 if the text is the whole file."""
    metadata: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Flaw:
    """A record that could not be read while the rest of its file could."""

    ordinal: int
    """Line, row or place in the file, from 1."""
    reason: str


class Drafts(Protocol):
    """Texts that are there, or that are made as they are asked for."""

    def __iter__(self) -> Iterator[Draft]:
        """Each once, in order."""

    def __len__(self) -> int:
        """How many there are at most."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a file holds."""

    drafts: Drafts
    flaws: list[Flaw] = field(default_factory=list)
    """Complete when all drafts were taken."""
