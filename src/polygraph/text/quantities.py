"""Numbers with units, and dates, read from text."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

MAX_CHARACTERS = 20_000
"""Text beyond is not read."""

_UNITS: Mapping[str, tuple[str, float]] = {
    word: (dimension, factor)
    for dimension, units in {
        "m": {
            "mm millimetre millimetres millimeter millimeters": 0.001,
            "cm centimetre centimetres centimeter centimeters": 0.01,
            "m metre metres meter meters": 1.0,
            "km kilometre kilometres kilometer kilometers": 1000.0,
            "inch inches": 0.0254,
            "ft foot feet": 0.3048,
            "yard yards": 0.9144,
            "fathom fathoms": 1.8288,
            "mile miles": 1609.344,
        },
        "kg": {
            "mg milligram milligrams": 1e-6,
            "g gram grams": 0.001,
            "kg kilogram kilograms": 1.0,
            "oz ounce ounces": 0.028349523125,
            "lb lbs": 0.45359237,
            "t tonne tonnes": 1000.0,
            "ton tons": 1016.0469088,
        },
        "s": {
            "second seconds": 1.0,
            "minute minutes": 60.0,
            "h hour hours": 3600.0,
            "day days": 86400.0,
            "week weeks": 604800.0,
            "month months": 2629746.0,
            "year years": 31556952.0,
            "century centuries": 3155695200.0,
        },
        "£": {"pound pounds sterling": 1.0, "shilling shillings": 0.05, "pence": 1 / 240},
        "$": {"dollar dollars usd": 1.0, "cent cents": 0.01},
        "€": {"euro euros eur": 1.0},
        "%": {"percent": 1.0},
        "W": {"w watt watts": 1.0, "kw kilowatt kilowatts": 1e3, "mw megawatt megawatts": 1e6},
    }.items()
    for names, factor in units.items()
    for word in names.split()
}
"""Dimension (its base unit) and factor by word. `pound` means money; a weight in pounds is recognized as `lb`."""
_SCALES: Mapping[str, float] = {
    **{"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "dozen": 12.0},
    **{"k": 1e3, "m": 1e6, "bn": 1e9},
}
CURRENCIES = frozenset("£$€")
_SIGNS = CURRENCIES | {"%"}
_SHORT_SCALES = frozenset({"k", "m", "bn"})
"""Scales only after a currency sign: ``5 m`` are metres, ``£5m`` are millions."""
_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBER_WORDS: Mapping[str, int] = {
    **{word: n for n, word in enumerate(_ONES.split())},
    **{word: 10 * n for n, word in enumerate(_TENS.split(), 2)},
}
"""Values of English number words up to ninety."""
_FOREIGN = {
    2: "zwei deux due", 3: "drei trois tres tre", 4: "vier quatre cuatro quattro", 5: "fünf cinq cinco cinque",
    6: "sechs seis", 7: "sieben sept siete sette", 8: "huit ocho", 9: "neun nueve nove", 10: "zehn dix diez dieci",
    11: "onze undici", 12: "zwölf douze doce dodici", 13: "dreizehn treize trece tredici",
    14: "vierzehn quatorze catorce quattordici", 15: "fünfzehn quinze quince quindici",
    16: "sechzehn seize dieciséis sedici", 17: "siebzehn diecisiete diciassette",
    18: "achtzehn dieciocho diciotto", 19: "neunzehn diecinueve diciannove", 20: "zwanzig vingt veinte venti",
    30: "dreißig trente treinta trenta", 40: "vierzig quarante cuarenta quaranta",
    50: "fünfzig cinquante cincuenta cinquanta", 60: "sechzig soixante sesenta sessanta",
    70: "siebzig setenta settanta", 80: "achtzig ochenta ottanta", 90: "neunzig noventa novanta",
    100: "hundert cent cien cento", 1000: "tausend mille mil",
}  # fmt: skip
FOREIGN_NUMBER_WORDS: Mapping[str, int] = {word: n for n, names in _FOREIGN.items() for word in names.split()}
"""Values of number words in German, French, Spanish and Italian, without those that mean something else in one of these
languages or in English: `once`, `elf`, `sei`, `neuf`."""
_MONTH_NAMES = """january/jan february/feb march/mar april/apr may june/jun july/jul august/aug september/sept/sep
    october/oct november/nov december/dec"""
_MONTHS: Mapping[str, int] = {
    name: n for n, names in enumerate(_MONTH_NAMES.split(), 1) for name in names.split("/")
}
_WEEKDAYS = frozenset(["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"])
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_FIGURE = re.compile(
    r"(?P<money>[£$€])?\s?(?P<sign>(?<!\w)[-−])?"
    r"(?P<n>\d{1,3}(?:,\d{3}){1,6}(?!\d)(?:\.\d{1,15})?|\d{1,15}(?:\.\d{1,15})?)(?P<over>/\d{1,6})?"
    r"\s?(?P<unit>%|[^\W\d_]{1,14}(?![\w]))?(?:\s(?P<unit2>[^\W\d_]{1,14}(?!\w)))?"
)
_WORD = re.compile(r"[^\W\d_]{1,14}")
_DATE = re.compile(
    rf"""\b(?:
      (?P<iso_year>\d{{4}})-(?P<iso_month>0[1-9]|1[0-2])(?:-(?P<iso_day>0[1-9]|[12]\d|3[01]))?(?!\d)
    | (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s|day\sof\s)?(?P<month>{_MONTH})\.?,?\s(?P<year>\d{{3,4}})(?!\d)
    | (?P<month2>{_MONTH})\.?\s(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?,?\s(?P<year2>\d{{3,4}})(?!\d)
    | (?P<month3>{_MONTH})\.?,?\s(?:of\s)?(?P<year3>\d{{3,4}})(?!\d)
    | (?<!(?-i:[A-Z0-9]-))(?P<year4>\d{{4}})(?-i:s)\b
    | (?P<year5>\d{{1,4}})\s(?P<era>BC|BCE|AD|CE)\b
    | (?<![\d.,£$€])(?P<year6>[12]\d{{3}})(?!\d|s\b|[.,]\d|\s?[%£$€])
    )""",
    re.IGNORECASE | re.VERBOSE,
)

_DOTTED_DATE = re.compile(r"\b(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})\b")
"""Day, month and year, as in German; with dots the order is always this."""
_YEARS = ("iso_year", "year", "year2", "year3", "year4", "year5", "year6")
"""Groups of the pattern that contain a year; each match sets one of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number, in the base unit of its dimension."""

    value: float
    dimension: str = ""
    """Base unit: ``m kg s £ $ € % W``; empty for a bare number."""
    unit: str = ""
    """As written, in lower case; empty for money, percentages and bare numbers."""
    factor: float = 1.0
    """One such unit in base units."""
    text: str = ""
    """As written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Date:
    """A day, a month, a year or a decade, as precise as it is written."""

    first: tuple[int, int, int]
    """Year, month and day of its beginning; years BC are negative."""
    last: tuple[int, int, int]
    """Year, month and day of its end; every month has 31 days here, which does not affect the order."""
    text: str = ""
    """As written."""

    def before(self, other: "Date") -> bool:
        """Tell whether it ends before the other begins."""
        return self.last < other.first

    @property
    def day_number(self) -> float:
        """Ordinal of its first day in the proleptic Gregorian calendar, where 1 January of year 1 is day 1."""
        year, month, day = self.first
        # Counted from March, so that the leap day is the last of its year.
        y, m = (year - 1, month + 9) if month <= 2 else (year, month - 3)
        return float(365 * y + y // 4 - y // 100 + y // 400 + (153 * m + 2) // 5 + day - 306)


def dates(text: str) -> list[Date]:
    """Read the dates in a text, in order.

    Days, months and years in the usual English and ISO formats, decades (``1880s``), years BC, and bare years from
    1000 to 2999. Month names are English. A decade has four digits and a small s: ``210S`` is the end of a code.

    >>> [d.first for d in dates("From 12 March 1889 to May 1890, or 1890-06-01; 44 BC.")]
    [(1889, 3, 12), (1890, 5, 1), (1890, 6, 1), (-44, 1, 1)]
    """
    return [found for found, _, _ in located_dates(text)]


def document_date(date: str, title: str) -> Date | None:
    """Return the day, month or year of a document, from its date, else from its title; None without a clear one.

    >>> document_date("17.05.2024", "").first, document_date("", "Ticket prices 2025").first
    ((2024, 5, 17), (2025, 1, 1))
    >>> document_date("", "Ticket prices") is None
    True
    """
    if match := _DOTTED_DATE.search(date):
        day, month, year = map(int, match.groups())
        if 1 <= month <= 12 and 1 <= day <= 31:
            return Date(first=(year, month, day), last=(year, month, day), text=match[0])
    for text in (date, title):
        found = dates(text)
        if found:
            return found[0] if len(found) == 1 else None
    return None


def is_time(text: str) -> bool:
    """Return whether a text is a number, a month or a day of the week, and nothing else.

    >>> is_time("March"), is_time("Sunday"), is_time("1890"), is_time("March Hare")
    (True, True, True, False)
    """
    folded = text.casefold()
    return folded.isdigit() or folded in _MONTHS or folded in _WEEKDAYS


def located_dates(text: str) -> list[tuple[Date, int, int]]:
    """Read the dates in a text as `dates` does, each with its offsets."""
    return _dates(text[:MAX_CHARACTERS])


def quantities(text: str) -> list[Quantity]:
    """Read the numbers in a text with their units, in order; the digits of dates are left out.

    Digits with thousands separators, a decimal point or a fraction; scales (``1.5 million``); currency signs and words;
    English number words (``twenty-five pounds``). A bare ``one`` is not a number.

    >>> [(q.value, q.dimension) for q in quantities("£1,150 in 1876, two miles, 12% and 3/4")]
    [(1150.0, '£'), (3218.688, 'm'), (12.0, '%'), (0.75, '')]
    """
    return [quantity for quantity, _, _ in located_quantities(text)]


def located_quantities(text: str) -> list[tuple[Quantity, int, int]]:
    """Read the numbers in a text as `quantities` does, each with the offsets of what `Quantity.text` says."""
    text = text[:MAX_CHARACTERS]
    for _, start, end in _dates(text):
        text = text[:start] + "," * (end - start) + text[end:]
    found = [*_figures(text), *_spelled(text)]
    ordered = sorted(found, key=lambda pair: pair[0])
    return [(quantity, start, start + len(quantity.text)) for start, quantity in ordered]


def _dates(text: str) -> list[tuple[Date, int, int]]:
    found = []
    for match in _DATE.finditer(text):
        get = match.groupdict()
        year = int(next(get[name] for name in _YEARS if get[name]))
        month_text = get["month"] or get["month2"] or get["month3"]
        month = int(get["iso_month"] or 0) or _MONTHS.get((month_text or "").casefold(), 0)
        day = int(get["iso_day"] or get["day"] or get["day2"] or 0)
        follows = _WORD.match(text, match.end() + 1) if get["year6"] else None
        if day > 31 or year == 0 or (follows and follows.group().casefold() in _UNITS):
            continue  # not a day, not a year, or a quantity such as ``1200 tons``
        if (get["era"] or "").upper().startswith("B"):
            year = -year
        last_year = year + 9 if get["year4"] and year % 10 == 0 else year
        found.append(
            (
                Date(
                    first=(year, month or 1, day or 1),
                    last=(last_year, month or 12, day or 31),
                    text=match.group(),
                ),
                match.start(),
                match.end(),
            )
        )
    return found


def _figures(text: str) -> list[tuple[int, Quantity]]:
    found = []
    for match in _FIGURE.finditer(text):
        start = match.start("n")
        if start and (text[start - 1].isalnum() or text[start - 1] == "."):
            continue
        value = float(match["n"].replace(",", ""))
        if match["over"]:
            below = float(match["over"][1:])
            if below == 0:
                continue
            value /= below
        if match["sign"]:
            value = -value
        after = [match["unit"] or "", match["unit2"] or ""]
        quantity, n_used = _scaled(value, after, money=match["money"] or "")
        end = match.end(("over" if match["over"] else "n", "unit", "unit2")[n_used])
        written = text[match.start() : end]
        begins = end - len(written.lstrip())
        found.append((begins, replace(quantity, text=written.strip())))
    return found


def _scaled(value: float, after: list[str], *, money: str) -> tuple[Quantity, int]:
    """Convert a number to its base unit; also return how many of the words after it belong to it."""
    used = 0
    word = after[0].casefold()
    if word in _SCALES and (money or word not in _SHORT_SCALES):
        value *= _SCALES[word]
        used = 1
        word = after[1].casefold()
    if money:
        return Quantity(value=value, dimension=money), used
    if word == "%":
        return Quantity(value=value, dimension="%"), used + 1
    if word not in _UNITS:
        return Quantity(value=value), used
    dimension, factor = _UNITS[word]
    unit = "" if dimension in _SIGNS else word
    return Quantity(
        value=value * factor, dimension=dimension, unit=unit, factor=factor if unit else 1.0
    ), used + 1


def _spelled(text: str) -> list[tuple[int, Quantity]]:
    """Read numbers in words: runs of number words, with ``and`` and hyphens between them."""
    found: list[tuple[int, Quantity]] = []
    run: list[re.Match[str]] = []
    matches = list(_WORD.finditer(text))
    for i, match in enumerate([*matches, None]):
        word = match.group().casefold() if match else ""
        joined = bool(run) and match is not None and text[run[-1].end() : match.start()] in {" ", "-"}
        if match and (
            word in NUMBER_WORDS or (run and joined and word in {"hundred", "thousand", "million", "and"})
        ):
            if run and not joined:
                found += _number(text, run, matches[i : i + 2])
                run = []
            run.append(match)
        elif run:
            found += _number(text, run, matches[i : i + 2])
            run = []
    return found


def _number(text: str, run: list[re.Match[str]], after: list[re.Match[str]]) -> list[tuple[int, Quantity]]:
    spelled = [m.group().casefold() for m in run]
    while spelled and spelled[-1] == "and":
        spelled.pop()
    if not spelled or spelled == ["one"]:
        return []
    total = part = 0.0
    for word in spelled:
        if word in NUMBER_WORDS:
            part += NUMBER_WORDS[word]
        elif word == "hundred":
            part = (part or 1) * 100
        elif word != "and":
            total += (part or 1) * _SCALES[word]
            part = 0.0
    end = run[len(spelled) - 1].end()
    follows = [m for m in after if text[end : m.start()].strip(" -") == ""][:1]
    quantity, n_used = _scaled(total + part, [follows[0].group() if follows else "", ""], money="")
    end = follows[0].end() if n_used and follows else end
    return [(run[0].start(), replace(quantity, text=text[run[0].start() : end]))]
