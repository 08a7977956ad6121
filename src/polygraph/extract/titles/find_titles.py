"""Which passages say the name of which document, and which other names they share: no model, no parser.

A title that stands in the text of another passage is a link that the author drew; a capitalised name that several
passages have is a weaker one. Both are found by reading words, at about a third of a millisecond for a passage.
What one document says is read by itself (`read_document`), given the titles of all; what follows from all documents
together is found in arrays (`naming`). Raise `revisions.TITLES` whenever other names may be found.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from polygraph.columnar.memmap import Room
from polygraph.columnar.memory import let_go
from polygraph.extract.nlp.capitalized_names import capitalized_spans
from polygraph.text.words import STOP_WORDS

_WORD = re.compile(r"\w+(?:[’'&./-]\w+)*")
_POSSESSIVE = re.compile(r"[’']s?$")
_GENITIVE = ("'s", "’s")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_MAX_WORDS = 8
"""Longer titles are sentences, which no other text repeats."""
_SHORT = 3
"""A title of one word has so many characters at least."""

Keys = NDArray[np.uint64]
Rows = NDArray[np.int32]
Pairs = NDArray[np.int32]
_BLOCK = 1 << 16
"""Names that are looked up at once."""
_PARTS = 64
"""Names are divided into no more parts to be sorted, so that the time for it grows as their number does."""


@dataclass(frozen=True, slots=True, eq=False)
class Naming:
    """Names, each by the hash of its words, and the passages that they stand for or in."""

    keys: Keys
    """Hash of each name, ascending, shape ``(n,)``; the place of a name here is its number."""
    titles: Pairs
    """Pairs of a name and a passage of a document that is called so, by passage, then name, shape ``(m, 2)``."""
    links: Pairs
    """Pairs of such a name and a passage of another document whose text has it, in the same order."""
    shared: Pairs
    """The same of any other name and a passage that has it, for names that at least two passages have."""


@dataclass(frozen=True, slots=True)
class Named:
    """A name as it stands in a text."""

    text: str
    key: int
    """Its hash."""


@dataclass(frozen=True, slots=True)
class Said:
    """What the passages of one document say. Names are hashes, ascending, of each passage by itself."""

    titles: list[list[int]]
    """Titles that stand in a passage, that of its own document too."""
    capitals: list[list[int]]
    """Names by their capitals, be they titles or not."""
    words: list[int]
    """Marks of all words, ascending: a title of which one is not among them stands in no passage (see `marks`)."""


class Titles:
    """Titles of documents, to be found in texts.

    Args:
        titles: as written; those that look like no name are left out.
    """

    def __init__(self, titles: Iterable[str]) -> None:
        self.words = {_hash(words): words for title in titles if (words := title_words(title))}
        """Words of each title by its hash."""
        self._known = set(self.words.values())
        self._lengths = lengths_of(self._known)

    def found_in(self, words: Sequence[str], plain: Sequence[str]) -> set[int]:
        """Hashes of the titles that stand in a text; where several begin at one word, the longest.

        Args:
            words: of the text, in order.
            plain: the same in the form in which they are compared.
        """
        if not self._known:
            return set()
        return {_hash(some) for some in _titles_in(words, plain, self._known, self._lengths)}


def read_document(texts: Sequence[str], titles: Titles) -> Said:
    """Read the passages of a document.

    Two names are the same if their words are, letter case and a possessive ending aside. What stands in brackets at the
    end of a title tells namesakes apart and is no part of the name. The longest title wins where several begin at
    one word, and a word of it has to have a capital or a digit, so that `The Rain` is not seen in every shower.

    Args:
        texts: of the passages, in order.
        titles: of all documents.
    """
    found, words = [], set[str]()
    for text in texts:
        written = _WORD.findall(text)
        plain = [_plain(word) for word in written]
        found.append(sorted(titles.found_in(written, plain)))
        words.update(plain)
    return Said(
        found,
        [sorted({_hash(name) for name in _capitals_in(text)}) for text in texts],
        sorted(marks(words)),
    )


def naming(
    titles: Keys,
    sizes: NDArray[np.int64],
    said: tuple[Rows, Keys],
    capitals: tuple[Rows, Keys],
    *,
    room: Room = np.empty,
) -> Naming:
    """Find the names that passages share.

    Args:
        titles: hash of each document's title, 0 for one that is no name, shape ``(n_documents,)``.
        sizes: number of each document's passages.
        said: passages and the titles in them, each pair once, ascending; passages are numbered through all documents.
        capitals: passages and the names in them, each pair once, ascending.
        room: where the pairs lie.
    """
    ends = np.cumsum(sizes)
    n_passages = int(ends[-1]) if len(ends) else 0

    def own(passages: Rows) -> Keys:
        return titles[np.searchsorted(ends, passages, side="right")]

    def titled() -> Iterator[tuple[Rows, Keys]]:
        for at in range(0, n_passages, _BLOCK):
            passages = np.arange(at, min(at + _BLOCK, n_passages), dtype=np.int32)
            yield passages, own(passages)

    def links() -> Iterator[tuple[Rows, Keys]]:
        for passages, names in _blocks(*said):
            others = names != own(passages)
            yield passages[others], names[others]

    known = np.unique(titles[titles != 0])
    shared = _several(capitals[1])
    shared = shared[~among(shared, known)]
    keys = np.union1d(known, shared)
    return Naming(
        keys,
        _numbered(titled(), room(2 * n_passages, np.int32), known, keys),
        _numbered(links(), room(2 * len(said[0]), np.int32), known, keys),
        _numbered(_blocks(*capitals), room(2 * len(capitals[0]), np.int32), shared, keys),
    )


def among(some: NDArray[Any], others: NDArray[Any]) -> NDArray[np.bool_]:
    """Which of some numbers are among others, which ascend.

    >>> among(np.array([3, 1]), np.array([1, 2])).tolist()
    [False, True]
    """
    if not len(others):
        return np.zeros(len(some), dtype=np.bool_)
    found: NDArray[np.bool_] = others[np.minimum(np.searchsorted(others, some), len(others) - 1)] == some
    return found


def _several(names: Keys) -> Keys:
    """Names that stand there twice at least, ascending."""
    # Hashes are spread evenly, so their range can be divided instead of them.
    n_parts = max(1, min(_PARTS, -(-len(names) // _BLOCK)))
    cuts = [(part << 64) // n_parts for part in range(n_parts + 1)]
    found = [np.zeros(0, dtype=np.uint64)]
    for first, last in pairwise(cuts):
        low, high = np.uint64(first), np.uint64(last - 1)
        own = [some[(some >= low) & (some <= high)] for (some,) in _blocks(names)]
        ordered = np.sort(np.concatenate([found[0], *own]))
        found.append(np.unique(ordered[1:][ordered[1:] == ordered[:-1]]))
    return np.concatenate(found)


def _blocks(*columns: NDArray[Any]) -> Iterator[Any]:
    """Some rows at a time; what was read of them is let go."""
    for at in range(0, len(columns[0]), _BLOCK):
        yield tuple(column[at : at + _BLOCK] for column in columns)
        let_go(*columns)


def title_key(title: str) -> int:
    """Hash of a title that looks like a name; 0 of another."""
    words = title_words(title)
    return _hash(words) if words else 0


def marks(words: Iterable[str]) -> set[int]:
    """Marks of 32 bits of some words, in the form in which they are compared."""
    return {crc32(word.encode("utf-8", "surrogatepass")) for word in words}


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
    words: Sequence[str],
    plain: Sequence[str],
    titles: Collection[tuple[str, ...]],
    lengths: Mapping[str, list[int]],
) -> Iterator[tuple[str, ...]]:
    """Titles that stand in a text, from left to right."""
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
        for span in capitalized_spans(sentence):
            words = tuple(_plain(w) for w in _WORD.findall(sentence[span.start : span.end]))
            if not span.date and not span.doubtful and len(words) <= _MAX_WORDS and _is_name(words):
                yield words


def _plain(word: str) -> str:
    """The form of a word in which it is compared: no letter case, no possessive ending.

    >>> _plain("Reef's")
    'reef'
    """
    plain = word.casefold()
    return plain[:-2] if plain.endswith(_GENITIVE) else plain


def _is_name(words: tuple[str, ...]) -> bool:
    """Whether words can be a name: not one that is short or that every sentence has."""
    return bool(words) and (len(words) > 1 or (len(words[0]) >= _SHORT and words[0] not in STOP_WORDS))


def _shows(first: str, last: str) -> bool:
    """Whether a run of words looks like a name by its first or its last word."""
    return not first[0].islower() or not last[0].islower()


def _hash(words: tuple[str, ...]) -> int:
    return int.from_bytes(blake2b(" ".join(words).encode(), digest_size=8).digest(), "little")


def _numbered(some: Iterable[tuple[Rows, Keys]], into: Rows, wanted: Keys, keys: Keys) -> Pairs:
    """Of names in passages those that are wanted, as pairs of number and passage, in the order given.

    Args:
        some: passages and hashes of names, some at a time.
        into: two numbers for each of them.
        wanted: hashes of names, ascending.
        keys: the same and others, ascending; the place of a name here is its number.
    """
    pairs, n = into.reshape(-1, 2), 0
    for passages, names in some:
        rows = np.flatnonzero(among(names, wanted))
        pairs[n : n + len(rows), 0] = np.searchsorted(keys, names[rows])
        pairs[n : n + len(rows), 1] = passages[rows]
        n += len(rows)
        let_go(into)
    return pairs[:n]
