"""GraphRAG global search: every report is read, the points that matter are kept, one answer is made of them.

Edge et al. (2024), arXiv:2404.16130. The published code means to keep, for each entity,
only the deepest community up to the level and in effect keeps all; `rollup="entity"` does what was meant,
`rollup="none"` what is done. Dynamic community selection rates reports on the way down (`preselect="rating"`);
arXiv:2502.11371 describes a choice by similarity, which the code does not make (`preselect="embedding"`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from polygraph.models import Models
from polygraph.records import Evidence, Json, Report, Retrieval, Step
from polygraph.retrieve.base import require
from polygraph.retrieve.evidence import nothing, spans_of
from polygraph.retrieve.pack import Block, pack
from polygraph.retrieve.report_selection import down_to, nearest, rated_as_relevant
from polygraph.retrieve.steps import RANKED, retrieved
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.map_reports import Point, find_points
from polygraph.tasks.offline.question_scope import is_global_question
from polygraph.text.tokens import count_many

_HEADER_TOKENS = 20
"""The line above each report in a batch: its number and weight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRAGGlobal:
    """Map over batches of reports, drop what does not help, pack the best points."""

    level: int = 2
    """Deepest level of communities that is read (code: 2)."""
    rollup: Literal["entity", "none"] = "entity"
    """`entity`: for each entity the deepest of its communities; `none`: all, parents beside children."""
    preselect: Literal["", "rating", "embedding"] = ""
    """Choose reports first: `rating`: those that the model rates as relevant on the way down from the coarsest
    (dynamic community selection, which has its own roll-up); `embedding`: the `k_reports` nearest to the question."""
    least_rating: int = 1
    """With `rating`: from which a report is relevant, of 0 to 5 (code: 1)."""
    repeats: int = 1
    """With `rating`: ratings of each report, of which the most frequent counts (code: 1)."""
    k_reports: int = 20
    """With `embedding`: reports that are read (DRIFT's number)."""
    batch_tokens: int = 12_000
    """Reports in one map call (code: 12,000)."""
    seed: int = 86
    """Of the shuffle that mixes reports over batches (code: 86)."""
    max_tokens: int = 12_000
    """Budget of the packed points (code: 12,000)."""

    @property
    def needs(self) -> frozenset[str]:
        """Reports; their vectors if they are chosen by them."""
        by_vector = {"report_vectors"} if self.preselect == "embedding" else set()
        return frozenset({"chunks", "communities", "reports", *by_vector})

    @property
    def calls(self) -> str:
        """One for each batch of the reports that are read, one for the answer, and the ratings."""
        return {
            "": "ceil(report tokens / batch tokens) + 1",
            "rating": "reports rated + ceil(tokens of those kept / batch tokens) + 1",
            "embedding": "ceil(tokens of the k nearest reports / batch tokens) + 1",
        }[self.preselect]

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Retrieve for the question; points by score, then by report and place in it."""
        require(index, "graphrag-global", self.needs, models)
        # Without a model, what the whole is about is told by its largest parts.
        overview = models.chat is None and is_global_question(question)
        reports, chosen = self._chosen(question, index, models, 0 if overview else self.level)
        if not reports:
            reason = "no report is rated as relevant" if chosen else "there is no report to read"
            return nothing(question, "graphrag-global", reason, index, chosen)
        # 1. Shuffle with a fixed seed, so that no batch is one region of the graph; cut in batches.
        #    Without a model there is nothing to be cut for: one pass compares all statements.
        order = np.random.default_rng(self.seed).permutation(len(reports))
        batches = self._batches([reports[i] for i in order]) if models.chat else [reports]
        # 2. Map: points with a score of 0 to 100.
        found = models.calls.map(lambda batch: find_points(question, batch, models), batches)
        points = [point for batch in found for point in batch if point.score > 0]
        points.sort(key=lambda p: (-p.score, p.reports, p.text))
        trace = (
            *chosen,
            Step(name="reports", value=len(reports)),
            Step(name="batches", value=len(batches)),
            Step(name="points", value=[[p.text, p.score, list(p.reports)] for p in points[:RANKED]]),
        )
        if not points:
            return nothing(
                question, "graphrag-global", "no report helps to answer the question", index, trace
            )
        # 3. Pack the best.
        weights = {r.community: r for r in reports}
        items = tuple(_evidence(p, weights, index) for p in points[:RANKED])
        packed = pack([Block(heading="", items=items)], max_tokens=self.max_tokens)
        ranking = dict.fromkeys(span.chunk for item in items for span in item.spans)
        return retrieved(
            question,
            "graphrag-global",
            packed,
            ranking=ranking,
            trace=trace,
            max_tokens=self.max_tokens,
            what="no point",
            answer_form="points",
        )

    def _chosen(
        self, question: str, index: Snapshot, models: Models, level: int
    ) -> tuple[list[Report], tuple[Step, ...]]:
        """The reports to read, and how they were chosen."""
        if self.preselect == "embedding":
            near = nearest(question, index, models, level=level, k=self.k_reports)
            found: Json = [[r.community, round(cosine, 6)] for r, cosine in near]
            return [r for r, _ in near], (Step(name="nearest", value=found),)
        if self.preselect == "rating" and not (models.chat is None and is_global_question(question)):
            kept, rated = rated_as_relevant(
                question,
                index,
                models,
                level=level,
                least=self.least_rating,
                repeats=self.repeats,
                method="graphrag-global",
            )
            value: Json = [[r.community, r.level, r.rating, r.n_ratings] for r in rated]
            return kept, (Step(name="rated", value=value),)
        return down_to(index, level, self.rollup), ()

    def _batches(self, reports: Sequence[Report]) -> list[list[Report]]:
        batches: list[list[Report]] = [[]]
        room = self.batch_tokens
        for report, n in zip(reports, count_many([r.text for r in reports]), strict=True):
            cost = n + _HEADER_TOKENS
            if cost > room and batches[-1]:
                batches.append([])
                room = self.batch_tokens
            batches[-1].append(report)
            room -= cost
        return batches


def _evidence(point: Point, reports: dict[str, Report], index: Snapshot) -> Evidence:
    titles = ", ".join(f"“{reports[r].title}”" for r in point.reports if r in reports)
    return Evidence(
        kind="summary",
        id="+".join(point.reports),
        text=point.text,
        score=point.score,
        spans=spans_of(point.chunks, index),
        why=f"scored {point.score:.0f} of 100 in {titles}",
    )
