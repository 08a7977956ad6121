"""What the readers of single files hand to `load`."""

from dataclasses import dataclass, field

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


@dataclass(frozen=True, slots=True)
class Content:
    """What a file holds."""

    drafts: list[Draft]
    flaws: list[Flaw] = field(default_factory=list)
