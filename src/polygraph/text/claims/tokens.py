"""The names, numbers and content words of a sentence in their order, for comparing who does what in two sentences."""

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from polygraph.text.claims.folding import WORD, plain
from polygraph.text.claims.names import ORDINARY
from polygraph.text.claims.numbers import found_numbers, is_ordinal
from polygraph.text.claims.repeats import folded_sentences, roots
from polygraph.text.words import STOP_WORDS, content_stems

_NAME = re.compile(
    r"\b[^\W\d_a-z][\w'’\-]*\.?(?: (?:(?:de|von|van|del|di|da) )?[^\W\d_a-z][\w'’\-]*)+|\b[^\W\d_a-z][\w'’\-]*"
)


class Token(NamedTuple):
    """A name, a number or a content word where it stands."""

    key: str
    """The last word of a name, the value of a number, the stem of a word."""
    kind: Literal["name", "number", "word"]
    written: str
    start: int
    end: int
    unit: str = ""
    """Unit of a number."""


@lru_cache(maxsize=2_048)
def tokens(text: str, *, german: bool = False) -> tuple[Token, ...]:
    """Return the tokens of a sentence in order.

    A single word with a capital at the beginning is a name only if it is no stop word. In German, where nouns have
    capitals, only runs of two capitalised words are names.

    >>> [t.key for t in tokens("The mill was sold to Anna Crane in 1871.")]
    ['mill', 'sold', 'crane', '1871.0']
    """
    found = [
        Token(str(n.number.value), "number", n.written, n.start, n.end, n.number.unit)
        for n in found_numbers(text)
        if not is_ordinal(n.written)
    ]
    taken = bytearray(len(text))
    for token in found:
        taken[token.start : token.end] = bytes([1]) * (token.end - token.start)
    for match in _NAME.finditer(text):
        start, words = match.start(), match.group().split()
        while words and (plain(words[0]) in STOP_WORDS or plain(words[0]) in ORDINARY):
            start += len(words[0]) + 1
            words = words[1:]
        if not words or (german and len(words) < 2) or not words[-1][0].isupper():
            continue
        end = start + len(" ".join(words))
        if not any(taken[start:end]):
            taken[start:end] = bytes([1]) * (end - start)
            found.append(Token(plain(words[-1].rstrip(".")), "name", " ".join(words), start, end))
    for match in WORD.finditer(text):
        start, end = match.span()
        if (key := _word_key(match.group())) and not any(taken[start:end]):
            found.append(Token(key, "word", match.group(), start, end))
    return tuple(sorted(found, key=lambda token: token.start))


@lru_cache(maxsize=4_096)
def _word_key(word: str) -> str:
    """Return the first stem of a word without accents; empty if it says nothing about the content."""
    return plain(next(iter(content_stems(word)), ""))


# A claim is compared with the same texts in several ways.
@lru_cache(maxsize=16)
def most_tokens(said: tuple[Token, ...], shown: tuple[str, ...]) -> tuple[int, ...]:
    """Return for each of the `sentences` of some texts how many tokens of a claim it has at most.

    A stem is its word but for an ending: a sentence has at most as many of the words as it has of their roots, which
    are found much faster than its tokens.

    >>> most_tokens(tokens("The mill was sold to Anna Crane in 1871."), ("Crane sold two mills. It rained.",))
    (4, 1)
    """
    words = roots(token.key for token in said if token.kind != "number")
    most = list[int]()
    for folded in map(folded_sentences, shown):
        counts = folded.counts(words)
        most += [len(said) - len(words) + counts[n] for n in range(len(folded.texts))]
    return tuple(most)
