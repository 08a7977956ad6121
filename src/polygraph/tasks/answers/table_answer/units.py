"""Units of the numbers of a column: in its cells, at the end of its header, or in a column beside it."""

import re
from collections.abc import Mapping, Sequence

from polygraph.tasks.answers.table_answer.cells import Column
from polygraph.tasks.answers.table_answer.words import SNAKE_UNITS, UNIT_WORDS
from polygraph.text.words import word_set

UNIT_NOTE = re.compile(r"[(\[]([^)\]]*)[)\]]")
"""A note beside the name of a column, which mostly holds a unit."""
_CURRENCIES = word_set("eur usd gbp chf pln czk sek nok dkk jpy cny inr aud cad nzd huf ron try zł kr £ $ €")
_WRITTEN = _CURRENCIES | word_set("""
    % ‰ g kg mg t lb oz km m cm mm µm nm in ft mi l ml cl dl hl gal m² m³ cm² cm³ km² m2 m3 ha kw w mw gw kwh mwh gwh
    wh j kj mj v kv mv a ma ah va kva hz khz mhz ghz bar mbar psi pa kpa hpa mpa °c °f c k n kn db db(a) rpm h hr hrs
    min s sec ms µs d day days week weeks month months year years hour hours minutes seconds kb mb gb tb bytes px pt pcs
    pieces stück k€ t€ m€ keur teur meur persons people tonnes litres liters metres meters miles
    """)
"""Units as headers and cells write them, case-folded."""
_UNIT_COLUMN = word_set(
    "currency unit units uom währung waehrung einheit unité devise unidad moneda jednostka waluta"
)
_OF_UNIT_COLUMN = word_set("code of measure measurement")


def is_unit(text: str) -> bool:
    """Return whether a text is a unit of measurement or a currency.

    >>> is_unit("m³/h"), is_unit("EUR"), is_unit("full time")
    (True, True, False)
    """
    parts = text.casefold().split("/")
    return len(parts) < 3 and all(part.strip() in _WRITTEN for part in parts)


def header_unit(name: str) -> str:
    """Return the unit that the name of a column gives, empty if it gives none.

    >>> header_unit("Weight (kg)"), header_unit("price_eur"), header_unit("lead_time_days"), header_unit("Rate (net)")
    ('kg', 'EUR', 'days', '')
    """
    notes: list[str] = [note.strip() for note in UNIT_NOTE.findall(name) if is_unit(note.strip())]
    if notes:
        return notes[-1]
    words: list[str] = re.findall(r"[^\W_]+", UNIT_NOTE.sub(" ", name))
    last = words[-1].casefold() if len(words) > 1 else ""
    if last in _CURRENCIES and last in UNIT_WORDS:
        return last.upper()
    return words[-1] if last in UNIT_WORDS or ("_" in name and last in SNAKE_UNITS) else ""


class Units:
    """The units of the columns of a table."""

    def __init__(self, columns: Sequence[Column], key: int, counts: Sequence[bool]) -> None:
        """Find the columns that hold units.

        Args:
            columns: all of the table.
            key: the column that names the rows, which holds no units.
            counts: whether the name of each column says that it counts things, which have no currency.
        """
        self._columns = columns
        self._counts = counts
        words = [re.findall(r"[^\W_]+", UNIT_NOTE.sub(" ", column.name.casefold())) for column in columns]
        names = {
            u: of
            for u, column in enumerate(columns)
            if u != key and column.kind == "text" and (of := _names_units(words[u])) is not None
        }
        # A business unit is no unit, unless numbers of a business stand in the table.
        found = {u: self._measured(u, words, names) for u in names}
        self._of = {u: measured for u, measured in found.items() if measured or not names[u]}

    def _measured(
        self, u: int, words: Sequence[Sequence[str]], names: Mapping[int, Sequence[str]]
    ) -> list[int]:
        """Return the columns of numbers that a column of units belongs to: beside it, or with a word in common."""
        numbers = [c for c, column in enumerate(self._columns) if column.kind == "number"]
        if names[u]:
            return [c for c in numbers if set(names[u]) & set(words[c])]
        left = u - 1
        while left in names:  # a price with a currency and a unit
            left -= 1
        beside = next((c for c in (left, u + 1) if c in numbers), None)
        return [] if beside is None else [c for c in numbers if set(words[beside]) & set(words[c])]

    def of(self, c: int, rows: Sequence[int]) -> str | None:
        """Return the unit of the numbers of a column in some rows, empty if there is none.

        None if there are several, or if a column of units may be about other numbers but names several.
        """
        column = self._columns[c]
        if own := column.unit or header_unit(column.name):
            return own
        if column.kind != "number":
            return ""
        if beside := [self._units(u, c, rows) for u, measured in self._of.items() if c in measured]:
            return None if any(len(units) > 1 for units in beside) else next(iter(beside[0]), "")
        for u in self._of:
            units = self._units(u, c, rows)
            is_currency = all(unit.casefold() in _CURRENCIES for unit in units)
            if len(units) > 1 and not (is_currency and self._counts[c]):
                return None
        return ""

    def _units(self, u: int, c: int, rows: Sequence[int]) -> set[str]:
        """Return what a column of units says of the numbers of a column in some rows."""
        return {self._columns[u].cells[n] for n in rows if self._columns[c].values[n] is not None}

    def beside(self, c: int, row: int) -> str:
        """Return the unit that a column of units gives the number of a row; empty if there is none."""
        column = self._columns[c]
        return "" if column.unit or header_unit(column.name) else self.of(c, [row]) or ""


def _names_units(words: Sequence[str]) -> list[str] | None:
    """Return the words of what a column of units belongs to, as in `price currency`; None if it holds no units."""
    if not words or (words[-1] not in _UNIT_COLUMN and words[0] not in _UNIT_COLUMN):
        return None
    if words[0] in _UNIT_COLUMN:
        return [] if set(words[1:]) <= _OF_UNIT_COLUMN else None
    return list(words[:-1])


def number_text(value: float) -> str:
    """Return a number with at most two decimals, a small one with three digits.

    >>> number_text(1234.5), number_text(2 / 3), number_text(0.00456)
    ('1,234.5', '0.67', '0.00456')
    """
    if 0 < abs(value) < 0.1:
        return f"{value:.3g}"
    rounded = round(value, 2)
    return f"{rounded:,.0f}" if float(rounded).is_integer() else f"{rounded:,.2f}".rstrip("0")


def with_unit(value: float, unit: str) -> str:
    """Return a number with its unit, an amount of money with no or two decimals.

    >>> with_unit(162.4, "EUR"), with_unit(1.5, "kg"), with_unit(20, "€")
    ('162.40 EUR', '1.5 kg', '€20')
    """
    is_money = unit.casefold() in _CURRENCIES
    number = f"{value:,.2f}" if unit and is_money and round(value, 2) % 1 else number_text(value)
    if not unit:
        return number
    if unit in "£$€":
        return f"{unit}{number}"
    return f"{number}{unit}" if unit in "%‰" else f"{number} {unit}"
