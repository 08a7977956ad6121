"""The estimate itself: stage by stage, in the order of the build."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from statistics import fmean

import numpy as np

from polygraph.errors import UnusableReply
from polygraph.estimate import pilot as flight
from polygraph.estimate.corpus import Corpus
from polygraph.estimate.figures import ZERO, Estimate, Line, Range, line
from polygraph.estimate.habits import (
    BASIS,
    DEFAULTS,
    GPT_4O,
    REPORT_BASIS,
    REPORT_TOKENS,
    Habits,
    ReportHabits,
    learn,
    learn_reports,
    ratio,
    scaled,
    typical_report,
)
from polygraph.estimate.questions import Holdings, MethodPlan, question_line
from polygraph.estimate.rehearsal import (
    MOST_WINDOWS,
    Rehearsal,
    compared,
    growth,
    nested_samples,
    reading_by_capitals,
    rehearse,
    share_of_common,
)
from polygraph.extract import llm, nlp
from polygraph.extract.parse import parse_extraction
from polygraph.graph.texts import RECIPES
from polygraph.models import ChatModel, ChatReply, ChatRequest, Embedder, Models
from polygraph.models.calls import LedgerRow, request_key
from polygraph.models.callstore import Asked
from polygraph.models.prices import FREE, Price, price_of
from polygraph.models.sending import is_local
from polygraph.prompts import prompt
from polygraph.records import Extraction, Window, digest
from polygraph.store.layers import with_below
from polygraph.store.manifest import Manifest
from polygraph.tasks import extract as extract_task
from polygraph.tasks import report as report_task
from polygraph.tokens import count_many, count_tokens

MOST_RENDERED = 4_000
"""Requests that are rendered and counted; of more, a seeded sample is, scaled by the length of the texts."""
_LEARNED_FROM = 400
"""Windows, at most, from which habits are learned."""
_INPUT_TOKENS, _REPORT_WORDS = 8_000, 500
"""Limits of the build's reports: tokens of a request, words of a report."""
_COMPARED = 100
"""Windows, at most, on which the choice of names is tried."""
_EMBEDDED_AT_ONCE = 512
_LUCK = 0.06
"""Relative error of a rehearsal of which every rate is right: resolution and communities differ a little."""
_SEED = 11

VectorKeys = Callable[[Sequence[bytes]], Mapping[bytes, bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What will be built, with what, and what is known."""

    manifest: Manifest
    wanted: Collection[str]
    """Layers that are asked for, without those below them."""
    ready: Collection[str] = ()
    """Layers that are up to date and will not be built."""
    methods: Sequence[MethodPlan] = ()
    prices: Mapping[str, Price]
    stored: Callable[[str], ChatReply | None]
    """Finds a reply that is paid for, by the key of its request."""
    vectors: VectorKeys
    """Finds vectors that are paid for."""
    ledger: Callable[[], Sequence[LedgerRow]]
    """What was ever spent."""
    questions: Callable[[], Mapping[str, Asked]] = dict
    """What each method was asked."""
    chunk_text: Callable[[str, str], str]
    """What is embedded of a chunk, from its document's title and its text."""


def estimate(corpus: Corpus, plan: Plan, models: Models, *, pilot: int = 0) -> Estimate:
    """Say what a build will cost, and each question to some methods; no call is made but those of a pilot.

    Args:
        corpus: from `gather`.
        plan: what will be built.
        models: those that will build; only a pilot calls the chat model.
        pilot: real calls to learn from, made through the gate under its caps; their replies are kept.

    Raises:
        ValueError: if `pilot` is below 0.
        BudgetReached, ModelUnavailable, ModelRefused: from a pilot.
    """
    if pilot < 0:
        raise ValueError(f"pilot must be 0 or more, not {pilot}")
    return _Estimator(corpus, plan, models, pilot).run()


@dataclass(slots=True)
class _Graph:
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


@dataclass(slots=True)
class _Estimator:
    corpus: Corpus
    plan: Plan
    models: Models
    pilot: int
    notes: list[str] = field(default_factory=list)
    tokens: dict[str, int] = field(default_factory=dict)
    """Of a window's text."""
    known: dict[str, Extraction] = field(default_factory=dict)
    """Rows of windows that need no call."""
    written: dict[str, int] = field(default_factory=dict)
    """Tokens of the first reply, where it is stored."""
    report_habits: tuple[ReportHabits, ...] = ()
    report_basis: str = ""

    def run(self) -> Estimate:
        corpus, plan, chat = self.corpus, self.plan, self.models.chat
        needed = [layer for layer in with_below(plan.wanted) if layer not in plan.ready]
        with_model = chat is not None and plan.manifest.reader.startswith("llm:")
        to_read = (
            [w for w in corpus.windows if w.id not in corpus.read]
            if "graph" in with_below(plan.wanted)
            else []
        )
        self.known = dict(corpus.read)
        counts = count_many([w.text for w in corpus.windows])
        self.tokens = {w.id: n for w, n in zip(corpus.windows, counts, strict=True)}
        lines: list[Line] = []
        writes_reports = "reports" in needed and chat is not None and plan.manifest.reports != "extractive"

        n_pilot_reports = 0
        if self.pilot and chat is not None and (to_read or writes_reports):
            n_pilot_reports = self._fly(to_read if with_model else [], reports=writes_reports)
        habits: tuple[Habits, ...] = (GPT_4O,)
        if with_model and chat is not None and to_read:
            lines, habits = self._extraction(chat, to_read)
        elif to_read:
            self._read_without_model(to_read)
        graph = _Graph()
        if "graph" in with_below(plan.wanted) and (set(needed) - {"chunks", "lexical"} or plan.methods):
            graph = self._graph(habits, n_pilot_reports, writes_reports)
            if writes_reports and chat is not None:
                lines.append(self._report_line(chat, graph))
        lines += self._embeddings(needed, graph)
        questions = self._questions(graph)
        if chat is None:
            self.notes.append(
                "no chat model is configured: nothing is asked of a language model, and nothing is paid"
            )
        elif any(
            each.cost is None and (each.calls is None or each.calls.high) for each in (*lines, *questions)
        ):
            self.notes.append(
                "a price is not known, so the cost is not: give it in polygraph.toml, as in: "
                f'[prices."{chat.name}"] input = 0.15, output = 0.60'
            )
        return Estimate(
            documents=corpus.n_documents,
            windows=len(corpus.windows),
            windows_to_read=len(to_read),
            entities=graph.entities.rounded(),
            communities=graph.communities.rounded(),
            lines=tuple(lines),
            questions=tuple(questions),
            notes=tuple(self.notes),
        )

    # --- extraction -------------------------------------------------------------------------------------

    def _fly(self, to_read: Sequence[Window], *, reports: bool) -> int:
        """Make the pilot's calls for windows; return how many reports are left to it."""
        n_windows, n_reports = flight.split(self.pilot, self.plan.manifest, reports=reports)
        before = self.models.calls.spent
        flight.fly(to_read, n_windows, self.models, self.plan.manifest)
        now = self.models.calls.spent
        self.notes.append(
            f"pilot: {now.calls - before.calls} windows were asked about, and their replies are kept for the build"
        )
        return n_reports

    def _request(self, window: Window) -> ChatRequest:
        settings = self.plan.manifest.extractor_settings
        return extract_task.extract_request(
            window.text,
            title=window.title,
            entity_types=tuple(settings["entity_types"]),
            max_records=llm.MAX_RECORDS,
        )

    def _extraction(
        self, chat: ChatModel, to_read: Sequence[Window]
    ) -> tuple[list[Line], tuple[Habits, ...]]:
        plan = self.plan
        price = self._price(chat)
        rendered = _sample(to_read, MOST_RENDERED)
        pairs: list[tuple[float, float]] = []
        unpaid: list[Window] = []
        asked: set[str] = set()
        free = 0
        for window in rendered:
            request = self._request(window)
            key = request_key(chat.name, request)
            if key in asked:
                free += 1  # the same text again: equal requests are one call
                continue
            asked.add(key)
            reply = plan.stored(key)
            n = sum(count_tokens(m.content) for m in request.messages)
            if reply is not None:
                free += 1
                self.written[window.id] = reply.completion_tokens or count_tokens(reply.text)
                self.known[window.id] = self._rows(window, reply.text)
            else:
                unpaid.append(window)
                pairs.append((float(self.tokens[window.id]), float(n)))
        for window in _sample([w for w in self.corpus.windows if w.id in self.corpus.read], _LEARNED_FROM):
            reply = plan.stored(request_key(chat.name, self._request(window)))
            if reply is not None:
                self.written[window.id] = reply.completion_tokens
        scale = len(to_read) / len(rendered)
        n_calls = len(unpaid) * scale
        text = sum(self.tokens[w.id] for w in to_read) * (
            sum(a for a, _ in pairs) / max(1, sum(self.tokens[w.id] for w in rendered))
        )
        reads = Range.exactly(sum(b for _, b in pairs))
        calls = Range.exactly(n_calls)
        if scale > 1:
            rate, error = ratio(pairs)
            reads = Range.about(text * rate, error)
            share = len(unpaid) / len(rendered)
            calls = Range.about(n_calls, 2 * sqrt(share * (1 - share) / len(rendered)) / max(share, 1e-9))
            self.notes.append(
                f"{len(rendered):,} of {len(to_read):,} requests were rendered; the others are taken to be alike"
            )
        habits, basis = self._habits(chat)
        low, mid, high = (habits * 3)[:3] if len(habits) == 1 else habits
        if len(habits) == 1:
            writes = Range.about(text * mid.written / 1000, mid.error)
        else:
            lengths = [self.tokens[w.id] for w in unpaid]
            writes = Range.of(scale * sum(h.amount(h.written, n) for n in lengths) for h in (low, mid, high))
        lines = [
            line("extract", chat.name, price, calls, reads, writes, free=round(free * scale), basis=basis)
        ]
        lines += self._gleaning(chat, price, calls, reads, writes)
        return lines, habits

    def _rows(self, window: Window, text: str) -> Extraction:
        settings = self.plan.manifest.extractor_settings
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

    def _habits(self, chat: ChatModel) -> tuple[tuple[Habits, ...], str]:
        """One set of habits if they were learned, else three: low, middle, high."""
        read = [w for w in self.corpus.windows if w.id in self.known]
        learned = learn(
            [
                (self.tokens[w.id], self.known[w.id], self.written.get(w.id, 0))
                for w in _sample(read, _LEARNED_FROM)
            ]
        )
        if learned is not None:
            some = [(w, self.tokens[w.id], self.known[w.id]) for w in _sample(read, _COMPARED)]
            learned = replace(learned, common=share_of_common(some, learned))
            return (learned,), f"as this model read {min(len(read), _LEARNED_FROM)} windows of this index"
        rows = [r for r in self.plan.ledger() if r.stage == "extract" and r.model == chat.name and r.ok]
        attempts, reads, wrote = (
            sum(getattr(r, name) for r in rows) for name in ("ok", "prompt_tokens", "completion_tokens")
        )
        text = reads - attempts * self._instructions()
        if text > 0 and wrote:
            factor = wrote / text * 1000 / GPT_4O.written
            return (
                tuple(scaled(GPT_4O, factor * f) for f in (0.8, 1.0, 1.25)),
                f"average of {attempts:,} replies in this index's ledger",
            )
        return DEFAULTS, BASIS

    def _instructions(self) -> int:
        empty = extract_task.extract_request("", max_records=llm.MAX_RECORDS)
        return sum(count_tokens(m.content) for m in empty.messages)

    def _gleaning(
        self, chat: ChatModel, price: Price | None, calls: Range, reads: Range, writes: Range
    ) -> list[Line]:
        """Calls after the first: each repeats the exchange so far (METHODS 15) and asks once more."""
        settings = self.plan.manifest.extractor_settings
        gleaning, rounds = settings["gleaning"], int(settings["max_gleanings"])
        if gleaning == "none" or not calls.high:
            return []
        # First and least: everything ends after the first question that brings nothing. Most: nothing ever ends.
        few, many = ((1, 1), (rounds, rounds - 1)) if gleaning == "base" else ((0, 1), (rounds, rounds))
        if gleaning == "base":
            few = (1, 0)
        spent = {r.stage: r for r in self.plan.ledger() if r.model == chat.name}
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
                    for r, w, c in zip(_three(reads), _three(writes), _three(calls), strict=True)
                )
            )
            lines.append(
                line(
                    stage,
                    chat.name,
                    price,
                    n,
                    Range(*(a * b for a, b in zip(_three(n), _three(repeated), strict=True))),
                    Range(*(a * b for a, b in zip(_three(n), _three(each), strict=True))),
                    basis=basis,
                )
            )
        return lines

    def _read_without_model(self, to_read: Sequence[Window]) -> None:
        """The rows are free: read them as the build will."""
        some = _sample(to_read, MOST_WINDOWS)
        found = nlp.extract(some, language=self.plan.manifest.language, processes=1)
        self.known |= {e.window: e for e in found}

    # --- graph ------------------------------------------------------------------------------------------

    def _graph(self, habits: tuple[Habits, ...], n_pilot_reports: int, writes_reports: bool) -> _Graph:
        """Rehearse, at low, middle and high habits where these are not learned."""
        reports = self.report_habits = self._report_habits(n_pilot_reports)
        if len(habits) > 1:
            n_notes = len(self.notes)
            runs = [self._rehearsed(h, r, writes_reports) for h, r in zip(habits, reports, strict=True)]
            self.notes[n_notes:] = self.notes[n_notes:][
                1:2
            ]  # each run says the same; the middle one is shown
            mid = runs[1]
            mid.entities = Range.of(r.entities.mid for r in runs)
            mid.communities = Range.of(r.communities.mid for r in runs)
            mid.reports = Range.of(r.reports.mid for r in runs)
            mid.reads = Range.of(r.reads.mid for r in runs)
            mid.writes = Range.of(r.writes.mid for r in runs)
            return mid
        graph = self._rehearsed(habits[0], reports[1], writes_reports)
        if reports[0] != reports[2] and graph.reports.high:
            lengths = [r.tokens(graph.material) for r in reports]
            graph.writes = Range.of(n * each for n, each in zip(_three(graph.reports), lengths, strict=True))
            graph.writes = Range(graph.writes.low, max(graph.writes.low, graph.writes.mid), graph.writes.high)
        return graph

    def _rehearsed(self, habits: Habits, report: ReportHabits, writes_reports: bool) -> _Graph:
        windows, chat = self.corpus.windows, self.models.chat
        room = _INPUT_TOKENS - self._report_frame()

        def ours(window: Window) -> Extraction:
            return reading_by_capitals(window, self.tokens[window.id], habits)

        def run(some: Sequence[Window], rows: Iterable[Extraction]) -> Rehearsal:
            return rehearse(
                some, rows, community_size=self.plan.manifest.community_size, room=room, report=report,
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
            last = run(some, (self.known.get(w.id) or ours(w) for w in some))
            measured.append(figures(last))
        shares, errors = [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]
        if len(samples) > 1:
            sizes = [len(some) for some in samples]
            grown = [growth(sizes, values, len(windows)) for values in zip(*measured, strict=True)]
            shares = [(len(windows) / sizes[-1]) ** g.power for g in grown]
            errors = [g.error for g in grown]
            self.notes.append(
                f"the graph was rehearsed on {sizes[-1]:,} of {len(windows):,} windows; communities grow with the "
                f"number of windows to the power {grown[1].power:.2f}, by {', '.join(f'{s:,}' for s in sizes)} windows"
            )
        known = sum(w.id in self.known for w in samples[-1]) / max(1, len(samples[-1]))
        if known < 1:
            fair = compared(samples[-1], self.known, ours, lambda w, rows: figures(run(w, rows)))
            if fair is not None:
                # With much known, the mixed rows are the better rehearsal, as few of them are ours.
                blend = [known * m + (1 - known) * f for f, m in zip(fair, measured[-1], strict=True)]
                shares = [s * b / max(1.0, m) for s, b, m in zip(shares, blend, measured[-1], strict=True)]
        unknown = sqrt(1 - known)
        errors = [e + unknown * (_LUCK + habits.error) for e in errors]
        n_entities, n_communities, material = measured[-1]
        graph = _Graph(last=last, share=shares[1], entity_share=shares[0])
        graph.entities = Range.about(n_entities * shares[0], errors[0])
        graph.communities = Range.about(n_communities * shares[1], errors[1])
        if not writes_reports or chat is None or not last.communities:
            return graph
        frame, each = self._report_frame(), shares[2] / shares[1]
        graph.material = material / n_communities * each
        paid_reads = paid_writes = n_paid = 0.0
        for made in last.materials:
            if self.plan.stored(
                request_key(chat.name, report_task.request(made.text, max_words=_REPORT_WORDS))
            ):
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

    def _report_frame(self) -> int:
        empty = report_task.request("", max_words=_REPORT_WORDS)
        return sum(count_tokens(m.content) for m in empty.messages)

    def _report_habits(self, n_pilot: int) -> tuple[ReportHabits, ...]:
        chat = self.models.chat
        if chat is None:
            return (typical_report(REPORT_TOKENS[1]),) * 3
        most = 2 * _REPORT_WORDS + 400
        some = [w for w in self.corpus.windows if w.id in self.known]
        if n_pilot and some:
            small = rehearse(
                some, [self.known[w.id] for w in some], community_size=self.plan.manifest.community_size,
                room=_INPUT_TOKENS - self._report_frame(), report=typical_report(REPORT_TOKENS[1]),
            )  # fmt: skip
            pairs = flight.write_some(small, n_pilot, self.models, max_words=_REPORT_WORDS)
            learned = learn_reports(pairs, most)
            if learned is not None:
                self.report_basis = f"length as in {len(pairs)} reports of the pilot"
                return (learned,) * 3
        rows = [r for r in self.plan.ledger() if r.stage == "reports" and r.model == chat.name and r.ok]
        n = sum(r.ok for r in rows)
        if n >= 3:
            reads = sum(r.prompt_tokens for r in rows) / n - self._report_frame()
            learned = learn_reports([(round(reads), round(sum(r.completion_tokens for r in rows) / n))], most)
            if learned is not None:
                self.report_basis = f"length as in {n:,} reports in this index's ledger"
                return (learned,) * 3
        self.report_basis = f"length as {REPORT_BASIS}"
        return tuple(typical_report(tokens) for tokens in REPORT_TOKENS)

    def _report_line(self, chat: ChatModel, graph: _Graph) -> Line:
        return line(
            "reports", chat.name, self._price(chat), graph.reports, graph.reads, graph.writes,
            free=graph.free, basis=f"communities of a rehearsed graph; {self.report_basis}",
        )  # fmt: skip

    # --- embeddings -------------------------------------------------------------------------------------

    def _embeddings(self, needed: Sequence[str], graph: _Graph) -> list[Line]:
        plan, models = self.plan, self.models
        lines = []
        if "chunk_vectors" in needed and not is_local(models.embedder):
            texts = [plan.chunk_text(w.title, c.text) for w in self.corpus.windows for c in w.chunks]
            calls, tokens, free = self._embedded(models.embedder, texts, "document")
            lines.append(
                line("chunk_vectors", models.embedder.name, self._price(models.embedder), Range.exactly(calls),
                     Range.exactly(tokens), ZERO, free=free, basis="every passage, counted")
            )  # fmt: skip
        if "report_vectors" in needed and not is_local(models.name_embedder):
            habits = (self.report_habits or self._report_habits(0))[1]
            mean = min(habits.tokens(graph.material or 500.0), models.name_embedder.max_tokens)
            counts = _three(graph.communities)
            lines.append(
                line("report_vectors", models.name_embedder.name, self._price(models.name_embedder),
                     Range(*(-(-n // 256) for n in counts)), Range(*(n * mean for n in counts)), ZERO,
                     free=0, basis="communities of a rehearsed graph")
            )  # fmt: skip
        if graph.last is None or is_local(models.name_embedder):
            return lines
        view, embedder = graph.last.view, models.name_embedder
        jobs = {"resolution": ("graph", list(graph.last.embedded), "name")}
        rows = {
            "entities": view.entities,
            "relations": view.relations,
            "triples": view.triples,
            "predicates": sorted({triple.predicate for triple in view.triples}),
        }
        for layer, (kind_of_row, text) in RECIPES.items():
            if kind_of_row == "reports":
                continue  # not written yet
            jobs[layer] = (layer, [text(row) for row in rows[kind_of_row]], "document")
        for stage, (layer, texts, kind) in jobs.items():
            if layer not in needed or not texts:
                continue
            calls, tokens, free = self._embedded(embedder, texts, kind)
            spread = [graph.entity_share * v / max(graph.entities.mid, 1) for v in _three(graph.entities)]
            lines.append(
                line(stage, embedder.name, self._price(embedder),
                     Range(*(max(calls > 0, calls * s) for s in spread)), Range(*(tokens * s for s in spread)), ZERO,
                     free=round(free * graph.entity_share), basis="entities of a rehearsed graph")
            )  # fmt: skip
        return lines

    def _embedded(self, embedder: Embedder, texts: Sequence[str], kind: str) -> tuple[int, int, int]:
        """Calls, tokens and texts that have their vector already."""
        prefix = digest("vector", embedder.name, kind).encode()
        keys = {hashlib.sha256(prefix + t.encode("utf-8", "surrogatepass")).digest()[:16]: t for t in texts}
        have = set(self.plan.vectors(list(keys)))
        todo = [text for key, text in keys.items() if key not in have]
        cut = getattr(embedder, "batches", None)
        calls = 0
        for at in range(0, len(todo), _EMBEDDED_AT_ONCE):
            part = todo[at : at + _EMBEDDED_AT_ONCE]
            calls += len(cut(part)) if cut else -(-len(part) // 256)
        return calls, sum(embedder.count(todo)), len(have)

    # --- questions --------------------------------------------------------------------------------------

    def _questions(self, graph: _Graph) -> list[Line]:
        chat = self.models.chat
        if chat is None:
            return [
                line("question", "", FREE, ZERO, ZERO, ZERO, method=m.name, basis="no model is called")
                for m in self.plan.methods
            ]
        sizes = [c.n_tokens for w in self.corpus.windows for c in w.chunks]
        holdings = Holdings(
            chunk_tokens=fmean(sizes) if sizes else 0.0,
            n_chunks=len(sizes),
            communities=graph.last.communities if graph.last else (),
            share=graph.share,
            report=(self.report_habits or self._report_habits(0))[1],
            material_tokens=graph.material or 500.0,
        )
        ledger, price = self.plan.ledger(), self._price(chat)
        asked = {name: each.n for name, each in self.plan.questions().items()}
        return [question_line(m, holdings, chat.name, price, ledger, asked) for m in self.plan.methods]

    def _price(self, model: ChatModel | Embedder) -> Price | None:
        return FREE if is_local(model) else price_of(model.name, self.plan.prices)


def _three(values: Range) -> tuple[float, float, float]:
    return values.low, values.mid, values.high


def _sample(windows: Sequence[Window], most: int) -> list[Window]:
    """All windows, or a seeded sample of them in their order."""
    if len(windows) <= most:
        return list(windows)
    chosen = np.random.default_rng(_SEED).choice(len(windows), size=most, replace=False)
    return [windows[i] for i in sorted(chosen.tolist())]
