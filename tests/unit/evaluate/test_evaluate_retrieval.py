"""Retrieval measured on a small index with predictable rankings."""

import json
import re
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from polygraph import Index
from polygraph.config import Settings
from polygraph.errors import BadInput, BudgetReached, MissingLayer, UnknownMethod, UnusableReply, WorkFailed
from polygraph.evaluate.metrics.relevance import resolve_gold
from polygraph.evaluate.questions.file import GoldPassage, Question
from polygraph.evaluate.runs import provenance
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
    failure: type[Exception] = WorkFailed

    def __call__(self, question, index, models):
        require(index, "fixed", self.needs, models)
        if self.fails_on and self.fails_on in question:
            raise self.failure("nothing of use")
        numbers = index.store.documents.chunk_rows()
        hits = [Hit(n, 1.0) for d in self.order for chunk, n in numbers.items() if chunk.startswith(f"{d}:")]
        return pack_chunks(question, "fixed", index, hits, [""] * len(hits), k=3, max_tokens=self.max_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailsOnNumber(Fixed):
    """Fails on the questions above a number."""

    above: int = 0

    def __call__(self, question, index, models):
        if int(question.split()[1].rstrip("?")) > self.above:
            raise UnusableReply("nothing of use", "raw")
        return Fixed.__call__(self, question, index, models)


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


def test_documents_are_ranked_by_their_first_chunk_and_the_budget_does_not_truncate_the_ranking(index):
    every = tuple(f"d{n}" for n in range(6))
    n_chunks = len(index.snapshot().chunks_of("d0"))
    assert n_chunks > 1  # otherwise the test would prove nothing
    found = index.evaluate_retrieval([question(1, ["d5"])], {"m": Fixed(order=every)}, max_tokens=40)
    assert scores(found, "m")["mrr"] == pytest.approx(1 / 6)


def test_gold_passages_match_all_chunks_that_overlap_them(index):
    text = CORPUS[1]["text"]
    place = GoldPassage(document="d1", start=text.index("furnace"), end=text.index("furnace") + 7)
    words = GoldPassage(document="d1", text="furnace  was\nsold")
    asked = replace(question(1, []), passages=(place, words), chunks=("d3:0",))
    gold = resolve_gold(asked, index.snapshot())
    # Two passages in one chunk are one gold chunk.
    assert gold.chunks == ({"d3:0"}, {"d1:0"})
    got = scores(index.evaluate_retrieval([asked], {"m": Fixed(order=("d1",))}), "m")
    assert got["chunk_recall@1"] == pytest.approx(1 / 2)
    assert got["chunk_ndcg@1"] == 1
    assert "recall@1" not in got
    lost = replace(question(2, []), passages=(GoldPassage(document="d1", text="not there"),))
    report = index.evaluate_retrieval([asked, lost], {"m": Fixed(order=("d1",))})
    assert any("gold passages that are not in the index" in note for note in report.notes)


def test_answers_are_searched_as_whole_words_and_yes_is_not_searched(index):
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


def test_an_answer_in_the_possessive_is_found(tmp_path):
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps({"id": "d0", "text": "It rests on Stanley Hall’s book of 1904."}))
    with Index.open(tmp_path / "x.index", settings=SETTINGS) as made:
        made.add(corpus, methods=["bm25"])
        asked = [
            question(1, [], answers=("Stanley Hall",)),
            question(2, [], answers=("Stanley Hall's",)),
            question(3, [], answers=("Stanley Halls book",)),
            question(4, [], answers=("Stanley",)),
            question(5, [], answers=("1904 It",)),
        ]
        found = made.evaluate_retrieval(asked, {"m": Fixed(order=("d0",))})
    assert scores(found, "m")["answer_hit@1"] == 0.8


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
        "null questions, not asked because the corpus does not answer them: 1",
        "questions without gold evidence or an answer to search for, not asked: 2",
        "questions with a gold document missing from the corpus, not measured by document: 1",
        "of 3 (the first: gone): 1",
    ):
        assert part in notes


def test_gold_of_another_index_is_an_error_that_shows_both_ids(index):
    with pytest.raises(BadInput, match=r"'other'.*'d0'"):
        index.evaluate_retrieval([question(1, ["other"])], ["bm25"])
    with pytest.raises(BadInput, match="no question has gold"):
        index.evaluate_retrieval([question(1, [])], ["bm25"])


def test_a_missing_layer_is_named_for_all_methods_before_anything_is_asked(index):
    with pytest.raises(MissingLayer, match="--for graphrag-local,graphrag-global") as caught:
        index.evaluate_retrieval([question(1, ["d0"])], ["bm25", "graphrag-local", "graphrag-global"])
    assert "reports" in caught.value.missing
    with pytest.raises(UnknownMethod):
        index.evaluate_retrieval([question(1, ["d0"])], ["bm52"])


def test_names_and_methods_can_be_measured_beside_each_other(index):
    found = index.evaluate_retrieval([question(1, ["d0"])], {"theirs": "bm25", "mine": Fixed(order=("d0",))})
    assert [m.name for m in found.methods] == ["theirs", "mine"]


def test_a_filter_applies_to_every_question_and_excluded_gold_is_noted(index):
    found = index.evaluate_retrieval(
        [question(1, ["d0"]), question(2, ["d1"])], {"bm25": BM25()}, where={"title": "Paper 0"}
    )
    assert any(
        note == "gold documents excluded by the filter, which count as not found: 1" for note in found.notes
    )


def test_types_are_reported_separately(index):
    asked = [question(n, [f"d{n % 2}"], type="even" if n % 2 == 0 else "odd") for n in range(6)]
    got = scores(index.evaluate_retrieval(asked, {"m": Fixed(order=("d0",))}), "m")
    assert {k: (v["n"], v["hit@1"]) for k, v in got["by_type"].items()} == {"even": (3, 1.0), "odd": (3, 0.0)}


# --- comparison -------------------------------------------------------------------------------------------


def many(n=60):
    return [question(i, [f"d{i % 6}"]) for i in range(n)]


def test_a_true_difference_is_reported_and_a_missing_one_is_not(index):
    methods = {
        "one": Fixed(order=("d0", "d1", "d2")),
        "same": Fixed(order=("d0", "d1", "d2"), max_tokens=999),
        "none": Fixed(order=()),
    }
    found = index.evaluate_retrieval(many(), methods)
    assert found.conclusions[0].startswith("one and same have the highest recall@5: 0.500")
    assert any(s.startswith("undecided between one and same: +0.000") for s in found.conclusions)
    assert found.conclusions[0].endswith(
        "one is better than 1 and not shown to differ from 1 of 2 other methods"
    )
    assert any(s.startswith("one finds more than none: +0.500") for s in found.conclusions)
    pair = index.evaluate_retrieval(many(), {name: methods[name] for name in ("one", "none")})
    assert pair.conclusions[0].endswith("; one is better than the other method")
    by_pair = {(c.better, c.worse): c for c in found.comparisons}
    assert by_pair["one", "same"].p_holm == 1.0
    assert by_pair["one", "none"].wins == 30
    assert by_pair["one", "none"].p_holm < 0.001


def test_a_large_difference_is_significant_among_many_methods():
    # 528 pairs: with as many sign patterns as for one pair, no corrected p could be below 0.05.
    values = {f"m{n}": {f"q{i}": float(n == 0) for i in range(18)} for n in range(33)}
    found = compare_methods(values, np.random.default_rng(0))
    assert len(found) == 528
    assert {c.worse for c in found if c.significant and c.better == "m0"} == set(values) - {"m0"}
    assert sum(c.significant for c in found) == 32


def test_with_many_methods_a_note_explains_the_correction(index):
    few = index.evaluate_retrieval(many(40), {f"m{n}": Fixed(order=("d0",)) for n in range(5)})
    assert not any("are corrected" in note for note in few.notes)
    six = index.evaluate_retrieval(many(40), {f"m{n}": Fixed(order=("d0",)) for n in range(6)})
    assert any("are corrected for 15 comparisons" in note for note in six.notes)


def test_gold_that_no_method_finds_is_noted(index):
    asked = [question(0, ["d0"], facts=("The harbour was sold to nobody",))]
    found = index.evaluate_retrieval(asked, ["bm25"])
    assert [note for note in found.notes if note.startswith("no method found any gold fact: check that")]
    assert not any("gold document" in note for note in found.notes)


def test_a_method_that_finds_nothing_is_noted(index):
    found = index.evaluate_retrieval(many(40), {"some": Fixed(order=("d0",)), "empty": Fixed()})
    assert "questions for which empty found nothing: 40" in found.notes
    assert not any("some found nothing" in note for note in found.notes)


def test_the_sample_has_only_questions_with_gold_for_the_metric(index):
    answers = [Question(id=f"a{n}", question="Who?", answers=("keeper",)) for n in range(60)]
    asked = [*answers, *many(6)]
    found = index.evaluate_retrieval(asked, ["bm25"], metric="recall@5", limit=5)
    assert scores(found, "bm25")["n_by_unit"] == {"document": 5}
    # Without a metric, all questions are sampled.
    assert "answer" in scores(index.evaluate_retrieval(asked, ["bm25"], limit=5), "bm25")["n_by_unit"]


def test_the_report_gives_confusions_and_the_oracle(index):
    methods = {"one": Fixed(order=("d0", "d1")), "other": Fixed(order=("d1", "d2", "d3"))}
    found = index.evaluate_retrieval(many(), methods)
    # Six documents, ten questions each: one method finds documents 0 and 1, the other 1, 2 and 3.
    (pair,) = found.as_dict()["confusions"]
    assert pair == {"a": "one", "b": "other", "both": 10, "a_only": 10, "b_only": 20, "neither": 20}
    assert found.router is not None
    assert (found.router.best, found.router.mean) == ("other", pytest.approx(4 / 6))
    assert found.router.gain == pytest.approx(1 / 6)
    assert any(
        "an oracle that always picks the best method would reach 0.667" in c for c in found.conclusions
    )
    alone = index.evaluate_retrieval(many(), {"one": methods["one"]})
    assert alone.router is None
    assert alone.confusions == {}


def test_the_report_says_how_many_further_questions_would_decide(index):
    methods = {"a": Fixed(order=("d0", "d1", "d2")), "b": Fixed(order=("d3", "d4"))}
    found = index.evaluate_retrieval(many(12), methods)
    text = "\n".join(found.conclusions)
    assert "undecided between a and b" in text
    assert "further questions would decide" in text
    assert any("fewer than 30" in note for note in found.notes)


def test_the_same_seed_gives_the_same_report_except_times(index):
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
    # Raised before any question is asked: this method would fail on every question.
    with pytest.raises(BadInput, match="'nonsense' is not measured here"):
        index.evaluate_retrieval(many(6), {"m": Fixed(fails_on="Question")}, metric="nonsense")


def test_methods_are_not_compared_by_gold_on_which_a_method_failed_throughout(index):
    asked = [question(n, ["d0"]) for n in range(2)]
    asked += [Question(id=f"a{n}", question=f"Answer {n}?", answers=("lantern",)) for n in range(2)]
    methods = {"good": Fixed(order=("d0",)), "frail": Fixed(order=("d0",), fails_on="Question")}
    assert index.evaluate_retrieval(asked, methods).metric == "answer_hit@5"
    with pytest.raises(WorkFailed, match="too many questions failed"):
        index.evaluate_retrieval(asked, methods | {"frail too": Fixed(order=("d0",), fails_on="Answer")})


# --- failures and resuming --------------------------------------------------------------------------------


def test_a_failed_question_is_counted_and_is_not_a_zero(index):
    methods = {"good": Fixed(order=("d0",)), "frail": Fixed(order=("d0",), fails_on="Question 1?")}
    found = index.evaluate_retrieval([question(n, ["d0"]) for n in range(3)], methods)
    assert (scores(found, "frail")["n"], scores(found, "frail")["n_failed"]) == (2, 1)
    assert scores(found, "frail")["recall@1"] == 1
    assert found.comparisons[0].n == 2
    assert any("failed with frail" in note and "(the first: nothing of use)" in note for note in found.notes)


def test_an_error_of_a_method_of_ones_own_ends_no_run_and_names_the_line_that_raised_it(index):
    methods = {"good": Fixed(), "frail": Fixed(order=("d0",), fails_on="Question 1?", failure=KeyError)}
    found = index.evaluate_retrieval([question(n, ["d0"]) for n in range(3)], methods)
    assert scores(found, "frail")["n_failed"] == 1
    [note] = [note for note in found.notes if "failed with frail" in note]
    assert re.search(r"the first: KeyError: 'nothing of use', raised in line \d+ of test_evaluate_", note)
    with pytest.raises(WorkFailed, match=r"frail failed on every question \(1\), last with: KeyError"):
        index.evaluate_retrieval([question(1, ["d0"])], methods)
    with pytest.raises(BadInput, match="nothing of use"):
        index.evaluate_retrieval(
            [question(1, ["d0"])], {"frail": Fixed(fails_on="Question", failure=BadInput)}
        )


def test_a_method_that_fails_on_the_difficult_questions_is_not_the_best_for_it(index):
    easy, difficult = [question(n, ["d0"]) for n in range(5)], [question(n, ["d5"]) for n in range(5, 9)]
    # On the easy questions both find everything; on the difficult ones one finds nothing, and the other fails.
    methods = {
        "good": Fixed(order=("d0", "d1")),
        "frail": FailsOnNumber(order=("d0",), above=4),
        "short": Fixed(order=("d1", "d2", "d3")),
    }
    found = index.evaluate_retrieval([*easy, *difficult], methods)
    assert scores(found, "frail")["recall@5"] > scores(found, "good")["recall@5"]
    assert found.conclusions[0].startswith(
        "good and frail have the highest recall@5: 1.000 [0.478, 1.000] on the 5 questions that every method could be "
        "measured on"
    )
    [with_short] = [s for s in found.conclusions if "good" in s and "short" in s]
    assert ", on 9 questions" in with_short


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


def test_stored_results_are_not_measured_again(index, tmp_path):
    first, seen = counting(index, tmp_path)
    assert len(seen) == 16 + 2  # each method once more, untimed, so that loading is not measured
    again, seen = counting(index, tmp_path)
    assert seen == []
    assert again.as_dict() == first.as_dict()
    lines = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 16
    line = json.loads(lines[0])
    assert (line["question"], line["method"], len(line["ranks"]["document"])) == ("q0", "bm25", 1)


def test_an_interrupted_run_resumes(index, tmp_path):
    with pytest.raises(BudgetReached):
        counting(index, tmp_path, stop_at=9)
    path = tmp_path / "out.jsonl"
    assert len(path.read_text(encoding="utf-8").splitlines()) == 7
    # The process may also be killed while writing a line.
    path.write_bytes(path.read_bytes() + b'{"question": "q9", "meth')
    found, seen = counting(index, tmp_path)
    assert len(seen) == 9 + 2
    assert scores(found, "bm25")["n"] == 8
    assert len(path.read_text(encoding="utf-8").splitlines()) == 16


def test_only_changed_questions_are_measured_again(index, tmp_path):
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
    begin = "measured again instead of read from the output file, because of changes to: "
    return next((note.removeprefix(begin) for note in found.notes if note.startswith(begin)), "")


def test_a_note_lists_what_changed_since_the_results_were_stored(index, tmp_path, monkeypatch):
    asked = many(3)
    found, _ = counting(index, tmp_path, asked=asked)
    assert changed(found) == ""
    asked[1] = replace(asked[1], evidence=("d0",))
    found, _ = counting(index, tmp_path, asked=asked)
    assert changed(found) == "question or gold (2)"
    with monkeypatch.context() as patch:
        patch.setattr(provenance, "polygraph_digest", lambda: "another state of the package")
        found, seen = counting(index, tmp_path, asked=many(3))
        assert len(seen) == 6 + 2
        # Six lines of the first run, and two of the second with other gold.
        assert changed(found) == "question or gold (2), code (8)"
    found, seen = counting(index, tmp_path, asked=many(3))
    assert seen == []


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
def test_a_file_with_other_content_is_not_changed(index, tmp_path, content):
    path = tmp_path / "out.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(BadInput, match="something other than results"):
        index.evaluate_retrieval(many(2), ["bm25"], output=path)
    assert path.read_text(encoding="utf-8") == content


# --- methods that call a model ------------------------------------------------------------------------------


def test_methods_that_call_a_model_run_in_parallel_and_their_calls_are_counted(
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
    # If questions run in parallel, the process clock does not measure a single one.
    assert rows["graphrag-global"].cpu_ms_per_question is None
    assert rows["bm25"].cpu_ms_per_question >= 0
    assert not any("time" in sentence for sentence in found.conclusions)
    assert (seen[0], seen[-1]) == (("questions", 0, 8), ("questions", 8, 8))
    assert len((tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()) == 8


def test_a_duplicate_id_is_an_error(index):
    with pytest.raises(BadInput, match="two questions have the id 'q1'"):
        index.evaluate_retrieval([question(1, ["d0"]), question(1, ["d1"])], ["bm25"])
