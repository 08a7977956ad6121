"""Where a name stands in the chunks of its window."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise

from polygraph.records import Span, Window

MAX_SPANS = 20
"""Spans kept per name, before one more for each chunk that would otherwise go without."""

# Scripts that do not part words with spaces: every character counts as a word of its own.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)  # Vowel signs and accents that Python's \w leaves out belong to their word.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0dff"
_WORD = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[\w{_MARKS}])+")
_POINTING = "the a an this that these those his her its their our my your"
_DETERMINERS = frozenset(_POINTING.split())
_APOSTROPHES = str.maketrans("’‘ʼ`", "''''")


class ChunkMap:
    """Turns places in a window's text into spans of the document."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._starts = [chunk.start for chunk in window.chunks]
        self._overlapping = any(a.end > b.start for a, b in pairwise(window.chunks))

    def spans(self, places: Iterable[tuple[int, int]]) -> tuple[Span, ...]:
        """Return bounded spans for places that are in order.

        At most `MAX_SPANS` first places, and beyond them the first place in each further chunk.
        """
        window, seen = self._window, set[str]()
        found: list[Span] = []
        for begin, end in places:
            for chunk in self.chunks_at(begin):
                if len(found) < MAX_SPANS or chunk not in seen:
                    seen.add(chunk)
                    found.append(Span(window.document, chunk, window.start + begin, window.start + end))
        return tuple(found)

    def chunks_at(self, place: int) -> list[str]:
        """Ids of the chunks that hold a place: one, or several where chunks overlap."""
        chunks, position = self._window.chunks, self._window.start + place
        last = max(0, bisect_right(self._starts, position) - 1)
        if not self._overlapping:
            return [chunks[last].id]
        return [c.id for c in chunks[: last + 1] if c.start <= position < c.end] or [chunks[last].id]


class Locator:
    """Finds names in one window; the text is split in words once, whatever the number of names.

    A name stands where its words stand in a row, whatever their case, with the same punctuation between
    them and any white space, line breaks included. Words are compared whole, so ``Ann`` is not found in
    ``Annual``; a possessive on either side does not matter. If the name does not stand there, a leading
    determiner is dropped; if that does not help either, its rarest capitalised word is looked for (a
    surname for a full name). Case folding and Unicode NFKC apply to every word.
    """

    def __init__(self, window: Window) -> None:
        self._text = window.text
        self._map = ChunkMap(window)
        self._words: list[str] = []
        self._spans: list[tuple[int, int]] = []
        self._places: dict[str, list[int]] = {}
        for i, match in enumerate(_WORD.finditer(window.text)):
            word = _fold(match.group())
            self._words.append(word)
            self._spans.append(match.span())
            self._places.setdefault(word, []).append(i)

    def locate(self, name: str) -> tuple[Span, ...]:
        """Return where the name stands, in order of the document; empty if it does not stand there.

        The number of spans is bounded as in `ChunkMap.spans`.
        """
        return self._map.spans(self._find(name))

    def _find(self, name: str) -> list[tuple[int, int]]:
        text = _possessive_off(name.strip())
        words = [(m.group(), m.start(), m.end()) for m in _WORD.finditer(text)]
        if not words:
            return []
        keys = [_fold(w) for w, _, _ in words]
        gaps = [_gap(text[a:b]) for (_, _, a), (_, b, _) in pairwise(words)]
        found = self._match(keys, gaps)
        if not found and len(keys) > 1 and keys[0] in _DETERMINERS:
            found = self._match(keys[1:], gaps[1:])
        if not found:
            found = self._by_rarest([w for w, _, _ in words])
        return found

    def _match(self, keys: list[str], gaps: list[str]) -> list[tuple[int, int]]:
        # The rarest word leads, so that a name with a common word costs no more than its rare one.
        rarest = min(range(len(keys)), key=lambda i: len(self._places.get(keys[i], ())))
        n, text, found = len(keys), self._text, []
        for place in self._places.get(keys[rarest], ()):
            first = place - rarest
            if first < 0 or self._words[first : first + n] != keys:
                continue
            spans = self._spans[first : first + n]
            if all(_gap(text[spans[i][1] : spans[i + 1][0]]) == gaps[i] for i in range(n - 1)):
                found.append((spans[0][0], spans[-1][1]))
        return found

    def _by_rarest(self, words: list[str]) -> list[tuple[int, int]]:
        """Places of the capitalised word with the fewest capitalised places; the last such word wins."""
        best: list[tuple[int, int]] = []
        for word in words:
            if len(word) < 3 or not word[0].isupper():
                continue
            spans = [self._spans[i] for i in self._places.get(_fold(word), ())]
            spans = [s for s in spans if self._text[s[0]].isupper()]
            if spans and (not best or len(spans) <= len(best)):
                best = spans
        return best


def locate(name: str, window: Window) -> tuple[Span, ...]:
    r"""Return where one name stands in a window; see `Locator`.

    When nothing is found the caller attaches the window's first chunk instead.

    >>> from polygraph.records import Chunk
    >>> text = "Old Anna\nQuill sailed. Quill's ship sank."
    >>> chunk = Chunk(id="d:0", document="d", ordinal=0, start=0, end=len(text), text=text, n_tokens=9)
    >>> window = Window(id="d@0", document="d", ordinal=0, title="", chunks=(chunk,), text=text)
    >>> [(s.start, s.end) for s in locate("anna quill", window)]
    [(4, 14)]
    >>> [(s.start, s.end) for s in locate("Thomas Quill", window)]
    [(9, 14), (23, 28)]
    """
    return Locator(window).locate(name)


def locate_all(names: Iterable[str], window: Window) -> tuple[tuple[Span, ...], ...]:
    """Return where each name stands, in the order of the names; the text is read once."""
    locator = Locator(window)
    return tuple(locator.locate(name) for name in names)


def _fold(word: str) -> str:
    return word.casefold() if word.isascii() else unicodedata.normalize("NFKC", word).casefold()


def _gap(text: str) -> str:
    """What stands between two words, without white space."""
    return "" if text.isspace() else "".join(text.translate(_APOSTROPHES).split())


def _possessive_off(name: str) -> str:
    folded = name.translate(_APOSTROPHES)
    if folded.endswith(("'s", "'S")):
        return name[:-2]
    return name[:-1] if folded.endswith("'") else name
