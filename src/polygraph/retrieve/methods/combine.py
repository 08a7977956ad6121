"""Combinations of methods: select one for each question, or integrate what all of them find.

"RAG vs. GraphRAG", arXiv:2502.11371, section 4.4: Selection sends fact-based questions to RAG and reasoning-based
questions to GraphRAG; Integration concatenates the contexts of both. Here the methods can be any.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

from polygraph.models import Models
from polygraph.models.thread_pool import map_in_order
from polygraph.records import Evidence, Json, Retrieval, Step
from polygraph.retrieve.base import Method, require, with_budget
from polygraph.retrieve.evidence import nothing_found
from polygraph.retrieve.methods.graphrag_local import GraphRAGLocal
from polygraph.retrieve.methods.hybrid import Hybrid
from polygraph.retrieve.methods.vector import Naive
from polygraph.retrieve.pack import Block, pack
from polygraph.retrieve.steps import retrieved, round_robin
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.questions.route import Route, route_question

Router = Callable[[str, Models], Route]
"""Classifies a question."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Arm:
    """One of the methods that are combined."""

    name: str
    """As in `METHODS`, or any other."""
    method: Method
    kind: str = ""
    """Kind of question that the method is for; empty for Integration."""

    def __repr__(self) -> str:
        return f"{self.kind}: {self.name}" if self.kind else self.name


@dataclass(frozen=True, slots=True, repr=False)
class ByKind:
    """Ask the model whether a question wants one fact or several combined; without a model, use rules."""

    def __call__(self, question: str, models: Models) -> Route:
        """Classify one question; one call with a model."""
        return route_question(question, models, method="select")

    def __repr__(self) -> str:
        return "by kind"


_RAG = Arm(kind="fact", name="hybrid", method=Hybrid())
_GRAPH = Arm(kind="reasoning", name="graphrag-local", method=GraphRAGLocal())
_RAG_PAPER = Arm(kind="fact", name="naive:rag-vs-graphrag", method=Naive(k=10, max_tokens=1_000_000))
_GRAPH_PAPER = Arm(
    kind="reasoning",
    name="graphrag-local:microsoft",
    method=GraphRAGLocal(seed_names=False, order="relations"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Select:
    """Classify the question and retrieve with the method for its kind."""

    arms: tuple[Arm, ...] = (_RAG, _GRAPH)
    """Methods by kind of question; a kind without a method goes to the first (paper: RAG and GraphRAG local)."""
    router: Router = ByKind()
    """Classifies questions (paper: a model with examples; the examples are ours, since the paper prints none)."""
    max_tokens: int = 12_000
    """Budget of the context; an arm with a smaller budget keeps it."""

    @property
    def needs(self) -> frozenset[str]:
        """Layers of all arms."""
        return _needs(self.arms)

    @property
    def calls(self) -> str:
        """One, plus those of the arm."""
        each = sorted({arm.method.calls for arm in self.arms})
        return str(1 + int(each[0])) if len(each) == 1 and each[0].isdigit() else f"1 + {' or '.join(each)}"

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Retrieve with the method for the question's kind; evidence in that method's order."""
        require(index, "select", self.needs, models)
        route = self.router(question, models)
        arm = next((arm for arm in self.arms if arm.kind == route.kind), self.arms[0])
        method = with_budget(arm.method, min(self.max_tokens, arm.method.max_tokens))
        found = method(question, index, models)
        value: Json = {"kind": route.kind, "why": route.why, "parsed": route.parsed, "arm": arm.name}
        return replace(found, method="select", trace=(Step(name="route", value=value), *found.trace))


@dataclass(frozen=True, slots=True, kw_only=True)
class Integrate:
    """Retrieve with every method and answer from everything they find."""

    arms: tuple[Arm, ...] = (replace(_RAG, kind=""), replace(_GRAPH, kind=""))
    """Methods in the order of the context (paper: RAG, then GraphRAG local)."""
    merge: Literal["concat", "round-robin"] = "concat"
    """`concat`: one method after the other, each with an equal share of the budget plus what earlier ones leave unused
    (paper); `round-robin`: the best of each, then the second of each."""
    max_tokens: int = 18_000
    """Budget of the whole context (ours: those of its two methods together)."""

    @property
    def needs(self) -> frozenset[str]:
        """Layers of all arms."""
        return _needs(self.arms)

    @property
    def calls(self) -> str:
        """Those of the arms without their answers, plus one answer."""
        each = [arm.method.calls for arm in self.arms]
        if all(one.isdigit() for one in each):
            return str(1 + sum(int(one) - 1 for one in each))
        return f"1 + the calls of the retrievals of {', '.join(arm.name for arm in self.arms)}"

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Retrieve with every arm; evidence that several find belongs to the first of them."""
        require(index, "integrate", self.needs, models)
        found = map_in_order(
            lambda arm: with_budget(arm.method, min(self.max_tokens, arm.method.max_tokens))(
                question, index, models
            ),
            self.arms,
        )
        trace = (
            Step(
                name="arms",
                value=[
                    {"arm": arm.name, "evidence": len(one.evidence), "empty_because": one.empty_because}
                    for arm, one in zip(self.arms, found, strict=True)
                ],
            ),
            *(
                replace(step, name=f"{arm.name}: {step.name}")
                for arm, one in zip(self.arms, found, strict=True)
                for step in one.trace
            ),
        )
        listed = _without_repeats(self.arms, found)
        blocks = [Block(heading="", items=items, share=1 / len(self.arms)) for items in listed]
        if self.merge == "round-robin":
            by_key = {_key(item): item for items in listed for item in items}
            keys = round_robin([[_key(item) for item in items] for items in listed])
            blocks = [Block(heading="", items=tuple(by_key[key] for key in keys))]
        packed = pack(blocks, max_tokens=self.max_tokens)
        if not packed.evidence:
            reasons = [
                f"{arm.name}: {one.empty_because}"
                for arm, one in zip(self.arms, found, strict=True)
                if one.empty_because
            ]
            reason = "; ".join(reasons) or f"nothing fits the budget of {self.max_tokens} tokens"
            return nothing_found(question, "integrate", reason, index, trace)
        shown = [item.id for item in packed.evidence if item.kind == "chunk"]
        rest = round_robin([one.ranking for one in found])
        return retrieved(
            question,
            "integrate",
            packed,
            # Packed passages first, since the reader sees these; then the best of each arm in turn.
            ranking=[*shown, *rest],
            cuts=(*packed.cuts, *(cut for one in found for cut in one.cuts)),
            trace=trace,
            max_tokens=self.max_tokens,
        )


def select_rag_vs_graphrag() -> Select:
    """Return Selection with the two methods of the paper."""
    return Select(arms=(_RAG_PAPER, _GRAPH_PAPER))


def integrate_rag_vs_graphrag() -> Integrate:
    """Return Integration with the two methods of the paper."""
    return Integrate(arms=(replace(_RAG_PAPER, kind=""), replace(_GRAPH_PAPER, kind="")))


def select(router: Router, arms: Sequence[Arm]) -> Select:
    """Compose a method that sends each question to one of several, chosen by your own router."""
    return Select(arms=tuple(arms), router=router)


def integrate(arms: Sequence[Arm]) -> Integrate:
    """Compose a method that answers from everything that several methods find."""
    return Integrate(arms=tuple(arms))


def _needs(arms: Sequence[Arm]) -> frozenset[str]:
    return reduce(frozenset.union, (arm.method.needs for arm in arms), frozenset[str]())


def _key(item: Evidence) -> tuple[str, str]:
    return item.kind, item.id


def _without_repeats(arms: Sequence[Arm], found: Sequence[Retrieval]) -> list[tuple[Evidence, ...]]:
    """Return the evidence of each arm without what earlier arms found, the arm's name before each reason."""
    seen: dict[tuple[str, str], tuple[int, int]] = {}
    listed: list[list[Evidence]] = []
    for arm, one in zip(arms, found, strict=True):
        own: list[Evidence] = []
        for item in one.evidence:
            key = _key(item)
            if key in seen:
                i, j = seen[key]
                first = (*listed, own)[i][j]
                (*listed, own)[i][j] = replace(first, why=f"{first.why} | {arm.name}: {item.why}")
                continue
            seen[key] = (len(listed), len(own))
            own.append(replace(item, why=f"{arm.name}: {item.why}"))
        listed.append(own)
    return [tuple(own) for own in listed]
