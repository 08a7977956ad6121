"""Why names were merged into one entity or kept apart."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from polygraph.extract.resolution.constraints import ConstraintKey, parse_key
from polygraph.extract.resolution.names.name_parts import split_name
from polygraph.extract.resolution.records import Merge, PairDecision
from polygraph.indexing.entities.decisions import Decision, decided_names, decisions
from polygraph.indexing.entities.find import documents_of, entities_named, find_entity, names_of
from polygraph.indexing.written_evidence import as_written, texts_about
from polygraph.records import Entity
from polygraph.store.protocol import NamePair, StoreReader
from polygraph.text.normalize import normalize_name, same_when_typed

R = TypeVar("R", Merge, PairDecision)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityHistory:
    """Why an entity is what it is."""

    entity: Entity
    merges: tuple[Merge, ...]
    """Names that were merged into it, sorted by name and document."""
    kept_apart: tuple[PairDecision, ...]
    """Pairs of one of its names with one of another entity that were compared and not merged, sorted."""
    decisions: tuple[Decision, ...]
    """Decisions that name it, in the order in which they were made."""
    documents: tuple[tuple[str, int], ...]
    """Documents that mention it, with the number of chunks; sorted by id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairHistory:
    """Why two names are one entity or two."""

    same: bool
    """Whether they are one entity."""
    entities: tuple[str, str]
    """Ids of their entities."""
    merges: tuple[Merge, ...]
    """If they are one: the merges that lead from one name to the other, by name; none if both are one name."""
    kept_apart: tuple[PairDecision, ...]
    """If they are two: the comparisons of names of both; none if no rule compared them."""
    decisions: tuple[Decision, ...]
    """Decisions that name both, and those that gave the entity one of the names."""


def explain_entity(store: StoreReader, text: str) -> list[EntityHistory]:
    """Return why each entity with a name is what it is, by id."""
    log = decisions(store)
    found = []
    for entity in sorted(entities_named(store, text), key=lambda entity: entity.id):
        names = names_of(entity)
        said = texts_about(store, [entity])
        found.append(
            EntityHistory(
                entity=entity,
                merges=_written(_merges(store, entity.id), said),
                kept_apart=_written(_pairs(store, entity.id), said),
                decisions=tuple(d for d in log if names & decided_names(d)),
                documents=documents_of(entity),
            )
        )
    return found


def explain_pair(store: StoreReader, a: str, b: str) -> PairHistory:
    """Return why two names are one entity or two.

    Raises:
        BadInput: if there is no entity of a name, or there are several.
    """
    first, second = find_entity(store, a), find_entity(store, b)
    names, others = names_of(first), names_of(second)
    same = first.id == second.id
    merges: tuple[Merge, ...] = ()
    kept_apart: tuple[PairDecision, ...] = ()
    given = {parse_key(a).name, parse_key(b).name}
    if same:
        merges = _between(_merges(store, first.id), *(_name_meant(first, text) for text in (a, b)))
    else:
        ids = {first.id, second.id}
        kept_apart = tuple(pair for pair in _pairs(store, first.id) if set(pair.entities) == ids)
    both = tuple(
        d
        for d in decisions(store)
        if (
            parse_key(d.a).name in names and normalize_name(d.b) in given & names
            if d.kind == "rename"
            else {parse_key(d.a).name, parse_key(d.b).name} <= names
            if same
            else decided_names(d) & names and decided_names(d) & others
        )
    )
    said = texts_about(store, [first, second])
    return PairHistory(
        same=same,
        entities=(first.id, second.id),
        merges=_written(merges, said),
        kept_apart=_written(kept_apart, said),
        decisions=both,
    )


def _name_meant(entity: Entity, text: str) -> ConstraintKey:
    """Return the name of an entity that a text means, with its document; the name in its id if it means none."""
    given = parse_key(text)
    own = entity.id.partition(" (")[0]
    names = sorted(
        names_of(entity), key=lambda name: (name != given.name, not same_when_typed(given.name, name))
    )
    return given._replace(name=names[0] if same_when_typed(given.name, names[0]) else own)


def _between(merges: Sequence[Merge], a: ConstraintKey, b: ConstraintKey) -> tuple[Merge, ...]:
    """Return the merges of an entity by which two of its names are one.

    Each merge leads from a name to another one, and all together to the main name. What is common to both ways is left
    out: it comes after the name at which they meet.
    """
    by_name: dict[str, list[Merge]] = {}
    for merge in merges:
        for name in {normalize_name(merge.name), split_name(merge.name).base}:
            by_name.setdefault(name, []).append(merge)

    def merges_from(start: ConstraintKey) -> set[Merge]:
        found: set[Merge] = set()
        waiting = [(start.name, start.document)]
        for name, document in waiting:  # grows
            several = by_name.get(name, [])
            there = [merge for merge in several if not document or merge.document in ("", document)]
            for merge in there or several:
                if merge not in found:
                    found.add(merge)
                    waiting.append((merge.other, merge.document))
        return found

    of_one_only = merges_from(a) ^ merges_from(b)
    return tuple(merge for merge in merges if merge in of_one_only)


def _written(found: Sequence[R], text: str) -> tuple[R, ...]:
    """Return merges or pairs with their evidence in the words of the documents."""
    return tuple(replace(each, evidence=as_written(each.evidence, text)) for each in found)


def _merges(store: StoreReader, entity: str) -> tuple[Merge, ...]:
    """Return the merges of an entity. Rows of several documents may say the same: it is told once."""
    return tuple(dict.fromkeys(_merge(merge) for merge in store.graph.merges(entity)))


def _pairs(store: StoreReader, entity: str) -> tuple[PairDecision, ...]:
    """Return the pairs of an entity, each reason once."""
    return tuple(dict.fromkeys(_pair(pair) for pair in store.graph.name_pairs(entity)))


def _merge(merge: Sequence[object]) -> Merge:
    fields = ("entity", "name", "document", "rule", "score", "other", "evidence")
    return Merge(**dict(zip(fields, merge, strict=True)))  # type: ignore[arg-type]


def _pair(pair: NamePair) -> PairDecision:
    entity, other, name, other_name, decision, rule, score, evidence = pair
    return PairDecision(
        entities=(entity, other),
        names=(name, other_name),
        decision=decision,  # type: ignore[arg-type]
        rule=rule,
        score=score,
        evidence=evidence,
    )
