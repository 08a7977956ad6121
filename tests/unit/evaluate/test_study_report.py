"""The report of a study: contents, escaping, reproducibility."""

import importlib.util
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from polygraph.evaluate.judging.judgements import Judgement
from polygraph.evaluate.metrics.answer_scores import correctness, score_answers
from polygraph.evaluate.metrics.oracle import Confusion, confusions
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.records import StudyAnswer
from polygraph.evaluate.reports.charts import (
    cost_scatter,
    heat_map,
    pair_label,
    pca_2d,
    umap_2d,
)
from polygraph.evaluate.reports.formatting import shorten
from polygraph.evaluate.reports.study_conclusions import oracle_sentence
from polygraph.evaluate.reports.study_provenance import study_provenance
from polygraph.evaluate.reports.study_report import StudyReport, html_report, json_report, markdown_report
from polygraph.evaluate.reports.summarise_study import summarise_study
from polygraph.models import Calls, Models
from polygraph.models.providers.static import HashEmbedder
from polygraph.records import Usage
from polygraph.tasks.evaluation.judge import ASPECTS
from tests.made_with import MADE_WITH

MODELS = Models(
    chat=None, embedder=HashEmbedder(), name_embedder=HashEmbedder(), reranker=None, calls=Calls(None)
)
EVIL = '<script>alert("x")</script>'


def questions(n):
    return [
        Question(
            id=f"q{i}", question=f"Question {i}? {EVIL}", type="node" if i % 2 else "edge", answers=("Mara",)
        )
        for i in range(n)
    ]


def answer(q, method, text, factor=1, **more):
    usage = Usage(
        calls=factor,
        prompt_tokens=900 * factor,
        completion_tokens=100 * factor,
        seconds=0.5 * factor,
        cost=0.001 * factor,
    )
    return StudyAnswer(
        question=q,
        method=method,
        text=text,
        refused=False,
        extractive=False,
        made_with=more.pop("made_with", MADE_WITH),
        usage=usage,
        evidence=({"kind": "chunk", "id": EVIL, "document": "d", "score": 1.0, "why": EVIL},),
        **more,
    )


def judged(n, gap, *, trials=2):
    """Judge A better by `gap` points on all questions except every fifth, where B is better."""
    found = []
    for i in range(n):
        a, b = (2.0 + gap, 2.0) if i % 5 else (2.0, 2.0 + gap)
        for trial in range(trials):
            for methods, scores in ((("A", "B"), (a, b)), (("B", "A"), (b, a))):
                found.append(
                    Judgement(
                        protocol="unbiased",
                        question=f"q{i}",
                        methods=methods,
                        judge="j",
                        trial=trial,
                        scores=dict.fromkeys(ASPECTS, scores),
                    )
                )
    return found


def material(n=40, gap=1.0):
    asked = questions(n)
    answers = [
        answer(q.id, m, f"{'Mara' if m == 'A' or i % 2 else 'Tobin'} did it. {EVIL}", 1 if m == "A" else 9)
        for i, q in enumerate(asked)
        for m in ("A", "B")
    ]
    judgements = judged(n, gap)
    right = correctness(asked, answers)
    return StudyReport(
        title=f"A study {EVIL}",
        settings={"questions": {"kind": "own"}},
        questions=tuple(asked),
        answers=tuple(answers),
        judgements=tuple(judgements),
        findings=summarise_study(asked, answers, [], judgements),
        protocol="unbiased",
        gold=score_answers(asked, answers, MODELS),
        confusions=confusions(right),
        further_conclusions=(oracle_sentence(right),),
        provenance=study_provenance(answers, judgements),
    )


@pytest.fixture(scope="module")
def made():
    return material()


@pytest.fixture(scope="module")
def page(made):
    return html_report(made)


def test_a_significant_difference_is_reported_with_direction_and_cost(made):
    (pair,) = made.findings.pairs
    assert pair.differs
    assert (pair.pooled.wins, pair.pooled.losses) == (64, 16)
    assert pair.relative.mean == pytest.approx(0.6)
    assert pair.gap.mean == pytest.approx(0.6)
    assert "A is judged better than B" in pair.sentence
    assert "; B uses 9.0 times as many tokens" in pair.sentence
    assert made.findings.conclusions[0].startswith("The comparison shows a significant difference")
    assert made.findings.ranking[0].method == "A"


def test_ten_ties_are_undecided_and_nothing_is_recommended():
    report = material(n=10, gap=0.0)
    (pair,) = report.findings.pairs
    assert (pair.decision, pair.pooled.ties, pair.further) == ("undecided", 20, 62)
    assert pair.sentence.startswith("Undecided between A and B on 10 questions")
    assert "about 62 further questions would decide" in report.conclusions[0]
    assert report.conclusions[1].startswith("No method can be recommended")
    assert not any("tokens" in sentence for sentence in report.conclusions)
    assert any("fewer than 30" in note for note in report.findings.notes)


def test_so_many_ties_are_equivalent_and_the_cheaper_method_is_recommended():
    report = material(n=75, gap=0.0)
    (pair,) = report.findings.pairs
    assert pair.decision == "equivalent"
    assert pair.sentence.startswith("A and B are equivalent within 5 points on 75 questions")
    assert "B uses 9.0 times as many tokens" in pair.sentence
    assert report.conclusions[1] == "A uses the fewest tokens of the equivalent methods A, B."
    assert not any("fewer than 30" in note for note in report.findings.notes)


def test_correct_answers_refusals_and_the_oracle_are_counted(made):
    assert made.gold.figures()["A"]["accuracy"] == 1.0
    assert made.gold.figures()["B"]["accuracy"] == 0.5
    assert made.confusions == {("A", "B"): Confusion(both=20, a_only=20, b_only=0, neither=0)}
    assert "would answer 100%" in made.further_conclusions[0]
    null = [
        Question(id="n", question="Who?", null=True),
        Question(id="m", question="What?", answers=("Mara",)),
    ]
    said = [answer("n", "A", "no"), answer("m", "A", "Mara")]
    assert correctness(null, said) == {"A": {"n": 0.0, "m": 1.0}}
    assert score_answers(null, said, MODELS).figures()["A"]["refusal recall"] == 0.0


def test_the_page_is_self_contained_and_escapes_markup_of_documents(made):
    page = html_report(made, np.random.default_rng(0).normal(size=(len(made.answers), 8)).astype(np.float32))
    assert "<script" not in page
    assert not re.search(r'(?:src|href)="(?!#)', page)
    assert "http://" not in re.sub(r'xmlns(?::\w+)?="[^"]*"', "", page)
    checker = Balanced()
    checker.feed(page)
    assert checker.open == []
    assert page.count("<details>") == 40 + 80 + 3  # questions, evidence, numbers of figures
    assert page.count('role="img"') == page.count("<svg") >= 6
    assert len(page) < 5_000_000


@pytest.mark.slow
def test_the_same_study_gives_the_same_page():
    one, other = material(n=12), material(n=12)
    vectors = np.random.default_rng(0).normal(size=(len(one.answers), 8)).astype(np.float32)
    assert html_report(one, vectors) == html_report(other, vectors)
    assert json.dumps(json_report(one)) == json.dumps(json_report(other))


def test_markdown_has_a_row_for_each_method_and_comparison(made):
    lines = markdown_report(made).splitlines()
    assert any(line.startswith("| A | 40 ") for line in lines)
    assert any(line.startswith("| A | B | 40 ") for line in lines)


def test_intervals_say_how_they_are_corrected_and_units_stand_in_every_form_of_the_report(made, page):
    text = markdown_report(made)
    for part in (
        "its interval over questions and p are corrected for all pairs (Holm)",
        "Points: mean difference of scores per aspect; its interval (95%)",
        "intervals and p are corrected for all pairs of a metric (Holm)",
        "seconds: median and 95th percentile",
    ):
        assert part in text, part
        assert part in page, part
    assert "difference [95%]" not in page + text
    assert (
        "Blue lines: interval over questions, which shows how other questions could differ, corrected" in page
    )


def test_types_of_question_have_their_number_and_an_interval(page):
    assert ">node (20)<" in page
    [cells] = re.findall(r">node \(20\)</td>(.*?)</tr>", page)
    assert re.search(r"\+60% \[\+\d+, \+\d+\]", cells)


def test_a_rate_of_zero_has_no_minus_in_the_heat_map():
    drawn = heat_map(["A", "B"], material(n=10, gap=0.0).findings.pairs)
    assert "+0<" in drawn
    assert "-0<" not in drawn


def test_names_of_points_that_lie_together_do_not_cover_each_other(made):
    spent = (1000, 1001, 1002, 9000)
    methods = [replace(made.findings.methods[0], method=f"method {n}", tokens=n) for n in spent]
    drawn = cost_scatter(methods, {m.method: (0.1, 0.0, 0.2) for m in methods}, "strength")
    *near, alone = [float(y) for y in re.findall(r'y="([\d.]+)"[^>]*>method', drawn)]
    assert len(near) == 3
    assert min(abs(a - b) for a, b in combinations(near, 2)) > 9
    assert alone == max(near)  # just above its point


def test_without_judgements_there_is_still_a_report_of_the_methods():
    asked = questions(2)
    found = summarise_study(asked, [answer("q0", "A", "x"), answer("q1", "A", "y")], [], [])
    assert found.pairs == ()
    assert "There are no judgements yet" in found.conclusions[0]


def test_pca_keeps_the_distances_of_coplanar_points():
    flat = np.asarray([[0, 0, 0], [3, 0, 0], [0, 4, 0]], dtype=np.float32)
    points = pca_2d(flat)
    assert np.linalg.norm(points[1] - points[2]) == pytest.approx(5.0, abs=1e-3)


def test_umap_keeps_groups_apart_and_gives_the_same_places_again():
    pytest.importorskip("umap", reason="needs umap-learn")
    rng = np.random.default_rng(0)
    groups = np.repeat(np.eye(2, 8), 10, axis=0) + 0.01 * rng.standard_normal((20, 8))
    places = umap_2d(groups, seed=1)
    assert np.array_equal(places, umap_2d(groups, seed=1))
    within = max(np.ptp(places[:10], axis=0).max(), np.ptp(places[10:], axis=0).max())
    assert np.linalg.norm(places[:10].mean(axis=0) - places[10:].mean(axis=0)) > within / 2


def test_umap_of_few_answers_is_not_drawn():
    assert umap_2d(np.eye(3), seed=1) is None


@pytest.mark.slow
def test_long_answers_are_truncated_with_a_count():
    asked = questions(150)
    said = [answer(q.id, m, "word " * 1_500) for q in asked for m in "ABCDEF"]
    made = StudyReport(
        title="Long", settings={}, questions=tuple(asked), answers=tuple(said), judgements=(),
        findings=summarise_study(asked, said, [], []), protocol="unbiased", gold=None,
        provenance=study_provenance(said, []),
    )  # fmt: skip
    page = html_report(made)
    assert 3_000_000 < len(page.encode()) < 5_000_000
    assert page.count("more characters]") == 900


def test_the_page_is_accessible_to_screen_readers(page):
    ids = re.findall(r'<h2 id="([^"]+)"', page)
    assert len(ids) == len(set(ids)) >= 6
    assert re.findall(r'<a href="#([^"]+)"', page) == ids
    assert page.count("<h1") == 1
    assert "<h4" not in page
    assert page.count("<table>") == page.count("<caption>") == page.count('role="region" tabindex="0"')
    assert 'aria-label=""' not in page
    assert '<th scope="row">A</th>' in page


def test_the_better_method_comes_first_with_a_positive_rate():
    asked = questions(40)
    said = [answer(q.id, m, "Mara did it.") for q in asked for m in "AB"]
    swapped = [replace(j, scores={k: v[::-1] for k, v in j.scores.items()}) for j in judged(40, 1.0)]
    (pair,) = summarise_study(asked, said, [], swapped).pairs
    assert pair.relative.mean == pytest.approx(-0.6)
    assert pair.sentence.startswith(
        "B is judged better than A on 40 questions (relative win rate +60%, 95% interval +"
    )


def test_long_names_are_shortened_in_the_middle():
    assert shorten("a" * 40) == "a" * 15 + "…" + "a" * 14
    assert len(shorten("a" * 40)) == 30
    assert pair_label("one", "other") == "one\n– other"


@pytest.mark.deep
def test_a_report_of_six_methods_on_150_questions_is_small(monkeypatch):
    path = Path(__file__).parents[3] / "benchmarks" / "report_size.py"
    # It imports another benchmark, as it does when it is run as a script.
    monkeypatch.syspath_prepend(path.parent)
    spec = importlib.util.spec_from_file_location("report_size", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.study(150, 1)
    page = html_report(made, np.random.default_rng(0).normal(size=(len(made.answers), 8)))
    assert len(page.encode()) < module.MOST_BYTES
    assert "9 more comparisons" in page


VOID = ("meta", "br", "path", "use", "rect", "circle", "line")


class Balanced(HTMLParser):
    """Checks that every element is closed."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


# --- what a study was made with -------------------------------------------------------------------------

MADE = replace(
    MADE_WITH,
    chat="openai/gpt-4o-mini",
    embedder="bge",
    temperature=0.7,
    version="9.9",
    layers={"chunks": "c1", "graph": "g1"},
)


def report_of(answers, judgements, asked):
    found = summarise_study(asked, answers, [], judgements)
    return StudyReport(
        title="A study",
        settings={},
        questions=tuple(asked),
        answers=tuple(answers),
        judgements=tuple(judgements),
        findings=found,
        protocol="unbiased",
        gold=None,
        provenance=study_provenance(answers, judgements, ["2026-11-20", "2026-11-23"]),
    )


def test_every_form_of_the_report_names_answerer_judge_embedder_index_version_and_days():
    asked = questions(10)
    said = [
        answer(q.id, m, f"{m} did it.", made_with=MADE, date=f"2026-11-1{i}")
        for i, q in enumerate(asked)
        for m in "AB"
    ]
    report = report_of(said, [replace(j, judge="gpt-5") for j in judged(10, 1.0)], asked)
    data = json_report(report)["made_with"]
    assert (data["answerers"], data["judges"], data["answered"]) == (
        ("openai/gpt-4o-mini",),
        ("gpt-5",),
        ("2026-11-10", "2026-11-19"),
    )
    for text in (html_report(report), markdown_report(report)):
        for name in ("openai/gpt-4o-mini", "gpt-5", "bge", data["index"], "9.9", "2026-11-10 to 2026-11-19"):
            assert name in text
    assert any("gpt-5 belongs to the same family" in note for note in report.findings.notes)


def test_a_judge_of_another_or_an_unknown_family_is_not_remarked_on():
    asked = questions(10)
    said = [answer(q.id, m, f"{m} did it.", made_with=MADE) for q in asked for m in "AB"]
    for judge in ("claude-3", "anna"):
        found = report_of(said, [replace(j, judge=judge) for j in judged(10, 1.0)], asked).findings
        assert not any("family" in note for note in found.notes)


def test_questions_from_a_graph_are_noted_with_the_methods_that_read_it():
    asked = questions(10)
    plain = replace(MADE, layers={"chunks": "c1"})
    said = [
        answer(q.id, m, f"{m} did it.", made_with=MADE if m == "A" else plain) for q in asked for m in "AB"
    ]
    notes = report_of(said, judged(10, 1.0), asked).findings.notes
    assert any("favours methods that read that graph (here: A)" in note for note in notes)
    own = [replace(q, type="") for q in asked]
    assert not any("generated from a graph" in note for note in report_of(said, [], own).findings.notes)


def controlled(n, gap):
    """Judge A against B, and A against a second instance of A that is better by `gap` points."""
    asked = questions(n)
    said = [answer(q.id, m, f"{m} did it.") for q in asked for m in ("A", "A#2", "B")]
    extra = [
        replace(j, methods=("A", "A#2") if k % 2 else ("A#2", "A"), scores=dict.fromkeys(ASPECTS, pair))
        for k, j in enumerate(judged(n, 0.0))
        for pair in [(2.0, 2.0 + gap) if k % 2 else (2.0 + gap, 2.0)]
    ]
    return report_of(said, [*judged(n, 1.0), *extra], asked)


def test_the_control_stands_in_every_report_and_is_no_method_of_its_own():
    report = controlled(40, 0.0)
    found = report.findings
    assert [m.method for m in found.methods] == ["A", "B"]
    assert [(p.a, p.b) for p in found.pairs] == [("A", "B")]
    assert [(p.a, p.b, p.decision) for p in found.controls] == [("A", "A#2", "undecided")]
    (sentence,) = (s for s in report.conclusions if s.startswith("A/A control"))
    assert "no difference is found, as it should be" in sentence
    assert {s.method for s in found.ranking} == {"A", "B"}
    assert not any("no A/A control" in note for note in found.notes)
    for text in (html_report(report), markdown_report(report)):
        assert "A/A control" in text
        assert "A#2" in text
        assert "p (Holm)" in text
    assert json_report(report)["findings"]["controls"][0]["b"] == "A#2"


def test_a_control_that_finds_a_difference_says_that_such_differences_prove_nothing():
    (control,) = controlled(40, 1.0).findings.controls
    assert control.differs
    assert "differences of this size prove nothing" in control.sentence


def test_without_a_control_the_report_says_how_to_run_one(made):
    assert any("-m hybrid,hybrid" in note for note in made.findings.notes)


def test_reasons_of_the_judge_stand_next_to_its_scores_escaped_and_bounded():
    asked = questions(12)
    said = [answer(q.id, m, f"{m} did it.") for q in asked for m in "AB"]
    reasons = dict.fromkeys(ASPECTS, f"It digresses. {EVIL}")
    page = html_report(report_of(said, [replace(j, reasons=reasons) for j in judged(12, 1.0)], asked))
    assert page.count("It digresses.") == 12 * 2 * 4  # both orders of the first trial, four aspects
    assert "8 further reasons in judgements.jsonl" in page
    assert "<script" not in page
    long = dict.fromkeys(ASPECTS, "x" * 400)
    many = questions(150)
    said = [answer(q.id, m, f"{m} did it.") for q in many for m in "AB"]
    page = html_report(report_of(said, [replace(j, reasons=long) for j in judged(150, 1.0)], many))
    assert len(page) < 5_000_000
