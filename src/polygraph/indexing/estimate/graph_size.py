"""The size of the graph, and the cost of its reports."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt

from polygraph.graph.merge.view import GraphView
from polygraph.graph.reports.write import MAX_INPUT_TOKENS
from polygraph.indexing.estimate.model_profile import (
    REPORT_BASIS,
    REPORT_TOKENS,
    ModelProfile,
    ReportLength,
    default_report_length,
    fit_report_length,
)
from polygraph.indexing.estimate.pilot import write_pilot_reports
from polygraph.indexing.estimate.plan import EstimateState
from polygraph.indexing.estimate.ranges import ZERO, Line, Range, priced_line
from polygraph.indexing.estimate.scaling import (
    MAX_SIMULATED,
    Figures,
    NameCounts,
    extrapolate_entities,
    fit_growth,
    nested_samples,
)
from polygraph.indexing.estimate.simulated_extraction import simulate_extraction
from polygraph.indexing.estimate.simulated_graph import SimulatedGraph, simulate_graph, simulate_view
from polygraph.models import ChatModel
from polygraph.models.reply_cache import request_key
from polygraph.records import Extraction, Window
from polygraph.tasks.indexing import report as report_task
from polygraph.text.prose import count_noun
from polygraph.text.tokens import count_many, count_tokens

_CHANCE_ERROR = 0.06
"""Relative error of a simulation with the right rates: resolution and communities still differ a little."""
_MIN_REPORTS = 3
"""Reports in a ledger from which their length is taken."""


@dataclass(slots=True)
class GraphSize:
    """Figures of the simulated graph, scaled to the whole index."""

    entities: Range = ZERO
    reports: Range = ZERO
    """Reports to be paid."""
    communities: Range = ZERO
    free: int = 0
    """Reports whose reply is stored."""
    reads: Range = ZERO
    writes: Range = ZERO
    simulated: SimulatedGraph | None = None
    """The largest graph that was simulated."""
    community_share: float = 1.0
    """Communities of the index for each simulated one."""
    report_share: float = 1.0
    """Reports of the index for each simulated one."""
    entity_share: float = 1.0
    context_tokens: float = 0.0
    """Tokens of a report's context, on average."""

    @property
    def entity_growth(self) -> Range:
        """Factor from what depends on the simulated entities to the whole index."""
        return self.entities.map(lambda n: self.entity_share * n / max(self.entities.mid, 1))


@dataclass(frozen=True, slots=True)
class _Simulation:
    """The largest simulated graph, and how its figures continue."""

    graph: SimulatedGraph
    figures: Figures
    shares: Figures
    """Factors from `figures` to the whole index."""
    errors: Figures
    unknown: float
    """Square root of the share of windows without known rows."""


def estimate_graph(
    state: EstimateState, profiles: tuple[ModelProfile, ...], n_pilot_reports: int, *, writes_reports: bool
) -> GraphSize:
    """Estimate the graph by simulation: once with a fitted profile, else with the low, middle and high one."""
    lengths = state.report_lengths = report_lengths(state, n_pilot_reports)
    if len(profiles) > 1:
        n_notes = len(state.notes)
        runs = [
            _size(state, profile, length, writes_reports)
            for profile, length in zip(profiles, lengths, strict=True)
        ]
        state.notes[n_notes:] = state.notes[n_notes:][1:2]  # each run notes the same; the middle one is shown
        size = runs[1]
        size.entities = Range.from_guesses(run.entities.mid for run in runs)
        size.communities = Range.from_guesses(run.communities.mid for run in runs)
        size.reports = Range.from_guesses(run.reports.mid for run in runs)
        size.reads = Range.from_guesses(run.reads.mid for run in runs)
        size.writes = Range.from_guesses(run.writes.mid for run in runs)
        return size
    size = _size(state, profiles[0], lengths[1], writes_reports)
    if lengths[0] != lengths[2] and size.reports.high:
        tokens = [length.tokens(size.context_tokens) for length in lengths]
        size.writes = Range.from_guesses(n * each for n, each in zip(size.reports, tokens, strict=True))
        size.writes = Range(size.writes.low, max(size.writes.low, size.writes.mid), size.writes.high)
    return size


def _size(
    state: EstimateState, profile: ModelProfile, length: ReportLength, writes_reports: bool
) -> GraphSize:
    run = _simulate(state, profile, length, writes_reports)
    figures, shares, errors = run.figures, run.shares, run.errors
    size = GraphSize(
        simulated=run.graph,
        community_share=shares.communities,
        report_share=shares.reports,
        entity_share=shares.entities,
    )
    size.entities = Range.with_relative_error(figures.entities * shares.entities, errors.entities)
    size.communities = Range.with_relative_error(figures.communities * shares.communities, errors.communities)
    chat = state.models.chat
    if not writes_reports or chat is None or not run.graph.communities:
        return size
    instructions, max_context = _report_instructions(state), _max_context(state)
    growth = shares.context_tokens / shares.reports if shares.reports else 1.0
    size.context_tokens = figures.context_tokens / max(1, len(run.graph.contexts)) * growth
    reads = writes = n_paid = 0.0
    for context in run.graph.contexts:
        request = report_task.report_request(context.text, max_words=state.plan.manifest.report_words)
        if state.plan.stored_reply(request_key(chat.name, request)):
            size.free += 1
            continue
        n = count_tokens(context.text) * growth
        n_paid += 1
        reads += min(n, max_context) + instructions
        writes += length.tokens(n)
    error = errors.reports
    size.reports = Range.with_relative_error(n_paid * shares.reports, error)
    size.reads = Range.with_relative_error(reads * shares.reports, error + errors.context_tokens / 2)
    size.writes = Range.with_relative_error(writes * shares.reports, error + run.unknown * 0.1)
    return size


def _simulate(
    state: EstimateState, profile: ModelProfile, length: ReportLength, writes_reports: bool
) -> _Simulation:
    windows, max_context = state.corpus.windows, _max_context(state)

    def rows_of(window: Window) -> Extraction:
        return simulate_extraction(window, state.n_tokens[window.id], profile)

    def run(some: Sequence[Window], rows: Iterable[Extraction]) -> SimulatedGraph:
        return simulate_graph(
            some, rows, manifest=state.plan.manifest, max_context=max_context, report=length,
            contexts=writes_reports,
        )  # fmt: skip

    samples = [list(windows)] if len(windows) <= MAX_SIMULATED else nested_samples(windows, MAX_SIMULATED)
    measured = []
    for some in samples:
        last = run(some, (state.extractions.get(w.id) or rows_of(w) for w in some))
        measured.append(_figures(last))
    shares, errors = Figures(1, 1, 1, 1), Figures(0, 0, 0, 0)
    if len(samples) > 1:
        sizes = [len(some) for some in samples]
        grown = [fit_growth(sizes, values, len(windows)) for values in zip(*measured, strict=True)]
        shares = Figures(*((len(windows) / sizes[-1]) ** g.power for g in grown))
        errors = Figures(*(g.error for g in grown))
        state.notes.append(
            f"the graph was simulated on {sizes[-1]:,} of {len(windows):,} windows; communities grow with the "
            f"number of windows to the power {grown[1].power:.2f}, by {', '.join(f'{s:,}' for s in sizes)} windows"
        )
    known = sum(w.id in state.extractions for w in samples[-1]) / max(1, len(samples[-1]))
    if known < 1:
        n_entities = extrapolate_entities(
            samples[-1],
            state.extractions,
            rows_of,
            lambda some, rows: _count_names(simulate_view(some, rows, state.plan.manifest), some),
        )
        if n_entities is not None:
            # Simulated windows have the structure of known ones: more entities are so many more of each figure.
            shares = Figures(*(share * n_entities / max(1.0, measured[-1].entities) for share in shares))
    unknown = sqrt(1 - known)
    errors = Figures(*(e + unknown * (_CHANCE_ERROR + profile.error) for e in errors))
    return _Simulation(last, measured[-1], shares, errors, unknown)


def _figures(graph: SimulatedGraph) -> Figures:
    return Figures(
        entities=len(graph.view.entities),
        communities=len(graph.communities),
        reports=len(graph.contexts),
        context_tokens=sum(count_many([context.text for context in graph.contexts])),
    )


def _count_names(view: GraphView, windows: Sequence[Window]) -> NameCounts:
    window_of = {chunk.id: window.id for window in windows for chunk in window.chunks}
    once = sum(len({window_of[chunk] for chunk in entity.chunks}) == 1 for entity in view.entities)
    return NameCounts(len(view.entities), once)


# --- reports ----------------------------------------------------------------------------------------------


def report_lengths(state: EstimateState, n_pilot: int) -> tuple[ReportLength, ...]:
    """Return the low, middle and high length of reports; all the same where it was fitted.

    Args:
        state: gets the basis of the lengths.
        n_pilot: reports that the pilot may write.
    """
    chat = state.models.chat
    if chat is None:
        return (default_report_length(REPORT_TOKENS[1]),) * 3
    most = 2 * state.plan.manifest.report_words + 400
    pairs = _pilot_reports(state, n_pilot)
    fitted = fit_report_length(pairs, most)
    if fitted is not None:
        state.report_basis = f"length as in {count_noun(len(pairs), 'report')} of the pilot"
        return (fitted,) * 3
    where = "this index"
    rows = [r for r in state.plan.ledger() if r.stage == "reports" and r.model == chat.name and r.ok]
    if not rows and state.plan.other_index is not None:
        where = state.plan.other_index.name
        rows = [r for r in state.plan.other_index.ledger if r.stage == "reports" and r.ok]
    n = sum(r.ok for r in rows)
    if n >= _MIN_REPORTS:
        context = sum(r.prompt_tokens for r in rows) / n - _report_instructions(state)
        fitted = fit_report_length(
            [(round(context), round(sum(r.completion_tokens for r in rows) / n))], most
        )
        if fitted is not None:
            state.report_basis = f"length as in {n:,} reports in the ledger of {where}"
            return (fitted,) * 3
    state.report_basis = f"length as {REPORT_BASIS}"
    return tuple(default_report_length(tokens) for tokens in REPORT_TOKENS)


def _pilot_reports(state: EstimateState, n: int) -> list[tuple[int, int]]:
    """Write the pilot's reports on the windows with known rows; return tokens of contexts and reports."""
    known = [w for w in state.corpus.windows if w.id in state.extractions]
    if not n or not known:
        return []
    graph = simulate_graph(
        known, [state.extractions[w.id] for w in known],
        manifest=state.plan.manifest, max_context=_max_context(state),
        report=default_report_length(REPORT_TOKENS[1]),
    )  # fmt: skip
    counted = write_pilot_reports(graph, n, state.models, max_words=state.plan.manifest.report_words)
    if counted:
        n_reply, n_report = (sum(each[part] for each in counted) for part in (1, 2))
        state.report_text_share = min(1.0, n_report / max(1, n_reply))
    return [(n_context, n_reply) for n_context, n_reply, _ in counted]


def report_line(state: EstimateState, chat: ChatModel, size: GraphSize) -> Line:
    """Return the line of the reports."""
    return priced_line(
        "reports", chat.name, state.price(chat), size.reports, size.reads, size.writes,
        free=size.free, basis=f"communities of a simulated graph; {state.report_basis}",
    )  # fmt: skip


def _report_instructions(state: EstimateState) -> int:
    """Return the tokens of a request for a report beside its context."""
    return report_task.report_request("", max_words=state.plan.manifest.report_words).n_tokens


def _max_context(state: EstimateState) -> int:
    return MAX_INPUT_TOKENS - _report_instructions(state)
