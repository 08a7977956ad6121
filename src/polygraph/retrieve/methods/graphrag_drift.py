"""DRIFT search: a first answer from the nearest reports, then follow-up questions, each answered by local search.

Microsoft GraphRAG, DRIFT (dynamic reasoning and inference with flexible traversal). The published code models the
hypothetical answer on a random report and follows questions in random order; `graphrag-drift:microsoft` does so with a
fixed seed. Our variant uses the highest-rated report and follows the questions of the best answers first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from polygraph.errors import UnusableReply
from polygraph.models import Models
from polygraph.records import Evidence, Json, Report, Retrieval, Span, Step
from polygraph.retrieve.base import require
from polygraph.retrieve.evidence import nothing_found, passages_of, spans_of
from polygraph.retrieve.methods.graphrag_local import GraphRAGLocal, SourceOrder
from polygraph.retrieve.pack import Block, pack
from polygraph.retrieve.steps import embed_question, retrieved, round_robin
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.answers.drift import (
    IntermediateAnswer,
    answer_follow_up,
    run_primer,
    write_hypothetical_answer,
)
from polygraph.tasks.offline.sentence_pool import SentencePool
from polygraph.text.prose import count_noun

_PASSAGES = 16
"""Passages of a local search from which an answer is chosen without a model."""
_NOTHING = IntermediateAnswer(text="", score=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PendingQuestion:
    """A follow-up question that has not been followed yet."""

    text: str
    score: float
    """Score of the answer that raised it."""
    raised_by: str
    """Id of that answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _SourcedAnswer:
    """An intermediate answer, and the passages it comes from."""

    answer: IntermediateAnswer
    id: str
    why: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRAGDrift:
    """Answer from reports, follow the questions this raises by local search for some rounds, keep the answers."""

    calls: ClassVar[str] = "at most 2 + folds + rounds x per round (67)"

    hyde: Literal["rating", "random", "none"] = "rating"
    """Report on which the hypothetical answer is modelled: the highest rated (ours) or a random one (code); `none`:
    search with the question itself."""
    k_reports: int = 20
    """Reports for the first answer (code: 20)."""
    folds: int = 5
    """Calls in which these reports are read (code: 5)."""
    rounds: int = 3
    """Rounds of follow-up questions (code: 3)."""
    per_round: int = 20
    """Most follow-up questions per round (code: 20)."""
    order: Literal["score", "shuffle"] = "score"
    """Which questions are followed: those of the best answers, in the order raised (ours), or random ones (code)."""
    local_k: int = 10
    """Entities per local search (code: 10)."""
    local_tokens: int = 12_000
    """Budget of a local search (code: 12,000)."""
    reports_share: float = 0.1
    """Share of that budget for reports (code: 0.1); the rest is for passages."""
    seed_names: bool = True
    """Seed local searches with entities that the follow-up question names (ours)."""
    source_order: SourceOrder = "question"
    """As `order` of `graphrag-local`."""
    seed: int = 86
    """Seed of everything random."""
    max_tokens: int = 12_000
    """Budget of the intermediate answers (code: 12,000)."""

    @property
    def needs(self) -> frozenset[str]:
        """Those of `graphrag-local`, and the vectors of reports."""
        return GraphRAGLocal(order=self.source_order).needs | {"report_vectors"}

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Retrieve for the question; intermediate answers by score, then in the order in which they were given."""
        require(index, "graphrag-drift", self.needs, models)
        # 1. Search reports with a hypothetical answer.
        searched, trace = self._text_to_search(question, index, models)
        near = index.search_reports(embed_question(searched, models, names=True), self.k_reports)
        trace.append(Step(name="reports", value=[[r.community, round(cosine, 6)] for r, cosine in near]))
        if not near:
            return nothing_found(
                question, "graphrag-drift", "there is no report to begin with", index, tuple(trace)
            )
        # 2. Read them in folds: first answers and follow-up questions.
        folds = split_into_folds([report for report, _ in near], self.folds)
        primed = models.calls.map(
            lambda fold: _or_empty(lambda: run_primer(question, fold, models, method="graphrag-drift")),
            folds,
        )
        pairs = list(zip(folds, primed, strict=True))
        trace.append(Step(name="primer", value=[[len(f), a.score, list(a.follow_ups)] for f, a in pairs]))
        found = [
            _SourcedAnswer(
                answer=first,
                id=f"reports {n}",
                why=f"scored {first.score:.0f} of 100; from the reports {', '.join(f'“{r.title}”' for r in fold)}",
                spans=spans_of(first.chunks, index),
            )
            for n, (fold, first) in enumerate(pairs, 1)
        ]
        # 3. Rounds of follow-up questions.
        followed, read = self._follow(question, found, index, models, trace)
        found += followed
        kept = sorted((a for a in found if a.answer.text and a.spans), key=lambda a: -a.answer.score)
        if not kept:
            return nothing_found(
                question,
                "graphrag-drift",
                "no report and no passage helps to answer the question",
                index,
                tuple(trace),
            )
        # 4. The intermediate answers are the context of the final one.
        items = tuple(
            Evidence(
                kind="summary", id=a.id, text=a.answer.text, score=a.answer.score, spans=a.spans, why=a.why
            )
            for a in kept
        )
        packed = pack([Block(heading="", items=items)], max_tokens=self.max_tokens)
        rests_on = [span.chunk for item in items for span in item.spans]
        return retrieved(
            question,
            "graphrag-drift",
            packed,
            # The passages of the answers, best answer first, then what else the local searches found.
            ranking=[*rests_on, *round_robin(read)],
            trace=trace,
            max_tokens=self.max_tokens,
            what="no answer",
            answer_form="overview",
        )

    def _text_to_search(self, question: str, index: Snapshot, models: Models) -> tuple[str, list[Step]]:
        """Return the text to search reports with: a hypothetical answer in the form of one of them."""
        if models.chat is None or self.hyde == "none":
            return question, []
        reports = index.reports()
        if not reports:
            return question, []
        if self.hyde == "rating":
            sample = min(reports, key=lambda r: (-r.rating, r.level, r.community))
        else:
            sample = reports[int(np.random.default_rng(self.seed).integers(len(reports)))]
        hypothetical = write_hypothetical_answer(
            question, sample, models, models.chat, method="graphrag-drift"
        )
        return hypothetical, [Step(name="hyde", value=[sample.community, hypothetical])]

    def _follow(
        self,
        question: str,
        found: Sequence[_SourcedAnswer],
        index: Snapshot,
        models: Models,
        trace: list[Step],
    ) -> tuple[list[_SourcedAnswer], list[Sequence[str]]]:
        """Follow questions round by round; return the answers, and the passages that each search found."""
        local = GraphRAGLocal(
            k=self.local_k,
            seed_names=self.seed_names,
            order=self.source_order,
            reports_share=self.reports_share,
            tables_share=0.0,
            max_tokens=self.local_tokens,
        )
        random = np.random.default_rng(self.seed)
        raised = {question.casefold()}
        waiting: list[_PendingQuestion] = []
        answered: list[_SourcedAnswer] = []
        read: list[Sequence[str]] = []
        fresh = list(found)
        for n in range(1, self.rounds + 1):
            for source in fresh:
                for text in source.answer.follow_ups:
                    if text.casefold() not in raised:
                        raised.add(text.casefold())
                        waiting.append(
                            _PendingQuestion(text=text, score=source.answer.score, raised_by=source.id)
                        )
            if self.order == "shuffle":
                waiting = [waiting[i] for i in random.permutation(len(waiting))]
            else:
                waiting.sort(key=lambda q: -q.score)  # stable: keeps the order in which they were raised
            chosen, waiting = waiting[: self.per_round], waiting[self.per_round :]
            if not chosen:
                break
            searches = [local(q.text, index, models) for q in chosen]
            read += [search.ranking for search in searches]
            pairs = list(zip(chosen, searches, strict=True))
            answers = _answers(question, pairs, index, models)
            fresh = [_sourced(n, q, s, a) for (q, s), a in zip(pairs, answers, strict=True)]
            answered += fresh
            rows: Json = [
                [q.text, q.raised_by, a.answer.score, len(s.evidence)]
                for (q, s), a in zip(pairs, fresh, strict=True)
            ]
            trace.append(Step(name=f"round {n}", value=rows))
        return answered, read


def split_into_folds(reports: Sequence[Report], n: int) -> list[Sequence[Report]]:
    """Split into consecutive parts of nearly equal size, the larger first; none is empty."""
    n = max(1, min(n, len(reports)))
    size, more = divmod(len(reports), n)
    ends = [(i + 1) * size + min(i + 1, more) for i in range(n)]
    return [reports[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _or_empty(ask: Callable[[], IntermediateAnswer]) -> IntermediateAnswer:
    """Return an empty answer for a reply that cannot be used; the reply is kept in quarantine."""
    try:
        return ask()
    except UnusableReply:
        return _NOTHING


def _answers(
    question: str, pairs: Sequence[tuple[_PendingQuestion, Retrieval]], index: Snapshot, models: Models
) -> list[IntermediateAnswer]:
    """Answer the questions of one round, each from its own local search."""
    chunks = [_passages(search) for _, search in pairs]
    pool = None
    if models.chat is None:
        pool = SentencePool(
            passages_of(list(dict.fromkeys(c for some in chunks for c in some)), index), models
        )

    def answer(i: int) -> IntermediateAnswer:
        pending, search = pairs[i]
        if not search.evidence:
            return _NOTHING
        texts = [e.text for e in search.evidence]
        return _or_empty(
            lambda: answer_follow_up(
                question,
                pending.text,
                search.context,
                texts,
                pool,
                frozenset(chunks[i]),
                models,
                method="graphrag-drift",
            )
        )

    return models.calls.map(answer, range(len(pairs)))


def _passages(search: Retrieval) -> list[str]:
    return [e.id for e in search.evidence if e.kind == "chunk"][:_PASSAGES]


def _sourced(
    n: int, pending: _PendingQuestion, search: Retrieval, answer: IntermediateAnswer
) -> _SourcedAnswer:
    """Trace the answer to a follow-up question of round `n` to the passages it cites."""
    cited = [span for number in answer.cited for span in search.evidence[number - 1].spans]
    return _SourcedAnswer(
        answer=answer,
        id=pending.text,
        why=(
            f"scored {answer.score:.0f} of 100; round {n}, raised by {pending.raised_by} (scored {pending.score:.0f}); "
            f"local search of {count_noun(len(search.evidence), 'piece')} of evidence"
        ),
        spans=answer.spans or tuple(dict.fromkeys(cited)),
    )
