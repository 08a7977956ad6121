"""Entities by the name that a user gives: an id, a name or alias, or a name in one document."""

import unicodedata
from collections.abc import Sequence

from rapidfuzz import fuzz, process
from rapidfuzz.utils import default_process

from polygraph.errors import BadInput, quoted
from polygraph.extract.resolution.constraints import parse_key
from polygraph.ids import document_of_chunk
from polygraph.records import Entity
from polygraph.store.protocol import EntityOverview, StoreReader
from polygraph.text.normalize import fold, normalize_name, typed_forms

NAMES_SHOWN = 5
"""Names or entities that an error lists."""
_SUGGESTIONS = 3
_MIN_LIKENESS = 70.0
"""Least likeness of a name that is suggested: `rapidfuzz.fuzz.WRatio`, from 0 to 100."""


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


def find_entity(store: StoreReader, text: str) -> Entity:
    """Return the one entity that a text names, see `entities_named`.

    Raises:
        BadInput: if there is none, or if there are several.
    """
    found = entities_named(store, text)
    if len(found) > 1:
        ids = ", ".join(repr(entity.id) for entity in found[:NAMES_SHOWN])
        elsewhere = {document for entity in found[1:] for document, _ in documents_of(entity)}
        own = [document for document, _ in documents_of(found[0]) if document not in elsewhere]
        or_document = f", or with a document that mentions it: {text + ' @ ' + own[0]!r}" if own else ""
        raise BadInput(
            f"{len(found)} entities have the name {text!r}: {ids}. Name one by its id{or_document}"
        )
    return found[0]


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
    wanted = normalize_name(name)
    only_in = {
        place for _, merged, place, *_ in store.graph.merges(entity.id) if normalize_name(merged) == wanted
    }
    return not only_in or bool(only_in & {"", document})


def _unknown(store: StoreReader, text: str, suggestions: Sequence[str] = ()) -> BadInput:
    """Return the error about a text that names no entity, with similar names if there are no better suggestions."""
    near = suggestions or _similar_names(store, text.partition(" @ ")[0])
    hint = f"Did you mean: {', '.join(map(repr, near))}? " if near else ""
    return BadInput(
        f"the index at {store.place} has no entity {text!r}. {hint}List them with: polygraph entities list --index "
        f"{quoted(store.place)}"
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
