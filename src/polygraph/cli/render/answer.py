"""Results in a terminal and as JSON."""

import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from polygraph.cli.terminal import printable
from polygraph.errors import quoted
from polygraph.ids import document_name
from polygraph.records import Answer, Citation, Usage
from polygraph.text.prose import count_noun, shorten

if TYPE_CHECKING:
    from polygraph.retrieve.fact_paths import FactPath


class SafeConsole(Console):
    """A console on which documents, models and file names cannot write control characters."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Replace control characters in all text; the console's own control codes stay."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


# Text is printed as it is: a document may be called `[bold]`, or `:key:`.
_console = partial(SafeConsole, highlight=False, markup=False, emoji=False)
# Output to a file or pipe is not wrapped.
out = _console(soft_wrap=not sys.stdout.isatty())
err = _console(stderr=True, soft_wrap=not sys.stderr.isatty())
_unbounded = _console(width=10_000)

_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters that JSON leaves as they are, changes of direction, and halves of surrogate pairs."""
_QUOTE = 240
"""Characters of a quote that are printed."""
_NEAR = 150
"""Characters of a passage that may hold an answer that was not found."""


def as_json(value: Any) -> None:
    """Print one JSON value on standard output; what a terminal could obey, or cannot show, is escaped."""
    is_unicode = (sys.stdout.encoding or "utf-8").casefold().startswith("utf")
    text = json.dumps(value, ensure_ascii=not is_unicode, indent=2, default=str)
    print(_UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found.group()):04x}", text))


def warn(text: str) -> None:
    """Print a note or a warning on standard error; it is not wrapped, so that commands in it can be copied."""
    err.print(text, style="yellow", soft_wrap=True)


def setting(value: Any) -> Any:
    """Return the value of a setting for display."""
    if isinstance(value, dict):
        return "; ".join(f"{name}: {each}" for name, each in value.items())
    if value is None or value == ():
        return "none"
    return value


def show_answer(found: Answer, paths: "Sequence[FactPath]" = (), *, streamed: bool = False) -> None:
    """Print an answer with its sources, the chain of facts that leads to each, if there are any, and its cost.

    A refusal without a model is printed with the nearest passages.
    """
    from polygraph.retrieve.citation_places import letters, with_letters

    # What was streamed has no letters.
    of_marks = {} if streamed else letters(found.citations)
    if not streamed:
        style = "yellow" if found.refused else ""
        out.print(Text(with_letters(found.text, of_marks), style=style))
    if found.citations:
        out.print()
        for citation, path in zip_longest(found.citations, paths):
            show_citation(citation, next((of_marks[at] for at in citation.at if at in of_marks), ""))
            if path is not None:
                out.print(Text(f"    path: {path.text}", style="dim"))
    if found.nearest:
        out.print("\nNearest passages:")
        for passage in found.nearest:
            out.print(_source(passage))
            out.print(Text(f"    “{shorten(' '.join(passage.quote.split()), _NEAR)}”"))
    for note in found.notes:
        err.print(Text(f"note: {note}", style="dim"))
    out.print(Text(f"{found.method} · {usage_line(found)}", style="dim"))


def show_citation(citation: Citation, letter: str = "") -> None:
    """Print the source of a statement with the quoted passage, and the letters of its marks if it has any."""
    out.print(Text.assemble((f"[{citation.n}{letter}] ", "bold"), _source(citation)))
    out.print(Text(f"    “{shorten(' '.join(citation.quote.split()), _QUOTE)}”"))


def _source(citation: Citation) -> Text:
    """Return title, document and place of a quote, and the documents that hold it too."""
    place = f", {citation.place}" if citation.place else ""
    also = f"; also in {', '.join(map(document_name, citation.also))}" if citation.also else ""
    return Text.assemble(
        (citation.title, "cyan"), (f"  {document_name(citation.document)}{place}{also}", "dim")
    )


def usage_line(found: Answer) -> str:
    """Return calls, tokens, cost and time as one line."""
    made_by = "sentences from the documents, no model called" if found.extractive else calls_line(found.usage)
    return f"{made_by} · {found.usage.seconds:.1f} s"


def calls_line(usage: Usage) -> str:
    """Return calls, tokens and cost as one line."""
    cost = "cost unknown" if usage.cost is None else f"${usage.cost:.4f}"
    cached = f" ({usage.cached_calls} more from cache)" if usage.cached_calls else ""
    tokens = f"{usage.prompt_tokens:,} tokens in, {usage.completion_tokens:,} out"
    return f"{count_noun(usage.calls, 'call')}{cached}, {tokens}, {cost}"


def show_lost_relations(counts: Mapping[str, int], place: str) -> None:
    """Print how many extracted relations could not be used; nothing if all could."""
    if lost := counts["lost relations"]:
        see = f"polygraph entities lost --index {quoted(place)}"
        out.print(
            f"{count_noun(lost, 'extracted relation')} could not be used; see why: {see}", style="yellow"
        )


def show_table(
    columns: Sequence[str], rows: Sequence[Sequence[object]], *, right: Sequence[str] = ()
) -> None:
    """Print a table."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for n, column in enumerate(columns):
        # The first column names the row: it is never wrapped, the others are.
        table.add_column(
            column, justify="right" if column in right else "left", overflow="fold", no_wrap=n == 0
        )
    for row in rows:
        table.add_row(*map(str, row))
    (out if out.is_terminal else _unbounded).print(table)


def span(figure: Any, *, money: bool = False) -> str:
    """Return an estimate with its range, or `unknown`."""
    if figure is None:
        return "unknown"
    low, mid, high = (_amount(value, money) for value in (figure.low, figure.mid, figure.high))
    return mid if low == high else f"{mid} ({low} to {high})"


def estimate_and_actual(
    figure: Mapping[str, float] | None, actual: float | None, questions: int | None, *, money: bool
) -> str:
    """Return estimate and actual value; for questions, the actual value is the mean over them."""
    expected = (
        "–"
        if figure is None and not money
        else "unknown"
        if figure is None
        else _amount(figure["mid"], money)
    )
    if questions is not None:
        actual = actual / questions if actual is not None and questions else None
        return f"{expected} / {'–' if actual is None else _amount(actual, money)}"
    return f"{expected} / {'unknown' if actual is None else _amount(actual, money)}"


def round_up(money: float) -> str:
    """Round a cap up to two significant digits.

    >>> round_up(1.231), round_up(0.0102)
    ('1.3', '0.011')
    """
    digits = 1 - math.floor(math.log10(money))
    return f"{math.ceil(round(money * 10**digits, 9)) / 10**digits:.{max(digits, 0)}f}"


def _amount(value: float, money: bool) -> str:
    if not money:
        return f"{value:,.0f}"
    return f"${value:,.2f}" if value >= 1 or not value else f"${value:.4f}"
