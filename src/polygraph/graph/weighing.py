"""What members and sentences are worth in communities, for many communities at once."""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from polygraph.columns import Array
from polygraph.graph.groups import distinct, stretches
from polygraph.graph.members import Members, Within
from polygraph.graph.told import Told

TOP = 3
"""Names of a sentence that count, the most worthy ones."""
LEAST = 0.1
"""Worth of a member that has no relation inside while others have: it still counts a little."""
JOINING = 1.25
"""What a sentence gains if it names two members or more."""


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


def weigh(communities: Sequence[Array], members: Members, told: Told) -> Iterator[Weighed]:
    """Weigh some communities; the result does not depend on which of them are weighed together.

    Args:
        communities: numbers of the members of each, ascending.
        members: finds relations.
        told: what is said.
    """
    sizes = [len(rows) for rows in communities]
    ends = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    rows = np.concatenate([np.zeros(0, dtype=np.int64), *communities])
    of = np.repeat(np.arange(len(sizes)), sizes)
    within = members.within(of, rows)
    worth = _worth(rows, of, within, members, told)
    central = np.lexsort((rows, -worth * told.namely[rows], of)) - ends[of]

    # Sentences of each community, once.
    width, n_entities = max(len(told.quality), 1), max(len(told.names), 1)
    keys = distinct(_said(rows, of, within, told, width))
    community, sentence = keys // width, keys % width
    # Whom they name, as far as these are members.
    places, candidate = stretches(told.name_ends, sentence)
    wanted = community[candidate] * n_entities + told.named[places]
    known = of * n_entities + rows
    member = np.searchsorted(known, wanted)
    inside = np.flatnonzero(known[np.minimum(member, len(known) - 1)] == wanted) if len(known) else member
    candidate, member = candidate[inside], member[inside]
    count = np.bincount(candidate, minlength=len(keys))
    value = told.quality[sentence]
    n_names = np.maximum(np.diff(told.name_ends)[sentence], 1)
    factor = value * np.sqrt(value) * (0.5 + 0.5 * count / n_names) * np.where(count > 1, JOINING, 1.0)
    score = factor * _sum_of_top(candidate, worth[member], count)
    place = told.chunk[sentence]
    order = np.lexsort((sentence, place, -score, community))

    # Cut all of it by community.
    begin = np.cumsum(count) - count
    cuts = np.searchsorted(community, np.arange(len(sizes) + 1))
    name_cuts = np.concatenate((begin, [len(candidate)]))[cuts]
    named = member - ends[community[candidate]]
    for i in range(len(sizes)):
        mine, its = slice(int(ends[i]), int(ends[i + 1])), order[cuts[i] : cuts[i + 1]]
        yield Weighed(
            rows=rows[mine].tolist(),
            worth=worth[mine].tolist(),
            central=central[mine].tolist(),
            candidates=Candidates(
                sentence=_integers(sentence[its]),
                place=_integers(place[its]),
                quality=_floats(value[its]),
                factor=_floats(factor[its]),
                score=_floats(score[its]),
                begin=_integers(begin[its] - name_cuts[i]),
                count=_integers(count[its]),
                named=_integers(named[name_cuts[i] : name_cuts[i + 1]]),
            ),
        )


# Of a large community few candidates are ever looked at: arrays of Python make no object before.
def _integers(values: Array) -> Sequence[int]:
    return array("i", values.astype(np.int32).tobytes())


def _floats(values: Array) -> Sequence[float]:
    return array("d", values.tobytes())


def _worth(rows: Array, of: Array, within: Within, members: Members, told: Told) -> Array:
    # Both ends of a relation, then those of the next, as when relations are gone through.
    ends = np.stack((within.source, within.target), axis=1).reshape(-1)
    weights = np.repeat(members.weights[within.relation], 2)
    strength = np.bincount(ends, weights=weights, minlength=len(rows))
    joined = np.bincount(within.community, minlength=int(of[-1]) + 1 if len(of) else 0) > 0
    worth = np.sqrt(np.where(joined[of], strength, told.n_chunks[rows]))
    return np.where(worth == 0.0, LEAST, worth)


def _said(rows: Array, of: Array, within: Within, told: Told, width: int) -> Array:
    """A number for each pair of a community and a sentence that is told of it."""
    places, relation = stretches(told.relation_ends, within.relation)
    of_relations = within.community[relation] * width + told.said_of_relations[places]
    places, member = stretches(told.entity_ends, rows)
    return np.concatenate((of_relations, of[member] * width + told.said_of_entities[places]))


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
