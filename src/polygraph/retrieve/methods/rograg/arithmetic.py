"""Evaluation of arithmetic that a model wrote, by a parser: no text is ever executed.

Grammar, loosest binding first: ``+ -``, ``* / %``, sign, ``^`` or ``**`` (right associative), then numbers, names,
calls and parentheses. Length, depth, exponents and results are bounded, so that no expression takes long.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence

MAX_CHARACTERS = 500
MAX_DEPTH = 40
"""Deepest nesting of parentheses, calls, signs and powers."""
MAX_EXPONENT = 64.0
MAX_RESULT = 1e300
"""Larger values, and values that are not finite, are errors."""

_TOKEN = re.compile(
    r"\s*(?:(\d{1,40}(?:\.\d{1,40})?(?:[eE][-+]?\d{1,3})?)|@?([^\W\d]\w{0,59}(?:\.\w{1,20})?)|(\*\*|[-+*/%^(),]))"
)
_SIGNS: Mapping[str, str] = {"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-"}


class ExpressionError(ValueError):
    """An expression that cannot be evaluated; the message says why."""


def evaluate(expression: str, names: Mapping[str, float] | None = None) -> float:
    """Evaluate an arithmetic expression.

    Args:
        expression: numbers, ``+ - * / % ^ **``, parentheses, names (with or without a leading ``@``) and the functions
            ``abs avg ceil floor max min round sqrt sum``. Commas separate arguments, not thousands.
        names: values by name; a name may contain one dot (``a.day``).

    Returns:
        A finite number, in double precision.

    Raises:
        ExpressionError: if the expression is malformed, uses an unknown name, or exceeds the bounds.

    >>> evaluate("(1889 - @built) * 2", {"built": 1871})
    36.0
    >>> evaluate("max(3, 2^3) % 5")
    3.0
    """
    if len(expression) > MAX_CHARACTERS:
        raise ExpressionError(f"the expression has {len(expression)} characters; {MAX_CHARACTERS} are read")
    for sign, plain in _SIGNS.items():
        expression = expression.replace(sign, plain)
    parser = _Parser(_tokens(expression), names or {})
    value = parser.sum(0)
    if parser.at < len(parser.tokens):
        raise ExpressionError(f"{parser.tokens[parser.at]!r} is not expected there")
    return value


def names_in(expression: str) -> list[str]:
    """List the names in an expression, without functions, in order and without repeats; none if it cannot be read.

    >>> names_in("sum(@a, b.day) - a")
    ['a', 'b.day']
    """
    try:
        tokens = _tokens(expression[:MAX_CHARACTERS])
    except ExpressionError:
        return []
    return list(dict.fromkeys(t for t in tokens if _is_name(t) and t not in _FUNCTIONS))


def _tokens(text: str) -> list[str]:
    found, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ExpressionError(f"{text[at : at + 20].strip()!r} cannot be read")
        found.append(match.group(1) or match.group(2) or match.group(3))
        at = match.end()
    return found


def _is_name(token: str) -> bool:
    # Superscripts match \w and are no decimals: they count as names, and have no value.
    return (token[0].isalnum() or token[0] == "_") and not token[0].isdecimal()


class _Parser:
    """A recursive-descent parser that evaluates the tokens; `depth` is the depth of nesting."""

    def __init__(self, tokens: Sequence[str], names: Mapping[str, float]) -> None:
        self.tokens = tokens
        self.names = names
        self.at = 0

    def _next(self, *wanted: str) -> str:
        """Consume the next token if it is one of these; otherwise return an empty text."""
        if self.at < len(self.tokens) and self.tokens[self.at] in wanted:
            self.at += 1
            return self.tokens[self.at - 1]
        return ""

    def sum(self, depth: int) -> float:
        """Evaluate terms that are added and subtracted."""
        value = self._product(depth)
        while operator := self._next("+", "-"):
            other = self._product(depth)
            value = _bounded(value + other if operator == "+" else value - other)
        return value

    def _product(self, depth: int) -> float:
        value = self._signed(depth)
        while operator := self._next("*", "/", "%"):
            other = self._signed(depth)
            if operator == "*":
                value = _bounded(value * other)
            elif other == 0:
                raise ExpressionError("it divides by zero")
            else:
                value = _bounded(value / other if operator == "/" else math.fmod(value, other))
        return value

    def _signed(self, depth: int) -> float:
        _check(depth)
        if self._next("-"):
            return -self._signed(depth + 1)
        if self._next("+"):
            return self._signed(depth + 1)
        base = self._atom(depth)
        if not self._next("^", "**"):
            return base
        exponent = self._signed(depth + 1)
        if abs(exponent) > MAX_EXPONENT:
            raise ExpressionError(f"the exponent {exponent:g} is beyond {MAX_EXPONENT:g}")
        try:
            power = base**exponent
        except (ZeroDivisionError, OverflowError) as error:
            raise ExpressionError(f"{base:g} to the power of {exponent:g} is no number") from error
        if isinstance(power, complex):
            raise ExpressionError(f"{base:g} to the power of {exponent:g} is no real number")
        return _bounded(float(power))

    def _atom(self, depth: int) -> float:
        if self.at >= len(self.tokens):
            raise ExpressionError("it ends too early")
        token = self.tokens[self.at]
        self.at += 1
        if self.tokens[self.at - 1] == "(":
            value = self.sum(depth + 1)
            self._expect(")")
            return value
        if token[0].isdecimal():
            return _bounded(float(token))
        if token in _FUNCTIONS and self._next("("):
            return self._call(token, depth + 1)
        if _is_name(token):
            if token not in self.names:
                raise ExpressionError(f"there is no value for {token!r}")
            return _bounded(float(self.names[token]))
        raise ExpressionError(f"{token!r} is not expected there")

    def _call(self, function: str, depth: int) -> float:
        arguments = [self.sum(depth)]
        while self._next(","):
            arguments.append(self.sum(depth))
        self._expect(")")
        try:
            return _bounded(_FUNCTIONS[function](arguments))
        except (ValueError, TypeError, OverflowError) as error:
            if isinstance(error, ExpressionError):
                raise
            raise ExpressionError(f"{function} cannot be worked out of {len(arguments)} values") from error

    def _expect(self, token: str) -> None:
        if not self._next(token):
            raise ExpressionError(f"a {token!r} is missing")


def _check(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ExpressionError(f"it is nested deeper than {MAX_DEPTH}")


def _bounded(value: float) -> float:
    if not math.isfinite(value) or abs(value) > MAX_RESULT:
        raise ExpressionError("the result is too large or no number")
    return value


def _one(function: Callable[[float], float]) -> Callable[[Sequence[float]], float]:
    """Adapt a function of one value to the table of functions."""

    def call(values: Sequence[float]) -> float:
        (value,) = values
        return function(value)

    return call


_FUNCTIONS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "abs": _one(abs),
    "avg": lambda values: math.fsum(values) / len(values),
    "ceil": _one(lambda value: float(math.ceil(value))),
    "floor": _one(lambda value: float(math.floor(value))),
    "max": max,
    "min": min,
    "round": lambda values: round(values[0], int(values[1]) if len(values) > 1 else 0) + 0.0,
    "sqrt": _one(math.sqrt),
    "sum": math.fsum,
}
