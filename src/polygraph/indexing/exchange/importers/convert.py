"""From another program's graph to documents, chunks, windows and extraction rows of an index.

Documents are cut in retrieval chunks as in any index. The chunks whose middle lies in a text unit make a window, so
that a window is what the other program read at once, to the nearest chunk; where units overlap, the chunk belongs to
the later one. A row goes to the window of each unit that its entity or relation names, or to a neighbour that shares
the unit's text if the name stands only there. Within the window names are located as for a model's extraction.

Some programs write every name in capitals. A row then has the name as the window spells it, if it stands there: the
capitals distinguish ``the Spirit`` from ``any spirit`` when names are resolved.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from polygraph.extract.llm import extractor as llm
from polygraph.extract.llm.parsed_records import ParsedEntity, ParsedExtraction, ParsedRelation
from polygraph.extract.locate import Locator
from polygraph.ids import window_id
from polygraph.indexing.exchange.importers import IMPORTED_ROOT
from polygraph.indexing.exchange.importers.align_text_units import (
    DocumentLayout,
    UnitReferences,
    align,
    references_by_unit,
)
from polygraph.indexing.exchange.importers.source_graph import SourceGraph
from polygraph.records import Chunk, Document, Extraction, Span, Window, digest
from polygraph.store.manifest import Manifest
from polygraph.store.protocol import Store
from polygraph.text.passage import short_fields
from polygraph.text.prose import count_noun
from polygraph.text.words import content_stems

NOT_IMPORTED = "not imported: "
"""Prefix of a window's problem where something of it could not be imported."""

_NEIGHBOURS = 6
"""Windows that may hold text of a unit; more do only if units lie within units."""
_CAPITALS = 0.9
"""Share of names in capitals from which on capitals tell nothing."""
_MAX_COMPARED = 50_000
"""Pairs of a description and a unit whose words are compared for one entity or relation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedDocument:
    """A document with its chunks, windows and rows."""

    document: Document
    chunks: tuple[Chunk, ...]
    windows: tuple[Window, ...]
    extractions: tuple[Extraction, ...]
    """One for each window, in their order."""


def convert(graph: SourceGraph, cut: Callable[[Document], list[Chunk]]) -> Iterator[ConvertedDocument]:
    """Convert a graph to documents, sorted by id.

    A single description, which the program merged from all units, stands in the row of each unit, since it cannot be
    divided. Of several, each stands with the unit that shares most words with it, the first of equals. A relation's
    strength is divided evenly among its units.

    Args:
        graph: as read; losses are counted in it.
        cut: cuts a document in chunks.
    """
    references = references_by_unit(graph)
    descriptions = _DescriptionPlacement(graph)
    kinds: dict[str, str] = {}
    for entity in graph.entities:
        if entity.type:
            kinds.setdefault(entity.name, entity.type)
    cased = [e.name for e in graph.entities if e.name.upper() != e.name.lower()]
    capitals = sum(name.isupper() for name in cased) >= _CAPITALS * max(1, len(cased))
    for layout in align(graph, references):
        chunks = cut(layout.document)
        if not chunks:
            graph.record_loss("documents of white space", layout.document.id)
            continue
        windows, homes = _windows(layout, chunks)
        rows = [_WindowRows(window, kinds, capitals) for window in windows]
        ends = [window.chunks[-1].end for window in windows]
        starts = [window.start for window in windows]
        for (start, end, unit), home in zip(layout.units, homes, strict=True):
            first = bisect_right(ends, start)
            last = bisect_left(starts, end)
            near = [rows[i] for i in range(first, min(last, first + _NEIGHBOURS)) if i != home]
            _fill(graph, descriptions, references.get(unit), unit, [rows[home], *near])
            for lost in graph.losses_by_unit.get(unit, ()):
                rows[home].lost.append(lost)
        yield ConvertedDocument(
            document=layout.document,
            chunks=tuple(chunks),
            windows=tuple(windows),
            extractions=tuple(each.extraction() for each in rows),
        )


def store_graph(
    store: Store,
    graph: SourceGraph,
    converted: Iterable[ConvertedDocument],
    manifest: Manifest,
    on_document: Callable[[int, int], None],
) -> dict[str, int]:
    """Store a converted graph in an empty store, all of it or nothing.

    Args:
        store: open for writing.
        graph: as read.
        converted: from `convert`.
        manifest: of the new index; its extractor is noted for every window.
        on_document: called with the number of documents that are done, and about how many there are.

    Returns:
        Counts of what the files held, and of documents, entity rows and relation rows in the index.
    """
    made = {"documents indexed": 0, "entity rows": 0, "relation rows": 0}
    total = len(graph.documents) or len(graph.units)
    with store.transaction():
        for each in converted:
            store.documents.put(each.document, IMPORTED_ROOT, each.chunks, each.windows)
            for extraction in each.extractions:
                store.extractions.put(extraction, manifest.extractor)
                made["entity rows"] += len(extraction.entities)
                made["relation rows"] += len(extraction.relations)
            made["documents indexed"] += 1
            on_document(made["documents indexed"], max(total, made["documents indexed"]))
        store.set_manifest(manifest)
    return {**graph.counts, **made}


def fingerprint(graph: SourceGraph) -> str:
    """Return a hash of all that determines the rows, so that another graph is another extractor."""
    parts = [f"{e.name}\n{e.type}\n{e.descriptions}\n{e.units}" for e in graph.entities]
    parts += [f"{r.source}\n{r.target}\n{r.predicate}\n{r.strength}\n{r.units}" for r in graph.relations]
    return digest(*parts)[:12]


def _windows(layout: DocumentLayout, chunks: Sequence[Chunk]) -> tuple[list[Window], list[int]]:
    """Return the windows of a document, and for each of its units the window made of it, or that holds its middle."""
    document = layout.document
    starts = [start for start, _, _ in layout.units]
    owners = [max(0, bisect_right(starts, (c.start + c.end) // 2) - 1) for c in chunks]
    groups: list[list[Chunk]] = []
    of_owner: dict[int, int] = {}
    for i, chunk in enumerate(chunks):
        if i and owners[i] == owners[i - 1]:
            groups[-1].append(chunk)
        else:
            of_owner[owners[i]] = len(groups)
            groups.append([chunk])
    fields = short_fields(document.metadata)
    windows = [
        Window(
            id=window_id(document.id, n),
            document=document.id,
            ordinal=n,
            title=document.title,
            fields=fields,
            chunks=tuple(group),
            text=document.text[group[0].start : group[-1].end],
        )
        for n, group in enumerate(groups)
    ]
    begins = [window.start for window in windows]
    homes = [
        of_owner.get(i, max(0, bisect_right(begins, (start + end) // 2) - 1))
        for i, (start, end, _) in enumerate(layout.units)
    ]
    return windows, homes


@dataclass(slots=True)
class _WindowRows:
    """The rows of a window while they are collected."""

    window: Window
    kinds: dict[str, str]
    """Types of entities by name."""
    capitals: bool
    """True if all names are in capitals."""
    lost: list[str] = field(default_factory=list)
    _locator: Locator | None = None
    _found: dict[str, tuple[Span, ...]] = field(default_factory=dict)
    _entities: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)
    _relations: dict[int, ParsedRelation] = field(default_factory=dict)

    def holds(self, name: str) -> bool:
        """Return whether a name stands in the window."""
        return bool(self._locate(name))

    def _locate(self, name: str) -> tuple[Span, ...]:
        if name not in self._found:
            if self._locator is None:
                self._locator = Locator(self.window)
            self._found[name] = self._locator.locate(name)
        return self._found[name]

    def _spelt(self, name: str) -> str:
        """Return a name as the text spells it most often, the first of equals; only its case may change."""
        if not self.capitals:
            return name
        start = self.window.start
        texts = (self.window.text[span.start - start : span.end - start] for span in self._locate(name))
        spellings = Counter(" ".join(text.split()) for text in texts)
        same = [each for each in spellings if each.casefold() == name.casefold()]
        return max(same, key=lambda each: spellings[each], default=name)

    def add_entity(self, name: str, kind: str, descriptions: Sequence[str]) -> None:
        self._names.add(name)
        texts = self._entities.setdefault((name, kind), [])
        texts += [text for text in descriptions if text not in texts]

    def add_relation(self, key: int, relation: ParsedRelation) -> None:
        """Add a relation; of two units in one window, the strengths are added."""
        before = self._relations.get(key)
        if before is None:
            self._relations[key] = relation
        else:
            texts = dict.fromkeys((before.description, relation.description))
            self._relations[key] = replace(
                before,
                description=" ".join(text for text in texts if text),
                strength=before.strength + relation.strength,
            )

    def extraction(self) -> Extraction:
        """Return the rows, with spans."""
        ends = [end for r in self._relations.values() for end in (r.source, r.target)]
        for name in dict.fromkeys(end for end in ends if end not in self._names):
            self._entities[(name, self.kinds.get(name, ""))] = []
        spelt = {name: self._spelt(name) for name, _ in self._entities}
        parsed = ParsedExtraction(
            entities=tuple(
                ParsedEntity(name=spelt[name], type=kind, description=" ".join(texts))
                for (name, kind), texts in self._entities.items()
            ),
            relations=tuple(
                replace(r, source=spelt[r.source], target=spelt[r.target]) for r in self._relations.values()
            ),
        )
        entities, relations = llm.to_rows(parsed, self.window)
        problem = (
            f"{NOT_IMPORTED}{count_noun(len(self.lost), 'record')} that could not be used"
            if self.lost
            else ""
        )
        return Extraction(
            window=self.window.id,
            entities=entities,
            relations=relations,
            status="repaired" if self.lost else "ok",
            problem=problem,
            raw="\n".join(self.lost)[: llm.MAX_RAW],
        )


def _fill(
    graph: SourceGraph,
    descriptions: "_DescriptionPlacement",
    here: UnitReferences | None,
    unit: str,
    rows: Sequence[_WindowRows],
) -> None:
    """Add the entities and relations that name a unit to the first window where they stand, else to the unit's own."""
    if here is None:
        return
    home = rows[0]
    for i in here.entities:
        entity = graph.entities[i]
        target = next((d for d in rows if d.holds(entity.name)), home)
        target.add_entity(entity.name, entity.type, descriptions.of_entity(i, unit))
    for i in here.relations:
        relation = graph.relations[i]
        ends = (relation.source, relation.target)
        target = next((d for d in rows if all(d.holds(end) for end in ends)), None) or next(
            (d for d in rows if any(d.holds(end) for end in ends)), home
        )
        target.add_relation(
            i,
            ParsedRelation(
                source=relation.source,
                target=relation.target,
                predicate=relation.predicate,
                keywords=relation.keywords,
                description=" ".join(descriptions.of_relation(i, unit)),
                strength=relation.strength / max(1, len(relation.units)),
            ),
        )


class _DescriptionPlacement:
    """Assigns the descriptions of an entity or relation to its units."""

    def __init__(self, graph: SourceGraph) -> None:
        self._graph = graph
        self._assigned: dict[tuple[str, int], dict[str, list[str]]] = {}
        self._words: dict[str, frozenset[str]] = {}

    def of_entity(self, i: int, unit: str) -> Sequence[str]:
        entity = self._graph.entities[i]
        return self._of(("entity", i), entity.descriptions, entity.units, unit)

    def of_relation(self, i: int, unit: str) -> Sequence[str]:
        relation = self._graph.relations[i]
        return self._of(("relation", i), relation.descriptions, relation.units, unit)

    def _of(
        self, key: tuple[str, int], descriptions: tuple[str, ...], units: tuple[str, ...], unit: str
    ) -> Sequence[str]:
        if len(descriptions) < 2 or len(units) < 2:
            return descriptions
        if key not in self._assigned:
            self._assigned[key] = self._assign(descriptions, units)
        return self._assigned[key].get(unit, ())

    def _assign(self, descriptions: tuple[str, ...], units: tuple[str, ...]) -> dict[str, list[str]]:
        known = [unit for unit in units if unit in self._graph.units]
        found: dict[str, list[str]] = {}
        for text in descriptions:
            chosen = known[0] if known else units[0]
            if len(known) > 1 and len(descriptions) * len(known) <= _MAX_COMPARED:
                words = frozenset(content_stems(text))
                shared = [len(words & self._content(unit)) for unit in known]
                chosen = known[shared.index(max(shared))]
            found.setdefault(chosen, []).append(text)
        return found

    def _content(self, unit: str) -> frozenset[str]:
        if unit not in self._words:
            self._words[unit] = frozenset(content_stems(self._graph.units[unit].text))
        return self._words[unit]
