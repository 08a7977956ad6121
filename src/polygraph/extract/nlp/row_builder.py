"""The entity and relation rows of one window while they are collected."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from typing import TypeAlias

from polygraph.extract.nlp.name_types import NameInWindow, likeliest, settle_types
from polygraph.extract.nlp.noise import Noise
from polygraph.text.normalize import normalize_name
from polygraph.text.sentences import LINE_MARK

COOCCURRENCE_STRENGTH = 0.3
"""Strength of one co-occurrence in one sentence; a parsed triple has 1."""
MAX_DESCRIPTION = 400
"""Characters of a description; longer sentences are cut around the name."""

_MAX_ALL_PAIRS = 6
_MAX_DISTANCE = 3

EntityTuple: TypeAlias = tuple[str, str, str, list[tuple[int, int]]]
"""Name, type, description, spans in the window's text."""
RelationTuple: TypeAlias = tuple[str, str, str, str, float, list[int]]
"""Source, target, predicate, description, strength, positions in the window's text."""
Rows: TypeAlias = tuple[list[EntityTuple], list[RelationTuple]]


@dataclass(slots=True)
class _Entity:
    names: Counter[str] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)
    spans: list[tuple[int, int]] = field(default_factory=list)
    description: str = ""
    score: int = -1
    is_name: bool = False
    n_triples: int = 0
    n_located: int = 0
    """Mentions behind a preposition of place."""
    n_determined: int = 0
    """Mentions behind an article or a possessive."""
    n_personal: int = 0
    """Mentions of which a sentence says what is said of people alone."""


@dataclass(slots=True)
class _Relation:
    description: str
    strength: float = 0.0
    positions: list[int] = field(default_factory=list)


@lru_cache(maxsize=8_192)
def _key_of(name: str) -> str:
    return normalize_name(name)


class RowBuilder:
    """Collects mentions and relations; names with the same normalised form are one entity of the window.

    Args:
        text: of the window.
        language: ISO 639-1 code of the window, or empty.
    """

    def __init__(self, text: str, language: str = "en") -> None:
        self._noise = Noise(text, language)
        self._entities: dict[str, _Entity] = {}
        self._relations: dict[tuple[str, str, str], _Relation] = {}

    def add_mention(
        self, name: str, type_: str, span: tuple[int, int], sentence: str, *, is_name: bool, score: int = 0
    ) -> str:
        """Add a mention and return the key of its entity.

        The key is empty if the name has no letters or digits, or if it is noise: a column name, an identifier or a
        function word.

        Args:
            name: as written.
            type_: the type that this mention indicates, or empty.
            span: start and end in the window's text.
            sentence: the sentence of the mention, on one line.
            is_name: whether it is a name and not a phrase.
            score: how well the sentence describes the entity; the first sentence with the highest score is kept.
        """
        key = _key_of(name)
        if not key or self._noise.holds(name, span[0]):
            return ""
        entity = self._entities.get(key)
        if entity is None:
            entity = self._entities[key] = _Entity()
        entity.names[name] += 1
        if type_:
            entity.types[type_] += 1
        entity.spans.append(span)
        entity.is_name = entity.is_name or is_name
        if score > entity.score:
            entity.score, entity.description = score, excerpt(sentence, name)
        return key

    def add_type_vote(self, key: str, type_: str, weight: int = 1) -> None:
        """Add evidence for the type of an entity."""
        entity = self._entities[key]
        entity.types[type_] += weight
        entity.n_personal += type_ == "person"

    def add_personal(self, key: str) -> None:
        """Add that a sentence says of an entity what is said of people alone."""
        self._entities[key].n_personal += 1

    def add_context(self, key: str, *, is_located: bool, is_determined: bool) -> None:
        """Add that a mention stands behind a preposition of place, behind an article or possessive, or behind both."""
        self._entities[key].n_located += is_located
        self._entities[key].n_determined += is_determined

    def settle_types(self) -> None:
        """Settle the types of capitalised names that the whole window tells better than a single sentence."""
        settle_types(
            [
                NameInWindow(
                    words=tuple(key.split()),
                    is_name=entity.is_name,
                    types=entity.types,
                    first=min(entity.spans)[0],
                    n=len(entity.spans),
                    n_located=entity.n_located,
                    n_determined=entity.n_determined,
                    n_personal=entity.n_personal,
                )
                for key, entity in self._entities.items()
                if _main_spelling(entity.names)[0].isupper()
            ]
        )

    def type_of(self, key: str) -> str:
        """Return the most likely type so far; ties in favour of ``person``, then in alphabetical order."""
        return likeliest(self._entities[key].types)

    def is_name(self, key: str) -> bool:
        """Return whether some mention of an entity is a name."""
        return self._entities[key].is_name

    def add_triple(self, source: str, predicate: str, target: str, sentence: str, position: int) -> None:
        """Add a typed triple between two entity keys."""
        self._add((source, target, predicate), sentence, position, 1.0)
        self._entities[source].n_triples += 1
        self._entities[target].n_triples += 1

    def add_cooccurrences(
        self, keys: list[str], in_triples: set[tuple[str, str]], sentence: str, position: int
    ) -> None:
        """Add relations between the entities of a sentence, except for pairs that a triple already connects."""
        distinct = list(dict.fromkeys(keys))
        for a, b in cooccurring_pairs(distinct, [self._entities[key].is_name for key in distinct]):
            if (a, b) not in in_triples and (b, a) not in in_triples:
                first, second = sorted((a, b))
                self._add((first, second, ""), sentence, position, COOCCURRENCE_STRENGTH)

    def _add(self, key: tuple[str, str, str], sentence: str, position: int, strength: float) -> None:
        relation = self._relations.get(key)
        if relation is None:
            relation = self._relations[key] = _Relation(excerpt(sentence, ""))
        relation.strength += strength
        relation.positions.append(position)

    def rows(self, max_entities: int) -> Rows:
        """Return the collected rows in order of first mention.

        If there are more than `max_entities`, names are kept before phrases, then entities with triples, then
        frequent ones, then earlier ones. Relations of dropped entities are dropped too.
        """
        ranked = sorted(
            self._entities,
            key=lambda k: (not (e := self._entities[k]).is_name, e.n_triples == 0, -len(e.spans)),
        )
        kept = set(ranked[:max_entities])
        names = {key: _main_spelling(e.names) for key, e in self._entities.items() if key in kept}
        entities: list[EntityTuple] = [
            (name, self.type_of(key), (e := self._entities[key]).description, sorted(set(e.spans)))
            for key, name in names.items()
        ]
        relations: list[RelationTuple] = [
            (names[a], names[b], predicate, r.description, round(r.strength, 6), sorted(set(r.positions)))
            for (a, b, predicate), r in self._relations.items()
            if a in kept and b in kept
        ]
        return entities, relations


def _main_spelling(names: Counter[str]) -> str:
    """Return the most frequent spelling; ties: longest, then first in code point order."""
    return min(names, key=lambda n: (-names[n], -len(n), n))


def excerpt(sentence: str, name: str) -> str:
    r"""Return a sentence on one line, cut around the name if it is longer than `MAX_DESCRIPTION`.

    The mark of a list item or a heading is left out.

    >>> excerpt("one  two\n three", "two"), excerpt("- one", "")
    ('one two three', 'one')
    """
    sentence = sentence[mark.end() :] if (mark := LINE_MARK.match(sentence)) else sentence
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


def cooccurring_pairs(keys: Sequence[str], is_name: Sequence[bool]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of entities in one sentence that become relations, in order, each once.

    With at most six entities, every pair with a name; with more, only pairs up to three positions apart, so that the
    number of pairs is linear in the length of the sentence. Two phrases form a pair only if they are adjacent.

    Args:
        keys: distinct entities in the order of their first mention.
        is_name: for each entity, whether it is a name and not a phrase.

    >>> list(cooccurring_pairs(["quill", "lamp", "oil"], [True, False, False]))
    [('quill', 'lamp'), ('quill', 'oil'), ('lamp', 'oil')]
    >>> list(cooccurring_pairs(["lamp", "quill", "oil"], [False, True, False]))
    [('lamp', 'quill'), ('quill', 'oil')]
    """
    n = len(keys)
    distance = n if n <= _MAX_ALL_PAIRS else _MAX_DISTANCE
    for i, j in combinations(range(n), 2) if distance > _MAX_DISTANCE else _near_pairs(n, distance):
        if is_name[i] or is_name[j] or j == i + 1:
            yield keys[i], keys[j]


def _near_pairs(n: int, distance: int) -> Iterator[tuple[int, int]]:
    for i in range(n):
        for j in range(i + 1, min(n, i + distance + 1)):
            yield i, j
