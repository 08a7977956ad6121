"""Numbers of a text with their units, read liberally.

More liberally than by `text.quantities`, which calculates with them: ordinals, counts in words, decimal commas, parts
of versions and dates, units of any kind in five languages. One number too many in the text cited does no harm here.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from string import ascii_lowercase
from typing import NamedTuple

from polygraph.text.claims.folding import WORD
from polygraph.text.quantities import FOREIGN_NUMBER_WORDS, NUMBER_WORDS
from polygraph.text.words import stem

_DIGITS = re.compile(r"(?<![\w.,])[-+]?\d{1,3}(?:[,.\u00a0\u202f ]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)*")
_DIGIT = re.compile(r"\d")
_YEARS = re.compile(r"(?<![\d./-])(1\d|2[01])(\d\d)([/–-])(\d\d)(?![\d./–-]?\d)")
"""Two years of which the second has its last digits only, or a year and a month."""
_GROUPED = re.compile(r"\d{1,3}(?:[,.\u00a0\u202f ]\d{3})+")
_WORD_VALUES = (
    {word: float(n) for word, n in FOREIGN_NUMBER_WORDS.items()}
    | {word: float(n) for word, n in NUMBER_WORDS.items()}
    | {"dozen": 12.0, "twice": 2.0, "thrice": 3.0}
)
_ORDINAL_WORDS = """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
    fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"""
_ORDINALS = {word: float(n) for n, word in enumerate(_ORDINAL_WORDS.split(), 1)}
SCALES: Mapping[str, float] = {
    word: factor
    for factor, names in {
        1e2: "hundred", 1e3: "thousand tausend mille mil mila", 1e6: "million millions mio millionen millones millón "
        "milioni milione", 1e9: "bn mrd billion billions milliarden milliarde milliard milliards miliardi miliardo",
        1e12: "trillion",
    }.items()
    for word in names.split()
}  # fmt: skip
_UNITS = {
    name: names.split()[0]
    for names in (
        "m metre metres meter meters metri metro mètre mètres metros",
        "km kilometre kilometres kilometer kilometers kilómetros chilometri kilomètres", "cm centimetre centimetres",
        "mm millimetre millimetres", "mile miles millas meilen", "yard yards", "ft foot feet", "inch inches",
        "kg kilogram kilograms kilo kilos", "g gram grams gramm grammes gramos grammi", "mg milligram milligrams",
        "µg microgram micrograms", "t tonne tonnes tonnen tonnellate toneladas", "ton tons", "lb lbs",
        "l litre litres liter liters litri litros", "ml millilitre millilitres milliliter milliliters", "cl",
        "£ pound pounds gbp sterling", "€ euro euros eur", "$ dollar dollars usd us$", "franc francs franken chf",
        "crown crowns krone kroner krona kronor nok sek dkk", "¥ yen jpy", "lira lire", "thaler thalers taler",
        "s second seconds sekunde sekunden seconde secondes segundos secondi",
        "ms millisecond milliseconds", "min minute minutes minuten minuti minutos",
        "h hour hours stunde stunden heure heures hora horas ora ore", "day days tag tage tagen jour jours día días "
        "giorno giorni", "week weeks woche wochen semaine semaines semana semanas settimana settimane",
        "month months monat monate monaten mois mes meses mese mesi",
        "year years jahr jahre jahren an ans année années año años anno anni", "decade decades",
        "century centuries", "% percent percentage prozent", "° degree degrees grad", "kb kilobyte kilobytes",
        "mb megabyte megabytes", "gb gigabyte gigabytes", "tb terabyte terabytes", "hz hertz", "khz kilohertz",
        "mhz megahertz", "ghz gigahertz", "w watt watts", "kw kilowatt kilowatts", "mw megawatt megawatts",
        "gw gigawatt gigawatts", "mph", "kmh",
    )
    for name in names.split()
}  # fmt: skip
_SIZES: Mapping[str, tuple[str, float]] = {
    "mm": ("m", 1e-3), "cm": ("m", 1e-2), "m": ("m", 1.0), "km": ("m", 1e3), "mile": ("m", 1609.344),
    "yard": ("m", 0.9144), "ft": ("m", 0.3048), "inch": ("m", 0.0254), "µg": ("g", 1e-6), "mg": ("g", 1e-3),
    "g": ("g", 1.0), "kg": ("g", 1e3), "t": ("g", 1e6), "ml": ("l", 1e-3), "cl": ("l", 1e-2), "l": ("l", 1.0),
    "ms": ("s", 1e-3), "s": ("s", 1.0), "min": ("s", 60.0), "h": ("s", 3600.0), "day": ("s", 86400.0),
    "week": ("s", 604800.0), "month": ("year", 1 / 12), "year": ("year", 1.0), "decade": ("year", 10.0),
    "century": ("year", 100.0),
    "m/s": ("m/s", 1.0), "km/h": ("m/s", 1 / 3.6), "kmh": ("m/s", 1 / 3.6), "mph": ("m/s", 0.44704),
    "kw": ("w", 1e3), "mw": ("w", 1e6), "gw": ("w", 1e9), "w": ("w", 1.0),
}  # fmt: skip
"""Dimension and size of units that are converted."""
_AFTER_NUMBER = re.compile(
    r"[\s\u00a0-]{0,3}(?:d[ie] |d['’])?"
    r"(per cent\b|por ciento\b|pour cent\b|per cento\b|(?:square|cubic) [^\W\d_]+|%|°|€|\$|£|"
    r"[^\W\d_]+(?:/[^\W\d_]+)?)"
)
_PER = re.compile(
    r"\s?(?:\ba|\ban|\beach|\bevery|\bper|\bim|\bje|\bpro|\bpar|\bpor|\bal|\ball['’]|/)\s?([^\W\d_]+)",
    re.IGNORECASE,
)
_CODE_BEFORE = re.compile(r"(?:\b([A-Z]{3}) ?|([£€$¥]) ?)$")
TIMES_A_YEAR = {
    "year": 1, "month": 12, "week": 52, "day": 365, "h": 365 * 24, "min": 365 * 24 * 60, "s": 365 * 24 * 3600,
}  # fmt: skip
"""How often a unit of time passes in a year."""
_OUT_OF = re.compile(r"(?i)\b(one|two|three|\d+) (?:[^\W\d_]+ )?(?:in|out of) ([^\W_]+)")
_PARTS = {
    word: n
    for n, names in {
        2: "half halves hälfte moitié mitad metà", 3: "third thirds drittel tiers tercio tercios terzo terzi",
        4: "quarter quarters fourth fourths viertel quart quarts cuarto cuartos", 5: "fifth fifths fünftel quinto",
        6: "sixth sixths", 7: "seventh sevenths", 8: "eighth eighths", 9: "ninth ninths", 10: "tenth tenths zehntel",
    }.items()
    for word in names.split()
}  # fmt: skip


class Number(NamedTuple):
    """A number of a text with the unit after or before it."""

    value: float
    unit: str
    """The unit's shortest name; empty if there is none that is known."""
    is_word: bool
    """Whether it is written in letters."""


class FoundNumber(NamedTuple):
    """A number where it stands."""

    number: Number
    written: str
    noun: str
    """The stem of the word after it."""
    start: int
    end: int
    per: str
    """The time that it is said for: `month` in "£50 a month"; empty if there is none."""


def numbers(text: str) -> list[Number]:
    """Return the numbers of a text: those in digits in order, then those in words.

    >>> numbers("1 250 000 pumps, seventeen weeks, $2.4 billion")
    [Number(value=1250000.0, unit='', is_word=False), Number(value=2400000000.0, unit='$', is_word=False), \
Number(value=17.0, unit='week', is_word=True)]
    """
    return [found.number for found in found_numbers(text)]


def shares(text: str) -> list[float]:
    """Return the fractions that a text says in words, in percent.

    >>> shares("a quarter now, two thirds by May, one patient in ten")
    [25.0, 66.66666666666667, 10.0]
    """
    found = []
    folded = text.casefold()
    # Few sentences have a word for a part.
    words = {word for word in set(WORD.findall(folded)) if word.rpartition("-")[2] in _PARTS}
    for match in WORD.finditer(folded) if words else ():
        if match.group() in words:
            joined, _, part = match.group().rpartition("-")
            before = joined or text[: match.start()].rstrip().casefold().rpartition(" ")[2]
            found.append(100 * min(_WORD_VALUES.get(before, 1.0), _PARTS[part]) / _PARTS[part])
    for match in _OUT_OF.finditer(text) if " in " in folded or " out of " in folded else ():
        low, high = (_plain_value(match.group(i)) for i in (1, 2))
        if low and high and low < high:
            found.append(100 * low / high)
    return found


def size(number: Number) -> tuple[str, float] | None:
    """Return the dimension of a number with the value in its base unit; None if its unit is not converted."""
    if number.unit not in _SIZES:
        return None
    dimension, factor = _SIZES[number.unit]
    return dimension, number.value * factor


def is_year(number: Number, written: str) -> bool:
    """Return whether a number may be a year."""
    return (
        bool(re.fullmatch(r"\d{4}", written.strip("-")))
        and not number.unit
        and 1000 <= abs(number.value) < 2200
    )


def is_ordinal(written: str) -> bool:
    """Return whether a number is written as an ordinal word."""
    return written.casefold().rpartition("-")[2] in _ORDINALS


# The same passages, and sentences of them, are looked at for many claims.
@lru_cache(maxsize=4_096)
def found_numbers(text: str) -> tuple[FoundNumber, ...]:
    """Return each number of a text: those in digits in order, then those in words."""
    return (*_digits(text), *_number_words(text))


def _digits(text: str) -> Iterator[FoundNumber]:
    if not _DIGIT.search(text):
        return
    last_years = _last_years(text)
    for match in _DIGITS.finditer(text):
        written = last_years.get(match.start()) or match.group().strip("+ ")
        grouped = _GROUPED.match(written.lstrip("-"))
        plain = written.lstrip("-")
        if grouped:
            whole = re.sub(r"\D", "", grouped.group())
            plain = whole + plain[grouped.end() :].replace(",", ".")
        else:
            plain = plain.replace(",", ".", 1) if plain.count(",") == 1 and "." not in plain else plain
        try:
            value = float(plain)
        except ValueError:
            # Versions and dates such as 1.2.3: each part is a number.
            for part in re.findall(r"\d+", plain):
                yield FoundNumber(Number(float(part), "", False), part, "", match.start(), match.end(), "")
            continue
        yield _with_unit(value, text, match.start(), match.end(), written, False)


def _last_years(text: str) -> dict[int, str]:
    """Return years of which a text has the last two digits only, in full by where they stand: 1958 in ``1957/58``.

    ``2011-12`` may be a month.

    >>> _last_years("the winters of 1957/58 and 1999/00, on 2011-12, on 2011/12/03")
    {20: '1958'}
    """
    return {
        match.start(4): match[1] + match[4]
        for match in _YEARS.finditer(text)
        if match[2] < match[4] and not (match[3] == "-" and match[4] <= "12")
    }


def _plain_value(word: str) -> float | None:
    return float(word) if word.isascii() and word.isdigit() else _WORD_VALUES.get(word.casefold())


def _number_words(text: str) -> Iterator[FoundNumber]:
    end_of_last = -1
    start_of_line = 0
    for line in text.split("\n"):
        end_of_line = start_of_line + len(line)
        # Few lines have any.
        if _may_have_number_word(line):
            for match in WORD.finditer(text, start_of_line, end_of_line):
                if match.start() < end_of_last or not (found := _number_word(match.group())):
                    continue
                value, length = found
                end = match.start() + length
                if value in _TENS_VALUES and (after := WORD.search(text, match.end())):
                    unit = _word_value(after.group().casefold())
                    if unit is not None and 0 < unit < 10 and text[end : after.start()].strip(" -") == "":
                        value, end = value + unit, after.end()
                end_of_last = end
                yield _with_unit(value, text, match.start(), end, text[match.start() : end], True)
        start_of_line = end_of_line + 1


_ASCII_LETTERS = bytes(code if chr(code) in ascii_lowercase else ord(" ") for code in range(256))


def _ascii_parts(text: str) -> list[bytes]:
    """Return the runs of ASCII letters of a text in lower case, in a tenth of the time of finding its words."""
    return text.casefold().encode("ascii", "replace").translate(_ASCII_LETTERS).split()


_FIRST_PARTS = frozenset(_ascii_parts(word)[0] for word in (*_WORD_VALUES, *_ORDINALS))
"""First part of each word of a number; of `fünf` it is `f`."""


def _may_have_number_word(text: str) -> bool:
    return not _FIRST_PARTS.isdisjoint(_ascii_parts(text))


_TENS_VALUES = frozenset(10.0 * n for n in range(2, 10))


@lru_cache(maxsize=16_384)
def _number_word(word: str) -> tuple[float, int] | None:
    """Return the value of a word, also if it is joined to a unit, with the length of the number in it."""
    folded = word.casefold()
    value = _word_value(folded)
    if value is not None:
        return value, len(word)
    number, _, unit_word = folded.rpartition("-")
    value = _word_value(number) if unit_word in _UNITS else None
    return (value, len(number)) if value is not None else None


@lru_cache(maxsize=4_096)
def _word_value(word: str) -> float | None:
    if word in _WORD_VALUES:
        return _WORD_VALUES[word]
    if word in _ORDINALS:
        return _ORDINALS[word]
    tens, _, unit = word.partition("-")
    if unit and tens in _WORD_VALUES:
        rest = _WORD_VALUES.get(unit, _ORDINALS.get(unit))
        return _WORD_VALUES[tens] + rest if rest is not None else None
    return None


def _with_unit(value: float, text: str, start: int, end: int, written: str, is_word: bool) -> FoundNumber:
    end_of_number = end
    after = _AFTER_NUMBER.match(text, end)
    while after and after.group(1).casefold() in SCALES:
        value *= SCALES[after.group(1).casefold()]
        end = after.end()
        after = _AFTER_NUMBER.match(text, end)
    word = after.group(1).casefold() if after else ""
    before = _CODE_BEFORE.search(text, max(0, start - 4), start)
    unit = _UNITS.get((before.group(1) or before.group(2)).casefold(), "") if before else ""
    unit = unit or _unit(word)
    end_of_unit = after.end() if after and _unit(word) else end
    per = _PER.match(text, end_of_unit)
    time = _UNITS.get(per.group(1).casefold(), "") if per else ""
    per_time = time if time in TIMES_A_YEAR else ""
    if unit == "m" and per_time == "s":
        unit, per_time = "m/s", ""
    return FoundNumber(Number(value, unit, is_word), written, stem(word), start, end_of_number, per_time)


def _unit(word: str) -> str:
    if word in {"per cent", "por ciento", "pour cent", "per cento"}:
        return "%"
    power, _, base = word.partition(" ")
    if base:
        return f"{power} {_UNITS.get(base, base)}"
    above, _, below = word.partition("/")
    if below:
        return word if above in _UNITS else ""
    return _UNITS.get(word, "")
