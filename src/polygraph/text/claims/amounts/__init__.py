"""Numbers of a claim that the text it cites does not have: not as written, rounded, converted or calculated."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain

from polygraph.text.claims.amounts.calculations import (
    follows,
    is_derived,
    is_for_another_time,
    is_growth,
    is_share,
)
from polygraph.text.claims.amounts.rounding import is_close, is_close_to
from polygraph.text.claims.amounts.scales import (
    LETTER_SCALE,
    LETTER_SCALES,
    days_between,
    scaled_by_range,
    scaled_numbers,
)
from polygraph.text.claims.folding import MAX_TEXTS
from polygraph.text.claims.months import DATED
from polygraph.text.claims.numbers import FoundNumber, found_numbers, is_ordinal, is_year
from polygraph.text.claims.repeats import is_repeated

__all__ = ["is_close", "is_computed", "missing_number"]

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
_AGO = re.compile(r"\b(?:ago|for|since|old|il y a|depuis|vor|seit|hace|desde|fa|da)\b", re.IGNORECASE)
"""Words that count years to a present that the text does not say."""
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


@lru_cache(maxsize=64)
def is_computed(claim: str) -> bool:
    """Return whether a claim compares or adds up, so that its number need not stand in the text it rests on."""
    return bool(_COMPUTED.search(claim))


def missing_number(claim: str, shown: Sequence[str], known: Sequence[str]) -> str:
    """Return the first number or unit of a claim that some texts speak against; empty if there is none.

    Args:
        claim: without citations.
        shown: what the claim cites.
        known: the same, with text whose numbers need no support.
    """
    # It counts only beside a sentence that has the rest of the claim, and such a sentence is found fast.
    claimed = [
        found
        for found in found_numbers(claim)
        if is_repeated(claim, known, without=found.written)
        and not any(_stands_in(found, text) for text in known)
    ]
    if not claimed:
        return ""
    there = [
        *chain.from_iterable(map(found_numbers, known)),
        *chain.from_iterable(map(scaled_numbers, known)),
        *days_between(known),
    ]
    values = {round(n.number.value, 6) for n in there}
    for found in claimed:
        number, written = found.number, found.written
        value = round(number.value, 6)
        if value not in values and (scaled := scaled_by_range(claim, found)) in values:
            value = scaled
        if (letter := LETTER_SCALE.match(claim, found.end)) and value not in values:
            scaled = round(number.value * LETTER_SCALES[letter.group(1).casefold()], 6)
            value = scaled if scaled in values else value
        if value in values:
            same = [n for n in there if round(n.number.value, 6) == value]
            is_other = _has_other_unit(found, same) and not is_close_to(found, claim, there)
            if is_other:
                return f"the unit of {written}"
            continue
        if is_ordinal(written) or (number.is_word and value == 1):
            continue  # "in one piece", "the first time": said in any words
        if (
            is_close_to(found, claim, there)
            or is_share(found, claim, shown)
            or _is_counted_date(found, claim, known)
        ):
            continue
        if number.unit == "year" and _AGO.search(claim) and any(is_year(n.number, n.written) for n in there):
            continue
        if is_growth(found, claim, known) or is_for_another_time(found, claim, there):
            continue
        if (is_computed(claim) and is_derived(found, claim, there)) or follows(found, claim, known):
            continue
        if number.is_word or (value <= 12 and (written.isdigit() or _is_time_of_day(claim, written))):
            # What is counted in words may be the reader's own count; only another count of the same things counts.
            is_counted = found.noun and any(
                n.noun == found.noun for n in chain.from_iterable(map(found_numbers, shown))
            )
            if not is_counted or is_computed(claim):
                continue
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


def _is_counted_date(found: FoundNumber, claim: str, known: Iterable[str]) -> bool:
    """Return whether a number is the day of a date, and a text counts time from one: "on 1 May ... a week later"."""
    return bool(
        0 < found.number.value <= 31
        and any(match.start() <= found.start < match.end() for match in DATED.finditer(claim))
        and any(map(_counts_time, known))
    )


@lru_cache(maxsize=MAX_TEXTS)
def _counts_time(text: str) -> bool:
    return bool(_COUNTED_TIME.search(text))


def _is_time_of_day(claim: str, written: str) -> bool:
    """Return whether a number is a time of day, which a text may say in words: "at 3.25"."""
    return bool(
        re.search(rf"(?i)\b(?:at|by|till|until|um|gegen) {re.escape(written)}(?!\d)", claim)
    ) and bool(re.fullmatch(r"\d{1,2}\.[0-5]\d", written))
