"""Human raters: blinded sheets, and the ratings read from them."""

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from polygraph.cli import app
from polygraph.errors import BadInput
from polygraph.evaluate.judging.judge_agreement import judge_agreement
from polygraph.evaluate.judging.judgements import Judgement
from polygraph.evaluate.judging.length_alignment import AlignedPair
from polygraph.evaluate.judging.pairwise import JudgingDesign
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.records import StudyAnswer
from polygraph.evaluate.reports.summarise_study import summarise_study
from polygraph.evaluate.runs.human_sheets import COLUMNS, read_ratings, safe_cell, write_sheet
from polygraph.evaluate.runs.study_folder import StudyFolder
from polygraph.evaluate.runs.study_steps import add_ratings
from polygraph.testing import scripted_chat
from polygraph.workspace.index import Index
from tests.made_with import MADE_WITH

QUESTIONS = {f"q{i}": f"Question {i}?" for i in range(10)}
METHODS = ("hipporag", "lightrag-mix")


def pair(question, a="One answer.", b="Another answer.", how="free"):
    return AlignedPair(
        question=question, a=METHODS[0], b=METHODS[1], texts=(a, b), words=(2, 2), attempts=0, how=how
    )


@pytest.fixture
def study(tmp_path):
    return StudyFolder(tmp_path / "study")


@pytest.fixture
def sheet(study, tmp_path):
    path = tmp_path / "sheet.csv"
    pairs = [pair(q, f"{METHODS[0]} text", f"{METHODS[1]} text") for q in QUESTIONS]
    # Texts that reveal the method, for the tests only.
    assert write_sheet(study, QUESTIONS, pairs, path, seed=3) == 10
    return path


def rows(path):
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))


def fill(path, mark, **how):
    """Rate every row by a function of it, and save the sheet as a spreadsheet would."""
    marked = [{**row, "better": mark(row)} for row in rows(path)]
    out = io.StringIO(newline="")
    table = csv.DictWriter(out, COLUMNS, **how)
    table.writeheader()
    table.writerows(marked)
    return out.getvalue()


def test_identical_answers_are_a_tie_already(study, tmp_path):
    path = tmp_path / "s.csv"
    write_sheet(study, QUESTIONS, [pair("q0", "Same.", "Same."), pair("q1")], path)
    assert {row["question"]: row["better"] for row in rows(path)} == {"Question 0?": "tie", "Question 1?": ""}
    assert (len(read_ratings(study, path, "anna").judgements), read_ratings(study, path, "anna").blank) == (
        1,
        1,
    )


def prefers(method):
    return lambda row: "1" if row["answer 1"].startswith(method) else "2"


def test_ratings_become_judgements_of_the_answers_shown(study, sheet):
    sheet.write_text(fill(sheet, prefers("hipporag")))
    found = read_ratings(study, sheet, "anna")
    assert len(found.judgements) == 10
    assert found.blank == 0
    for one in found.judgements:
        assert one.judge == "anna"
        assert one.scores["overall"][one.methods.index("hipporag")] == 1.0


def test_the_sheet_names_no_method_and_swaps_half_of_the_rows(study, tmp_path):
    path = tmp_path / "s.csv"
    write_sheet(study, QUESTIONS, [pair(q) for q in QUESTIONS], path)
    text = path.read_text("utf-8-sig")
    assert not any(method in text for method in METHODS)
    first = [row["answer 1"] for row in rows(path)]
    assert first.count("One answer.") == first.count("Another answer.") == 5
    assert [row["question"] for row in rows(path)] != list(QUESTIONS.values())


def test_the_seed_determines_the_sheet(tmp_path):
    texts = []
    for i, seed in enumerate((1, 1, 2)):
        study, path = StudyFolder(tmp_path / f"s{i}"), tmp_path / f"{i}.csv"
        write_sheet(study, QUESTIONS, [pair(q) for q in QUESTIONS], path, seed=seed)
        texts.append((path.read_bytes(), study.file("sheets").read_bytes()))
    assert texts[0] == texts[1]
    assert texts[0][0] != texts[2][0]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "  =1", "\r\n=1", "＝1"])
def test_no_cell_is_a_formula(text, study, tmp_path):
    assert safe_cell(text).startswith("'")
    path = tmp_path / "s.csv"
    write_sheet(study, {"q0": text}, [pair("q0", text, text)], path)
    (row,) = rows(path)
    assert all(row[name].startswith("'") for name in ("question", "answer 1", "answer 2"))


def test_an_existing_sheet_is_not_overwritten(study, sheet):
    with pytest.raises(BadInput, match="may contain ratings"):
        write_sheet(study, QUESTIONS, [pair("q0")], sheet)


def test_discarded_pairs_are_left_out_and_an_empty_sheet_is_an_error(study, tmp_path):
    pairs = [pair("q0"), pair("q1", how="discarded")]
    assert write_sheet(study, QUESTIONS, pairs, tmp_path / "s.csv") == 1
    with pytest.raises(BadInput, match="no pairs of answers"):
        write_sheet(study, QUESTIONS, pairs[1:], tmp_path / "t.csv")
    assert write_sheet(study, QUESTIONS, [pair(q) for q in QUESTIONS], tmp_path / "u.csv", limit=4) == 4


@pytest.mark.parametrize(
    ("how", "encoding"),
    [
        ({"delimiter": ";"}, "utf-8"),
        ({"delimiter": "\t"}, "utf-16"),
        ({"quoting": csv.QUOTE_ALL}, "utf-8-sig"),
        ({"lineterminator": "\n"}, "cp1252"),
    ],
)
def test_sheets_saved_by_spreadsheets_are_read(study, sheet, how, encoding):
    sheet.write_bytes(fill(sheet, prefers("lightrag-mix"), **how).encode(encoding))
    found = read_ratings(study, sheet, "anna")
    assert len(found.judgements) == 10
    assert all(j.scores["overall"][j.methods.index("lightrag-mix")] == 1.0 for j in found.judgements)


def test_columns_may_be_moved_and_rows_sorted_and_left_blank(study, sheet):
    filled = rows(sheet)
    lines = ["better,ITEM "] + [
        f"{mark},{row['item']}"
        for mark, row in zip(["Tie", "", "2.0", "answer 1"], filled[::-1], strict=False)
    ]
    sheet.write_text("\n".join([*lines, "", ",,"]))
    found = read_ratings(study, sheet, "anna")
    assert [j.scores["overall"] for j in found.judgements] == [(0.5, 0.5), (0.0, 1.0), (1.0, 0.0)]
    assert found.blank == 1


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda lines: [*lines[:2], lines[2].replace(",,", ",3,")], "line 3: better is '3'"),
        (lambda lines: [lines[0], "zz-0001,,,,1,"], "line 2: the item 'zz-0001' is not on any sheet"),
        (lambda lines: ["a,b", *lines[1:]], "line 1: there is no column item and no column better"),
        (lambda lines: [], "line 1: there is no column"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(study, sheet, change, told):
    sheet.write_text("\n".join(change(sheet.read_text("utf-8-sig").splitlines())))
    with pytest.raises(BadInput, match=told):
        read_ratings(study, sheet, "anna")


def test_conflicting_ratings_of_one_item_are_an_error(study, sheet):
    item = rows(sheet)[0]["item"]
    sheet.write_text(f"item,better\n{item},1\n{item},2\n")
    with pytest.raises(BadInput, match=r"line 3: .*has another rating"):
        read_ratings(study, sheet, "anna")


def test_ratings_need_a_sheet_and_a_name(study, sheet, tmp_path):
    with pytest.raises(BadInput, match="--judge is empty"):
        read_ratings(study, sheet, " ")
    with pytest.raises(BadInput, match="has no sheets"):
        read_ratings(StudyFolder(tmp_path / "other"), sheet, "anna")
    with pytest.raises(BadInput, match="cannot be read"):
        read_ratings(study, tmp_path / "none.csv", "anna")


def test_a_later_rating_replaces_the_earlier_one(study, sheet):
    for method in METHODS:
        sheet.write_text(fill(sheet, prefers(method), lineterminator="\n"))
        add_ratings(study, read_ratings(study, sheet, "anna").judgements)
    judged = study.judgements()
    assert len(judged) == 10
    assert all(j.scores["overall"][j.methods.index(METHODS[1])] == 1.0 for j in judged)


def answers():
    return [
        StudyAnswer(question=q, method=m, text="word", refused=False, extractive=False, made_with=MADE_WITH)
        for q in QUESTIONS
        for m in METHODS
    ]


def test_ratings_in_one_order_are_summarised(study, sheet):
    sheet.write_text(fill(sheet, prefers("hipporag")))
    judged = read_ratings(study, sheet, "anna").judgements
    asked = [Question(id=i, question=t) for i, t in QUESTIONS.items()]
    (found,) = summarise_study(asked, answers(), [], judged, protocol="people").pairs
    assert (found.a, found.pooled.wins, found.n) == ("hipporag", 10, 10)


def said(judge, winners, protocol="people"):
    """One judgement for each question; the winner is the first or second method, or 0 for a tie."""
    scores = {1: (1.0, 0.0), 2: (0.0, 1.0), 0: (0.5, 0.5)}
    return [
        Judgement(
            protocol=protocol, question=f"q{i}", methods=("A", "B"), judge=judge, scores={"o": scores[w]}
        )
        for i, w in enumerate(winners)
    ]


def test_agreement_matches_the_worked_example_and_names_the_lowest():
    anna, ben, cora = [1, 1, 2, 2, 0, 1], [1, 1, 2, 1, 0, 1], [2, 2, 1, 1, 0, 2]
    found = judge_agreement([*said("anna", anna), *said("ben", ben), *said("cora", cora)])
    first = found.pairs[0]
    # By hand: 5 of 6 equal; by chance 3/6*4/6 + 2/6*1/6 + 1/6*1/6 = 15/36; kappa = (30 - 15) / (36 - 15).
    assert (first.one, first.other, first.n, first.same) == ("anna", "ben", 6, pytest.approx(5 / 6))
    assert first.kappa == pytest.approx(15 / 21)
    assert "lowest between anna and cora" in found.sentence
    assert judge_agreement(said("anna", anna)) is None


def test_a_rater_is_compared_with_a_model_of_another_protocol():
    model = [
        Judgement(
            protocol="unbiased",
            question=f"q{i}",
            methods=m,
            judge="gpt",
            scores={"x": s if m[0] == "A" else s[::-1]},
        )
        for i, s in enumerate([(4.0, 2.0), (1.0, 3.0)])
        for m in (("A", "B"), ("B", "A"))
    ]
    found = judge_agreement([*said("anna", [1, 2]), *model])
    assert [(p.one, p.other, p.same) for p in found.pairs] == [("anna (people)", "gpt (unbiased)", 1.0)]


def test_the_command_reads_ratings_and_counts_them(study, sheet):
    sheet.write_text(fill(sheet, prefers("hipporag")))
    place = str(study.path)
    study.fix_settings("questions", {"kind": "own"})
    run = CliRunner().invoke(
        app, ["eval", "ratings", "--output", place, "--sheet", str(sheet), "--judge", "anna", "--json"]
    )
    assert run.exit_code == 0, run.output
    assert json.loads(run.output)["marks"] == 10
    assert len(study.judgements()) == 10
    lost = CliRunner().invoke(
        app, ["eval", "ratings", "--output", f"{place}x", "--sheet", str(sheet), "--judge", "anna"]
    )
    assert isinstance(lost.exception, BadInput)


def judged_once(protocol, *, trials=1):
    """The answer of hipporag is better on every question; one order, or alternating orders over trials."""
    found = []
    for question in QUESTIONS:
        for trial in range(trials):
            methods = METHODS if trial % 2 == 0 else METHODS[::-1]
            scores = (1.0, 0.0) if methods[0] == METHODS[0] else (0.0, 1.0)
            found.append(
                Judgement(
                    protocol=protocol,
                    question=question,
                    methods=methods,
                    judge="j",
                    trial=trial,
                    scores={"overall": scores},
                )
            )
    return found


@pytest.mark.parametrize(
    ("protocol", "trials", "warned"), [("lightrag", 1, True), ("benchmark-qed", 2, False)]
)
def test_protocols_with_one_order_per_trial_are_summarised_and_warned_about(protocol, trials, warned):
    asked = [Question(id=i, question=t) for i, t in QUESTIONS.items()]
    found = summarise_study(asked, answers(), [], judged_once(protocol, trials=trials), protocol=protocol)
    assert found.pairs[0].pooled.wins == 10 * trials
    assert any("one order only" in note for note in found.notes) is warned


def test_the_report_compares_a_model_with_a_rater(tmp_path, hashed_models):
    papers = tmp_path / "p"
    papers.mkdir()
    (papers / "a.txt").write_text(
        "Mara Quill built the Skerry Light. Old Tobin sailed the Halcyon to Sallow Bay."
    )
    (papers / "b.txt").write_text(
        "Tobias Wren refused to pay for the lamp. Hester Vance planted apples in Corfe."
    )
    asked = [
        Question(id=f"q{i}", question=f"What did {who} do?")
        for i, who in enumerate(("Mara", "Tobin", "Hester"))
    ]
    with Index.open(tmp_path / "i", models=hashed_models(scripted_chat())) as index:
        index.add(papers, methods=["bm25", "naive"])
        study = index.experiment(tmp_path / "study")
        study.import_questions(asked)
        study.answer(["bm25", "naive"])
        path = tmp_path / "sheet.csv"
        study.judge([index.models.chat], JudgingDesign(repeats=1, trials=1))
        kept = [p for p in study.folder.aligned() if p.how != "discarded"]
        with index.models.calls.meter() as meter:
            assert study.sheet(path) == len(kept) > 0
        assert meter.usage.calls == 0  # pairs aligned for the model are reused for the rater
        path.write_text(fill(path, lambda _: "tie", lineterminator="\n"))
        add_ratings(study.folder, read_ratings(study.folder, path, "anna").judgements)
        by_people = study.report(protocol="people")
        assert by_people.findings.pairs[0].pooled.ties == len(kept)
        material = study.report()
        with pytest.raises(BadInput, match="may contain ratings"):
            study.sheet(path)
    assert [(p.one, p.n) for p in material.agreement.pairs] == [("anna (people)", len(kept))]
    assert "Agreement of judges" in (tmp_path / "study" / "report.html").read_text(encoding="utf-8")
    # The reports of two protocols do not overwrite each other.
    told = {p: study.report_file(p, "json").read_text(encoding="utf-8") for p in ("people", "unbiased")}
    assert {p: json.loads(text)["protocol"] for p, text in told.items()} == {p: p for p in told}
    assert study.report_file("people").name == "report-people.html"
    with pytest.raises(BadInput, match="cannot be part of a file name"):
        study.report(protocol="../people")
    assert "| anna (people) |" in (tmp_path / "study" / "report.md").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "study" / "report.json").read_text(encoding="utf-8"))["agreement"]["pairs"]
