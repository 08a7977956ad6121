"""Operators of a logic form that need no model: filter, sort, count, sum and compare, over sets that steps have bound.

ROGRAG (arXiv:2503.06474) and KAG let a model calculate; here code does, so that the same evidence always gives
the same result. A value is read from what the evidence says of a row (`value_of`), and a row in which none can be
read is never guessed at: it goes last, or is named as undecided.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from polygraph.retrieve.methods.rograg.quantities import Date, Quantity, dates, quantities
from polygraph.text.normalize import normalize_name
from polygraph.text.words import content_stems

Value: TypeAlias = Quantity | Date
Kind: TypeAlias = Literal["number", "date"]
Comparator: TypeAlias = Literal["<", "<=", ">", ">=", "=", "!="]
Direction: TypeAlias = Literal["min", "max"]

OPS = ("max", "min", "eq", "diff", "earlier", "later")
"""What `compare` can do."""

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
"""How a condition compares, the first that stands in it; equality if none does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A member of a set: an entity, or a value that a step found."""

    key: str
    """Id of the entity, or the normalised text: rows with one key are one thing."""
    name: str
    score: float = 0.0
    texts: tuple[str, ...] = ()
    """What the evidence says of it, best first."""
    facts: tuple[int, ...] = ()
    """Triples that it rests on, by row."""
    chunks: tuple[str, ...] = ()
    """Chunks that it rests on."""
    entity: int | None = None
    """Row of the entity; None for a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A comparison that code can make."""

    comparator: Comparator
    value: Value
    upper: Value | None = None
    """The other end of ``between``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What `compare` found."""

    text: str
    """In words; empty if the values cannot be compared."""
    row: Row | None = None
    """The one that is more, less, earlier or later; None for others."""
    value: float | None = None
    """The difference, for ``diff``: in the base unit, for dates in days (years if only years are known)."""


def kind_of(key: str) -> Kind | None:
    """Whether a key asks for a date or a number, by the first word that tells; None if none does.

    >>> kind_of("year of launch"), kind_of("price"), kind_of("")
    ('date', 'number', None)
    """
    number, date = _NUMBER_KEY.search(key), _DATE_KEY.search(key)
    if number and date:
        return "number" if number.start() <= date.start() else "date"
    return "number" if number else "date" if date else None


def value_of(row: Row, key: str = "", kind: Kind | None = None) -> Value | None:
    """Read a value of a row from its texts.

    Of the texts in which a value can be read, that which shares most content words with the key counts, the first
    of equals; in it the first value. Without a kind, that of the key; if it has none, numbers go before dates.

    >>> value_of(Row(key="a", name="A", texts=("A was sold.", "A cost £12 in 1871.")), "price").value
    12.0
    """
    kind = kind or kind_of(key)
    wanted = set(content_stems(key))
    best: tuple[int, Value] | None = None
    for text in row.texts:
        found: list[Value] = []
        if kind != "date":
            found += quantities(text)
        if kind != "number":
            found += dates(text)
        shared = len(wanted & set(content_stems(text)))
        if found and (best is None or shared > best[0]):
            best = (shared, found[0])
    return best[1] if best else None


def order(a: Value, b: Value) -> int | None:
    """Compare two values: -1, 0 or 1; None if they are of different kinds or dimensions, or dates that overlap.

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
    """Each thing once, in order, with what all its rows say."""
    merged: dict[str, Row] = {}
    for row in rows:
        known = merged.get(row.key)
        merged[row.key] = row if known is None else joined(known, row)
    return list(merged.values())


def joined(a: Row, b: Row) -> Row:
    """Two rows of one thing as one."""
    return Row(
        key=a.key,
        name=a.name,
        score=max(a.score, b.score),
        texts=tuple(dict.fromkeys((*a.texts, *b.texts))),
        facts=tuple(dict.fromkeys((*a.facts, *b.facts))),
        chunks=tuple(dict.fromkeys((*a.chunks, *b.chunks))),
        entity=a.entity if a.entity is not None else b.entity,
    )


def count(rows: Sequence[Row]) -> int:
    """Number of distinct things: canonical entities, so that two spellings of one count once.

    >>> count([Row(key="mara", name="Mara"), Row(key="mara", name="Mara Quill")])
    1
    """
    return len({row.key for row in rows})


def total(rows: Sequence[Row], key: str = "") -> tuple[Quantity | None, list[Row]]:
    """Sum of the numbers of distinct rows, and the rows in which none of its dimension can be read.

    The dimension is that of the first row with a number.
    """
    summed: Quantity | None = None
    left: list[Row] = []
    for row in distinct(rows):
        found = value_of(row, key, "number")
        if not isinstance(found, Quantity) or (summed is not None and found.dimension != summed.dimension):
            left.append(row)
        elif summed is None:
            summed = replace(found, text="")
        else:
            summed = replace(summed, value=summed.value + found.value)
    return summed, left


def sort(rows: Sequence[Row], key: str, direction: Direction = "max", limit: int = 0) -> list[Row]:
    """Order rows by a value, stable; rows without one that can be compared to the first go last.

    Args:
        rows: in any order.
        key: whose value.
        direction: what comes first.
        limit: so many are kept; 0 for all.
    """
    valued = [(row, value_of(row, key)) for row in distinct(rows)]
    first = next((value for _, value in valued if value is not None), None)
    sortable = [(row, _sort_key(v)) for row, v in valued if v is not None and _alike(v, first)]
    # Python's sort keeps the order of equals in both directions.
    ordered = [row for row, _ in sorted(sortable, key=lambda pair: pair[1], reverse=direction == "max")]
    kept = {row.key for row in ordered}
    ordered += [row for row, _ in valued if row.key not in kept]
    return ordered[:limit] if limit > 0 else ordered


def condition(text: str) -> Condition | None:
    """Read a comparison with a number or date; None if there is none that code can make.

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
    """Whether a row fulfils a condition; None if it cannot be told."""
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
    """Compare rows: which is most, least, earliest or latest; whether two are equal; by how much they differ.

    Args:
        rows: at least two; ``eq`` and ``diff`` read the first two.
        op: one of `OPS`.
        key: what to compare them by.

    Returns:
        With an empty text if the values of too few rows can be read or compared.
    """
    kind: Kind | None = "date" if op in {"earlier", "later"} else None
    valued = [(row, value) for row in rows if (value := value_of(row, key, kind)) is not None]
    if op in {"eq", "diff"}:
        return _pair(rows[:2], valued, op, key)
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


def _pair(rows: Sequence[Row], valued: Sequence[tuple[Row, Value]], op: str, key: str) -> Comparison:
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
        return Comparison(text=f"{n:g} {'years' if years else 'days'} ({a.text}; {b.text})", value=n)
    if isinstance(a, Quantity) and isinstance(b, Quantity) and side is not None:
        gap = replace(a, value=abs(a.value - b.value))
        return Comparison(text=f"{written(gap)} ({a.text}; {b.text})", value=gap.value)
    return Comparison(text="")


def written(quantity: Quantity) -> str:
    """A number as people write it, in the unit in which it was read.

    >>> [written(q) for q in quantities("£1150, 3.0 km and 12%")]
    ['£1,150', '3 km', '12%']
    """
    rounded = round(quantity.value / quantity.factor, 6)
    whole = rounded == int(rounded) and abs(rounded) < 1e15
    text = f"{int(rounded):,}" if whole else f"{rounded:,.10g}"
    if quantity.dimension in {"£", "$", "€"}:
        return f"{quantity.dimension}{text}"
    return f"{text}%" if quantity.dimension == "%" else f"{text} {quantity.unit}".rstrip()


def value_row(text: str, label: str = "") -> Row:
    """A value that a step found, as a row."""
    return Row(key=normalize_name(text) or text, name=label or text, texts=(text,))


def _alike(a: Value, b: Value | None) -> bool:
    if isinstance(a, Date) or isinstance(b, Date):
        return isinstance(a, Date) and isinstance(b, Date)
    return b is not None and a.dimension == b.dimension


def _sort_key(value: Value) -> tuple[float, ...]:
    if isinstance(value, Date):
        return tuple(map(float, (*value.first, *value.last)))
    return (value.value,)
