"""The entities of an index: what names were made one, and decisions that correct it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from polygraph.errors import BadInput, quoted
from polygraph.store.postgres.folder import place_of

if TYPE_CHECKING:
    from polygraph.indexing.entities.decisions import Decision
    from polygraph.indexing.entities.history import EntityHistory, PairHistory
    from polygraph.indexing.maintain import IndexWriter
    from polygraph.indexing.progress import BuildReport, Progress
    from polygraph.store.protocol import DecisionKind, EntityOrder, EntityOverview, LostRelation, StoreReader

SplitBy: TypeAlias = Literal["document", "type"]

_MARKS: dict[SplitBy, str] = {"document": " @ *", "type": " # *"}
"""What stands behind a name that is split, see `extract.resolution.constraints`."""
_EVERYTHING = 1 << 40
_SHOWN = 20
"""Entities of a change that are returned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityChange:
    """What a decision changed."""

    decisions: tuple[Decision, ...]
    """The decisions that were made or undone."""
    entities: tuple[EntityOverview, ...]
    """The entities that have the names now, those with the most mentions first; at most 20."""
    report: BuildReport
    """Report on the layers that were built."""


class Entities:
    """The entities of one index. Decisions are recorded, and every later build follows them.

    Made by `Index.entities`. A name in an argument is an id, a name or alias of an entity, or ``name @ document`` for
    the entity of this name in one document. Case and punctuation do not matter; accents do not if no entity has the
    name with the same ones. Every method raises `BadInput` for a name that no entity has, with the most similar names,
    and where several entities have it.
    """

    def __init__(
        self, folder: Path, open_writer: Callable[[Progress, float], AbstractContextManager[IndexWriter]]
    ) -> None:
        self._folder, self._open_writer = folder, open_writer

    # --- looking ------------------------------------------------------------------------------------

    def list(
        self, *, order: EntityOrder = "mentions", type: str | None = None, limit: int | None = None
    ) -> tuple[EntityOverview, ...]:
        """Return entities.

        Args:
            order: ``mentions``: those in the most chunks first; ``name``: by name.
            type: only entities of this type, such as ``person``.
            limit: most entities; default: all.

        Raises:
            BadInput: if there is no such order, or no graph.
        """
        from polygraph.indexing.entities.find import require_graph
        from polygraph.store.protocol import EntityOrder

        if order not in get_args(EntityOrder):
            raise BadInput(f"--sort {order!r} is not one of: {', '.join(get_args(EntityOrder))}")
        with self._reading() as store:
            require_graph(store)
            kind = type.casefold() if type is not None else None
            found = store.graph.entity_overview(order=order, kind=kind, limit=_limit(limit))
        return tuple(found)

    def find(self, text: str, *, limit: int | None = None) -> tuple[EntityOverview, ...]:
        """Return the entities with a name or alias that contains a text: exact names first, then by mentions."""
        from polygraph.indexing.entities.find import find_entities

        with self._reading() as store:
            return tuple(find_entities(store, text, limit=_limit(limit)))

    def why(self, name: str) -> tuple[EntityHistory, ...]:
        """Return which names were merged into each entity of a name or kept apart from it, and why; by id."""
        from polygraph.indexing.entities.history import explain_entity

        with self._reading() as store:
            return tuple(explain_entity(store, name))

    def why_pair(self, a: str, b: str) -> PairHistory:
        """Return why two names are one entity or two."""
        from polygraph.indexing.entities.history import explain_pair

        with self._reading() as store:
            return explain_pair(store, a, b)

    def decisions(self) -> tuple[Decision, ...]:
        """Return every decision in the order in which they were made."""
        from polygraph.indexing.entities.decisions import decisions

        with self._reading() as store:
            return tuple(decisions(store))

    def lost(self, *, self_loops: bool = False) -> tuple[LostRelation, ...]:
        """Return the relations that were extracted and are nowhere in the graph, with the reason, by document.

        Args:
            self_loops: also those whose two names are one entity, whose descriptions are kept with it.
        """
        from polygraph.indexing.lost_relations import lost_relations

        with self._reading() as store:
            return tuple(lost_relations(store, self_loops=self_loops))

    # --- deciding -----------------------------------------------------------------------------------

    def merge(self, a: str, b: str, *, progress: Progress | None = None, wait_s: float = 0.0) -> EntityChange:
        """Decide that two names are one entity, and update the layers without calling a chat model.

        Raises:
            BadInput: if they are one entity already, or another decision keeps them apart.
        """
        from polygraph.indexing.entities.decisions import key_of, require_no_conflict
        from polygraph.indexing.entities.find import find_entity, names_of

        with self._reading() as store:
            first, second = find_entity(store, a), find_entity(store, b)
            if first.id == second.id:
                raise BadInput(f"{a!r} and {b!r} are one entity already: {first.id!r}")
            keys = key_of(store, first, a), key_of(store, second, b)
            require_no_conflict(store, keys, names_of(first), names_of(second))
        return self._decide("merge", *keys, (first.name, second.name), progress, wait_s)

    def split(
        self,
        name: str,
        other: str | None = None,
        *,
        by: SplitBy | None = None,
        progress: Progress | None = None,
        wait_s: float = 0.0,
    ) -> EntityChange:
        """Decide that two names are two entities, or that a name is another entity in each document or with each type.

        Args:
            name: of the entity.
            other: another name of the same entity, which becomes an entity of its own.
            by: what distinguishes the entities that share the name; give this or `other`.
            progress: called after each item of each stage.
            wait_s: how long to wait while another process is writing.

        Raises:
            BadInput: if not exactly one of `other` and `by` is given, or they are two entities already.
        """
        from polygraph.indexing.entities.decisions import shared_name, split_keys
        from polygraph.indexing.entities.find import find_entity

        if by not in (None, *get_args(SplitBy)):
            raise BadInput(f"--by {by!r} is not one of: {', '.join(get_args(SplitBy))}")
        if (other is None) == (by is None):
            raise BadInput("split takes another name of the entity, or --by document, or --by type")
        with self._reading() as store:
            first = find_entity(store, name)
            if other is None:
                keys = (f"{shared_name(store, first, name)}{_MARKS[by or 'document']}",) * 2
            else:
                if first.id != find_entity(store, other).id:
                    raise BadInput(f"{name!r} and {other!r} are two entities already")
                keys = split_keys(store, first, name, other)
        return self._decide("split", min(keys), max(keys), keys, progress, wait_s)

    def rename(
        self, name: str, new: str, *, progress: Progress | None = None, wait_s: float = 0.0
    ) -> EntityChange:
        """Rename an entity; its old name becomes an alias.

        Raises:
            BadInput: if another entity has the new name, or it is empty or too long.
        """
        from polygraph.indexing.entities.decisions import rename_key, usable_name
        from polygraph.indexing.entities.find import find_entity

        with self._reading() as store:
            entity = find_entity(store, name)
            new = usable_name(store, entity, new)
            key = rename_key(store, entity, name)
        return self._decide("rename", key, new, (new,), progress, wait_s)

    def undo(
        self, number: int | None = None, *, progress: Progress | None = None, wait_s: float = 0.0
    ) -> EntityChange:
        """Undo a decision; one that it replaced is in force again.

        Args:
            number: of the decision, from `decisions`; default: the last one.
            progress: called after each item of each stage.
            wait_s: how long to wait while another process is writing.

        Raises:
            BadInput: if there is no such decision.
        """
        made = self.decisions()
        undone = made[-1:] if number is None else tuple(d for d in made if d.number == number)
        if not undone:
            what = "no decision to undo" if number is None else f"no decision {number}"
            raise BadInput(
                f"there is {what}. List them with: polygraph entities decisions --index "
                f"{quoted(place_of(self._folder))}"
            )
        report = self._write((), {undone[0].number}, progress, wait_s)
        return self._change(undone, (undone[0].a, undone[0].b), report)

    # --- parts --------------------------------------------------------------------------------------

    def _decide(
        self,
        kind: DecisionKind,
        a: str,
        b: str,
        names: Sequence[str],
        progress: Progress | None,
        wait_s: float,
    ) -> EntityChange:
        report = self._write([(kind, a, b)], (), progress, wait_s)
        return self._change(self.decisions()[-1:], names, report)

    def _write(
        self,
        decisions: Sequence[tuple[DecisionKind, str, str]],
        undo: Collection[int],
        progress: Progress | None,
        wait_s: float,
    ) -> BuildReport:
        from polygraph.indexing.progress import no_progress

        with self._open_writer(progress or no_progress, wait_s) as writer:
            return writer.decide(decisions, undo=undo)

    def _change(
        self, decisions: Sequence[Decision], names: Sequence[str], report: BuildReport
    ) -> EntityChange:
        from polygraph.extract.resolution.constraints import parse_key

        with self._reading() as store:
            keys = sorted({parse_key(name).name for name in names})
            rows = {row for found in store.graph.entities_named(keys).values() for row in found}
            entities = store.graph.entity_overview(order="mentions", rows=sorted(rows), limit=_SHOWN)
        return EntityChange(decisions=tuple(decisions), entities=tuple(entities), report=report)

    @contextmanager
    def _reading(self) -> Iterator[StoreReader]:
        from polygraph.store.generations import open_finished

        with closing(open_finished(self._folder)) as store:
            yield store


def _limit(limit: int | None) -> int:
    if limit is not None and limit < 1:
        raise BadInput(f"--limit {limit} shows nothing. Give at least 1")
    return limit or _EVERYTHING
