"""Numbers of a text that are not written out: "12m", "from 5 to 6 million", "two and a half", days between dates."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, combinations, islice

from polygraph.text.claims.folding import MAX_TEXTS
from polygraph.text.claims.months import dates_of
from polygraph.text.claims.numbers import SCALES, FoundNumber, found_numbers, numbers

_RANGE = re.compile(r"\s?(?:[-–—]|to|and|or|bis|auf|und|oder|et|à|y|a)\s?[$€£]?\d+(?:[.,]\d+)*\s?([^\W\d_]+)")
"""What follows a number that shares the scale of the next one, whose scale is the group."""
LETTER_SCALE = re.compile(r"(k|m|mn)\b", re.IGNORECASE)
LETTER_SCALES = {"k": 1e3, "m": 1e6, "mn": 1e6}
_AND_A_HALF = re.compile(r"\b(an?|[a-z]{3,6}|\d+) ([a-z]{3,7}) and a half\b", re.IGNORECASE)
_MAX_DATES = 6
"""Dates that days are counted between."""


@lru_cache(maxsize=MAX_TEXTS)
def scaled_numbers(text: str) -> tuple[FoundNumber, ...]:
    """Return the numbers of a text with the scale of a letter or of the number they are joined to, and halves."""
    return tuple(_scaled_numbers(text))


def _scaled_numbers(text: str) -> Iterator[FoundNumber]:
    for found in found_numbers(text):
        if letter := LETTER_SCALE.match(text, found.end):
            # "€12m" may be twelve million, and "12m" twelve metres.
            value = found.number.value * LETTER_SCALES[letter.group(1).casefold()]
            unit = "" if found.number.unit == "m" else found.number.unit
            yield found._replace(number=found.number._replace(value=value, unit=unit))
        joined = _RANGE.match(text, found.end)
        if joined and (factor := SCALES.get(joined.group(1).casefold())):
            yield found._replace(number=found.number._replace(value=found.number.value * factor))
    for match in _AND_A_HALF.finditer(text):
        whole = numbers(match.group(1)) or numbers("1")
        yield from found_numbers(f"{whole[0].value + 0.5} {match.group(2)}")


def days_between(texts: Iterable[str]) -> Iterator[FoundNumber]:
    """Yield the numbers of days between the first dates of some texts, with and without the first day."""
    dates = list(islice(chain.from_iterable(map(dates_of, texts)), _MAX_DATES))
    for one, other in combinations(dates, 2):
        n_days = abs(one - other)
        for days in (n_days, n_days + 1):
            yield from found_numbers(f"{days} days")


def scaled_by_range(claim: str, found: FoundNumber) -> float:
    """Return a number with the scale of the one that it is joined to: "from 58.9 to 61.4 million"."""
    joined = _RANGE.match(claim, found.end)
    factor = SCALES.get(joined.group(1).casefold(), 1.0) if joined else 1.0
    return round(found.number.value * factor, 6)
