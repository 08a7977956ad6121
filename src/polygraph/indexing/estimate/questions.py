"""The cost of one question with a method."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polygraph.indexing.estimate.model_profile import ReportLength
from polygraph.indexing.estimate.ranges import Line, Range, priced_line
from polygraph.models.calls import LedgerRow
from polygraph.models.prices import Price
from polygraph.prompts import prompt
from polygraph.records import Community
from polygraph.tasks.answers.answer import answer_instructions
from polygraph.tasks.evidence.check_citations import check_request
from polygraph.text.prose import count_noun
from polygraph.text.tokens import count_tokens

MIN_ANSWERS = 3
"""Answers after which a method's own average is used instead of its formula."""
QUESTION_TOKENS = 20
ANSWER_TOKENS = (60.0, 200.0, 600.0)
"""Tokens of an answer where this model has written none: from one cited sentence to a page."""
POINTS_TOKENS = (100.0, 500.0, 1_200.0)
"""Tokens of the reply to one batch of reports: up to 12 points of about 40 tokens and their JSON are asked for."""
_CITED = (0.1, 0.3, 0.6)
"""Share of the context that an answer cites."""
_VERDICT_TOKENS = (12.0, 20.0, 40.0)
"""Tokens of the verdicts on the claims of an answer."""
_PREPARING_TOKENS = Range(200, 300, 800)
"""Tokens read by a call that comes before retrieval and sees no passage: keywords, entities of the question, a choice
of facts. Prompts for keywords have 200, those for facts 270."""
_PREPARED_TOKENS = Range(10, 30, 150)
"""Tokens of its reply."""
_ITEM_TOKENS = 6
"""Number and line breaks around a passage in the context, and its title."""
_REPORT_HEADER = 20
_COUNTED = re.compile(r"(?P<bound>at most )?(?P<n>\d+)(?: = [\d +x()]+|, .*| = .* steps)?$")
"""A number of calls, or a bound; how it comes about may follow."""
_LEAST, _USUAL = 0.2, 0.6
"""Shares of a bound on calls that a question takes at least, and usually."""
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
    """Budget of the context; of a method without one, that of its default preset."""
    parameters: Mapping[str, object]
    """Its fields."""
    has_budget: bool = True
    """False if it adds what it found, however long, as in some papers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSizes:
    """Sizes of the layers that a method retrieves from."""

    chunk_tokens: float
    """Tokens of a chunk, on average."""
    n_chunks: int
    communities: Sequence[Community]
    share: float
    """Communities of the index for each of `communities`."""
    report: ReportLength
    context_tokens: float
    """Tokens of the context that a report is written from, on average."""


def question_line(
    method: MethodPlan,
    sizes: LayerSizes,
    model: str,
    price: Price | None,
    ledger: Sequence[LedgerRow],
    questions: Mapping[str, int] | None = None,
    *,
    check_by_model: bool = False,
) -> Line:
    """Return the cost of one question: this index's own average, else by the method's formula and budget.

    Args:
        method: that answers.
        sizes: of the layers to retrieve from.
        model: name of the chat model.
        price: of it.
        ledger: all that was spent so far.
        questions: how many each method answered; by default counted by its answers in the ledger.
        check_by_model: whether a call more checks the citations of each answer.
    """
    spent = [r for r in ledger if r.model == model and r.method == method.name]
    asked = (questions or {}).get(method.name) or sum(r.ok for r in spent if r.stage == "answer")
    if asked >= MIN_ANSWERS:
        return _average_line(method, model, price, spent, asked)
    instructions = _answer_instructions()
    context = _context(method, sizes)
    answers = Range.from_guesses(ANSWER_TOKENS)
    basis = f"budget of {method.max_tokens:,} tokens"
    if not method.has_budget:
        basis = f"no budget; the default preset has {method.max_tokens:,} tokens"
    batched = _BATCHED.fullmatch(method.calls)
    if counted := _COUNTED.match(method.calls):
        n = float(counted["n"])
        calls = Range(_LEAST * n, _USUAL * n, n) if counted["bound"] else Range.exactly(n)
        reads = context + Range.exactly(instructions)
        writes = answers
        # Of two calls the first prepares retrieval; each of more may read passages, as those of an agent do.
        if n == 2 and not counted["bound"]:
            reads += _PREPARING_TOKENS
            writes += _PREPARED_TOKENS
        else:
            reads, writes = calls * reads, calls * writes
    elif batched:
        calls, reads, writes = _read_every_report(method, sizes, int(batched[1]), instructions, answers)
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
    if check_by_model:
        calls += Range.exactly(1)
        reads += Range(*_CITED) * context + answers + Range.exactly(_check_instructions())
        writes += Range(*_VERDICT_TOKENS)
    return priced_line("question", model, price, calls, reads, writes, method=method.name, basis=basis)


def _average_line(
    method: MethodPlan, model: str, price: Price | None, spent: Sequence[LedgerRow], asked: int
) -> Line:
    calls, reads, writes = (
        sum(getattr(r, name) * _with_cached(r) for r in spent) / asked
        for name in ("attempts", "prompt_tokens", "completion_tokens")
    )
    return priced_line(
        "question",
        model,
        price,
        Range.with_relative_error(calls, 0.1),
        Range.with_relative_error(reads, 0.25),
        Range.with_relative_error(writes, 0.25),
        method=method.name,
        basis=f"average of {count_noun(asked, 'question')} answered from this index",
    )


def _with_cached(row: LedgerRow) -> float:
    """Return the factor by which a row grows if replies from the store count as calls, too.

    Otherwise a method would look cheaper, the more often the same is asked.
    """
    return (row.attempts + row.cached) / row.attempts if row.attempts else 0.0


def _answer_instructions() -> int:
    """Return the tokens of a request for an answer beside its evidence."""
    return answer_instructions() + QUESTION_TOKENS


def _check_instructions() -> int:
    """Return the tokens of a request to check citations beside its evidence and claims."""
    return check_request("", (), {}).n_tokens + QUESTION_TOKENS


def _context(method: MethodPlan, sizes: LayerSizes) -> Range:
    """Return the tokens of the packed context.

    Without a budget: of its `k` chunks. Where the size depends on the graph, the budget of the default preset is
    assumed, since a method that adds what it found still finds only a part of the index.
    """
    everything = sizes.n_chunks * (sizes.chunk_tokens + _ITEM_TOKENS)
    k = method.parameters.get("k")
    if isinstance(k, int) and "graph" not in method.needs:
        budget = float(method.max_tokens) if method.has_budget else everything
        full = min(k * (sizes.chunk_tokens + _ITEM_TOKENS), everything, budget)
        return Range(0.6 * full, full, min(1.3 * full, budget))
    # Graph methods also show entities, relations and reports, which say the same as the text.
    full = min(2 * everything, float(method.max_tokens))
    return Range(0.4 * full, 0.8 * full, full)


def _read_every_report(
    method: MethodPlan, sizes: LayerSizes, more_calls: int, instructions: int, answers: Range
) -> tuple[Range, Range, Range]:
    """Return calls, tokens in and tokens out where every report up to a level is read in batches."""
    batch = method.parameters.get("batch_tokens")
    batch = batch if isinstance(batch, int) else 12_000
    n_reports = _reports_read(method, sizes.communities) * sizes.share
    # In a context a report stands without its JSON and source numbers.
    report_tokens = 0.8 * sizes.report.tokens(sizes.context_tokens) + _REPORT_HEADER
    frame = sum(count_tokens(part) for part in prompt("points").fill({"reports": "", "question": ""}))
    figures = []
    for factor, points, answer in zip((0.75, 1.0, 1.33), POINTS_TOKENS, answers, strict=True):
        text = n_reports * report_tokens * factor
        batches = max(1, -(-int(text) // batch))
        packed = min(batches * points, method.max_tokens)
        reads = text + batches * (frame + QUESTION_TOKENS) + packed + more_calls * instructions
        figures.append((batches + more_calls, reads, batches * points + more_calls * answer))
    calls, read, written = zip(*figures, strict=True)
    return Range(*calls), Range(*read), Range(*written)


def _reports_read(method: MethodPlan, communities: Sequence[Community]) -> int:
    """Return how many reports a method reads: of all communities up to its level, or of each entity's deepest."""
    level = method.parameters.get("level")
    level = level if isinstance(level, int) else 0
    shown = [c for c in communities if c.level <= level]
    if method.parameters.get("rollup") != "entity":
        return len(shown)
    deepest: dict[str, tuple[int, str]] = {}
    for c in shown:
        for entity in c.entities:
            deepest[entity] = max(deepest.get(entity, (-1, "")), (c.level, c.id))
    return len({community for _, community in deepest.values()})
