"""What contradicts a claim in the text that it cites: names, numbers, units, negation and opposites.

The rules compare words; they know no grammar. They look only at what a text cannot leave out if it supports the claim.
Numbers are read more liberally than by `quantities`, which calculates with them: ordinals, counts in words, decimal
commas, parts of versions and dates, units of any kind. One number too many in the text cited does no harm here.
"""

import math
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from polygraph.text.language import detect_language
from polygraph.text.quantities import NUMBER_WORDS
from polygraph.text.words import content_stems, stem

_MIN_SHARED = 0.75
"""Share of a clause's content words that another must contain, so that the word that is negated is among them."""
_NEGATION_SCOPE = 4
"""Words after a negation that it is about."""
_SHORT_WORD = 4
"""Words of this length or more are equal if their first letters are: inflected and derived names."""
_WORD = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")
_WORD_START = r"(?<![^\W\d_])(?<![^\W\d_]['’\-])"
"""Where a match of `_WORD` may begin: not inside another one."""
_WORD_END = r"(?![^\W\d_])(?!['’\-][^\W\d_])"
_STARTS_WORD, _ENDS_WORD = re.compile(_WORD_START), re.compile(_WORD_END)
_DIGITS = re.compile(r"(?<![\w.,])[-+]?\d{1,3}(?:[,.\u00a0\u202f ]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)*")
_GROUPED = re.compile(r"\d{1,3}(?:[,.\u00a0\u202f ]\d{3})+")
_CLAUSE = re.compile(r"[.;:!?\n]+\s|,\s+(?:and|but|while|whereas|although|though|aber|und)\b|\bbut\b|, ")
_RANGE = r"\s?(?:[-–—]|to|and|or|bis|und|oder|et|à|y|a)\s?[$€£]?\d+(?:[.,]\d+)*\s?([^\W\d_]+)"
"""What follows a number that shares the scale of the next one, whose scale is the group."""
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\n\"“(*#-]\s*)$")
_COMPUTED = re.compile(
    r"\b(?:later|earlier|older|younger|after|before|difference|total|together|altogether|in all|sum|apart|"
    r"more|fewer|less|longer|shorter|between|combined|average|twice|double|half)\b",
    re.IGNORECASE,
)
_WORD_VALUES = {word: float(n) for word, n in NUMBER_WORDS.items()} | {
    "dozen": 12.0,
    "twice": 2.0,
    "thrice": 3.0,
}
_ORDINAL_WORDS = """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
    fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"""
_ORDINALS = {word: float(n) for n, word in enumerate(_ORDINAL_WORDS.split(), 1)}
_SCALES = {
    "hundred": 1e2, "thousand": 1e3, "million": 1e6, "millions": 1e6, "bn": 1e9, "billion": 1e9, "billions": 1e9,
    "trillion": 1e12, "mio": 1e6, "millionen": 1e6, "milliarden": 1e9,
}  # fmt: skip
_UNITS = {
    name: names.split()[0]
    for names in (
        "m metre metres meter meters", "km kilometre kilometres kilometer kilometers", "cm centimetre centimetres",
        "mm millimetre millimetres", "mile miles", "yard yards", "ft foot feet", "inch inches", "kg kilogram kilograms",
        "g gram grams", "mg milligram milligrams", "t tonne tonnes", "ton tons", "lb pound pounds £ gbp",
        "€ euro euros eur", "$ dollar dollars usd", "franc francs", "crown crowns", "s second seconds",
        "ms millisecond milliseconds", "min minute minutes", "h hour hours", "day days", "week weeks",
        "month months", "year years", "% percent percentage", "kb kilobyte kilobytes", "mb megabyte megabytes",
        "gb gigabyte gigabytes", "tb terabyte terabytes", "hz hertz", "khz kilohertz", "mhz megahertz",
        "ghz gigahertz", "w watt watts", "kw kilowatt kilowatts", "mw megawatt megawatts", "gw gigawatt gigawatts",
    )
    for name in names.split()
}  # fmt: skip
_AFTER_NUMBER = re.compile(r"[\s\u00a0-]{0,3}(per cent\b|%|€|\$|£|[^\W\d_]+)")
_NEGATION = re.compile(
    r"\b(?:(?:not|no)(?!\s+(?:before|until|later|earlier|sooner|more|less|fewer|longer|only|just)\b)|"
    r"never|none|nobody|nothing|neither|nor|without|cannot|unable|nicht|kein\w*|nie|ohne)\b|n['’]t\b",
    re.IGNORECASE,
)
"""Words that deny a statement. A bound ("not before March": in March at the earliest) denies none."""
_IMPLICIT_NEGATION = re.compile(
    r"\b(?:fail\w*|refus\w*|den(?:y|ied|ies)|lack\w*|absen\w*|missing|unlike|un\w{4,}|in(?:sufficient|adequate)\w*|"
    r"dissent\w*|reject\w*|only|rather|instead|few|hardly|scarcely|least|lost|abolish\w*|except\w*|object\w*|"
    r"(?:clear\w*|free\w*) (?:of|from)|acquit\w*|exonerat\w*|exempt\w*|exclu\w*|prevent\w*|prohibit\w*|forb[ai]d\w*)\b",
    re.IGNORECASE,
)
"""Words that may stand for a negation; with them the two sides are not compared."""
_OPPOSITES = {
    a: b
    for pair in (
        "before after", "rose fell", "increased decreased", "increase decrease", "first last", "won lost",
        "highest lowest", "more less", "older younger", "earlier later", "above below", "opened closed", "alive dead",
        "north south", "east west", "northern southern", "eastern western", "largest smallest", "bought sold",
        "higher lower", "accepted rejected", "guilty innocent", "maximum minimum", "father mother", "son daughter",
        "brother sister", "husband wife", "uncle nephew",
    )
    for a, b in (pair.split(), pair.split()[::-1])
}  # fmt: skip


class Number(NamedTuple):
    """A number of a text with the unit after or before it."""

    value: float
    unit: str
    """The unit's shortest name; empty if there is none that is known."""
    is_word: bool
    """Whether it is written in letters."""


def contradiction(claim: str, shown: str, *, given: str = "", elsewhere: str = "") -> str:
    """Return what contradicts a claim in the text that it cites; empty if nothing does.

    Args:
        claim: without citations.
        shown: all text that the claim cites.
        given: text whose names and numbers need no support, such as the question.
        elsewhere: text that was shown beside it; a name may stand in the full form that it has there.

    >>> contradiction("The mill opened in 1871.", "The mill was opened in 1817.")
    'the number 1871'
    >>> contradiction("Some 1,200 loaves were sold.", "Loaves sold: 1200.")
    ''
    """
    known = f"{shown}\n{given}"
    for reason in (
        _missing_name(claim, known, elsewhere), _missing_number(claim, shown, known), _reversed_clause(claim, shown)
    ):  # fmt: skip
        if reason:
            return reason
    return ""


def is_computed(claim: str) -> bool:
    """Return whether a claim compares or adds up, so that its number need not stand in the text it rests on."""
    return bool(_COMPUTED.search(claim))


def numbers(text: str) -> list[Number]:
    """Return the numbers of a text: those in digits in order, then those in English words.

    >>> numbers("1 250 000 pumps, seventeen weeks, $2.4 billion")
    [Number(value=1250000.0, unit='', is_word=False), Number(value=2400000000.0, unit='$', is_word=False), \
Number(value=17.0, unit='week', is_word=True)]
    """
    return [number for number, _, _ in _found_numbers(text)]


# --- names -------------------------------------------------------------------------------------------------


def _missing_name(claim: str, known: str, elsewhere: str) -> str:
    """Return the first name of a claim of which the text has no form."""
    # Most claims have no name that is not there as they write it, so that few texts are taken apart.
    names = [
        match
        for match in _WORD.finditer(claim)
        if match.group()[0].isupper()
        and len(match.group()) >= 3
        and _plain(match.group()) not in _ORDINARY
        and not _SENTENCE_START.search(claim[: match.start()])
        and not _has_word(known, match.group())
    ]
    if not names:
        return ""
    there = {_plain(word) for word in set(_WORD.findall(known))}
    names = [match for match in names if _plain(match.group()) not in there]
    if not names:
        return ""
    # A claim may be too short to show its language.
    german = (detect_language(claim) or detect_language(known)) == "de"
    starts = {w[:_SHORT_WORD] for w in there}
    folded = _without_case(known)
    initials = _initials(known)
    for match in names:
        if german and not _ends_german_name(claim, match):
            continue
        name, plain = match.group(), _plain(match.group())
        if plain in folded or (name.isupper() and plain in initials):
            continue
        if any(part in there for part in re.split(r"['’\-]", plain) if len(part) >= _SHORT_WORD):
            continue
        root = plain[: max(_SHORT_WORD, len(plain) - 3)]
        if plain[:_SHORT_WORD] in starts and any(w.startswith(root) or plain.startswith(w) for w in there):
            continue
        full = next(m.group() for m in _NAME_RUN.finditer(claim) if m.end() >= match.end())
        others = [_plain(w) for w in full.split() if w != name]
        if full in elsewhere and any(w in there for w in others):
            continue
        return f"the name {name}"
    return ""


def _has_word(text: str, word: str) -> bool:
    """Return whether `_WORD` finds a word in a text, as it is written."""
    at = text.find(word)
    while at >= 0:
        if _STARTS_WORD.match(text, at) and _ENDS_WORD.match(text, at + len(word)):
            return True
        at = text.find(word, at + 1)
    return False


def _ends_german_name(claim: str, word: re.Match[str]) -> bool:
    """Return whether a word ends a run of capitalised words; German nouns are capitalised too, but few are joined."""
    before = _CAPITALISED_BEFORE.search(claim[: word.start()])
    if (
        before is None
        or _SENTENCE_START.search(claim[: before.start()])
        or _CAPITALISED_AFTER.match(claim, word.end())
    ):
        return False
    return not re.search(r"\d\W*$", claim[: before.start()])  # "20 Liter Milch"


_CAPITALISED_BEFORE = re.compile(r"\b[A-ZÄÖÜ][\w'’\-]*\.? $")
_CAPITALISED_AFTER = re.compile(r" [A-ZÄÖÜ]")
_NAME_RUN = re.compile(r"[^\W\d_][\w'’\-]*(?:\.? [A-Z][\w'’\-]*)*")
_ORDINARY_WORDS = """the a an he she it they his her its their this that these those mr mrs miss ms dr sir lady lord
    captain january february march april may june july august september october november december monday tuesday
    wednesday thursday friday saturday sunday der die das ein eine er sie es"""
_ORDINARY = frozenset(_ORDINARY_WORDS.split())


@lru_cache(maxsize=4_096)
def _plain(word: str) -> str:
    return _without_case(word)


def _without_case(text: str) -> str:
    """Return a text without case, accents, forms of letters, and a possessive ending."""
    folded = unicodedata.normalize("NFKD", text.casefold())
    if not folded.isascii():
        folded = _MAY_COMBINE.sub(lambda m: "" if unicodedata.combining(m.group()) else m.group(), folded)
    return folded.replace("’", "'").removesuffix("'s")


_MAY_COMBINE = re.compile(r"[^\x00-\u02ff]")
"""Characters among which are all that combine with the one before them."""


def _initials(text: str) -> str:
    return " ".join(
        "".join(word[0] for word in run.split()).casefold()
        for run in re.findall(r"(?:[A-Z][\w.]*\s+){1,6}[A-Z]\w*", text)
    )


# --- numbers -----------------------------------------------------------------------------------------------


def _missing_number(claim: str, shown: str, known: str) -> str:
    claimed = [found for found in _found_numbers(claim) if not _stands_in(found, known)]
    if not claimed:
        return ""
    there = numbers(known)
    values = {round(n.value, 6) for n in there}
    computed = is_computed(claim)
    for number, written, noun in claimed:
        value = round(number.value, 6)
        if value not in values and (scaled := _scaled_by_range(claim, written, number.value)) in values:
            value = scaled
        if value in values:
            units = {n.unit for n in there if round(n.value, 6) == value}
            if number.unit and "" not in units and number.unit not in units:
                return f"the unit of {written}"
            continue
        if number.is_word or (value <= 12 and (value == int(value) or _is_time(claim, written))):
            # What is counted in words may be the reader's own count; only another count of the same things counts.
            counted = {n.value for n, _, other in _found_numbers(shown) if noun and other == noun}
            if not counted or computed:
                continue
        elif (computed and _derived(value, sorted(values))) or (
            any(abs(v - value) <= min(0.005 * abs(v), _half_step(written)) for v in values)
            and value != int(value)
        ):
            continue
        return f"the number {written}"
    return ""


def _stands_in(found: tuple[Number, str, str], text: str) -> bool:
    """Return whether a number stands in a text as it is written, with its unit; only the lines with it are read."""
    number, written, _ = found
    if written not in text:
        return False
    return any(
        number.value == other.value and number.unit in {"", other.unit}
        for line in text.split("\n")
        if written in line
        for other in numbers(line)
    )


def _scaled_by_range(claim: str, written: str, value: float) -> float:
    """Return a number with the scale of the one that it is joined to: "from 58.9 to 61.4 million"."""
    joined = re.search(rf"(?<![\w.,]){re.escape(written)}{_RANGE}", claim)
    return round(value * _SCALES.get(joined.group(1).casefold(), 1.0), 6) if joined else value


def _is_time(claim: str, written: str) -> bool:
    """Return whether a number is a time of day, which a text may say in words: "at 3.25"."""
    return bool(
        re.search(rf"(?i)\b(?:at|by|till|until|um|gegen) {re.escape(written)}(?!\d)", claim)
    ) and bool(re.fullmatch(r"\d{1,2}\.[0-5]\d", written))


def _half_step(written: str) -> float:
    """Return how far a number may be from one that was rounded to it: half a unit of its last digit."""
    decimals = re.search(r"[.,](\d+)$", written)
    return 0.5 * 10.0 ** -(len(decimals.group(1)) if decimals else 0) + 1e-9


def _derived(value: float, values: Sequence[float]) -> bool:
    few = values[:60]
    return any(value in (abs(a - b), a + b) for i, a in enumerate(few) for b in few[i:])


def _found_numbers(text: str) -> Iterator[tuple[Number, str, str]]:
    """Yield each number, as it is written, with the stem of the word after it."""
    for match in _DIGITS.finditer(text):
        written = match.group().strip("+ ")
        grouped = _GROUPED.match(written.lstrip("-"))
        plain = written.lstrip("-")
        if grouped:
            whole = re.sub(r"\D", "", grouped.group())
            plain = whole + plain[grouped.end() :].replace(",", ".")
        else:
            plain = plain.replace(",", ".", 1) if plain.count(",") == 1 and "." not in plain else plain
        try:
            value = float(plain)
        except ValueError:
            # Versions and dates such as 1.2.3: each part is a number.
            for part in re.findall(r"\d+", plain):
                yield Number(float(part), "", False), part, ""
            continue
        yield _with_unit(value, text, match.start(), match.end(), written, False)
    yield from _number_words(text)


def _number_words(text: str) -> Iterator[tuple[Number, str, str]]:
    # Most words of a text recur and few are numbers, so that the places of those alone are looked up.
    known = {word: found for word in set(_WORD.findall(text)) if (found := _number_word(word))}
    if not known:
        return
    alternatives = "|".join(map(re.escape, sorted(known, key=lambda word: (-len(word), word))))
    end_of_last = -1
    for match in re.finditer(f"{_WORD_START}(?:{alternatives}){_WORD_END}", text):
        if match.start() < end_of_last:
            continue
        value, length = known[match.group()]
        end = match.start() + length
        if value in _TENS_VALUES and (after := _WORD.search(text, match.end())):
            unit = _word_value(after.group().casefold())
            if unit is not None and 0 < unit < 10 and text[end : after.start()].strip(" -") == "":
                value, end = value + unit, after.end()
        end_of_last = end
        yield _with_unit(value, text, match.start(), end, text[match.start() : end], True)


_TENS_VALUES = frozenset(10.0 * n for n in range(2, 10))


@lru_cache(maxsize=16_384)
def _number_word(word: str) -> tuple[float, int] | None:
    """Return the value of a word, also if it is joined to a unit, with the length of the number in it."""
    folded = word.casefold()
    value = _word_value(folded)
    if value is not None:
        return value, len(word)
    number, _, unit_word = folded.rpartition("-")
    value = _word_value(number) if unit_word in _UNITS else None
    return (value, len(number)) if value is not None else None


@lru_cache(maxsize=4_096)
def _word_value(word: str) -> float | None:
    if word in _WORD_VALUES:
        return _WORD_VALUES[word]
    if word in _ORDINALS:
        return _ORDINALS[word]
    tens, _, unit = word.partition("-")
    if unit and tens in _WORD_VALUES:
        rest = _WORD_VALUES.get(unit, _ORDINALS.get(unit))
        return _WORD_VALUES[tens] + rest if rest is not None else None
    return None


def _with_unit(
    value: float, text: str, start: int, end: int, written: str, is_word: bool
) -> tuple[Number, str, str]:
    after = _AFTER_NUMBER.match(text, end)
    while after and after.group(1).casefold() in _SCALES:
        value *= _SCALES[after.group(1).casefold()]
        end = after.end()
        after = _AFTER_NUMBER.match(text, end)
    word = after.group(1).casefold() if after else ""
    before = text[max(0, start - 1) : start]
    unit = "%" if word == "per cent" else _UNITS.get(before, "") or _UNITS.get(word, "")
    return Number(value, unit, is_word), written, stem(word)


# --- negation and opposites --------------------------------------------------------------------------------


def _reversed_clause(claim: str, shown: str) -> str:
    """Say if all clauses of the text that are closest to a clause of the claim say its reverse."""
    clauses, folded = None, list[str]()
    for part in _CLAUSE.split(claim):
        wanted = {_plain(word) for word in content_stems(part)}
        if len(wanted) < 2:
            continue
        if clauses is None:
            clauses = _clauses(shown)
            folded = _fold_all(clauses)
        found = [
            (clauses[n], {_plain(word) for word in content_stems(clauses[n])})
            for n in _with_most_stems(folded, wanted, _MIN_SHARED)
        ]
        shares = [len(wanted & there) / len(wanted) for _, there in found]
        best = max(shares, default=0.0)
        if best < _MIN_SHARED:
            continue
        closest = [c for (c, _), share in zip(found, shares, strict=True) if share >= best - 1e-9]
        if all(_opposed(part, c) for c in closest):
            return "an opposite"
        if all(_negates(part, c) for c in closest):
            return "a negation"
    return ""


def _fold_all(texts: Sequence[str]) -> list[str]:
    """Return `_without_case` of each text; all at once is many times faster."""
    folded = _without_case("\0".join(texts)).split("\0")
    return folded if len(folded) == len(texts) else [_without_case(text) for text in texts]


def _with_most_stems(folded: Sequence[str], stems: Collection[str], share: float) -> list[int]:
    """Return the positions of all texts that may have this share of some stems, and of a few others, ascending.

    A word contains its stem but for the last letter, and looking for that is much faster than stemming the texts.
    """
    roots = sorted((stem[:-1] for stem in stems), key=len, reverse=True)
    spare = len(roots) - math.ceil(share * len(roots) - 1e-9)
    # A text that lacks no more than `spare` has at least one of these; the longest are the rarest.
    some = {n for root in roots[: spare + 1] for n, text in enumerate(folded) if root in text}
    found: list[int] = []
    for n in sorted(some):
        text, left = folded[n], spare
        for root in roots:
            if root not in text:
                left -= 1
                if left < 0:
                    break
        else:
            found.append(n)
    return found


def _clauses(text: str) -> list[str]:
    ends = [m.start() + 1 for m in _CLAUSE.finditer(text)]
    bounds = [0, *ends, len(text)]
    short = [text[a:b] for a, b in pairwise(bounds)]
    sentences = re.split(r"(?<=[.;:!?])\s+|\n", text)
    return [*short, *sentences]


def _negates(claim: str, clause: str) -> bool:
    if any(_OPPOSITES.get(w.casefold(), "\n") in clause.casefold() for w in _WORD.findall(claim)):
        return False
    implicit = [{stem(w.casefold()) for w in _IMPLICIT_NEGATION.findall(text)} for text in (claim, clause)]
    # "was abolished" and "was not abolished" differ in the negation alone; "stayed" and "was not abolished" do not.
    if implicit[0] != implicit[1]:
        return False
    return _negated(claim, clause) != _negated(clause, claim)


def _negated(text: str, other: str) -> bool:
    """Return whether a negation of a text is about a word that the other text has, too."""
    shared = set(content_stems(other))
    return any(
        shared & set(content_stems(" ".join(text[m.end() :].split()[:_NEGATION_SCOPE])))
        or not content_stems(text[m.end() :])
        for m in _NEGATION.finditer(text)
    )


def _opposed(claim: str, clause: str) -> bool:
    if bool(_NEGATION.search(claim)) != bool(_NEGATION.search(clause)):
        # A negation and an opposite together say the same: "never more than" and "or less".
        return False
    there = {w.casefold() for w in _WORD.findall(clause)}
    said = {w.casefold() for w in _WORD.findall(claim)}
    return any(
        _OPPOSITES[word] in there and word not in there and _OPPOSITES[word] not in said
        for word in said
        if word in _OPPOSITES
    )
