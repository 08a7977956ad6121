"""Which chunk of a window supports a statement that a model made about it."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import lcm

from polygraph.records import Span, Window
from polygraph.text.sentences import sentence_spans
from polygraph.text.words import content_stem_set

_CLAUSE_END = re.compile(r"(?<=;)\s+")


@dataclass(slots=True)
class _Statement:
    text: str
    stems: frozenset[str]
    scores: int
    """Scores of all chunks, see `ChunkSupport`."""


class ChunkSupport:
    """Finds the chunk of a window that supports a statement.

    That is the chunk with most of its words, each divided by the number of chunks of the window that have it, since a
    word of all chunks tells nothing. Of equals: one of those preferred, then the first.

    The scores of all chunks are the digits of one number, the first chunk's the lowest, so that words are added up for
    all chunks at once. Digits are whole numbers, so that sums are exact in any order.
    """

    def __init__(self, window: Window) -> None:
        self._window = window
        self._chunks = {chunk.id: chunk for chunk in window.chunks}
        self._ids = list(self._chunks)
        self._statements: dict[str, list[_Statement]] = {}
        """Those of each text; a sentence often describes several names."""
        self._winners: dict[int, list[str]] = {}
        """The chunks with the best of some scores."""

    @cached_property
    def _scores(self) -> Mapping[str, int]:
        """What each word adds to the scores; nothing for a word of no chunk."""
        words = [content_stem_set(chunk.text) for chunk in self._chunks.values()]
        n_chunks = Counter(chain.from_iterable(words))
        whole = lcm(*range(1, len(self._chunks) + 1))
        self._base = whole * max(map(len, words)) + 1
        scores: defaultdict[str, int] = defaultdict(int)
        for n, some in enumerate(words):
            of_all = whole * self._base**n
            shares = [0, *(of_all // k for k in range(1, len(words) + 1))]
            for word in some:
                scores[word] += shares[n_chunks[word]]
        return scores

    def whole(self, chunk: str) -> Span:
        """Return the span of a whole chunk."""
        found = self._chunks[chunk]
        return Span(self._window.document, chunk, found.start, found.end)

    def assign(self, text: str, names: frozenset[str], preferred: Sequence[str]) -> dict[str, str]:
        """Assign the statements of a text to chunks; return the statements of each chunk, in the order of the text.

        Args:
            text: statements, each a sentence or what stands between semicolons.
            names: stems of what the text is about; they count where no other word decides.
            preferred: chunks that win ties, such as those with the names.
        """
        if len(self._ids) == 1:
            return {self._ids[0]: text}
        parts: dict[str, list[str]] = {}
        last = ""
        for statement in self._statements_of(text):
            scores = statement.scores
            if shared := statement.stems & names:
                scores -= self._score(shared)
            chunk = (
                (self._best(scores, preferred) if scores else "")
                or last
                or next(iter(preferred), "")
                or self._best(self._score(names), preferred)
            )
            last = chunk
            parts.setdefault(chunk, []).append(statement.text)
        if len(parts) == 1:
            return dict.fromkeys(parts, text)
        return {chunk: " ".join(some) for chunk, some in parts.items()}

    def _statements_of(self, text: str) -> list[_Statement]:
        found = self._statements.get(text)
        if found is None:
            found = self._statements[text] = []
            for statement in _split(text):
                stems = content_stem_set(statement)
                found.append(_Statement(statement, stems, self._score(stems)))
        return found

    def _score(self, stems: frozenset[str]) -> int:
        return sum(map(self._scores.__getitem__, stems))

    def _best(self, scores: int, preferred: Sequence[str]) -> str:
        """Return the chunk with the best score."""
        equals = self._winners.get(scores)
        if equals is None:
            digits, rest = list[int](), scores
            for _ in self._ids:
                rest, digit = divmod(rest, self._base)
                digits.append(digit)
            best = max(digits)
            equals = [i for i, digit in zip(self._ids, digits, strict=True) if digit == best]
            self._winners[scores] = equals
        if len(equals) == 1:
            return equals[0]
        return next((i for i in equals if i in preferred), equals[0])


def _split(text: str) -> list[str]:
    """Return the sentences of a text, cut at semicolons too; the whole text if it has none."""
    sentences = [text[start:end].strip() for start, end in sentence_spans(text)]
    if ";" in text:
        sentences = [part for sentence in sentences for part in _CLAUSE_END.split(sentence) if part]
    return sentences or [text]
