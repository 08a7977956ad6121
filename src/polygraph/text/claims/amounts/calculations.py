"""Whether a number of a claim can be calculated from numbers of a text."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations

from polygraph.text.claims.amounts.rounding import is_hedged
from polygraph.text.claims.numbers import (
    TIMES_A_YEAR,
    FoundNumber,
    found_numbers,
    is_year,
    numbers,
    shares,
    size,
)
from polygraph.text.claims.repeats import sentences

_SUM = re.compile(
    r"\b(?:total|together|altogether|in all|sum|combined|zusammen|insgesamt|ensemble|total|insieme|totale)\b",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"(?<![\d.])([01]?\d|2[0-3])[.:h]([0-5]\d)(?![\d.%])")
"""A time of day."""
_TIME_WORD = re.compile(
    r"(?i)\b(year|month|week|day|hour|Jahr|Monat|Woche|Tag|an|mois|semaine|jour|año|mes|semana|anno|mese)\b"
)
_GROWTH = re.compile(
    r"\b(?:ris\w+|rose|grew|grow\w*|increas\w+|up|higher|gain\w*|more|fell|fall\w*|drop\w*|decreas\w+|down|lower|less|lost|"
    r"cut|shr[aiu]nk\w*|fewer|stieg\w*|gestiegen|sank\w*|gesunken|wuchs|mehr|weniger|augment\w+|diminu\w+|baiss\w+|hausse|"
    r"aument\w+|sub\w+|baj\w+|cay\w+|cres\w+|cal\w+)\b",
    re.IGNORECASE,
)
"""Words of claims about growth in percent."""
_MAX_NUMBERS = 60
"""Numbers of a text that are calculated with."""


def is_growth(found: FoundNumber, claim: str, known: Iterable[str]) -> bool:
    """Return whether a percentage is the growth from one number of a sentence to another of the same unit."""
    if found.number.unit != "%" or not _GROWTH.search(claim):
        return False
    tolerance = 1.5 if is_hedged(found, claim) else 0.6
    for sentence in chain.from_iterable(map(sentences, known)):
        plain = [n for n in found_numbers(sentence) if not is_year(n.number, n.written)][:6]
        for a, b in combinations(plain, 2):
            x, y = a.number.value, b.number.value
            if a.number.unit != b.number.unit or not x or not y:
                continue
            if (
                min(
                    abs(abs(y / x - 1) * 100 - found.number.value),
                    abs(abs(x / y - 1) * 100 - found.number.value),
                )
                <= tolerance
            ):
                return True
    return False


def is_for_another_time(found: FoundNumber, claim: str, there: Sequence[FoundNumber]) -> bool:
    """Return whether a number is one that a text says for a time, for another time: 132 a year from eleven a month."""
    times = [
        time for word in _TIME_WORD.findall(claim) if (time := numbers(f"1 {word}")[0].unit) in TIMES_A_YEAR
    ]
    return any(
        abs(other.number.value * TIMES_A_YEAR[other.per] / TIMES_A_YEAR[time] - found.number.value)
        <= (0.05 if is_hedged(found, claim) else 1e-6) * abs(found.number.value)
        for time in times
        for other in there
        if other.per
    )


def is_share(found: FoundNumber, claim: str, shown: Iterable[str]) -> bool:
    """Return whether a percentage follows from one line: a ratio of counts, or what 1 lacks."""
    if found.number.unit != "%":
        return False
    hedged = is_hedged(found, claim)
    return any(
        abs(percent - found.number.value) <= (1.5 if hedged else 0.5 if found.number.is_word or
        found.number.value.is_integer() else 0.06)
        for text in shown
        for percent in _percents(text)
    )  # fmt: skip


def _percents(text: str) -> Iterator[float]:
    yield from shares(text)
    yield from (n.number.value for n in found_numbers(text) if n.number.unit == "%")
    for line in sentences(text):
        plain = [
            n.number.value
            for n in found_numbers(line)
            if n.number.unit not in {"%", "day", "year", "month"} and not is_year(n.number, n.written)
        ][:12]
        for value in plain:
            if 0 < value < 1:
                yield from (100 * value, 100 - 100 * value)
        # Counts and their whole, such as "91 of 604".
        for part, whole in re.findall(
            r"(\d[\d,.]*) (?:of|out of|von|sur|de|di|su) (?:the )?(\d[\d,.]*)", line
        ):
            if (pair := (numbers(part), numbers(whole))) and all(pair) and pair[1][0].value:
                yield 100 * pair[0][0].value / pair[1][0].value


def is_derived(found: FoundNumber, claim: str, there: Sequence[FoundNumber]) -> bool:
    """Return whether a number is a sum, difference, half or double of numbers of a text."""
    value = found.number.value
    few = there[:_MAX_NUMBERS]
    tolerance = max(0.01 * abs(value), 1e-6) if is_hedged(found, claim) else 1e-6
    plain = sorted({n.number.value for n in few})
    if any(
        abs(value - result) <= tolerance
        for i, a in enumerate(plain)
        for b in plain[i:]
        for result in (b - a, a + b)
    ):
        return True
    if any(abs(value - result) <= tolerance for a in plain for result in (a / 2, 2 * a)):
        return True
    if _SUM.search(claim):
        for unit in {n.number.unit for n in few}:
            of_unit = [n.number.value for n in few if n.number.unit == unit][:15]
            for n in (3, 4):
                if any(abs(sum(group) - value) <= tolerance for group in combinations(of_unit, n)):
                    return True
    return False


def follows(found: FoundNumber, claim: str, texts: Sequence[str]) -> bool:
    """Return whether a number follows from few numbers of some texts, so that no word has to say that it is calculated.

    It is the difference or sum of two numbers of one sentence, the time between two times of day, a year's decade, or
    a number times a count that the claim has in words.
    """
    value = found.number.value
    there = [number for text in texts for number in found_numbers(text)]
    hedged = is_hedged(found, claim)
    tolerance = max(0.02 * abs(value), 1e-6) if hedged else 1e-6
    if claim[found.end : found.end + 1] == "s" and value % 10 == 0:
        return any(value <= n.number.value < value + 10 for n in there)
    if (measured := size(found.number)) and measured[0] == "s":
        clocks = [60 * int(h) + int(m) for text in texts for h, m in _CLOCK.findall(text)][:_MAX_NUMBERS]
        gaps = {60.0 * abs(a - b) for a, b in combinations(clocks, 2)}
        if any(abs(gap - measured[1]) <= (0.1 * measured[1] if hedged else 0) for gap in gaps):
            return True
    years = sorted({n.number.value for n in there if is_year(n.number, n.written)})[:_MAX_NUMBERS]
    if measured and measured[0] == "year":
        spans = (b - a for a, b in combinations(years, 2))
        if any(abs(span - measured[1]) <= (0.1 * measured[1] if hedged else 0) for span in spans):
            return True
    for sentence in chain.from_iterable(map(sentences, texts)):
        few = found_numbers(sentence)[:8]
        if not few:
            continue
        parts = [share * n.number.value / 100 for share in shares(sentence) for n in few]
        if any(abs(part - value) <= tolerance for part in parts):
            return True
        for a, b in combinations(few, 2):
            x, y = a.number.value, b.number.value
            if a.number.unit != b.number.unit or is_year(a.number, a.written) or is_year(b.number, b.written):
                continue
            if min(abs(abs(x - y) - value), abs(x + y - value)) <= tolerance:
                return True
    factors = {n.number.value for n in found_numbers(claim) if n.number.is_word and 2 <= n.number.value <= 12}
    return any(
        abs(value - factor * n.number.value) <= tolerance for factor in factors for n in there[:_MAX_NUMBERS]
    )
