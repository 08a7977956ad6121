"""Alignment of imported text units with documents: in which document each unit stands, and where.

The first of these that applies:

1. A unit whose document is known stands where its text is found in it. A prefix that the program put before the text,
   such as a title, is skipped.
2. Units of one document whose text is missing are joined in their order to make it. What a unit repeats of the end of
   the one before it is left out.
3. A unit that belongs to no document, or is not found in its own, becomes a document of its own.
4. For a unit that the graph names but that is missing, a stand-in document is made of what the graph says with
   reference to it: names and descriptions. One stand-in is made of everything that names no unit.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from polygraph.indexing.exchange.importers.source_graph import (
    SourceEntity,
    SourceGraph,
    SourceRelation,
    SourceUnit,
)
from polygraph.records import Document
from polygraph.text.prose import count_noun

MAX_OVERLAP = 4_000
"""Characters that a unit may repeat of the one before."""
MIN_OVERLAP = 20
"""Fewer equal characters may be chance."""
NO_UNIT = "without a text unit"
"""Id of the stand-in document of what names no text unit."""

_PROBE = 200
_PREFIX_LINES = 20
_TITLE_NAMES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLayout:
    """One document and the units in it."""

    document: Document
    units: tuple[tuple[int, int, str], ...]
    """Start, end and id of each, sorted; they may overlap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitReferences:
    """The entities and relations that name one unit, by position in the graph's lists."""

    entities: list[int]
    relations: list[int]


def references_by_unit(graph: SourceGraph) -> dict[str, UnitReferences]:
    """Return entities and relations by the unit that they name, in the order of the graph.

    Those that name none are listed under a made-up unit for each entity, and for the relations of each source.
    """
    found: dict[str, UnitReferences] = {}

    def at(unit: str) -> UnitReferences:
        return found.setdefault(unit, UnitReferences(entities=[], relations=[]))

    for i, entity in enumerate(graph.entities):
        for unit in entity.units or (_own_unit(entity.name),):
            at(unit).entities.append(i)
    for i, relation in enumerate(graph.relations):
        for unit in relation.units or (_own_unit(relation.source),):
            at(unit).relations.append(i)
    return found


def align(graph: SourceGraph, references: dict[str, UnitReferences]) -> Iterator[DocumentLayout]:
    """Yield every document with its units, sorted by id.

    Args:
        graph: as read; losses are counted in it.
        references: from `references_by_unit`.
    """
    aligned: dict[str, list[tuple[int, int, str]]] = {key: [] for key in graph.documents}
    cursor: dict[str, int] = {}
    loose: dict[str, list[SourceUnit]] = {}
    alone: list[SourceUnit] = []
    for unit in graph.units.values():
        here = [key for key in unit.documents if key in graph.documents]
        for key in here:
            span = _find(graph.documents[key].text, unit.text, cursor.get(key, 0))
            if span is not None:
                cursor[key] = span[0]
                aligned[key].append((*span, unit.id))
                break
        else:
            if here:
                what = "text units that do not stand in their document, now documents of their own"
                graph.record_loss(what, unit.text, changed=True)
            if unit.documents and not here:
                loose.setdefault(unit.documents[0], []).append(unit)
            else:
                alone.append(unit)
    for key in dict.fromkeys([*references, *graph.losses_by_unit]):
        if key not in graph.units and key in aligned:
            aligned[key].append((0, len(graph.documents[key].text), key))
    found = [
        DocumentLayout(document=graph.documents[key], units=tuple(sorted(units)))
        for key, units in aligned.items()
    ]
    found += [_joined(graph, key, units) for key, units in loose.items()]
    found += [_own_document(graph, unit) for unit in alone]
    found += _stand_ins(
        graph, {k: c for k, c in references.items() if k not in graph.units and k not in aligned}
    )
    if loose:
        graph.notes.append(
            f"{count_noun(len(loose), 'document')} joined from text units, because the text itself is missing"
        )
    if n := sum(not unit.documents for unit in alone):
        graph.notes.append(
            f"{count_noun(n, 'text unit')} without a document, so each is a document of its own; what neighbours "
            "share stands in both"
        )
    taken: dict[str, int] = {}
    for layout in sorted(found, key=lambda each: each.document.id):
        n = taken[layout.document.id] = taken.get(layout.document.id, 0) + 1
        if n == 1:
            yield layout
        else:  # a document and a text unit of one id
            graph.record_loss("documents with an id that another one has", layout.document.id)


def overlap(before: str, after: str) -> int:
    """Return how many characters at the start of a text repeat the end of the one before; in linear time.

    The prefix function of Knuth, Morris and Pratt (1977) over `after`, run over the end of `before`.

    >>> overlap("It was cold, and the old man sat", "the old man sat by the fire.")
    0
    >>> overlap("It was cold, and the old man sat alone", "the old man sat alone by the fire.")
    21
    """
    head, tail = after[:MAX_OVERLAP], before[-MAX_OVERLAP:]
    falls = [0] * len(head)
    k = 0
    for i in range(1, len(head)):
        while k and head[i] != head[k]:
            k = falls[k - 1]
        k += head[i] == head[k]
        falls[i] = k
    k = 0
    for c in tail:
        while k and (k == len(head) or c != head[k]):
            k = falls[k - 1]
        k += c == head[k]
    return k if k >= MIN_OVERLAP else 0


def _find(text: str, unit: str, cursor: int) -> tuple[int, int] | None:
    """Find a unit in its document, first from the start of the unit before it, then from the beginning."""
    offset = 0
    for _ in range(_PREFIX_LINES):
        body = unit[offset:].lstrip()
        offset = len(unit) - len(body)
        if not body:
            return None
        for begin in (cursor, 0) if cursor else (0,):
            start = text.find(body, begin)
            if start < 0:
                # Programs that cut between tokens may damage the last character.
                start = text.find(body[:_PROBE], begin) if len(body) > 2 * _PROBE else -1
            if start >= 0:
                return start, min(start + len(body), len(text))
        line_end = unit.find("\n", offset)
        if line_end < 0:
            return None
        offset = line_end + 1
    return None


def _joined(graph: SourceGraph, key: str, units: list[SourceUnit]) -> DocumentLayout:
    parts: list[str] = []
    spans: list[tuple[int, int, str]] = []
    at, before = 0, ""
    for unit in units:
        shared = overlap(before, unit.text) if before else 0
        if before and not shared:
            parts.append("\n\n")
            at += 2
        parts.append(unit.text[shared:])
        spans.append((at - shared, at + len(unit.text) - shared, unit.id))
        at += len(unit.text) - shared
        before = unit.text
    document = Document(
        id=key,
        title=key,
        text="".join(parts),
        metadata={"imported_from": graph.program, "joined_from_units": len(units)},
    )
    return DocumentLayout(document=document, units=tuple(sorted(spans)))


def _own_document(graph: SourceGraph, unit: SourceUnit) -> DocumentLayout:
    title = unit.title or " ".join(unit.text[:400].split())[:80]
    document = Document(
        id=unit.id,
        title=title,
        text=unit.text,
        metadata={"imported_from": graph.program, "text_unit": unit.id},
    )
    return DocumentLayout(document=document, units=((0, len(unit.text), unit.id),))


# --- stand-ins ------------------------------------------------------------------------------------------


def _own_unit(name: str) -> str:
    return f"{NO_UNIT}: {name}"


def _stand_ins(graph: SourceGraph, missing: dict[str, UnitReferences]) -> Iterator[DocumentLayout]:
    """Yield stand-ins for the named units whose texts are missing.

    A description is printed once, for the first of the units that it refers to; the others have the name alone.
    """
    printed: set[tuple[str, int]] = set()
    block: list[tuple[str, str]] = []
    n_missing = 0
    for unit, here in missing.items():
        lines = []
        for i in here.entities:
            entity = graph.entities[i]
            lines.append(_entity_line(entity, with_text=("e", i) not in printed))
            printed.add(("e", i))
        for i in here.relations:
            relation = graph.relations[i]
            lines.append(_relation_line(relation, with_text=("r", i) not in printed))
            printed.add(("r", i))
        text = "\n\n".join(lines)
        if unit.startswith(f"{NO_UNIT}: "):
            block.append((unit, text))
            continue
        n_missing += 1
        names = [graph.entities[i].name for i in here.entities[:_TITLE_NAMES]]
        title = ", ".join(names) or unit
        yield _stand_in(graph, unit, title, [(unit, text)])
    if n_missing:
        graph.notes.append(
            f"{count_noun(n_missing, 'named text unit')} cannot be found. Documents with the names and descriptions "
            "that refer to them stand in for them: answers cite those, not the words of the sources"
        )
    if block:
        graph.notes.append(
            f"{count_noun(len(block), 'group')} of entities and relations without a text unit, now in the document "
            f"{NO_UNIT!r} with the words of the graph"
        )
        yield _stand_in(graph, NO_UNIT, "What names no text unit", block)


def _stand_in(graph: SourceGraph, key: str, title: str, parts: list[tuple[str, str]]) -> DocumentLayout:
    spans, at = [], 0
    for unit, text in parts:
        spans.append((at, at + len(text), unit))
        at += len(text) + 2
    document = Document(
        id=key,
        title=title[:200],
        text="\n\n".join(text for _, text in parts),
        metadata={"imported_from": graph.program, "stand_in": True},
    )
    return DocumentLayout(document=document, units=tuple(spans))


def _entity_line(entity: SourceEntity, *, with_text: bool) -> str:
    kind = f" ({entity.type})" if entity.type else ""
    text = _one_line(entity.descriptions) if with_text else ""
    return f"{entity.name}{kind}: {text}" if text else f"{entity.name}{kind}."


def _relation_line(relation: SourceRelation, *, with_text: bool) -> str:
    middle = f" {relation.predicate} " if relation.predicate else " - "
    words = f" ({', '.join(relation.keywords)})" if relation.keywords and with_text else ""
    text = _one_line(relation.descriptions) if with_text else ""
    line = f"{relation.source}{middle}{relation.target}{words}"
    return f"{line}: {text}" if text else f"{line}."


def _one_line(texts: tuple[str, ...]) -> str:
    return " ".join(" ".join(texts).split())
