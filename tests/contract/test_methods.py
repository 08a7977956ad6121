"""Every method in `METHODS` keeps to what all methods promise; and the check itself finds what is broken."""

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from polygraph.records import Evidence, Retrieval, Span
from polygraph.retrieve import METHODS
from polygraph.retrieve.fgrag import FGRAG
from polygraph.retrieve.graphcot import GraphCoT
from polygraph.retrieve.graphrag_drift import GraphRAGDrift
from polygraph.retrieve.graphrag_global import GraphRAGGlobal
from polygraph.retrieve.lexical import BM25
from polygraph.retrieve.logicform import RogragLogic
from polygraph.retrieve.rograg import Rograg
from polygraph.retrieve.rqrag import RQRAG
from polygraph.store.layers import Snapshot
from polygraph.testing import check_method


def calls_of_global(found: Retrieval) -> int:
    """One for each rating, one for each batch of reports, one for the answer."""
    steps = {step.name: step.value for step in found.trace}
    return sum(n_ratings for *_, n_ratings in steps.get("rated", ())) + steps["batches"] + 1


def calls_of_fg_rag(found: Retrieval) -> int:
    """One for the entities, two for each entity about which the graph says something, one for the answer."""
    steps = {step.name: step.value for step in found.trace}
    return 1 + len(steps.get("questions", ())) + len(steps.get("summaries", ())) + 1


def calls_of_drift(found: Retrieval) -> int:
    """One for the made-up answer, one for each fold of reports and each question followed, one for the answer."""
    steps = {step.name: step.value for step in found.trace}
    followed = sum(len(value) for name, value in steps.items() if name.startswith("round"))
    return ("hyde" in steps) + len(steps["primer"]) + followed + 1


def calls_until_the_draft(found: Retrieval) -> int:
    """What the trace says of calls; the last of them brought the answer, or else one more does."""
    (n,) = [step.value for step in found.trace if step.name == "calls"]
    return n + (not found.draft)


def calls_of_logic(found: Retrieval) -> int:
    """Plans, steps that asked the model, and the answer."""
    steps = {step.name: step.value for step in found.trace}
    return steps["plan"]["calls"] + sum(step["calls"] for step in steps["steps"]) + bool(found.evidence)


def calls_of_rograg(found: Retrieval) -> int:
    """Intent, keywords, logic form, check, answer; after a failed check the keywords once more."""
    steps = {step.name: step.value for step in found.trace}
    n = (steps.get("intent") in ("question", "greeting", "identity", "undefined")) + ("keywords" in steps)
    if "plan" not in steps:
        return n
    n += calls_of_logic(found) - bool(found.evidence)
    n += steps["verified"]["calls"] + (not steps["verified"]["holds"])
    return n + (bool(found.evidence) and not found.draft)


N_CALLS = {
    RogragLogic: calls_of_logic,
    Rograg: calls_of_rograg,
    GraphRAGGlobal: calls_of_global,
    GraphRAGDrift: calls_of_drift,
    FGRAG: calls_of_fg_rag,
    GraphCoT: calls_until_the_draft,
    RQRAG: calls_until_the_draft,
}
"""How many calls a retrieval and its answer made, by the formula of METHODS, for methods where it is not a number."""


@pytest.mark.parametrize("name", METHODS)
def test_every_method_keeps_to_the_contract(name):
    method = METHODS[name]
    check_method(method, n_calls=N_CALLS.get(type(method)))


def test_small_batches_of_reports_mean_more_calls_and_nothing_else():
    seen = []

    def count(found):
        seen.append(calls_of_global(found))
        return seen[-1]

    check_method(GraphRAGGlobal(batch_tokens=60), n_calls=count)
    assert max(seen) > 2


# --- the check finds what is broken -----------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """BM25 with a fault."""

    needs: ClassVar[frozenset[str]] = frozenset({"chunks", "lexical"})
    source: ClassVar[str] = "a test"
    calls: ClassVar[str] = "1"
    summary: ClassVar[str] = "none"

    fault: str = ""
    max_tokens: int = 6_000

    def __call__(self, question, index, models) -> Retrieval:
        if self.fault == "needs nothing":
            index = Snapshot(index.folder)
        if self.fault == "ignores the filter":
            index = Snapshot(index.folder)
        budget = 10_000 if self.fault == "ignores the budget" else self.max_tokens
        found = BM25(max_tokens=budget)(question, index, models)
        if not found.evidence:
            return replace(found, empty_because="") if self.fault == "says nothing" else found
        first, rest = found.evidence[0], found.evidence[1:]
        if self.fault == "no spans":
            return replace(found, evidence=(replace(first, spans=()), *rest))
        if self.fault == "wrong offsets":
            span = first.spans[0]
            moved = Span(span.document, span.chunk, span.start, span.end + 10_000)
            return replace(found, evidence=(replace(first, spans=(moved,)), *rest))
        if self.fault == "wrong numbers":
            return replace(found, evidence=(*rest, first)) if rest else found
        if self.fault == "ranks twice":
            return replace(found, ranking=(*found.ranking, found.ranking[0]))
        if self.fault == "ranks what is not there":
            return replace(found, ranking=(*found.ranking, "nowhere:0"))
        if self.fault == "random":
            return replace(found, n_tokens=found.n_tokens - next(_COUNTER))
        if self.fault == "calls":
            from polygraph.tasks.answer import condense_question

            if models.chat:
                condense_question(question, [("a", "b")], models, models.chat)
        if self.fault == "another question":
            return replace(found, question="something else")
        return found


_COUNTER = iter(range(1_000_000))


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("ignores the filter", "excluded document"),
        ("ignores the budget", "n_tokens is"),
        ("says nothing", "empty_because"),
        ("no spans", "comes from nowhere"),
        ("wrong offsets", "does not lie in its chunk"),
        ("wrong numbers", "of the context is not evidence"),
        ("ranks twice", "twice"),
        ("ranks what is not there", "not there"),
        ("random", "second run"),
        ("calls", "calls"),
        ("another question", "another question"),
    ],
)
def test_the_check_finds_a_method_that_breaks_its_promise(fault, message):
    with pytest.raises(AssertionError, match=message):
        check_method(Broken(fault=fault))


def test_the_check_passes_a_sound_method_of_ones_own():
    check_method(Broken())


@dataclass(frozen=True, slots=True, kw_only=True)
class Greedy(Broken):
    """Declares less than it reads."""

    needs: ClassVar[frozenset[str]] = frozenset({"chunks"})


def test_the_check_finds_a_layer_that_is_read_and_not_declared():
    with pytest.raises(AssertionError, match="does not name"):
        check_method(Greedy())


@dataclass(frozen=True, slots=True, kw_only=True)
class Careless(Broken):
    """Does not look whether its layers are there."""

    needs: ClassVar[frozenset[str]] = frozenset({"chunks", "lexical", "reports"})


def test_the_check_finds_a_method_that_does_not_say_what_is_missing():
    with pytest.raises(AssertionError, match="no MissingLayer is raised"):
        check_method(Careless())


def test_a_formula_of_calls_needs_the_function_that_works_it_out():
    with pytest.raises(AssertionError, match="pass n_calls"):
        check_method(GraphRAGGlobal())


def test_evidence_without_a_filter_reaches_every_document():
    # Guards the filter test: the secret must be found when nothing excludes it.
    from polygraph.testing.methods import HIDDEN, _hashed, _places, _snapshot

    models = _hashed()
    places = _places(models)
    with _snapshot(places["all"]) as index:
        for name in ("bm25", "naive", "graphrag-local", "graphrag-global"):
            found = METHODS[name](f"What is the {HIDDEN.title()}, and who knew of it?", index, models)
            assert isinstance(found.evidence[0], Evidence)
            assert HIDDEN in found.context.casefold(), name
