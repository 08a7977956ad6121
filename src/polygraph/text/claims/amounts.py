"""Numbers of a claim that the text it cites does not have: not as written, rounded, converted or calculated."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from math import floor, log10

from polygraph.text.claims.months import DATED, dates_of
from polygraph.text.claims.numbers import (
    SCALES,
    FoundNumber,
    found_numbers,
    is_ordinal,
    is_year,
    numbers,
    shares,
    size,
)
from polygraph.text.claims.repeats import repeated, sentences

_RANGE = re.compile(r"\s?(?:[-–—]|to|and|or|bis|auf|und|oder|et|à|y|a)\s?[$€£]?\d+(?:[.,]\d+)*\s?([^\W\d_]+)")
"""What follows a number that shares the scale of the next one, whose scale is the group."""
_COMPUTED = re.compile(
    r"\b(?:later|earlier|older|younger|old|after|before|difference|total|together|altogether|in all|sum|apart|"
    r"more|fewer|less|longer|shorter|higher|lower|larger|smaller|greater|bigger|exceed\w*|between|combined|average|twice|double[ds]?|half|halved|thirds?|quarters?|triple|"
    r"times|increas\w+|decreas\w+|reduc\w+|lost|lose|losing|died|drowned|perished|survived|majority|margin|gap|lead|"
    r"remain\w*|left over|aged|each|apiece|equally|"
    r"später|früher|älter|jünger|nach|vor|zusammen|insgesamt|mehr|weniger|doppelt\w*|hälfte|alt|"
    r"plus|moins|après|avant|ensemble|total|moitié|double|âgée?s?|pendant|"
    r"más|menos|después|antes|total|mitad|doble|durante|"
    r"più|meno|dopo|prima|insieme|totale|metà|doppio)\b|\b(?:rose|fell|grew|dropped|up|down) by\b",
    re.IGNORECASE,
)
"""Words of claims that compare or add up."""
_SUM = re.compile(
    r"\b(?:total|together|altogether|in all|sum|combined|zusammen|insgesamt|ensemble|total|insieme|totale)\b",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"\b(?:"
    r"about|around|roughly|approximately|approx|some|nearly|almost|close to|over|under|more than|less than|"
    r"fewer than|well over|below|above|just|c|ca|circa|getting on for|rund|etwa|ungefähr|knapp|gut|fast|über|"
    r"unter|mehr als|weniger als|environ|sous|près de|presque|plus de|moins de|quelque|unos|unas|casi|cerca de|"
    r"alrededor de|más de|menos de|debajo del?|encima del?|quasi|oltre|più di|meno di"
    r")\b\W*(?:[^\W\d_]+ )?[$€£]?\W*$",
    re.IGNORECASE,
)
"""What stands before a number that is not exact."""
_AT_LEAST = re.compile(
    r"\b(?:more than|over|well over|mehr als|gut|über|plus de|más de|oltre|più di)\b\W*[$€£]?\W*$",
    re.IGNORECASE,
)
"""The same for numbers that are exceeded."""
_TIMES_A_YEAR = {
    "year": 1, "month": 12, "week": 52, "day": 365, "h": 365 * 24, "min": 365 * 24 * 60, "s": 365 * 24 * 3600,
}  # fmt: skip
_CLOCK = re.compile(r"(?<![\d.])([01]?\d|2[0-3])[.:h]([0-5]\d)(?![\d.%])")
"""A time of day."""
_LETTER_SCALE = re.compile(r"(k|m|mn)\b", re.IGNORECASE)
_LETTER_SCALES = {"k": 1e3, "m": 1e6, "mn": 1e6}
_AND_A_HALF = re.compile(r"\b(an?|[a-z]{3,6}|\d+) ([a-z]{3,7}) and a half\b", re.IGNORECASE)
_MAX_DATES = 6
"""Dates of a text that days are counted between."""
_AGO = re.compile(r"\b(?:ago|for|since|old|il y a|depuis|vor|seit|hace|desde|fa|da)\b", re.IGNORECASE)
"""Words that count years to a present that the text does not say."""
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
_COUNTED_TIME = re.compile(
    r"\b(?:(?:hours?|days?|nights?|weeks?|fortnight|months?) (?:later|earlier|after|before|ago|too late)|"
    r"(?:the )?(?:next|following|previous) (?:day|night|morning|evening|week)|yesterday|tomorrow|"
    r"(?:the )?day (?:before|after)|"
    r"(?:tage|wochen?) (?:später|früher|danach|zuvor|vorher|nach|vor)|am (?:nächsten|folgenden) tag|"
    r"(?:jours?|semaines?) (?:plus tard|après|avant|plus tôt)|le lendemain|la veille|"
    r"(?:días?|semanas?) (?:después|antes|más tarde)|al día siguiente|"
    r"(?:giorni?|settiman[ae]) (?:dopo|prima|più tardi)|"
    r"il giorno dopo)\b",
    re.IGNORECASE,
)
"""Words that count days or weeks from a date."""
_MAX_NUMBERS = 60
"""Numbers of a text that are calculated with."""


def is_computed(claim: str) -> bool:
    """Return whether a claim compares or adds up, so that its number need not stand in the text it rests on."""
    return bool(_COMPUTED.search(claim))


def missing_number(claim: str, shown: str, known: str) -> str:
    """Return the first number or unit of a claim that the text speaks against; empty if there is none.

    Args:
        claim: without citations.
        shown: what the claim cites.
        known: the same, with text whose numbers need no support.
    """
    claimed = [found for found in found_numbers(claim) if not _stands_in(found, known)]
    if not claimed:
        return ""
    there = [*found_numbers(known), *_scaled(known)]
    values = {round(n.number.value, 6) for n in there}
    computed = is_computed(claim)
    for found in claimed:
        number, written = found.number, found.written
        value = round(number.value, 6)
        if value not in values and (scaled := _scaled_by_range(claim, found)) in values:
            value = scaled
        if (letter := _LETTER_SCALE.match(claim, found.end)) and value not in values:
            scaled = round(number.value * _LETTER_SCALES[letter.group(1).casefold()], 6)
            value = scaled if scaled in values else value
        if value in values:
            same = [n for n in there if round(n.number.value, 6) == value]
            is_other = _has_other_unit(found, same) and not _is_close(found, claim, there)
            if is_other and repeated(claim, known, without=written):
                return f"the unit of {written}"
            continue
        if is_ordinal(written) or (number.is_word and value == 1):
            continue  # "in one piece", "the first time": said in any words
        if (
            _is_close(found, claim, there)
            or _is_share(found, claim, shown)
            or _is_counted_date(found, claim, known)
        ):
            continue
        if number.unit == "year" and _AGO.search(claim) and any(is_year(n.number, n.written) for n in there):
            continue
        if _is_growth(found, claim, known) or _is_for_another_time(found, claim, there):
            continue
        if (computed and _derived(found, claim, there)) or _follows(found, claim, known):
            continue
        if number.is_word or (value <= 12 and (_is_count(written) or _is_time(claim, written))):
            # What is counted in words may be the reader's own count; only another count of the same things counts.
            counted = {n.number.value for n in found_numbers(shown) if found.noun and n.noun == found.noun}
            if not counted or computed:
                continue
        if repeated(claim, known, without=written):
            return f"the number {written}"
    return ""


def _stands_in(found: FoundNumber, text: str) -> bool:
    """Return whether a number stands in a text as it is written, with its unit; only the lines with it are read."""
    if found.written not in text:
        return False
    return any(
        found.number.value == other.number.value
        and (found.number.unit == other.number.unit or not found.number.unit)
        and found.per in {"", other.per}
        for line in text.split("\n")
        if found.written in line
        for other in found_numbers(line)
    )


def _has_other_unit(found: FoundNumber, same: Sequence[FoundNumber]) -> bool:
    """Return whether all numbers of that value have another unit, or are said for another time."""
    units = {n.number.unit for n in same}
    times = {n.per for n in same}
    if found.per and "" not in times and found.per not in times:
        return True
    return bool(found.number.unit) and "" not in units and found.number.unit not in units


def _is_close(found: FoundNumber, claim: str, there: Sequence[FoundNumber]) -> bool:
    """Return whether a number is one of a text, rounded or in another unit."""
    number, written = found.number, found.written
    converted = size(number)
    for other in there:
        if found.per and other.per and number.unit == other.number.unit:
            times = other.number.value * _TIMES_A_YEAR[other.per] / _TIMES_A_YEAR[found.per]
            if (
                abs(times - number.value)
                <= (0.05 if _HEDGE.search(claim[: found.start]) else 1e-6) * number.value
            ):
                return True
        if (other_size := size(other.number)) and converted and other_size[0] == converted[0]:
            if number.unit == other.number.unit:
                if _is_rounded(found, claim, other):
                    return True
            elif abs(other_size[1] - converted[1]) <= 0.01 * abs(converted[1]):
                return True
        elif (
            (not number.unit or not other.number.unit or number.unit == other.number.unit)
            and not is_year(number, written)
            and _is_rounded(found, claim, other)
        ):
            return True
    return False


def is_close(written: str, other: str, claim: str) -> bool:
    """Return whether one number of a claim is another one, as it is written in a text, rounded."""
    return any(
        _is_close(a, claim, found_numbers(other)) for a in found_numbers(claim) if a.written == written
    )


def _is_rounded(found: FoundNumber, claim: str, other: FoundNumber) -> bool:
    """Return whether a number is another one rounded: to its last digit that is not zero, if it says so."""
    value, exact = found.number.value, other.number.value
    if value == 0 or is_year(other.number, other.written) or (exact == int(exact) and abs(exact) < 20):
        return False
    is_hedged = bool(_HEDGE.search(claim[: found.start]))
    digits = _significant_digits(value)
    if _significant_digits(exact) <= digits and not is_hedged:
        return False
    step = 10.0 ** (floor(log10(abs(value))) - digits + 1)
    is_decimal = bool(re.search(r"[.,]\d{1,2}$", found.written))
    if is_hedged:
        most = step if exact > value and _AT_LEAST.search(claim[: found.start]) else 0.6 * step
        return abs(value - exact) <= min(
            most, (0.1 if most < step else 0.25) * abs(exact)
        ) + 1e-9 and digits < _significant_digits(exact)
    return (is_decimal or digits >= 2) and abs(value - exact) <= min(0.5 * step, 0.03 * abs(exact)) + 1e-9


def _significant_digits(value: float) -> int:
    return len(re.sub(r"e.*|[-.]", "", f"{value:.12g}").strip("0")) or 1


def _is_counted_date(found: FoundNumber, claim: str, known: str) -> bool:
    """Return whether a number is the day of a date, and the text counts time from one: "on 1 May ... a week later"."""
    return bool(
        0 < found.number.value <= 31
        and _COUNTED_TIME.search(known)
        and any(match.start() <= found.start < match.end() for match in DATED.finditer(claim))
    )


def _is_growth(found: FoundNumber, claim: str, known: str) -> bool:
    """Return whether a percentage is the growth from one number of a sentence to another of the same unit."""
    if found.number.unit != "%" or not _GROWTH.search(claim):
        return False
    tolerance = 1.5 if _HEDGE.search(claim[: found.start]) else 0.6
    for sentence in sentences(known):
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


def _is_for_another_time(found: FoundNumber, claim: str, there: Sequence[FoundNumber]) -> bool:
    """Return whether a number is one that a text says for a time, for another time: 132 a year from eleven a month."""
    times = [
        time for word in _TIME_WORD.findall(claim) if (time := numbers(f"1 {word}")[0].unit) in _TIMES_A_YEAR
    ]
    return any(
        abs(other.number.value * _TIMES_A_YEAR[other.per] / _TIMES_A_YEAR[time] - found.number.value)
        <= (0.05 if _HEDGE.search(claim[: found.start]) else 1e-6) * abs(found.number.value)
        for time in times
        for other in there
        if other.per
    )


def _is_share(found: FoundNumber, claim: str, shown: str) -> bool:
    """Return whether a percentage follows from one line: a ratio of counts, or what 1 lacks."""
    if found.number.unit != "%":
        return False
    is_hedged = bool(_HEDGE.search(claim[: found.start]))
    return any(
        abs(percent - found.number.value) <= (1.5 if is_hedged else 0.5 if found.number.is_word or
        found.number.value == int(found.number.value) else 0.06)
        for percent in _percents(shown)
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


def _scaled(text: str) -> Iterator[FoundNumber]:
    """Yield the numbers of a text that share the scale of the number they are joined to."""
    for found in found_numbers(text):
        if letter := _LETTER_SCALE.match(text, found.end):
            # "€12m" may be twelve million, and "12m" twelve metres.
            value = found.number.value * _LETTER_SCALES[letter.group(1).casefold()]
            unit = "" if found.number.unit == "m" else found.number.unit
            yield found._replace(number=found.number._replace(value=value, unit=unit))
        joined = _RANGE.match(text, found.end)
        if joined and (factor := SCALES.get(joined.group(1).casefold())):
            yield found._replace(number=found.number._replace(value=found.number.value * factor))
    for match in _AND_A_HALF.finditer(text):
        whole = numbers(match.group(1)) or numbers("1")
        yield from found_numbers(f"{whole[0].value + 0.5} {match.group(2)}")
    dates = list(dates_of(text))[:_MAX_DATES]
    for one, other in combinations(dates, 2):
        n_days = abs(one - other)
        for days in (n_days, n_days + 1):
            yield from found_numbers(f"{days} days")


def _scaled_by_range(claim: str, found: FoundNumber) -> float:
    """Return a number with the scale of the one that it is joined to: "from 58.9 to 61.4 million"."""
    joined = _RANGE.match(claim, found.end)
    factor = SCALES.get(joined.group(1).casefold(), 1.0) if joined else 1.0
    return round(found.number.value * factor, 6)


def _is_count(written: str) -> bool:
    return written.isdigit()


def _is_time(claim: str, written: str) -> bool:
    """Return whether a number is a time of day, which a text may say in words: "at 3.25"."""
    return bool(
        re.search(rf"(?i)\b(?:at|by|till|until|um|gegen) {re.escape(written)}(?!\d)", claim)
    ) and bool(re.fullmatch(r"\d{1,2}\.[0-5]\d", written))


def _derived(found: FoundNumber, claim: str, there: Sequence[FoundNumber]) -> bool:
    """Return whether a number is a sum, difference, half or double of numbers of a text."""
    value = found.number.value
    few = there[:_MAX_NUMBERS]
    tolerance = max(0.01 * abs(value), 1e-6) if _HEDGE.search(claim[: found.start]) else 1e-6
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


def _follows(found: FoundNumber, claim: str, text: str) -> bool:
    """Return whether a number follows from few numbers of a text, so that no word has to say that it is calculated.

    It is the difference or sum of two numbers of one sentence, the time between two times of day, a year's decade, or
    a number times a count that the claim has in words.
    """
    value = found.number.value
    is_hedged = bool(_HEDGE.search(claim[: found.start]))
    tolerance = max(0.02 * abs(value), 1e-6) if is_hedged else 1e-6
    if claim[found.end : found.end + 1] == "s" and value % 10 == 0:
        return any(value <= n.number.value < value + 10 for n in found_numbers(text))
    if (measured := size(found.number)) and measured[0] == "s":
        clocks = [60 * int(h) + int(m) for h, m in _CLOCK.findall(text)][:_MAX_NUMBERS]
        gaps = {60.0 * abs(a - b) for a, b in combinations(clocks, 2)}
        if any(abs(gap - measured[1]) <= (0.1 * measured[1] if is_hedged else 0) for gap in gaps):
            return True
    years = sorted({n.number.value for n in found_numbers(text) if is_year(n.number, n.written)})[
        :_MAX_NUMBERS
    ]
    if measured and measured[0] == "year":
        spans = (b - a for a, b in combinations(years, 2))
        if any(abs(span - measured[1]) <= (0.1 * measured[1] if is_hedged else 0) for span in spans):
            return True
    for sentence in sentences(text):
        parts = [
            share * n.number.value / 100 for share in shares(sentence) for n in found_numbers(sentence)[:8]
        ]
        if any(abs(part - value) <= tolerance for part in parts):
            return True
        for a, b in combinations(found_numbers(sentence)[:8], 2):
            x, y = a.number.value, b.number.value
            if a.number.unit != b.number.unit or is_year(a.number, a.written) or is_year(b.number, b.written):
                continue
            if min(abs(abs(x - y) - value), abs(x + y - value)) <= tolerance:
                return True
    factors = {n.number.value for n in found_numbers(claim) if n.number.is_word and 2 <= n.number.value <= 12}
    return any(
        abs(value - factor * n.number.value) <= tolerance
        for factor in factors
        for n in found_numbers(text)[:_MAX_NUMBERS]
    )
