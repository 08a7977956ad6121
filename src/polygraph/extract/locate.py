"""Locate names in the chunks of a window."""

import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from itertools import chain, pairwise
from string import ascii_letters, digits

from polygraph.records import Span, Window
from polygraph.text.words import ascii_splitter, is_word_character

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
    r"""Finds names in one window.

    A name matches where its words occur in sequence, in any case, with the same punctuation and any white space between
    them, including line breaks. Words are compared whole, so ``Ann`` does not match ``Annual``; a possessive ending
    on either side is ignored. Without a match, a leading determiner is dropped; without a match again, the code of a
    name that has one is used (`BR-0088` for `Report BR-0088`), else the name without what it adds in brackets, else the
    rarest capitalised word (a surname for a full name). Words are compared after NFKC and case folding.

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
        self._words = _PlainText(window.text) if _is_plain(window.text) else _WordIndex(window.text)

    def locate(self, name: str) -> tuple[Span, ...]:
        """Return the spans of a name in order, bounded as in `ChunkMap.spans`; empty if there is no match."""
        return self._map.spans(self._find(name))

    def _find(self, name: str) -> list[tuple[int, int]]:
        text = _without_possessive(name.strip())
        if _PLAIN_NAME.fullmatch(text):
            words = text.split(" ")
            gaps = [""] * (len(words) - 1)
        else:
            spans = _word_spans(text)
            words = [text[start:end] for start, end in spans]
            gaps = [_gap(text[a:b]) for (_, a), (b, _) in pairwise(spans)]
        if not words:
            return []
        keys = [_fold(word) for word in words]
        found = self._words.find(keys, gaps)
        if not found and len(keys) > 1:
            if keys[0] in DETERMINERS:
                found = self._words.find(keys[1:], gaps[1:])
            if not found:
                # The other words of such a name are those of its kind, which others bear too.
                code = _code(text)
                if code not in ("", text):
                    return self._find(code)
                found = self._find(_without_brackets(text)) if text.endswith(")") else []
            if not found:
                found = self._by_rarest(words)
        return found

    def _by_rarest(self, words: list[str]) -> list[tuple[int, int]]:
        """Return the spans of the capitalised word with the fewest capitalised occurrences; the last of equals."""
        best: list[tuple[int, int]] = []
        for word in words:
            if len(word) < 3 or not word[0].isupper():
                continue
            spans = [s for s in self._words.find([_fold(word)], []) if self._text[s[0]].isupper()]
            if spans and (not best or len(spans) <= len(best)):
                best = spans
        return best


class _WordIndex:
    """The words of any text, found once for all names."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        return _word_spans(self._text)

    @cached_property
    def _folded(self) -> list[str]:
        return _folded([self._text[start:end] for start, end in self._spans])

    @cached_property
    def _indices(self) -> Mapping[str, list[int]]:
        indices: defaultdict[str, list[int]] = defaultdict(list)
        for i, word in enumerate(self._folded):
            indices[word].append(i)
        return indices

    def find(self, keys: Sequence[str], gaps: Sequence[str]) -> list[tuple[int, int]]:
        """Return the spans where words occur in sequence with what stands between them, in order."""
        # Start from the rarest word, so that the cost does not depend on common words.
        rarest = min(range(len(keys)), key=lambda i: len(self._indices.get(keys[i], ())))
        n, text, found = len(keys), self._text, []
        for index in self._indices.get(keys[rarest], ()):
            first = index - rarest
            if first < 0 or self._folded[first : first + n] != keys:
                continue
            spans = self._spans[first : first + n]
            if all(_gap(text[spans[i][1] : spans[i + 1][0]]) == gaps[i] for i in range(n - 1)):
                found.append((spans[0][0], spans[-1][1]))
        return found


class _PlainText:
    """A text whose words can be looked for without finding all of them first (see `_is_plain`)."""

    def __init__(self, text: str) -> None:
        self._text, self._lower = text, text.lower()

    @cached_property
    def _one_line(self) -> "_OneLine":
        return _OneLine(self._text, self._lower)

    def find(self, keys: Sequence[str], gaps: Sequence[str]) -> list[tuple[int, int]]:
        """Return the spans where words occur in sequence with what stands between them, in order."""
        # Folding a name may give what is no word, such as a fraction.
        if not all(_PLAIN_WORD.fullmatch(key) for key in keys) or not all(key in self._lower for key in keys):
            return []
        if len(keys) == 1:
            return _whole_words(keys[0], self._lower)
        if not any(gaps):
            return self._one_line.find(" ".join(keys))
        found = []
        for start, at in _whole_words(keys[0], self._lower):
            end = at
            for key, gap in zip(keys[1:], gaps, strict=True):
                word = _PLAIN_WORD.search(self._lower, end)
                if word is None or word[0] != key or _gap(self._text[end : word.start()]) != gap:
                    break
                end = word.end()
            else:
                found.append((start, end))
        return found


class _OneLine:
    """A text with one space for each run of white space.

    Args:
        text: as written.
        lower: in lower case, of the same length.
    """

    def __init__(self, text: str, lower: str) -> None:
        pieces = list[str]()
        self._begins, self._origins = [0], [0]
        """Where each piece of the text without longer white space begins, here and in the text as it was."""
        for white in _LONG_SPACE.finditer(text):
            pieces.append(lower[self._origins[-1] : white.start()])
            self._begins.append(self._begins[-1] + len(pieces[-1]) + 1)
            self._origins.append(white.end())
        self._text = " ".join([*pieces, lower[self._origins[-1] :]])

    def find(self, words: str) -> list[tuple[int, int]]:
        """Return the spans in the text as it was where words occur, given with one space between them, in order."""
        return [self._origin(start, end) for start, end in _whole_words(words, self._text)]

    def _origin(self, start: int, end: int) -> tuple[int, int]:
        """Return where the characters ``start .. end - 1`` stand in the text as it was."""
        first = bisect_right(self._begins, start) - 1
        last = bisect_right(self._begins, end - 1, first) - 1
        begins, origins = self._begins, self._origins
        return origins[first] + start - begins[first], origins[last] + end - begins[last]


def _whole_words(wanted: str, text: str) -> list[tuple[int, int]]:
    """Return the spans of some words in a text that are not part of longer words, in order."""
    found, at = [], text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not ((at and is_word_character(text[at - 1])) or is_word_character(text[end : end + 1])):
            found.append((at, end))
        at = text.find(wanted, at + 1)
    return found


_PLAIN_NAME = re.compile(r"\w+(?: \w+)*", re.ASCII)
_CODE = re.compile(
    r"\b(?<![-/.])(?:[A-Z]+\d\w*|(?:[A-Z]+|[A-Z]*\d+[A-Z]*)(?:[-/.](?:[A-Z]+|[A-Z]*\d+[A-Z]*))+)\b(?![-/.]\w)"
)
"""Capitals followed by digits, or several parts of capitals and digits."""
_YEARS = re.compile(r"[12]\d{3}[-/][12]\d{3}")
_DIGIT = re.compile(r"\d")
_LONG_SPACE = re.compile(r"\s(?:(?<=[^\S ])\s*|\s+)")
"""White space other than one space; a pattern that begins with one character is looked for much faster."""
_PLAIN_WORD = re.compile(r"\w+")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def _is_plain(text: str) -> bool:
    """Return whether the words of a text are runs of letters, digits and underscores, and fold to their lower case."""
    return text.isascii() or _plain_characters().issuperset(_NOT_ASCII.findall(text))


@cache
def _plain_characters() -> frozenset[str]:
    """Return the characters outside of ASCII that a plain text may have, from the alphabets and marks of Europe."""
    of_others = re.compile(f"[{_UNSPACED}{_COMBINING}]")
    blocks = (range(0x80, 0x300), range(0x400, 0x530), range(0x2000, 0x2300))
    return frozenset(
        c
        for c in map(chr, chain.from_iterable(blocks))
        if not of_others.match(c)
        and c.lower() == (_fold(c) if is_word_character(c) else c)
        and len(c.lower()) == 1
    )


@cache
def _word() -> re.Pattern[str]:
    """Return the pattern of a word, which takes 40 ms to compile and three times as long to find."""
    return re.compile(rf"(?:[^\W{_UNSPACED}]++|[{_COMBINING}]++)++|[{_UNSPACED}]")


def _word_spans(text: str) -> list[tuple[int, int]]:
    pattern = _ASCII_WORD if text.isascii() else _word()
    return [match.span() for match in pattern.finditer(text)]


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


def _code(name: str) -> str:
    """Return the last part of a name without white space that tells it apart by digits; empty if there is none.

    A number alone is none: it may be a year or an amount. Nor are two years, between which somebody lived.

    >>> [_code(name) for name in ("Participant 07-004", "Report BR-2022-0088 (final)", "Tank T34", "Part A1.B2")]
    ['07-004', 'BR-2022-0088', 'T34', 'A1.B2']
    >>> [_code(name) for name in ("Games of 1972", "2nd Battalion", "19th-century School", "Ada Lind (1840-1902)")]
    ['', '', '', '']
    """
    parts = [part[0] for part in _CODE.finditer(name)]
    return next((part for part in reversed(parts) if _DIGIT.search(part) and not _YEARS.fullmatch(part)), "")


def _without_brackets(name: str) -> str:
    """Return a name without the brackets at its end.

    >>> _without_brackets("Ruth Vane (pilot) (1890-1950)"), _without_brackets("f(x)")
    ('Ruth Vane', 'f')
    """
    # One pass from the end: an imported name may have thousands, each behind as many spaces.
    while name.endswith(")"):
        name = name[: max(name.rfind("("), 0)].rstrip()
    return name


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
