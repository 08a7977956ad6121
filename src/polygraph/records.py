"""What the stages hand to each other: plain, frozen records.

Offsets are always characters of the document's text, ``start`` inclusive, ``end`` exclusive, so that
``document.text[start:end]`` is the thing itself. Collections in records are tuples in a defined order.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
Metadata: TypeAlias = Mapping[str, Json]


def digest(*parts: str) -> str:
    """Hash strings so that neither order nor boundaries between them can be confused.

    >>> digest("ab", "c") == digest("a", "bc")
    False
    >>> len(digest("a"))
    32
    """
    return digest_of(parts)


def digest_of(parts: Iterable[str]) -> str:
    """Hash strings as `digest` does, one by one: they need not all be in memory."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        sha.update(len(data).to_bytes(8, "big"))
        sha.update(data)
    return sha.hexdigest()[:32]


# --- text ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One text that was read: a file, a record of a file, or a row."""

    id: str
    """Unique in the index: the path relative to the indexed folder (POSIX separators), plus ``#`` and the
    record's own id where one file holds several documents; or the record's ``id`` for a corpus file."""
    title: str
    """What a reader would call it; the file's name where nothing better is known."""
    text: str
    """The whole text as indexed; all offsets refer to it."""
    metadata: Metadata = field(default_factory=dict)
    """Fields of the source (csv/json columns, ``path``, ``format``); page starts under ``pages``."""
    source: str = ""
    """Absolute path of the file that it was read from, or empty."""

    @property
    def hash(self) -> str:
        """Content hash over title, text and metadata: equal hashes need no work."""
        return digest(self.title, self.text, json.dumps(self.metadata, sort_keys=True, default=str))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A piece of a document that retrieval returns."""

    id: str
    """``<document id>:<ordinal>``."""
    document: str
    """Id of its document."""
    ordinal: int
    """Position among the chunks of its document, from 0."""
    start: int
    end: int
    text: str
    """``document.text[start:end]``."""
    n_tokens: int
    """Length by the embedder's own tokenizer."""
    metadata: Metadata = field(default_factory=dict)
    """What is true of this chunk alone (``page``, ``section``); document fields are not repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Whole neighbouring chunks of one document that are read together by an extractor."""

    id: str
    """``<document id>@<ordinal>``."""
    document: str
    ordinal: int
    title: str
    """Title of the document, for the extractor's context."""
    chunks: tuple[Chunk, ...]
    """At least one, in document order, without gaps."""
    text: str
    """The chunks' texts with white space of the right length between them: offsets are those of the
    document less `start`."""

    @property
    def start(self) -> int:
        """Where the window begins in the document."""
        return self.chunks[0].start


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of a document."""

    document: str
    chunk: str
    start: int
    end: int


# --- extraction: rows as written, the truth of the graph -----------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityRow:
    """One entity as an extractor wrote it for one window."""

    name: str
    """As written in the text or by the model."""
    type: str = ""
    """Lower case, empty if unknown: person, organization, place, event, date, concept..."""
    description: str = ""
    """A sentence of the text (no model) or what the model wrote about it."""
    spans: tuple[Span, ...] = ()
    """Where its name stands, located in the chunks of the window; first occurrence first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationRow:
    """One relation as an extractor wrote it for one window."""

    source: str
    """Name of an entity, as written in an `EntityRow` of the same window."""
    target: str
    predicate: str = ""
    """Short phrase in lower case (``designed by``, ``not cause``); empty for plain co-occurrence."""
    keywords: tuple[str, ...] = ()
    description: str = ""
    strength: float = 1.0
    """Positive. Model: 1 to 10 as it says. No model: 1 for a parsed triple, less for co-occurrence."""
    chunks: tuple[str, ...] = ()
    """Ids of the chunks that it was read from, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What came out of one window."""

    window: str
    entities: tuple[EntityRow, ...] = ()
    relations: tuple[RelationRow, ...] = ()
    status: Literal["ok", "repaired", "failed"] = "ok"
    """`repaired`: usable after the repair round or with parts dropped. `failed`: nothing usable."""
    problem: str = ""
    """Why it is not simply ok."""
    raw: str = ""
    """The model's text, kept when the status is not ok."""


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
    """What one window says of an entity or relation."""

    text: str
    chunk: str
    """The chunk that it rests on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """An entity after resolution."""

    id: str
    """Normalised name; namesakes that were kept apart carry a suffix that says where they come from."""
    name: str
    """The most frequent spelling (ties: longest, then first in code point order)."""
    type: str
    aliases: tuple[str, ...]
    """Other spellings, sorted."""
    descriptions: tuple[Description, ...]
    """Distinct, in order of document id and position."""
    chunks: tuple[str, ...]
    """Chunks that mention it, in order of document id and ordinal."""
    degree: int = 0
    """Number of distinct neighbours."""

    @property
    def description(self) -> str:
        """All descriptions joined by spaces."""
        return " ".join(d.text for d in self.descriptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """All rows that join two entities, merged; undirected, ``source < target`` by id."""

    id: str
    """``<source id> | <target id>``."""
    source: str
    target: str
    predicates: tuple[str, ...]
    """Distinct, most frequent first; written from source to target where the row ran that way, else with
    a leading ``<-``."""
    keywords: tuple[str, ...]
    descriptions: tuple[Description, ...]
    weight: float
    """Sum of the rows' strengths."""
    chunks: tuple[str, ...]

    @property
    def description(self) -> str:
        """All descriptions joined by spaces."""
        return " ".join(d.text for d in self.descriptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Triple:
    """One statement of the graph, with its direction: subject, predicate, object."""

    id: str
    """``<source id> | <predicate> | <target id>``."""
    source: str
    """Id of the subject."""
    target: str
    """Id of the object."""
    predicate: str
    """As written; the row's keywords where it has no predicate, ``related to`` where it has neither."""
    weight: float
    """Number of rows that state it."""
    chunks: tuple[str, ...]
    """Chunks that state it, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Community:
    """Entities that belong together, at one level of the hierarchy."""

    id: str
    """``<level>-<hash of the member ids>``: unchanged as long as the members are."""
    level: int
    """0 is the coarsest."""
    parent: str
    """Id of the community that holds it at the level above, or empty."""
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
    """What a community is about."""

    community: str
    level: int
    title: str
    summary: str
    findings: tuple[Finding, ...]
    rating: float
    """Importance in [0, 10]."""
    chunks: tuple[str, ...] = ()
    """Every chunk that the text rests on: a filter on documents withholds the report if one is excluded."""
    weight: float = 0.0
    """Number of distinct chunks of the members, divided by the largest such number in the index."""
    written_by: str = "extractive"
    """Name of the model, or ``extractive``."""

    @property
    def text(self) -> str:
        """Title, summary and findings as they go into a context."""
        lines = [f"# {self.title}", self.summary]
        lines += [f"- {f.summary} {f.explanation}".rstrip() for f in self.findings]
        return "\n".join(line for line in lines if line)


# --- answers --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What something cost."""

    calls: int = 0
    """Calls of a language model that went out (repairs and retries included)."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_calls: int = 0
    """Calls answered from `calls.sqlite`, at no cost."""
    cached_tokens: int = 0
    """Tokens of these calls, read and written, as if they had been paid: what methods are compared by."""
    seconds: float = 0.0
    cost: float | None = 0.0
    """In US dollars; None when a price is not known."""

    def __add__(self, other: "Usage") -> "Usage":
        """Sum; an unknown cost stays unknown."""
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
AnswerForm: TypeAlias = Literal["prose", "points", "word"]
"""`prose`: cited statements, as long as the question needs. `points`: the same, of evidence that consists of statements
on the whole, best first, which without a model are listed. `word`: one name, number, date, yes or no, cited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One ranked thing that a method found."""

    kind: EvidenceKind
    id: str
    """Id of the chunk, entity, relation or report; summaries carry the id of what they summarise."""
    text: str
    """As it goes into the context."""
    score: float
    """By the method; higher is better, comparable within one retrieval and kind only."""
    spans: tuple[Span, ...]
    """Where it comes from: at least one."""
    why: str = ""
    """How the method came to it, for `explain`: seed, path, score, budget."""

    @property
    def document(self) -> str:
        """Id of the first document that it rests on."""
        return self.spans[0].document if self.spans else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Something that the token budget kept out of the context."""

    kind: EvidenceKind
    n_items: int
    n_tokens: int
    budget: int
    """The budget of its block, in tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One intermediate value of a method, for `explain`, tests and ablations."""

    name: str
    value: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """What a method found for a question."""

    question: str
    method: str
    evidence: tuple[Evidence, ...]
    """What fits the budget, in the order of the context."""
    context: str
    """The packed text; block `n` of it, counted from 1, is ``evidence[n - 1]``."""
    n_tokens: int = 0
    """Length of the context."""
    ranking: tuple[str, ...] = ()
    """Chunk ids, best first, also those that the budget cut: what retrieval metrics read."""
    cuts: tuple[Cut, ...] = ()
    trace: tuple[Step, ...] = ()
    usage: Usage = field(default_factory=Usage)
    empty_because: str = ""
    """Set when there is no evidence: no seeds, filtered out, cut by the budget."""
    draft: str = ""
    """An answer that the method itself had a model write from this evidence, cited as ``[n]``, or a refusal that
    begins as `tasks.answer.NO_ANSWER`: it is checked and given instead of asking once more."""
    answer_form: AnswerForm = "prose"
    """The form of answer that the method is meant for; a model is asked for it, an extractive answer is prose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A passage that supports a part of an answer; checked to stand in the document."""

    n: int
    """The number in the answer's text: that of the evidence, from 1. Several passages may share one."""
    document: str
    chunk: str
    start: int
    end: int
    quote: str
    """``document.text[start:end]``."""
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a reader gets."""

    question: str
    method: str
    text: str
    """With citations as ``[n]``."""
    refused: bool
    """True if the evidence does not support an answer; the text says why."""
    citations: tuple[Citation, ...]
    retrieval: Retrieval
    usage: Usage
    extractive: bool = False
    """True if no language model wrote it: the text consists of sentences of the documents."""
    notes: tuple[str, ...] = ()
    """What a reader should know, such as citations that were removed because they did not resolve."""
