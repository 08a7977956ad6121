"""GraphRAG global search: map every report to points that help to answer, and reduce the best points to one answer.

Edge et al. (2024), arXiv:2404.16130. For each entity the published code intends to keep only the deepest community down
to the level, but in effect keeps all: `rollup="entity"` does what was intended, `rollup="none"` what the code does.
Dynamic community selection rates reports from the coarsest down (`preselect="rating"`). arXiv:2502.11371 describes a
selection by similarity that the code does not have (`preselect="embedding"`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from polygraph.models import Models
from polygraph.records import Evidence, Json, Report, Retrieval, Step
from polygraph.retrieve.base import require
from polygraph.retrieve.evidence import nothing_found, spans_of
from polygraph.retrieve.pack import Block, pack
from polygraph.retrieve.report_selection import nearest_reports, relevant_reports, reports_to_level
from polygraph.retrieve.steps import RANKED, retrieved
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.evidence.map_reports import Point, find_points
from polygraph.tasks.offline.question_scope import is_global_question
from polygraph.text.tokens import count_many

_HEADER_TOKENS = 20
"""Tokens of the line above each report in a batch: its number and weight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRAGGlobal:
    """Map batches of reports to points, drop points that do not help, pack the best."""

    level: int = 2
    """Deepest level of communities that is read; 0 is the coarsest (code: 2)."""
    rollup: Literal["entity", "none"] = "entity"
    """`entity`: for each entity the deepest of its communities; `none`: all, parents as well as children."""
    preselect: Literal["", "rating", "embedding"] = ""
    """Which reports are read. Empty: all, up to `max_reports`; `rating`: those that the model rates relevant, from the
    coarsest down (dynamic community selection, which has its own roll-up); `embedding`: the `k_reports` nearest to the
    question."""
    max_reports: int = 2_000
    """With more communities to the level, all would cost too much, and the relevant ones are read as with `rating`; 0
    for no bound (ours; code: none)."""
    min_rating: int = 1
    """With `rating`: lowest rating of a relevant report, of 0 to 5 (code: 1)."""
    repeats: int = 1
    """With `rating`: ratings per report, of which the most frequent counts (code: 1)."""
    k_reports: int = 20
    """With `embedding`: reports that are read (as many as in DRIFT)."""
    batch_tokens: int = 12_000
    """Tokens of reports per map call (code: 12,000)."""
    seed: int = 86
    """Seed of the shuffle that distributes reports over batches (code: 86)."""
    max_tokens: int = 12_000
    """Budget of the packed points (code: 12,000)."""

    @property
    def needs(self) -> frozenset[str]:
        """Reports, and their vectors if they are selected by similarity."""
        by_vector = {"report_vectors"} if self.preselect == "embedding" else set()
        return frozenset({"chunks", "communities", "reports", *by_vector})

    @property
    def calls(self) -> str:
        """One per batch of reports, one for the answer, and one per rating."""
        return {
            "": "ceil(report tokens / batch tokens) + 1",
            "rating": "reports rated + ceil(tokens of those kept / batch tokens) + 1",
            "embedding": "ceil(tokens of the k nearest reports / batch tokens) + 1",
        }[self.preselect]

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Retrieve for the question; points by score, then reports, then text."""
        require(index, "graphrag-global", self.needs, models)
        # Without a model, a global question is answered from the coarsest communities.
        overview = models.chat is None and is_global_question(question)
        reports, chosen = self._chosen(question, index, models, overview=overview)
        if not reports:
            reason = "no report is rated as relevant" if chosen else "there is no report to read"
            return nothing_found(question, "graphrag-global", reason, index, chosen)
        # 1. Shuffle with a fixed seed, so that no batch is one region of the graph; split into batches.
        #    Without a model there is one batch: a single pass compares all sentences.
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
            return nothing_found(
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
            answer_form="overview",
        )

    def _is_large(self, index: Snapshot, level: int) -> bool:
        """Tell whether there are more reports than may all be read."""
        if not self.max_reports or self.preselect:
            return False
        return sum(depth <= level for _, depth, _ in index.community_tree()) > self.max_reports

    def _chosen(
        self, question: str, index: Snapshot, models: Models, *, overview: bool
    ) -> tuple[list[Report], tuple[Step, ...]]:
        """Select the reports to read, for an overview the coarsest; return them with a trace of the selection."""
        level = 0 if overview else self.level
        if self.preselect == "embedding":
            near = nearest_reports(question, index, models, level=level, k=self.k_reports)
            found: Json = [[r.community, round(cosine, 6)] for r, cosine in near]
            return [r for r, _ in near], (Step(name="nearest", value=found),)
        if (self.preselect == "rating" or self._is_large(index, level)) and not overview:
            kept, rated = relevant_reports(
                question,
                index,
                models,
                level=level,
                min_rating=self.min_rating,
                repeats=self.repeats,
                method="graphrag-global",
            )
            value: Json = [[r.community, r.level, r.rating, r.n_ratings] for r in rated]
            return kept, (Step(name="rated", value=value),)
        return reports_to_level(index, level, self.rollup), ()

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
