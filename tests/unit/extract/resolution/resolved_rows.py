"""Rows of a model, resolved: documents with one window each."""

from collections.abc import Sequence
from itertools import permutations

from polygraph.extract.resolution.records import Mention, NameRelation, Resolution
from polygraph.extract.resolution.resolve import resolve

Row = tuple[str, str, str, str]
"""Document, name, type, description."""


def mentions_of(rows: Sequence[Row]) -> list[Mention]:
    return [
        Mention(document=d, window=f"{d}@0", name=name, type=type_, description=text)
        for d, name, type_, text in rows
    ]


def relations_of(relations: Sequence[tuple[str, str, str, str]]) -> list[NameRelation]:
    """Return relations, each given as document, source, predicate, target."""
    return [NameRelation(window=f"{d}@0", source=s, target=t, predicate=p) for d, s, p, t in relations]


def resolved(rows: Sequence[Row], *relations: tuple[str, str, str, str]) -> Resolution:
    """Resolve rows and relations, in several orders."""
    mentions, stated = mentions_of(rows), relations_of(relations)
    found = resolve(mentions, relations=stated)
    for some in [*list(permutations(mentions))[:6], mentions[::-1]]:
        assert resolve(some, relations=stated[::-1]) == found
    return found


def same(found: Resolution, a: tuple[str, str], b: tuple[str, str]) -> bool:
    """Return whether two names, each given with its document, are one entity."""
    return found.entity_of[f"{a[0]}@0", a[1]] == found.entity_of[f"{b[0]}@0", b[1]]
