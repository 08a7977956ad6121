"""DRIFT search: a first answer from the nearest reports, then follow-up questions, each a local search.

Microsoft GraphRAG, DRIFT (dynamic reasoning and inference with flexible traversal). The published code imitates a
random report and follows questions in random order; `graphrag-drift:microsoft` does so by seed. Our variant imitates
the highest-rated report and follows the questions of the best answers first.
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
from polygraph.retrieve.methods.graphrag_local import GraphRAGLocal
from polygraph.retrieve.pack import Block, pack
from polygraph.retrieve.steps import embed_question, retrieved, round_robin
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.drift import IntermediateAnswer, answer_follow_up, run_primer, write_hypothetical_answer
from polygraph.tasks.offline.sentence_pool import SentencePool
from polygraph.text.prose import count_noun

_PASSAGES = 16
"""Of a local search, from which an answer is chosen where there is no model."""
_NOTHING = IntermediateAnswer(text="", score=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Open:
    """A question that was raised and not yet followed."""

    text: str
    parent: float
    """Score of the answer that raised it."""
    asked_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answered:
    """An answer on the way, and where it comes from."""

    said: IntermediateAnswer
    id: str
    why: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRAGDrift:
    """Prime with reports, follow what they raise by local searches for some rounds, keep the answers."""

    needs: ClassVar[frozenset[str]] = frozenset(
        {"chunks", "graph", "entity_vectors", "communities", "reports", "report_vectors"}
    )
    calls: ClassVar[str] = "at most 2 + folds + rounds x per round (67)"

    hyde: Literal["rating", "random", "none"] = "rating"
    """Report whose form the hypothetical answer imitates: the highest rated (ours) or a random one (code); `none`:
    the question itself is searched for."""
    k_reports: int = 20
    """Reports that run_primer the search (code: 20)."""
    folds: int = 5
    """Calls that these reports are read in (code: 5)."""
    rounds: int = 3
    """Rounds of follow-up questions (code: 3)."""
    per_round: int = 20
    """Follow-up questions of a round, at most (code: 20)."""
    order: Literal["score", "shuffle"] = "score"
    """Which are followed: those of the best answers, then the first raised (ours), or any (code)."""
    local_k: int = 10
    """Entities of a local search (code: 10)."""
    local_tokens: int = 12_000
    """Budget of a local search (code: 12,000)."""
    reports_share: float = 0.1
    """Share of that budget for reports (code: 0.1); the rest is for texts."""
    seed_names: bool = True
    """A local search also begins from entities that the follow-up names (ours)."""
    seed: int = 86
    """Of what is random."""
    max_tokens: int = 12_000
    """Budget of the answers that the final one is made of (code: 12,000)."""

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Retrieve for the question; answers by score, then as they came."""
        require(index, "graphrag-drift", self.needs, models)
        # 1. Search reports with a made-up answer.
        searched, trace = self._to_search(question, index, models)
        near = index.search_reports(embed_question(searched, models, names=True), self.k_reports)
        trace.append(Step(name="reports", value=[[r.community, round(cosine, 6)] for r, cosine in near]))
        if not near:
            return nothing_found(
                question, "graphrag-drift", "there is no report to begin with", index, tuple(trace)
            )
        # 2. Read them in folds: first answers, and questions to follow.
        folds = _folds([report for report, _ in near], self.folds)
        primed = models.calls.map(
            lambda fold: _or_nothing(lambda: run_primer(question, fold, models, method="graphrag-drift")),
            folds,
        )
        pairs = list(zip(folds, primed, strict=True))
        trace.append(Step(name="primer", value=[[len(f), a.score, list(a.follow_ups)] for f, a in pairs]))
        found = [
            _Answered(
                said=said,
                id=f"reports {n}",
                why=f"scored {said.score:.0f} of 100; from the reports {', '.join(f'“{r.title}”' for r in fold)}",
                spans=spans_of(said.chunks, index),
            )
            for n, (fold, said) in enumerate(pairs, 1)
        ]
        # 3. Rounds of follow-ups.
        followed, read = self._follow(question, found, index, models, trace)
        found += followed
        kept = sorted((a for a in found if a.said.text and a.spans), key=lambda a: -a.said.score)
        if not kept:
            return nothing_found(
                question,
                "graphrag-drift",
                "no report and no passage helps to answer the question",
                index,
                tuple(trace),
            )
        # 4. The answers on the way are the context of the last one.
        items = tuple(
            Evidence(kind="summary", id=a.id, text=a.said.text, score=a.said.score, spans=a.spans, why=a.why)
            for a in kept
        )
        packed = pack([Block(heading="", items=items)], max_tokens=self.max_tokens)
        rests_on = [span.chunk for item in items for span in item.spans]
        return retrieved(
            question,
            "graphrag-drift",
            packed,
            # What the answers rest on, best answer first, then what else the local searches found.
            ranking=[*rests_on, *round_robin(read)],
            trace=trace,
            max_tokens=self.max_tokens,
            what="no answer",
            answer_form="points",
        )

    def _to_search(self, question: str, index: Snapshot, models: Models) -> tuple[str, list[Step]]:
        """What the reports are searched for: an answer made up in the form of one of them."""
        if models.chat is None or self.hyde == "none":
            return question, []
        reports = index.reports()
        if not reports:
            return question, []
        if self.hyde == "rating":
            sample = min(reports, key=lambda r: (-r.rating, r.level, r.community))
        else:
            sample = reports[int(np.random.default_rng(self.seed).integers(len(reports)))]
        made_up = write_hypothetical_answer(question, sample, models, models.chat, method="graphrag-drift")
        return made_up, [Step(name="hyde", value=[sample.community, made_up])]

    def _follow(
        self,
        question: str,
        found: Sequence[_Answered],
        index: Snapshot,
        models: Models,
        trace: list[Step],
    ) -> tuple[list[_Answered], list[Sequence[str]]]:
        """Follow questions round by round; the answers, and the passages that each search found."""
        local = GraphRAGLocal(
            k=self.local_k,
            seed_names=self.seed_names,
            reports_share=self.reports_share,
            tables_share=0.0,
            max_tokens=self.local_tokens,
        )
        random = np.random.default_rng(self.seed)
        raised = {question.casefold()}
        waiting: list[_Open] = []
        answered: list[_Answered] = []
        read: list[Sequence[str]] = []
        fresh = list(found)
        for n in range(1, self.rounds + 1):
            for before in fresh:
                for text in before.said.follow_ups:
                    if text.casefold() not in raised:
                        raised.add(text.casefold())
                        waiting.append(_Open(text=text, parent=before.said.score, asked_by=before.id))
            if self.order == "shuffle":
                waiting = [waiting[i] for i in random.permutation(len(waiting))]
            else:
                waiting.sort(key=lambda o: -o.parent)  # keeps the order in which they were raised
            chosen, waiting = waiting[: self.per_round], waiting[self.per_round :]
            if not chosen:
                break
            searches = [local(o.text, index, models) for o in chosen]
            read += [search.ranking for search in searches]
            pairs = list(zip(chosen, searches, strict=True))
            said = _answers(question, pairs, index, models)
            fresh = [_answered(n, o, s, a) for (o, s), a in zip(pairs, said, strict=True)]
            answered += fresh
            rows: Json = [
                [o.text, o.asked_by, a.said.score, len(s.evidence)]
                for (o, s), a in zip(pairs, fresh, strict=True)
            ]
            trace.append(Step(name=f"round {n}", value=rows))
        return answered, read


def _folds(reports: Sequence[Report], n: int) -> list[Sequence[Report]]:
    """Neighbouring parts of nearly equal size, the larger first; none is empty."""
    n = max(1, min(n, len(reports)))
    size, more = divmod(len(reports), n)
    ends = [(i + 1) * size + min(i + 1, more) for i in range(n)]
    return [reports[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _or_nothing(ask: Callable[[], IntermediateAnswer]) -> IntermediateAnswer:
    """One reply of sixty that cannot be used says nothing; it is kept in quarantine."""
    try:
        return ask()
    except UnusableReply:
        return _NOTHING


def _answers(
    question: str, pairs: Sequence[tuple[_Open, Retrieval]], index: Snapshot, models: Models
) -> list[IntermediateAnswer]:
    """Answer the questions of one round, each from its own search."""
    chunks = [_passages(search) for _, search in pairs]
    pool = None
    if models.chat is None:
        pool = SentencePool(
            passages_of(list(dict.fromkeys(c for some in chunks for c in some)), index), models
        )

    def answer(i: int) -> IntermediateAnswer:
        asked, search = pairs[i]
        if not search.evidence:
            return _NOTHING
        texts = [e.text for e in search.evidence]
        return _or_nothing(
            lambda: answer_follow_up(
                question,
                asked.text,
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


def _answered(n: int, asked: _Open, search: Retrieval, said: IntermediateAnswer) -> _Answered:
    cited = [span for number in said.cited for span in search.evidence[number - 1].spans]
    return _Answered(
        said=said,
        id=asked.text,
        why=(
            f"scored {said.score:.0f} of 100; round {n}, raised by {asked.asked_by} (scored {asked.parent:.0f}); "
            f"local search of {count_noun(len(search.evidence), 'piece')} of evidence"
        ),
        spans=said.spans or tuple(dict.fromkeys(cited)),
    )
