"""Names found by their capitals and dates found by their form, without a model, in any language with capitals."""

import re
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from polygraph.extract.lexicon import ABBREVIATIONS, MONTHS
from polygraph.text.language import FUNCTION_WORDS

_MONTH = "|".join((*(m.capitalize() for m in MONTHS), *(m[:3].capitalize() for m in MONTHS)))
_DATE = re.compile(
    r"(?=[\dJFMASOND])\b"  # which is cheaper than to try each form
    rf"(?:\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?(?:{_MONTH})\.?(?:,?\s\d{{4}})?"
    rf"|(?:{_MONTH})\.?\s\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s\d{{4}})?"
    rf"|(?:{_MONTH})\.?,?\s\d{{4}}"
    r"|\d{4}-\d{2}-\d{2}"
    r"|(?:1[0-9]|20)\d{2}s?)\b(?![-/.]?\d)"
)
_DIGIT = re.compile(r"\d")
_YEAR_OR_MONTH = re.compile(rf"\d\d\d\d|{'|'.join(dict.fromkeys(m[:3].capitalize() for m in MONTHS))}")
"""A date has four digits, or a digit and the beginning of a month."""
# Every separator must be followed by a word character, which bounds backtracking.
_TOKEN = re.compile(r"\w+(?:[’'&./-]\w+)*")
_ASCII_CAPITAL = re.compile(r"[A-Z](?<!\w[A-Z])(?<!\w['&./-][A-Z])\w*(?:['&./-]\w+)*", re.ASCII)
"""A token of a text in ASCII that begins with a capital: most tokens do not, and are never looked at."""
_PARTICLES = "of de del della di da do dos du des van von der den la le les el al bin ibn ben & the"
_CONNECTORS = frozenset(_PARTICLES.split())
_FIRST_CONNECTORS = _CONNECTORS - {"the"}
_MAX_WORDS = 8
_NOUN_CAPITALS = frozenset(["de", "lb"])
"""Languages that write every noun with a capital, so that a capital alone marks no name."""
_DETERMINERS = """
der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner im am zum zur beim vom ins
ans aufs mein dein sein ihr unser euer meine deine seine ihre unsere eure seinen ihren unseren seiner ihrer unserer
dieser diese dieses diesen diesem jeder jede jedes jeden jedem alle allen viele vielen mehr pro je welche welcher
welches welchen manche einige beide beiden
"""
_BEFORE_NOUNS = frozenset(_DETERMINERS.split())
_ADJECTIVE_ENDINGS = (
    "ige",
    "igen",
    "iger",
    "iges",
    "igem",
    "liche",
    "lichen",
    "licher",
    "liches",
    "lichem",
    "ische",
    "ischen",
)
_BEFORE_CAPITALS = frozenset(':;"“«(—–')
"""Behind these a capital may begin a clause or the value of a field, as at the start of a sentence."""
_BEFORE_PLACES = frozenset(["in", "aus", "nach", "von", "bei", "über", "bis"])


@dataclass(frozen=True, slots=True)
class CapitalizedSpan:
    """A span of a text that looks like a name or a date."""

    start: int
    end: int
    date: bool = False
    doubtful: bool = False
    """True for one word at the start of a sentence, which is capitalised in any case."""


_BEFORE_DATE = re.compile(r"\s?(?:[,:]|(?<!\d)\s[–—-])\s+$")
"""Before a date that a title ends with, beside the name in it; a number before a dash begins a period."""


def dates(text: str) -> list[tuple[int, int]]:
    """Return the spans of calendar dates, months with a year, years from 1000 to 2099 and decades, in order.

    >>> text = "born 6 July 1875, moved in 1901 (or the 1890s), room 12345"
    >>> [text[a:b] for a, b in dates(text)]
    ['6 July 1875', '1901', '1890s']
    """
    if not (_DIGIT.search(text) and _YEAR_OR_MONTH.search(text)):
        return []
    return [match.span() for match in _DATE.finditer(text)]


def name_in_title(title: str) -> str:
    """Return the part of a document title that its text may use as a name, or an empty string.

    >>> name_in_title("Payment on Demand (film)"), name_in_title("minutes-1871.md"), name_in_title("I")
    ('Payment on Demand', '', '')
    >>> name_in_title("Harbour Board, 14 May 1871"), name_in_title("The War of 1812")
    ('Harbour Board', 'The War of 1812')
    >>> name_in_title("Ada Voss, 1931-2019"), name_in_title("ISO 9001:2015")
    ('Ada Voss, 1931-2019', 'ISO 9001:2015')
    """
    name = title.split("(", 1)[0].strip()
    start, end = next(reversed(dates(name)), (0, 0))
    if end == len(name) and (gap := _BEFORE_DATE.search(name, 0, start)):
        name = name[: gap.start()]
    if not 3 <= len(name) <= 80 or not name[0].isupper() or "\n" in name:
        return ""
    return name


def occurrences(name: str, text: str) -> list[tuple[int, int]]:
    """Return the spans where a name occurs in a text as whole words, case-sensitive, in order."""
    found, at = [], text.find(name) if name else -1
    while at >= 0:
        end = at + len(name)
        if not (at and text[at - 1].isalnum()) and not text[end : end + 1].isalnum():
            found.append((at, end))
        at = text.find(name, end)
    return found


def capitalized_spans(text: str, *, language: str = "en") -> list[CapitalizedSpan]:
    """Find runs of capitalised words and dates in one sentence, in order of their position.

    A run continues across white space, initials and abbreviations (``J. R. Vane``, ``Mr. Fezziwig``), and
    particles between two capitalised words (``Bank of Norway``, ``Ludwig van Beethoven``). A function word at the
    start of the sentence, or behind a colon or an opening quotation mark, is not a name.

    >>> text = "The tug of Mr. J. Vane met the Royal Society of Arts on 3 May 1871."
    >>> [text[s.start:s.end] for s in capitalized_spans(text)]
    ['Mr. J. Vane', 'Royal Society of Arts', '3 May 1871']
    >>> text = "remarks: Not to be sold, says Vane"
    >>> [text[s.start:s.end] for s in capitalized_spans(text)]
    ['Vane']
    """
    taken = dates(text)
    stop = _stop_words(language)
    found = [CapitalizedSpan(a, b, date=True) for a, b in taken]
    by_noun = language in _NOUN_CAPITALS
    names = _names_among_nouns(text) if by_noun else frozenset()
    seen = done = 0
    first = True
    for begin, end in _capitals(text):
        if begin < done:
            continue  # in the name before
        if first:
            first = not any(text[at.start()].isalpha() for at in _TOKEN.finditer(text, seen, begin))
        seen = begin
        if taken and any(a <= begin < b for a, b in taken):
            continue
        word = text[begin:end]
        begins = first or text[:begin].rstrip(" ")[-1:] in _BEFORE_CAPITALS
        if (begins or by_noun or len(word) == 1) and word.lower() in stop:
            first = False
            continue
        last = _end_of_run(text, begin, end, taken)
        if by_noun:
            last = _end_before(text, begin, last, stop)
        is_single = last == end
        is_noun = by_noun and is_single and word not in names and not _has_inner_capital(word)
        if last - begin > 1 and not is_noun:
            doubtful = first and is_single and not _has_inner_capital(word)
            found.append(CapitalizedSpan(begin, last, doubtful=doubtful))
        first, done = False, last
    found.sort(key=lambda span: (span.start, span.end))
    return found


def _capitals(text: str) -> list[tuple[int, int]]:
    """Return the spans of the tokens that begin with a capital, in order."""
    if text.isascii():
        return [match.span() for match in _ASCII_CAPITAL.finditer(text)]
    spans = (match.span() for match in _TOKEN.finditer(text))
    return [span for span in spans if text[span[0]].isupper()]


@cache
def _stop_words(language: str) -> frozenset[str]:
    return FUNCTION_WORDS.get(language, frozenset()) | FUNCTION_WORDS["en"]


def _names_among_nouns(text: str) -> frozenset[str]:
    """Return the single words that stand like names: after a preposition of place, and never after an article.

    >>> text = "Wir fahren in Bremen zu dem Hafen und in Kisten aus dem Lager nach Leeds."
    >>> sorted(_names_among_nouns(text))
    ['Bremen', 'Kisten', 'Leeds']
    """
    like_names: set[str] = set()
    like_nouns: set[str] = set()
    for (a, b), (c, d) in pairwise(match.span() for match in _TOKEN.finditer(text)):
        if not text[c].isupper():
            continue
        before = text[a:b]
        if before in _BEFORE_PLACES:
            like_names.add(text[c:d])
        elif before.lower() in _BEFORE_NOUNS or (before.islower() and before.endswith(_ADJECTIVE_ENDINGS)):
            like_nouns.add(text[c:d])
    return frozenset(like_names - like_nouns)


def _end_of_run(text: str, begin: int, end: int, taken: list[tuple[int, int]]) -> int:
    """Return the end of the name whose first token has a span."""
    last, n_since = end, 0
    """End of the last token with a capital, and the tokens after it."""
    left = (begin, end)
    for _ in range(_MAX_WORDS - 1):
        match = _TOKEN.search(text, left[1])
        if match is None or not _in_one_name(text, left, right := match.span()):
            break
        if taken and any(a <= right[0] < b for a, b in taken):
            break
        if text[right[0]].isupper():
            last, n_since = right[1], 0
        elif match.group() not in (_CONNECTORS if n_since else _FIRST_CONNECTORS) or n_since == 2:
            break
        else:
            n_since += 1
        left = right
    return last


def _end_before(text: str, begin: int, end: int, stop: frozenset[str]) -> int:
    """Return the end of the last token of a name before the first that is a function word and no connector."""
    last = begin
    for match in _TOKEN.finditer(text, begin, end):
        if match.group().lower() in stop - _CONNECTORS:
            return last
        last = match.end()
    return end


def _in_one_name(text: str, left: tuple[int, int], right: tuple[int, int]) -> bool:
    """Return whether the characters between two tokens may occur inside a name."""
    gap = text[left[1] : right[0]]
    if gap == " ":
        return True
    if gap.isspace() or gap.strip() == "&":
        return len(gap) <= 3
    word = text[left[0] : left[1]]
    initial = len(word) == 1 or word.lower() in ABBREVIATIONS or (len(word) == 3 and word[1] == ".")
    return gap in (". ", ".") and initial and word[0].isupper()


def _has_inner_capital(word: str) -> bool:
    """Return whether a word has a capital or digit after its first letter (``McKay``, ``NASA``, ``B12``)."""
    return any(c.isupper() or c.isdigit() for c in word[1:])
