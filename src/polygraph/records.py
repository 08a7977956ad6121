"""The plain, frozen records that stages exchange.

Offsets count characters of the document's text, ``start`` inclusive, ``end`` exclusive: ``document.text[start:end]``
is the text that a record is about. Collections in records are tuples in a defined order.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from polygraph import notebook

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
Metadata: TypeAlias = Mapping[str, Json]


def digest(*parts: str) -> str:
    """Hash strings; their order and the boundaries between them matter.

    >>> digest("ab", "c") == digest("a", "bc")
    False
    >>> len(digest("a"))
    32
    """
    return digest_of(parts)


def digest_of(parts: Iterable[str]) -> str:
    """Hash strings as `digest` does, one at a time, so that they need not all be in memory."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        sha.update(len(data).to_bytes(8, "big"))
        sha.update(data)
    return sha.hexdigest()[:32]


# --- text ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of a document: rows of cells below named columns."""

    title: str
    """Its caption, the name of its sheet, or the heading above it; empty if there is none."""
    columns: tuple[str, ...]
    """Distinct names; if the header has several rows, the names in a column are joined by spaces."""
    rows: tuple[tuple[str, ...], ...]
    """Cells as written, as many as there are columns; an empty cell is an empty text. A cell that spans several rows or
    columns is repeated in each."""
    spans: tuple[tuple[int, int], ...]
    """Start and end of each row in the text of the document, where it reads ``column: value; column: value.``"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One text that was read: a file, or a record or row of a file."""

    id: str
    """Unique in the index: the path relative to the indexed folder (POSIX separators), plus ``#`` and the
    record's own id if a file holds several documents; or the record's ``id`` for a corpus file."""
    title: str
    """Name for readers; the file name if nothing better is known."""
    text: str
    """The whole text; all offsets refer to it."""
    metadata: Metadata = field(default_factory=dict)
    """Fields of the source (csv/json columns, ``path``, ``format``); page starts under ``pages``."""
    source: str = ""
    """Absolute path of the file that it was read from; empty if there is none."""
    tables: tuple[Table, ...] = ()
    """In the order of the text; tables beyond the bounds of `ingest.layout.table_rows` are text only."""

    @property
    def hash(self) -> str:
        """Hash of title, text, metadata and tables; a document whose hash is unchanged is not indexed again."""
        tables = [json.dumps([t.title, t.columns, t.rows], ensure_ascii=False) for t in self.tables]
        return digest(self.title, self.text, json.dumps(self.metadata, sort_keys=True, default=str), *tables)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A part of a document; the unit that retrieval returns."""

    id: str
    """``<document id>:<ordinal>``, by `ids.chunk_id`."""
    document: str
    """Id of its document."""
    ordinal: int
    """Position among the chunks of its document, from 0."""
    start: int
    end: int
    text: str
    """``document.text[start:end]``."""
    n_tokens: int
    """Length in tokens of the embedder."""
    metadata: Metadata = field(default_factory=dict)
    """Fields of this chunk (``page``, ``section``); those of the document are not repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Consecutive chunks of one document that an extractor reads together."""

    id: str
    """``<document id>@<ordinal>``, by `ids.window_id`."""
    document: str
    ordinal: int
    title: str
    """Title of the document, as context for the extractor."""
    fields: str = ""
    """Short fields of the document on one line, such as ``date: 1881-11-14; from: Corve``; as `text.passage` writes
    them."""
    chunks: tuple[Chunk, ...]
    """At least one, in document order, without gaps."""
    text: str
    """The texts of the chunks with white space between them, so that its offsets are those of the document minus
    `start`."""

    @property
    def start(self) -> int:
        """Offset of the window in the document."""
        return self.chunks[0].start


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A range of characters of a document."""

    document: str
    chunk: str
    start: int
    end: int


# --- extraction: rows as extracted, the source of truth -----------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityRow:
    """One entity as it was extracted from one window."""

    name: str
    """As written in the text or by the model."""
    type: str = ""
    """Lower case, empty if unknown: person, organization, place, event, date, concept..."""
    description: str = ""
    """A sentence of the text, or what a model wrote about the entity."""
    spans: tuple[Span, ...] = ()
    """Occurrences of its name in the chunks of the window, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationRow:
    """One relation as it was extracted from one window."""

    source: str
    """Name of an entity, as written in an `EntityRow` of the same window."""
    target: str
    predicate: str = ""
    """Short phrase in lower case (``designed by``, ``not cause``); empty for plain co-occurrence."""
    keywords: tuple[str, ...] = ()
    description: str = ""
    strength: float = 1.0
    """Positive. From a model: 1 to 10, as it says. Without a model: 1 for a parsed triple, less for co-occurrence."""
    chunks: tuple[str, ...] = ()
    """Ids of the chunks that it was extracted from, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What was extracted from one window."""

    window: str
    entities: tuple[EntityRow, ...] = ()
    relations: tuple[RelationRow, ...] = ()
    status: Literal["ok", "repaired", "failed"] = "ok"
    """`repaired`: usable after the repair round, or after parts were dropped. `failed`: nothing usable."""
    problem: str = ""
    """Why the status is not ``ok``."""
    raw: str = ""
    """Reply of the model, if the status is not ``ok``."""


@dataclass(frozen=True, slots=True)
class WindowState:
    """What a window consists of, and what an extractor made of it."""

    id: str
    document: str
    ordinal: int
    first: int
    """Ordinal of its first chunk."""
    last: int
    """Ordinal of its last chunk."""
    extractor: str
    """What read it, as `store.manifest.Manifest.reader` names it; empty if nothing did."""
    status: str
    """That of the `Extraction`; empty if it was not read."""
    problem: str
    raw: str


# --- views: deterministic functions of the rows ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class Description:
    """What one window says about an entity or relation."""

    text: str
    chunk: str
    """The chunk that it rests on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """An entity after entity resolution."""

    id: str
    """Normalised name; entities that share a name have a suffix that tells them apart."""
    name: str
    """The most frequent spelling, of those with a word of the id if there are any (ties: longest, then code points)."""
    type: str
    aliases: tuple[str, ...]
    """Other spellings, sorted."""
    descriptions: tuple[Description, ...]
    """Distinct, in order of document id and position."""
    chunks: tuple[str, ...]
    """Chunks that mention it, in order of document id and ordinal."""
    degree: int = 0
    """Number of distinct neighbours."""
    summary: str = ""
    """One text for all descriptions, where they outgrow the budget of the index."""

    @property
    def description(self) -> str:
        """The summary; without one, all descriptions joined by spaces."""
        return self.summary or " ".join(d.text for d in self.descriptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """All relation rows between two entities, merged; undirected, ``source < target`` by id."""

    id: str
    """``<source id> | <target id>``."""
    source: str
    target: str
    predicates: tuple[str, ...]
    """Distinct, most frequent first, read from source to target; those of rows in the other direction begin with
    ``<-``."""
    keywords: tuple[str, ...]
    descriptions: tuple[Description, ...]
    weight: float
    """Sum of the rows' strengths."""
    chunks: tuple[str, ...]
    summary: str = ""
    """One text for all descriptions, where they outgrow the budget of the index."""

    @property
    def description(self) -> str:
        """The summary; without one, all descriptions joined by spaces."""
        return self.summary or " ".join(d.text for d in self.descriptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Triple:
    """One directed statement of the graph: subject, predicate, object."""

    id: str
    """``<source id> | <predicate> | <target id>``."""
    source: str
    """Id of the subject."""
    target: str
    """Id of the object."""
    predicate: str
    """As extracted; the keywords of rows without a predicate, and ``related to`` for rows with neither."""
    weight: float
    """Number of rows that state it."""
    chunks: tuple[str, ...]
    """Chunks that state it, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Community:
    """Entities that belong together, at one level of the hierarchy."""

    id: str
    """``<level>-<hash of the member ids>``: it changes only if the members change."""
    level: int
    """0 is the coarsest."""
    parent: str
    """Id of the community that contains it, one level coarser; empty at level 0."""
    entities: tuple[str, ...]
    """Ids, sorted."""
    chunks: tuple[str, ...] = ()
    """Chunks that mention a member, in order."""


@dataclass(frozen=True, slots=True)
class CountedCommunity:
    """A community with the number of its chunks.

    On each level of the hierarchy the communities together list nearly all chunks of the index once more.
    """

    id: str
    level: int
    parent: str
    entities: Sequence[str]
    """Ids, sorted."""
    n_chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One statement of a report."""

    summary: str
    explanation: str = ""
    chunks: tuple[str, ...] = ()
    """Chunks that it rests on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A report on a community."""

    community: str
    level: int
    title: str
    summary: str
    findings: tuple[Finding, ...]
    rating: float
    """Importance in [0, 10]."""
    chunks: tuple[str, ...] = ()
    """Every chunk that the text rests on; a filter on documents hides the report if it excludes one of them."""
    weight: float = 0.0
    """Number of distinct chunks of the members, divided by the largest such number in the index."""
    written_by: str = "extractive"
    """Name of the model, or ``extractive``."""

    @property
    def text(self) -> str:
        """Title, summary and findings, as they are put into a context."""
        lines = [f"# {self.title}", self.summary]
        lines += [f"- {f.summary} {f.explanation}".rstrip() for f in self.findings]
        return "\n".join(line for line in lines if line)

    def _repr_html_(self) -> str:
        return notebook.report_html(self)


# --- answers --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Calls, tokens, time and cost of some work."""

    calls: int = 0
    """Calls that were sent to a language model, including repairs and retries."""
    prompt_tokens: int = 0
    """Tokens that these calls read."""
    completion_tokens: int = 0
    """Tokens that they wrote."""
    cached_calls: int = 0
    """Calls that were answered from `calls.sqlite`, at no cost."""
    cached_tokens: int = 0
    """Tokens of the cached calls, input and output; they count when the costs of methods are compared."""
    seconds: float = 0.0
    """Elapsed time."""
    cost: float | None = 0.0
    """In US dollars; None if a price is not known."""

    def __add__(self, other: "Usage") -> "Usage":
        """Add two usages; an unknown cost makes the sum unknown."""
        known = self.cost is not None and other.cost is not None
        return Usage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cached_calls=self.cached_calls + other.cached_calls,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            seconds=self.seconds + other.seconds,
            cost=(self.cost or 0.0) + (other.cost or 0.0) if known else None,
        )


EvidenceKind: TypeAlias = Literal["chunk", "entity", "relation", "report", "summary"]
CitationCheck: TypeAlias = Literal["rules", "model"]
"""What decides whether a citation stays in an answer that a model wrote: rules, or the chat model in one more call."""
AnswerForm: TypeAlias = Literal["short", "cited", "overview"]
"""`short`: one name, number, date, yes or no, cited. `cited`: cited statements, as long as the question needs.
`overview`: up to 2,000 words that cover everything the evidence says; without a model, the best statements of it."""
ReaderForm: TypeAlias = Literal["raft", "graft"]
"""The form of the replies that a reader was tuned for. `raft`: quotes, then the answer; `graft`: the answer alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One ranked result of a method."""

    kind: EvidenceKind
    id: str
    """Id of the chunk, entity, relation or report; for a summary, the id of what it summarises."""
    text: str
    """The text that is put into the context."""
    score: float
    """Score by the method; higher is better. Comparable only within one retrieval and kind."""
    spans: tuple[Span, ...]
    """Sources of the text: at least one."""
    why: str = ""
    """How the method found it, for `explain`: seed, path, score, budget."""

    @property
    def document(self) -> str:
        """Id of the first document that it rests on."""
        return self.spans[0].document if self.spans else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Evidence that was left out of the context to fit the token budget."""

    kind: EvidenceKind
    n_items: int
    n_tokens: int
    """Tokens of these items; of many hundreds only some are counted, and the others estimated from their mean."""
    budget: int
    """Token budget of its block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One intermediate value of a method, for `explain`, tests and ablations."""

    name: str
    value: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """The result of a method for a question."""

    question: str
    method: str
    evidence: tuple[Evidence, ...]
    """The evidence that fits the token budget, in the order of the context."""
    context: str
    """The packed text; block `n` of it, counted from 1, is ``evidence[n - 1]``."""
    n_tokens: int = 0
    """Length of the context in tokens."""
    ranking: tuple[str, ...] = ()
    """Chunk ids, best first, including those beyond the token budget; retrieval metrics use it."""
    cuts: tuple[Cut, ...] = ()
    trace: tuple[Step, ...] = ()
    usage: Usage = field(default_factory=Usage)
    empty_because: str = ""
    """Why there is no evidence: no seeds, filtered out, beyond the token budget; empty if there is some."""
    draft: str = ""
    """An answer that the method had a model write from this evidence, with citations ``[n]``, or a refusal that begins
    with `tasks.answers.answer.NO_ANSWER`. It is checked and returned instead of asking the model again."""
    answer_form: AnswerForm = "cited"
    """The form of answer that the method is meant for; without a model, `short` and `cited` are sentences."""

    def _repr_html_(self) -> str:
        return notebook.retrieval_html(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A passage that supports part of an answer, or comes near to one; its quote was checked to be in the document."""

    n: int
    """Number in the text of the answer: that of the evidence, from 1. Several passages may have the same number."""
    document: str
    """Id of the document."""
    chunk: str
    """Id of the chunk that the quote is in."""
    start: int
    """Offset of the quote in the text of the document, in characters."""
    end: int
    """Offset of its end, excluded."""
    quote: str
    """``document.text[start:end]``."""
    title: str = ""
    """Title of the document."""
    at: tuple[int, ...] = ()
    """Offsets in the answer's text of the marks ``[n]`` that refer to it; empty if they cannot be told apart."""
    also: tuple[str, ...] = ()
    """Ids of other documents that contain the same passage."""
    place: str = ""
    """Where the quote is in its document, for readers: the row of a table, or page and section, or else the number of
    its passage; empty in a document of one passage without headings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a question."""

    question: str
    method: str
    text: str
    """Text with citations ``[n]``."""
    refused: bool
    """True if the evidence does not support an answer; the text says why."""
    citations: tuple[Citation, ...]
    retrieval: Retrieval
    usage: Usage
    extractive: bool = False
    """True if no language model wrote it: the text consists of sentences from the documents, is computed from one of
    their tables, or counts what the collection holds."""
    notes: tuple[str, ...] = ()
    """Remarks for readers, such as citations that were removed because they did not resolve."""
    nearest: tuple[Citation, ...] = ()
    """If rules refused to answer, the passages that come nearest to an answer: at most three, best first, each with one
    sentence as its quote. No mark in the text refers to them. Empty if there is an answer, or if a model refused."""

    def _repr_html_(self) -> str:
        return notebook.answer_html(self)
