"""What the tools of the MCP server return: records with a schema, and the functions that make them from a snapshot."""

from collections import defaultdict
from collections.abc import Sequence

from pydantic import BaseModel, Field

from polygraph.errors import BadInput
from polygraph.ids import document_name
from polygraph.records import Answer, Citation, Entity, Relation, Retrieval
from polygraph.server.views.documents import find_documents
from polygraph.store.snapshot import Snapshot

MAX_CHARS = 20_000
"""Most characters of a document in one result."""
MAX_LISTED = 200
"""Most documents, relations or evidence in one result."""
_DESCRIPTION_CHARS = 1_000


class Passage(BaseModel):
    """One piece of evidence."""

    kind: str = Field(description="chunk, entity, relation, report or summary")
    id: str
    document: str = Field(description="id of the document it rests on, for read_document")
    start: int = Field(description="offset in the document")
    end: int
    score: float = Field(description="by the method; comparable within one result only")
    text: str
    why: str = Field(description="how the method found it")


class SearchResult(BaseModel):
    """Evidence for a question, best first."""

    index: str
    method: str
    evidence: list[Passage]
    truncated: int = Field(
        description="pieces of evidence that did not fit the token budget or the number asked for"
    )
    empty_because: str = Field(description="why there is no evidence; empty if there is some")


class Cited(BaseModel):
    """A passage that supports part of an answer, or comes near to one; its quote was checked to be in the document."""

    n: int = Field(description="number in the text of the answer, as in [1]: that of the evidence")
    document: str = Field(description="id, for read_document")
    name: str = Field(description="of the document, for people")
    title: str
    start: int
    end: int
    quote: str
    also: list[str] = Field(default=[], description="other documents with the same passage")


class AskResult(BaseModel):
    """An answer with its citations, or a refusal."""

    index: str
    id: str = Field(description="for the tool explain")
    method: str
    text: str
    refused: bool = Field(description="true if the documents do not support an answer; the text says why")
    citations: list[Cited]
    nearest: list[Cited] = Field(
        description="of a refusal without a model, the passages that come nearest to an answer, best first"
    )
    notes: list[str]
    calls: int = Field(description="calls of a language model")
    tokens: int
    seconds: float
    cost: float | None = Field(description="in US dollars; null if a price is not known")


class TraceStep(BaseModel):
    """One intermediate value of a method."""

    name: str
    value: str


class ExplainResult(BaseModel):
    """Why an answer found its evidence."""

    id: str
    index: str
    question: str
    method: str
    refused: bool
    evidence: list[Passage]
    steps: list[TraceStep]
    truncated: int
    empty_because: str


class ListedDocument(BaseModel):
    """A document of the list."""

    id: str
    name: str = Field(description="for people")
    title: str


class DocumentList(BaseModel):
    """Documents in the order of their ids."""

    index: str
    documents: list[ListedDocument]
    next: str | None = Field(description="give it as `after` for more; null at the end")


class DocumentText(BaseModel):
    """Part of a document."""

    index: str
    id: str
    title: str
    start: int
    end: int
    length: int = Field(description="characters of the whole document")
    text: str


class EntityCard(BaseModel):
    """An entity."""

    id: str
    name: str
    type: str
    aliases: list[str]
    description: str
    documents: list[str]


class Link(BaseModel):
    """A relation between two entities."""

    source: str
    target: str
    predicates: list[str] = Field(
        description='read from source to target; those with "<-" in front, backwards'
    )
    description: str
    weight: float
    documents: list[str]


class Neighbourhood(BaseModel):
    """Entities around one, and the relations between them, strongest first."""

    index: str
    entity: EntityCard
    neighbours: list[EntityCard]
    relations: list[Link]
    left_out: int = Field(description="relations beyond the limit")


class Change(BaseModel):
    """What a change of the index did."""

    index: str
    message: str
    documents: list[str]
    """Ids that were added or removed."""


def search_result(index: str, found: Retrieval, k: int) -> SearchResult:
    """Return the first `k` pieces of evidence."""
    passages = _passages(found)
    return SearchResult(
        index=index,
        method=found.method,
        evidence=passages[:k],
        truncated=max(0, len(passages) - k) + sum(cut.n_items for cut in found.cuts),
        empty_because=found.empty_because,
    )


def ask_result(index: str, id: str, found: Answer) -> AskResult:
    """Return an answer under the id that `explain` takes."""
    usage = found.usage
    return AskResult(
        index=index,
        id=id,
        method=found.method,
        text=found.text,
        refused=found.refused,
        citations=[_cited(c) for c in found.citations],
        nearest=[_cited(c) for c in found.nearest],
        notes=list(found.notes),
        calls=usage.calls,
        tokens=usage.prompt_tokens + usage.completion_tokens,
        seconds=round(usage.seconds, 3),
        cost=usage.cost,
    )


def explain_result(index: str, id: str, found: Answer) -> ExplainResult:
    """Return evidence and trace of an answer."""
    retrieval = found.retrieval
    return ExplainResult(
        id=id,
        index=index,
        question=found.question,
        method=found.method,
        refused=found.refused,
        evidence=_passages(retrieval)[:MAX_LISTED],
        steps=[TraceStep(name=s.name, value=str(s.value)[:_DESCRIPTION_CHARS]) for s in retrieval.trace],
        truncated=sum(cut.n_items for cut in retrieval.cuts),
        empty_because=retrieval.empty_because,
    )


def document_list(index: str, snapshot: Snapshot, q: str, after: str, limit: int) -> DocumentList:
    """Return the documents whose id or title contains `q`, in the order of their ids, behind the id `after`."""
    found, more = find_documents(snapshot, q, after, limit)
    shown = [ListedDocument(id=id, name=document_name(id), title=title) for id, title, _ in found]
    return DocumentList(index=index, documents=shown, next=shown[-1].id if more else None)


def unknown_document(id: str) -> BadInput:
    """Return the error of an id that no document has."""
    return BadInput(f"there is no document {id[:200]!r}. List them with the tool list_documents")


def document_text(index: str, snapshot: Snapshot, id: str, start: int, end: int | None) -> DocumentText:
    """Return part of a document, at most `MAX_CHARS` characters.

    Raises:
        BadInput: if there is no such document.
    """
    found = snapshot.store.documents.get(id)
    if found is None:
        raise unknown_document(id)
    length = len(found.text)
    start = min(start, length)
    end = min(length if end is None else max(end, start), start + MAX_CHARS, length)
    return DocumentText(
        index=index,
        id=found.id,
        title=found.title,
        start=start,
        end=end,
        length=length,
        text=found.text[start:end],
    )


def report_text(snapshot: Snapshot, community: str) -> str:
    """Return the report on a community as text.

    Raises:
        BadInput: if there is none.
    """
    found = [report for report in snapshot.reports([community]) if report.community == community]
    if not found:
        raise BadInput(f"there is no report {community[:200]!r} in this index")
    return found[0].text


def neighbourhood(index: str, snapshot: Snapshot, name: str, hops: int, limit: int) -> Neighbourhood:
    """Return the entities within one or two relations of an entity.

    Args:
        index: its name.
        snapshot: to read.
        name: id, name or alias.
        hops: 1 or 2.
        limit: most relations: those nearer to the entity first, then those of more weight.

    Raises:
        BadInput: if no entity has the name.
    """
    row = _entity_row(snapshot, name)
    distance = {row: 0}
    nearest: dict[int, tuple[int, float]] = {}
    frontier = [row]
    for hop in range(hops):
        reached = snapshot.relations_at(frontier)
        for each in reached:
            nearest.setdefault(each.n, (hop, -each.weight))
        frontier = sorted({end for each in reached for end in (each.source, each.target)} - distance.keys())
        distance |= dict.fromkeys(frontier, hop + 1)
    # Reduced by the filter: a relation that rests on hidden documents is not returned.
    chosen = sorted(nearest, key=lambda n: (*nearest[n], n))
    relations = list(snapshot.relations(chosen[:limit]).values())
    centre = snapshot.entities([row])[0]
    ids = sorted({end for each in relations for end in (each.source, each.target)} - {centre.id})
    rows = snapshot.entity_rows(ids)
    others = snapshot.entities([rows[id] for id in ids if id in rows])
    names = {each.id: each.name for each in (centre, *others)}
    documents = _documents_of(snapshot, [centre, *others, *relations])
    return Neighbourhood(
        index=index,
        entity=_card(centre, documents),
        neighbours=[_card(each, documents) for each in others],
        relations=[
            Link(
                source=names.get(each.source, each.source),
                target=names.get(each.target, each.target),
                predicates=list(each.predicates),
                description=each.description[:_DESCRIPTION_CHARS],
                weight=each.weight,
                documents=documents[each.id],
            )
            for each in relations
        ],
        left_out=max(0, len(chosen) - limit),
    )


def _entity_row(snapshot: Snapshot, name: str) -> int:
    by_id = snapshot.entity_rows([name])
    if name in by_id:
        return by_id[name]
    named = snapshot.entities_named([name]).get(name, [])
    if not named:
        raise BadInput(
            f"no entity is named {name[:200]!r}. Search for it with the tool search, method walk or kg-triplets"
        )
    # Of namesakes the one that most chunks mention.
    found = snapshot.entities(named)
    best = min(range(len(found)), key=lambda i: (-len(found[i].chunks), found[i].id))
    return named[best]


def _documents_of(snapshot: Snapshot, items: Sequence[Entity | Relation]) -> dict[str, list[str]]:
    """Return the first documents that entities and relations rest on, by id."""
    first = {item.id: item.chunks[:20] for item in items}
    chunks = sorted({chunk for each in first.values() for chunk in each})
    document = {chunk.id: chunk.document for chunk in snapshot.chunks_by_id(chunks)}
    found: dict[str, list[str]] = defaultdict(list)
    for id, each in first.items():
        found[id] = list(dict.fromkeys(document[chunk] for chunk in each if chunk in document))
    return found


def _card(entity: Entity, documents: dict[str, list[str]]) -> EntityCard:
    return EntityCard(
        id=entity.id,
        name=entity.name,
        type=entity.type,
        aliases=list(entity.aliases[:20]),
        description=entity.description[:_DESCRIPTION_CHARS],
        documents=documents[entity.id],
    )


def _cited(found: Citation) -> Cited:
    return Cited(
        n=found.n,
        document=found.document,
        name=document_name(found.document),
        title=found.title,
        start=found.start,
        end=found.end,
        quote=found.quote,
        also=list(found.also),
    )


def _passages(found: Retrieval) -> list[Passage]:
    return [
        Passage(
            kind=each.kind,
            id=each.id,
            document=each.document,
            start=each.spans[0].start if each.spans else 0,
            end=each.spans[0].end if each.spans else 0,
            score=each.score,
            text=each.text,
            why=each.why,
        )
        for each in found.evidence
    ]
