"""ROGRAG's logic form: a plan of operators over the graph, executed step by step.

Wang et al. (2025), arXiv:2503.06474, sections 3.2 and 6.2, algorithm 2; operators as in KAG (arXiv:2409.13731).
Differences from the published code: an unknown operator drops its step and not the plan; arithmetic, counting,
sorting and comparing are done by code; a whole statement may resemble the question, not its predicate alone
(`whole_facts`), and the best statements are kept even if none reaches the threshold (`least_facts`).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

from polygraph.models import Models
from polygraph.records import Evidence, Retrieval, Step
from polygraph.retrieve.base import require
from polygraph.retrieve.evidence import nothing_found, spans_of, triple_evidence
from polygraph.retrieve.methods.rograg.executor import PlanExecutor, StepResult
from polygraph.retrieve.methods.rograg.fact_search import MatchingOptions, entity_names
from polygraph.retrieve.pack import Block, pack
from polygraph.retrieve.steps import RANKED, entities_in_question, ordered_chunks, retrieved, round_robin
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.plan import MAX_STEPS, Plan, plan
from polygraph.text.prose import count_noun

NEEDS = frozenset({"chunks", "graph", "name_vectors", "fact_vectors", "predicate_vectors"})
"""Layers that a logic form reads."""
_SPANS = 5
_STEPS_SHARE = 0.2
_FACTS_SHARE = 0.3
"""Of the budget; passages have the rest, and what is left over (ours: the paper gives one list of sub-answers)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RogragLogic:
    """Plan, retrieve statements for each step, work out the rest; the results and what they rest on are evidence."""

    needs: ClassVar[frozenset[str]] = NEEDS
    calls: ClassVar[str] = "2 + s, for s steps that ask the model, and 1 for each plan that is refused"

    max_steps: int = MAX_STEPS
    """Steps of a plan that are run (ours)."""
    plan_retries: int = 3
    """Further plans asked for when one is refused, with the reason (KAG: 3)."""
    link_threshold: float = 0.2
    """Cosine by name that an entity must reach to be linked (code: 0.2)."""
    predicate_threshold: float = 0.2
    """Cosine that a statement must reach (code: 0.2, of its predicate)."""
    max_hops: int = 2
    """Length of the paths between two known entities (code: 2)."""
    facts: int = 10
    """Statements that are kept for a step (ours)."""
    min_facts: int = 3
    """So many are kept even below the threshold (ours: predicates differ in words more than in sense)."""
    whole_facts: bool = True
    """A statement may also resemble the question as a whole (ours: extracted predicates are often as poor as `of`)."""
    rerank: int = 20
    """Statements of a step that the cross-encoder orders anew, where there is one; 0 for none (code: all)."""
    passages: int = 5
    """Passages that a step is answered from (ours)."""
    max_tokens: int = 6_000
    """Budget of the context (ours; the paper's mean is 1,699)."""

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Retrieve for the question; every ranking breaks ties by row."""
        require(index, "rograg-logic", self.needs, models)
        return self.retrieve(question, index, models, method="rograg-logic")

    def retrieve(self, question: str, index: Snapshot, models: Models, *, method: str) -> Retrieval:
        """Retrieve on behalf of a method."""
        # 1. A plan, by a model or by question words.
        named = [] if models.chat is not None else entities_in_question(question, index)
        made = plan(
            question,
            models,
            method=method,
            names=[text for text, _ in named],
            retries=self.plan_retries,
            max_steps=self.max_steps,
        )
        # 2. Its steps, each bound to an alias with what it rests on.
        how = MatchingOptions(
            link_threshold=self.link_threshold,
            predicate_threshold=self.predicate_threshold,
            max_hops=self.max_hops,
            facts=self.facts,
            min_facts=self.min_facts,
            whole_facts=self.whole_facts,
            rerank=self.rerank,
        )
        bound = PlanExecutor(index, models, how, passages=self.passages, method=method).run(made)
        trace = (
            Step(
                name="plan",
                value={
                    "steps": [
                        {name: value for name, value in asdict(s).items() if value} | {"of": list(s.of)}
                        for s in made.steps
                    ],
                    "dropped": list(made.dropped),
                    "problems": list(made.problems),
                    "calls": made.calls,
                },
            ),
            Step(name="steps", value=[b.as_json() for b in bound]),
        )
        # 3. What `output` selects is evidence; without it, all results are.
        wanted = {alias for s in made.steps if s.operator == "output" for alias in s.of}
        used = [b for b in bound if not wanted or b.step.alias in wanted]
        if not any(b.chunks for b in used):
            return nothing_found(question, method, _why_empty(made, bound), index, trace)
        return self._packed(question, method, used, index, trace)

    def _packed(
        self, question: str, method: str, used: Sequence[StepResult], index: Snapshot, trace: tuple[Step, ...]
    ) -> Retrieval:
        by_row = {f.n: f for b in reversed(used) for f in b.facts}
        facts = [by_row[n] for n in round_robin([[f.n for f in b.facts] for b in used])]
        names = entity_names(facts, index)
        places = {f.n: f"step {b.step.alias}" for b in reversed(used) for f in b.facts}
        ranking = round_robin([b.chunks for b in used])[:RANKED]
        of_step = {c: b.step.alias for b in reversed(used) for c in b.chunks}
        first: dict[str, str] = {}
        for f in facts:
            for chunk in f.triple.chunks:
                first.setdefault(chunk, f.triple.id)
        chunks = index.chunks_by_id(ranking)
        whys = {c.id: f"step {of_step[c.id]}: states {first.get(c.id, 'what it found')}" for c in chunks}
        packed = pack(
            [
                Block(heading="## Steps", items=_results(used, index), share=_STEPS_SHARE),
                Block(
                    heading="## Statements",
                    items=tuple(
                        triple_evidence(f.triple, f.score, f"{places[f.n]}: {f.why}", index, names)
                        for f in facts
                    ),
                    share=_FACTS_SHARE,
                ),
                Block(
                    heading="## Sources",
                    items=ordered_chunks(chunks, whys, index),
                    share=1 - _STEPS_SHARE - _FACTS_SHARE,
                ),
            ],
            max_tokens=self.max_tokens,
        )
        return retrieved(
            question,
            method,
            packed,
            ranking=[c.id for c in chunks],
            trace=trace,
            max_tokens=self.max_tokens,
        )


def _results(used: Sequence[StepResult], index: Snapshot) -> tuple[Evidence, ...]:
    """What each step found out, traced to its passages."""
    items = []
    for n, b in enumerate(used, 1):
        spans = spans_of(b.chunks[:_SPANS], index)
        if b.text and spans:
            how = "answered from" if b.step.operator in {"retrieve", "deduce"} else "worked out by code from"
            items.append(
                Evidence(
                    kind="summary",
                    id=b.step.alias,
                    text=f"{b.step.question or b.step.operator} → {b.text}",
                    score=float(len(used) - n + 1),
                    spans=spans,
                    why=f"step {b.step.alias}, {b.step.operator}: {how} {count_noun(len(b.facts), 'statement')}",
                )
            )
    return tuple(items)


def _why_empty(made: Plan, bound: Sequence[StepResult]) -> str:
    if not made.steps:
        problem = made.problems[-1] if made.problems else "the question names nothing to look up"
        return f"no plan was made: {problem}"
    problems = [f"{b.step.alias}: {b.problem}" for b in bound if b.problem]
    return f"no step of the plan found anything ({'; '.join(problems[:3])})"
