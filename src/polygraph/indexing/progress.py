"""Progress of long work, and the report of a build."""

import threading
from dataclasses import dataclass, field
from typing import Any, Protocol

from polygraph import notebook
from polygraph.records import Usage


class Progress(Protocol):
    """A callback that receives the progress of each stage."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """`done` of `total` items of a stage are finished."""


STAGE_NAMES = {
    "documents": "reading",
    "chunk_vectors": "embedding passages",
    "extraction": "extracting names and relations",
    "resolution": "resolving names",
    "suggest_same": "reading lists of names",
    "same": "asking about names",
    "descriptions": "writing descriptions",
    "entity_vectors": "embedding entities",
    "name_vectors": "embedding names",
    "description_vectors": "embedding descriptions",
    "relation_vectors": "embedding relations",
    "fact_vectors": "embedding facts",
    "predicate_vectors": "embedding predicates",
    "reports": "writing reports",
    "report_vectors": "embedding reports",
}
"""What is done at the stages of a build, for people."""


def stage_name(stage: str) -> str:
    """Return what is done at a stage; the stage itself if it is none of a build.

    >>> stage_name("same"), stage_name("waiting for another writer")
    ('asking about names', 'waiting for another writer')
    """
    return STAGE_NAMES.get(stage, stage)


def no_progress(stage: str, done: int, total: int) -> None:
    """Ignore progress."""


class SharedCounter:
    """Reports the progress of a stage whose items several threads finish: one call at a time, and never backwards."""

    def __init__(self, progress: Progress, stage: str, done: int, total: int) -> None:
        self._progress, self._stage = progress, stage
        self._done, self._total = done, total
        self._lock = threading.Lock()

    def add_one(self) -> None:
        """Count one more item; callable from any thread."""
        with self._lock:
            self._done += 1
            self._progress(self._stage, self._done, self._total)


@dataclass(slots=True, kw_only=True)
class BuildReport:
    """What a build did."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    unread: tuple[tuple[str, str], ...] = ()
    """Files that could not be read, as ``(path, reason)``."""
    built: dict[str, float] = field(default_factory=dict)
    """Seconds by layer, for the layers that were built; the others were up to date."""
    counts: dict[str, int] = field(default_factory=dict)
    """Documents, chunks, windows by state, entities, relations, communities, reports, relations left out."""
    lost_relations: list[dict[str, Any]] = field(default_factory=list)
    """The first relations that were extracted and are not in the graph, with the reason; see `lost_relations`."""
    notes: list[str] = field(default_factory=list)
    """What is weaker than it could be, and why."""
    usage: Usage = field(default_factory=Usage)
    """Cost of the model calls of this build."""
    source: dict[str, int] = field(default_factory=dict)
    """For an imported graph: what its files held, and the rows that were made from it."""
    forgotten: bool = False
    """Whether what had to be forgotten is deleted from every file of the index."""

    def _repr_html_(self) -> str:
        done = {name: getattr(self, name) for name in ("added", "changed", "unchanged", "removed")}
        unread = [f"not read: {path}: {reason}" for path, reason in self.unread]
        return notebook.facts_html("Build", done | self.counts, [*self.notes, *unread])
