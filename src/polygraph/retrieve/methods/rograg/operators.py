"""Operators of a logic form that need no model: filter, sort, count, sum and compare, over the results of steps.

ROGRAG (arXiv:2503.06474) and KAG let a model calculate; here code does, so that the same evidence always gives the same
result. The value of a row is read from the texts about it (`value_of`). A row without a readable value is never
guessed: it is sorted last, or listed as undecided.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from polygraph.text.normalize import normalize_name
from polygraph.text.prose import count_noun
from polygraph.text.quantities import (
    CURRENCIES,
    Date,
    Quantity,
    dates,
    located_dates,
    located_quantities,
    quantities,
)
from polygraph.text.words import content_stems

Value: TypeAlias = Quantity | Date
Kind: TypeAlias = Literal["number", "date"]
Comparator: TypeAlias = Literal["<", "<=", ">", ">=", "=", "!="]
Direction: TypeAlias = Literal["min", "max"]

OPS = ("max", "min", "eq", "diff", "earlier", "later")
"""Operations of `compare`."""

_DATE_KEY = re.compile(
    r"\b(?:date|year|day|month|when|time of|earl(?:y|ier|iest)|late(?:r|st)?|old(?:er|est)?|young(?:er|est)?|"
    r"born|founded|built|died|launched|published|first|last|before|after|since)\b",
    re.IGNORECASE,
)
_NUMBER_KEY = re.compile(
    r"\b(?:number|amount|price|cost|salary|sum|total|height|length|weight|size|population|age|"
    r"how (?:many|much|tall|long))\b",
    re.IGNORECASE,
)
_MONEY_KEY = re.compile(
    r"\b(?:price|costs?|salary|wages?|revenues?|income|turnover|profits?|loss|fees?|fines?|budget|debts?|loan|"
    r"dues|rent|tax(?:es)?|insured|paid|money|worth)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+")
_FAR = 1_000
"""Distance of a value from a key that the text does not contain, in words."""
_COUNTS_ANOTHER = 10
"""Added to the distance of a bare number that counts the noun behind it: ``300 employees`` is no revenue."""
_PHRASES: Sequence[tuple[str, Comparator]] = (
    (r">=|≥|\bat least\b|\bno (?:less|fewer|earlier) than\b|\bsince\b|\bor more\b|\bfrom\b", ">="),
    (r"<=|≤|\bat most\b|\bno (?:more|later) than\b|\buntil\b|\bup to\b|\bor (?:less|fewer)\b", "<="),
    (r"!=|≠|\bnot (?:equal|in|on)\b|\bother than\b", "!="),
    (
        r">|\b(?:more|greater|larger|higher|later|longer|older|heavier|taller) than\b|"
        r"\b(?:above|over|after|exceed\w{0,3})\b",
        ">",
    ),
    (
        r"<|\b(?:less|fewer|smaller|lower|earlier|shorter|younger|lighter) than\b|\b(?:below|under|before)\b",
        "<",
    ),
)
_COMPARATORS: Sequence[tuple[re.Pattern[str], Comparator]] = tuple(
    (re.compile(pattern, re.IGNORECASE), comparator) for pattern, comparator in _PHRASES
)
"""Comparators by pattern; the first that matches a condition counts, equality if none does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """An element of a result: an entity, or a value that a step found."""

    key: str
    """Id of the entity, or the normalized text; rows with the same key are the same thing."""
    name: str
    texts: tuple[str, ...] = ()
    """Texts about it from the evidence, best first."""
    facts: tuple[int, ...] = ()
    """Rows of the triples it rests on."""
    chunks: tuple[str, ...] = ()
    """Ids of the chunks it rests on."""
    entity: int | None = None
    """Row of the entity; None for a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A comparison that code can make."""

    comparator: Comparator
    value: Value
    upper: Value | None = None
    """Upper bound, for ``between``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The result of `compare`."""

    text: str
    """In words; empty if the values cannot be compared."""
    row: Row | None = None
    """The greatest, least, earliest or latest row; None for other operations."""
    value: Quantity | None = None
    """For ``diff``, the difference; of dates a bare number of days (of years if only years are known)."""


def kind_of(key: str) -> Kind | None:
    """Tell whether a key asks for a date or a number, by its first indicative word; None if it has none.

    >>> kind_of("year of launch"), kind_of("price"), kind_of("")
    ('date', 'number', None)
    """
    number, date = _NUMBER_KEY.search(key), _DATE_KEY.search(key)
    if number and date:
        return "number" if number.start() <= date.start() else "date"
    return "number" if number else "date" if date else None


def value_of(row: Row, key: str = "", kind: Kind | None = None) -> Value | None:
    """Read a value of a row from its texts.

    Of the texts that share most content words with the key, the value that stands nearest to a word of the key; of
    values at equal distance the first. A bare number in front of a noun counts that noun, so it is taken for another
    key only if nothing else is at hand; an amount of money is preferred for keys such as `price` or `revenue`. `kind`
    defaults to that of the key; if the key has none, numbers come before dates.

    >>> value_of(Row(key="a", name="A", texts=("A was sold.", "A cost £12 in 1871.")), "price").value
    12.0
    >>> value_of(Row(key="b", name="B", texts=("B has 300 employees and revenue of $2bn.",)), "revenue").text
    '$2bn'
    """
    kind = kind or kind_of(key)
    wanted = set(content_stems(key))
    is_money = _MONEY_KEY.search(key) is not None
    best: tuple[tuple[int, bool, int], Value] | None = None
    for text in row.texts:
        # Numbers stand before dates: at equal distance the first counts.
        found: list[tuple[Value, int, int]] = []
        if kind != "date":
            found += located_quantities(text)
        if kind != "number":
            found += located_dates(text)
        if not found:
            continue
        shared = len(wanted & set(content_stems(text)))
        words = [(m.start(), m.end(), next(iter(content_stems(m.group())), "")) for m in _WORD.finditer(text)]
        for value, start, end in found:
            is_other = is_money and isinstance(value, Quantity) and value.dimension not in CURRENCIES
            rank = (-shared, is_other, _distance(value, start, end, words, wanted))
            if best is None or rank < best[0]:
                best = (rank, value)
    return best[1] if best else None


def _distance(
    value: Value, start: int, end: int, words: Sequence[tuple[int, int, str]], wanted: set[str]
) -> int:
    """Return how many words stand between a value and the nearest word of a key; `_FAR` if the key has no word here."""
    before = [stem in wanted for _, stop, stem in words if stop <= start]
    after = [stem in wanted for begin, _, stem in words if begin >= end]
    nearest = min(
        next((n for n, hit in enumerate(reversed(before)) if hit), _FAR),
        next((n for n, hit in enumerate(after) if hit), _FAR),
    )
    counted = next((stem for begin, _, stem in words if begin == end + 1), "")
    is_other = isinstance(value, Quantity) and not value.dimension and counted and counted not in wanted
    return nearest + (_COUNTS_ANOTHER if wanted and is_other else 0)


def order(a: Value, b: Value) -> int | None:
    """Compare two values: -1, 0 or 1; None if their kinds or dimensions differ, or if they are overlapping dates.

    >>> order(dates("1871")[0], dates("March 1889")[0]), order(quantities("2 km")[0], quantities("3 kg")[0])
    (-1, None)
    """
    if isinstance(a, Date) and isinstance(b, Date):
        if (a.first, a.last) == (b.first, b.last):
            return 0
        if a.before(b):
            return -1
        return 1 if b.before(a) else None
    if isinstance(a, Quantity) and isinstance(b, Quantity) and a.dimension == b.dimension:
        return (a.value > b.value) - (a.value < b.value)
    return None


def distinct(rows: Sequence[Row]) -> list[Row]:
    """Merge rows with the same key, in order of first occurrence."""
    merged: dict[str, Row] = {}
    for row in rows:
        known = merged.get(row.key)
        merged[row.key] = row if known is None else _merge(known, row)
    return list(merged.values())


def _merge(a: Row, b: Row) -> Row:
    return Row(
        key=a.key,
        name=a.name,
        texts=tuple(dict.fromkeys((*a.texts, *b.texts))),
        facts=tuple(dict.fromkeys((*a.facts, *b.facts))),
        chunks=tuple(dict.fromkeys((*a.chunks, *b.chunks))),
        entity=a.entity if a.entity is not None else b.entity,
    )


def count(rows: Sequence[Row]) -> int:
    """Count distinct rows: resolved entities, so that two spellings of one entity count once.

    >>> count([Row(key="mara", name="Mara"), Row(key="mara", name="Mara Quill")])
    1
    """
    return len({row.key for row in rows})


def total(rows: Sequence[Row], key: str = "") -> tuple[Quantity | None, list[Row]]:
    """Sum the numbers of distinct rows; also return the rows without a number of that dimension.

    The dimension is that of the first row with a number.
    """
    summed: Quantity | None = None
    without_number: list[Row] = []
    for row in distinct(rows):
        found = value_of(row, key, "number")
        if not isinstance(found, Quantity) or (summed is not None and found.dimension != summed.dimension):
            without_number.append(row)
        elif summed is None:
            summed = replace(found, text="")
        else:
            summed = replace(summed, value=summed.value + found.value)
    return summed, without_number


def sort(rows: Sequence[Row], key: str, direction: Direction = "max", limit: int = 0) -> list[Row]:
    """Sort rows by value, stably; rows without a value comparable to the first one come last.

    Args:
        rows: in any order.
        key: what the value is of.
        direction: whether the least or the greatest comes first.
        limit: number of rows to keep; 0 for all.
    """
    valued = [(row, value_of(row, key)) for row in distinct(rows)]
    first = next((value for _, value in valued if value is not None), None)
    sortable = [(row, _sort_key(v)) for row, v in valued if v is not None and _comparable(v, first)]
    # Python's sort is stable in both directions.
    ordered = [row for row, _ in sorted(sortable, key=lambda pair: pair[1], reverse=direction == "max")]
    kept = {row.key for row in ordered}
    ordered += [row for row, _ in valued if row.key not in kept]
    return ordered[:limit] if limit > 0 else ordered


def condition(text: str) -> Condition | None:
    """Parse a comparison with a number or date; None if the text has none.

    >>> condition("launched after 1870").comparator, condition("between £5 and £9").upper.value
    ('>', 9.0)
    >>> condition("is a barque") is None
    True
    """
    text = text[:500]
    values: list[Value] = [*dates(text)]
    if not values:
        values = [*quantities(text)]
    if not values:
        return None
    if re.search(r"\bbetween\b", text, re.IGNORECASE) and len(values) == 2:
        return Condition(comparator=">=", value=values[0], upper=values[1])
    comparator: Comparator = next((c for pattern, c in _COMPARATORS if pattern.search(text)), "=")
    return Condition(comparator=comparator, value=values[0])


def satisfies(row: Row, wanted: Condition, key: str = "") -> bool | None:
    """Tell whether a row fulfils a condition; None if that cannot be decided."""
    kind: Kind = "date" if isinstance(wanted.value, Date) else "number"
    value = value_of(row, key, kind)
    if value is None:
        return None
    if wanted.comparator in {"=", "!="} and isinstance(value, Date) and isinstance(wanted.value, Date):
        within = wanted.value.first <= value.first and value.last <= wanted.value.last
        return within == (wanted.comparator == "=")
    low = order(value, wanted.value)
    if low is None:
        return None
    holds = {
        "<": low < 0, "<=": low <= 0, ">": low > 0, ">=": low >= 0, "=": low == 0, "!=": low != 0,
    }[wanted.comparator]  # fmt: skip
    if wanted.upper is None or not holds:
        return holds
    high = order(value, wanted.upper)
    return None if high is None else high <= 0


def compare(rows: Sequence[Row], op: str, key: str = "") -> Comparison:
    """Compare rows: find the greatest, least, earliest or latest, test for equality, or compute the difference.

    Args:
        rows: at least two; ``eq`` and ``diff`` read the first two.
        op: one of `OPS`.
        key: what to compare them by.

    Returns:
        A comparison, with an empty text if too few values can be read or compared.
    """
    kind: Kind | None = "date" if op in {"earlier", "later"} else None
    valued = [(row, value) for row in rows if (value := value_of(row, key, kind)) is not None]
    if op in {"eq", "diff"}:
        return _compare_pair(rows[:2], valued, op, key)
    if len(valued) < 2 or len(valued) < len(rows):
        return Comparison(text="")
    least = op in {"min", "earlier"}
    best = valued[0]
    for row, value in valued[1:]:
        side = order(value, best[1])
        if side is None:
            return Comparison(text="")
        if (side < 0) if least else (side > 0):
            best = (row, value)
    others = "; ".join(f"{row.name}: {value.text}" for row, value in valued)
    if sum(order(value, best[1]) == 0 for _, value in valued) > 1:
        return Comparison(text=f"equal ({others})")
    return Comparison(text=f"{best[0].name} ({others})", row=best[0])


def _compare_pair(rows: Sequence[Row], valued: Sequence[tuple[Row, Value]], op: str, key: str) -> Comparison:
    if len(rows) < 2:
        return Comparison(text="")
    (first, second), values = rows, {row.key: value for row, value in valued}
    a, b = values.get(first.key), values.get(second.key)
    side = order(a, b) if a is not None and b is not None else None
    if op == "eq":
        entities = first.entity is not None and second.entity is not None
        if entities and (not key or side is None):
            same = first.key == second.key
            return Comparison(text=f"{'the same' if same else 'not the same'} ({first.name}; {second.name})")
        if a is None or b is None or side is None:
            return Comparison(text="")
        return Comparison(text=f"{'equal' if side == 0 else 'not equal'} ({a.text}; {b.text})")
    if isinstance(a, Date) and isinstance(b, Date):
        years = all(d.first[1:] == (1, 1) and d.last[1:] == (12, 31) for d in (a, b))
        n = float(abs(a.first[0] - b.first[0])) if years else abs(a.day_number - b.day_number)
        gap = count_noun(int(n), "year" if years else "day")
        return Comparison(text=f"{gap} ({a.text}; {b.text})", value=Quantity(value=n))
    if isinstance(a, Quantity) and isinstance(b, Quantity) and side is not None:
        size = replace(a, value=abs(a.value - b.value), text="")
        return Comparison(text=f"{written(size)} ({a.text}; {b.text})", value=size)
    return Comparison(text="")


def written(quantity: Quantity) -> str:
    """Format a number in the unit in which it was written.

    >>> [written(q) for q in quantities("£1150, 3.0 km and 12%")]
    ['£1,150', '3 km', '12%']
    """
    rounded = round(quantity.value / quantity.factor, 6)
    whole = rounded.is_integer() and abs(rounded) < 1e15
    text = f"{int(rounded):,}" if whole else f"{rounded:,.10g}"
    if quantity.dimension in {"£", "$", "€"}:
        return f"{quantity.dimension}{text}"
    return f"{text}%" if quantity.dimension == "%" else f"{text} {quantity.unit}".rstrip()


def in_common_units(values: Mapping[str, Value]) -> dict[str, Value]:
    """Convert quantities of one dimension to the unit of the first of them, so that they can be calculated with.

    >>> found = {"a": quantities("2 km")[0], "b": quantities("500 m")[0], "c": quantities("3 kg")[0]}
    >>> [written(q) for q in in_common_units(found).values()]
    ['2 km', '0.5 km', '3 kg']
    """
    first: dict[str, Quantity] = {}
    for value in values.values():
        if isinstance(value, Quantity):
            first.setdefault(value.dimension, value)
    return {
        name: replace(value, unit=first[value.dimension].unit, factor=first[value.dimension].factor)
        if isinstance(value, Quantity)
        else value
        for name, value in values.items()
    }


def value_row(text: str) -> Row:
    """Make a row of a value."""
    return Row(key=normalize_name(text) or text, name=text, texts=(text,))


def _comparable(a: Value, b: Value | None) -> bool:
    if isinstance(a, Date) or isinstance(b, Date):
        return isinstance(a, Date) and isinstance(b, Date)
    return b is not None and a.dimension == b.dimension


def _sort_key(value: Value) -> tuple[float, ...]:
    if isinstance(value, Date):
        return tuple(map(float, (*value.first, *value.last)))
    return (value.value,)
