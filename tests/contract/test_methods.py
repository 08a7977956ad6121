"""Every method in `METHODS` keeps to what all methods promise; and the check itself finds what is broken."""

from dataclasses import dataclass, fields, replace
from typing import ClassVar

import pytest

from polygraph.records import Evidence, Retrieval, Span
from polygraph.retrieve import METHODS
from polygraph.retrieve.methods.graphrag_global import GraphRAGGlobal
from polygraph.retrieve.methods.lexical import BM25
from polygraph.store.snapshot import Snapshot
from polygraph.testing import check_method
from polygraph.testing.check_retrieval import expected_calls
from polygraph.testing.small_indexes import HIDDEN, hashed_models, open_snapshot, small_indexes


def differs_in_numbers_only(name):
    """Whether a preset sets other numbers than its method, and nothing else: then no other code runs."""
    base = METHODS[name.partition(":")[0]]
    method = METHODS[name]
    if method is base or type(method) is not type(base):
        return False
    pairs = [(getattr(method, f.name), getattr(base, f.name)) for f in fields(base)]
    return all(type(a) is type(b) and type(a) in (int, float) for a, b in pairs if a != b)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if ":" in name else name for name in METHODS]
)
def test_every_method_keeps_to_the_contract(name):
    check_method(METHODS[name], quick=differs_in_numbers_only(name))


def test_small_batches_of_reports_mean_more_calls_and_nothing_else():
    seen = []

    def count(found):
        seen.append(expected_calls(GraphRAGGlobal(), found))
        return seen[-1]

    check_method(GraphRAGGlobal(batch_tokens=60), n_calls=count, quick=True)
    assert max(seen) > 2


# --- the check finds what is broken -----------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """BM25 with a fault."""

    needs: ClassVar[frozenset[str]] = frozenset({"chunks", "lexical"})
    calls: ClassVar[str] = "1"

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
            from polygraph.tasks.answers.answer import condense_question

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
        ("no spans", "has no spans"),
        ("wrong offsets", "lies outside of its chunk"),
        ("wrong numbers", "of the context is not evidence"),
        ("ranks twice", "twice"),
        ("ranks what is not there", "does not exist"),
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
class Costly(Broken):
    """Says what it costs by a formula that nobody knows."""

    calls: ClassVar[str] = "one or two"


@dataclass(frozen=True, slots=True, kw_only=True)
class Careless(Broken):
    """Does not look whether its layers are there."""

    needs: ClassVar[frozenset[str]] = frozenset({"chunks", "lexical", "reports"})


def test_the_check_finds_a_method_that_does_not_say_what_is_missing():
    with pytest.raises(AssertionError, match="no MissingLayer is raised"):
        check_method(Careless())


def test_a_formula_of_calls_needs_the_function_that_works_it_out():
    with pytest.raises(AssertionError, match="pass n_calls"):
        check_method(Costly(), quick=True)


def test_presets_that_set_numbers_only_are_checked_quickly_and_no_others():
    quick = {name for name in METHODS if differs_in_numbers_only(name)}
    assert {"naive:graft", "bm25:rograg", "hybrid:reranked", "graft:paper"} <= quick
    assert not quick & {
        "graph-cot:paper",
        "rq-rag:paper",
        "fg-rag:multi-hop",
        "graphrag-global:dynamic",
        "naive",
    }


def test_evidence_without_a_filter_reaches_every_document():
    # Guards the filter test: the secret must be found when nothing excludes it.
    models = hashed_models()
    with open_snapshot(small_indexes(models)["all"]) as index:
        for name in ("bm25", "naive", "graphrag-local", "graphrag-global"):
            found = METHODS[name](f"What is the {HIDDEN.title()}, and who knew of it?", index, models)
            assert isinstance(found.evidence[0], Evidence)
            assert HIDDEN in found.context.casefold(), name
