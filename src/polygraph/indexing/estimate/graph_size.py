"""The graph as it might be, and what its reports will take."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt

from polygraph.graph.reports.write import MAX_INPUT_TOKENS, MAX_WORDS
from polygraph.indexing.estimate import pilot as flight
from polygraph.indexing.estimate.model_profile import (
    REPORT_BASIS,
    REPORT_TOKENS,
    Habits,
    ReportHabits,
    learn_reports,
    typical_report,
)
from polygraph.indexing.estimate.plan import Facts
from polygraph.indexing.estimate.ranges import ZERO, Line, Range, line, three
from polygraph.indexing.estimate.simulate import (
    MOST_WINDOWS,
    Rehearsal,
    compared,
    growth,
    nested_samples,
    reading_by_capitals,
    rehearse,
)
from polygraph.models import ChatModel
from polygraph.models.calls import request_key
from polygraph.records import Extraction, Window
from polygraph.tasks import report as report_task
from polygraph.text.tokens import count_many, count_tokens

_LUCK = 0.06
"""Relative error of a rehearsal of which every rate is right: resolution and communities differ a little."""


@dataclass(slots=True)
class Graph:
    """Figures of the rehearsed graph, at full size."""

    entities: Range = ZERO
    reports: Range = ZERO
    """Reports to be paid for."""
    communities: Range = ZERO
    free: int = 0
    reads: Range = ZERO
    writes: Range = ZERO
    last: Rehearsal | None = None
    share: float = 1.0
    """Communities for each of those rehearsed last."""
    entity_share: float = 1.0
    material: float = 0.0


def graph_of(facts: Facts, habits: tuple[Habits, ...], n_pilot_reports: int, writes_reports: bool) -> Graph:
    """Rehearse, at low, middle and high habits where these are not learned."""
    reports = facts.report_habits = report_habits(facts, n_pilot_reports)
    if len(habits) > 1:
        n_notes = len(facts.notes)
        runs = [_rehearsed(facts, h, r, writes_reports) for h, r in zip(habits, reports, strict=True)]
        facts.notes[n_notes:] = facts.notes[n_notes:][1:2]  # each run says the same; the middle one is shown
        mid = runs[1]
        mid.entities = Range.of(r.entities.mid for r in runs)
        mid.communities = Range.of(r.communities.mid for r in runs)
        mid.reports = Range.of(r.reports.mid for r in runs)
        mid.reads = Range.of(r.reads.mid for r in runs)
        mid.writes = Range.of(r.writes.mid for r in runs)
        return mid
    graph = _rehearsed(facts, habits[0], reports[1], writes_reports)
    if reports[0] != reports[2] and graph.reports.high:
        lengths = [r.tokens(graph.material) for r in reports]
        graph.writes = Range.of(n * each for n, each in zip(three(graph.reports), lengths, strict=True))
        graph.writes = Range(graph.writes.low, max(graph.writes.low, graph.writes.mid), graph.writes.high)
    return graph


def _rehearsed(facts: Facts, habits: Habits, report: ReportHabits, writes_reports: bool) -> Graph:
    windows, chat = facts.corpus.windows, facts.models.chat
    room = MAX_INPUT_TOKENS - _report_frame()

    def ours(window: Window) -> Extraction:
        return reading_by_capitals(window, facts.tokens[window.id], habits)

    def run(some: Sequence[Window], rows: Iterable[Extraction]) -> Rehearsal:
        return rehearse(
            some, rows, community_size=facts.plan.manifest.community_size, room=room, report=report,
            materials=writes_reports,
        )  # fmt: skip

    def figures(found: Rehearsal) -> tuple[float, float, float]:
        return (
            float(len(found.view.entities)),
            float(len(found.communities)),
            float(sum(count_many([m.text for m in found.materials]))),
        )

    samples = [list(windows)] if len(windows) <= MOST_WINDOWS else nested_samples(windows, MOST_WINDOWS)
    measured = []
    for some in samples:
        last = run(some, (facts.rows.get(w.id) or ours(w) for w in some))
        measured.append(figures(last))
    shares, errors = [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]
    if len(samples) > 1:
        sizes = [len(some) for some in samples]
        grown = [growth(sizes, values, len(windows)) for values in zip(*measured, strict=True)]
        shares = [(len(windows) / sizes[-1]) ** g.power for g in grown]
        errors = [g.error for g in grown]
        facts.notes.append(
            f"the graph was rehearsed on {sizes[-1]:,} of {len(windows):,} windows; communities grow with the "
            f"number of windows to the power {grown[1].power:.2f}, by {', '.join(f'{s:,}' for s in sizes)} windows"
        )
    known = sum(w.id in facts.rows for w in samples[-1]) / max(1, len(samples[-1]))
    if known < 1:
        fair = compared(samples[-1], facts.rows, ours, lambda w, rows: figures(run(w, rows)))
        if fair is not None:
            # With much known, the mixed rows are the better rehearsal, as few of them are ours.
            blend = [known * m + (1 - known) * f for f, m in zip(fair, measured[-1], strict=True)]
            shares = [s * b / max(1.0, m) for s, b, m in zip(shares, blend, measured[-1], strict=True)]
    unknown = sqrt(1 - known)
    errors = [e + unknown * (_LUCK + habits.error) for e in errors]
    n_entities, n_communities, material = measured[-1]
    graph = Graph(last=last, share=shares[1], entity_share=shares[0])
    graph.entities = Range.about(n_entities * shares[0], errors[0])
    graph.communities = Range.about(n_communities * shares[1], errors[1])
    if not writes_reports or chat is None or not last.communities:
        return graph
    frame, each = _report_frame(), shares[2] / shares[1]
    graph.material = material / n_communities * each
    paid_reads = paid_writes = n_paid = 0.0
    for made in last.materials:
        if facts.plan.stored(request_key(chat.name, report_task.request(made.text, max_words=MAX_WORDS))):
            graph.free += 1
            continue
        n = count_tokens(made.text) * each
        n_paid += 1
        paid_reads += min(n, room) + frame
        paid_writes += report.tokens(n)
    graph.reports = Range.about(n_paid * shares[1], errors[1])
    graph.reads = Range.about(paid_reads * shares[1], errors[1] + errors[2] / 2)
    graph.writes = Range.about(paid_writes * shares[1], errors[1] + unknown * 0.1)
    return graph


def _report_frame() -> int:
    empty = report_task.request("", max_words=MAX_WORDS)
    return sum(count_tokens(m.content) for m in empty.messages)


def report_habits(facts: Facts, n_pilot: int) -> tuple[ReportHabits, ...]:
    """Return how long reports are: low, middle and high; all the same where they were learned."""
    chat = facts.models.chat
    if chat is None:
        return (typical_report(REPORT_TOKENS[1]),) * 3
    most = 2 * MAX_WORDS + 400
    some = [w for w in facts.corpus.windows if w.id in facts.rows]
    if n_pilot and some:
        small = rehearse(
            some, [facts.rows[w.id] for w in some], community_size=facts.plan.manifest.community_size,
            room=MAX_INPUT_TOKENS - _report_frame(), report=typical_report(REPORT_TOKENS[1]),
        )  # fmt: skip
        pairs = flight.write_some(small, n_pilot, facts.models, max_words=MAX_WORDS)
        learned = learn_reports(pairs, most)
        if learned is not None:
            facts.report_basis = f"length as in {len(pairs)} reports of the pilot"
            return (learned,) * 3
    where = "this index"
    rows = [r for r in facts.plan.ledger() if r.stage == "reports" and r.model == chat.name and r.ok]
    if not rows and facts.plan.like is not None:
        where = facts.plan.like.name
        rows = [r for r in facts.plan.like.ledger if r.stage == "reports" and r.ok]
    n = sum(r.ok for r in rows)
    if n >= 3:
        reads = sum(r.prompt_tokens for r in rows) / n - _report_frame()
        learned = learn_reports([(round(reads), round(sum(r.completion_tokens for r in rows) / n))], most)
        if learned is not None:
            facts.report_basis = f"length as in {n:,} reports in the ledger of {where}"
            return (learned,) * 3
    facts.report_basis = f"length as {REPORT_BASIS}"
    return tuple(typical_report(tokens) for tokens in REPORT_TOKENS)


def report_line(facts: Facts, chat: ChatModel, graph: Graph) -> Line:
    """Return the line of the reports."""
    return line(
        "reports", chat.name, facts.price(chat), graph.reports, graph.reads, graph.writes,
        free=graph.free, basis=f"communities of a rehearsed graph; {facts.report_basis}",
    )  # fmt: skip
