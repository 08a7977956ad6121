"""Numbers, names and tables as text, for every form of a report."""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from polygraph.evaluate.statistics.intervals import Interval


def percent(share: float) -> str:
    """Format a share in whole percent.

    >>> percent(0.995), percent(0.0)
    ('100%', '0%')
    """
    return f"{100 * share:.0f}%"


def p_value(p: float) -> str:
    """Format a p value with three decimals.

    >>> p_value(0.0123), p_value(3e-9)
    ('0.012', '< 0.001')
    """
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def p_equation(p: float) -> str:
    """Format a p value for a sentence.

    >>> p_equation(0.0123), p_equation(3e-9)
    ('p = 0.012', 'p < 0.001')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def signed(value: float) -> str:
    """Format a difference with its sign and three decimals.

    >>> signed(0.0123), signed(-0.00001)
    ('+0.012', '0.000')
    """
    return f"{value:+.3f}" if abs(value) >= 0.0005 else "0.000"


def signed_percent(share: float) -> str:
    """Format a difference of shares in whole points of 100 with its sign; a zero is positive.

    >>> signed_percent(0.123), signed_percent(-0.001)
    ('+12', '+0')
    """
    return f"{round(100 * share):+d}"


def rate_interval(rate: Interval) -> str:
    """Format a relative win rate with its interval.

    >>> rate_interval(Interval(0.02, -0.29, 0.32))
    '+2% [-29, +32]'
    """
    return f"{signed_percent(rate.mean)}% [{signed_percent(rate.low)}, {signed_percent(rate.high)}]"


def confidence_percent(alpha: float) -> str:
    """Format the confidence of an interval that misses the truth with a chance of `alpha`.

    >>> confidence_percent(0.05), confidence_percent(0.05 / 6)
    ('95%', '99.2%')
    """
    return f"{100 * (1 - alpha):.3g}%"


def dollars(amount: float | None) -> str:
    """Format US dollars with at least two significant digits.

    >>> dollars(0.000583), dollars(4.38e-5), dollars(1.5), dollars(0.0), dollars(None)
    ('$0.00058', '$0.000044', '$1.50', '$0', 'unknown')
    """
    if amount is None:
        return "unknown"
    if amount >= 0.1:
        return f"${amount:,.2f}"
    return "$0" if amount == 0 else f"${Decimal(f'{amount:.2g}'):f}"


def mean_interval(found: Interval) -> str:
    """Format a mean with its interval.

    >>> mean_interval(Interval(0.5, 0.25, 0.75))
    '0.500 [0.25, 0.75]'
    """
    return f"{found.mean:.3f} [{found.low:.2f}, {found.high:.2f}]"


def signed_interval(found: Interval) -> str:
    """Format a difference with its interval.

    >>> signed_interval(Interval(0.5, -0.25, 0.75))
    '+0.500 [-0.250, +0.750]'
    """
    return f"{signed(found.mean)} [{signed(found.low)}, {signed(found.high)}]"


def shorten(name: str, max_characters: int = 30) -> str:
    """Replace the middle of a long name by an ellipsis.

    >>> shorten("rag-vs-graphrag-integrated-community-of-all", 20)
    'rag-vs-gra…ty-of-all'
    """
    if len(name) <= max_characters:
        return name
    head = max_characters // 2
    return f"{name[:head]}…{name[-(max_characters - head - 1) :]}"


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(' '.join(c.split()).replace('|', '/') for c in cells)} |"

    return [line(columns), line(["---"] * len(columns)), *(line(row) for row in rows)]
