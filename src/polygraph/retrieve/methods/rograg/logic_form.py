"""ROGRAG's logic form: a plan of operators over the graph, executed step by step.

Wang et al. (2025), arXiv:2503.06474, sections 3.2 and 6.2, algorithm 2; operators as in KAG (arXiv:2409.13731).
Differences from the published code: an unknown operator drops its step, not the plan; arithmetic, counting, sorting and
comparing are done by code; a triple may match the question as a whole, not only by its predicate (`whole_facts`); the
best triples are kept even if none reaches the threshold (`min_facts`).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

from polygraph.models import Models
from polygraph.records import Evidence, Retrieval, Step
from polygraph.retrieve.base import require
from polygraph.retrieve.evidence import nothing_found, spans_of, triple_evidence
from polygraph.retrieve.methods.rograg.executor import PlanExecutor
from polygraph.retrieve.methods.rograg.fact_search import MatchingOptions, entity_names
from polygraph.retrieve.methods.rograg.step_result import StepResult
from polygraph.retrieve.pack import Block, pack
from polygraph.retrieve.question_names import entities_in_question
from polygraph.retrieve.row_texts import fact_statements
from polygraph.retrieve.steps import RANKED, ordered_chunks, retrieved, round_robin
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.questions.plan import MAX_STEPS, Plan, plan
from polygraph.text.prose import count_noun

NEEDS = frozenset({"chunks", "graph", "name_vectors", "fact_vectors", "predicate_vectors"})
"""Layers that a logic form reads."""
_SPANS = 5
_STEPS_SHARE = 0.2
_FACTS_SHARE = 0.3
"""Shares of the budget for step results and triples; passages get the rest (ours; the paper has a list of
sub-answers)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RogragLogic:
    """Plan, retrieve triples for each step and compute the rest; results, triples and passages are evidence."""

    needs: ClassVar[frozenset[str]] = NEEDS
    calls: ClassVar[str] = "2 + s, for s steps that ask the model, and 1 for each plan that is refused"

    max_steps: int = MAX_STEPS
    """Steps of a plan that are executed (ours)."""
    plan_retries: int = 3
    """Further plans requested, with the reason, when a plan is rejected (KAG: 3)."""
    link_threshold: float = 0.2
    """Lowest cosine between a name and the entity it is linked to (code: 0.2)."""
    predicate_threshold: float = 0.2
    """Lowest cosine of a triple (code: 0.2, of its predicate)."""
    max_hops: int = 2
    """Longest path between two known entities (code: 2)."""
    facts: int = 10
    """Triples kept per step (ours)."""
    min_facts: int = 3
    """Triples kept even below the threshold (ours: predicates differ more in wording than in meaning)."""
    whole_facts: bool = True
    """A triple may also match the question as a whole (ours: extracted predicates are often as vague as `of`)."""
    rerank: int = 20
    """Triples of a step that the cross-encoder reorders, if there is one; 0 for none (code: all)."""
    passages: int = 5
    """Passages from which a step is answered (ours)."""
    max_tokens: int = 6_000
    """Budget of the context (ours; the paper's mean is 1,699)."""

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Retrieve for the question; every ranking breaks ties by row."""
        require(index, "rograg-logic", self.needs, models)
        return self.retrieve(question, index, models, method="rograg-logic")

    def plan(self, question: str, index: Snapshot, models: Models, *, method: str) -> Plan:
        """Plan on behalf of a method, with a model or by rules."""
        named = [] if models.chat is not None else entities_in_question(question, index)
        return plan(
            question,
            models,
            method=method,
            names=[text for text, _ in named],
            retries=self.plan_retries,
            max_steps=self.max_steps,
        )

    def retrieve(
        self, question: str, index: Snapshot, models: Models, *, method: str, made: Plan | None = None
    ) -> Retrieval:
        """Retrieve on behalf of a method; `made` is the plan, if there is one already."""
        # 1. Plan.
        if made is None:
            made = self.plan(question, index, models, method=method)
        # 2. Execute the steps, each bound to an alias.
        options = MatchingOptions(
            link_threshold=self.link_threshold,
            predicate_threshold=self.predicate_threshold,
            max_hops=self.max_hops,
            facts=self.facts,
            min_facts=self.min_facts,
            whole_facts=self.whole_facts,
            rerank=self.rerank,
        )
        results = PlanExecutor(index, models, options, passages=self.passages, method=method).run(made)
        trace = (
            plan_step(made),
            Step(name="steps", value=[r.as_json() for r in results.values()]),
        )
        # 3. Evidence: the results that `output` selects and all that they build on; without `output`, all results.
        wanted = {alias for s in made.steps if s.operator == "output" for alias in s.of}
        used = results.with_ancestors(wanted or results)
        if not any(r.chunks for r in used):
            return nothing_found(question, method, _why_empty(made, list(results.values())), index, trace)
        return self._packed(question, method, used, index, trace)

    def _packed(
        self, question: str, method: str, used: Sequence[StepResult], index: Snapshot, trace: tuple[Step, ...]
    ) -> Retrieval:
        by_row = {f.n: f for r in reversed(used) for f in r.facts}
        facts = [by_row[n] for n in round_robin([[f.n for f in r.facts] for r in used])]
        names = entity_names(facts, index, question)
        step_of_fact = {f.n: r.step.alias for r in reversed(used) for f in r.facts}
        said = fact_statements([f.triple for f in facts], index, brief=True, names=names)
        ranking = round_robin([r.chunks for r in used])[:RANKED]
        step_of_chunk = {c: r.step.alias for r in reversed(used) for c in r.chunks}
        first: dict[str, str] = {}
        for f in facts:
            for chunk in f.triple.chunks:
                first.setdefault(chunk, f.triple.id)
        chunks = index.chunks_by_id(ranking)
        whys = {
            c.id: f"step {step_of_chunk[c.id]}: states {first.get(c.id, 'what it found')}" for c in chunks
        }
        packed = pack(
            [
                Block(heading="## Steps", items=_result_evidence(used, index), share=_STEPS_SHARE),
                Block(
                    heading="## Statements",
                    items=tuple(
                        triple_evidence(
                            f.triple,
                            f.score,
                            f"step {step_of_fact[f.n]}: {f.why}",
                            index,
                            text=text,
                        )
                        for f, text in zip(facts, said, strict=True)
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


def plan_step(made: Plan) -> Step:
    """Return a plan as a step of the trace."""
    return Step(
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
    )


def _result_evidence(used: Sequence[StepResult], index: Snapshot) -> tuple[Evidence, ...]:
    """Make evidence of the result of each step, traced to its passages."""
    items: list[Evidence] = []
    for n, r in enumerate(used, 1):
        spans = spans_of(r.chunks[:_SPANS], index)
        text = f"{r.question or r.step.question or r.step.operator} → {r.text}"
        # Steps of a plan made without a model may all ask the same.
        if r.text and spans and text not in [item.text for item in items]:
            how = "answered from" if r.step.operator in {"retrieve", "deduce"} else "worked out by code from"
            items.append(
                Evidence(
                    kind="summary",
                    id=r.step.alias,
                    text=text,
                    score=float(len(used) - n + 1),
                    spans=spans,
                    why=f"step {r.step.alias}, {r.step.operator}: {how} {count_noun(len(r.facts), 'statement')}",
                )
            )
    return tuple(items)


def _why_empty(made: Plan, results: Sequence[StepResult]) -> str:
    if not made.steps:
        problem = made.problems[-1] if made.problems else "the question names nothing to look up"
        return f"no plan was made: {problem}"
    problems = [f"{r.step.alias}: {r.problem}" for r in results if r.problem]
    return f"no step of the plan found anything ({'; '.join(problems[:3])})"
