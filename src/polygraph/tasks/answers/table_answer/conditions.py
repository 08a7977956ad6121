"""Bounds that a question sets: more than 5 MW, before March 2024, out of stock."""

import math
import re
from collections.abc import Sequence
from datetime import date

from polygraph.tasks.answers.table_answer.cells import parse_days, parse_number
from polygraph.tasks.answers.table_answer.question import Condition, Reading, covered
from polygraph.tasks.answers.table_answer.units import UNIT_NOTE
from polygraph.tasks.answers.table_answer.view import TableView, plain_words
from polygraph.tasks.answers.table_answer.words import LESS, MORE, SNAKE_UNITS, UNIT_WORDS
from polygraph.text.words import stem, word_set

_AMOUNT = r"(?P<x>[£$€]?\s?\d[\d,.]*(?:\s?(?:%|°?[^\W\d_]{1,8}))?)"
_MORE, _LESS = ("|".join(sorted(words)) for words in (MORE | {"older"}, LESS))
_BOUND = re.compile(
    rf"(?:(?P<gt>\b(?:{_MORE}) than|\bover|\babove|\bexceed(?:s|ing)?)|"
    rf"(?P<ge>\bat least)|(?P<lt>\b(?:{_LESS}) than|\bunder|\bbelow)|"
    rf"(?P<le>\bat most|\bup to))\s+{_AMOUNT}(?!\w)|"
    rf"(?<![\w.,-]){_AMOUNT.replace('<x>', '<y>')} or (?:(?P<ge_after>more|above|over|higher|greater|longer)|"
    r"(?P<le_after>less|fewer|below|under|lower|shorter))\b",
    re.IGNORECASE,
)
MONTHS = word_set("january february march april may june july august september october november december")
_MONTH = "|".join(sorted(MONTHS))
_DAY = (
    rf"(?:\d{{4}}-\d{{2}}(?:-\d{{2}})?|\d{{1,2}}\.? (?:{_MONTH}) \d{{4}}|"
    rf"(?:{_MONTH})(?: \d{{1,2}},?)? \d{{4}}|\d{{4}})"
)
_WHEN = re.compile(
    rf"\b(?:between (?P<from>{_DAY}) and (?P<to>{_DAY})|(?:since|before) the (?:start|beginning) of (?P<start>{_DAY})|"
    rf"(?P<how>before|after|since|until|in|on|during) (?P<day>{_DAY}))(?![\w-])",
    re.IGNORECASE,
)
_IN_MONTH = re.compile(rf"\b(?:in|during) (?P<month>{_MONTH})\b(?! ?\d)", re.IGNORECASE)
_OUT_OF_STOCK = re.compile(r"\b(?:out of stock|sold out)\b", re.IGNORECASE)
_STOCK = frozenset(map(stem, ("stock", "inventory")))
_QUANTITY = stem("quantity")


def find_conditions(reading: Reading, table: TableView) -> None:
    """Add the bounds that the question sets, and mark their words as used."""
    if bounds := list(_BOUND.finditer(reading.question)):
        _find_bounds(reading, bounds, _units(table))
    if any(column.kind == "date" for column in table.columns):
        _find_dates(reading)
        _find_months(reading, table)
    if match := _OUT_OF_STOCK.search(reading.question):
        _find_stock(reading, table, match)


def _find_stock(reading: Reading, table: TableView, match: re.Match[str]) -> None:
    """Add that the stock is 0, if one column of numbers has the stock."""
    numbers = [c for c, column in enumerate(table.columns) if column.kind == "number"]
    stocks = [c for c in numbers if _STOCK & set(table.name_words[c])]
    stocks = stocks or [c for c in numbers if table.name_words[c] == [_QUANTITY]]
    if len(stocks) != 1:
        return
    at = covered(reading.tokens, match.start(), match.end())
    reading.conditions.append(Condition(at[0], 0.0, 0.0, False, "", "0", stocks[0]))
    reading.take(at[0], at[-1])


def _find_bounds(reading: Reading, matches: Sequence[re.Match[str]], units: set[str]) -> None:
    """Add the bounds of numbers that were matched: ``more than 5 MW``."""
    for match in matches:
        group = "x" if match["x"] else "y"
        number = parse_number(match[group])
        if number is None:
            # The word behind the number is no unit: more than 5 seats.
            bare = re.match(r"[£$€]?\s?\d[\d,.]*", match[group])
            number = parse_number(bare[0].rstrip(".,")) if bare else None
        if number is None:
            continue
        value, unit = number
        end = match.end()
        if unit and unit.casefold() not in units and unit not in "£$€%":
            if group == "y":
                continue  # more than 5 of what
            end, unit = match.start("x") + len(match["x"].rstrip(unit)), ""
        step = 1e-9 * max(1.0, abs(value))
        low, high = -math.inf, math.inf
        if match["gt"] or match["ge"] or match["ge_after"]:
            low = value + (step if match["gt"] else 0.0)
        else:
            high = value - (step if match["lt"] else 0.0)
        at = covered(reading.tokens, match.start(), end)
        reading.conditions.append(
            Condition(at[0], low, high, False, unit, reading.question[match.start() : end].strip())
        )
        reading.take(at[0], at[-1])


def _find_dates(reading: Reading) -> None:
    """Add the times in words that no bound has taken: ``since May 1871``."""
    for match in _WHEN.finditer(reading.question):
        first = parse_days(match["from"] or match["start"] or match["day"])
        last = parse_days(match["to"]) if match["to"] else first
        at = covered(reading.tokens, match.start(), match.end())
        if first is None or last is None or not all(reading.free[n] for n in at):
            continue
        how = (match["how"] or (match[0].split()[0] if match["start"] else "between")).lower()
        low, high = {
            "before": (-math.inf, first[0] - 1),
            "until": (-math.inf, first[1]),
            "after": (first[1] + 1, math.inf),
            "since": (first[0], math.inf),
        }.get(how, (first[0], last[1]))
        reading.conditions.append(Condition(at[0], low, high, True, "", match[0]))
        reading.take(at[0], at[-1])


def _find_months(reading: Reading, table: TableView) -> None:
    """Add the months without a year, if the table has days of that month in one year only: ``in March``."""
    days = [
        v.value for column in table.columns if column.kind == "date" for v in column.values if v is not None
    ]
    years = sorted({date.fromordinal(int(day)).year for day in days})
    for match in _IN_MONTH.finditer(reading.question):
        at = covered(reading.tokens, match.start(), match.end())
        months = [span for year in years if (span := parse_days(f"{match['month']} {year}")) is not None]
        months = [(first, last) for first, last in months if any(first <= day <= last for day in days)]
        if len(months) == 1 and all(reading.free[n] for n in at):
            reading.conditions.append(Condition(at[0], *months[0], True, "", match[0]))
            reading.take(at[0], at[-1])


def _units(table: TableView) -> set[str]:
    """Return the units of a table: those of its cells, in brackets in its header, and last words of its header."""
    units = {column.unit.casefold() for column in table.columns} - {""}
    units |= {
        word
        for column in table.columns
        for note in UNIT_NOTE.findall(column.name)
        for word in plain_words(note)
    }
    return units | {
        words[-1]
        for column in table.columns
        if (words := plain_words(column.name))[-1:] and words[-1] in UNIT_WORDS | SNAKE_UNITS
    }
