"""Whether a number of a claim is a number of a text, rounded or in another unit."""

import re
from collections.abc import Sequence
from math import floor, isinf, log10

from polygraph.text.claims.numbers import TIMES_A_YEAR, FoundNumber, found_numbers, is_year, size

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


def is_hedged(found: FoundNumber, claim: str) -> bool:
    """Return whether a claim says that a number of it is not exact: "about 300"."""
    return bool(_HEDGE.search(claim[: found.start]))


def is_close_to(found: FoundNumber, claim: str, there: Sequence[FoundNumber]) -> bool:
    """Return whether a number is one of a text, rounded or in another unit."""
    number, written = found.number, found.written
    converted = size(number)
    for other in there:
        if found.per and other.per and number.unit == other.number.unit:
            times = other.number.value * TIMES_A_YEAR[other.per] / TIMES_A_YEAR[found.per]
            if abs(times - number.value) <= (0.05 if is_hedged(found, claim) else 1e-6) * number.value:
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
        is_close_to(a, claim, found_numbers(other)) for a in found_numbers(claim) if a.written == written
    )


def _is_rounded(found: FoundNumber, claim: str, other: FoundNumber) -> bool:
    """Return whether a number is another one rounded: to its last digit that is not zero, if it says so."""
    value, exact = found.number.value, other.number.value
    if value == 0 or isinf(value) or isinf(exact):  # a number of hundreds of digits is infinite
        return False
    if is_year(other.number, other.written) or (exact.is_integer() and abs(exact) < 20):
        return False
    hedged = is_hedged(found, claim)
    digits = _significant_digits(value)
    if _significant_digits(exact) <= digits and not hedged:
        return False
    step = 10.0 ** (floor(log10(abs(value))) - digits + 1)
    is_decimal = bool(re.search(r"[.,]\d{1,2}$", found.written))
    if hedged:
        most = step if exact > value and _AT_LEAST.search(claim[: found.start]) else 0.6 * step
        return abs(value - exact) <= min(
            most, (0.1 if most < step else 0.25) * abs(exact)
        ) + 1e-9 and digits < _significant_digits(exact)
    return (is_decimal or digits >= 2) and abs(value - exact) <= min(0.5 * step, 0.03 * abs(exact)) + 1e-9


def _significant_digits(value: float) -> int:
    return len(re.sub(r"e.*|[-.]", "", f"{value:.12g}").strip("0")) or 1
