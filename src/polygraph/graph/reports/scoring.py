"""What members and sentences are worth in communities, for many communities at once."""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np

from polygraph.columnar import Array
from polygraph.columnar.gather import listed, parts, taken
from polygraph.columnar.group_sort import by_group
from polygraph.columnar.groupby import distinct, stretches
from polygraph.columnar.memmap import Column
from polygraph.columnar.tables import cumulated
from polygraph.graph.reports.members import Members, Within
from polygraph.graph.reports.sentence_table import Told

TOP = 3
"""Names of a sentence that count, the most worthy ones."""
LEAST = 0.1
"""Worth of a member that has no relation inside while others have: it still counts a little."""
JOINING = 1.25
"""What a sentence gains if it names two members or more."""
_BLOCK = 1 << 14
"""Members, or relations inside, that are looked at together."""
_SENTENCES = 1 << 14
"""Sentences that are scored together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Sentences that compete for a place in a report, the best first; ties by chunk, then by number."""

    sentence: Sequence[int]
    """Numbers, as in `Told`."""
    place: Sequence[int]
    """Of the chunk of each."""
    quality: Sequence[float]
    factor: Sequence[float]
    """What the worth of the members that it names is multiplied by."""
    score: Sequence[float]
    """As long as none of them was spoken of."""
    begin: Sequence[int]
    """Where the members that it names begin in `named`."""
    count: Sequence[int]
    """How many these are."""
    named: Sequence[int]
    """Positions among the members of the community."""
    n_left_out: int = 0
    """How many more there are, none of them better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """One community."""

    rows: list[int]
    """Its members, by number."""
    worth: list[float]
    """Of each member: square root of the weight of its relations inside; of its chunks, if there is no relation."""
    central: list[int]
    """Positions of the members, those first whose name and worth make the best title; ties by number."""
    candidates: Candidates


@dataclass(frozen=True, slots=True)
class _Scored:
    """Sentences of some communities, as arrays."""

    community: Array
    """Position of the community."""
    sentence: Array
    place: Array
    quality: Array
    factor: Array
    score: Array
    count: Array
    named: Array


def _best(found: Sequence[_Scored], most: int | None = None) -> _Scored:
    """So many of them or all, by community, then as in `Candidates`."""
    columns = [np.concatenate([getattr(some, field.name) for some in found]) for field in fields(_Scored)]
    scored = _Scored(*columns)
    order = np.lexsort((scored.sentence, scored.place, -scored.score, scored.community))[:most]
    places, _ = stretches(cumulated(scored.count), order)
    return _Scored(*[*(column[order] for column in columns[:-1]), scored.named[places]])


def weigh(
    communities: Sequence[Array], members: Members, told: Told, *, most: int | None = None
) -> Iterator[Weighed]:
    """Weigh some communities; the result does not depend on which of them are weighed together.

    Args:
        communities: numbers of the members of each, ascending.
        members: finds relations.
        told: what is said.
        most: candidates that are given of a community that is weighed alone; all if not given.
    """
    sizes = [len(rows) for rows in communities]
    ends = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    rows = np.concatenate([np.zeros(0, dtype=np.int64), *communities])
    of = np.repeat(np.arange(len(sizes)), sizes)
    within = members.within(of, rows)
    worth = _worth(rows, of, within, members, told)
    central = np.lexsort((rows, -worth * told.namely[rows], of)) - ends[of]

    known = of * max(len(told.names), 1) + rows
    most = most if len(sizes) == 1 else None
    found: list[_Scored] = []
    n = n_held = 0
    for keys in _said(rows, of, within, told, len(sizes)):
        found.append(_scored(keys, known, ends, worth, told))
        n += len(keys)
        n_held += len(keys)
        if most is not None and n_held > 2 * most:
            found, n_held = [_best(found, most)], most
    scored = _best(found, most)
    del found

    # Cut all of it by community.
    cuts = np.searchsorted(scored.community, np.arange(len(sizes) + 1))
    name_ends = cumulated(scored.count)
    for i in range(len(sizes)):
        mine, its = slice(int(ends[i]), int(ends[i + 1])), slice(int(cuts[i]), int(cuts[i + 1]))
        first = name_ends[its.start]
        yield Weighed(
            rows=rows[mine].tolist(),
            worth=worth[mine].tolist(),
            central=central[mine].tolist(),
            candidates=Candidates(
                sentence=_integers(scored.sentence[its]),
                place=_integers(scored.place[its]),
                quality=_floats(scored.quality[its]),
                factor=_floats(scored.factor[its]),
                score=_floats(scored.score[its]),
                begin=_integers(name_ends[its] - first),
                count=_integers(scored.count[its]),
                named=_integers(scored.named[first : name_ends[its.stop]]),
                n_left_out=n - len(scored.sentence),
            ),
        )


# Of a large community few candidates are ever looked at: arrays of Python make no object before.
def _integers(values: Array) -> Sequence[int]:
    return array("i", values.astype(np.int32).tobytes())


def _floats(values: Array) -> Sequence[float]:
    return array("d", values.tobytes())


def _worth(rows: Array, of: Array, within: Within, members: Members, told: Told) -> Array:
    strength = np.zeros(len(rows))
    for some in _blocks(len(within.relation)):
        # Both ends of a relation, then those of the next, as when relations are gone through.
        ends = np.stack((within.source[some], within.target[some]), axis=1).reshape(-1)
        np.add.at(strength, ends, np.repeat(taken(members.weights, within.relation[some]), 2))
    joined = np.zeros(int(of[-1]) + 1 if len(of) else 0, dtype=np.bool_)
    joined[within.community] = True
    worth = np.sqrt(np.where(joined[of], strength, told.n_chunks[rows]))
    return np.where(worth == 0.0, LEAST, worth)


def _said(rows: Array, of: Array, within: Within, told: Told, n_communities: int) -> Iterator[Array]:
    """A number for each pair of a community and a sentence that is told of it, ascending, some at a time."""
    width = max(len(told.quality), 1)
    keys = Column("q", told.folder)
    for some in _blocks(len(within.relation)):
        said, relation = listed(told.relation_ends, told.said_of_relations, within.relation[some])
        keys.put(within.community[some].astype(np.int64)[relation] * width + said)
    for some in _blocks(len(rows)):
        said, member = listed(told.entity_ends, told.said_of_entities, rows[some])
        keys.put(of[some][member] * width + said)
    n_parts = len(keys) // _SENTENCES + 1
    step = -(-n_communities * width // n_parts)
    for part in parts(
        *by_group(lambda: ((block // step, block) for block in keys.blocks()), n_parts, np.int64, told.folder)
    ):
        yield distinct(part)


def _scored(keys: Array, known: Array, ends: Array, worth: Array, told: Told) -> _Scored:
    """Score sentences of communities.

    Args:
        keys: as of `_said`.
        known: the community and number of each member as one number.
        ends: where the members of each community begin, and the last ones end.
        worth: of each member.
        told: what is said.
    """
    community, sentence = np.divmod(keys, max(len(told.quality), 1))
    # Whom they name, as far as these are members.
    named, candidate = listed(told.name_ends, told.named, sentence)
    n_names = np.maximum(np.bincount(candidate, minlength=len(keys)), 1)
    wanted = community[candidate] * max(len(told.names), 1) + named
    member = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    inside = np.flatnonzero(known[member] == wanted)
    candidate, member = candidate[inside], member[inside]
    count = np.bincount(candidate, minlength=len(keys))
    value = taken(told.quality, sentence)
    factor = value * np.sqrt(value) * (0.5 + 0.5 * count / n_names) * np.where(count > 1, JOINING, 1.0)
    score = factor * _sum_of_top(candidate, worth[member], count)
    place = taken(told.chunk, sentence)
    positions = (member - ends[community[candidate]]).astype(np.int32)
    return _Scored(
        community.astype(np.int32),
        sentence.astype(np.int32),
        place,
        value,
        factor,
        score,
        count.astype(np.int32),
        positions,
    )


def _blocks(n: int) -> Iterator[slice]:
    return (slice(begin, begin + _BLOCK) for begin in range(0, n, _BLOCK))


def _sum_of_top(item: Array, values: Array, count: Array) -> Array:
    """The sum of the largest values of each item, from the smallest of them to the largest."""
    # The order of two terms makes no difference to their sum.
    many = count[item] > 2
    found = np.bincount(item[~many], weights=values[~many], minlength=len(count))
    item, values = item[many], values[many]
    order = np.lexsort((values, item))
    item, values = item[order], values[order]
    after = np.searchsorted(item, item, side="right") - np.arange(len(item))
    top = after <= TOP
    return found + np.bincount(item[top], weights=values[top], minlength=len(count))
