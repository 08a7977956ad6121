"""The month of a date in a claim."""

import re
from collections.abc import Sequence
from datetime import date
from functools import lru_cache

from polygraph.text.claims.folding import MAX_TEXTS, plain

_NAMES = """january jan januar janvier enero gennaio; february feb februar fevrier febrero febbraio;
    march mar marz mars marzo; april apr avril abril aprile; may mai mayo maggio; june jun juni juin junio giugno;
    july jul juli juillet julio luglio; august aug aout agosto; september sept sep septembre septiembre settembre;
    october oct oktober okt octobre octubre ottobre; november nov novembre noviembre;
    december dec dezember dez decembre diciembre dicembre"""
_MONTHS = {name: n for n, names in enumerate(_NAMES.split(";"), 1) for name in names.split()}
_LOWER = frozenset(
    name for name in _MONTHS if name not in {"march", "mars", "mar", "may", "mai", "dec", "sept"}
)
_WORD = re.compile(r"[^\W\d_]+")
DATED = re.compile(
    r"(?:\b\d{1,2}(?:st|nd|rd|th|er|\.|º)?(?: (?:of|de))? ([^\W\d_]{3,10})\b)|"
    r"(?:\b([^\W\d_]{3,10})\.?,? (?:\d{1,2}\b|(?:de |del )?\d{4}\b))"
)
"""A day with a month, or a month with a day or year."""
_SINCE = re.compile(
    r"\b(?:in|since|until|till|by|from|during|early|late|mid|im|seit|bis|en|desde|hasta|depuis|da|a|dal)[ -]"
    r"([^\W\d_]{3,10})\b"
)
"""A month after a preposition; in English only with a capital."""
_FULL = re.compile(
    r"\b(?P<d>\d{1,2})(?:st|nd|rd|th|er|\.|º)?(?: (?:of|de))? (?P<m>[^\W\d_]{3,10})\b"
    r"(?:,? (?:de |del )?(?P<y>\d{4})\b)?|"
    r"\b(?P<m2>(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*) "
    r"(?P<d2>\d{1,2})(?:st|nd|rd|th)?\b(?:,? (?P<y2>\d{4})\b)?|"
    r"\b(?P<y3>\d{4})-(?P<m3>\d\d)-(?P<d3>\d\d)\b"
)
"""A day with its month, and its year if it has one."""
_NUMERIC = re.compile(r"\b\d{4}-(\d\d)(?:-\d\d)?\b|\b(\d{1,2})[./](\d{1,2})[./]\d{2,4}\b")


@lru_cache(maxsize=MAX_TEXTS)
def dates_of(text: str) -> tuple[int, ...]:
    """Return the dates of a text as numbers of days; those without a year are of the year before them, or of one year.

    >>> first, second = dates_of("from 3 March to 14 April 1921")
    >>> second - first
    42
    """
    found = []
    for match in _FULL.finditer(text):
        day, month, year = (
            next(
                (
                    match[f"{name}{n}"]
                    for n in ("", "2", "3")
                    if f"{name}{n}" in match.groupdict() and match[f"{name}{n}"]
                ),
                "",
            )
            for name in "dmy"
        )
        n_month = int(month) if month.isdigit() else _MONTHS.get(plain(month), 0)
        if 1 <= n_month <= 12 and 1 <= int(day) <= 31:
            found.append((int(year) if year else 0, n_month, int(day)))
    years = [year for year, _, _ in found if year]
    last = years[0] if years else 2001
    days = []
    for year, month, n_day in found:
        last = year or last
        try:
            days.append(date(last, month, n_day).toordinal())
        except ValueError:
            continue  # such as 30 February, or the year 0
    return tuple(days)


def other_month(claim: str, known: Sequence[str]) -> str:
    """Return a month of a date in a claim if some texts have months and not this one; empty otherwise.

    >>> other_month("It was released on 21 May 2023.", ["Released 2023-03-21."])
    'the month May'
    """
    claimed = [
        (match.group(i), _MONTHS[plain(match.group(i))])
        for match in DATED.finditer(claim)
        for i in (1, 2)
        if match.group(i) and plain(match.group(i)) in _MONTHS
    ]
    claimed += [
        (name, _MONTHS[plain(name)])
        for match in _SINCE.finditer(claim)
        if plain(name := match.group(1)) in _MONTHS and (name[0].isupper() or name in _LOWER)
    ]
    if not claimed:
        return ""
    there = frozenset[int]().union(*map(_months_in, known))
    return next((f"the month {name}" for name, n in claimed if there and n not in there), "")


@lru_cache(maxsize=MAX_TEXTS)
def _months_in(text: str) -> frozenset[int]:
    """Return the numbers of the months of a text."""
    there = {_MONTHS[word] for w in _WORD.findall(text) if (word := plain(w)) in _MONTHS}
    for match in _NUMERIC.finditer(text):
        there |= {int(group) for group in match.groups() if group}
    return frozenset(there)
