"""Titles of reports that no model wrote: the most central entities of a community."""

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from typing import TypeVar

from polygraph.graph.reports.scoring import MIN_IMPORTANCE
from polygraph.graph.reports.selection import spelled_words, words_of
from polygraph.graph.reports.sentence_quality import name_likeness, tidy
from polygraph.records import Entity, Relation
from polygraph.text.prose import shorten

T = TypeVar("T")

_MAX_NAME = 60
"""Characters of a name that is shown."""


def title_of(entities: Sequence[Entity], relations: Sequence[Relation]) -> str:
    """Return the title of a report on a community with these members and relations among them."""
    titled = title_entities(entities, importance_of(entities, relations))
    return join_names([shown_name(entity.name, entity.id) for entity in titled])


def title_entities(entities: Sequence[Entity], importance: Mapping[str, float]) -> list[Entity]:
    """Choose the two or three most central entities; names of things before common words.

    Ties by id. Of names that contain each other only the first is taken, if there are others.
    """
    ranked = sorted(entities, key=lambda e: (-importance[e.id] * name_likeness(e.name), e.id))
    return most_central((entity.name, importance[entity.id], entity) for entity in ranked)


def importance_of(entities: Sequence[Entity], relations: Sequence[Relation]) -> dict[str, float]:
    """Return the importance of each member by its id, as `scoring` computes it."""
    strength: dict[str, float] = {}
    for relation in relations:
        for end in (relation.source, relation.target):
            strength[end] = strength.get(end, 0.0) + relation.weight
    if not strength:
        return {entity.id: sqrt(len(entity.chunks)) or MIN_IMPORTANCE for entity in entities}
    return {entity.id: sqrt(strength.get(entity.id, 0.0)) or MIN_IMPORTANCE for entity in entities}


def most_central(ranked: Iterable[tuple[str, float, T]]) -> list[T]:
    """Choose two or three of some items, given by name and importance, the best first."""
    chosen: list[tuple[frozenset[str], float, T]] = []
    for name, importance, item in ranked:
        words = frozenset(words_of(name))
        if all(not (words <= other or other <= words) for other, _, _ in chosen):
            chosen.append((words, importance, item))
        if len(chosen) == 3:
            break
    if len(chosen) == 3 and chosen[2][1] < chosen[0][1] / 4:
        chosen.pop()
    return [item for _, _, item in chosen]


def is_named(name: str, text: str) -> bool:
    """Tell whether a text has the last word of a name, or another one that it spells as the name does.

    >>> is_named("Honora Vane", "Miss Vane kept the light."), is_named("CoinDesk", "Publisher of a balance sheet.")
    (True, False)
    >>> is_named("Harbour Board", "The Harbour owned it."), is_named("Lifeboat crew", "Painted the lifeboat blue.")
    (True, False)
    """
    words = words_of(name)
    # Most texts have the letters of none of these words, which shows much faster than that they lack the word.
    if not words or (words[-1] in text.casefold() and words[-1] in words_of(text)):
        return True
    # Scripts without capitals mostly have no spaces either.
    if name.lower() == name.upper():
        return name in text or not set(words).isdisjoint(words_of(text))
    spelled = {word for word in spelled_words(name) if not word.islower() and word in text}
    return bool(spelled) and not spelled.isdisjoint(spelled_words(text))


def join_names(names: Sequence[str]) -> str:
    """Return names as a title.

    >>> join_names(["lifeboat", "Honora Vane", "Observatory"])
    'Lifeboat, Honora Vane and Observatory'
    """
    title = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
    return title[:1].upper() + title[1:]


def shown_name(name: str, id: str) -> str:
    """Return a name as it is shown; the id if nothing is left of it."""
    return shorten(tidy(name) or id, _MAX_NAME)
