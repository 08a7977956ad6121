"""Cells of a table as numbers and dates, read strictly: a column is numeric or dated as a whole, or not at all."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from polygraph.text.quantities import located_dates
from polygraph.text.words import stem

_NUMBER = re.compile(
    r"(?P<open>\()?(?P<sign>[-−+])?\s?(?P<before>[£$€]|[A-Z]{3}\s)?\s?(?P<digits>\d[\d.,'\u00a0\u202f ]{0,30}\d|\d)"
    r"(?:\s?(?P<unit>%|°?[^\W\d_][^\W\d_./²³·-]{0,14}(?:/[^\W\d_]{1,6}[²³]?)?[²³]?))?(?P<close>\))?\s?(?P<after>[£$€])?"
)
_GROUPS = re.compile(r"\d{1,3}(?P<mark>[.,'\u00a0\u202f ])\d{3}(?:(?P=mark)\d{3})*")
_EMPTY = frozenset({"", "-", "–", "—", "n/a", "na", "none", "?", "null", "unknown", "tbd"})
"""Cells that say that there is no value."""
_DAY_MONTH = re.compile(r"(\d{1,2})(?P<mark>[./-])(\d{1,2})(?P=mark)(\d{4})")
_CODE = re.compile(
    r"\b(?:id|no|nr|number|code|phone|fax|zip|postcode|plz|port|serial|isbn|sku|key|index)\b", re.IGNORECASE
)
"""Words of the name of a column whose numbers are not quantities."""
_YEAR = re.compile(
    r"\b(?:year|jahr|annee|année|año|since|founded|born|built|established|constructed|published|launched)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Value:
    """A number, or a day as its ordinal."""

    value: float
    text: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column with its values."""

    name: str
    cells: tuple[str, ...]
    kind: str
    """``number``, ``date``, ``code`` (numbers that are no quantities) or ``text``."""
    unit: str
    """As written in the cells; empty if they have none."""
    values: tuple[Value | None, ...]
    """Numbers or days by row; None for empty cells, and for all rows of other kinds."""

    @property
    def has_years(self) -> bool:
        """Whether it holds years, which are ordered as dates are."""
        numbers = [value.value for value in self.values if value is not None]
        return self.kind == "code" and bool(numbers) and _are_years(_plain(self.name), numbers)


def read_column(name: str, cells: Sequence[str]) -> Column:
    """Read a column: every cell that is not empty must be a number of one unit, or a date."""
    texts = [cell.strip() for cell in cells]
    filled = [text for text in texts if text.casefold() not in _EMPTY]
    blank: tuple[Value | None, ...] = (None,) * len(texts)
    if filled:
        plain = _plain(name)
        is_code = bool(_CODE.search(plain))
        # Invoice 2024-09 is not of September.
        days = None if is_code else _days(filled)
        if days is not None:
            return Column(name, tuple(texts), "date", "", _spread(texts, days))
        numbers, unit = _numbers(filled)
        if numbers is not None:
            is_code = is_code or _are_years(plain, numbers)
            return Column(name, tuple(texts), "code" if is_code else "number", unit, _spread(texts, numbers))
    return Column(name, tuple(texts), "text", "", blank)


def _plain(name: str) -> str:
    return re.sub(r"[_\W]+", " ", name)


def parse_number(text: str) -> tuple[float, str] | None:
    """Read a number with its unit as a question writes it, where a comma separates thousands.

    >>> parse_number("1,200 kg"), parse_number("SO-1004"), parse_number("€5.50")
    ((1200.0, 'kg'), None, (5.5, '€'))
    """
    numbers, unit = _numbers([text.strip()])
    return (numbers[0], unit) if numbers else None


def parse_days(text: str) -> tuple[float, float] | None:
    """Return the first and the last day of a date as ordinals; None if the text is not one date.

    >>> parse_days("March 2024")
    (738946.0, 738976.0)
    """
    found = located_dates(text)
    if len(found) != 1 or text[: found[0][1]].strip(" ,") or text[found[0][2] :].strip(" ,"):
        return None
    first, last = found[0][0].first, found[0][0].last
    try:
        return float(date(*first).toordinal()), float(_last_day(*last))
    except ValueError:
        return None


def is_empty(cell: str) -> bool:
    """Return whether a cell says that there is no value."""
    return cell.strip().casefold() in _EMPTY


def same_unit(one: str, other: str) -> bool:
    """Return whether two units are written alike, apart from case and number."""
    return stem(one.casefold()) == stem(other.casefold())


def _last_day(year: int, month: int, day: int) -> int:
    """Return the ordinal of a day, or of the last day of its month if that is shorter."""
    for each in range(day, 27, -1):
        try:
            return date(year, month, each).toordinal()
        except ValueError:
            continue
    return date(year, month, day).toordinal()


def _spread(texts: Sequence[str], values: Sequence[float]) -> tuple[Value | None, ...]:
    left = iter(values)
    return tuple(None if text.casefold() in _EMPTY else Value(next(left), text) for text in texts)


def _days(texts: Sequence[str]) -> list[float] | None:
    """Return the first day of each date; None if one is no date, or the order of day and month is not clear."""
    if not any(map(str.isdigit, texts[0])):
        return None
    numeric = [_DAY_MONTH.fullmatch(text) for text in texts]
    if all(numeric):
        parts = [(int(m[1]), int(m[3]), int(m[4])) for m in numeric if m]
        dotted = all(m["mark"] == "." for m in numeric if m)
        day_first = dotted or any(a > 12 for a, _, _ in parts)
        month_first = any(b > 12 for _, b, _ in parts)
        if day_first == month_first:
            return None
        try:
            return [
                float(date(y, b, a).toordinal() if day_first else date(y, a, b).toordinal())
                for a, b, y in parts
            ]
        except ValueError:
            return None
    found = []
    for text in texts:
        days = parse_days(text) if len(text) > 4 else None  # a bare year is a number
        if days is None:
            return None
        found.append(days[0])
    return found


def _numbers(texts: Sequence[str]) -> tuple[list[float] | None, str]:
    """Return the numbers and their unit; None if one is no number, units differ, or separators are not clear."""
    matches = [_NUMBER.fullmatch(text) for text in texts]
    units: dict[str, str] = {}
    written: list[tuple[str, float]] = []
    for match in matches:
        if match is None or bool(match["open"]) != bool(match["close"]):
            return None, ""
        digits = match["digits"].strip()
        if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
            return None, ""  # a code
        unit = (match["before"] or match["after"] or match["unit"] or "").strip()
        units.setdefault(stem(unit.casefold()), unit)
        written.append((digits, -1.0 if match["open"] or (match["sign"] or "+") in "-−" else 1.0))
    if len(units) > 1:
        return None, ""
    decimal = _decimal_mark([digits for digits, _ in written])
    if decimal is None:
        return None, ""
    values = []
    for digits, sign in written:
        whole, _, part = digits.partition(decimal)
        if not (whole.isdigit() or _GROUPS.fullmatch(whole)) or not (part.isdigit() or not part):
            return None, ""
        values.append(sign * float(re.sub(r"\D", "", whole) + (f".{part}" if part else "")))
    return values, next(iter(units.values()))


def _decimal_mark(numbers: Sequence[str]) -> str | None:
    """Return the decimal mark of a column; None if its cells contradict each other or leave it open."""
    votes: set[str] = set()
    open_points = 0
    for digits in numbers:
        points, commas = digits.count("."), digits.count(",")
        if points and commas:
            votes.add("." if digits.rfind(".") > digits.rfind(",") else ",")
        elif points > 1 or commas > 1:
            votes.add("," if points > 1 else ".")
        elif points or commas:
            mark = "." if points else ","
            whole, _, part = digits.partition(mark)
            if len(part) != 3 or len(whole) > 3 or whole == "0":
                votes.add(mark)
            elif points:
                open_points += 1
    if len(votes) > 1 or (not votes and open_points):
        return None  # 1.250 is one and a quarter, or one thousand two hundred and fifty
    return votes.pop() if votes else "."


def _are_years(name: str, numbers: Sequence[float]) -> bool:
    in_range = all(value.is_integer() and 1500 <= value <= 2100 for value in numbers)
    return in_range and (bool(_YEAR.search(name)) or len(numbers) > 4)
