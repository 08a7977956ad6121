"""Retrieval measured on a small index whose rankings can be foreseen."""

import json
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from polygraph import Index
from polygraph.config import Settings
from polygraph.errors import BadInput, BudgetReached, MissingLayer, UnknownMethod, UnusableReply, WorkFailed
from polygraph.evaluate.metrics.graph_coverage import answer_coverage
from polygraph.evaluate.metrics.relevance import resolve_gold
from polygraph.evaluate.questions.file import GoldPassage, Question
from polygraph.evaluate.runs import provenance as grounds
from polygraph.evaluate.statistics.compare import compare_methods
from polygraph.retrieve.base import require
from polygraph.retrieve.methods.lexical import BM25
from polygraph.retrieve.steps import pack_chunks
from polygraph.store.vectors import Hit

SETTINGS = Settings(embedder="hash", name_embedder="hash", reranker="none", chunk_tokens=50)
WORDS = ["harbour", "furnace", "orchard", "lantern", "quarry", "violin"]
CORPUS = [
    {"id": f"d{n}", "title": f"Paper {n}", "text": f"The {word} was sold to keeper number {n}. " * 20}
    for n, word in enumerate(WORDS)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("evaluate")
    corpus = place / "corpus.jsonl"
    corpus.write_text("\n".join(map(json.dumps, CORPUS)), encoding="utf-8")
    with Index.open(place / "x.index", settings=SETTINGS) as index:
        index.add(corpus, methods=["bm25", "naive"])
    return place / "x.index"


@pytest.fixture
def index(folder):
    with Index.open(folder, settings=SETTINGS) as opened:
        yield opened


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """Ranks documents in a fixed order, whatever the question."""

    needs: ClassVar[frozenset[str]] = frozenset({"chunks"})
    calls: ClassVar[str] = "1"
    order: tuple[str, ...] = ()
    max_tokens: int = 1000
    fails_on: str = ""

    def __call__(self, question, index, models):
        require(index, "fixed", self.needs, models)
        if self.fails_on and self.fails_on in question:
            raise UnusableReply("nothing of use", "raw")
        numbers = index.store.documents.chunk_rows()
        hits = [Hit(n, 1.0) for d in self.order for chunk, n in numbers.items() if chunk.startswith(f"{d}:")]
        return pack_chunks(question, "fixed", index, hits, [""] * len(hits), k=3, max_tokens=self.max_tokens)


def question(n, evidence, **more):
    return Question(id=f"q{n}", question=f"Question {n}?", evidence=tuple(evidence), **more)


def scores(report, method):
    return report.as_dict()["methods"][method]


def test_metrics_are_those_worked_out_by_hand(index):
    asked = [question(1, ["d0", "d2"]), question(2, ["d5"])]
    found = index.evaluate_retrieval(asked, {"fixed": Fixed(order=("d0", "d1", "d2", "d3"))}, ks=[1, 2, 3])
    got = scores(found, "fixed")
    # First question: ranks 1 and 3; second: not found.
    assert got["n"] == 2
    assert (got["recall@1"], got["recall@2"], got["recall@3"]) == (0.25, 0.25, 0.5)
    assert (got["all@2"], got["all@3"], got["hit@1"]) == (0, 0.5, 0.5)
    assert got["mrr"] == 0.5
    assert got["ndcg@3"] == pytest.approx(0.5 * (1 + 1 / 2) / (1 + 1 / 1.58496), rel=1e-5)
    low, high = got["intervals"]["recall@3"]
    assert 0 <= low <= 0.5 <= high <= 1


def test_a_ranking_of_chunks_is_read_as_one_of_documents_and_the_budget_cuts_nothing_from_it(index):
    every = tuple(f"d{n}" for n in range(6))
    n_chunks = len(index.snapshot().chunks_of("d0"))
    assert n_chunks > 1  # else the test would show nothing
    found = index.evaluate_retrieval([question(1, ["d5"])], {"m": Fixed(order=every)}, max_tokens=40)
    assert scores(found, "m")["mrr"] == pytest.approx(1 / 6)


def test_gold_passages_are_found_in_whatever_chunks_they_lie(index):
    text = CORPUS[1]["text"]
    place = GoldPassage(document="d1", start=text.index("furnace"), end=text.index("furnace") + 7)
    words = GoldPassage(document="d1", text="furnace  was\nsold")
    asked = replace(question(1, []), passages=(place, words), chunks=("d3:0",))
    gold = resolve_gold(asked, index.snapshot())
    assert gold.chunks[1] == gold.chunks[2] == {"d1:0"}
    got = scores(index.evaluate_retrieval([asked], {"m": Fixed(order=("d1",))}), "m")
    assert got["chunk_recall@1"] == pytest.approx(2 / 3)
    assert "recall@1" not in got
    lost = replace(question(2, []), passages=(GoldPassage(document="d1", text="not there"),))
    report = index.evaluate_retrieval([asked, lost], {"m": Fixed(order=("d1",))})
    assert any("gold passages that are not in the index" in note for note in report.notes)


def test_answers_are_looked_for_as_whole_words_and_yes_is_not(index):
    asked = [
        question(1, [], answers=("The Lantern",)),
        question(2, [], answers=("lant",)),
        question(3, [], answers=("yes",)),
        question(4, [], answers=("B",)),
    ]
    found = index.evaluate_retrieval(asked, {"m": Fixed(order=("d3",))})
    got = scores(found, "m")
    assert (got["n"], got["answer_hit@1"]) == (2, 0.5)
    assert found.as_dict()["questions"]["without_gold"] == 2


def test_each_of_several_documents_can_be_enough(index):
    asked = question(1, ["d4", "d0", "d5"], evidence_rule="any")
    got = scores(index.evaluate_retrieval([asked], {"m": Fixed(order=("d1", "d0"))}), "m")
    assert (got["recall@2"], got["all@2"], got["mrr"]) == (1, 1, 0.5)


def test_what_cannot_be_measured_is_counted_and_not_asked(index):
    asked = [
        question(1, ["d0"]),
        question(2, [], null=True, type="null"),
        question(3, []),
        question(4, ["d1"], evidence_complete=False),
        question(5, ["d1", "gone"]),
    ]
    found = index.evaluate_retrieval(asked, {"m": Fixed(order=("d0", "d1"))})
    counted = found.as_dict()["questions"]
    assert (counted["total"], counted["asked"], counted["null"]) == (5, 2, 1)
    assert (counted["incomplete"], counted["without_gold"]) == (1, 2)
    assert scores(found, "m")["recall@5"] == 0.75
    notes = "\n".join(found.notes)
    for part in (
        "null questions, not asked since the corpus does not hold their answer: 1",
        "questions without gold evidence or an answer to look for, not asked: 2",
        "questions of which some gold document is not in the corpus, not measured by document: 1",
        "of 3 (the first: gone): 1",
    ):
        assert part in notes


def test_gold_of_another_index_is_an_error_that_shows_both_ids(index):
    with pytest.raises(BadInput, match=r"'other'.*'d0'"):
        index.evaluate_retrieval([question(1, ["other"])], ["bm25"])
    with pytest.raises(BadInput, match="none of the 1 questions has gold"):
        index.evaluate_retrieval([question(1, [])], ["bm25"])


def test_a_missing_layer_is_named_for_all_methods_before_anything_is_asked(index):
    with pytest.raises(MissingLayer, match="--for graphrag-local,graphrag-global") as caught:
        index.evaluate_retrieval([question(1, ["d0"])], ["bm25", "graphrag-local", "graphrag-global"])
    assert "reports" in caught.value.missing
    with pytest.raises(UnknownMethod):
        index.evaluate_retrieval([question(1, ["d0"])], ["bm52"])


def test_a_filter_holds_for_every_question_and_hidden_gold_is_said(index):
    found = index.evaluate_retrieval(
        [question(1, ["d0"]), question(2, ["d1"])], {"bm25": BM25()}, where={"title": "Paper 0"}
    )
    assert any(
        note == "gold documents outside the filter, which count as not found: 1" for note in found.notes
    )


def test_types_are_shown_apart(index):
    asked = [question(n, [f"d{n % 2}"], type="even" if n % 2 == 0 else "odd") for n in range(6)]
    got = scores(index.evaluate_retrieval(asked, {"m": Fixed(order=("d0",))}), "m")
    assert {k: (v["n"], v["hit@1"]) for k, v in got["by_type"].items()} == {"even": (3, 1.0), "odd": (3, 0.0)}


# --- comparison -------------------------------------------------------------------------------------------


def many(n=60):
    return [question(i, [f"d{i % 6}"]) for i in range(n)]


def test_a_difference_that_is_there_is_said_and_one_that_is_not_is_not(index):
    methods = {
        "one": Fixed(order=("d0", "d1", "d2")),
        "same": Fixed(order=("d0", "d1", "d2"), max_tokens=999),
        "none": Fixed(order=()),
    }
    found = index.evaluate_retrieval(many(), methods)
    assert found.conclusions[0].startswith("one and same have the highest recall@5: 0.500")
    assert any("one and same have the same recall@5 on every question" in s for s in found.conclusions)
    assert any(s.startswith("one finds more than none: +0.500") for s in found.conclusions)
    by_pair = {(c.better, c.worse): c for c in found.comparisons}
    assert by_pair["one", "same"].p_holm == 1.0
    assert by_pair["one", "none"].wins == 30
    assert by_pair["one", "none"].p_holm < 0.001


def test_a_large_difference_is_told_however_many_methods_there_are():
    # 528 pairs: with as many sign patterns as for one pair, no corrected p could be below 0.05.
    values = {f"m{n}": {f"q{i}": float(n == 0) for i in range(18)} for n in range(33)}
    found = compare_methods(values, np.random.default_rng(0))
    assert len(found) == 528
    assert {c.worse for c in found if c.significant and c.better == "m0"} == set(values) - {"m0"}
    assert sum(c.significant for c in found) == 32


def test_of_many_methods_the_report_says_what_the_correction_hides(index):
    few = index.evaluate_retrieval(many(40), {f"m{n}": Fixed(order=("d0",)) for n in range(5)})
    assert not any("p is corrected" in note for note in few.notes)
    six = index.evaluate_retrieval(many(40), {f"m{n}": Fixed(order=("d0",)) for n in range(6)})
    assert any("p is corrected for 15 comparisons" in note for note in six.notes)


def test_gold_that_no_method_finds_is_questioned(index):
    asked = [question(0, ["d0"], facts=("The harbour was sold to nobody",))]
    found = index.evaluate_retrieval(asked, ["bm25"])
    assert [note for note in found.notes if note.startswith("no method found any gold fact: look whether")]
    assert not any("gold document" in note for note in found.notes)


def test_a_method_that_finds_nothing_is_named_beside_its_zeros(index):
    found = index.evaluate_retrieval(many(40), {"some": Fixed(order=("d0",)), "empty": Fixed()})
    assert "questions for which empty found nothing: 40" in found.notes
    assert not any("some found nothing" in note for note in found.notes)


def test_a_sample_is_drawn_from_the_questions_that_have_gold_for_the_metric(index):
    answers = [Question(id=f"a{n}", question="Who?", answers=("keeper",)) for n in range(60)]
    asked = [*answers, *many(6)]
    found = index.evaluate_retrieval(asked, ["bm25"], metric="recall@5", limit=5)
    assert scores(found, "bm25")["n_by_unit"] == {"document": 5}
    # Without a metric it is drawn from all.
    assert "answer" in scores(index.evaluate_retrieval(asked, ["bm25"], limit=5), "bm25")["n_by_unit"]


def test_what_only_one_method_finds_and_what_a_router_could_gain_is_said(index):
    methods = {"one": Fixed(order=("d0", "d1")), "other": Fixed(order=("d1", "d2", "d3"))}
    found = index.evaluate_retrieval(many(), methods)
    # Of six documents, ten questions each: one finds 0 and 1, the other 1, 2 and 3.
    (pair,) = found.as_dict()["confusions"]
    assert pair == {"a": "one", "b": "other", "both": 10, "a_only": 10, "b_only": 20, "neither": 20}
    assert found.router is not None
    assert (found.router.best, found.router.mean) == ("other", pytest.approx(4 / 6))
    assert found.router.gain == pytest.approx(1 / 6)
    assert any("a router that always knew the best method would reach 0.667" in c for c in found.conclusions)
    alone = index.evaluate_retrieval(many(), {"one": methods["one"]})
    assert alone.router is None
    assert alone.confusions == {}


def test_few_questions_cannot_tell_and_the_report_says_how_many_could(index):
    methods = {"a": Fixed(order=("d0", "d1", "d2")), "b": Fixed(order=("d3", "d4"))}
    found = index.evaluate_retrieval(many(12), methods)
    text = "\n".join(found.conclusions)
    assert "no difference found between a and b" in text
    assert "questions are needed" in text
    assert any("fewer than 30 questions" in note for note in found.notes)


def test_the_same_seed_gives_the_same_report_but_for_time(index):
    def run(seed):
        found = index.evaluate_retrieval(many(), ["bm25", "naive"], seed=seed, limit=20).as_dict()
        return {
            "intervals": {name: m["intervals"] for name, m in found["methods"].items()},
            "p": [c["p_holm"] for c in found["comparisons"]],
            "n": [m["n"] for m in found["methods"].values()],
        }

    assert run(1) == run(1)
    assert run(1) != run(2)
    assert run(1)["n"] == [20, 20]


def test_the_metric_can_be_chosen_and_one_that_is_not_measured_is_named(index):
    found = index.evaluate_retrieval(many(6), {"m": Fixed(order=("d0",))}, metric="all@10")
    assert found.metric == "all@10"
    with pytest.raises(BadInput, match=r"'chunk_mrr' is not measured here.*recall@1"):
        index.evaluate_retrieval(many(6), {"m": Fixed()}, metric="chunk_mrr")
    # Said before anything is asked: this method would fail on every question.
    with pytest.raises(BadInput, match="'nonsense' is not measured here"):
        index.evaluate_retrieval(many(6), {"m": Fixed(fails_on="Question")}, metric="nonsense")


def test_gold_that_a_method_failed_on_throughout_is_not_what_methods_are_compared_by(index):
    asked = [question(n, ["d0"]) for n in range(2)]
    asked += [Question(id=f"a{n}", question=f"Answer {n}?", answers=("lantern",)) for n in range(2)]
    methods = {"good": Fixed(order=("d0",)), "frail": Fixed(order=("d0",), fails_on="Question")}
    assert index.evaluate_retrieval(asked, methods).metric == "answer_hit@5"
    with pytest.raises(WorkFailed, match="too many questions failed"):
        index.evaluate_retrieval(asked, methods | {"frail too": Fixed(order=("d0",), fails_on="Answer")})


# --- failures and resuming --------------------------------------------------------------------------------


def test_a_question_that_fails_is_counted_and_no_zero(index):
    methods = {"good": Fixed(order=("d0",)), "frail": Fixed(order=("d0",), fails_on="Question 1?")}
    found = index.evaluate_retrieval([question(n, ["d0"]) for n in range(3)], methods)
    assert (scores(found, "frail")["n"], scores(found, "frail")["n_failed"]) == (2, 1)
    assert scores(found, "frail")["recall@1"] == 1
    assert found.comparisons[0].n == 2
    assert any("failed in frail" in note for note in found.notes)


def counting(index, tmp_path, stop_at=None, asked=None, **options):
    seen = []

    def retrieve(self, text, method=None, **more):
        seen.append(text)
        if stop_at is not None and len(seen) > stop_at:
            raise BudgetReached("the cap is met")
        return original(text, method, **more)

    original = index.retrieve
    index.retrieve = retrieve.__get__(index)
    try:
        found = index.evaluate_retrieval(
            asked or many(8), ["bm25", "naive"], output=tmp_path / "out.jsonl", **options
        )
    finally:
        del index.retrieve
    return found, seen


def test_what_is_in_the_output_file_is_not_asked_again(index, tmp_path):
    first, seen = counting(index, tmp_path)
    assert len(seen) == 16 + 2  # each method once more, untimed, so that loading is not measured
    again, seen = counting(index, tmp_path)
    assert seen == []
    assert again.as_dict() == first.as_dict()
    lines = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 16
    line = json.loads(lines[0])
    assert (line["question"], line["method"], len(line["ranks"]["document"])) == ("q0", "bm25", 1)


def test_a_run_that_was_stopped_goes_on(index, tmp_path):
    with pytest.raises(BudgetReached):
        counting(index, tmp_path, stop_at=9)
    path = tmp_path / "out.jsonl"
    assert len(path.read_text(encoding="utf-8").splitlines()) == 7
    # The process may also die within a line.
    path.write_bytes(path.read_bytes() + b'{"question": "q9", "meth')
    found, seen = counting(index, tmp_path)
    assert len(seen) == 9 + 2
    assert scores(found, "bm25")["n"] == 8
    assert len(path.read_text(encoding="utf-8").splitlines()) == 16


def test_only_what_changed_is_asked_again(index, tmp_path):
    asked = many(8)
    counting(index, tmp_path, asked=asked)
    asked[3] = replace(asked[3], evidence=("d1",))
    asked[4] = replace(asked[4], id="renamed", type="other")
    found, seen = counting(index, tmp_path, asked=asked)
    assert {text.rstrip(" ?") for text in seen} == {"Question 3"}
    assert any(note.startswith("results in the output file") and note.endswith(": 2") for note in found.notes)
    _, seen = counting(index, tmp_path, asked=asked, max_tokens=500)
    assert len(seen) == 18


def changed(found):
    begin = "measured anew instead of taken from the output file, since something changed: "
    return next((note.removeprefix(begin) for note in found.notes if note.startswith(begin)), "")


def test_what_changed_since_the_output_file_was_written_is_said(index, tmp_path, monkeypatch):
    asked = many(3)
    found, _ = counting(index, tmp_path, asked=asked)
    assert changed(found) == ""
    asked[1] = replace(asked[1], evidence=("d0",))
    found, _ = counting(index, tmp_path, asked=asked)
    assert changed(found) == "question or gold (2)"
    with monkeypatch.context() as patch:
        patch.setattr(grounds, "_package", lambda: "another state of the package")
        found, seen = counting(index, tmp_path, asked=many(3))
        assert len(seen) == 6 + 2
        # Six lines of the first run, and two of the second for which the gold was another, too.
        assert changed(found) == "question or gold (2), the code (8)"
    found, seen = counting(index, tmp_path, asked=many(3))
    assert seen == []


def test_a_line_of_an_earlier_release_counts_as_made_by_other_code(index, tmp_path):
    counting(index, tmp_path, asked=many(3))
    path = tmp_path / "out.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        del line["rests_on"]
        line["key"] = f"old {line['key']}"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    found, seen = counting(index, tmp_path, asked=many(3))
    assert (len(seen), changed(found)) == (6 + 2, "the code (6)")


@pytest.mark.parametrize(
    "content",
    [
        '{"question": "Who?"}',
        '{"question": "Who?"}\n',
        '{"question": "q", "method": "m"}\n',
        "notes\n",
        "notes",
    ],
)
def test_a_file_of_somebody_else_is_left_as_it_is(index, tmp_path, content):
    path = tmp_path / "out.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(BadInput, match="something else than results"):
        index.evaluate_retrieval(many(2), ["bm25"], output=path)
    assert path.read_text(encoding="utf-8") == content


# --- coverage of the graph ----------------------------------------------------------------------------------


def test_answers_are_counted_by_where_they_stand_in_the_graph(tmp_path, papers_texts, write_files):
    with Index.open(tmp_path / "g.index", settings=SETTINGS) as graph:
        graph.add(write_files(tmp_path / "papers", papers_texts), methods=["graphrag-local"])
        asked = [
            Question(id="named", question="?", answers=("the Grey Reef",)),
            Question(id="part", question="?", answers=("Reef",)),
            Question(id="gone", question="?", answers=("Constantinople",)),
            Question(id="yes", question="?", answers=("yes",)),
            Question(id="null", question="?", null=True, answers=("Grey Reef",)),
        ]
        found = answer_coverage(asked, graph.snapshot())
    assert (found.n, found.named, found.within, found.absent) == (3, 1, 2, ("gone",))
    assert found.share == pytest.approx(1 / 3)


def test_without_a_graph_the_coverage_says_how_to_get_one(index):
    with pytest.raises(MissingLayer, match="needs graph"):
        answer_coverage([], index.snapshot())


# --- the command --------------------------------------------------------------------------------------------


@pytest.fixture
def ready(call, tmp_path):
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, CORPUS)), encoding="utf-8")
    lines = [
        {"id": f"q{n}", "question": f"Who bought the {w}?", "answer": f"number {n}", "evidence": [f"d{n}"]}
        for n, w in enumerate(WORDS)
    ]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert call("index", "corpus.jsonl", "--for", "bm25,naive", "--index", "i").code == 0
    return call


def test_the_command_prints_the_contract_as_json(ready):
    done = ready("eval", "retrieval", "--index", "i", "--questions", "q.jsonl", "-m", "bm25,naive", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert list(found["methods"]) == ["bm25", "naive"]
    bm25 = found["methods"]["bm25"]
    assert {"recall@5", "all@10", "mrr", "ndcg@10", "n", "ms_per_question", "answer_hit@10"} <= set(bm25)
    assert (bm25["n"], bm25["mrr"], bm25["answer_hit@1"]) == (6, 1.0, 1.0)
    assert (bm25["calls_per_question"], bm25["cost_per_question"]) == (0, 0)
    assert bm25["intervals"]["recall@5"][1] == 1.0


def test_the_command_says_how_many_answers_are_in_the_graph(ready):
    without = ready("eval", "coverage", "--index", "i", "--questions", "q.jsonl")
    assert without.code == 2
    assert "graph" in without.sentence
    assert ready("index", "--index", "i", "--extractor", "fast", "--for", "graphrag-local").code == 0
    done = ready("eval", "coverage", "--index", "i", "--questions", "q.jsonl", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["questions"] == 6
    assert found["share"] == found["named"] / 6
    assert len(found["absent"]) == 6 - found["described"]
    shown = ready("eval", "coverage", "--index", "i", "--questions", "q.jsonl")
    assert "nowhere in the graph" in shown.out


def test_the_command_prints_a_table_and_conclusions(ready, tmp_path):
    done = ready("eval", "retrieval", "--index", "i", "--questions", "q.jsonl", "--output", "out.jsonl")
    assert done.code == 0, done.err
    assert "6 questions asked, of 6" in done.out
    assert "bm25" in done.out
    assert "- bm25, naive and hybrid have the highest recall@5: 1.000" in done.out
    assert "fewer than 30 questions" in done.err
    assert len((tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()) == 18


def test_many_methods_stay_readable(ready, tmp_path):
    lines = [json.loads(line) for line in (tmp_path / "q.jsonl").read_text("utf-8").splitlines()]
    typed = [{**line, "type": f"kind{n % 2}"} for n, line in enumerate(lines)]
    (tmp_path / "typed.jsonl").write_text("\n".join(map(json.dumps, typed)), encoding="utf-8")
    names = ["bm25", "bm25:rograg", "naive", "naive:fg-rag", "naive:graft", "naive:rag-vs-graphrag"]
    done = ready("eval", "retrieval", "--index", "i", "--questions", "typed.jsonl", "-m", ",".join(names))
    assert done.code == 0, done.err
    # Of 15 pairs those of the best method; each method has its line in the table by type.
    assert "and 10 more pairs; --json has all" in done.out
    head, *rows = done.out[done.out.index("recall@5 by type") :].splitlines()
    assert head.split() == ["recall@5", "by", "type", "kind0", "(3)", "kind1", "(3)"]
    assert [row.split()[0] for row in rows[:6]] == names
    assert "cpu ms" in done.out


def test_all_methods_are_every_one_but_presets(ready):
    done = ready("eval", "retrieval", "--index", "i", "--questions", "q.jsonl", "-m", "all")
    assert done.code == 2
    assert "graphrag-local" in done.sentence
    assert "hipporag" in done.sentence
    assert ":" not in done.sentence.partition(" needs ")[0].removeprefix("polygraph: ")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--questions", "none.jsonl"], "there is no file of questions at none.jsonl"),
        (["--questions", "q.jsonl", "-m", "bm52"], "there is no method 'bm52'"),
        (["--questions", "q.jsonl", "-m", ","], "-m names no method"),
        (
            ["--questions", "q.jsonl", "-m", "graphrag-local"],
            "polygraph index --index i --for graphrag-local",
        ),
        (["--questions", "q.jsonl", "--k", "0"], "--k '0' is not a list of depths"),
        (["--questions", "q.jsonl", "--limit", "0"], "--limit 0"),
        (["--questions", "q.jsonl", "--metric", "f1"], "--metric 'f1'"),
        (["--questions", "q.jsonl", "--output", "q.jsonl"], "something else than results"),
        (["--questions", "q.jsonl", "--where", "colour=red"], "no document has the field 'colour'"),
    ],
)
def test_what_the_user_can_mend_is_one_sentence(ready, options, said):
    done = ready("eval", "retrieval", "--index", "i", *options)
    assert done.code == 2
    assert said in done.sentence


# --- methods that call a model ------------------------------------------------------------------------------


def test_methods_that_call_a_model_run_side_by_side_and_their_calls_are_counted(
    tmp_path, papers_texts, write_files
):
    from polygraph.testing import scripted_chat

    asked = [
        Question(id=f"q{n}", question=f"What is said about {name}?", evidence=("log.md",))
        for n, name in enumerate(["the Halcyon", "Old Tobin", "the Grey Reef", "Sallow Bay"])
    ]
    with Index.open(tmp_path / "g.index", settings=SETTINGS) as opened:
        opened.add(write_files(tmp_path / "papers", papers_texts), methods=["graphrag-global", "bm25"])
        opened.models = replace(opened.models, chat=scripted_chat())
        seen = []
        found = opened.evaluate_retrieval(
            asked,
            ["graphrag-global", "bm25"],
            output=tmp_path / "out.jsonl",
            progress=lambda stage, done, total: seen.append((stage, done, total)),
        )
    rows = {m.name: m for m in found.methods}
    assert list(rows) == ["graphrag-global", "bm25"]
    assert rows["graphrag-global"].calls_per_question >= 1
    assert rows["graphrag-global"].tokens_per_question > 0
    assert rows["bm25"].calls_per_question == 0
    # Where questions run side by side the clock of the process is not that of one of them.
    assert rows["graphrag-global"].cpu_ms_per_question is None
    assert rows["bm25"].cpu_ms_per_question >= 0
    assert not any("time" in sentence for sentence in found.conclusions)
    assert (seen[0], seen[-1]) == (("questions", 0, 8), ("questions", 8, 8))
    assert len((tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()) == 8


def test_two_questions_with_one_id_are_an_error(index):
    with pytest.raises(BadInput, match="two questions have the id 'q1'"):
        index.evaluate_retrieval([question(1, ["d0"]), question(1, ["d1"])], ["bm25"])
