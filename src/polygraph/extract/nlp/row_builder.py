"""The rows of one window while they are being collected."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from typing import TypeAlias

from polygraph.text.normalize import normalize_name

STRENGTH = 0.3
"""Of one pair in one sentence, where a parsed triple counts 1."""
MAX_DESCRIPTION = 400
"""Characters of a description; longer sentences are cut around what they describe."""

_ALL_PAIRS = 6
_REACH = 3

EntityDraft: TypeAlias = tuple[str, str, str, list[tuple[int, int]]]
"""Name, type, description, places in the window's text."""
RelationDraft: TypeAlias = tuple[str, str, str, str, float, list[int]]
"""Source, target, predicate, description, strength, places in the window's text."""
Rows: TypeAlias = tuple[list[EntityDraft], list[RelationDraft]]


@dataclass(slots=True)
class _Entity:
    names: Counter[str] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)
    places: list[tuple[int, int]] = field(default_factory=list)
    description: str = ""
    score: int = -1
    named: bool = False
    n_triples: int = 0


@dataclass(slots=True)
class _Relation:
    description: str
    strength: float = 0.0
    places: list[int] = field(default_factory=list)


@lru_cache(maxsize=8_192)
def key_of(name: str) -> str:
    """Normalise a name, remembering the answer."""
    return normalize_name(name)


class Draft:
    """Collects mentions and relations; names that normalise alike are one entity of the window."""

    def __init__(self) -> None:
        self._entities: dict[str, _Entity] = {}
        self._relations: dict[tuple[str, str, str], _Relation] = {}

    def mention(
        self, name: str, kind: str, place: tuple[int, int], sentence: str, *, named: bool, score: int = 0
    ) -> str:
        """Record a mention and return the key of its entity, empty if the name has nothing in it.

        Args:
            name: as written.
            kind: its type as far as this mention tells.
            place: start and end in the window's text.
            sentence: where it stands, on one line.
            named: whether it is a name rather than a phrase.
            score: how well the sentence describes it; the first of the best is kept.
        """
        key = key_of(name)
        if not key:
            return ""
        entity = self._entities.get(key)
        if entity is None:
            entity = self._entities[key] = _Entity()
        entity.names[name] += 1
        if kind:
            entity.types[kind] += 1
        entity.places.append(place)
        entity.named = entity.named or named
        if score > entity.score:
            entity.score, entity.description = score, excerpt(sentence, name)
        return key

    def vote(self, key: str, kind: str, weight: int = 1) -> None:
        """Count evidence for the type of an entity."""
        self._entities[key].types[kind] += weight

    def kind(self, key: str) -> str:
        """Most likely type so far; ties in favour of people, then in alphabetical order."""
        types = self._entities[key].types
        return min(types, key=lambda t: (-types[t], t != "person", t)) if types else ""

    def named(self, key: str) -> bool:
        """Say whether some mention of an entity is a name."""
        return self._entities[key].named

    def relate(self, source: str, predicate: str, target: str, sentence: str, place: int) -> None:
        """Record a typed triple between two keys."""
        self._add((source, target, predicate), sentence, place, 1.0)
        self._entities[source].n_triples += 1
        self._entities[target].n_triples += 1

    def join(self, keys: list[str], joined: set[tuple[str, str]], sentence: str, place: int) -> None:
        """Record that entities stand in one sentence, except for pairs that a triple joins already."""
        distinct = list(dict.fromkeys(keys))
        for a, b in pairs(distinct, [self._entities[key].named for key in distinct]):
            if (a, b) not in joined and (b, a) not in joined:
                first, second = sorted((a, b))
                self._add((first, second, ""), sentence, place, STRENGTH)

    def _add(self, key: tuple[str, str, str], sentence: str, place: int, strength: float) -> None:
        relation = self._relations.get(key)
        if relation is None:
            relation = self._relations[key] = _Relation(excerpt(sentence, ""))
        relation.strength += strength
        relation.places.append(place)

    def rows(self, max_entities: int) -> Rows:
        """Return what was collected, in order of first mention.

        Beyond `max_entities`, names stay before phrases, then what has triples, then what is frequent,
        then what came first; relations of what was left out go with it.
        """
        ranked = sorted(
            self._entities,
            key=lambda k: (not (e := self._entities[k]).named, e.n_triples == 0, -len(e.places)),
        )
        kept = set(ranked[:max_entities])
        names = {key: _best(e.names) for key, e in self._entities.items() if key in kept}
        entities: list[EntityDraft] = [
            (name, self.kind(key), (e := self._entities[key]).description, sorted(set(e.places)))
            for key, name in names.items()
        ]
        relations: list[RelationDraft] = [
            (names[a], names[b], predicate, r.description, round(r.strength, 6), sorted(set(r.places)))
            for (a, b, predicate), r in self._relations.items()
            if a in kept and b in kept
        ]
        return entities, relations


def _best(names: Counter[str]) -> str:
    """The most frequent spelling; ties: longest, then first in code point order."""
    return min(names, key=lambda n: (-names[n], -len(n), n))


def excerpt(sentence: str, name: str) -> str:
    r"""A sentence on one line, bounded; cut around the name where it is too long.

    >>> excerpt("one  two\n three", "two")
    'one two three'
    """
    if len(sentence) <= MAX_DESCRIPTION:
        return " ".join(sentence.split())
    at = max(0, sentence.find(name) if name else 0)
    begin = 0 if at < MAX_DESCRIPTION * 2 // 3 else at - MAX_DESCRIPTION // 2
    if begin:
        begin = sentence.find(" ", begin) + 1
    end = sentence.rfind(" ", begin + MAX_DESCRIPTION // 2, begin + MAX_DESCRIPTION)
    end = begin + MAX_DESCRIPTION if end < 0 else end
    cut = " ".join(sentence[begin:end].split())
    return ("… " if begin else "") + cut + (" …" if end < len(sentence) else "")


def pairs(keys: Sequence[str], named: Sequence[bool]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of one sentence, in order, each once.

    With at most six entities every pair of which one is a name; with more, only neighbours up to three places
    apart, so that the number of pairs grows with the length of the sentence and not with its square. Two
    plain phrases are joined only if they follow one another.

    Args:
        keys: distinct entities in the order of their first mention.
        named: for each, whether it is a name.

    >>> list(pairs(["quill", "lamp", "oil"], [True, False, False]))
    [('quill', 'lamp'), ('quill', 'oil'), ('lamp', 'oil')]
    >>> list(pairs(["lamp", "quill", "oil"], [False, True, False]))
    [('lamp', 'quill'), ('quill', 'oil')]
    """
    reach = len(keys) if len(keys) <= _ALL_PAIRS else _REACH
    for i, j in combinations(range(len(keys)), 2) if reach > _REACH else _near(len(keys), reach):
        if named[i] or named[j] or j == i + 1:
            yield keys[i], keys[j]


def _near(n: int, reach: int) -> Iterator[tuple[int, int]]:
    for i in range(n):
        for j in range(i + 1, min(n, i + reach + 1)):
            yield i, j
