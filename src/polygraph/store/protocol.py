"""What an index must be stored in: protocols that another database can implement beside SQLite.

`StoreReader` is what questions are answered from (`store.snapshot`); `Store` adds what building needs. Both have four
parts: documents, extractions, graph and reports. `tests/contract/check_store.py` checks an implementation.

Promises that hold for all parts:

- Changes are made inside `Store.transaction`, all of them or none.
- A reader sees one state for as long as it is open, whatever a writer does meanwhile.
- Row numbers count from 0: of chunks in the order of (document id, ordinal), of entities in the order of ids, of
  relations and triples in the order in which they were put. Ids are compared by code points.
- A method that takes keys accepts any number of them, answers in the order asked for unless it says otherwise, and
  leaves out unknown keys.
- Methods that return an iterator hold a bounded number of records in memory.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeAlias, get_args

from polygraph.records import (
    Chunk,
    Community,
    CountedCommunity,
    Document,
    Entity,
    Extraction,
    Json,
    Relation,
    Report,
    Span,
    Table,
    Triple,
    Window,
    WindowState,
)
from polygraph.store.manifest import Manifest
from polygraph.store.portable import PortableRow, PortableTable
from polygraph.store.vectors import VectorSearch
from polygraph.text.passage import Heading

Countable: TypeAlias = Literal[
    "documents", "chunks", "windows", "entities", "relations", "triples", "communities", "reports", "written"
]
"""Kinds of records that a store counts; ``written`` are the report texts that a model wrote."""

DecisionKind: TypeAlias = Literal["merge", "rename", "split"]
"""What a user decided about entities: two names are one, an entity has another name, or two names are two."""
DECISION_KINDS: tuple[DecisionKind, ...] = get_args(DecisionKind)
LoggedDecision: TypeAlias = tuple[int, DecisionKind, str, str]
"""A decision as it was made: ``(number, kind, a, b)``."""

Merge: TypeAlias = tuple[str, str, str, str, float, str, str]
"""A name that was merged into an entity: ``(entity, name, document, rule, score, other, evidence)``."""

NamePair: TypeAlias = tuple[str, str, str, str, str, str, float, str]
"""Names that were compared and not merged: ``(entity, other, name, other_name, decision, rule, score, evidence)``."""


SummaryKind: TypeAlias = Literal["entity", "relation"]
"""What a summary of descriptions is about."""
SUMMARY_KINDS: tuple[SummaryKind, ...] = get_args(SummaryKind)


class WrittenSummary(NamedTuple):
    """One description of an entity or relation that a model wrote."""

    text: str
    written_by: str
    """Name of the model."""
    chunks: tuple[str, ...]
    """Chunks of the statements that it sums up."""


EntityOrder: TypeAlias = Literal["mentions", "name"]
"""By number of chunks, descending, then id; or by name, then id."""


class EntityOutline(NamedTuple):
    """An entity whose descriptions are not read."""

    id: str
    name: str
    described: Sequence[tuple[int | str, str]]
    """For each description the key of its text, see `shared_texts.text_key`, and the id of its chunk."""
    is_visible: bool = True
    """Whether something of it is within the filter."""


class EntityOverview(NamedTuple):
    """An entity, without its texts."""

    row: int
    id: str
    name: str
    type: str
    n_chunks: int
    """Number of chunks that mention it."""
    degree: int
    """Number of distinct neighbours."""


class LostRelation(NamedTuple):
    """A relation that was extracted and is not in the graph."""

    document: str
    window: str
    chunks: tuple[str, ...]
    """Ids of the chunks that it was extracted from; empty if it names none."""
    source: str
    predicate: str
    target: str
    description: str
    reason: str
    entity: str = ""
    """Id of the entity that both names are; empty for other reasons."""


# --- documents ------------------------------------------------------------------------------------


class DocumentReader(Protocol):
    """Documents and their chunks."""

    def get(self, document: str) -> Document | None:
        """Return one document with its text and tables; None if there is none of this id."""

    def tables_of(self, documents: Sequence[str]) -> dict[str, tuple[Table, ...]]:
        """Return the tables of some documents, in the order of the text; documents without any are left out."""

    def headers(self) -> Iterator[tuple[str, str, dict[str, Json]]]:
        """Yield id, title and metadata of every document, by id."""

    def titles(self, documents: Sequence[str]) -> dict[str, str]:
        """Return the titles of some documents by id."""

    def headings(self, documents: Sequence[str]) -> dict[str, Heading]:
        """Return title and short fields of some documents by id."""

    def dates(self, documents: Sequence[str]) -> dict[str, str]:
        """Return the dates of some documents by id, as their headings have them; unknown ids are left out."""

    def hashes(self) -> dict[str, tuple[str, str]]:
        """Return root and content hash of every document by id."""

    def content_hashes(self) -> Iterator[tuple[str, str]]:
        """Yield id and content hash of every document, by id."""

    def unread(self, root: str | None = None) -> list[tuple[str, str]]:
        """Return the files (of one root) that could not be read, as ``(path, reason)``, by path."""

    def chunks_by_row(self, rows: Sequence[int]) -> list[Chunk]:
        """Return chunks by row number."""

    def chunk_ids_by_row(self, rows: Sequence[int]) -> dict[int, str]:
        """Return ids of chunks by row number, in the order asked for; their texts are not read."""

    def chunks_by_id(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id."""

    def chunks_of(self, document: str) -> list[Chunk]:
        """Return the chunks of one document, in order."""

    def n_chunks_of(self, document: str) -> int:
        """Return how many chunks a document has; none of them is read."""

    def metadata_of(self, documents: Sequence[str]) -> dict[str, dict[str, Json]]:
        """Return the metadata of some documents by id, without reading their texts; unknown ids are left out."""

    def chunk_texts(self) -> Iterator[tuple[int, str, str]]:
        """Yield every chunk as ``(row, title of its document, text)``, by row."""

    def passage_tokens(self, ids: Sequence[str]) -> dict[str, int]:
        """Return how many tokens `text.passage.with_heading` has for some chunks, by chunk id.

        Tokens are those of `text.tokens.count_tokens`. A chunk without a stored count is left out.
        """

    def has_dates(self) -> bool:
        """Tell whether some document may have a date: False only if `dates` has none for any document."""

    def texts_of(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the texts of some chunks by id."""

    def spans_of(self, ids: Sequence[str]) -> dict[str, Span]:
        """Return the spans of some whole chunks by id; their texts are not read."""

    def chunk_rows(self, ids: Sequence[str] | None = None) -> dict[str, int]:
        """Return row numbers by chunk id: of all chunks by row, or of some."""

    def chunk_documents(self) -> Iterator[str]:
        """Yield the document id of every chunk, by row."""


class DocumentStore(DocumentReader, Protocol):
    """Documents, chunks and windows, to be changed."""

    def put(self, document: Document, root: str, chunks: Sequence[Chunk], windows: Sequence[Window]) -> None:
        """Add a document, or replace the one of the same id and everything extracted from it.

        Args:
            document: to store.
            root: the folder or file that it was found through.
            chunks: all of its chunks, in order.
            windows: all of its windows, in order; none is read yet.
        """

    def set_roots(self, found: Iterable[tuple[str, str, str]]) -> None:
        """Record where documents are found now, as ``(document, root, source)``."""

    def remove(self, document: str) -> None:
        """Delete a document, its chunks and windows, and every row that was extracted from it."""

    def has_imported_text(self, document: Document) -> bool:
        """Tell whether an imported graph rests on a document of the same id and text."""

    def set_unread(self, root: str, unread: Iterable[tuple[str, str]]) -> None:
        """Replace the list of files under a root that could not be read, as ``(path, reason)``."""

    def number_chunks(self) -> int:
        """Number all chunks in the order of (document id, ordinal); return how many there are."""

    def chunked(self) -> Iterator[tuple[str, str, str]]:
        """Yield id, content hash and title of every document that has chunks, by id."""

    def chunk_counts(self) -> list[tuple[str, int]]:
        """Return the number of chunks of every document that has some, by document id."""

    def chunk_ordinals(self, document: str) -> dict[str, int]:
        """Return the ordinal of every chunk of a document by chunk id."""


# --- extractions ----------------------------------------------------------------------------------


class ExtractionReader(Protocol):
    """Windows, the rows that were extracted from them, and the user's decisions about names."""

    def windows(self, ids: Sequence[str]) -> list[Window]:
        """Return windows by id, with their chunks."""

    def window_documents(self) -> list[tuple[str, str]]:
        """Return every window as ``(id, document id)``, in the order of (document, ordinal)."""

    def pending(self, extractor: str) -> list[str]:
        """Return the ids of the windows that this extractor has still to read, in the order of (document, ordinal).

        Pending are windows that another extractor read or none, and those that failed; imported windows never are.
        """

    def extracted_windows(self) -> list[str]:
        """Return the ids of the windows that an extractor has read, in the order of (document, ordinal)."""

    def window_states(self) -> Iterator[WindowState]:
        """Yield every window with its state, in the order of (document, ordinal)."""

    def states(self) -> dict[str, int]:
        """Return the number of windows by status; those not yet read are ``pending``."""

    def failures(self) -> list[tuple[str, str, str, str]]:
        """Return the windows that failed or were repaired, as ``(window, status, problem, raw)``, by document."""

    def iterate(self, documents: Collection[str] | None = None) -> Iterator[tuple[str, Extraction]]:
        """Yield document id and extraction of every window that was read, in the order of (document, ordinal).

        Args:
            documents: ids; None for all. The raw replies are left out, see `failures`.
        """

    def descriptions(self, document: str) -> list[tuple[str, str, str]]:
        """Return window, name and description of each entity row of a document, in the order of `iterate`."""

    def relation_keys(self, document: str) -> list[tuple[str, int]]:
        """Return window and position of each relation row of a document, in the order of `iterate`."""

    def decisions(self, kind: DecisionKind) -> frozenset[tuple[str, str]]:
        """Return the decisions of a kind that are in force.

        Of several about the same pair the last is in force, as is the last about the name of an entity. The pairs of
        ``merge`` and ``split`` are sorted; those of ``rename`` are an old name and its new one.
        """

    def same_answers(self) -> dict[str, bool | None]:
        """Return what a model answered about undecided pairs of names, by key; None if it could not tell."""

    def name_lists(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        """Return which names of a list a model took for one thing, by the key of the list: groups of keys of names."""

    def decision_log(self) -> list[LoggedDecision]:
        """Return every decision in the order in which they were made."""


class ExtractionStore(ExtractionReader, Protocol):
    """Extraction rows, to be changed."""

    def put(self, extraction: Extraction, extractor: str) -> None:
        """Store what an extractor found in one window, replacing what was stored for it."""

    def reset(self, windows: Sequence[str]) -> None:
        """Delete what was extracted from some windows, so that they are read again."""

    def changed_documents(self) -> list[str]:
        """Return the ids of the documents whose extraction rows changed since `clear_changed`, sorted."""

    def clear_changed(self) -> None:
        """Record that the graph follows from all extraction rows as they are."""

    def decide(self, kind: DecisionKind, a: str, b: str) -> None:
        """Record a decision; it is in force instead of an earlier one about the same names."""

    def put_same_answers(self, answers: Mapping[str, bool | None]) -> None:
        """Replace what a model answered about undecided pairs of names."""

    def put_name_lists(self, lists: Mapping[str, Sequence[Sequence[str]]]) -> None:
        """Replace what a model found in lists of names."""

    def undo_decision(self, number: int) -> None:
        """Delete a decision; one that it replaced is in force again."""


# --- graph ----------------------------------------------------------------------------------------


class GraphReader(Protocol):
    """Entities, relations and triples."""

    def entities_by_row(self, rows: Sequence[int], *, most_chunks: int | None = None) -> list[Entity]:
        """Return entities by row number.

        Args:
            rows: of entities.
            most_chunks: the first chunks of each that are returned; None for all.
        """

    def all_entities(self) -> Iterator[Entity]:
        """Yield every entity, by row."""

    def entity_statements(self) -> Iterator[Entity]:
        """Yield every entity, by row, without aliases and chunks; descriptions only if there is no summary."""

    def entity_heads(self, rows: Sequence[int], *, most_chunks: int) -> list[Entity]:
        """Return entities by row, in the order asked for, with the first of their chunks, and 0 as their degree."""

    def entity_outlines(self, rows: Sequence[int]) -> list[EntityOutline]:
        """Return what says which texts describe some entities, by row, in the order asked for."""

    def texts(self, keys: Sequence[int | str]) -> dict[int | str, str]:
        """Return the texts of some keys of `entity_outlines`."""

    def entity_ids(self) -> list[str]:
        """Return the ids of all entities, by row."""

    def names_by_id(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the names of some entities by id."""

    def names_by_row(self, rows: Sequence[int]) -> dict[int, str]:
        """Return names by entity row; unknown rows are left out."""

    def ids_by_row(self, rows: Sequence[int]) -> dict[int, str]:
        """Return ids by entity row; unknown rows are left out."""

    def entity_rows(self, ids: Sequence[str]) -> dict[str, int]:
        """Return row numbers by entity id."""

    def entities_named(self, names: Sequence[str]) -> dict[str, list[int]]:
        """Return the rows of the entities that have some names or aliases, by name as given; namesakes by row.

        Names are compared as `text.normalize.normalize_name` gives them.
        """

    def entity_overview(
        self, *, order: EntityOrder, kind: str | None = None, rows: Sequence[int] | None = None, limit: int
    ) -> list[EntityOverview]:
        """Return the first entities in an order.

        Args:
            order: of the result.
            kind: only entities of this type.
            rows: only these entities.
            limit: most entities.
        """

    def entities_containing(self, text: str, *, whole: bool = False) -> list[int]:
        """Return the rows of the entities with a name or alias that contains a text, ascending.

        A name and the text match if one of their `text.normalize.typed_forms` does: ``Zurich`` and ``Zuerich`` are in
        ``Zürich``.

        Args:
            text: as a user types it.
            whole: only names that are the text as a whole.
        """

    def entity_names(self) -> Iterator[tuple[str, str]]:
        """Yield id and name of every entity, by row."""

    def relations_by_row(self, rows: Sequence[int]) -> list[Relation]:
        """Return relations by row number."""

    def all_relations(self) -> Iterator[Relation]:
        """Yield every relation, by row."""

    def relation_statements(self) -> Iterator[Relation]:
        """Yield every relation, by row, without chunks; descriptions only if there is no summary."""

    def relations_at(self, entities: Sequence[int]) -> list[tuple[int, int, int, float]]:
        """Return the relations of some entities as ``(row, source row, target row, weight)``, by row."""

    def relation_heads(self, rows: Sequence[int]) -> list[tuple[str, float]]:
        """Return id and weight of some relations by row, in the order asked for; nothing else of them is read."""

    def single_descriptions(self, keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Relation]:
        """Return relations with one of their descriptions each, without keywords, chunks and summary.

        Args:
            keys: row of a relation and number of a description, from 0; what does not exist is left out.
        """

    def relation_columns(self) -> Iterator[tuple[int, int, int]]:
        """Yield every relation as ``(source row, target row, number of descriptions)``, by row."""

    def triple_columns(self) -> Iterator[tuple[int, int, str, float]]:
        """Yield every triple as ``(subject row, object row, predicate, weight)``, by row."""

    def relations_per_chunk(self, rows: Sequence[int]) -> dict[str, int]:
        """Count the relations among some rows that each chunk states, without reading their texts."""

    def edges(self, table: Literal["relations", "triples"] = "relations") -> Iterator[tuple[int, int, float]]:
        """Yield every relation or triple as ``(source row, target row, weight)``, by row."""

    def edges_with_chunks(
        self, table: Literal["relations", "triples"]
    ) -> Iterator[tuple[int, int, float, list[str]]]:
        """Yield every relation or triple as ``(source row, target row, weight, chunk ids)``, by row."""

    def triples_by_row(self, rows: Sequence[int]) -> list[Triple]:
        """Return triples by row number."""

    def all_triples(self, *, by_name: bool = False) -> Iterator[Triple]:
        """Yield every triple, by row; `by_name`: subject and object are names of entities instead of ids."""

    def predicates(self) -> list[str]:
        """Return the distinct predicates of the triples, sorted; their positions are rows of `predicate_vectors`."""

    def triples_with(self, predicates: Sequence[str]) -> list[int]:
        """Return the rows of the triples that have one of some predicates, sorted."""

    def merges(self, entity: str | None = None) -> list[Merge]:
        """Return every merge, or those of the entity with an id, sorted."""

    def name_pairs(self, entity: str | None = None) -> list[NamePair]:
        """Return every pair of names that was compared and not merged, or those of an entity, sorted."""

    def n_lost_relations(self, reason: str = "") -> int:
        """Return the number of relation rows that are in no relation, or of those for a reason."""

    def lost_relations(self) -> Iterator[LostRelation]:
        """Yield the relation rows that are in no relation, in the order of (document, window, position)."""

    def all_written_summaries(self) -> Iterator[tuple[str, WrittenSummary]]:
        """Yield every summary that a model wrote with the hash of its input, by hash."""


class GraphStore(GraphReader, Protocol):
    """The graph, to be replaced, and what is computed from it."""

    def put(
        self,
        entities: Iterable[Entity],
        relations: Iterable[Relation],
        triples: Iterable[Triple],
        merges: Iterable[Merge],
        pairs: Iterable[NamePair] = (),
        lost: Iterable[tuple[str, int, str, str]] = (),
    ) -> None:
        """Replace the graph.

        Args:
            entities: all, ascending by id.
            relations: the same, by id.
            triples: the same, by subject, object, predicate.
            merges: all.
            pairs: all pairs of names that were compared and not merged.
            lost: relation rows in no relation, as ``(window, position in it, reason, entity)``.
        """

    def long_descriptions(self, kind: SummaryKind, n_bytes: int) -> list[int]:
        """Return the rows whose descriptions may have more than `n_bytes` bytes together, ascending."""

    def put_summaries(self, summaries: Iterable[tuple[SummaryKind, int, str]]) -> None:
        """Replace the summaries: of each the kind, the row of its entity or relation, and the text."""

    def written_summary(self, key: str) -> WrittenSummary | None:
        """Return the summary that a model wrote for the input with this hash, if there is one."""

    def put_written_summary(self, key: str, summary: WrittenSummary) -> None:
        """Store a summary that a model wrote under the hash of its input."""

    def keep_written_summaries(self, keys: Collection[str]) -> None:
        """Delete the written summaries under all other keys."""

    def remove_written_summaries(self, documents: Collection[str]) -> None:
        """Delete every written summary that rests on one of some documents."""

    def mentions(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the row of every entity with the ids of its chunks, by row; many chunks come in several parts."""

    def entity_descriptions(self) -> Iterator[tuple[str, list[str], list[tuple[str, str]]]]:
        """Yield name, chunk ids and descriptions (text and chunk id) of every entity, by row."""

    def relation_descriptions(self) -> Iterator[list[tuple[str, str]]]:
        """Yield the descriptions (text and chunk id) of every relation, by row."""

    def entity_description_hashes(self) -> Iterator[tuple[str, list[str], list[tuple[int, str]]]]:
        """Yield the same as `entity_descriptions`, with the `text_hash` of each text in its place."""

    def relation_description_hashes(self) -> Iterator[list[tuple[int, str]]]:
        """Yield the same as `relation_descriptions`, with the `text_hash` of each text in its place."""


# --- communities and reports ----------------------------------------------------------------------


class ReportReader(Protocol):
    """Communities and the reports on them."""

    def communities(self, ids: Sequence[str] | None = None) -> list[Community]:
        """Return all communities by level, then id, or some in the order asked for."""

    def community_tree(self) -> list[tuple[str, int, str]]:
        """Return every community as ``(id, level, id of its parent)``, by level, then id."""

    def community_parents(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the ids of the parents of some communities, empty for those without; unknown ids are left out."""

    def community_ids(self) -> list[str]:
        """Return the ids of all communities, sorted."""

    def communities_of(self, entities: Sequence[str]) -> list[tuple[str, str]]:
        """Return the pairs ``(entity id, community id)`` of some entities, sorted."""

    def get(self, communities: Sequence[str]) -> list[Report]:
        """Return the reports of some communities."""

    def all(self) -> Iterator[Report]:
        """Yield every report, by level, then community id: the rows of `report_vectors`."""

    def reported_communities(self) -> list[str]:
        """Return the ids of the communities that have a report, in the order of `all`."""

    def all_written(self) -> Iterator[tuple[str, str]]:
        """Yield every text that a model wrote as ``(hash of its input, text)``, by hash."""


class ReportStore(ReportReader, Protocol):
    """Communities and reports, to be replaced, and report texts that a model wrote."""

    def put_communities(self, communities: Iterable[Community]) -> None:
        """Replace all communities."""

    def counted_communities(self) -> Iterator[CountedCommunity]:
        """Yield every community with the number of its chunks instead of their ids, by level, then id."""

    def put(self, reports: Iterable[Report]) -> None:
        """Replace all reports."""

    def written(self, key: str) -> str | None:
        """Return the text that a model wrote for the input with this hash, if there is one."""

    def put_written(self, key: str, value: str) -> None:
        """Store a text that a model wrote under the hash of its input."""

    def keep_written(self, keys: Collection[str]) -> None:
        """Delete the written texts under all other keys: their inputs no longer exist."""

    def remove_written(self, documents: Collection[str]) -> None:
        """Delete every written text that rests on one of some documents."""


# --- the whole ------------------------------------------------------------------------------------


class StoreReader(Protocol):
    """The tables of one index, to be read."""

    @property
    def folder(self) -> Path:
        """Folder of the index; files of layers are below ``derived/``."""

    @property
    def place(self) -> str:
        """What messages call the index: its folder, or the URL of a database without password."""

    @property
    def documents(self) -> DocumentReader:
        """Documents and chunks."""

    @property
    def extractions(self) -> ExtractionReader:
        """Windows and extraction rows."""

    @property
    def graph(self) -> GraphReader:
        """Entities, relations and triples."""

    @property
    def reports(self) -> ReportReader:
        """Communities and reports."""

    def count(self, table: Countable | PortableTable) -> int:
        """Return how many records of a kind, or rows of a table, there are."""

    def meta(self, key: str) -> str | None:
        """Return the value stored under a key, if there is one."""

    def manifest(self) -> Manifest | None:
        """Return the settings that the index was built with; None before the first build."""

    def notes(self) -> list[str]:
        """Return the notes on all layers, each once, sorted."""

    def layers(self) -> dict[str, tuple[str, int, float]]:
        """Return version, number of rows and seconds of every finished layer by name."""

    def dump(self, table: PortableTable) -> Iterator[PortableRow]:
        """Yield every row of a table as `store.portable` describes it, in order; see `Store.load`."""

    def has_files(self, folder: Path) -> bool:
        """Tell whether the files of a layer, by their folder, are here as they were written, or can be fetched."""

    def fetch_files(self, folder: Path) -> None:
        """Bring the files of a layer to their folder, unless they are there.

        Raises:
            IndexUnreadable: if they are damaged where they come from.
        """

    def open_vectors(self, folder: Path, from_files: Callable[[], VectorSearch]) -> VectorSearch:
        """Return the vectors of a layer, to be searched where the store has them.

        Args:
            folder: of the layer.
            from_files: fetches the files of the layer and opens them.
        """

    def is_open(self) -> bool:
        """Tell whether the state can still be read: the connection to a database may be lost. Cheap to ask for."""

    def close(self) -> None:
        """Release files and connections."""


class Store(StoreReader, Protocol):
    """The tables of one index, to be changed by one writer at a time."""

    @property
    def documents(self) -> DocumentStore:
        """Documents, chunks and windows."""

    @property
    def extractions(self) -> ExtractionStore:
        """Windows and extraction rows."""

    @property
    def graph(self) -> GraphStore:
        """Entities, relations and triples."""

    @property
    def reports(self) -> ReportStore:
        """Communities and reports."""

    def transaction(self) -> AbstractContextManager[None]:
        """Apply all changes made inside, or none if an exception leaves the block."""

    def set_meta(self, key: str, value: str | None) -> None:
        """Store a value under a key; None deletes it."""

    def set_manifest(self, manifest: Manifest) -> None:
        """Replace the manifest."""

    def set_notes(self, layer: str, notes: Iterable[str]) -> None:
        """Replace the notes on a layer: what is weaker in it than it could be."""

    def put_layer(self, name: str, version: str, n_rows: int, seconds: float) -> None:
        """Record that a layer is finished, and keep its files for others that read the index."""

    def put_vectors(self, name: str, version: str, least: int) -> str:
        """Have the store itself search the vectors of a layer that was put, if it can and they are many.

        Args:
            name: of the layer; one without vectors is left alone.
            version: of the layer.
            least: number of rows from which on; 0 for never.

        Returns:
            Why the store cannot do it although there are so many, as a sentence; else nothing.
        """

    def forget_layers(self, names: Iterable[str]) -> None:
        """Record that some layers are not finished, so that they are built again; their tables stay."""

    def drop_layers(self, names: Iterable[str]) -> None:
        """Empty the tables of some layers, and forget the layers and the notes on them."""

    def load(self, table: PortableTable, rows: Iterable[PortableRow]) -> None:
        """Replace all rows of a table by those of another store, see `StoreReader.dump`."""

    def save_state(self) -> None:
        """Keep a copy of all tables as they are now, which readers see while the tables change."""

    def drop_saved_state(self) -> None:
        """Delete what `save_state` kept: readers see the tables themselves."""

    def delete(self) -> None:
        """Delete all tables, as if there had never been an index, and close the store."""

    def compact(self) -> bool:
        """Remove deleted data from the disk.

        Returns:
            False if a reader still holds an earlier state, which keeps it there.
        """
