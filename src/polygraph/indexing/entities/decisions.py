"""Decisions of the user about entities: the log of them, and how the names in new ones are written."""

from collections.abc import Set
from dataclasses import dataclass

from polygraph.errors import BadInput, quoted
from polygraph.extract.resolution.constraints import EACH, parse_key
from polygraph.indexing.entities.find import NAMES_SHOWN, documents_of, names_of
from polygraph.records import Entity
from polygraph.store.protocol import DecisionKind, LoggedDecision, StoreReader
from polygraph.text.normalize import normalize_name, same_when_typed

MAX_NAME = 200
"""Characters of a name that a user gives to an entity."""


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
    if given.document and given.document != EACH and names and same_when_typed(given.name, names[0]):
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
    if not same_when_typed(second.name, part):
        shown = ", ".join(repr(each) for each in (entity.name, *entity.aliases)[:NAMES_SHOWN])
        raise BadInput(
            f"{other!r} is not a name that a document uses for {entity.id!r}. Its names are: {shown}"
        )
    names = _names_in_decisions(store, entity, name)
    if not same_when_typed(first.name, names[0]):  # an id, or a name that a user gave
        names = [each for each in names if each != part] or names
    keys = tuple(
        f"{name} @ {document}" if document else name
        for name, document in ((names[0], first.document), (part, second.document))
    )
    if keys[0] == keys[1]:
        raise BadInput(f"{name!r} and {other!r} are one name. Split it with --by document or --by type")
    return keys[0], keys[1]


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
            f"{name!r} is the name of the entity {other!r}. If both are one: polygraph entities merge "
            f"{quoted(entity.name)} {quoted(name)} --index {quoted(store.place)}"
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
                f"Undo it first: polygraph entities undo {decision.number} --index {quoted(store.place)}"
            )


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
        key=lambda name: (name != given, not same_when_typed(given, name), name != own_name),
    )


def _names_in(store: StoreReader, document: str) -> set[str]:
    """Return the normalised names of the entity rows of a document."""
    extractions = store.extractions.iterate([document])
    return {normalize_name(row.name) for _, extraction in extractions for row in extraction.entities}


def _subject(logged: LoggedDecision) -> object:
    """Return what a decision is about: of several about the same, the last is in force."""
    _, kind, a, b = logged
    return ("rename", a) if kind == "rename" else frozenset((a, b))
