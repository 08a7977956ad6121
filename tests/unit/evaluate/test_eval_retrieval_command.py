"""The commands `polygraph eval retrieval` and `polygraph eval coverage`."""

import json

import pytest

WORDS = ["harbour", "furnace", "orchard", "lantern", "quarry", "violin"]
CORPUS = [
    {"id": f"d{n}", "title": f"Paper {n}", "text": f"The {word} was sold to keeper number {n}. " * 20}
    for n, word in enumerate(WORDS)
]


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


def test_coverage_counts_the_answers_in_the_graph(ready):
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
    assert "fewer than 30" in done.err
    assert len((tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()) == 18


def test_many_methods_stay_readable(ready, tmp_path):
    lines = [json.loads(line) for line in (tmp_path / "q.jsonl").read_text("utf-8").splitlines()]
    typed = [{**line, "type": f"kind{n % 2}"} for n, line in enumerate(lines)]
    (tmp_path / "typed.jsonl").write_text("\n".join(map(json.dumps, typed)), encoding="utf-8")
    names = ["bm25", "bm25:rograg", "naive", "naive:fg-rag", "naive:graft", "naive:rag-vs-graphrag"]
    done = ready("eval", "retrieval", "--index", "i", "--questions", "typed.jsonl", "-m", ",".join(names))
    assert done.code == 0, done.err
    # Of 15 pairs only those with the best method; each method has a line in the table by type.
    assert "and 10 more pairs; --json has all" in done.out
    head, *rows = done.out[done.out.index("recall@5 by type") :].splitlines()
    assert head.split() == ["recall@5", "by", "type", "kind0", "(3)", "kind1", "(3)"]
    assert [row.split()[0] for row in rows[:6]] == names
    assert "cpu ms" in done.out


def test_all_means_every_method_without_presets(ready):
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
        (["--questions", "q.jsonl", "--output", "q.jsonl"], "something other than results"),
        (["--questions", "q.jsonl", "--where", "colour=red"], "no document has the field 'colour'"),
    ],
)
def test_a_mistake_of_the_user_is_answered_by_one_sentence(ready, options, said):
    done = ready("eval", "retrieval", "--index", "i", *options)
    assert done.code == 2
    assert said in done.sentence
