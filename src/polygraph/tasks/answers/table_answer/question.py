"""The words of a question, and what they are to a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from polygraph.tasks.answers.table_answer.words import TOKEN
from polygraph.text.words import stem

_MAX_GRAM = 8
DETERMINERS = frozenset(("the", "of", "our", "all", "my", "your", "their"))
"""Words that may stand between *how many* and what is counted."""


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
    column: int = -1
    """The column, if the words name it; else -1."""


@dataclass(frozen=True, slots=True)
class ValueMention:
    """A cell that the question names."""

    first: int
    last: int
    """Positions of its first and last token."""
    cells: frozenset[tuple[int, str]]
    """Column and case-folded text of the cells that are meant; of several columns, one. Empty text: no value."""
    is_denied: bool = False
    """Whether rows with other values are meant: orders that are not open."""


@dataclass(frozen=True, slots=True)
class ColumnMention:
    """A column that the question names."""

    first: int
    last: int
    columns: tuple[int, ...]
    """One, unless the word is part of the names of several."""


AskedColumn: TypeAlias = tuple[ColumnMention, int]
"""A column of a reading, with its mention."""


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
    group: int = -1
    """The column for each value of which there is a result: for each department; -1 for none."""
    models: list[str] = field(default_factory=list)
    """Models of a series that the title names, which rows may exclude."""
    free: list[bool] = field(init=False)
    """Whether each word has no part yet."""

    def __post_init__(self) -> None:
        self.free = [True] * len(self.tokens)

    def take(self, first: int, last: int) -> None:
        """Mark words as used."""
        self.free[first : last + 1] = [False] * (last + 1 - first)

    def grams(self) -> Iterator[tuple[int, int]]:
        """Yield first and last position of each run of words that are free by then, longest first."""
        n = len(self.tokens)
        for size in range(min(_MAX_GRAM, n), 0, -1):
            for first in range(n - size + 1):
                if all(self.free[first : first + size]):
                    yield first, first + size - 1


def tokens(question: str) -> list[Token]:
    """Return the words of a question."""
    tokens = []
    for match in TOKEN.finditer(question):
        text, end = match[0], match.end()
        if text[-2:] in ("'s", "’s") and len(text) > 2:
            text, end = text[:-2], end - 2
        tokens.append(Token(text.casefold(), match.start(), end))
    return tokens


def is_beside(reading: Reading, left: int, right: int) -> bool:
    """Return whether a word stands before another one, or is linked to it: ``a stock of 0``."""
    between = [token.text for token in reading.tokens[left + 1 : right]]
    return left < right and between in ([], ["of"], ["is"], ["was"], ["equals"], ["equal", "to"])


def covered(tokens: Sequence[Token], start: int, end: int) -> list[int]:
    """Return the positions of the words within a span of the question."""
    return [n for n, token in enumerate(tokens) if token.start < end and token.end > start]
