"""The names, numbers and content words of a sentence in their order, for comparing who does what in two sentences."""

import re
from collections.abc import Sequence
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
    """Of a number."""


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
    taken = [(t.start, t.end) for t in found]
    for match in _NAME.finditer(text):
        start, words = match.start(), match.group().split()
        while words and (plain(words[0]) in STOP_WORDS or plain(words[0]) in ORDINARY):
            start += len(words[0]) + 1
            words = words[1:]
        if not words or (german and len(words) < 2) or not words[-1][0].isupper():
            continue
        end = start + len(" ".join(words))
        if not _overlaps(start, end, taken):
            taken.append((start, end))
            found.append(Token(plain(words[-1].rstrip(".")), "name", " ".join(words), start, end))
    for match in WORD.finditer(text):
        stems = content_stems(match.group())
        if stems and not _overlaps(*match.span(), taken):
            found.append(Token(plain(stems[0]), "word", match.group(), *match.span()))
    return tuple(sorted(found, key=lambda token: token.start))


def _overlaps(start: int, end: int, taken: list[tuple[int, int]]) -> bool:
    return any(start < b and a < end for a, b in taken)


def most_tokens(said: Sequence[Token], text: str) -> list[int]:
    """Return for each of the `sentences` of a text how many tokens of a claim it has at most.

    A stem is its word but for an ending: a sentence has at most as many of the words as it has of their roots, which
    are found much faster than its tokens.

    >>> most_tokens(tokens("The mill was sold to Anna Crane in 1871."), "Crane sold two mills. It rained.")
    [4, 1]
    """
    folded = folded_sentences(text)
    words = roots(token.key for token in said if token.kind != "number")
    most = [len(said) - len(words)] * len(folded.texts)
    for n, count in folded.counts(words).items():
        most[n] += count
    return most
