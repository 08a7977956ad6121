"""The graph of an index as a map: entities and communities with places, computed once and kept beside the layers."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polygraph.errors import BadInput, quoted
from polygraph.records import digest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from polygraph.graph.csr import Graph
    from polygraph.records import Community
    from polygraph.store.snapshot import Snapshot

_REVISION = "1"
"""Counts changes of the algorithm of places."""
_FILE = "places.npy"
_NAMED = 3
"""Members that name a community without a report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedCommunity:
    """A community with its place."""

    id: str
    level: int
    parent: str
    """Id; empty at the coarsest level."""
    title: str
    """Title of its report; without one, the names of its best connected members."""
    size: int
    """Number of entities."""
    rank: int
    """1 for the largest of its level."""
    x: float
    y: float
    r: float
    members: NDArray[np.int64]
    """Rows of its entities."""


class GraphMap:
    """The entities and communities of one state of an index, with places.

    Places lie within a disc of radius `graph.layout.RADIUS` around the origin.

    Args:
        snapshot: with the layers `graph` and, for communities, `communities`.

    Raises:
        BadInput: if there is no graph.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        if "graph" not in snapshot.layers:
            raise BadInput(
                f"the index at {snapshot.place} has no graph. Build it with: polygraph index "
                f"--index {quoted(snapshot.place)}"
            )
        self._snapshot = snapshot
        self.graph: Graph = snapshot.graph
        overview = snapshot.store.graph.entity_overview(order="mentions", limit=1 << 40)
        self.ids: list[str] = [""] * len(overview)
        self.names, self.types = list(self.ids), list(self.ids)
        self.mentions = np.zeros(len(overview), dtype=np.int64)
        for each in overview:
            self.ids[each.row], self.names[each.row], self.types[each.row] = each.id, each.name, each.type
            self.mentions[each.row] = each.n_chunks
        self.rows: Mapping[str, int] = {id: row for row, id in enumerate(self.ids)}
        self._found = snapshot.communities() if "communities" in snapshot.layers else []
        self.levels = sorted({each.level for each in self._found})
        self.places = self._places()

    @cached_property
    def communities(self) -> Mapping[str, MappedCommunity]:
        """Every community by id, by level, then by size."""
        titles = self._titles()
        members = {each.id: self._members(each) for each in self._found}
        ordered = sorted(self._found, key=lambda c: (c.level, -len(c.entities), c.id))
        found: dict[str, MappedCommunity] = {}
        ranks: dict[int, int] = {}
        for each in ordered:
            rows = members[each.id]
            at = self.places[rows]
            centre = at.mean(axis=0)
            ranks[each.level] = rank = ranks.get(each.level, 0) + 1
            found[each.id] = MappedCommunity(
                id=each.id,
                level=each.level,
                parent=each.parent,
                title=titles.get(each.id) or self._named_by(rows),
                size=len(rows),
                rank=rank,
                x=float(centre[0]),
                y=float(centre[1]),
                r=float(np.sqrt(((at - centre) ** 2).sum(axis=1).max(initial=0.0))),
                members=rows,
            )
        return found

    def community_of(self, level: int) -> NDArray[np.int64]:
        """Return the position, among the communities of a level, of that of each entity; -1 for none."""
        found = np.full(len(self.ids), -1, dtype=np.int64)
        for n, each in enumerate(self.at_level(level)):
            found[each.members] = n
        return found

    def at_level(self, level: int) -> list[MappedCommunity]:
        """Return the communities of a level, the largest first."""
        return [each for each in self.communities.values() if each.level == level]

    def edges_between(self, level: int) -> Sequence[tuple[int, int, float]]:
        """Return the edges between the communities of a level, heaviest first, as positions in `at_level`."""
        of = self.community_of(level)
        sources, targets, weights = self.graph.edges()
        a, b = of[sources], of[targets]
        kept = (a >= 0) & (b >= 0) & (a != b)
        if not kept.any():
            return []
        from polygraph.graph.csr import Graph

        joined = Graph.from_edges(int(of.max()) + 1, a[kept], b[kept], weights[kept])
        first, second, total = joined.edges()
        order = np.lexsort((second, first, -total))
        return [(int(first[i]), int(second[i]), round(float(total[i]), 3)) for i in order]

    def _members(self, community: Community) -> NDArray[np.int64]:
        return np.array([self.rows[i] for i in community.entities if i in self.rows], dtype=np.int64)

    def _named_by(self, rows: NDArray[np.int64]) -> str:
        degrees = self.graph.degrees[rows]
        best = rows[np.lexsort((rows, -degrees))][:_NAMED]
        return ", ".join(self.names[row] for row in best)

    def _titles(self) -> dict[str, str]:
        if "reports" not in self._snapshot.layers:
            return {}
        return {report.community: report.title for report in self._snapshot.store.reports.all()}

    def _places(self) -> NDArray[np.float64]:
        """Return the stored places, or compute and store them; in a folder that cannot be written they are not kept."""
        folder = self._folder()
        with suppress(OSError, ValueError):
            stored: NDArray[np.float64] = np.load(folder / _FILE, allow_pickle=False)
            if stored.shape == (len(self.ids), 2):
                return stored
        from polygraph.graph.layout import place

        hierarchy = []
        for level in self.levels:
            of = np.full(len(self.ids), -1, dtype=np.int64)
            for n, each in enumerate(c for c in self._found if c.level == level):
                of[self._members(each)] = n
            hierarchy.append(of)
        places = np.round(place(self.graph, hierarchy).entities, 1)
        with suppress(OSError):
            _store(folder, places)
        return places

    def _folder(self) -> Path:
        versions = self._snapshot.versions
        name = digest("layout", _REVISION, versions["graph"], versions.get("communities", ""))[:12]
        return self._snapshot.folder / "derived" / f"layout-{name}"


def _store(folder: Path, places: NDArray[np.float64]) -> None:
    """Keep places, and delete those of earlier states."""
    from polygraph.store.atomic_files import write_folder

    if not folder.parent.is_dir():
        return
    write_folder(folder, lambda target: np.save(target / _FILE, places), sealed=True)
    for earlier in folder.parent.glob("layout-*"):
        if earlier != folder:
            shutil.rmtree(earlier, ignore_errors=True)
