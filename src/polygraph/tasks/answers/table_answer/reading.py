"""What the words of a question are to a table: columns, values, conditions, operators, its title; or nothing.

A table is asked only if every word of the question is one of these. A question that lacks one of its words in the table
is about something else.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from polygraph.records import Table
from polygraph.tasks.answers.table_answer.cells import parse_days, parse_number
from polygraph.tasks.answers.table_answer.view import UNIT_NOTE, TableView, plain_words
from polygraph.tasks.answers.table_answer.words import (
    ADJECTIVES,
    BOUND_WORDS,
    LESS,
    LIGHT,
    MORE,
    OPERATORS,
    SYNONYMS,
    TOKEN,
    UNIT_WORDS,
)
from polygraph.text.words import STOP_WORDS, stem

MAX_QUESTION = 300
"""Characters of a question that a table answers."""
_MAX_GRAM = 8
_MIN_PREFIX = 5
_AMOUNT = r"(?P<x>[£$€]?\s?\d[\d,.]*(?:\s?(?:%|°?[^\W\d_]{1,8}))?)"
_BOUND = re.compile(
    rf"(?:(?P<gt>\b(?:more|greater|higher|larger|heavier|longer) than|\bover|\babove|\bexceed(?:s|ing)?)|"
    rf"(?P<ge>\bat least)|(?P<lt>\b(?:less|fewer|lower|smaller|lighter|shorter) than|\bunder|\bbelow)|"
    rf"(?P<le>\bat most|\bup to))\s+{_AMOUNT}(?!\w)",
    re.IGNORECASE,
)
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_DAY = (
    rf"(?:\d{{4}}-\d{{2}}(?:-\d{{2}})?|\d{{1,2}}\.? (?:{_MONTHS}) \d{{4}}|"
    rf"(?:{_MONTHS})(?: \d{{1,2}},?)? \d{{4}}|\d{{4}})"
)
_WHEN = re.compile(
    rf"\b(?:between (?P<from>{_DAY}) and (?P<to>{_DAY})|"
    rf"(?P<how>before|after|since|until|in|on|during) (?P<day>{_DAY}))(?![\w-])",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the question."""

    text: str
    """Case-folded, without a possessive ending."""
    start: int
    end: int
    """Without a possessive ending."""

    @property
    def stem(self) -> str:
        """The stem of a word, a code as it is."""
        return stem(self.text) if self.text.isalpha() else self.text


@dataclass(frozen=True, slots=True)
class Condition:
    """A bound for the numbers or days of a column, as ``low <= value <= high``."""

    at: int
    """Position of its first token."""
    low: float
    high: float
    is_date: bool
    unit: str
    text: str


@dataclass(frozen=True, slots=True)
class ValueMention:
    """A cell that the question names."""

    first: int
    last: int
    """Positions of its first and last token."""
    cells: frozenset[tuple[int, str]]
    """Column and case-folded text of the cells that are meant; of several columns, one."""


@dataclass(frozen=True, slots=True)
class ColumnMention:
    """A column that the question names."""

    first: int
    last: int
    columns: tuple[int, ...]
    """One, unless the word is part of the names of several."""


@dataclass(slots=True)
class Reading:
    """The words of a question, each with its part in the table."""

    question: str
    tokens: list[Token]
    values: list[ValueMention] = field(default_factory=list)
    columns: list[ColumnMention] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    operators: list[tuple[int, str, str]] = field(default_factory=list)
    """Position, operator and word."""
    adjectives: list[tuple[int, str]] = field(default_factory=list)
    row_nouns: list[int] = field(default_factory=list)
    """Positions of words of the title or of the name of the key column."""


def read_question(question: str, table: TableView) -> Reading | None:
    """Find the part of each word of a question; None if a word has none."""
    if len(question) > MAX_QUESTION:
        return None
    reading = Reading(question, _tokens(question))
    free = [True] * len(reading.tokens)
    _find_conditions(reading, table, free)
    _find_values(reading, table, free)
    _find_columns(reading, table, free)
    _find_operators(reading, free)
    _find_partial_columns(reading, table, free)
    _find_partial_values(reading, table, free)
    _find_row_nouns(reading, table, free)
    for n, token in enumerate(reading.tokens):
        if (
            free[n]
            and token.text not in LIGHT
            and token.text not in LESS | MORE | {"both", "either", "same", "different"}
        ):
            return None
    return reading


def may_answer(question: str, table: Table, context: str) -> bool:
    """Return whether each word of a question might stand in a table, without reading its cells one by one."""
    text = " ".join([context, *table.columns, *(cell for row in table.rows for cell in row)]).casefold()
    passing = LIGHT | LESS | MORE | frozenset(ADJECTIVES) | {"both", "either", "same", "different", "than"}
    passing |= frozenset(word for phrase in OPERATORS for word in phrase.split())
    for token in _tokens(question):
        word = token.text
        is_free = word in passing or word in BOUND_WORDS or word in _MONTHS or word[0].isdigit()
        if not is_free and word[: max(3, len(word) - 3)] not in text:
            return False
    return True


def _tokens(question: str) -> list[Token]:
    tokens = []
    for match in TOKEN.finditer(question):
        text, end = match[0], match.end()
        if text[-2:] in ("'s", "’s") and len(text) > 2:
            text, end = text[:-2], end - 2
        tokens.append(Token(text.casefold(), match.start(), end))
    return tokens


def _take(free: list[bool], first: int, last: int) -> None:
    free[first : last + 1] = [False] * (last + 1 - first)


def _covered(tokens: Sequence[Token], start: int, end: int) -> list[int]:
    return [n for n, token in enumerate(tokens) if token.start < end and token.end > start]


def _find_conditions(reading: Reading, table: TableView, free: list[bool]) -> None:
    if bounds := list(_BOUND.finditer(reading.question)):
        _find_bounds(reading, bounds, _units(table), free)
    if any(column.kind == "date" for column in table.columns):
        _find_dates(reading, free)


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
        if (words := plain_words(column.name))[-1:] and words[-1] in UNIT_WORDS
    }


def _find_bounds(
    reading: Reading, matches: Sequence[re.Match[str]], units: set[str], free: list[bool]
) -> None:
    """Add the bounds of numbers that were matched: ``more than 5 MW``."""
    for match in matches:
        number = parse_number(match["x"])
        if number is None:
            # The word behind the number is no unit: more than 5 seats.
            bare = re.match(r"[£$€]?\s?\d[\d,.]*", match["x"])
            number = parse_number(bare[0].rstrip(".,")) if bare else None
        if number is None:
            continue
        value, unit = number
        end = match.end()
        if unit and unit.casefold() not in units and unit not in "£$€%":
            end, unit = match.start("x") + len(match["x"].rstrip(unit)), ""
        step = 1e-9 * max(1.0, abs(value))
        low, high = -math.inf, math.inf
        if match["gt"] or match["ge"]:
            low = value + (step if match["gt"] else 0.0)
        else:
            high = value - (step if match["lt"] else 0.0)
        at = _covered(reading.tokens, match.start(), end)
        reading.conditions.append(
            Condition(at[0], low, high, False, unit, reading.question[match.start() : end].strip())
        )
        for n in at:
            free[n] = False


def _find_dates(reading: Reading, free: list[bool]) -> None:
    """Add the times in words that no bound has taken: ``since May 1871``."""
    for match in _WHEN.finditer(reading.question):
        first = parse_days(match["from"] or match["day"])
        last = parse_days(match["to"]) if match["to"] else first
        at = _covered(reading.tokens, match.start(), match.end())
        if first is None or last is None or not all(free[n] for n in at):
            continue
        how = (match["how"] or "between").lower()
        low, high = {
            "before": (-math.inf, first[0] - 1),
            "until": (-math.inf, first[1]),
            "after": (first[1] + 1, math.inf),
            "since": (first[0], math.inf),
        }.get(how, (first[0], last[1]))
        reading.conditions.append(Condition(at[0], low, high, True, "", match[0]))
        for n in at:
            free[n] = False


def _grams(reading: Reading, free: list[bool]) -> list[tuple[int, int]]:
    """Return first and last position of each run of free tokens, longest first."""
    n = len(reading.tokens)
    return [
        (first, first + size - 1)
        for size in range(min(_MAX_GRAM, n), 0, -1)
        for first in range(n - size + 1)
        if all(free[first : first + size])
    ]


def _find_values(reading: Reading, table: TableView, free: list[bool]) -> None:
    single: dict[str, set[tuple[int, str]]] = {}
    for c, column in enumerate(table.columns):
        if column.kind == "text":
            for cell in table.cells[c]:
                if cell.isalpha() and len(cell) > 2:
                    single.setdefault(stem(cell), set()).add((c, cell))
    for first, last in _grams(reading, free):
        if not all(free[first : last + 1]):
            continue
        begin, end = reading.tokens[first].start, reading.tokens[last].end
        text = " ".join(reading.question[begin:end].casefold().split())
        if first == last and (text in LIGHT or text in STOP_WORDS):
            continue
        found = set()
        for c, column in enumerate(table.columns):
            if text in table.cells[c] and (
                column.kind in ("text", "code") or _names_number(reading, table, c, first, last)
            ):
                found.add((c, text))
        # A column of that name is meant rather than another form of a value.
        is_column = any(reading.tokens[first].stem in words for words in table.name_words)
        if found and is_column and _is_verb(reading, first, last):
            continue
        if not found and first == last and text.isalpha() and not is_column:
            found = single.get(stem(text), set())
        if found:
            reading.values.append(ValueMention(first, last, frozenset(found)))
            _take(free, first, last)
    reading.values.sort(key=lambda value: value.first)


def _is_verb(reading: Reading, first: int, last: int) -> bool:
    """Return whether a word is the verb of a question: "How many tickets did Corve open?" asks for no open ones."""
    before = {token.text for token in reading.tokens[:first]}
    return first == last == len(reading.tokens) - 1 and not before.isdisjoint(("do", "does", "did"))


def _names_number(reading: Reading, table: TableView, column: int, first: int, last: int) -> bool:
    """Return whether a number of the question stands directly behind the name of a column of numbers."""
    words = table.name_words[column]
    before = [token.stem for token in reading.tokens[max(0, first - len(words)) : first]]
    return first == last and before == words


def _find_columns(reading: Reading, table: TableView, free: list[bool]) -> None:
    for first, last in _grams(reading, free):
        if not all(free[first : last + 1]):
            continue
        stems = [stem(SYNONYMS.get(token.text, token.text)) for token in reading.tokens[first : last + 1]]
        found = tuple(c for c, words in enumerate(table.name_words) if words == stems)
        if not found:
            continue
        if all(token.text in STOP_WORDS for token in reading.tokens[first : last + 1]):
            # A column `from` is meant only directly before one of its values.
            after = [value for value in reading.values if value.first == last + 1]
            if not after or not any(c in found for c, _ in after[0].cells):
                continue
        reading.columns.append(ColumnMention(first, last, found))
        _take(free, first, last)


def _find_operators(reading: Reading, free: list[bool]) -> None:
    for first, last in _grams(reading, free):
        if not all(free[first : last + 1]):
            continue
        phrase = " ".join(token.text for token in reading.tokens[first : last + 1])
        if phrase in OPERATORS:
            reading.operators.append((first, OPERATORS[phrase], phrase))
            if phrase in ADJECTIVES:
                reading.adjectives.append((first, phrase))
            elif (word := phrase.split()[-1]) in ADJECTIVES:
                reading.adjectives.append((first, word))
            _take(free, first, last)
    for n, token in enumerate(reading.tokens):
        if free[n] and token.text in ADJECTIVES:
            reading.adjectives.append((n, token.text))
            free[n] = False
    reading.operators.sort()


def _find_partial_columns(reading: Reading, table: TableView, free: list[bool]) -> None:
    for n, token in enumerate(reading.tokens):
        word = SYNONYMS.get(token.text, token.text)
        if not free[n] or word in LIGHT or word in STOP_WORDS or not word.isalpha():
            continue
        found = tuple(
            c for c, words in enumerate(table.name_words) if any(_alike(stem(word), each) for each in words)
        )
        if len(found) > 1 and token.stem in table.title_stems:
            continue  # the orders of a table of orders, with columns order_id and order_date
        if found:
            found = (table.key,) if table.key in found else found
            reading.columns.append(ColumnMention(n, n, found))
            free[n] = False
    reading.columns.sort(key=lambda mention: mention.first)


def _alike(one: str, other: str) -> bool:
    """Return whether two stems are forms of one word: manag, manager."""
    if one == other:
        return True
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) >= _MIN_PREFIX and longer.startswith(shorter) and len(longer) - len(shorter) <= 2


def _find_row_nouns(reading: Reading, table: TableView, free: list[bool]) -> None:
    key_words = set(table.name_words[table.key]) if table.key >= 0 else set()
    for n, token in enumerate(reading.tokens):
        parts = {stem(part) for part in plain_words(token.text)}
        if token.text in ("rows", "entries", "records"):
            reading.row_nouns.append(n)
        elif parts and parts <= table.title_stems | key_words and token.text not in LIGHT:
            reading.row_nouns.append(n)
            free[n] = False


def _find_partial_values(reading: Reading, table: TableView, free: list[bool]) -> None:
    """Find values of which the question names a part of several words, if only one cell has it."""
    for first, last in _grams(reading, free):
        if first == last or not all(free[first : last + 1]):
            continue
        words = [token.text for token in reading.tokens[first : last + 1]]
        if words[0] in LIGHT or words[-1] in LIGHT:
            continue
        pattern = re.compile(rf"(?<!\w){re.escape(' '.join(words))}(?!\w)")
        found = {
            (c, cell)
            for c, column in enumerate(table.columns)
            if column.kind == "text"
            for cell in table.cells[c]
            if pattern.search(cell)
        }
        if len(found) == 1:
            reading.values.append(ValueMention(first, last, frozenset(found)))
            _take(free, first, last)
    reading.values.sort(key=lambda value: value.first)
