"""Importance of members and scores of sentences, for several communities at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np

from polygraph.arrays import Array, distinct, find_sorted, members, offsets
from polygraph.graph.reports.members import InnerRelations, Members, add_weights
from polygraph.graph.reports.sentence_table import SentenceTable

TOP = 3
"""Members that count for the score of a sentence, the most important ones."""
MIN_IMPORTANCE = 0.1
"""Importance of a member without relations inside, where others have some: it still counts a little."""
JOINS = 1.25
"""Factor of a sentence that names two members or more."""
_SENTENCES = 1 << 14
"""Sentences that are scored together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Sentences for a report, best score first; ties by chunk, then by number."""

    sentence: Sequence[int]
    """Their numbers."""
    score: Sequence[float]
    """The factor times the sum of the importance of the `TOP` most important members named."""
    factor: Sequence[float]
    begin: Sequence[int]
    """Where the members that it names begin in `named`."""
    count: Sequence[int]
    """How many members it names."""
    named: Sequence[int]
    """Positions among the members of the community."""
    chunk: Sequence[int]
    """Chunk of each sentence, by its number."""
    quality: Sequence[float]
    """Quality of each sentence, by its number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredCommunity:
    """A community with the importance of its members, and its sentences by score."""

    rows: list[int]
    """Its members."""
    importance: list[float]
    """Square root of the weight of a member's relations inside; of its chunks, if there are no relations inside."""
    central: list[int]
    """Positions of the members, best for a title first: by importance and likeness to a name; ties by row."""
    candidates: Candidates


@dataclass(frozen=True, slots=True)
class _Scores:
    """Sentences of some communities, as arrays; `named` has `count` entries for each."""

    community: Array
    """Position of the community."""
    sentence: Array
    score: Array
    factor: Array
    count: Array
    named: Array


def score_communities(
    communities: Sequence[Array], graph: Members, table: SentenceTable
) -> Iterator[ScoredCommunity]:
    """Score members and sentences; the result does not depend on which communities are scored together.

    Args:
        communities: rows of the members of each, ascending.
        graph: finds relations.
        table: the sentences.
    """
    ends = offsets([len(rows) for rows in communities])
    rows = np.concatenate([np.zeros(0, dtype=np.int64), *communities])
    owner = np.repeat(np.arange(len(communities)), np.diff(ends))
    inner = graph.inner_relations(owner, rows)
    importance = _importance(rows, owner, inner, graph, table)
    central = np.lexsort((rows, -importance * table.name_likeness[rows], owner)) - ends[owner]
    scores = _score_sentences(_sentences(rows, owner, inner, table), owner, rows, ends, importance, table)

    begin = offsets(scores.count).astype(np.int32)
    order = np.lexsort((scores.sentence, table.chunk[scores.sentence], -scores.score, scores.community))
    cuts = np.searchsorted(scores.community, np.arange(len(communities) + 1))
    for i in range(len(communities)):
        own, its = slice(ends[i], ends[i + 1]), order[cuts[i] : cuts[i + 1]]
        yield ScoredCommunity(
            rows=rows[own].tolist(),
            importance=importance[own].tolist(),
            central=central[own].tolist(),
            # Of a large community few candidates are ever looked at: views of arrays make no objects before.
            candidates=Candidates(
                sentence=scores.sentence[its].data,
                score=scores.score[its].data,
                factor=scores.factor[its].data,
                begin=begin[its].data,
                count=scores.count[its].data,
                named=scores.named.data,
                chunk=table.chunk.data,
                quality=table.quality.data,
            ),
        )


def _importance(
    rows: Array, owner: Array, inner: InnerRelations, graph: Members, table: SentenceTable
) -> Array:
    strength = np.zeros(len(rows))
    add_weights(strength, inner.source, inner.target, graph.weights[inner.relation])
    related = np.zeros(int(owner[-1]) + 1 if len(owner) else 0, dtype=np.bool_)
    related[inner.community] = True
    importance = np.sqrt(np.where(related[owner], strength, table.n_chunks[rows]))
    return np.where(importance == 0.0, MIN_IMPORTANCE, importance)


def _sentences(rows: Array, owner: Array, inner: InnerRelations, table: SentenceTable) -> Array:
    """Return a number for each distinct pair of a community and a sentence about it, ascending."""
    width = max(len(table), 1)
    of_relations, relation = members(table.relation_offsets, inner.relation)
    of_entities, member = members(table.entity_offsets, rows)
    keys = (
        inner.community[relation].astype(np.int64) * width + table.relation_sentences[of_relations],
        owner[member] * width + table.entity_sentences[of_entities],
    )
    return distinct(np.concatenate(keys))


def _score_sentences(
    keys: Array, owner: Array, rows: Array, ends: Array, importance: Array, table: SentenceTable
) -> _Scores:
    """Score sentences of communities, in the order of `keys`.

    Args:
        keys: from `_sentences`.
        owner: position of the community of each member, ascending.
        rows: row of each member, ascending within a community.
        ends: offsets of the communities among the members.
        importance: of each member.
        table: the sentences.
    """
    known = owner * max(len(table.names), 1) + rows
    parts = [
        _score_part(keys[begin : begin + _SENTENCES], known, ends, importance, table)
        for begin in range(0, max(len(keys), 1), _SENTENCES)
    ]
    return _Scores(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(_Scores)))


def _score_part(keys: Array, known: Array, ends: Array, importance: Array, table: SentenceTable) -> _Scores:
    community, sentence = np.divmod(keys, max(len(table), 1))
    # The members among the entities that each sentence is about.
    positions, candidate = members(table.name_offsets, sentence)
    n_names = np.maximum(np.bincount(candidate, minlength=len(keys)), 1)
    wanted = community[candidate] * max(len(table.names), 1) + table.named[positions]
    member, is_member = find_sorted(known, wanted)
    inside = np.flatnonzero(is_member)
    candidate, member = candidate[inside], member[inside]
    count = np.bincount(candidate, minlength=len(keys))
    quality = table.quality[sentence]
    focus = 0.5 + 0.5 * count / n_names
    factor = quality * np.sqrt(quality) * focus * np.where(count > 1, JOINS, 1.0)
    return _Scores(
        community.astype(np.int32),
        sentence.astype(np.int32),
        factor * _sum_of_top(candidate, importance[member], count),
        factor,
        count.astype(np.int32),
        (member - ends[community[candidate]]).astype(np.int32),
    )


def _sum_of_top(item: Array, values: Array, count: Array) -> Array:
    """Return the sum of the `TOP` largest values of each item, added from the smallest of them to the largest."""
    # The order of two terms makes no difference to their sum.
    many = count[item] > 2
    total = np.bincount(item[~many], weights=values[~many], minlength=len(count))
    item, values = item[many], values[many]
    order = np.lexsort((values, item))
    item, values = item[order], values[order]
    after = np.searchsorted(item, item, side="right") - np.arange(len(item))
    top = after <= TOP
    return total + np.bincount(item[top], weights=values[top], minlength=len(count))
