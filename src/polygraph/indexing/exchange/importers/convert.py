"""A graph of others as documents, chunks, windows and extraction rows of an index.

Documents are cut in our own retrieval chunks, as those of any index. The chunks whose middle lies in a text unit make
a window, so that a window is what the other program read at once, to the nearest chunk; where units overlap, the later
one has the chunk. A row goes to the window of each unit that its entity or relation names, or to a neighbour that
shares the unit's text if the name stands there only. Within the window names are located as for a model's extraction.

Some programs write every name in capitals. Then a row has the name as it is spelt in the window, where it stands there:
which words of a name have capitals is what tells ``the Spirit`` from ``any spirit`` when names are resolved.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from polygraph.extract.llm import extractor as llm
from polygraph.extract.llm.parsed_records import ParsedEntity, ParsedExtraction, ParsedRelation
from polygraph.extract.locate import Locator
from polygraph.indexing.exchange.importers.align_text_units import Cited, Layout, cited, layouts
from polygraph.indexing.exchange.importers.jsonl import ROOT
from polygraph.indexing.exchange.importers.source_graph import SourceGraph
from polygraph.records import Chunk, Document, Extraction, Span, Window, digest
from polygraph.store.manifest import Manifest
from polygraph.store.protocol import Store
from polygraph.text.words import content_stems

LOST = "not imported: "
"""How the problem of a window begins, of which something could not be taken over."""

_NEIGHBOURS = 6
"""Windows beside the first that may hold text of a unit; more have it only if units lie within units."""
_CAPITALS = 0.9
"""Share of the names in capitals from which on capitals say nothing."""
_MAX_COMPARED = 50_000
"""Pairs of a description and a unit whose words are compared for one entity or relation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedDocument:
    """A document with everything that was read from it."""

    document: Document
    chunks: tuple[Chunk, ...]
    windows: tuple[Window, ...]
    extractions: tuple[Extraction, ...]
    """One for each window, in their order."""


def place(graph: SourceGraph, cut: Callable[[Document], list[Chunk]]) -> Iterator[PlacedDocument]:
    """Place a graph in documents, sorted by id.

    Descriptions: a single one, which the program merged out of all units, stands in the row of each of them; it cannot
    be taken apart. Of several, each stands with the unit that shares most words with it, the first of equals. A
    relation's strength is divided evenly among its units, so that their sum is that of the source.

    Args:
        graph: as read; what gets lost on the way is counted in it.
        cut: cuts a document in chunks.
    """
    named = cited(graph)
    said = _Said(graph)
    kinds: dict[str, str] = {}
    for entity in graph.entities:
        if entity.type:
            kinds.setdefault(entity.name, entity.type)
    cased = [e.name for e in graph.entities if e.name.upper() != e.name.lower()]
    capitals = sum(name.isupper() for name in cased) >= _CAPITALS * max(1, len(cased))
    for layout in layouts(graph, named):
        chunks = cut(layout.document)
        if not chunks:
            graph.lose("documents of white space", layout.document.id)
            continue
        windows, homes = _windows(layout, chunks)
        drafts = [_Draft(window, kinds, capitals) for window in windows]
        ends = [window.chunks[-1].end for window in windows]
        starts = [window.start for window in windows]
        for (start, end, unit), home in zip(layout.units, homes, strict=True):
            first = bisect_right(ends, start)
            last = bisect_left(starts, end)
            near = [drafts[i] for i in range(first, min(last, first + _NEIGHBOURS)) if i != home]
            _fill(graph, said, named.get(unit), unit, [drafts[home], *near])
            for lost in graph.lost_in.get(unit, ()):
                drafts[home].lost.append(lost)
        yield PlacedDocument(
            document=layout.document,
            chunks=tuple(chunks),
            windows=tuple(windows),
            extractions=tuple(draft.extraction() for draft in drafts),
        )


def put_graph(
    store: Store,
    graph: SourceGraph,
    placed: Iterable[PlacedDocument],
    manifest: Manifest,
    on_document: Callable[[int, int], None],
) -> dict[str, int]:
    """Put a graph into an empty store, all of it or nothing.

    Args:
        store: open for writing.
        graph: as read.
        placed: from `place`.
        manifest: becomes that of the index; its extractor is put down for every window.
        on_document: told how many documents are done, and about how many there are.

    Returns:
        What the files held, and how many documents, rows of entities and rows of relations were made of it.
    """
    made = {"documents indexed": 0, "entity rows": 0, "relation rows": 0}
    total = len(graph.documents) or len(graph.units)
    with store.transaction():
        for each in placed:
            store.documents.put(each.document, ROOT, each.chunks, each.windows)
            for extraction in each.extractions:
                store.extractions.put(extraction, manifest.extractor)
                made["entity rows"] += len(extraction.entities)
                made["relation rows"] += len(extraction.relations)
            made["documents indexed"] += 1
            on_document(made["documents indexed"], max(total, made["documents indexed"]))
        store.set_manifest(manifest)
    return {**graph.counts, **made}


def fingerprint(graph: SourceGraph) -> str:
    """Name the rows of a graph by all that decides them, so that another graph is another extractor."""
    parts = [f"{e.name}\n{e.type}\n{e.descriptions}\n{e.units}" for e in graph.entities]
    parts += [f"{r.source}\n{r.target}\n{r.predicate}\n{r.strength}\n{r.units}" for r in graph.relations]
    return digest(*parts)[:12]


def _windows(layout: Layout, chunks: Sequence[Chunk]) -> tuple[list[Window], list[int]]:
    """Windows of a document, and for each of its units the window that is its own or holds its middle."""
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
    windows = [
        Window(
            id=f"{document.id}@{n}",
            document=document.id,
            ordinal=n,
            title=document.title,
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
class _Draft:
    """The rows of a window while they are gathered."""

    window: Window
    kinds: dict[str, str]
    """Types of entities by name."""
    capitals: bool
    """Whether names are in capitals throughout."""
    lost: list[str] = field(default_factory=list)
    _locator: Locator | None = None
    _found: dict[str, tuple[Span, ...]] = field(default_factory=dict)
    _entities: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)
    _relations: dict[int, ParsedRelation] = field(default_factory=dict)

    def holds(self, name: str) -> bool:
        """Whether a name stands in the window."""
        return bool(self._locate(name))

    def _locate(self, name: str) -> tuple[Span, ...]:
        if name not in self._found:
            if self._locator is None:
                self._locator = Locator(self.window)
            self._found[name] = self._locator.locate(name)
        return self._found[name]

    def _spelt(self, name: str) -> str:
        """A name as the text spells it most often, the first of equals; as it is where that is no matter of case."""
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
        """Take in a relation, with its ends; of two units in one window, the strengths are added."""
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
        """The rows, with their places."""
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
        problem = f"{LOST}{len(self.lost)} records that could not be used" if self.lost else ""
        return Extraction(
            window=self.window.id,
            entities=entities,
            relations=relations,
            status="repaired" if self.lost else "ok",
            problem=problem,
            raw="\n".join(self.lost)[: llm.MAX_RAW],
        )


def _fill(graph: SourceGraph, said: "_Said", here: Cited | None, unit: str, drafts: Sequence[_Draft]) -> None:
    """Put what a unit is named for in the first window where it stands, else in the unit's own."""
    if here is None:
        return
    home = drafts[0]
    for i in here.entities:
        entity = graph.entities[i]
        draft = next((d for d in drafts if d.holds(entity.name)), home)
        draft.add_entity(entity.name, entity.type, said.of_entity(i, unit))
    for i in here.relations:
        relation = graph.relations[i]
        ends = (relation.source, relation.target)
        draft = next((d for d in drafts if all(d.holds(end) for end in ends)), None) or next(
            (d for d in drafts if any(d.holds(end) for end in ends)), home
        )
        draft.add_relation(
            i,
            ParsedRelation(
                source=relation.source,
                target=relation.target,
                predicate=relation.predicate,
                keywords=relation.keywords,
                description=" ".join(said.of_relation(i, unit)),
                strength=relation.strength / max(1, len(relation.units)),
            ),
        )


class _Said:
    """Which descriptions of an entity or relation stand with which of its units."""

    def __init__(self, graph: SourceGraph) -> None:
        self._graph = graph
        self._dealt: dict[tuple[str, int], dict[str, list[str]]] = {}
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
        if key not in self._dealt:
            self._dealt[key] = self._deal(descriptions, units)
        return self._dealt[key].get(unit, ())

    def _deal(self, descriptions: tuple[str, ...], units: tuple[str, ...]) -> dict[str, list[str]]:
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
