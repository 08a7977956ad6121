"""The sentences of a text, and those that a claim repeats: only beside these does a missing word count."""

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

from polygraph.text.claims.folding import Folded, plain
from polygraph.text.sentences import sentence_spans
from polygraph.text.words import content_stems

_STATEMENT_END = re.compile(r"(?<=[;:])\s+|\n")
PARAGRAPH_END = "\n\n"
"""Between texts that have no sentence in common."""
_MIN_SHARED = 0.5
"""Share of a claim's content words that a sentence must have."""


def repeated(claim: str, text: str, *, without: str = "") -> list[str]:
    """Return the sentences of a text that have half of a claim's content words, without those of a part of it.

    >>> repeated("The mill opened in 1871.", "The mill was opened in 1817. It burned.", without="1871")
    ['The mill was opened in 1817.']
    """
    wanted = stems(claim) - stems(without)
    if not wanted:
        return []
    least = _MIN_SHARED * len(wanted)
    every = sentences(text)
    some = [
        every[n]
        for n, count in sorted(folded_sentences(text).counts(roots(wanted)).items())
        if count >= least
    ]
    return [s for s in some if len(wanted & stems(s)) >= least]


def is_quoted(claim: str, text: str) -> bool:
    """Return whether a claim is a whole sentence of a text, word for word.

    >>> is_quoted("It burned.", "The mill opened in 1817. It burned."), is_quoted("It burned.", "He says: It burned.")
    (True, False)
    """
    return claim in text and any(claim in sentences(line) for line in text.split("\n") if claim in line)


@lru_cache(maxsize=4_096)
def stems(text: str) -> frozenset[str]:
    """Return the stems of a text's content words without accents."""
    return frozenset(plain(word) for word in content_stems(text))


def roots(wanted: Iterable[str]) -> list[str]:
    """Return the part of each stem that every word with this stem contains: all but its last letter."""
    return [stem[:-1] for stem in wanted]


# Texts may be long, and several claims in a row cite the same ones.
@lru_cache(maxsize=64)
def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text; none goes beyond an empty line."""
    return tuple(chain.from_iterable(map(_sentences_of, text.split(PARAGRAPH_END))))


# The passages behind different claims are partly the same.
@lru_cache(maxsize=1_024)
def _sentences_of(paragraph: str) -> tuple[str, ...]:
    return tuple(paragraph[start:end] for start, end in sentence_spans(paragraph))


@lru_cache(maxsize=64)
def sentence_parts(text: str) -> tuple[str, ...]:
    """Return the sentences of a text, divided at semicolons, colons and ends of lines.

    >>> sentence_parts("It closed: nobody came. Later it burned; it was not rebuilt.")
    ('It closed:', 'nobody came.', 'Later it burned;', 'it was not rebuilt.')
    """
    return tuple(part for sentence in sentences(text) for part in _STATEMENT_END.split(sentence))


@lru_cache(maxsize=64)
def folded_sentences(text: str) -> Folded:
    """Return the `sentences` of a text without case and accents."""
    return Folded(sentences(text))


@lru_cache(maxsize=64)
def folded_parts(text: str) -> Folded:
    """Return the `sentence_parts` of a text without case and accents."""
    return Folded(sentence_parts(text))
