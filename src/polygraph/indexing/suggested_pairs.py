"""Asking the chat model which names of a list may be one entity, so that `same` asks about them.

Lists are made of the entities after the rules, names that have something in common together. What a model suggests is
stored under a hash of the list, so that each list is asked about once, and later builds follow it without a model.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from polygraph.extract.resolution.name_lists import ListedName
from polygraph.tasks.suggest_same import NameInList


def line_of(name: ListedName, descriptions: Mapping[tuple[str, str], str]) -> NameInList:
    """Return the line of a list that shows an entity.

    Args:
        name: the entity.
        descriptions: by document and name as written; names without one are missing.
    """
    return NameInList(
        name=name.names[0],
        type=name.type,
        document=name.places[0][0],
        description=next((descriptions[place] for place in name.places if place in descriptions), ""),
        other_names=name.names[1:],
    )


def pairs_of(groups: Iterable[Sequence[int]]) -> set[tuple[int, int]]:
    """Return the pairs of groups.

    >>> sorted(pairs_of([(0, 2), (2, 5, 7)]))
    [(0, 2), (2, 5), (2, 7), (5, 7)]
    """
    return {pair for group in groups for pair in combinations(sorted(group), 2)}
