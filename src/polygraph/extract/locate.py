"""Locate names in the chunks of a window."""

import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from itertools import pairwise
from string import ascii_letters, digits

from polygraph.records import Span, Window
from polygraph.text.words import ascii_splitter

MAX_SPANS = 20
"""Spans kept per name, in addition to the first span in each further chunk."""

# Scripts without spaces between words: every character is a word.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
# Vowel signs and accents that Python's \w does not include.
_COMBINING = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0dff"
_ASCII_WORD = re.compile(r"\w+", re.ASCII)
"""A word of a text in ASCII."""
_split_ascii = ascii_splitter(ascii_letters + digits + "_")
"""Finds the same words, in a fraction of the time."""
_DETERMINER_WORDS = "the a an this that these those his her its their our my your"
DETERMINERS = frozenset(_DETERMINER_WORDS.split())
_APOSTROPHES = str.maketrans("’‘ʼ`", "''''")


class Words:
    """The words of a text, compared as `Locator` compares them.

    >>> words = Words("Threave & Lodd sold")
    >>> words.folded, words.gaps(0, 3)
    (['threave', 'lodd', 'sold'], ('&', ''))
    """

    # Words without their places, which take several times as long to find.
    def __init__(self, text: str) -> None:
        self._text = text
        self._written = _split_ascii(text) if text.isascii() else _word().findall(text)
        self.folded = _split_ascii(text.lower()) if text.isascii() else _folded(self._written)
        """For comparison."""

    def written(self, first: int, last: int) -> list[str]:
        """Return the words ``first .. last - 1`` as written."""
        return self._written[first:last]

    def gaps(self, first: int, last: int) -> tuple[str, ...]:
        """Return the characters between each two of the words ``first .. last - 1``, without white space."""
        return tuple(map(_gap, self._between[first + 1 : last]))

    @cached_property
    def _between(self) -> list[str]:
        """The characters before each word, and those behind the last."""
        return (_ASCII_WORD if self._text.isascii() else _word()).split(self._text)


class ChunkMap:
    """Maps spans in a window's text to spans of the document."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._ids = [chunk.id for chunk in window.chunks]
        self._starts = [chunk.start for chunk in window.chunks]
        self._overlapping = any(a.end > b.start for a, b in pairwise(window.chunks))

    def spans(self, found: Iterable[tuple[int, int]]) -> tuple[Span, ...]:
        """Map ordered spans to the document; keep the first `MAX_SPANS`, then the first in each further chunk."""
        document, start, seen = self._window.document, self._window.start, set[str]()
        spans: list[Span] = []
        for begin, end in found:
            for chunk in self.chunks_at(begin):
                if len(spans) < MAX_SPANS or chunk not in seen:
                    seen.add(chunk)
                    spans.append(Span(document, chunk, start + begin, start + end))
        return tuple(spans)

    def chunks_at(self, position: int) -> list[str]:
        """Return the ids of the chunks at a position in the window: one, or several where chunks overlap."""
        offset = self._starts[0] + position
        last = max(0, bisect_right(self._starts, offset) - 1)
        if not self._overlapping:
            return [self._ids[last]]
        chunks = self._window.chunks[: last + 1]
        return [c.id for c in chunks if c.start <= offset < c.end] or [self._ids[last]]


class Locator:
    r"""Finds names in one window; the words of the text are indexed once for all names.

    A name matches where its words occur in sequence, in any case, with the same punctuation and any white space between
    them, including line breaks. Words are compared whole, so ``Ann`` does not match ``Annual``; a possessive ending
    on either side is ignored. Without a match, a leading determiner is dropped; without a match again, the
    rarest capitalised word is used (a surname for a full name). Words are compared after NFKC and case folding.

    >>> from polygraph.records import Chunk
    >>> text = "Old Anna\nQuill sailed. Quill's ship sank."
    >>> chunk = Chunk(id="d:0", document="d", ordinal=0, start=0, end=len(text), text=text, n_tokens=9)
    >>> window = Window(id="d@0", document="d", ordinal=0, title="", chunks=(chunk,), text=text)
    >>> locator = Locator(window)
    >>> [(s.start, s.end) for s in locator.locate("anna quill")]
    [(4, 14)]
    >>> [(s.start, s.end) for s in locator.locate("Thomas Quill")]
    [(9, 14), (23, 28)]
    """

    def __init__(self, window: Window) -> None:
        self._text = window.text
        self._map = ChunkMap(window)
        self._plain = _PlainText(window.text) if window.text.isascii() else None

    # Most names of a text in ASCII are found without the index of its words.
    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        return _word_spans(self._text)

    @cached_property
    def _words(self) -> list[str]:
        return _folded_words(self._text, self._spans)

    @cached_property
    def _word_indices(self) -> Mapping[str, list[int]]:
        indices: defaultdict[str, list[int]] = defaultdict(list)
        for i, word in enumerate(self._words):
            indices[word].append(i)
        return indices

    def locate(self, name: str) -> tuple[Span, ...]:
        """Return the spans of a name in order, bounded as in `ChunkMap.spans`; empty if there is no match."""
        return self._map.spans(self._find(name))

    def _find(self, name: str) -> list[tuple[int, int]]:
        text = _without_possessive(name.strip())
        if self._plain is not None and _PLAIN_NAME.fullmatch(text) and (known := self._plain.find(text)):
            return known
        words = [(text[start:end], start, end) for start, end in _word_spans(text)]
        if not words:
            return []
        keys = [_fold(w) for w, _, _ in words]
        gaps = [_gap(text[a:b]) for (_, _, a), (_, b, _) in pairwise(words)]
        found = self._match(keys, gaps)
        if not found and len(keys) > 1 and keys[0] in DETERMINERS:
            found = self._match(keys[1:], gaps[1:])
        if not found:
            found = self._by_rarest([w for w, _, _ in words])
        return found

    def _match(self, keys: list[str], gaps: list[str]) -> list[tuple[int, int]]:
        # Start from the rarest word, so that the cost does not depend on common words.
        rarest = min(range(len(keys)), key=lambda i: len(self._word_indices.get(keys[i], ())))
        n, text, found = len(keys), self._text, []
        for index in self._word_indices.get(keys[rarest], ()):
            first = index - rarest
            if first < 0 or self._words[first : first + n] != keys:
                continue
            spans = self._spans[first : first + n]
            if all(_gap(text[spans[i][1] : spans[i + 1][0]]) == gaps[i] for i in range(n - 1)):
                found.append((spans[0][0], spans[-1][1]))
        return found

    def _by_rarest(self, words: list[str]) -> list[tuple[int, int]]:
        """Return the spans of the capitalised word with the fewest capitalised occurrences; the last of equals."""
        best: list[tuple[int, int]] = []
        for word in words:
            if len(word) < 3 or not word[0].isupper():
                continue
            spans = [self._spans[i] for i in self._word_indices.get(_fold(word), ())]
            spans = [s for s in spans if self._text[s[0]].isupper()]
            if spans and (not best or len(spans) <= len(best)):
                best = spans
        return best


class _PlainText:
    """A text in ASCII, in lower case and with one space for each run of white space."""

    def __init__(self, text: str) -> None:
        lower, pieces = text.lower(), list[str]()
        self._begins, self._origins = [0], [0]
        """Where each piece of the text without longer white space begins, here and in the text as it was."""
        for white in _LONG_SPACE.finditer(text):
            pieces.append(lower[self._origins[-1] : white.start()])
            self._begins.append(self._begins[-1] + len(pieces[-1]) + 1)
            self._origins.append(white.end())
        self._text = " ".join([*pieces, lower[self._origins[-1] :]])

    def find(self, name: str) -> list[tuple[int, int]]:
        """Return the spans where words occur in sequence, given with one space between them, in order."""
        name, text = name.lower(), self._text
        found, at = [], text.find(name)
        while at >= 0:
            end = at + len(name)
            if not ((at and _is_of_word(text[at - 1])) or _is_of_word(text[end : end + 1])):
                found.append(self._origin(at, end))
            at = text.find(name, at + 1)
        return found

    def _origin(self, start: int, end: int) -> tuple[int, int]:
        """Return where the characters ``start .. end - 1`` stand in the text as it was."""
        first = bisect_right(self._begins, start) - 1
        last = bisect_right(self._begins, end - 1, first) - 1
        begins, origins = self._begins, self._origins
        return origins[first] + start - begins[first], origins[last] + end - begins[last]


_PLAIN_NAME = re.compile(r"\w+(?: \w+)*", re.ASCII)
_LONG_SPACE = re.compile(r"\s(?:(?<=[^\S ])\s*|\s+)")
"""White space other than one space; a pattern that begins with one character is looked for much faster."""


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"


@cache
def _word() -> re.Pattern[str]:
    """Return the pattern of a word, which takes 40 ms to compile and three times as long to find."""
    return re.compile(rf"(?:[^\W{_UNSPACED}]++|[{_COMBINING}]++)++|[{_UNSPACED}]")


def _word_spans(text: str) -> list[tuple[int, int]]:
    pattern = _ASCII_WORD if text.isascii() else _word()
    return [match.span() for match in pattern.finditer(text)]


def _folded_words(text: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    if text.isascii():
        lower = text.lower()
        return [lower[start:end] for start, end in spans]
    return _folded([text[start:end] for start, end in spans])


def _folded(words: Sequence[str]) -> list[str]:
    # All in one pass: no word has a line break in it.
    text = "\n".join(words)
    folded = text.casefold().split("\n") if text else []
    # Most texts that are not in ASCII have words in ASCII between dashes and quotation marks.
    for n in () if text.isascii() else [n for n, word in enumerate(words) if not word.isascii()]:
        folded[n] = _fold(words[n])
    return folded


def _fold(word: str) -> str:
    return word.casefold() if word.isascii() else unicodedata.normalize("NFKC", word).casefold()


def _gap(text: str) -> str:
    """Return the characters between two words without white space."""
    return "" if text.isspace() else "".join(text.translate(_APOSTROPHES).split())


def _without_possessive(name: str) -> str:
    if name[-1:].isalnum() and name[-2:-1].isalnum():
        return name  # as nearly all are
    folded = name.translate(_APOSTROPHES)
    if folded.endswith(("'s", "'S")):
        return name[:-2]
    return name[:-1] if folded.endswith("'") else name
