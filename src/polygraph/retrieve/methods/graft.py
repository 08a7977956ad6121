"""GRAFT: the community reports nearest to the question.

Jin, Yu and Kokoromyti, GRAFT: Graph Retrieval Augmented Fine Tuning for Multi-Hop Query Summarization, section 4.2,
step 6: the community summaries of all levels are indexed, and one is retrieved by cosine. The paper's reader is a
fine-tuned model; retrieval is the same for any model. Our variant reads three, none about a part of another.
"""

from dataclasses import dataclass
from typing import ClassVar

from polygraph.models import Models
from polygraph.records import Retrieval, Step
from polygraph.retrieve.base import require
from polygraph.retrieve.evidence import nothing_found, report_evidence
from polygraph.retrieve.pack import Block, pack
from polygraph.retrieve.report_selection import separate_reports
from polygraph.retrieve.steps import retrieved
from polygraph.store.snapshot import Snapshot
from polygraph.text.prose import count_noun


@dataclass(frozen=True, slots=True, kw_only=True)
class Graft:
    """Rank reports by cosine between their vector and the question's."""

    needs: ClassVar[frozenset[str]] = frozenset({"chunks", "communities", "reports", "report_vectors"})
    calls: ClassVar[str] = "1"

    k_reports: int = 3
    """Reports that go into the context (paper: 1)."""
    max_tokens: int = 6_000
    """Budget of the context (paper: none)."""

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Rank reports for the question; ties by level, then id."""
        require(index, "graft", self.needs, models)
        found = separate_reports(question, index, models, k=self.k_reports)
        trace = (Step(name="reports", value=[[r.community, r.level, round(s, 6)] for r, s in found]),)
        if not found:
            return nothing_found(question, "graft", "there is no report to read", index, trace)
        items = tuple(
            report_evidence(
                report,
                cosine,
                f"cosine {cosine:.3f}, rank {rank}; level {report.level}, "
                f"rests on {count_noun(len(report.chunks), 'passage')}",
                index,
            )
            for rank, (report, cosine) in enumerate(found, 1)
        )
        packed = pack([Block(heading="", items=items)], max_tokens=self.max_tokens)
        return retrieved(
            question,
            "graft",
            packed,
            # A report does not rank its passages: they stay in the order of the documents.
            ranking=[span.chunk for item in items for span in item.spans],
            trace=trace,
            max_tokens=self.max_tokens,
            what="no report",
        )
