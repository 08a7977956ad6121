"""Blocking of names for a reader: lists in which names that may be one thing stand together.

People, bodies and places, and other things stand in lists of their own. A group with more names than one list holds is
parted by agglomerative clustering with average linkage: the two lists whose names have most in common are joined first,
as long as one list holds both. What names have in common are words of the name, words of what is said of them, context
names and documents; each counts the more the fewer names have it. A change of some documents changes few other lists.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from polygraph.arrays import Array, pair_numbers
from polygraph.extract.resolution.suggestions.name_lists import ListedName
from polygraph.records import digest

_WEIGHTS = {"part": 10.0, "word": 2.0, "name": 0.5, "document": 0.3}
"""How much a clue counts by its first word, see `ListedName.clues`."""
_POWER = 0.7
"""How fast a clue counts less with the number of names that have it."""
_MAX_BLOCK = 20
"""Names with a clue of which all pairs are compared; of more only neighbours, so that cost stays linear."""
_MAX_NEIGHBOURS = 40
"""Names with which one has most in common."""
_HASH_BITS = 64


def lists_of(names: Sequence[ListedName], max_list: int) -> list[list[int]]:
    """Return the lists, each as ascending positions in `names`; a name that would be alone is in none.

    Args:
        names: in an order that depends on what they are only, as `suggest_listed` gives them.
        max_list: names of one list at most.

    Returns:
        The lists in the order of their first names; every name is in one at most. Cost is linear in names and clues,
        except for sorting.
    """
    groups: dict[str, list[int]] = defaultdict(list)
    for n, name in enumerate(names):
        groups[name.group].append(n)
    found: list[list[int]] = []
    for _, members in sorted(groups.items()):
        if len(members) <= max_list:
            found.append(members)
        else:
            some = [names[n] for n in members]
            joined = _joined(len(some), in_common(some), max_list)
            found += [sorted(members[n] for n in each) for each in _packed(some, joined, max_list)]
    return sorted(each for each in found if len(each) > 1)


def in_common(names: Sequence[ListedName]) -> dict[int, dict[int, float]]:
    """Return for each name the names with which it has something in common, and how much: a symmetric relation."""
    bearers: dict[str, list[int]] = defaultdict(list)
    for n, name in enumerate(names):
        for clue in name.clues:
            bearers[clue].append(n)
    n_names = len(names)
    pairs, weights = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
    # Clues of one kind that the same number of names have weigh the same: their pairs are made in one step.
    alike: dict[tuple[int, str], list[list[int]]] = defaultdict(list)
    for clue, names_with_it in bearers.items():
        if len(names_with_it) > 1:
            alike[len(names_with_it), clue.partition(" ")[0]].append(names_with_it)
    for (n_bearers, kind), blocks in alike.items():
        of_clue = np.array(blocks, dtype=np.int64)
        # Positions ascend, so that each pair has one number.
        if n_bearers <= _MAX_BLOCK:
            some_pairs = pair_numbers(of_clue, n_names)
        else:
            some_pairs = (of_clue[:, :-1] * n_names + of_clue[:, 1:]).reshape(-1)
        pairs.append(some_pairs)
        weights.append(np.full(some_pairs.size, _WEIGHTS[kind] / n_bearers**_POWER))
    numbers, inverse = np.unique(np.concatenate(pairs), return_inverse=True)
    # Rounded, since sums depend on the order of their terms.
    sums = np.round(np.bincount(inverse, np.concatenate(weights), minlength=len(numbers)), 6)
    found: dict[int, dict[int, float]] = {n: {} for n in range(n_names)}
    positions = list(found)  # each number once, not once for every pair
    near = _nearest(numbers // n_names, numbers % n_names, sums)
    kept = numbers[near]
    of_kept = zip((kept // n_names).tolist(), (kept % n_names).tolist(), sums[near].tolist(), strict=True)
    for a, b, amount in of_kept:
        found[a][positions[b]] = found[b][positions[a]] = amount
    return found


def _nearest(first: Array, second: Array, weight: Array) -> Array:
    """Return which pairs are among the `_MAX_NEIGHBOURS` with most in common of one of their names; ascending."""
    name, other = np.concatenate([first, second]), np.concatenate([second, first])
    order = np.lexsort((other, -np.concatenate([weight, weight]), name))
    starts = np.searchsorted(name[order], name[order], side="left")
    kept = order[np.arange(len(order)) - starts < _MAX_NEIGHBOURS]
    return np.unique(kept % len(first)) if len(first) else first


def _joined(n_names: int, between: dict[int, dict[int, float]], max_list: int) -> list[list[int]]:
    """Join names as long as a list holds them: first the two lists with the highest mean of what is in common.

    Args:
        n_names: names to join.
        between: what each has in common with others; used up.
        max_list: names of one list at most, two or more.
    """
    lists = {n: [n] for n in range(n_names)}
    sizes = dict.fromkeys(lists, 1)
    # The best pair of each list: its mean, negative, both lists, and the list and the size that both had then. It is
    # out of date once the other list has changed, but every change of a list adds its new best pair, so that the first
    # pair that is up to date is the best of all.
    waiting: list[tuple[float, int, int, int, int, int]] = []

    def add_best(a: int) -> None:
        """Add the pair to join first of those with a list."""
        size = sizes[a]
        pairs = [(-amount / (size * sizes[c]), c) for c, amount in between[a].items()]
        if pairs:
            mean, c = min(pairs)
            heapq.heappush(waiting, (mean, min(a, c), max(a, c), a, size, sizes[c]))

    for a in lists:
        add_best(a)
    while waiting:
        _, first, second, owner, size, size_of_other = heapq.heappop(waiting)
        if sizes[owner] != size:
            continue  # its best pair was added when it changed
        if sizes[second if owner == first else first] == size_of_other:
            lists[first] += lists.pop(second)
            sizes[first], sizes[second] = len(lists[first]), 0
            of_first = between[first]
            for c, amount in between.pop(second).items():
                del between[c][second]
                if c != first:
                    of_first[c] = between[c][first] = of_first.get(c, 0.0) + amount
            # What is too large now stays so.
            for c in [c for c in of_first if sizes[first] + sizes[c] > max_list]:
                del of_first[c], between[c][first]
            owner = first
        add_best(owner)
    return list(lists.values())


def _packed(names: Sequence[ListedName], parts: Sequence[list[int]], max_list: int) -> Iterator[list[int]]:
    """Yield lists of parts that have nothing in common.

    Parts below half a list are halved by one bit of a hash of their first names after the other until each half fits,
    so that a change of one part changes one list. Then the two smallest lists are joined as long as one holds both.
    """
    keyed = [
        (int(min(digest(names[n].base, *names[n].places[0]) for n in part)[: _HASH_BITS // 4], 16), part)
        for part in parts
    ]
    lists = [(len(part), key, part) for key, part in keyed if 2 * len(part) > max_list]
    waiting = [(sorted(each for each in keyed if 2 * len(each[1]) <= max_list), 0)]
    while waiting:
        some, bit = waiting.pop()
        size = sum(len(part) for _, part in some)
        if size <= max_list:
            lists += [(size, some[0][0], [n for _, part in some for n in part])] if some else []
        elif bit == _HASH_BITS:
            waiting += [(some[: len(some) // 2], bit), (some[len(some) // 2 :], bit)]
        else:
            halves = (
                [each for each in some if each[0] >> (_HASH_BITS - 1 - bit) & 1 == side] for side in (1, 0)
            )
            waiting += [(half, bit + 1) for half in halves]
    heapq.heapify(lists)
    while len(lists) > 1 and lists[0][0] + min(lists[1:3])[0] <= max_list:
        smallest, next_one = heapq.heappop(lists), heapq.heappop(lists)
        heapq.heappush(lists, (smallest[0] + next_one[0], smallest[1], smallest[2] + next_one[2]))
    yield from (part for _, _, part in lists)
