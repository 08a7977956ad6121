"""Steps that methods are composed of: typed functions over an index, without state."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar, overload

import numpy as np

from polygraph.models import Models
from polygraph.models.protocols import Vectors
from polygraph.models.retry import is_local
from polygraph.records import AnswerForm, Chunk, Cut, Entity, Evidence, Json, Relation, Retrieval, Span, Step
from polygraph.retrieve.evidence import within_filter
from polygraph.retrieve.pack import Block, Packed, pack
from polygraph.store.snapshot import Snapshot
from polygraph.store.vectors import Hit
from polygraph.text.passage import Heading, with_heading

T = TypeVar("T", bound=Hashable)
RANKED = 100
"""Chunks that a ranking lists, so that retrieval can be measured beyond the packed context."""
_INSTEAD = "next in the ranking, in the place of a copy"
_READ_AT_ONCE = 32
"""Passages that are read at once where it is not known how many will be needed."""


def embed_question(question: str, models: Models, *, names: bool = False) -> Vectors:
    """Embed a question for chunk vectors, or with `names` for entity vectors; shape ``(dimension,)``."""
    embedder = models.name_embedder if names else models.embedder
    vectors = models.calls.embed(embedder, [question], "query", stage="question")
    return np.asarray(vectors[0])


def embed_names(texts: Sequence[str], models: Models) -> Vectors:
    """Embed texts for the vectors of entities, relations and triples; shape ``(len(texts), dimension)``."""
    if not texts:
        return np.zeros((0, models.name_embedder.dimension), dtype=np.float32)
    return np.asarray(models.calls.embed(models.name_embedder, texts, "query", stage="question"))


def embed_at_once(
    groups: Sequence[Sequence[str]], models: Models, *, question: str | None = None
) -> list[Vectors]:
    """Embed groups of texts as `embed_names`, and a question as `embed_question`, in one call of an endpoint.

    Args:
        groups: texts.
        models: in use; where another embedder embeds questions, or a local one names, there are several calls.
        question: embedded for chunk vectors; None for none.

    Returns:
        The vectors of each group, shape ``(len(texts), dimension)``, and last that of the question, with one row.
    """
    if is_local(models.name_embedder):
        vectors = [embed_names(texts, models) for texts in groups]
        return vectors if question is None else [*vectors, embed_question(question, models)[None]]
    joins = question is not None and models.embedder.name == models.name_embedder.name
    wanted = [*groups, [question]] if question is not None and joins else list(groups)
    found = embed_names([text for texts in wanted for text in texts], models)
    ends = np.cumsum([len(texts) for texts in wanted])
    vectors = np.split(found, ends[:-1])
    return vectors if question is None or joins else [*vectors, embed_question(question, models)[None]]


def search_dense(question: str, index: Snapshot, models: Models, k: int) -> list[Hit]:
    """Rank chunks by cosine with the question."""
    return index.search_chunks(embed_question(question, models), k)


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[int]], *, k: int = 60, weights: Sequence[float] | None = None
) -> list[Hit]:
    """Fuse rankings: an item scores the sum of ``weight / (k + rank)``, ranks counted from 1.

    Cormack, Clarke and Buettcher (2009).

    Args:
        rankings: numbers of items, best first.
        k: reduces the lead of the first ranks.
        weights: one per ranking, default 1 each.

    Returns:
        Items by descending score, then number.

    >>> [hit.n for hit in reciprocal_rank_fusion([[1, 2], [2, 3]])]
    [2, 1, 3]
    """
    scores: dict[int, float] = {}
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for rank, n in enumerate(ranking, 1):
            scores[n] = scores.get(n, 0.0) + weight / (k + rank)
    return sorted((Hit(n, round(s, 8)) for n, s in scores.items()), key=lambda h: (-h.score, h.n))


def round_robin(rankings: Sequence[Sequence[T]]) -> list[T]:
    """Interleave rankings: the first of each, then the second of each, and so on; each item once (LightRAG's merge).

    >>> round_robin([["a", "b", "c"], ["b", "d"]])
    ['a', 'b', 'd', 'c']
    """
    longest = max(map(len, rankings), default=0)
    return list(dict.fromkeys(ranking[i] for i in range(longest) for ranking in rankings if i < len(ranking)))


def rerank(question: str, hits: Sequence[Hit], index: Snapshot, models: Models, top: int) -> list[Hit]:
    """Reorder the first `top` hits by the cross-encoder; the others follow in their order.

    Without a reranker the hits are returned unchanged.
    """
    if models.reranker is None or not hits:
        return list(hits)
    head, tail = list(hits[:top]), list(hits[top:])
    texts = [chunk.text for chunk in index.chunks([hit.n for hit in head])]
    scores = models.calls.score(models.reranker, question, texts, stage="rerank")
    ordered = [Hit(hit.n, round(float(score), 5)) for hit, score in zip(head, scores, strict=True)]
    return sorted(ordered, key=lambda h: (-h.score, h.n)) + tail


def chunk_evidence(
    chunks: Sequence[Chunk], scores: Sequence[float], why: Sequence[str], headings: Mapping[str, Heading]
) -> tuple[Evidence, ...]:
    """Make evidence of chunks, each below title and fields of its document."""
    return tuple(
        Evidence(
            kind="chunk",
            id=chunk.id,
            text=with_heading(
                headings.get(chunk.document, Heading(chunk.document)), chunk.text, chunk.metadata
            ),
            score=score,
            spans=(Span(chunk.document, chunk.id, chunk.start, chunk.end),),
            why=reason,
        )
        for chunk, score, reason in zip(chunks, scores, why, strict=True)
    )


def ordered_chunks(chunks: Sequence[Chunk], whys: Mapping[str, str], index: Snapshot) -> tuple[Evidence, ...]:
    """Make evidence of chunks when only their order counts: scores count down to 1.

    Args:
        chunks: best first.
        whys: reasons by chunk id.
        index: the snapshot they come from.
    """
    return chunk_evidence(
        chunks,
        [float(len(chunks) - i) for i in range(len(chunks))],
        [whys[c.id] for c in chunks],
        index.headings([c.document for c in chunks]),
    )


class RankedPassages(Sequence[Evidence]):
    """What `ordered_chunks` returns, read only as far as it is looked at: a context holds a part of a ranking.

    Args:
        whys: reasons by chunk id, best first; unknown ids are left out.
        index: the snapshot they come from.
    """

    def __init__(self, whys: Mapping[str, str], index: Snapshot) -> None:
        self.ids = tuple(index.chunk_rows(list(whys)))
        self._whys, self._index = whys, index
        self._read: list[Evidence] = []

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, n: int) -> Evidence: ...

    @overload
    def __getitem__(self, n: slice) -> Sequence[Evidence]: ...

    def __getitem__(self, n: int | slice) -> Evidence | Sequence[Evidence]:
        places = range(len(self))[n]
        if isinstance(places, int):
            self._read_until(places + _READ_AT_ONCE - places % _READ_AT_ONCE)
            return self._read[places]
        self._read_until(max(places, default=-1) + 1)
        return [self._read[place] for place in places]

    def _read_until(self, end: int) -> None:
        """Read the passages before a place that have not been read."""
        first = len(self._read)
        some = self.ids[first:end]
        if some:
            chunks = self._index.chunks_by_id(some)
            scores = [float(len(self) - i) for i in range(first, first + len(some))]
            headings = self._index.headings([c.document for c in chunks])
            self._read += chunk_evidence(chunks, scores, [self._whys[i] for i in some], headings)


def relations_per_chunk(relations: Sequence[Relation]) -> Counter[str]:
    """Count how many of some relations each chunk states."""
    return Counter(chunk for r in relations for chunk in r.chunks)


def sources_of(
    entities: Sequence[Entity], n_relations: Mapping[str, int], index: Snapshot
) -> tuple[Evidence, ...]:
    """Rank the chunks of ranked entities: by first entity, then number of relations, then id.

    The order of source texts in GraphRAG's local search and in LightRAG 1.0.

    Args:
        entities: best first.
        n_relations: how many of the relations each chunk states; a chunk that is not named states none.
        index: the snapshot they come from.
    """
    first: dict[str, int] = {}
    for order, entity in enumerate(entities):
        for chunk in entity.chunks:
            first.setdefault(chunk, order)
    ordered = sorted(first, key=lambda c: (first[c], -n_relations.get(c, 0), c))
    chunks = index.chunks_by_id(ordered[:RANKED])
    return chunk_evidence(
        chunks,
        [float(len(entities) - first[c.id]) for c in chunks],
        [
            f"mentions {entities[first[c.id]].name}; {n_relations.get(c.id, 0)} of the relations"
            for c in chunks
        ],
        index.headings([c.document for c in chunks]),
    )


def pack_chunks(
    question: str,
    method: str,
    index: Snapshot,
    hits: Sequence[Hit],
    why: Sequence[str],
    *,
    k: int,
    max_tokens: int,
    trace: Sequence[Step] = (),
    empty_because: str = "the index holds no passages",
) -> Retrieval:
    """Build a retrieval from ranked chunks: the first `k` that are no copies are packed, all are in the ranking."""
    n = k
    packed = _packed_chunks(index, hits[:n], why, max_tokens)
    # Copies share one place; those that come next get theirs.
    while not packed.cuts and (free := k - len(packed.evidence)) > 0 and n < len(hits):
        n += free
        packed = _packed_chunks(index, hits[:n], why, max_tokens)
    return retrieved(
        question,
        method,
        packed,
        ranking=index.chunk_ids([hit.n for hit in hits]),
        max_tokens=max_tokens,
        trace=trace,
        what="no passage",
        empty_because="" if hits else within_filter(empty_because, index),
    )


def _packed_chunks(index: Snapshot, hits: Sequence[Hit], why: Sequence[str], max_tokens: int) -> Packed:
    chunks = index.chunks([hit.n for hit in hits])
    headings = index.headings([c.document for c in chunks])
    # Some methods give reasons for the first ones only.
    reasons = [*why[: len(hits)], *[_INSTEAD] * (len(hits) - len(why))]
    items = chunk_evidence(chunks, [h.score for h in hits], reasons, headings)
    counts = index.passage_tokens([c.id for c in chunks])
    return pack([Block(heading="", items=items, counts=counts)], max_tokens=max_tokens)


def retrieved(
    question: str,
    method: str,
    packed: Packed,
    *,
    ranking: Iterable[str],
    max_tokens: int,
    trace: Sequence[Step] = (),
    cuts: Sequence[Cut] | None = None,
    what: str = "nothing",
    empty_because: str = "",
    draft: str = "",
    answer_form: AnswerForm = "cited",
) -> Retrieval:
    """Build a retrieval from a packed context.

    Args:
        question: as asked.
        method: name of the method.
        packed: the context and its evidence.
        ranking: chunk ids, best first; repeated ids are dropped, and the first `RANKED` are kept.
        max_tokens: budget of the context, stated in the reason when nothing fits.
        trace: intermediate values.
        cuts: what was truncated; default: what `packed` records.
        what: subject of that reason, such as "no report".
        empty_because: why there is no evidence, if not for the budget.
        draft: an answer that the method has already written.
        answer_form: form of the answer to write.
    """
    reason = empty_because or f"{what} fits the budget of {max_tokens} tokens"
    return Retrieval(
        question=question,
        method=method,
        evidence=packed.evidence,
        context=packed.context,
        n_tokens=packed.n_tokens,
        ranking=tuple(dict.fromkeys(ranking))[:RANKED],
        cuts=packed.cuts if cuts is None else tuple(cuts),
        trace=tuple(trace),
        draft=draft,
        answer_form=answer_form,
        empty_because="" if packed.evidence else reason,
    )


def hits_as_json(hits: Sequence[Hit], index: Snapshot) -> Json:
    """Convert hits on chunks for a trace: ``[[chunk id, score], ...]``."""
    ids = index.chunk_ids([hit.n for hit in hits])
    return [[chunk, hit.score] for chunk, hit in zip(ids, hits, strict=True)]
