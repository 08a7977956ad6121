"""What extraction will take: exact where a request can be rendered, by habits where a model decides."""

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

from polygraph.errors import UnusableReply
from polygraph.extract.llm import extractor as llm
from polygraph.extract.llm.parser import parse_extraction
from polygraph.extract.nlp import extractor as nlp
from polygraph.indexing.estimate import pilot as flight
from polygraph.indexing.estimate.model_profile import BASIS, DEFAULTS, GPT_4O, Habits, learn, ratio, scaled
from polygraph.indexing.estimate.plan import Facts, sample
from polygraph.indexing.estimate.ranges import Line, Range, line, three
from polygraph.indexing.estimate.simulate import MOST_WINDOWS, share_of_common
from polygraph.models import ChatModel, ChatRequest
from polygraph.models.calls import request_key
from polygraph.models.prices import Price
from polygraph.prompts import prompt
from polygraph.records import Extraction, Window
from polygraph.tasks import extract as extract_task
from polygraph.text.tokens import count_tokens

MOST_RENDERED = 4_000
"""Requests that are rendered and counted; of more, a seeded sample is, scaled by the length of the texts."""
_LEARNED_FROM = 400
"""Windows, at most, from which habits are learned."""
_COMPARED = 100
"""Windows, at most, on which the choice of names is tried."""


def fly_pilot(facts: Facts, to_read: Sequence[Window], *, reports: bool) -> int:
    """Make the pilot's calls for windows; return how many reports are left to it."""
    n_windows, n_reports = flight.split(facts.pilot, facts.plan.manifest, reports=reports)
    before = facts.models.calls.spent
    flight.fly(to_read, n_windows, facts.models, facts.plan.manifest)
    now = facts.models.calls.spent
    facts.notes.append(
        f"pilot: {now.calls - before.calls} windows were asked about, and their replies are kept for the build"
    )
    return n_reports


def extraction(
    facts: Facts, chat: ChatModel, to_read: Sequence[Window]
) -> tuple[list[Line], tuple[Habits, ...]]:
    """Return the lines of reading and gleaning, and one set of habits if they were learned, else three."""
    plan = facts.plan
    price = facts.price(chat)
    rendered = sample(to_read, MOST_RENDERED)
    pairs: list[tuple[float, float]] = []
    unpaid: list[Window] = []
    asked: set[str] = set()
    free = 0
    for window in rendered:
        request = _request(facts, window)
        key = request_key(chat.name, request)
        if key in asked:
            free += 1  # the same text again: equal requests are one call
            continue
        asked.add(key)
        reply = plan.stored(key)
        n = sum(count_tokens(m.content) for m in request.messages)
        if reply is not None:
            free += 1
            facts.written[window.id] = reply.completion_tokens or count_tokens(reply.text)
            facts.rows[window.id] = _rows(facts, window, reply.text)
        else:
            unpaid.append(window)
            pairs.append((float(facts.tokens[window.id]), float(n)))
    for window in sample([w for w in facts.corpus.windows if w.id in facts.corpus.read], _LEARNED_FROM):
        reply = plan.stored(request_key(chat.name, _request(facts, window)))
        if reply is not None:
            facts.written[window.id] = reply.completion_tokens
    scale = len(to_read) / len(rendered)
    n_calls = len(unpaid) * scale
    text = sum(facts.tokens[w.id] for w in to_read) * (
        sum(a for a, _ in pairs) / max(1, sum(facts.tokens[w.id] for w in rendered))
    )
    reads = Range.exactly(sum(b for _, b in pairs))
    calls = Range.exactly(n_calls)
    if scale > 1:
        rate, error = ratio(pairs)
        reads = Range.about(text * rate, error)
        share = len(unpaid) / len(rendered)
        calls = Range.about(n_calls, 2 * sqrt(share * (1 - share) / len(rendered)) / max(share, 1e-9))
        facts.notes.append(
            f"{len(rendered):,} of {len(to_read):,} requests were rendered; the others are taken to be alike"
        )
    habits, basis = _habits(facts, chat)
    low, mid, high = (habits * 3)[:3] if len(habits) == 1 else habits
    lengths = [facts.tokens[w.id] for w in unpaid]
    if len(habits) == 1 and mid.power == 1:
        writes = Range.about(text * mid.written / 1000, mid.error)
    elif len(habits) == 1:
        writes = Range.about(scale * sum(mid.amount(mid.written, n) for n in lengths), mid.error)
    else:
        writes = Range.of(scale * sum(h.amount(h.written, n) for n in lengths) for h in (low, mid, high))
    lines = [line("extract", chat.name, price, calls, reads, writes, free=round(free * scale), basis=basis)]
    lines += _gleaning(facts, chat, price, calls, reads, writes)
    return lines, habits


def read_without_model(facts: Facts, to_read: Sequence[Window]) -> None:
    """The rows are free: read them as the build will."""
    some = sample(to_read, MOST_WINDOWS)
    found = nlp.extract(some, language=facts.plan.manifest.language, processes=1)
    facts.rows |= {e.window: e for e in found}


def _request(facts: Facts, window: Window) -> ChatRequest:
    settings = facts.plan.manifest.extractor_settings
    return extract_task.extract_request(
        window.text,
        title=window.title,
        entity_types=tuple(settings["entity_types"]),
        max_records=llm.MAX_RECORDS,
    )


def _rows(facts: Facts, window: Window, text: str) -> Extraction:
    settings = facts.plan.manifest.extractor_settings
    try:
        parsed = parse_extraction(
            text,
            window=f"{window.title}\n{window.text}",
            example=llm.example_names(),
            types=tuple(settings["entity_types"]),
            max_records=llm.MAX_RECORDS,
        )
    except UnusableReply as error:
        return Extraction(window=window.id, status="failed", problem=error.problem)
    entities, relations = llm.rows(parsed, window)
    return Extraction(window=window.id, entities=entities, relations=relations)


def _habits(facts: Facts, chat: ChatModel) -> tuple[tuple[Habits, ...], str]:
    """One set of habits if they were learned, else three: low, middle, high."""
    read = [w for w in facts.corpus.windows if w.id in facts.rows]
    learned = learn(
        [
            (facts.tokens[w.id], facts.rows[w.id], facts.written.get(w.id, 0))
            for w in sample(read, _LEARNED_FROM)
        ]
    )
    if learned is not None:
        some = [(w, facts.tokens[w.id], facts.rows[w.id]) for w in sample(read, _COMPARED)]
        learned = replace(learned, common=share_of_common(some, learned))
        return (learned,), f"as this model read {min(len(read), _LEARNED_FROM)} windows of this index"
    like = facts.plan.like
    if like is not None:
        return (like.habits,), f"as this model read {like.n_windows} windows of {like.name}"
    rows = [r for r in facts.plan.ledger() if r.stage == "extract" and r.model == chat.name and r.ok]
    attempts, reads, wrote = (
        sum(getattr(r, name) for r in rows) for name in ("ok", "prompt_tokens", "completion_tokens")
    )
    text = reads - attempts * instructions()
    if text > 0 and wrote:
        factor = wrote / text * 1000 / GPT_4O.written
        return (
            tuple(scaled(GPT_4O, factor * f) for f in (0.8, 1.0, 1.25)),
            f"average of {attempts:,} replies in this index's ledger",
        )
    return DEFAULTS, BASIS


def instructions() -> int:
    """Tokens of an extraction request beside the text."""
    empty = extract_task.extract_request("", max_records=llm.MAX_RECORDS)
    return sum(count_tokens(m.content) for m in empty.messages)


def _gleaning(
    facts: Facts, chat: ChatModel, price: Price | None, calls: Range, reads: Range, writes: Range
) -> list[Line]:
    """Calls after the first: each repeats the exchange so far (METHODS 15) and asks once more."""
    settings = facts.plan.manifest.extractor_settings
    gleaning, rounds = settings["gleaning"], int(settings["max_gleanings"])
    if gleaning == "none" or not calls.high:
        return []
    # First and least: everything ends after the first question that brings nothing. Most: nothing ever ends.
    few, many = ((1, 1), (rounds, rounds - 1)) if gleaning == "base" else ((0, 1), (rounds, rounds))
    if gleaning == "base":
        few = (1, 0)
    spent = {r.stage: r for r in facts.plan.ledger() if r.model == chat.name}
    if "extract" not in spent and facts.plan.like is not None:
        spent = {r.stage: r for r in facts.plan.like.ledger}
    base = spent["extract"].ok if "extract" in spent else 0
    lines = []
    for at, stage in enumerate(("glean", "more_left")):
        before = spent.get(stage)
        if base >= 3:
            per = Range.about((before.ok if before else 0) / base, 0.2)
            wrote = before.completion_tokens / max(1, before.ok) if before else 0.0
            each = Range.about(wrote, 0.25)
            basis = "as often as this model was asked before"
        else:
            per = Range(few[at], (few[at] + many[at]) / 2, many[at])
            first = writes.mid / max(calls.mid, 1)
            # A second reply of real models is shorter than the first; how much is not known.
            each = (
                Range(0.1 * first, 0.5 * first, writes.high / max(calls.mid, 1))
                if stage == "glean"
                else Range(1, 2, 20)
            )
            basis = f"gleaning {gleaning}, at most {rounds}"
        if not per.high:
            continue
        asked = sum(count_tokens(part) for part in prompt(stage).fill({}))
        n = Range(per.low * calls.low, per.mid * calls.mid, per.high * calls.high)
        repeated = Range(
            *(
                (r + w) / max(c, 1) + asked
                for r, w, c in zip(three(reads), three(writes), three(calls), strict=True)
            )
        )
        lines.append(
            line(
                stage,
                chat.name,
                price,
                n,
                Range(*(a * b for a, b in zip(three(n), three(repeated), strict=True))),
                Range(*(a * b for a, b in zip(three(n), three(each), strict=True))),
                basis=basis,
            )
        )
    return lines
