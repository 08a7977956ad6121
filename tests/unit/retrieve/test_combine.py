"""Selection and integration over any methods, and what they share."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from polygraph.errors import MissingLayer, UnusableReply
from polygraph.models import Calls, Models
from polygraph.models.providers.scripted import ScriptedChat
from polygraph.models.providers.static import HashEmbedder
from polygraph.records import Evidence, Retrieval, Span, Step
from polygraph.retrieve import METHODS
from polygraph.retrieve.base import Method
from polygraph.retrieve.evidence import chunk_numbers
from polygraph.retrieve.methods.combine import Arm, Integrate, Select, integrate, select
from polygraph.retrieve.overlap import overlap
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.questions.route import Route, parse_route, route_by_rules
from polygraph.testing import check_method, scripted_chat
from polygraph.testing.scripted_model import REPLIES
from polygraph.workspace.index import Index


@pytest.fixture(scope="module")
def folder(tmp_path_factory, write_files):
    base = tmp_path_factory.mktemp("combine")
    texts = {"a.txt": "Mara Quill keeps the Skerry Light.", "b.txt": "Old Tobin is master of the Halcyon."}
    with Index.open(base / "index", models=models(scripted_chat())) as made:
        made.add(write_files(base / "papers", texts))
    return base / "index"


@pytest.fixture
def index(folder):
    snapshot = Snapshot(folder)
    yield snapshot
    snapshot.close()


class Slow(HashEmbedder):
    """An embedder whose vectors are worth keeping."""

    instant = False


def models(chat, embedder=None):
    embedder = embedder or HashEmbedder()
    return Models(chat=chat, embedder=embedder, name_embedder=embedder, reranker=None, calls=Calls(None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """Finds what it is told to find."""

    needs: ClassVar[frozenset[str]] = frozenset({"chunks"})

    finds: tuple[str, ...] = ()
    calls: str = "1"
    max_tokens: int = 1_000

    def __call__(self, question, index, models):
        items = tuple(
            Evidence(
                kind="chunk",
                id=i,
                text=f"text of {i} " + "word " * 20,
                score=1.0,
                spans=(Span("d", i, 0, 1),),
                why="w",
            )
            for i in self.finds
        )
        return Retrieval(
            question=question,
            method="fixed",
            evidence=items,
            context="x" if items else "",
            ranking=(*self.finds, "z:0"),
            trace=(Step(name="step", value=1),),
            empty_because="" if items else "told so",
        )


def arms(*finds):
    return [
        Arm(name=name, method=Fixed(finds=tuple(f"{c}:0" for c in found)))
        for name, found in zip("xy", finds, strict=True)
    ]


# --- selection ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "arm"),
    [("When was the light lit?", "hybrid"), ("Did Quill live longer than Tobin?", "graphrag-local")],
)
def test_the_question_decides_the_arm(index, question, arm):
    for chat in (None, scripted_chat()):
        found = Select()(question, index, models(chat))
        assert found.method == "select"
        assert found.trace[0].name == "route"
        assert found.trace[0].value["arm"] == arm
        assert found.trace[1:]  # those of the arm


def test_a_reply_that_cannot_be_read_counts_as_fact_and_is_recorded(index):
    chat = ScriptedChat(replies={**REPLIES, "route": lambda request: "It is both fact and reasoning."})
    given = models(chat)
    found = Select()("Did Quill live longer than Tobin?", index, given)
    assert found.trace[0].value["kind"] == "fact"
    assert found.trace[0].value["parsed"] is False
    assert "could not be read" in found.trace[0].value["why"]
    assert [q.stage for q in given.calls.quarantined()] == ["route"]


def test_a_custom_router_and_custom_arms(index):
    mine = select(
        lambda question, models: Route(kind="reasoning", why="always"),
        [
            Arm(kind="fact", name="bm25", method=METHODS["bm25"]),
            Arm(kind="reasoning", name="naive", method=METHODS["naive"]),
        ],
    )
    assert mine("Who?", index, models(None)).trace[0].value == {
        "kind": "reasoning", "why": "always", "parsed": True, "arm": "naive",
    }  # fmt: skip
    assert isinstance(mine, Method)
    check_method(mine, n_calls=lambda found: 1)  # this router asks nobody


def test_labels_are_read_strictly():
    assert parse_route("Reasoning.") == "reasoning"
    assert parse_route("<think>fact?</think>\nfact") == "fact"
    for bad in ("", "both", "fact or reasoning", "facts"):
        with pytest.raises(UnusableReply):
            parse_route(bad)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who made the mirror?", "fact"),
        ("Who built the barque that broke up on the Harrow?", "reasoning"),
        ("Which cost more, the mirror of 1868 or the mirror of 1880?", "reasoning"),
        ("Where was the place of death of the director of the film?", "reasoning"),
        ("Wer hat den Leuchtturm gebaut?", "fact"),
        ("x" * 100_000, "fact"),
        ("the a " * 20_000, "fact"),
    ],
)
def test_rules_classify_a_question_without_a_model(question, kind):
    assert route_by_rules(question).kind == kind


def test_needs_are_those_of_all_arms_and_a_missing_one_is_named(index):
    assert Select().needs == METHODS["hybrid"].needs | METHODS["graphrag-local"].needs
    index.versions = {name: v for name, v in index.versions.items() if name != "reports"}
    with pytest.raises(MissingLayer, match=r"select needs reports.*--for select"):
        Select()("Who?", index, models(None))


def test_an_index_is_built_for_the_arms(tmp_path, write_files):
    papers = write_files(tmp_path / "papers", {"a.txt": "Mara Quill keeps the Skerry Light."})
    with Index.open(tmp_path / "index", models=models(None)) as made:
        made.add(papers, methods=["select"])
        assert Select().needs <= made.snapshot().layers
        assert made.ask("Who keeps the Skerry Light?", "select").method == "select"


def test_calls_follow_from_the_arms():
    assert Select().calls == "2"
    assert Integrate().calls == "1"
    one = Arm(kind="fact", name="x", method=Fixed(calls="at most 25"))
    assert Select(arms=(one, Arm(kind="reasoning", name="y", method=Fixed()))).calls == "1 + 1 or at most 25"
    assert Integrate(arms=(one,)).calls == "1 + the calls of the retrievals of x"
    assert (
        Integrate(arms=(Arm(name="x", method=Fixed(calls="2")), Arm(name="y", method=Fixed(calls="3")))).calls
        == "4"
    )


# --- integration --------------------------------------------------------------------------------------


def test_contexts_are_concatenated_and_shared_evidence_belongs_to_the_first_arm(index):
    found = integrate(arms("ab", "bc"))("Who?", index, models(None))
    assert [e.id for e in found.evidence] == ["a:0", "b:0", "c:0"]
    assert [e.why for e in found.evidence] == ["x: w", "x: w | y: w", "y: w"]
    assert found.ranking == ("a:0", "b:0", "c:0", "z:0")
    assert [s.name for s in found.trace] == ["arms", "x: step", "y: step"]
    assert found.context.index("[3] text of c:0") > found.context.index("[1] text of a:0")


def test_round_robin_takes_the_best_of_each(index):
    found = Integrate(arms=tuple(arms("abc", "cde")), merge="round-robin")("Who?", index, models(None))
    assert [e.id for e in found.evidence] == ["a:0", "d:0", "b:0", "e:0", "c:0"]


def test_the_first_arm_leaves_the_second_its_share_of_the_budget(index):
    # Each piece takes about 30 tokens: of 130, half are for each, and 2 fit there.
    found = Integrate(arms=tuple(arms("abcd", "efgh")), max_tokens=130)("Who?", index, models(None))
    assert [e.id for e in found.evidence] == ["a:0", "b:0", "e:0", "f:0"]
    assert [cut.n_items for cut in found.cuts] == [2, 2]


def test_one_empty_arm_is_reported_and_two_are_a_refusal_with_both_reasons(index):
    found = integrate(arms("", "a"))("Who?", index, models(None))
    assert [e.id for e in found.evidence] == ["a:0"]
    assert found.trace[0].value[0] == {"arm": "x", "evidence": 0, "empty_because": "told so"}
    found = integrate(arms("", ""))("Who?", index, models(None))
    assert found.empty_because == "x: told so; y: told so"


# --- side by side -------------------------------------------------------------------------------------


def test_overlap_lists_shared_passages_first(index):
    x, y = (arm.method("Who?", index, models(None)) for arm in arms("ab", "bc"))
    assert chunk_numbers(x.evidence) == {"a:0": 1, "b:0": 2}
    assert [(h.chunk, h.positions, h.n) for h in overlap([x, y])] == [
        ("b:0", (2, 1), 2), ("a:0", (1, None), 1), ("c:0", (None, 2), 1),
    ]  # fmt: skip


def test_shared_requests_are_made_once_and_the_ledger_keeps_the_methods_apart(folder):
    given = models(scripted_chat(), Slow())
    with Index.open(folder, models=given) as opened:
        names = ["lightrag-local", "lightrag-hybrid", "naive", "naive:graft", "integrate"]
        found = opened.compare("Who keeps the Skerry Light?", names)
        ledger, questions = given.calls.ledger(), given.calls.questions()
    asked = [row for row in ledger if row.stage == "keywords"]
    assert [(row.method, row.ok, row.cached) for row in asked] == [
        ("lightrag-hybrid", 0, 1),
        ("lightrag-local", 1, 0),
    ]
    assert found[0].usage.cached_calls == 0
    assert found[1].usage.cached_calls >= 1
    # One vector of the question for all, and those of its keywords.
    vectors = {row.stage: row for row in ledger if row.model == HashEmbedder().name}
    assert vectors["question"].cached >= 4
    assert {row.method for row in ledger if row.stage == "answer"} == set(names)
    for name, one in zip(names, found, strict=True):
        asked_of = questions[name]
        assert (asked_of.n, asked_of.calls) == (1, one.usage.calls + one.usage.cached_calls)
    assert questions["lightrag-hybrid"].calls == 2
    assert questions["naive"].calls == 1


def test_fast_vectors_and_scores_are_shared_only_within_a_comparison():
    class Counting(HashEmbedder):
        n = 0

        def embed(self, texts, kind):
            Counting.n += len(texts)
            return super().embed(texts, kind)

        def score(self, question, texts):
            Counting.n += len(texts)
            return [float(len(t)) for t in texts]

    counting, calls = Counting(), Calls(None)
    with calls.question_cache():
        first = calls.embed(counting, ["a", "b", "a"], "query", stage="question")
        again = calls.embed(counting, ["b"], "query", stage="question")
        assert (first[1] == again[0]).all()
        assert Counting.n == 2
        assert calls.embed(counting, [], "query", stage="question").shape == (0, counting.dimension)
    calls.embed(counting, ["a"], "query", stage="question")
    assert Counting.n == 3


def test_scores_of_a_reranker_are_shared_inside_a_comparison():
    class Lengths:
        name = "lengths"
        local = True
        seen: ClassVar[list[str]] = []

        def score(self, question, texts):
            Lengths.seen += texts
            return np.array([float(len(t)) for t in texts])

    calls = Calls(None)
    with calls.question_cache():
        assert calls.score(Lengths(), "q", ["a", "bb", "a"], stage="rerank").tolist() == [1.0, 2.0, 1.0]
        assert calls.score(Lengths(), "q", ["bb", "ccc"], stage="rerank").tolist() == [2.0, 3.0]
        assert calls.score(Lengths(), "p", ["bb"], stage="rerank").tolist() == [2.0]
    assert Lengths.seen == ["a", "bb", "ccc", "bb"]
    (row,) = calls.ledger()
    assert (row.ok, row.cached) == (3, 1)
