"""Titles of documents and other names in passages and questions, found without a model or parser.

A title that occurs in a passage of another document is a link that the author made; a capitalised name that several
passages share is a weaker one. It takes about a third of a millisecond per passage.
`find_document_titles` processes one document, given the titles of all documents; `title_table` stores the result and
matches names across documents. Increment `revisions.TITLES` whenever the same text may give different names.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from polygraph.extract.nlp.capitalized_names import capitalized_spans
from polygraph.text.words import STOP_WORDS

_WORD = re.compile(r"\w+(?:[’'&./-]\w+)*")
_POSSESSIVE = re.compile(r"[’']s?$")
_GENITIVE = ("'s", "’s")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_MAX_WORDS = 8
"""Longest title in words; longer ones are sentences that other texts do not repeat."""
_SHORT = 3
"""Shortest title of one word, in characters."""


@dataclass(frozen=True, slots=True)
class TextMention:
    """A name as it is written in a text."""

    text: str
    key: int
    """Its hash."""


@dataclass(frozen=True, slots=True)
class DocumentTitles:
    """Names in the passages of one document, as ascending hashes for each passage."""

    titles: list[list[int]]
    """Titles that occur in a passage, including that of the document itself."""
    capitals: list[list[int]]
    """Names recognised by their capitals, titles or not."""
    words: list[int]
    """Hashes of all words, ascending: a title with a word that is missing here occurs in no passage (`word_hashes`)."""


class TitleFinder:
    """Finds the titles of documents in texts.

    Args:
        titles: as written; titles that do not look like a name are ignored.
    """

    def __init__(self, titles: Iterable[str]) -> None:
        self.words = {_hash(words): words for title in titles if (words := title_words(title))}
        """Words of each title by its hash."""
        self._known = set(self.words.values())
        self._lengths = lengths_of(self._known)

    def find(self, words: Sequence[str], plain: Sequence[str]) -> set[int]:
        """Return the hashes of the titles in a text; the longest if several start at one word.

        Args:
            words: of the text, in order.
            plain: the same words in comparable form, see `_comparable`.
        """
        if not self._known:
            return set()
        return {_hash(some) for some in _titles_in(words, plain, self._known, self._lengths)}


def find_document_titles(texts: Sequence[str], titles: TitleFinder) -> DocumentTitles:
    """Find names in the passages of a document.

    Two names are the same if their words are, ignoring case and a possessive ending. Brackets at the end of a title
    distinguish documents of one name and are not part of the name. The longest title wins if several start at one
    word. Its first or last word needs a capital or a digit, so that the title `The Rain` does not match ``the rain``.

    Args:
        texts: of the passages, in order.
        titles: of all documents.
    """
    found, words = [], set[str]()
    for text in texts:
        written = _WORD.findall(text)
        plain = _all_comparable(written)
        found.append(sorted(titles.find(written, plain)))
        words.update(plain)
    return DocumentTitles(
        found,
        [sorted({key for name in _capitals_in(text) if (key := _capitals_key(name))}) for text in texts],
        sorted(word_hashes(words)),
    )


def title_key(title: str) -> int:
    """Return the hash of a title that looks like a name, 0 for any other."""
    words = title_words(title)
    return _hash(words) if words else 0


def word_hashes(words: Iterable[str]) -> set[int]:
    """Return 32-bit hashes of words in comparable form."""
    return {crc32(word.encode("utf-8", "surrogatepass")) for word in words}


def find_known_names(
    text: str, is_known: Callable[[NDArray[np.uint64]], NDArray[np.bool_]]
) -> list[TextMention]:
    """Return the known names in a question, in the order of the text, each once; the longest if they overlap.

    A name has a capital or a digit in its first or last word. In a text without a capital after its first letter a name
    has at least two words, since a single one is usually a common word.

    Args:
        text: the question.
        is_known: for hashes of shape ``(k,)``, returns which of them are known names.
    """
    words = list(_WORD.finditer(text))[:200]
    plain = _all_comparable([w.group() for w in words])
    casual = text[1:] == text[1:].lower()
    stands_out = [not w.group()[0].islower() for w in words]
    spans = [
        (i, j)
        for i in range(len(words))
        for j in range(i + 1, min(i + _MAX_WORDS, len(words)) + 1)
        if (stands_out[i] or stands_out[j - 1] or (casual and j - i > 1)) and _is_name(plain[i:j])
    ]
    hashes = [_hash(plain[i:j]) for i, j in spans]
    known = is_known(np.array(hashes, dtype=np.uint64))
    taken: set[int] = set()
    found: list[tuple[int, TextMention]] = []
    for at in sorted(np.flatnonzero(known).tolist(), key=lambda k: (spans[k][0] - spans[k][1], spans[k][0])):
        i, j = spans[at]
        if taken.isdisjoint(range(i, j)):
            taken.update(range(i, j))
            name = _POSSESSIVE.sub("", text[words[i].start() : words[j - 1].end()])
            found.append((i, TextMention(name, hashes[at])))
    ordered = {named.key: named for _, named in sorted(found, key=lambda pair: -pair[0])}
    return list(ordered.values())[::-1]


def title_words(title: str) -> tuple[str, ...]:
    """Return the words by which other texts may name the document; empty if the title does not look like a name.

    >>> title_words("Payment on Demand (film)"), title_words("notes"), title_words("minutes-1871.md")
    (('payment', 'on', 'demand'), (), ())
    """
    name = title.split("(", 1)[0].strip()
    words = tuple(_comparable(w) for w in _WORD.findall(name)[: _MAX_WORDS + 1])
    return words if name != name.lower() and len(words) <= _MAX_WORDS and _is_name(words) else ()


def lengths_of(titles: Collection[tuple[str, ...]]) -> dict[str, list[int]]:
    """Return the lengths of titles in words, descending, by their first word.

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
    """Yield the titles in a text, from left to right."""
    end = 0
    for i in [n for n, word in enumerate(plain) if word in lengths]:
        if i < end:
            continue
        for length in lengths[plain[i]]:
            some = tuple(plain[i : i + length])
            if len(some) == length and some in titles and _looks_like_name(words[i], words[i + length - 1]):
                yield some
                end = i + length
                break


def _capitals_in(text: str) -> Iterator[str]:
    """Yield names recognised by their capitals, without dates and lone first words of sentences."""
    for sentence in _SENTENCE.split(text):
        for span in capitalized_spans(sentence):
            if not span.date and not span.doubtful:
                yield sentence[span.start : span.end]


# A name is written many times.
@lru_cache(maxsize=8_192)
def _capitals_key(name: str) -> int:
    """Return the hash of a name recognised by its capitals; 0 for a sentence of them, a short word or a stop word."""
    words = tuple(_comparable(word) for word in _WORD.findall(name))
    return _hash(words) if len(words) <= _MAX_WORDS and _is_name(words) else 0


def _all_comparable(written: Sequence[str]) -> list[str]:
    """Return words in comparable form."""
    # All in one pass: no word has a line break in it.
    folded = "\n".join(written).casefold()
    plain = folded.split("\n") if folded else []
    if any(ending in folded for ending in _GENITIVE):
        return [word[:-2] if word.endswith(_GENITIVE) else word for word in plain]
    return plain


def _comparable(word: str) -> str:
    """Return a word in comparable form: case-folded, without a possessive ending.

    >>> _comparable("Reef's")
    'reef'
    """
    plain = word.casefold()
    return plain[:-2] if plain.endswith(_GENITIVE) else plain


def _is_name(words: Sequence[str]) -> bool:
    """Return whether words may be a name: several words, or one that is neither short nor a stop word."""
    return bool(words) and (len(words) > 1 or (len(words[0]) >= _SHORT and words[0] not in STOP_WORDS))


def _looks_like_name(first: str, last: str) -> bool:
    """Return whether a run of words looks like a name by its first or its last word."""
    return not first[0].islower() or not last[0].islower()


def _hash(words: Sequence[str]) -> int:
    return int.from_bytes(blake2b(" ".join(words).encode(), digest_size=8).digest(), "little")
