"""Which passages say the name of which document, and which other names they share: no model, no parser.

A title that stands in the text of another passage is a link that the author drew; a capitalised name that several
passages have is a weaker one. Both are found by reading words, at about a third of a millisecond for a passage.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from polygraph.extract.capitals import capitalised_spans
from polygraph.words import STOP

READER = "titles-capitals-1"
"""Names how names are found; a change makes the layer stale."""

_WORD = re.compile(r"\w+(?:[’'&./-]\w+)*")
_POSSESSIVE = re.compile(r"[’']s?$")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_MAX_WORDS = 8
"""Longer titles are sentences, which no other text repeats."""
_SHORT = 3
"""A title of one word has so many characters at least."""

Pairs = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Naming:
    """Names, each by the hash of its words, and the passages that they stand for or in."""

    keys: NDArray[np.uint64]
    """Hash of each name, ascending, shape ``(n,)``; the place of a name here is its number."""
    titles: Pairs
    """Pairs of a name and a passage of a document that is called so, ascending, shape ``(m, 2)``."""
    links: Pairs
    """Pairs of such a name and a passage of another document whose text has it."""
    shared: Pairs
    """Pairs of any other name and a passage that has it, for names that at least two passages have."""


@dataclass(frozen=True, slots=True)
class Named:
    """A name as it stands in a text."""

    text: str
    key: int
    """Its hash."""


def naming(rows: Callable[[], Iterable[tuple[int, str, str]]]) -> Naming:
    """Find the names that passages share.

    Two names are the same if their words are, letter case and a possessive ending aside. What stands in brackets at the
    end of a title tells namesakes apart and is no part of the name. The longest title wins where several begin at
    one word, and a word of it has to have a capital or a digit, so that `The Rain` is not seen in every shower.

    Args:
        rows: passages as ``(n, title of the document, text)``; read twice, so that no text is kept.
    """
    titles: dict[tuple[str, ...], list[int]] = {}
    for n, title, _ in rows():
        if words := title_words(title):
            titles.setdefault(words, []).append(n)
    lengths = lengths_of(titles)
    links: list[tuple[int, int]] = []
    others: list[tuple[int, int]] = []
    for n, _, text in rows():
        said = set(_titles_in(text, titles, lengths))
        links += [(_hash(words), n) for words in said if n not in titles[words]]
        others += [(key, n) for key in {_hash(words) for words in _capitals_in(text) if words not in titles}]
    own = [(_hash(words), n) for words, ns in titles.items() for n in ns]
    shared = np.array(others, dtype=np.uint64).reshape(-1, 2)
    found, counts = np.unique(shared[:, 0], return_counts=True)
    shared = shared[np.isin(shared[:, 0], found[counts > 1])]
    keys = np.unique(np.concatenate([np.array([key for key, _ in own], dtype=np.uint64), shared[:, 0]]))
    return Naming(
        keys,
        *(_numbered(np.array(pairs, dtype=np.uint64).reshape(-1, 2), keys) for pairs in (own, links, shared)),
    )


def names_in(text: str, is_known: Callable[[NDArray[np.uint64]], NDArray[np.bool_]]) -> list[Named]:
    """Names in a question, the longest first where they overlap; in the order of the text, each once.

    A name has a capital or a digit in its first or last word. In a text without a capital after its first letter a name
    has two words at least, since a single one is mostly just a word.

    Args:
        text: the question.
        is_known: tells of hashes, shape ``(k,)``, which of them are names.
    """
    words = list(_WORD.finditer(text))[:200]
    plain = [_plain(w.group()) for w in words]
    casual = text[1:] == text[1:].lower()
    spans = [
        (i, j)
        for i in range(len(words))
        for j in range(i + 1, min(i + _MAX_WORDS, len(words)) + 1)
        if _is_name(tuple(plain[i:j]))
        and ((casual and j - i > 1) or _shows(words[i].group(), words[j - 1].group()))
    ]
    hashes = [_hash(tuple(plain[i:j])) for i, j in spans]
    known = is_known(np.array(hashes, dtype=np.uint64))
    taken: set[int] = set()
    found: list[tuple[int, Named]] = []
    for at in sorted(np.flatnonzero(known).tolist(), key=lambda k: (spans[k][0] - spans[k][1], spans[k][0])):
        i, j = spans[at]
        if taken.isdisjoint(range(i, j)):
            taken.update(range(i, j))
            name = _POSSESSIVE.sub("", text[words[i].start() : words[j - 1].end()])
            found.append((i, Named(name, hashes[at])))
    ordered = {named.key: named for _, named in sorted(found, key=lambda pair: -pair[0])}
    return list(ordered.values())[::-1]


def title_words(title: str) -> tuple[str, ...]:
    """Words of a title by which other texts may name the document; empty if it looks like no name.

    >>> title_words("Payment on Demand (film)"), title_words("notes"), title_words("minutes-1871.md")
    (('payment', 'on', 'demand'), (), ())
    """
    name = title.split("(", 1)[0].strip()
    words = tuple(_plain(w) for w in _WORD.findall(name)[: _MAX_WORDS + 1])
    return words if name != name.lower() and len(words) <= _MAX_WORDS and _is_name(words) else ()


def lengths_of(titles: Collection[tuple[str, ...]]) -> dict[str, list[int]]:
    """By the first word of some names how many words they have, the most first.

    >>> lengths_of([("grey", "reef"), ("grey",)])
    {'grey': [2, 1]}
    """
    lengths: dict[str, set[int]] = {}
    for words in titles:
        lengths.setdefault(words[0], set()).add(len(words))
    return {first: sorted(some, reverse=True) for first, some in lengths.items()}


def _titles_in(
    text: str, titles: Collection[tuple[str, ...]], lengths: Mapping[str, list[int]]
) -> Iterator[tuple[str, ...]]:
    """Titles that stand in a text, from left to right."""
    words = _WORD.findall(text)
    plain = [_plain(word) for word in words]
    i = 0
    while i < len(words):
        step = 1
        for length in lengths.get(plain[i], ()):
            some = tuple(plain[i : i + length])
            if len(some) == length and some in titles and _shows(words[i], words[i + length - 1]):
                yield some
                step = length
                break
        i += step


def _capitals_in(text: str) -> Iterator[tuple[str, ...]]:
    """Names by their capitals; neither dates nor the first word of a sentence alone."""
    for sentence in _SENTENCE.split(text):
        for span in capitalised_spans(sentence):
            words = tuple(_plain(w) for w in _WORD.findall(sentence[span.start : span.end]))
            if not span.date and not span.doubtful and len(words) <= _MAX_WORDS and _is_name(words):
                yield words


def _plain(word: str) -> str:
    return _POSSESSIVE.sub("", word.casefold())


def _is_name(words: tuple[str, ...]) -> bool:
    """Whether words can be a name: not one that is short or that every sentence has."""
    return bool(words) and (len(words) > 1 or (len(words[0]) >= _SHORT and words[0] not in STOP))


def _shows(first: str, last: str) -> bool:
    """Whether a run of words looks like a name by its first or its last word."""
    return not first[0].islower() or not last[0].islower()


def _hash(words: tuple[str, ...]) -> int:
    return int.from_bytes(blake2b(" ".join(words).encode(), digest_size=8).digest(), "little")


def _numbered(pairs: NDArray[np.uint64], keys: NDArray[np.uint64]) -> Pairs:
    """Pairs of hash and passage as pairs of number and passage, ascending."""
    numbers = np.searchsorted(keys, pairs[:, 0]).astype(np.int64)
    return np.unique(np.stack([numbers, pairs[:, 1].astype(np.int64)], axis=1), axis=0)
