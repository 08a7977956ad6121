"""The sentences of the texts that a claim cites, and those that it repeats: only beside these does a word count.

The rules take the texts one by one. Several claims in a row cite the same ones, but each in another selection, so that
what is made of a text is kept for each alone.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from polygraph.text.claims.folding import MAX_TEXTS, Folded, plain
from polygraph.text.sentences import sentence_spans
from polygraph.text.words import content_stems, root_of

_STATEMENT_END = re.compile(r"(?<=[;:])\s+|\n")
_PARAGRAPH_END = "\n\n"
_MIN_SHARED = 0.5
"""Share of a claim's content words that a sentence must have."""


def is_repeated(claim: str, texts: Iterable[str], *, without: str) -> bool:
    """Return whether a sentence has half of a claim's content words, without those of a part of it.

    >>> is_repeated("The mill opened in 1871.", ["It burned.", "The mill was opened in 1817."], without="1871")
    True
    """
    wanted = stems(claim) - stems(without)
    least = _MIN_SHARED * len(wanted)
    return bool(wanted) and any(
        count >= least and len(wanted & stems(sentences(text)[n])) >= least
        for text in texts
        for n, count in folded_sentences(text).counts(roots(wanted)).items()
    )


def is_quoted(claim: str, text: str) -> bool:
    """Return whether a claim is a whole sentence of a text, word for word.

    >>> is_quoted("It burned.", "The mill opened in 1817. It burned."), is_quoted("It burned.", "He says: It burned.")
    (True, False)
    """
    return claim in text and (
        claim in sentences(text)
        or any(claim in sentences(line) for line in text.split("\n") if claim in line)
    )


@lru_cache(maxsize=4_096)
def stems(text: str) -> frozenset[str]:
    """Return the stems of a text's content words without accents."""
    return frozenset(plain(word) for word in content_stems(text))


def roots(wanted: Iterable[str]) -> list[str]:
    """Return the part of each stem that every word with this stem contains."""
    return list(map(root_of, wanted))


@lru_cache(maxsize=MAX_TEXTS)
def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text; none goes beyond an empty line."""
    return tuple(
        paragraph[start:end]
        for paragraph in text.split(_PARAGRAPH_END)
        for start, end in sentence_spans(paragraph)
    )


@lru_cache(maxsize=MAX_TEXTS)
def sentence_parts(text: str) -> tuple[str, ...]:
    """Return the sentences of a text, divided at semicolons, colons and ends of lines.

    >>> sentence_parts("It closed: nobody came. Later it burned; it was not rebuilt.")
    ('It closed:', 'nobody came.', 'Later it burned;', 'it was not rebuilt.')
    """
    return tuple(part for sentence in sentences(text) for part in parts_of(sentence))


def parts_of(sentence: str) -> list[str]:
    """Return the parts of a sentence between semicolons, colons and ends of lines."""
    return _STATEMENT_END.split(sentence)


@lru_cache(maxsize=MAX_TEXTS)
def folded_sentences(text: str) -> Folded:
    """Return the `sentences` of a text without case and accents."""
    return Folded(sentences(text))


@lru_cache(maxsize=MAX_TEXTS)
def folded_parts(text: str) -> Folded:
    """Return the `sentence_parts` of a text without case and accents."""
    return Folded(sentence_parts(text))
