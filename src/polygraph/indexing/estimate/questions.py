"""What one question costs with a method."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polygraph.indexing.estimate.model_profile import ReportHabits
from polygraph.indexing.estimate.ranges import Line, Range, line
from polygraph.models.calls import LedgerRow
from polygraph.models.prices import Price
from polygraph.prompts import as_data, prompt
from polygraph.records import Community
from polygraph.text.tokens import count_tokens

LEAST_ASKED = 3
"""Answers after which a method's own average goes before its formula."""
QUESTION_TOKENS = 20
ANSWER_TOKENS = (60.0, 200.0, 600.0)
"""Of an answer, where this model has written none: from one cited sentence to a page."""
POINTS_TOKENS = (100.0, 500.0, 1_200.0)
"""Of the reply to one batch of reports: up to 12 points of about 40 tokens and their JSON are asked for."""
_ITEM_TOKENS = 6
"""Number and line breaks around a passage in the context, and its title."""
_REPORT_HEADER = 20
_COUNTED = re.compile(r"(?P<bound>at most )?(?P<n>\d+)(?: = [\d +x()]+|, .*| = .* steps)?$")
"""A number of calls, or a bound; how it comes about may follow."""
_LEAST, _USUAL = 0.2, 0.6
"""Of a bound on calls, what a question takes at least, and usually."""
_BATCHED = re.compile(r"ceil\(report tokens / batch tokens\) \+ (\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodPlan:
    """A method as plain data."""

    name: str
    needs: frozenset[str]
    """Layers."""
    calls: str
    """Calls for one question, the answer included: a number or a formula."""
    max_tokens: int
    """Budget of the context."""
    parameters: Mapping[str, object]
    """Its fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """What there is to retrieve from."""

    chunk_tokens: float
    """Of a chunk, on average."""
    n_chunks: int
    communities: Sequence[Community]
    share: float
    """Communities of the index for each of `communities`."""
    report: ReportHabits
    material_tokens: float
    """Of a report's material, on average."""


def question_line(
    method: MethodPlan,
    holdings: Holdings,
    model: str,
    price: Price | None,
    ledger: Sequence[LedgerRow],
    questions: Mapping[str, int] | None = None,
) -> Line:
    """What one question costs: this index's own average, else by the method's formula and budget.

    Args:
        method: that answers.
        holdings: what there is to retrieve from.
        model: name of the chat model.
        price: of it.
        ledger: what was ever spent.
        questions: how many each method answered; by default counted by its answers in the ledger.
    """
    mine = [r for r in ledger if r.model == model and r.method == method.name]
    asked = (questions or {}).get(method.name) or sum(r.ok for r in mine if r.stage == "answer")
    if asked >= LEAST_ASKED:
        n_calls, reads, writes = (
            sum(getattr(r, name) * _repeated(r) for r in mine) / asked
            for name in ("attempts", "prompt_tokens", "completion_tokens")
        )
        return line(
            "question",
            model,
            price,
            Range.about(n_calls, 0.1),
            Range.about(reads, 0.25),
            Range.about(writes, 0.25),
            method=method.name,
            basis=f"average of {asked} questions answered from this index",
        )
    instructions = (
        sum(
            count_tokens(part)
            for part in prompt("answer").fill(
                {"evidence": as_data("", "evidence"), "history": "", "question": ""}
            )
        )
        + QUESTION_TOKENS
    )
    context = _context(method, holdings)
    answers = Range.of(ANSWER_TOKENS)
    basis = f"budget of {method.max_tokens:,} tokens"
    batched = _BATCHED.fullmatch(method.calls)
    if counted := _COUNTED.match(method.calls):
        n = float(counted["n"])
        found = Range(_LEAST * n, _USUAL * n, n) if counted["bound"] else Range.exactly(n)
        read = Range(
            found.low * (context.low + instructions),
            found.mid * (context.mid + instructions),
            found.high * (context.high + instructions),
        )
        written = Range(found.low * answers.low, found.mid * answers.mid, found.high * answers.high)
    elif batched:
        found, read, written = _mapped(method, holdings, int(batched[1]), instructions, answers)
        basis = f"every report is read; {basis}"
    else:
        return Line(
            stage="question",
            model=model,
            method=method.name,
            calls=None,
            prompt_tokens=None,
            completion_tokens=None,
            cost=None,
            basis=f"calls: {method.calls}; ask a few questions, and their average is shown here",
        )
    return line("question", model, price, found, read, written, method=method.name, basis=basis)


def _repeated(row: LedgerRow) -> float:
    """By how much a row is to be multiplied so that replies that were in the store count as calls, too.

    Otherwise a method would look the cheaper, the more often the same is asked.
    """
    return (row.attempts + row.cached) / row.attempts if row.attempts else 0.0


def _context(method: MethodPlan, holdings: Holdings) -> Range:
    """Tokens of the packed context."""
    everything = holdings.n_chunks * (holdings.chunk_tokens + _ITEM_TOKENS)
    k = method.parameters.get("k")
    if isinstance(k, int) and "graph" not in method.needs:
        full = min(k * (holdings.chunk_tokens + _ITEM_TOKENS), everything, method.max_tokens)
        return Range(0.6 * full, full, min(1.3 * full, method.max_tokens))
    # Graph methods also show entities, relations and reports, which tell the same text again.
    full = min(2 * everything, float(method.max_tokens))
    return Range(0.4 * full, 0.8 * full, full)


def _mapped(
    method: MethodPlan, holdings: Holdings, more: int, instructions: int, answers: Range
) -> tuple[Range, Range, Range]:
    """Calls, tokens in and out where every report up to a level is read in batches."""
    level, batch = method.parameters.get("level"), method.parameters.get("batch_tokens")
    level = level if isinstance(level, int) else 0
    batch = batch if isinstance(batch, int) else 12_000
    some = [c for c in holdings.communities if c.level <= level]
    if method.parameters.get("rollup") == "entity":
        deepest: dict[str, tuple[int, str]] = {}
        for c in some:
            for entity in c.entities:
                deepest[entity] = max(deepest.get(entity, (-1, "")), (c.level, c.id))
        n_reports = len({i for _, i in deepest.values()}) * holdings.share
    else:
        n_reports = len(some) * holdings.share
    # In a context a report stands without its JSON and source numbers.
    each = 0.8 * holdings.report.tokens(holdings.material_tokens) + _REPORT_HEADER
    frame = sum(count_tokens(part) for part in prompt("points").fill({"reports": "", "question": ""}))
    figures = []
    for factor, points, final in zip(
        (0.75, 1.0, 1.33), POINTS_TOKENS, (answers.low, answers.mid, answers.high), strict=True
    ):
        text = n_reports * each * factor
        batches = max(1, -(-int(text) // batch))
        packed = min(batches * points, method.max_tokens)
        reads = text + batches * (frame + QUESTION_TOKENS) + packed + more * instructions
        figures.append((batches + more, reads, batches * points + more * final))
    low, mid, high = figures
    return (
        Range(low[0], mid[0], high[0]),
        Range(low[1], mid[1], high[1]),
        Range(low[2], mid[2], high[2]),
    )
