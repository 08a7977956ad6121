"""Names by their capitals, and dates by their shape: needs no model and no particular language."""

import re
from dataclasses import dataclass

from polygraph.extract.lexicon import ABBREVIATIONS, MONTHS
from polygraph.text.language import FUNCTION_WORDS

_MONTH = "|".join((*(m.capitalize() for m in MONTHS), *(m[:3].capitalize() for m in MONTHS)))
_DATE = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?(?:{_MONTH})\.?(?:,?\s\d{{4}})?"
    rf"|(?:{_MONTH})\.?\s\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s\d{{4}})?"
    rf"|(?:{_MONTH})\.?,?\s\d{{4}}"
    r"|\d{4}-\d{2}-\d{2}"
    r"|(?:1[0-9]|20)\d{2}s?)\b(?![-/.]?\d)"
)
# Every separator must be followed by a word character, so the pattern cannot backtrack far.
_TOKEN = re.compile(r"\w+(?:[’'&./-]\w+)*")
_LINKS = "of de del della di da do dos du des van von der den la le les el al bin ibn ben & the"
_CONNECTORS = frozenset(_LINKS.split())
_FIRST_OF_LINK = _CONNECTORS - {"the"}
_MAX_WORDS = 8


@dataclass(frozen=True, slots=True)
class Capitalised:
    """A span of a text that looks like a name or a date."""

    start: int
    end: int
    date: bool = False
    doubtful: bool = False
    """One word that begins a sentence: it may have its capital from there."""


def dates(text: str) -> list[tuple[int, int]]:
    """Find calendar dates, months with a year, years from 1000 to 2099 and decades, in order.

    >>> text = "born 6 July 1875, moved in 1901 (or the 1890s), room 12345"
    >>> [text[a:b] for a, b in dates(text)]
    ['6 July 1875', '1901', '1890s']
    """
    return [match.span() for match in _DATE.finditer(text)]


def name_in(title: str) -> str:
    """The part of a document's title that its text may use as a name; empty if it looks like none.

    >>> name_in("Payment on Demand (film)"), name_in("minutes-1871.md"), name_in("I")
    ('Payment on Demand', '', '')
    """
    name = title.split("(", 1)[0].strip()
    if not 3 <= len(name) <= 80 or not name[0].isupper() or "\n" in name:
        return ""
    return name


def places_of(name: str, text: str) -> list[tuple[int, int]]:
    """Where a name stands in a text as whole words, letter for letter."""
    found, at = [], text.find(name) if name else -1
    while at >= 0:
        end = at + len(name)
        if not (at and text[at - 1].isalnum()) and not text[end : end + 1].isalnum():
            found.append((at, end))
        at = text.find(name, end)
    return found


def capitalised_spans(text: str, *, language: str = "en") -> list[Capitalised]:
    """Find runs of capitalised words in one sentence, and dates, in order of their place.

    Words are joined across white space, initials and abbreviations (``J. R. Vane``, ``Mr. Fezziwig``), and
    particles between two capitals (``Bank of Norway``, ``Ludwig van Beethoven``). A function word at the
    beginning of the sentence is not taken for a name.

    >>> text = "The tug of Mr. J. Vane met the Royal Society of Arts on 3 May 1871."
    >>> [text[s.start:s.end] for s in capitalised_spans(text)]
    ['Mr. J. Vane', 'Royal Society of Arts', '3 May 1871']
    """
    taken = dates(text)
    tokens = [m.span() for m in _TOKEN.finditer(text)]
    stop = FUNCTION_WORDS.get(language, frozenset()) | FUNCTION_WORDS["en"]
    found = [Capitalised(a, b, date=True) for a, b in taken]
    i, first = 0, True
    while i < len(tokens):
        begin, end = tokens[i]
        if not text[begin].isupper() or any(a <= begin < b for a, b in taken):
            first = first and not text[begin].isalpha()
            i += 1
            continue
        word = text[begin:end]
        if (first or len(word) == 1) and word.lower() in stop:
            first, i = False, i + 1
            continue
        last = _run(text, tokens, i, taken)
        begin, end = tokens[i][0], tokens[last][1]
        if end - begin > 1:
            found.append(Capitalised(begin, end, doubtful=first and last == i and not _mixed(word)))
        first, i = False, last + 1
    found.sort(key=lambda span: (span.start, span.end))
    return found


def _run(text: str, tokens: list[tuple[int, int]], i: int, taken: list[tuple[int, int]]) -> int:
    """Index of the last token of the name that begins at token `i`."""
    last, j = i, i + 1
    while j < len(tokens) and j - i < _MAX_WORDS and _joined(text, tokens[j - 1], tokens[j]):
        begin, end = tokens[j]
        if any(a <= begin < b for a, b in taken):
            break
        if text[begin].isupper():
            last = j
        elif text[begin:end] not in (_FIRST_OF_LINK if last == j - 1 else _CONNECTORS) or j - last > 2:
            break
        j += 1
    return last


def _joined(text: str, left: tuple[int, int], right: tuple[int, int]) -> bool:
    """Whether only what may stand inside a name parts two tokens."""
    gap = text[left[1] : right[0]]
    if gap.isspace() or gap.strip() == "&":
        return len(gap) <= 3
    word = text[left[0] : left[1]]
    initial = len(word) == 1 or word.lower() in ABBREVIATIONS or (len(word) == 3 and word[1] == ".")
    return gap in (". ", ".") and initial and word[0].isupper()


def _mixed(word: str) -> bool:
    """Capitals or digits inside a word (``McKay``, ``NASA``, ``B12``) do not come from the sentence."""
    return any(c.isupper() or c.isdigit() for c in word[1:])
