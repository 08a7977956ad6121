"""Entities to look at: finding them by name, and why names were merged into one or kept apart."""

import unicodedata
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import TypeVar

from rapidfuzz import fuzz, process
from rapidfuzz.utils import default_process

from polygraph.errors import BadInput, quoted
from polygraph.extract.resolution.constraints import EACH, ConstraintKey, parse_key
from polygraph.extract.resolution.names.name_parts import split_name
from polygraph.extract.resolution.records import Merge, PairDecision
from polygraph.ids import document_of_chunk
from polygraph.indexing.written_evidence import as_written, texts_about
from polygraph.records import Entity
from polygraph.store.protocol import DecisionKind, EntityOverview, LoggedDecision, NamePair, StoreReader
from polygraph.text.normalize import fold, normalize_name, typed_forms

R = TypeVar("R", Merge, PairDecision)

MAX_NAME = 200
"""Characters of a name that a user gives to an entity."""
_NAMES = 5
"""Names of an entity that an error lists."""
_SUGGESTIONS = 3
_MIN_LIKENESS = 70.0
"""Of a name that is suggested: `rapidfuzz.fuzz.WRatio`, from 0 to 100."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A decision of the user about entities."""

    number: int
    """For `undo`."""
    kind: DecisionKind
    a: str
    b: str
    in_force: bool
    """False if a later decision about the same names replaced it."""


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


def find_entities(store: StoreReader, text: str, *, limit: int) -> list[EntityOverview]:
    """Find entities whose name or an alias contains a text: first those that it names, then by mentions.

    Letters with accents match those without, and two letters that stand for one (``ue``).

    Raises:
        BadInput: if there is none; similar names are suggested.
    """
    require_graph(store)
    exact = _rows_named(store, text)
    found = store.graph.entity_overview(order="mentions", rows=exact, limit=limit)
    others = sorted(set(store.graph.entities_containing(text)) - set(exact)) if normalize_name(text) else []
    if limit > len(found):
        found += store.graph.entity_overview(order="mentions", rows=others, limit=limit - len(found))
    if not found:
        raise _unknown(store, text)
    return found


def entities_named(store: StoreReader, text: str) -> list[Entity]:
    """Return the entities that a text names: an id, a name or alias, or one in a document as ``name @ document``.

    An id as it is stored names its entity alone. Otherwise case does not matter, and if nothing is spelled like the
    text, neither do accents.

    Raises:
        BadInput: if there is none; similar names are suggested.
    """
    require_graph(store)
    found = store.graph.entities_by_row(_rows_named(store, text))
    if not found and (document := parse_key(text).document):
        name = text.partition(" @ ")[0]
        named = store.graph.entities_by_row(_rows_named(store, name))
        found = [entity for entity in named if _is_named_in(store, entity, name, document)]
        if named and not found:
            raise _unknown(store, text, _places(store, named, name))
    if not found:
        raise _unknown(store, text)
    return found


def _places(store: StoreReader, entities: Sequence[Entity], name: str) -> list[str]:
    """Return ``name @ document`` for the first documents that mention one of several entities by a name."""
    places = {
        f"{name} @ {document}"
        for entity in entities
        for document, _ in documents_of(entity)
        if _is_named_in(store, entity, name, document)
    }
    return sorted(places)[:_SUGGESTIONS]


def _rows_named(store: StoreReader, text: str) -> list[int]:
    """Return the rows of the entities that an id, a name or an alias stands for, ascending."""
    graph = store.graph
    if (row := graph.entity_rows([text]).get(text)) is not None:
        return [row]
    if not normalize_name(text):
        return []
    id_ = _folded_id(text)
    rows = {*graph.entity_rows([id_]).values(), *graph.entities_named([text]).get(text, [])}
    if not rows:
        rows.update(graph.entities_containing(text, whole=True))
        wanted = set(typed_forms(text))
        rows.update(
            n for n, each in enumerate(graph.entity_ids()) if not wanted.isdisjoint(typed_forms(each))
        )
    return sorted(rows)


def _folded_id(text: str) -> str:
    """Return a text with the case and white space of ids."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _is_named_in(store: StoreReader, entity: Entity, name: str, document: str) -> bool:
    """Return whether a document mentions an entity, by this name as far as that is known.

    A name that stands for an entity in some documents only may stand for another one elsewhere.
    """
    if document not in dict(documents_of(entity)):
        return False
    merges = (_merge(merge) for merge in store.graph.merges(entity.id))
    only_in = {merge.document for merge in merges if normalize_name(merge.name) == normalize_name(name)}
    return not only_in or bool(only_in & {"", document})


def find_entity(store: StoreReader, text: str) -> Entity:
    """Return the one entity that a text names, see `entities_named`.

    Raises:
        BadInput: if there is none, or if there are several.
    """
    found = entities_named(store, text)
    if len(found) > 1:
        ids = ", ".join(repr(entity.id) for entity in found[:_NAMES])
        elsewhere = {document for entity in found[1:] for document, _ in documents_of(entity)}
        own = [document for document, _ in documents_of(found[0]) if document not in elsewhere]
        or_document = f", or with a document that mentions it: {text + ' @ ' + own[0]!r}" if own else ""
        raise BadInput(
            f"{len(found)} entities have the name {text!r}: {ids}. Name one by its id{or_document}"
        )
    return found[0]


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
    names = sorted(names_of(entity), key=lambda name: (name != given.name, not _is_typed(given.name, name)))
    return given._replace(name=names[0] if _is_typed(given.name, names[0]) else own)


def _between(merges: Sequence[Merge], a: ConstraintKey, b: ConstraintKey) -> tuple[Merge, ...]:
    """Return the merges of an entity by which two of its names are one.

    Each merge leads from a name to another one, and all together to the main name. What is common to both ways is left
    out: it comes after the name at which they meet.
    """
    by_name: dict[str, list[Merge]] = {}
    for merge in merges:
        for name in {normalize_name(merge.name), split_name(merge.name).base}:
            by_name.setdefault(name, []).append(merge)

    def way(start: ConstraintKey) -> set[Merge]:
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

    on_one_way = way(a) ^ way(b)
    return tuple(merge for merge in merges if merge in on_one_way)


def _written(found: Sequence[R], text: str) -> tuple[R, ...]:
    """Return merges or pairs with their evidence in the words of the documents."""
    return tuple(replace(each, evidence=as_written(each.evidence, text)) for each in found)


def decisions(store: StoreReader) -> list[Decision]:
    """Return every decision in the order in which they were made."""
    log = store.extractions.decision_log()
    last: dict[object, int] = {_subject(each): each[0] for each in log}
    return [
        Decision(number=each[0], kind=each[1], a=each[2], b=each[3], in_force=last[_subject(each)] == each[0])
        for each in log
    ]


def decided_names(decision: Decision) -> set[str]:
    """Return the normalised names that a decision is about."""
    texts = (decision.a,) if decision.kind == "rename" else (decision.a, decision.b)
    return {parse_key(text).name for text in texts}


def names_of(entity: Entity) -> set[str]:
    """Return the normalised names of an entity."""
    return {normalize_name(name) for name in (entity.name, *entity.aliases)}


def documents_of(entity: Entity) -> tuple[tuple[str, int], ...]:
    """Return the documents that mention an entity, with the number of chunks; sorted by id."""
    counts: dict[str, int] = {}
    for chunk in entity.chunks:
        document = document_of_chunk(chunk)
        counts[document] = counts.get(document, 0) + 1
    return tuple(sorted(counts.items()))


def require_graph(store: StoreReader) -> None:
    """Raise `BadInput` if an index has no entities yet."""
    if "graph" not in store.layers():
        raise BadInput(
            f"the index at {store.place} has no graph, so there are no entities. "
            f"Add it with: polygraph index --index {quoted(store.place)}"
        )


def key_of(store: StoreReader, entity: Entity, text: str) -> str:
    """Return a name, or ``name @ document``, that stands for an entity and no other in decisions.

    Args:
        store: of the index.
        entity: to be named.
        text: how the user named it: its own key if it is one, else a name of the entity is taken.

    Raises:
        BadInput: if all its names are those of other entities in the same documents.
    """
    given, names = parse_key(text), _names_in_decisions(store, entity, text)
    if given.document and given.document != EACH and names and _is_typed(given.name, names[0]):
        return f"{names[0]} @ {given.document}"
    row = store.graph.entity_rows([entity.id])[entity.id]
    namesakes = {name: store.graph.entities_named([name]).get(name, []) for name in names}
    for name in names:
        if namesakes[name] == [row]:
            return name
    for document, _ in documents_of(entity):
        written = _names_in(store, document)
        for name in names:
            others = store.graph.entities_by_row([n for n in namesakes[name] if n != row])
            if name in written and not any(document in dict(documents_of(other)) for other in others):
                return f"{name} @ {document}"
    raise BadInput(
        f"the entity {entity.id!r} cannot be told apart by name: other entities with its names are mentioned in "
        "the same documents. Split it from them by a name of its own first"
    )


def shared_name(store: StoreReader, entity: Entity, text: str) -> str:
    """Return the name of an entity that is split by document or type, which other entities may share.

    Args:
        store: of the index.
        entity: to be named.
        text: how the user named it.

    Raises:
        BadInput: if no document uses one of its names.
    """
    names = _names_in_decisions(store, entity, text)
    if not names:
        raise BadInput(f"no document uses a name of {entity.id!r}, so it cannot be split")
    return names[0]


def split_keys(store: StoreReader, entity: Entity, name: str, other: str) -> tuple[str, str]:
    """Return two names of an entity, as they stand in the decision that splits them.

    Args:
        store: of the index.
        entity: that has both.
        name: how the user named it.
        other: the name that becomes an entity of its own.

    Raises:
        BadInput: if `other` is not a name that a document uses, or both are one name.
    """
    first, second = parse_key(name), parse_key(other)
    part = next(iter(_names_in_decisions(store, entity, other)), "")
    if not _is_typed(second.name, part):
        shown = ", ".join(repr(each) for each in (entity.name, *entity.aliases)[:_NAMES])
        raise BadInput(
            f"{other!r} is not a name that a document uses for {entity.id!r}. Its names are: {shown}"
        )
    names = _names_in_decisions(store, entity, name)
    if not _is_typed(first.name, names[0]):  # an id, or a name that a user gave
        names = [each for each in names if each != part] or names
    keys = tuple(
        f"{name} @ {document}" if document else name
        for name, document in ((names[0], first.document), (part, second.document))
    )
    if keys[0] == keys[1]:
        raise BadInput(f"{name!r} and {other!r} are one name. Split it with --by document or --by type")
    return keys[0], keys[1]


def _names_in_decisions(store: StoreReader, entity: Entity, text: str) -> list[str]:
    """Return the normalised names of an entity that documents use: first the one that a text means, if any.

    Then come its id, if that is a name, and the name that is shown. A name that a user gave is in no text, so decisions
    about it would apply to nothing.
    """
    given = parse_key(text).name
    renamed = {normalize_name(new) for _, new in store.extractions.decisions("rename")}
    names = dict.fromkeys(normalize_name(name) for name in (entity.name, *entity.aliases))
    own_name = entity.id.partition(" (")[0]
    return sorted(
        (name for name in names if name and name not in renamed),
        key=lambda name: (name != given, not _is_typed(given, name), name != own_name),
    )


def _is_typed(text: str, name: str) -> bool:
    """Return whether a text is a name as a user may type it, see `text.normalize.typed_forms`."""
    return not set(typed_forms(text)).isdisjoint(typed_forms(name))


def rename_key(store: StoreReader, entity: Entity, text: str) -> str:
    """Return the name that stands for an entity in a decision about its name: that of an earlier one, if any."""
    names, documents = names_of(entity), dict(documents_of(entity))
    for old, _ in sorted(store.extractions.decisions("rename")):
        key = parse_key(old)
        if key.name in names and (not key.document or key.document in documents):
            return old
    return key_of(store, entity, text)


def usable_name(store: StoreReader, entity: Entity, name: str) -> str:
    """Return a new name for an entity, without white space at the ends.

    Raises:
        BadInput: if it is empty, too long or the name of another entity.
    """
    name = " ".join(name.split())
    if not normalize_name(name) or len(name) > MAX_NAME or not name.isprintable():
        raise BadInput(f"the new name must be a line of 1 to {MAX_NAME} characters with a letter or a digit")
    row = store.graph.entity_rows([entity.id])[entity.id]
    others = [n for n in store.graph.entities_named([name]).get(name, []) if n != row]
    if others:
        other = store.graph.entities_by_row(others[:1])[0].id
        raise BadInput(
            f"{name!r} is the name of the entity {other!r}. If both are one: polygraph entities merge"
        )
    return name


def require_no_conflict(store: StoreReader, pair: tuple[str, str], names: Set[str], others: Set[str]) -> None:
    """Raise `BadInput` if a decision that is in force keeps two entities apart.

    Args:
        store: of the index.
        pair: about which a decision will be made; one about the same pair is replaced.
        names: normalised names of the one entity.
        others: those of the other.
    """
    for decision in decisions(store):
        a, b = parse_key(decision.a), parse_key(decision.b)
        if decision.kind != "split" or not decision.in_force or {decision.a, decision.b} == set(pair):
            continue
        if (a.name in names and b.name in others) or (a.name in others and b.name in names):
            raise BadInput(
                f"decision {decision.number} (split {decision.a!r}) keeps them apart. "
                f"Undo it first: polygraph entities undo {decision.number}"
            )


def _names_in(store: StoreReader, document: str) -> set[str]:
    """Return the normalised names of the entity rows of a document."""
    extractions = store.extractions.iterate([document])
    return {normalize_name(row.name) for _, extraction in extractions for row in extraction.entities}


def _subject(logged: LoggedDecision) -> object:
    """Return what a decision is about: of several about the same, the last is in force."""
    _, kind, a, b = logged
    return ("rename", a) if kind == "rename" else frozenset((a, b))


def _unknown(store: StoreReader, text: str, suggestions: Sequence[str] = ()) -> BadInput:
    """Return the error about a text that names no entity, with similar names if there are no better suggestions."""
    near = suggestions or _similar_names(store, text.partition(" @ ")[0])
    hint = f"Did you mean: {', '.join(map(repr, near))}? " if near else ""
    return BadInput(
        f"the index at {store.place} has no entity {text!r}. {hint}List them with: polygraph entities list"
    )


def _similar_names(store: StoreReader, name: str) -> list[str]:
    """Return the names of entities that are most like a name, the most similar first."""
    names = dict.fromkeys(each for _, each in store.graph.entity_names())
    near = process.extract(
        fold(name),
        {each: fold(each) for each in names},
        scorer=fuzz.WRatio,
        processor=default_process,
        limit=_SUGGESTIONS,
        score_cutoff=_MIN_LIKENESS,
    )
    return [each for _, _, each in near]


def _merge(merge: Sequence[object]) -> Merge:
    fields = ("entity", "name", "document", "rule", "score", "other", "evidence")
    return Merge(**dict(zip(fields, merge, strict=True)))  # type: ignore[arg-type]


def _merges(store: StoreReader, entity: str) -> tuple[Merge, ...]:
    """Return the merges of an entity. Rows of several documents may say the same: it is told once."""
    return tuple(dict.fromkeys(_merge(merge) for merge in store.graph.merges(entity)))


def _pairs(store: StoreReader, entity: str) -> tuple[PairDecision, ...]:
    """Return the pairs of an entity, each reason once."""
    return tuple(dict.fromkeys(_pair(pair) for pair in store.graph.name_pairs(entity)))


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
