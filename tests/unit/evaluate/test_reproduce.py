"""Published tables: consistent numbers, a run from end to end, the estimates of the dry run."""

import importlib.util
import json
from dataclasses import replace
from itertools import pairwise
from statistics import fmean

import pytest
from typer.testing import CliRunner

from polygraph.cli import app
from polygraph.errors import BadInput
from polygraph.evaluate.judging.judgements import Judgement
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.records import StudyAnswer
from polygraph.evaluate.reproduce.measure import measure_table
from polygraph.evaluate.reproduce.run import data_files, find_table, judging_stages, select
from polygraph.evaluate.reproduce.tables import TABLES
from polygraph.evaluate.runs.study_folder import StudyFolder
from polygraph.models import Calls, Models
from polygraph.models.providers.scripted_server import ScriptedServer
from polygraph.models.providers.static import HashEmbedder
from polygraph.records import Usage
from polygraph.retrieve import METHODS
from polygraph.testing import scripted_chat
from tests.made_with import MADE_WITH

DOCUMENTS = {
    "letter": "Mara Quill wrote to Old Tobin in 1871. She had built the Skerry Light with her own money. Tobias "
    "Wren of the Harbour Board refused to pay for the lamp. Mara Quill never forgave Tobias Wren.",
    "log": "The Halcyon left Sallow Bay at dawn. Old Tobin was her master. The Halcyon struck the Grey Reef.",
}
ASKED = [
    {
        "id": "q1",
        "question": "Who built the Skerry Light?",
        "answer": "Mara Quill",
        "type": "inference_query",
        "evidence": ["letter"],
    },
    {
        "id": "q2",
        "question": "Who was master of the Halcyon?",
        "answer": "Old Tobin",
        "type": "comparison_query",
        "evidence": ["log"],
    },
    {
        "id": "q3",
        "question": "Who was master of the Halcyon?",
        "answer": "Tobias Wren",
        "type": "temporal_query",
        "evidence": ["letter"],
    },
]


def models():
    return Models(
        chat=None, embedder=HashEmbedder(), name_embedder=HashEmbedder(), reranker=None, calls=Calls(None)
    )


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    rows = [{"id": i, "title": i, "text": t} for i, t in DOCUMENTS.items()]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (folder / "questions.jsonl").write_text("".join(json.dumps(r) + "\n" for r in ASKED))
    return folder


def run(*words, env=None):
    found = CliRunner().invoke(app, ["reproduce", *map(str, words)], env=env)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found


def run_json(*words, env=None):
    return json.loads(run(*words, "--json", env=env).stdout)


# --- the tables as data -------------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES, ids=lambda t: f"{t.paper}-{t.name}")
def test_a_table_is_complete(table):
    assert set(table.presets) <= set(METHODS)
    names = set(table.row_names)
    for rows in table.numbers.values():
        assert set(rows) <= names
        for values in rows.values():
            assert len(values) == len(table.columns)
            shares = [
                v
                for v, c in zip(values, table.columns, strict=True)
                if c.measure not in ("tokens", "seconds")
            ]
            assert all(v is None or -100 <= v <= 100 for v in shares)
    # A table without numbers must say that the paper has them only in a chart.
    known = [v for rows in table.numbers.values() for values in rows.values() for v in values]
    assert known or table.pictured
    assert any(c.measure.startswith("bert") for c in table.columns) == bool(table.bert)
    if table.judging is not None:
        assert table.judging.reference in ("", *(s.name for s in table.systems))
        assert table.judging.reference not in names
        assert {c.measure for c in table.columns} == {"verdict"}
    assert find_table(table.paper, table.name) is table


def test_every_paper_has_a_table_and_names_are_unique():
    assert {t.paper for t in TABLES} == {
        "rag-vs-graphrag",
        "fg-rag",
        "graft",
        "rograg",
        "unbiased-evaluation",
    }
    named = sorted((t.paper, t.name) for t in TABLES)
    assert all(a != b for a, b in pairwise(named))


def test_numbers_agree_with_statements_of_the_papers():
    two = find_table("rag-vs-graphrag", "2").numbers["Llama 3.1-8B"]
    # "Community-GraphRAG (Local) achieved the best performance on MultiHop-RAG", section 4.2.
    assert max(two, key=lambda s: two[s][-1]) == "Community-GraphRAG (Local)"
    # F1 of means is near the mean of F1, and never far above it: a misplaced digit would show.
    for name in ("1-nq", "1-hotpotqa"):
        for rows in find_table("rag-vs-graphrag", name).numbers.values():
            assert all(abs(2 * p * r / (p + r) - f) < 7 for p, r, f in rows.values())
    # Figure 4 of GRAFT pools figures 2 and 3.
    parts = [find_table("graft", n).numbers["Phi-2"] for n in "234"]
    for system, whole in parts[2].items():
        for low, high, both in zip(parts[0][system], parts[1][system], whole, strict=True):
            assert min(low, high) <= both <= max(low, high)
    # Table 1 of FG-RAG is the mean of table 7.
    each = [find_table("fg-rag", f"7-{name}").numbers for name in ("agriculture", "art", "cs", "mix", "news")]
    for model, rivals in find_table("fg-rag", "1").numbers.items():
        for rival, means in rivals.items():
            for i, mean in enumerate(means):
                assert mean == pytest.approx(fmean(one[model][rival][i] for one in each), abs=0.005)
    # Recall, precision and F1 of BERTScore are close to each other.
    for name in ("4-squality", "4-qmsum", "5-odsum-story", "5-odsum-meeting"):
        for rows in find_table("rag-vs-graphrag", name).numbers.values():
            assert all(abs(2 * p * r / (p + r) - f) < 0.3 for *_, p, r, f in rows.values())


# --- what is asked and measured -----------------------------------------------------------------------


def test_questions_are_sampled_by_type_with_a_seed_without_null_ones():
    many = [
        Question(id=f"{kind}{i}", question=f"{kind} {i}?", type=kind, answers=("x",))
        for i in range(200)
        for kind in ("inference_query", "comparison_query", "temporal_query", "null_query")
    ]
    table = find_table("fg-rag", "2")
    found = select(table, many, seed=1)
    assert [sum(q.type == kind for q in found) for kind in table.types] == [125, 125, 125]
    assert found == select(table, many, seed=1) != select(table, many, seed=2)
    assert len(select(table, many, limit=7)) == 7
    with pytest.raises(BadInput, match="no question of the types"):
        select(table, [q for q in many if q.type == "null_query"])


def answered(table, rows):
    return [
        StudyAnswer(question=q, method=m, text=text, refused=refused, extractive=False, made_with=MADE_WITH)
        for q, m, text, refused in rows
    ]


def test_columns_are_measured_on_their_own_questions():
    table = find_table("rag-vs-graphrag", "2")
    asked = [
        Question(id="i", question="?", type="inference_query", answers=("Mara Quill",)),
        Question(id="c", question="?", type="comparison_query", answers=("Yes",)),
        Question(id="n", question="?", type="null_query", null=True),
    ]
    rag = "naive:rag-vs-graphrag"
    answers = answered(
        table,
        [("i", rag, "Mara Quill [1]", False), ("c", rag, "No", False), ("n", rag, "Nothing is said.", True)],
    )
    found = {f.column: f for f in measure_table(table, asked, answers, [], models()) if f.method == rag}
    assert [found[c].ours.mean for c in ("Inference", "Comparison", "Null")] == [100.0, 0.0, 100.0]
    assert (found["Overall"].ours.mean, found["Overall"].n) == (pytest.approx(200 / 3), 3)
    assert found["Comparison"].ours.high == 100.0  # one question proves nothing
    assert found["Temporal"].ours is None
    assert found["Overall"].published == {"Llama 3.1-8B": 67.02, "Llama 3.1-70B": 65.77}


def verdicts(winners):
    """Both orders by question; 1 where FG-RAG wins."""
    fg, naive = "fg-rag:paper", "naive:fg-rag"
    return [
        Judgement(
            protocol="fg-rag",
            question=f"q{i}",
            methods=methods,
            judge="j",
            scores={"overall": (1.0, 0.0) if (methods[0] == fg) == bool(won) else (0.0, 1.0)},
        )
        for i, both in enumerate(winners)
        for methods, won in zip(((fg, naive), (naive, fg)), both, strict=True)
    ]


def test_a_win_rate_pools_both_orders_as_the_paper_does():
    table = find_table("fg-rag", "1")
    found = measure_table(table, [], [], verdicts([(1, 1), (1, 0), (0, 0), (1, 0)]), models())
    overall = next(f for f in found if f.system == "NaiveRAG" and f.column == "Overall")
    assert (overall.ours.mean, overall.n) == (50.0, 4)
    assert overall.published["gpt-4o-mini"] == 69.04
    assert not any(f.system == "FG-RAG" for f in found)


def test_verdicts_are_counted_by_position_and_by_type_of_question():
    table = find_table("rag-vs-graphrag", "figure-4-qmsum")
    rag, local = "naive:rag-vs-graphrag", "graphrag-local:microsoft"
    said = [
        Judgement(
            protocol="rag-vs-graphrag",
            question="q",
            methods=methods,
            judge="j",
            # The answer shown first wins.
            scores={"comprehensiveness": (1.0, 0.0), "global diversity": (1.0, 0.0)},
        )
        for methods in ((rag, local), (local, rag))
    ]
    found = {f.column: f for f in measure_table(table, [], [], said, models()) if f.method == local}
    assert found["Comprehensiveness, RAG first"].ours.mean == 100.0
    assert found["Comprehensiveness, RAG second"].ours.mean == 0.0
    levels = find_table("unbiased-evaluation", "18-20")
    naive, light = "naive:unbiased-evaluation", "lightrag-hybrid:unbiased-evaluation"
    asked = [Question(id=level, question="?", type=level) for level in ("node", "edge")]
    said = [
        Judgement(protocol="unbiased", question=level, methods=m, judge="j", scores={"relevance": s})
        for level, light_score in (("node", 5.0), ("edge", 1.0))
        for m, s in (((light, naive), (light_score, 3.0)), ((naive, light), (3.0, light_score)))
    ]
    found = {f.column: f for f in measure_table(levels, asked, [], said, models()) if f.method == naive}
    assert (found["node"].ours.mean, found["edge"].ours.mean, found["subgraph"].ours) == (100.0, 0.0, None)


def test_figure_11_has_all_six_pairs():
    table = find_table("unbiased-evaluation", "11")
    assert len(table.judged_pairs) == 6
    first, second = table.judged_pairs[-1].first.method, table.judged_pairs[-1].second.method
    said = [
        Judgement(protocol="unbiased", question=f"q{i}", methods=m, judge="j", scores={"relevance": scores})
        for i in range(4)
        for m, scores in (((first, second), (5.0, 1.0)), ((second, first), (1.0, 5.0)))
    ]
    found = {f.system: f for f in measure_table(table, [], [], said, models())}
    assert list(found) == list(table.row_names)
    row = found["FGRAG over LightRAG"]
    assert (row.ours.mean, row.n, row.published) == (100.0, 4, {"gpt-4o-mini": 21.0})
    assert found["MGRAG over LightRAG"].ours is None


def judged_twice(protocol, question, pair, lead, trial=0):
    """Judgements in both orders, in which the first of a pair leads by so many points."""
    return [
        Judgement(
            protocol=protocol, question=question, methods=m, judge="j", trial=trial,
            scores={"overall": (2.0 + s * lead, 2.0)},
        )
        for m, s in ((pair, 1), (pair[::-1], -1))
    ]  # fmt: skip


def test_the_biases_of_the_usual_evaluation_have_figures_of_their_own():
    position = find_table("unbiased-evaluation", "figure-2")
    pair = position.methods
    assert pair[1] == f"{pair[0]}#2"
    assert position.presets == pair[:1]
    # The answer shown first always wins.
    said = [
        Judgement(protocol="fg-rag", question="q", methods=m, judge="j", scores={"overall": (1.0, 0.0)})
        for m in (pair, pair[::-1])
    ]
    found = {f.column: f.ours.mean for f in measure_table(position, [], [], said, models())}
    assert found == {"shown first": 100.0, "shown second": 0.0}

    # The longer answer wins, whichever run wrote it, but only if it is much longer.
    length = find_table("unbiased-evaluation", "figure-6")
    words = {("q1", 0): 50, ("q1", 1): 20, ("q2", 0): 20, ("q2", 1): 50, ("q3", 0): 20, ("q3", 1): 25}
    answers = [
        StudyAnswer(
            question=q, method=pair[i], text="word " * n, refused=False, extractive=False, made_with=MADE_WITH
        )
        for (q, i), n in words.items()
    ]
    said = [
        *judged_twice("unbiased", "q1", pair, 1.0),
        *judged_twice("unbiased", "q2", pair, -1.0),
        *judged_twice("unbiased", "q3", pair, 0.0),
    ]
    rates = {
        f.column: (f.ours and f.ours.mean, f.n) for f in measure_table(length, [], answers, said, models())
    }
    assert rates == {
        "1 to 10 words longer": (0.0, 1),
        "11 to 25 words longer": (None, 0),
        "more than 25 words longer": (100.0, 2),
    }

    trials = find_table("unbiased-evaluation", "figure-7")
    said = [j for t in range(5) for j in judged_twice("unbiased", "q", trials.methods, 1.0 - t % 2 * 2, t)]
    found = [f.ours.mean for f in measure_table(trials, [], [], said, models())]
    assert found == [100.0, 0.0, 100.0, 0.0, 100.0]


def test_only_correct_means_that_the_other_is_wrong():
    table = find_table("rag-vs-graphrag", "figure-2-multihop-rag")
    rag, local = table.methods
    asked = [Question(id=f"q{i}", question="?", answers=("Mara Quill",)) for i in range(4)]
    right = {rag: (1, 1, 0, 0), local: (1, 0, 1, 0)}
    rows = [
        (f"q{i}", m, "Mara Quill" if won else "Tobin", False) for m in right for i, won in enumerate(right[m])
    ]
    found = {f.method: f for f in measure_table(table, asked, answered(table, rows), [], models())}
    assert (found[rag].ours.mean, found[local].ours.mean, found[rag].n) == (25.0, 25.0, 4)
    assert (found[rag].published, found[local].published) == ({"Llama 3.1-8B": 11.6}, {"Llama 3.1-8B": 13.6})


def test_unknown_tokens_and_seconds_are_left_out():
    table = find_table("unbiased-evaluation", "2")
    method = table.methods[0]
    asked = [Question(id=f"q{i}", question="?") for i in range(3)]
    used = [
        Usage(prompt_tokens=100, completion_tokens=20, seconds=2.0),
        Usage(prompt_tokens=300, seconds=4.0),
        None,
    ]
    answers = [
        StudyAnswer(
            question=f"q{i}",
            method=method,
            text="a",
            refused=False,
            extractive=False,
            made_with=MADE_WITH,
            usage=u,
        )
        for i, u in enumerate(used)
    ]
    found = {f.column: f for f in measure_table(table, asked, answers, [], models()) if f.method == method}
    assert (found["tokens"].ours.mean, found["tokens"].n) == (210.0, 2)
    assert (found["seconds"].ours.mean, found["seconds"].n) == (3.0, 2)


def test_bertscore_is_never_zero_if_it_was_not_measured():
    table = find_table("graft", "4")
    table = replace(table, columns=table.columns[:1])
    asked = [Question(id="q", question="?", type="global", references=("Ann.",))]
    rows = answered(table, [("q", m, "Ann.", False) for m in table.methods])
    found = [f for f in measure_table(table, asked, rows, [], models()) if f.column == "BERT"]
    assert [f.published["Phi-2"] for f in found] == [-0.00645, 0.06, 0.319, 0.32]
    assert all(f.ours is None and f.n == 0 for f in found)
    if importlib.util.find_spec("bert_score") is None:
        with pytest.raises(BadInput, match="pip install bert-score"):
            measure_table(table, asked, rows, [], models(), bert=True)


def test_the_systems_of_a_paper_are_those_that_it_measured():
    graft = {system.name: system.method for system in find_table("graft", "4").systems}
    assert graft["Baseline GraphRAG"] == "graft:paper"
    assert graft["GRAFT"] == "graft:paper+tuned"
    assert METHODS["graft:paper"].k_reports == 1
    light = {s.method for t in TABLES if t.paper == "fg-rag" for s in t.systems if s.name == "LightRAG"}
    (name,) = light
    assert METHODS[name].merge == "join"  # of version 1.0: budgets are not applied again


# --- what it takes ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_judge_calls_match_the_formula():
    # The users and the questions of each of five; 3 rivals x 125 questions x 2 orders.
    (posed, judged) = judging_stages(find_table("fg-rag", "1"), [])
    assert (posed.calls, judged.calls) == (6, 3 * 125 * 2)
    # 150 questions and a summary for each of 50 subgraphs; 6 pairs x 150 questions, each at most 3 attempts and 1
    # lengthening; x 2 orders x 2 repeats x 25 trials.
    found = {s.stage: s.calls for s in judging_stages(find_table("unbiased-evaluation", "11"), [])}
    assert found == {"questions": 200, "alignment": 6 * 150 * 4, "judge": 6 * 150 * 100}
    fewer = judging_stages(find_table("unbiased-evaluation", "11"), [], trials=2)
    assert fewer[-1].calls == 6 * 150 * 8
    some = judging_stages(find_table("unbiased-evaluation", "11"), [], trials=1, limit=10)
    assert [s.calls for s in some] == [12 + 4, 6 * 12 * 4, 6 * 12 * 4]
    assert judging_stages(find_table("rag-vs-graphrag", "2"), []) == []
    # Lengths are what figure 6 is about, so they are not aligned; both orders twice, one trial.
    (posed, judged) = judging_stages(find_table("unbiased-evaluation", "figure-6"), [])
    assert judged.calls == 150 * 4


@pytest.fixture
def endpoint():
    with ScriptedServer(chat=scripted_chat()) as server:
        yield (
            server,
            {
                "OPENAI_BASE_URL": server.base_url,
                "OPENAI_API_KEY": "sk",
                "POLYGRAPH_CHAT_MODEL": "gpt-4o-mini",
                "POLYGRAPH_EXTRACTOR": "nlp",
                "POLYGRAPH_RERANKER": "none",
            },
        )


@pytest.mark.slow
def test_a_dry_run_calls_no_model_and_writes_nothing(data, endpoint, tmp_path):
    server, env = endpoint
    words = ("rag-vs-graphrag", "2", "--data", data, "--output", tmp_path / "out", "--dry-run")
    found = run_json(*words, env=env)
    assert server.calls == 0
    assert not (tmp_path / "out").exists()
    calls = {row["stage"]: row["calls"] for row in found["stages"]}
    # One call per question; two for the triplets of the graph, whose first call names the entities.
    assert calls["answers, naive:rag-vs-graphrag"] == 3
    assert calls["answers, kg-text:rag-vs-graphrag"] == 6
    assert found["questions"] == 3
    priced = [row["cost"] for row in found["stages"] if row["cost"] is not None]
    assert priced
    assert min(priced) >= 0


def test_a_dry_run_prices_the_judge_that_is_named(data, endpoint, tmp_path):
    _, env = endpoint
    words = ("fg-rag", "1", "--data", data, "--output", tmp_path / "out", "--limit", 5, "--dry-run")
    same, other = (
        {row["stage"]: row["cost"] for row in run_json(*words, *judge, env=env)["stages"]}
        for judge in ((), ("--judge", "gpt-4o-2024-08-06"))
    )
    # gpt-4o costs 2.50 and 10 dollars for a million tokens, gpt-4o-mini 0.15 and 0.60.
    assert other["judge"] == pytest.approx(same["judge"] * 2.5 / 0.15)
    assert other["questions"] == same["questions"] > 0


def test_a_dry_run_counts_the_answers_of_a_tuned_reader(data, endpoint, tmp_path):
    _, env = endpoint
    words = ("graft", "4", "--data", data, "--output", tmp_path / "out", "--dry-run")
    plain, tuned = (
        {row["stage"]: row["calls"] for row in run_json(*words, *more, env=env)["stages"]}
        for more in ((), ("--tuned-model", "tuned"))
    )
    assert plain["answers, naive:graft"] == 3
    assert tuned["answers, naive:graft"] == 6


@pytest.mark.slow
def test_a_total_of_unknown_costs_is_unknown_and_not_zero(data, endpoint, tmp_path):
    _, env = endpoint
    words = ("rag-vs-graphrag", "2", "--data", data, "--output", tmp_path / "out", "--dry-run")
    env |= {"POLYGRAPH_CHAT_MODEL": "a-model-without-a-price"}
    found = run_json(*words, env=env)
    assert any(row["cost"] is None for row in found["stages"])
    assert found["total"]["cost"] is None
    assert found["total"]["calls"] > 0
    printed = run(*words, env=env)
    (total,) = (line for line in printed.stdout.splitlines() if "total" in line)
    assert "unknown" in total
    assert "$0.00" not in total
    assert "POLYGRAPH_PRICES" in printed.stderr


# --- end to end ---------------------------------------------------------------------------------------


def test_a_table_runs_end_to_end_and_resumes_without_new_calls(data, endpoint, tmp_path):
    server, env = endpoint
    words = ("fg-rag", "2", "--data", data, "--output", tmp_path / "out")
    found = run_json(*words, env=env)
    table = find_table("fg-rag", "2")
    assert [f["method"] for f in found["figures"]] == list(table.methods)
    assert all(f["n"] == 3 and 0 <= f["ours"]["mean"] <= 100 for f in found["figures"])
    assert found["figures"][-1]["published"]["gpt-4o-mini"] == 69.87
    before = server.calls
    assert run_json(*words, env=env) == found
    assert server.calls == before
    assert "NaiveRAG" in run(*words, env=env).output


@pytest.mark.slow
def test_the_rows_of_a_tuned_reader_are_run_only_if_one_is_named(data, endpoint, tmp_path):
    server, env = endpoint
    words = ("graft", "4", "--data", data, "--output", tmp_path / "out")
    plain = {(f["system"], f["column"]): f["ours"] for f in run_json(*words, env=env)["figures"]}
    assert plain["Baseline GraphRAG", "ROUGE-1"] is not None
    assert plain["GRAFT", "ROUGE-1"] is None
    before = server.calls
    tuned = run_json(*words, "--tuned-model", "tuned", env=env)
    found = {(f["system"], f["column"]): f["ours"] for f in tuned["figures"]}
    assert found["GRAFT", "ROUGE-1"] is not None
    assert found["RAFT", "ROUGE-1"] is not None
    assert found["Baseline GraphRAG", "ROUGE-1"] == plain["Baseline GraphRAG", "ROUGE-1"]
    assert server.calls > before
    with pytest.raises(BadInput, match="no tuned reader"):
        run("fg-rag", "2", "--data", data, "--tuned-model", "tuned", env=env)


@pytest.mark.slow
def test_a_judged_table_generates_answers_and_judges_its_questions(data, endpoint, tmp_path):
    _, env = endpoint
    out = tmp_path / "out"
    found = run_json("fg-rag", "3", "--data", data, "--output", out, "--limit", 5, env=env)
    assert [f["system"] for f in found["figures"]][::4] == ["FG-RAG", "w/o CAEE", "w/o QLFGS"]
    assert all(f["n"] == 5 for f in found["figures"])
    # Only pairs with the reference: 3 x 5 questions x 2 orders.
    assert len(StudyFolder(out / "study").judgements()) == 3 * 5 * 2
    again = run_json("fg-rag", "3", "--data", data, "--output", out, "--limit", 5, env=env)
    assert again == found


@pytest.mark.slow
def test_two_independent_runs_of_a_method_are_judged_against_each_other(data, endpoint, tmp_path):
    _, env = endpoint
    out = tmp_path / "out"
    words = ("unbiased-evaluation", "figure-2", "--data", data, "--output", out, "--limit", 3)
    dry = run_json(*words, "--dry-run", env=env)
    found = run_json(*words, env=env)
    assert {(f["column"], f["n"]) for f in found["figures"]} == {("shown first", 3), ("shown second", 3)}
    study = StudyFolder(out / "study")
    method = "lightrag-hybrid:unbiased-evaluation"
    assert {a.method for a in study.answers()} == {method, f"{method}#2"}
    # Both orders of three questions.
    assert len(study.judgements()) == 3 * 2
    (row,) = (row for row in dry["stages"] if row["stage"].startswith("answers"))
    # Three questions, each answered twice, by two calls.
    assert row["calls"] == 3 * 2 * 2


@pytest.mark.slow
def test_questions_about_single_documents_are_asked_of_their_own_index(data, endpoint, tmp_path):
    _, env = endpoint
    out = tmp_path / "out"
    found = run_json("rag-vs-graphrag", "1-nq", "--data", data, "--output", out, env=env)
    assert len(list((out / "index" / "documents").glob("*.jsonl"))) == 2
    answers = StudyFolder(out / "study").answers()
    assert [a.question for a in answers][:: len(find_table("rag-vs-graphrag", "1-nq").methods)] == [
        "q1",
        "q2",
        "q3",
    ]
    # The same words, asked of two documents: each answer comes from its own.
    for a in answers:
        wanted = next(q["evidence"][0] for q in ASKED if q["id"] == a.question)
        assert {e["document"] for e in a.evidence if e["document"]} <= {wanted}
    assert {f["n"] for f in found["figures"]} == {3}


# --- what can go wrong --------------------------------------------------------------------------------


def test_without_arguments_it_lists_the_tables():
    listed = run_json()
    assert len(listed) == len(TABLES)
    assert {"paper", "table", "place", "data", "methods", "pictured"} <= set(listed[0])
    shown = run().stdout
    assert "Figure 13; numbers only in a chart" in shown
    assert "Figure 11 and the text of section 5.2; some numbers only in a chart" in shown


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("bert",), "there is no paper 'bert'"),
        (("bert", "1"), "no paper 'bert'. Choose one of: rag-vs-graphrag"),
        (("fg-rag", "9"), "no table '9'. Choose one of: 1, 2, 3"),
        (("fg-rag", "2"), "--data is missing"),
        (("fg-rag", "2", "--data", ".", "--limit", "-1"), "--limit -1"),
    ],
)
def test_what_is_missing_is_named(words, told):
    with pytest.raises(BadInput, match=told):
        run(*words)


def test_bertscore_for_a_table_without_it_is_an_error_before_any_call(data):
    with pytest.raises(BadInput, match="table 2 of fg-rag has no BERTScore"):
        run("fg-rag", "2", "--data", data, "--bertscore")


def test_missing_data_files_are_named(tmp_path):
    table = find_table("fg-rag", "2")
    with pytest.raises(BadInput, match=r"no questions\.jsonl"):
        data_files(tmp_path, table)
    with pytest.raises(BadInput, match=r"no corpus\.jsonl"):
        data_files(tmp_path, find_table("fg-rag", "1"))


def test_without_a_model_it_says_what_to_set(data, tmp_path):
    env = {"OPENAI_BASE_URL": "", "OPENAI_API_KEY": "", "POLYGRAPH_CHAT_MODEL": ""}
    dry = run("fg-rag", "2", "--data", data, "--output", tmp_path / "o", "--dry-run", env=env)
    assert "no chat model is configured" in dry.stderr
    assert "total, at least" in dry.stdout
    with pytest.raises(BadInput, match="POLYGRAPH_CHAT_MODEL"):
        run("fg-rag", "2", "--data", data, "--output", tmp_path / "o", env=env)
