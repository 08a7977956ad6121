"""GraphRAG global search: every report is read, the points that matter are kept, one answer is made of them.

Edge et al. (2024), arXiv:2404.16130. The published code means to keep, for each entity,
only the deepest community up to the level and in effect keeps all; `rollup="entity"` does what was meant,
`rollup="none"` what is done.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from polygraph.models import Models
from polygraph.records import Evidence, Report, Retrieval, Step
from polygraph.retrieve.base import require
from polygraph.retrieve.pack import Block, pack
from polygraph.retrieve.rows import nothing, spans_of
from polygraph.retrieve.steps import RANKED
from polygraph.store.layers import Snapshot
from polygraph.tasks.extractive import is_broad
from polygraph.tasks.points import Point, find_points
from polygraph.tokens import count_many

_HEADER_TOKENS = 20
"""The line above each report in a batch: its number and weight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRAGGlobal:
    """Map over batches of reports, drop what does not help, pack the best points."""

    needs: ClassVar[frozenset[str]] = frozenset({"chunks", "communities", "reports"})
    source: ClassVar[str] = "Microsoft GraphRAG, arXiv:2404.16130"
    calls: ClassVar[str] = "ceil(report tokens / batch tokens) + 1"
    tokens: ClassVar[str] = "all reports in batches, then at most 12,000"
    summary: ClassVar[str] = (
        "questions about the whole collection; reads every report, so its cost grows with it"
    )
    good: ClassVar[str] = "overviews of a whole collection (arXiv:2404.16130)"
    bad: ClassVar[str] = (
        "details and unanswerable questions: 19% and 14% right there (arXiv:2502.11371); 326,200 tokens a "
        "question (arXiv:2506.06331)"
    )

    level: int = 2
    """Deepest level of communities that is read (code: 2)."""
    rollup: Literal["entity", "none"] = "entity"
    """`entity`: for each entity the deepest of its communities; `none`: all, parents beside children."""
    batch_tokens: int = 12_000
    """Reports in one map call (code: 12,000)."""
    seed: int = 86
    """Of the shuffle that mixes reports over batches (code: 86)."""
    max_tokens: int = 12_000
    """Budget of the packed points (code: 12,000)."""

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Retrieve for the question; points by score, then by report and place in it."""
        require(index, "graphrag-global", self.needs, models)
        # Without a model, what the whole is about is told by its largest parts.
        overview = models.chat is None and is_broad(question)
        reports = self._chosen(index, 0 if overview else self.level)
        if not reports:
            return nothing(question, "graphrag-global", "there is no report to read", index)
        # 1. Shuffle with a fixed seed, so that no batch is one region of the graph; cut in batches.
        #    Without a model there is nothing to be cut for: one pass compares all statements.
        order = np.random.default_rng(self.seed).permutation(len(reports))
        batches = self._batches([reports[i] for i in order]) if models.chat else [reports]
        # 2. Map: points with a score of 0 to 100.
        found = models.calls.map(lambda batch: find_points(question, batch, models), batches)
        points = [point for batch in found for point in batch if point.score > 0]
        points.sort(key=lambda p: (-p.score, p.reports, p.text))
        trace = (
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
        return Retrieval(
            question=question,
            method="graphrag-global",
            evidence=packed.evidence,
            context=packed.context,
            n_tokens=packed.n_tokens,
            ranking=tuple(ranking)[:RANKED],
            cuts=packed.cuts,
            trace=trace,
            empty_because="" if packed.evidence else f"no point fits the budget of {self.max_tokens} tokens",
        )

    def _chosen(self, index: Snapshot, level: int) -> list[Report]:
        communities = [c for c in index.communities() if c.level <= level]
        if self.rollup == "entity":
            deepest: dict[str, tuple[int, str]] = {}
            for c in communities:
                for entity in c.entities:
                    deepest[entity] = max(deepest.get(entity, (-1, "")), (c.level, c.id))
            wanted = sorted({community for _, community in deepest.values()})
        else:
            wanted = [c.id for c in communities]
        return index.reports(wanted)

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
