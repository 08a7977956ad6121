"""The cost of extraction: exact where a request can be rendered, by the model's profile where its reply decides."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import sqrt

from polygraph.errors import UnusableReply
from polygraph.extract.llm import extractor as llm
from polygraph.extract.llm.parser import parse_extraction
from polygraph.extract.nlp import extractor as nlp
from polygraph.indexing.estimate.corpus import sample
from polygraph.indexing.estimate.model_profile import (
    DEFAULT_BASIS,
    DEFAULT_PROFILES,
    GPT_4O,
    ModelProfile,
    fit_profile,
    ratio_of_sums,
)
from polygraph.indexing.estimate.pilot import divide_calls, run_pilot
from polygraph.indexing.estimate.plan import EstimateState
from polygraph.indexing.estimate.ranges import Line, Range, priced_line
from polygraph.indexing.estimate.scaling import MAX_SIMULATED
from polygraph.indexing.estimate.simulated_extraction import fit_common_words
from polygraph.models import ChatModel, ChatRequest
from polygraph.models.prices import Price
from polygraph.models.reply_cache import request_key
from polygraph.prompts import prompt
from polygraph.records import Extraction, Window
from polygraph.tasks.indexing import extract as extract_task
from polygraph.text.passage import as_read, fields_above
from polygraph.text.prose import count_noun
from polygraph.text.tokens import count_tokens

MAX_RENDERED = 4_000
"""Requests that are rendered and counted; of more, a seeded sample is, scaled by the length of the texts."""
_MAX_FITTED = 400
"""Windows that a profile is fitted to."""
_COMPARED = 100
"""Windows to which the share of common words is fitted."""
_MIN_REPLIES = 3
"""Replies in the ledger from which the number of further calls is taken."""


@dataclass(slots=True)
class _Rendered:
    """Requests that were rendered and counted."""

    n_requests: int
    text_tokens: int
    """Tokens of the windows' texts."""
    unpaid: list[Window] = field(default_factory=list)
    """Windows whose request is to be paid."""
    pairs: list[tuple[float, float]] = field(default_factory=list)
    """For each of these, tokens of the text and of the request."""
    free: int = 0

    @property
    def unpaid_share(self) -> float:
        """Share of the text whose requests are to be paid."""
        return sum(n_text for n_text, _ in self.pairs) / max(1, self.text_tokens)


def extract_pilot_windows(state: EstimateState, to_read: Sequence[Window], *, reports: bool) -> int:
    """Make the pilot's calls for windows; return how many reports it may still write."""
    n_windows, n_reports = divide_calls(state.n_pilot_calls, state.plan.manifest, reports=reports)
    before = state.models.calls.spent
    run_pilot(to_read, n_windows, state.models, state.plan.manifest)
    after = state.models.calls.spent
    state.notes.append(
        f"pilot: {count_noun(after.calls - before.calls, 'window')} read; the replies are kept for the build"
    )
    return n_reports


def extraction_lines(
    state: EstimateState, chat: ChatModel, to_read: Sequence[Window]
) -> tuple[list[Line], tuple[ModelProfile, ...]]:
    """Return the lines of extraction and gleaning, and one profile if it was fitted, else low, middle and high."""
    price = state.price(chat)
    rendered = _render(state, chat, sample(to_read, MAX_RENDERED))
    scale = len(to_read) / rendered.n_requests
    n_calls = len(rendered.unpaid) * scale
    unpaid_text = sum(state.n_tokens[w.id] for w in to_read) * rendered.unpaid_share
    reads = Range.exactly(sum(b for _, b in rendered.pairs))
    calls = Range.exactly(n_calls)
    if scale > 1:
        rate, error = ratio_of_sums(rendered.pairs)
        reads = Range.with_relative_error(unpaid_text * rate, error)
        share = len(rendered.unpaid) / rendered.n_requests
        deviation = 2 * sqrt(share * (1 - share) / rendered.n_requests)
        calls = Range.with_relative_error(n_calls, deviation / max(share, 1e-9))
        state.notes.append(
            f"{rendered.n_requests:,} of {len(to_read):,} requests were counted; the others are assumed to be alike"
        )
    profiles, basis = _profiles(state, chat)
    lengths = [state.n_tokens[w.id] for w in rendered.unpaid]
    writes = _reply_tokens(profiles, lengths, scale, unpaid_text)
    free = round(rendered.free * scale)
    lines = [priced_line("extract", chat.name, price, calls, reads, writes, free=free, basis=basis)]
    return lines + _gleaning_lines(state, chat, price, calls, reads, writes), profiles


def extract_without_model(state: EstimateState, to_read: Sequence[Window]) -> None:
    """Extract windows as the build will where no model reads; the rows are free."""
    some = sample(to_read, MAX_SIMULATED)
    extracted = nlp.extract(some, language=state.plan.manifest.language, processes=1)
    state.extractions |= {e.window: e for e in extracted}


def instructions() -> int:
    """Return the tokens of an extraction request beside the text."""
    return extract_task.extract_request("", max_records=llm.MAX_RECORDS).n_tokens


def _render(state: EstimateState, chat: ChatModel, windows: Sequence[Window]) -> _Rendered:
    """Render and count requests; note the rows of those whose reply is stored."""
    plan = state.plan
    rendered = _Rendered(len(windows), sum(state.n_tokens[w.id] for w in windows))
    seen: set[str] = set()
    for window in windows:
        request = _request(state, window)
        key = request_key(chat.name, request)
        if key in seen:
            rendered.free += 1  # the same text again: equal requests are one call
            continue
        seen.add(key)
        reply = plan.stored_reply(key)
        if reply is not None:
            rendered.free += 1
            state.reply_tokens[window.id] = reply.completion_tokens or count_tokens(reply.text)
            state.extractions[window.id] = _rows(state, window, reply.text)
        else:
            rendered.unpaid.append(window)
            rendered.pairs.append((float(state.n_tokens[window.id]), float(request.n_tokens)))
    read = [w for w in state.corpus.windows if w.id in state.corpus.extractions]
    for window in sample(read, _MAX_FITTED):
        reply = plan.stored_reply(request_key(chat.name, _request(state, window)))
        if reply is not None:
            state.reply_tokens[window.id] = reply.completion_tokens
    return rendered


def _request(state: EstimateState, window: Window) -> ChatRequest:
    settings = state.plan.manifest.extractor_settings
    return extract_task.extract_request(
        window.text,
        title=window.title,
        fields=fields_above(window),
        entity_types=tuple(settings["entity_types"]),
        max_records=llm.MAX_RECORDS,
    )


def _rows(state: EstimateState, window: Window, reply: str) -> Extraction:
    settings = state.plan.manifest.extractor_settings
    try:
        parsed = parse_extraction(
            reply,
            window=as_read(window),
            example=llm.example_names(),
            types=tuple(settings["entity_types"]),
            max_records=llm.MAX_RECORDS,
        )
    except UnusableReply as error:
        return Extraction(window=window.id, status="failed", problem=error.problem)
    entities, relations = llm.to_rows(parsed, window)
    return Extraction(window=window.id, entities=entities, relations=relations)


def _reply_tokens(
    profiles: tuple[ModelProfile, ...], lengths: Sequence[int], scale: float, unpaid_text: float
) -> Range:
    """Return the tokens of all first replies.

    Args:
        profiles: one, or low, middle and high.
        lengths: tokens of the windows that were rendered and are to be paid.
        scale: windows to read for each that was rendered.
        unpaid_text: tokens of the windows to be paid, rendered or not.
    """
    if len(profiles) > 1:
        return Range.from_guesses(scale * sum(p.amount(p.reply_tokens, n) for n in lengths) for p in profiles)
    (profile,) = profiles
    written = sum(profile.amount(profile.reply_tokens, n) for n in lengths)
    expected = written * unpaid_text / max(1, sum(lengths))
    return Range.with_relative_error(expected, profile.error)


def _profiles(state: EstimateState, chat: ChatModel) -> tuple[tuple[ModelProfile, ...], str]:
    """Return one profile if it could be fitted, else low, middle and high; and where it comes from."""
    read = [w for w in state.corpus.windows if w.id in state.extractions]
    fitted = fit_profile(
        [
            (state.n_tokens[w.id], state.extractions[w.id], state.reply_tokens.get(w.id, 0))
            for w in sample(read, _MAX_FITTED)
        ]
    )
    if fitted is not None:
        known = [(w, state.n_tokens[w.id], state.extractions[w.id]) for w in sample(read, _COMPARED)]
        fitted = replace(fitted, common=fit_common_words(known, fitted))
        windows = count_noun(min(len(read), _MAX_FITTED), "window")
        return (fitted,), f"as this model read {windows} of this index"
    other = state.plan.other_index
    if other is not None:
        return (other.profile,), f"as this model read {count_noun(other.n_windows, 'window')} of {other.name}"
    rows = [r for r in state.plan.ledger() if r.stage == "extract" and r.model == chat.name and r.ok]
    attempts, reads, wrote = (
        sum(getattr(r, name) for r in rows) for name in ("ok", "prompt_tokens", "completion_tokens")
    )
    text = reads - attempts * instructions()
    if text > 0 and wrote:
        factor = wrote / text * 1000 / GPT_4O.reply_tokens
        return (
            tuple(GPT_4O.scaled(factor * f) for f in (0.8, 1.0, 1.25)),
            f"average of {count_noun(attempts, 'reply')} in this index's ledger",
        )
    return DEFAULT_PROFILES, DEFAULT_BASIS


# --- gleaning ---------------------------------------------------------------------------------------------


def _gleaning_lines(
    state: EstimateState, chat: ChatModel, price: Price | None, calls: Range, reads: Range, writes: Range
) -> list[Line]:
    """Return the calls after the first: each repeats the exchange so far (METHODS 15) and asks once more."""
    settings = state.plan.manifest.extractor_settings
    gleaning, rounds = settings["gleaning"], int(settings["max_gleanings"])
    if gleaning == "none" or not calls.high:
        return []
    spent = {r.stage: r for r in state.plan.ledger() if r.model == chat.name}
    if "extract" not in spent and state.plan.other_index is not None:
        spent = {r.stage: r for r in state.plan.other_index.ledger}
    n_first = spent["extract"].ok if "extract" in spent else 0
    lines = []
    for stage in ("glean", "more_left"):
        row = spent.get(stage)
        if n_first >= _MIN_REPLIES:
            per_window = Range.with_relative_error((row.ok if row else 0) / n_first, 0.2)
            reply = Range.with_relative_error(row.completion_tokens / max(1, row.ok) if row else 0.0, 0.25)
            basis = "as often as this model was asked before"
        else:
            per_window = _further_calls(stage, gleaning, rounds)
            reply = _further_reply(stage, writes, calls)
            basis = f"gleaning {gleaning}, at most {rounds}"
        if not per_window.high:
            continue
        question = sum(count_tokens(part) for part in prompt(stage).fill({}))
        n = per_window * calls
        exchange = Range(
            *(n / max(n_calls, 1) + question for n, n_calls in zip(reads + writes, calls, strict=True))
        )
        lines.append(priced_line(stage, chat.name, price, n, n * exchange, n * reply, basis=basis))
    return lines


def _further_calls(stage: str, gleaning: str, rounds: int) -> Range:
    """Return the calls of a stage for each window: at least if every window ends at once, at most if none does."""
    if stage == "glean":
        least, most = (1, rounds) if gleaning == "base" else (0, rounds)
    else:
        least, most = (0, rounds - 1) if gleaning == "base" else (1, rounds)
    return Range(least, (least + most) / 2, most)


def _further_reply(stage: str, writes: Range, calls: Range) -> Range:
    """Return the tokens of a further reply."""
    if stage == "more_left":
        return Range(1, 2, 20)
    first = writes.mid / max(calls.mid, 1)
    # A second reply of real models is shorter than the first; how much is not known.
    return Range(0.1 * first, 0.5 * first, writes.high / max(calls.mid, 1))
