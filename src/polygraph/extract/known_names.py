"""Find the names of entities in all passages, also in those whose window was read without naming them.

A model names what matters in a window and leaves out what does not, so that an entity would be found in the windows
alone where it mattered. A name that stands in a passage mentions its entity there, whoever wrote the row: matching is
exact, and a name is looked for only where it can mean nothing else.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import and_
from typing import TypeAlias

from polygraph.extract.locate import DETERMINERS, Words
from polygraph.text.words import STOP_WORDS

_MAX_WORDS = 10
_SHORT = 3
"""Shortest name of one word, in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownName:
    """A name of an entity, as a row writes it."""

    entity: int
    name: str
    in_documents: bool = False
    """The name was taken for the entity in single documents only."""


@dataclass(frozen=True, slots=True)
class _Pattern:
    words: tuple[str, ...]
    gaps: tuple[str, ...]
    capitals: tuple[bool, ...]
    """Which words must not begin with a small letter."""


_Owners: TypeAlias = tuple[_Pattern, set[int], set[int]]
"""A name, the entity that it means in all documents if it is one, and those that it means where they are mentioned."""


class NameFinder:
    """Finds names in texts.

    A name matches where its words stand in sequence, in any case, with the same punctuation between them. Of several
    that begin at one word, the longest matches.

    - *Proper names* have a capital beyond the first word, or are one word. Their words with a capital do not match
      words that begin with a small letter: ``The Loss of the Constancy`` is not in ``the loss of the Constancy``.
      Other names of several words (``church clock``) match in any case.
    - *Common words*: a name of one word is not looked for if it begins with a small letter, is a stop word, or is
      written with a small letter anywhere (``Board`` beside ``on board``). Scripts without capitals need two words.
    - *Ambiguous names*: a name of several entities counts in a document that mentions exactly one of them. A name that
      is part of a longer name of its entity (a surname), or that means it in single documents only, counts in documents
      that mention the entity.

    Args:
        names: of all entities.
        documents: numbers of the documents that mention each entity.
    """

    def __init__(self, names: Iterable[KnownName], documents: Sequence[set[int]]) -> None:
        self._documents = documents
        everywhere: dict[_Pattern, set[int]] = {}
        within: dict[_Pattern, set[int]] = {}
        longer: dict[int, set[tuple[str, ...]]] = {}
        for known in names:
            if (pattern := _pattern(known.name)) is not None:
                (within if known.in_documents else everywhere).setdefault(pattern, set()).add(known.entity)
                longer.setdefault(known.entity, set()).add(pattern.words)
        self._owners: dict[tuple[str, ...], list[_Owners]] = {}
        for pattern in sorted({*everywhere, *within}, key=lambda p: (p.words, p.gaps, p.capitals)):
            owners = everywhere.get(pattern, set())
            parts = {e for e in owners if _is_part(pattern.words, longer[e])}
            sole = owners - parts if len(owners | within.get(pattern, set())) == 1 else set[int]()
            some = (owners | within.get(pattern, set())) - sole
            self._owners.setdefault(pattern.words, []).append((pattern, sole, some))
        lengths: dict[str, set[int]] = {}
        for words in self._owners:
            lengths.setdefault(words[0], set()).add(len(words))
        self._lengths = {first: sorted(some, reverse=True) for first, some in lengths.items()}
        self._common: set[str] = set()
        """Names of one word that were seen with a small letter."""
        self._found: dict[int, dict[int, str]] = {}
        """By entity, the passages, with the name if it is one word."""

    def read(self, passage: int, document: int, text: str) -> None:
        """Look for all names in a passage."""
        words = Words(text)
        folded, lengths = words.folded, self._lengths
        end = 0
        for at in [n for n, word in enumerate(folded) if word in lengths]:
            if at < end:
                continue
            for length in lengths[folded[at]]:
                if at + length > len(folded):
                    continue
                owners = self._owners.get(tuple(folded[at : at + length]))
                if owners and (matching := self._matching(owners, words, at, at + length)):
                    self._add(passage, document, matching, folded[at] if length == 1 else "")
                    end = at + length
                    break

    def found(self) -> Iterator[tuple[int, list[int]]]:
        """Yield each entity with the passages in which its names were found, both ascending."""
        for entity in sorted(self._found):
            passages = [n for n, word in self._found[entity].items() if word not in self._common]
            if passages:
                yield entity, sorted(passages)

    def _matching(
        self, owners: Sequence[_Owners], words: Words, first: int, last: int
    ) -> list[tuple[set[int], set[int]]]:
        """Return the owners of the names that match where their words stand."""
        small = [word[0].islower() for word in words.written(first, last)]
        if small == [True]:
            self._common.add(words.folded[first])
        # What stands between words is found when it is first asked for, which many passages never need.
        gaps = words.gaps(first, last) if len(small) > 1 else ()
        return [
            (sole, some)
            for pattern, sole, some in owners
            if pattern.gaps == gaps and not any(map(and_, pattern.capitals, small))
        ]

    def _add(
        self, passage: int, document: int, matching: Sequence[tuple[set[int], set[int]]], word: str
    ) -> None:
        if len(matching) == 1 and len(matching[0][0]) == 1 and not matching[0][1]:
            (entity,) = matching[0][0]
            self._note(entity, passage, word)
            return
        every = set[int]().union(*(sole | some for sole, some in matching))
        here = {entity for entity in every if document in self._documents[entity]}
        chosen = here if len(here) == 1 else set[int]().union(*(sole for sole, _ in matching))
        if len(chosen) == 1 and (len(here) == 1 or len(every) == 1):
            self._note(next(iter(chosen)), passage, word)

    def _note(self, entity: int, passage: int, word: str) -> None:
        of_entity = self._found.setdefault(entity, {})
        # A name of several words counts even if one of one word turns out to be common.
        of_entity[passage] = word if of_entity.get(passage, word) else ""


def _pattern(name: str) -> _Pattern | None:
    """Return what to look for; None if the name is too general to be looked for."""
    words = Words(name.strip())
    first, last = 0, len(words.folded)
    if last > 1 and words.folded[-1] == "s" and words.gaps(last - 2, last) == ("'",):
        last -= 1
    while last - first > 1 and words.folded[first] in DETERMINERS and words.gaps(first, first + 2) == ("",):
        first += 1
    written, folded = words.written(first, last), words.folded[first:last]
    if not written or len(written) > _MAX_WORDS or not any(c.isalpha() for word in written for c in word):
        return None
    capitals = [word[0].isupper() for word in written]
    if len(written) == 1:
        if not capitals[0] or len(written[0]) < _SHORT or folded[0] in STOP_WORDS:
            return None
    elif not any(capitals[1:]):
        capitals = [False] * len(written)
    return _Pattern(tuple(folded), words.gaps(first, last), tuple(capitals))


def _is_part(words: tuple[str, ...], names: Iterable[tuple[str, ...]]) -> bool:
    """Return whether a name of one word is part of a longer name.

    >>> _is_part(("dabney",), {("dabney",), ("a", "dabney")})
    True
    """
    return len(words) == 1 and any(len(other) > 1 and words[0] in other for other in names)
