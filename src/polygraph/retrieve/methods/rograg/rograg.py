"""ROGRAG: retrieval by logic form if it can be verified, or else dual-level retrieval; off topic it refuses.

Wang et al. (2025), arXiv:2503.06474, figure 2 and algorithm 4. Follows the published code; the paper's algorithm 1
describes no step of it. Where the code chats freely without evidence, this implementation refuses and says why.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeAlias, cast

from polygraph.models import Models
from polygraph.records import Json, Retrieval, Step
from polygraph.retrieve.base import require
from polygraph.retrieve.evidence import nothing_found, passages_of
from polygraph.retrieve.methods.rograg.dual import NEEDS as DUAL_NEEDS
from polygraph.retrieve.methods.rograg.dual import Order, RogragDual
from polygraph.retrieve.methods.rograg.logic_form import NEEDS as LOGIC_NEEDS
from polygraph.retrieve.methods.rograg.logic_form import RogragLogic, plan_step
from polygraph.retrieve.relevance import relevance
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.answers.answer import write_answer
from polygraph.tasks.evidence.verify import answer_holds, evidence_suffices
from polygraph.tasks.offline.question_scope import is_global_question
from polygraph.tasks.questions.intent import Intent, classify_intent
from polygraph.tasks.questions.keywords import Keywords, question_keywords
from polygraph.tasks.questions.plan import Plan

Verify: TypeAlias = Literal["pre", "post", "none"]
_REASONS: dict[Intent, str] = {
    "greeting": "it is a greeting and asks nothing of the documents",
    "identity": "it asks about the system itself, which the documents do not describe",
    "undefined": "no question can be made out",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rograg:
    """Classify the question, refuse it if it is off topic, try the logic form and verify it, else go dual-level."""

    needs: ClassVar[frozenset[str]] = LOGIC_NEEDS | DUAL_NEEDS
    calls: ClassVar[str] = (
        "5 + s, for s steps that ask the model; 6 + s if the check fails, one of them cached"
    )

    verify: Verify = "pre"
    """`pre`: check the evidence before answering (0.75); `post`: check the finished answer (0.72; table 7); `none`."""
    intents: bool = True
    """Greetings, questions about the system and fragments get no retrieval (figure 2)."""
    min_characters: int = 2
    """A question with fewer letters and digits gets no retrieval (code: 2 characters)."""
    refuse_below: float = 0.18
    """Relevance below which a question is refused (code's sample: 0.1808). Fit it with `relevance.calibrate`."""
    expand: bool = True
    """As for `rograg-dual`."""
    seed_names: bool = True
    """As for `rograg-dual`."""
    chunk_rerank: int = 10
    """As `rerank` of `rograg-dual`."""
    min_facts: int = 3
    """As for `rograg-logic`."""
    whole_facts: bool = True
    """As for `rograg-logic`."""
    order: Order = "statements"
    """As for `rograg-dual`."""
    logic_tokens: int = 6_000
    """Budget of the context of a logic form (ours)."""
    max_tokens: int = 28_000
    """Largest budget of a context (code: 28,000 for dual-level)."""

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Retrieve for the question; every ranking breaks ties by row."""
        require(index, "rograg", self.needs, models)
        trace: list[Step] = []
        # 1. Text that is too short or no question gets no retrieval.
        n = sum(character.isalnum() for character in question)
        if n < self.min_characters:
            trace.append(Step(name="intent", value="too short"))
            reason = f"the question has {n} letters and digits; at least {self.min_characters} are needed"
            return nothing_found(question, "rograg", reason, index, tuple(trace))
        logic = RogragLogic(
            min_facts=self.min_facts,
            whole_facts=self.whole_facts,
            max_tokens=min(self.logic_tokens, self.max_tokens),
        )
        intent, keywords, plan = self._understand(question, logic, index, models)
        if intent is not None:
            trace.append(Step(name="intent", value=intent))
        words: Json = {"details": list(keywords.low), "themes": list(keywords.high)}
        trace.append(Step(name="keywords", value=words))
        if intent is not None and (reason := _REASONS.get(intent, "")):
            return nothing_found(question, "rograg", reason, index, (*trace, plan_step(plan)))
        # 2. Refuse questions that the graph has nothing about.
        near = relevance(keywords, index, models)
        measured: Json = {"score": near.score, "entity": near.entity, "relation": near.relation}
        trace.append(Step(name="relevance", value=measured))
        # A question about the whole collection has no entity that could be near.
        if near.score < self.refuse_below and not is_global_question(question):
            score = f"relevance {near.score:.3f}, below {self.refuse_below:g}"
            reason = f"nothing in the graph is near the question ({score})"
            return nothing_found(question, "rograg", reason, index, (*trace, plan_step(plan)))
        # 3. Logic form, if its evidence or answer passes the check.
        found = logic.retrieve(question, index, models, method="rograg", made=plan)
        trace += found.trace
        verified, draft, calls = self._checked(question, found, index, models)
        trace.append(Step(name="verified", value={"check": self.verify, "holds": verified, "calls": calls}))
        if verified:
            return replace(found, draft=draft, trace=tuple(trace))
        # 4. Otherwise dual-level retrieval. It asks for the keywords again, which are cached.
        dual = RogragDual(
            expand=self.expand,
            seed_names=self.seed_names,
            order=self.order,
            rerank=self.chunk_rerank,
            max_tokens=self.max_tokens,
        )
        again = question_keywords(question, models, method="rograg")
        found = dual.retrieve(question, again, index, models)
        dual_trace = (Step(name=f"dual-level: {step.name}", value=step.value) for step in found.trace)
        return replace(found, method="rograg", trace=(*trace, *dual_trace))

    def _understand(
        self, question: str, logic: RogragLogic, index: Snapshot, models: Models
    ) -> tuple[Intent | None, Keywords, Plan]:
        """Classify the question, ask for its keywords and plan it, in one round of calls; intent None if not asked for.

        None of the three needs another's reply. The plan of what turns out to be no question is lost, which is one call
        in rare cases against two rounds of waiting in all others.
        """
        steps: list[Callable[[], Intent | Keywords | Plan]] = [
            lambda: question_keywords(question, models, method="rograg"),
            lambda: logic.plan(question, index, models, method="rograg"),
        ]
        if self.intents:
            steps.append(lambda: classify_intent(question, models, method="rograg"))
        keywords, plan, *intents = models.calls.map(lambda step: step(), steps)
        return (
            cast(Intent, intents[0]) if intents else None,
            cast(Keywords, keywords),
            cast(Plan, plan),
        )

    def _checked(
        self, question: str, found: Retrieval, index: Snapshot, models: Models
    ) -> tuple[bool, str, int]:
        """Check a logic form; return the verdict, the answer if one was written, and the number of calls."""
        if not found.evidence:
            return False, "", 0
        if self.verify == "none":
            return True, "", 0
        if self.verify == "pre" or models.chat is None:
            numbers = {item.id: n for n, item in enumerate(found.evidence, 1) if item.kind == "chunk"}
            passages = passages_of(numbers, index)
            holds = evidence_suffices(question, found.context, passages, models, method="rograg")
            return holds, "", int(models.chat is not None)
        reply = write_answer(question, found.context, models, models.chat, method="rograg")
        return answer_holds(question, found.context, reply, models, method="rograg"), reply, 2
