"""Selection and order of the passages that ranked entities and relations cite."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polygraph.models.protocols import Vectors
from polygraph.records import Entity, Relation
from polygraph.retrieve.row_texts import RowTexts
from polygraph.store.snapshot import Snapshot
from polygraph.store.vectors import Nearest
from polygraph.text.words import content_stem_set

MANY_PASSAGES = 500
"""An entity in more passages is a hub: of these, only the `NEAREST` to the question can matter."""
NEAREST = 500
"""Passages nearest to the question, of which those that mention a hub are considered."""


@dataclass(frozen=True, slots=True)
class PassageCosines:
    """Cosines of passages with a question: what is known from a search, else compared when it is asked for."""

    vector: Vectors
    """The question, embedded like the chunks, shape ``(dimension,)``."""
    index: Snapshot
    """With `chunk_vectors`."""
    found: Nearest | None = None
    """At least the `NEAREST` passages."""
    scores: NDArray[np.float32] | None = None
    """Cosines of all chunks, by row."""

    @classmethod
    def searched(cls, vector: Vectors, index: Snapshot, k: int) -> "PassageCosines":
        """Search the `k` nearest passages, at least `NEAREST`; keep all cosines where the search computes them."""
        k = max(k, NEAREST)
        if not index.compares_all_chunks(k):
            return cls(vector, index, index.nearest_chunks(vector, k))
        scores = index.chunk_scores(vector)
        return cls(vector, index, Nearest.of(scores, k), scores)

    def nearest(self) -> Nearest:
        """Return at least the `NEAREST` passages."""
        return self.index.nearest_chunks(self.vector, NEAREST) if self.found is None else self.found

    def of(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the cosines of some passages, in the order asked for."""
        if self.scores is not None:
            return self.scores[rows]
        return self.index.chunk_similarities(self.vector, rows)


def consider_passages(entities: Sequence[Entity], cosines: PassageCosines) -> list[Sequence[str]]:
    """Return the passages of each entity that can rank high for a question.

    All, if they are not more than `MANY_PASSAGES`. Of a hub, those that its descriptions come from and those that are
    among the `NEAREST` of the whole index: since passages are ranked by what rows say of them, then by cosine, no other
    can stand above these.

    Args:
        entities: read with at least ``MANY_PASSAGES + 1`` of their chunks.
        cosines: with the question; the nearest passages are searched only if there is a hub.

    Returns:
        Chunk ids in the order of the index; of a hub, those of its descriptions first.
    """
    hubs = [e for e in entities if len(e.chunks) > MANY_PASSAGES]
    if not hubs:
        return [e.chunks for e in entities]
    index = cosines.index
    rows = index.entity_rows([e.id for e in hubs])
    hits = np.sort(cosines.nearest().rows[:NEAREST]).tolist()
    there = {
        hub.id: [
            n for n, is_there in zip(hits, index.mentioned_in(rows[hub.id], hits), strict=True) if is_there
        ]
        for hub in hubs
    }
    near = sorted({n for some in there.values() for n in some})
    ids = dict(zip(near, index.chunk_ids(near), strict=True))
    found: list[Sequence[str]] = []
    for entity in entities:
        if len(entity.chunks) <= MANY_PASSAGES:
            found.append(entity.chunks)
            continue
        said = [d.chunk for d in entity.descriptions]
        found.append(list(dict.fromkeys([*said, *(ids[n] for n in there[entity.id])])))
    return found


def assign_to_first(cited: Sequence[Sequence[str]], exclude: Collection[str] = ()) -> list[list[str]]:
    """Assign each passage to the first row that cites it, so that no two rows contribute the same one.

    Args:
        cited: chunk ids of each row, rows best first.
        exclude: chunks that are assigned to none.

    Returns:
        Chunk ids of each row, in the row's order.

    >>> assign_to_first([["a", "b"], ["b", "c"]], exclude=["c"])
    [['a', 'b'], []]
    """
    seen = set(exclude)
    result = []
    for chunks in cited:
        own = [c for c in dict.fromkeys(chunks) if c not in seen]
        seen.update(own)
        result.append(own)
    return result


def pick_by_quota(assigned: Sequence[Sequence[str]], max_quota: int) -> list[str]:
    """Pick passages by quotas that fall linearly from `max_quota` for the first row to 1 for the last.

    Unused quotas are redistributed, one passage per row in turn, starting with the first row (LightRAG 1.5.7,
    `WEIGHT`).

    >>> pick_by_quota([["a", "b", "c", "d"], ["e"], ["f", "g"]], 3)
    ['a', 'b', 'c', 'e', 'f', 'd']
    """
    n = len(assigned)
    quotas = [round(max_quota - (max_quota - 1) * i / (n - 1)) if n > 1 else max_quota for i in range(n)]
    picked = [chunk for chunks, quota in zip(assigned, quotas, strict=True) for chunk in chunks[:quota]]
    unused = sum(quotas) - len(picked)
    waiting = [list(chunks[quota:]) for chunks, quota in zip(assigned, quotas, strict=True)]
    while unused > 0 and any(waiting):
        for chunks in waiting:
            if chunks and unused > 0:
                picked.append(chunks.pop(0))
                unused -= 1
    return picked


def best_passages(scores: Mapping[str, float], index: Snapshot, k: int) -> list[tuple[str, float]]:
    """Return the `k` best of some passages with their scores, ties by row; rows of the others are not read.

    Args:
        scores: by chunk id.
        index: the snapshot.
        k: how many.
    """
    best = scores
    if len(scores) > k > 0:
        least = sorted(scores.values(), reverse=True)[k - 1]
        best = {chunk: score for chunk, score in scores.items() if score >= least}
    rows = index.chunk_rows(list(best))
    return sorted(best.items(), key=lambda item: (-item[1], rows[item[0]]))[:k]


class LinkedPassage(NamedTuple):
    """A passage that ranked rows cite."""

    chunk: str
    cosine: float
    """With the question."""
    n_words: int
    """Words of the question in one thing that a row says of this passage, the most of any."""


def rank_by_statements(
    chunks: Sequence[str],
    rows: Sequence[Entity | Relation],
    cosines: PassageCosines,
    texts: RowTexts,
    most: int | None = None,
) -> list[LinkedPassage]:
    """Rank passages by what rows say that rests on them: by words shared with the question, then cosine, then row.

    A hub is mentioned in many passages. Which of them bears on the question shows in what is said of the hub there, and
    in particular where the passage itself says "he" or "the boat".

    Args:
        chunks: ids without repeats.
        rows: with their descriptions; the names of a row count as part of each.
        cosines: with the question.
        texts: of the question; it may have looked for its words in the same descriptions before.
        most: how many are returned, the best; default: all.
    """
    if not chunks:
        return []
    asked = texts.asked
    names = texts.names([end for r in rows if isinstance(r, Relation) for end in (r.source, r.target)])
    named = [asked.stems & content_stem_set(_names(row, names)) for row in rows]
    said = [[d.text for d in row.descriptions] for row in rows]
    # All at once, which is faster than row by row.
    asked.look_through(zip(named, said, strict=True))
    n_words: dict[str, int] = {}
    for of_names, row, of_row in zip(named, rows, said, strict=True):
        n_of_names = len(of_names)
        counts = asked.of(of_row, without=of_names)
        if not n_of_names and not any(counts):
            continue
        for description, n in zip(row.descriptions, counts, strict=True):
            if n_of_names + n > n_words.get(description.chunk, 0):
                n_words[description.chunk] = n_of_names + n
    if most is not None and 0 < most < len(chunks):
        # Words count before cosines, so that passages with fewer words than the last one returned need not be read.
        with_words = {chunk: n_words[chunk] for chunk in chunks if chunk in n_words}
        if len(with_words) >= most:
            least = sorted(with_words.values(), reverse=True)[most - 1]
            chunks = [chunk for chunk, n in with_words.items() if n >= least]
    numbers = cosines.index.chunk_rows(chunks)
    ids, ns = list(numbers), np.fromiter(numbers.values(), dtype=np.int64, count=len(numbers))
    near = cosines.of(ns)
    words = np.array([n_words.get(chunk, 0) for chunk in ids], dtype=np.int64)
    order = np.lexsort((ns, -near, -words))[:most]
    return [
        LinkedPassage(ids[i], round(cosine, 6), n)
        for i, cosine, n in zip(order.tolist(), near[order].tolist(), words[order].tolist(), strict=True)
    ]


def _names(row: Entity | Relation, names: Mapping[str, str]) -> str:
    if isinstance(row, Entity):
        return row.name
    ends = (names.get(end, end) for end in (row.source, row.target))
    return " ".join([*ends, *row.predicates, *row.keywords])
