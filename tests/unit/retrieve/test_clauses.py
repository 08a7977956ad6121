import pytest

from polygraph.retrieve.clauses import cover_clauses, split_clauses
from polygraph.retrieve.methods.walk import NameWalk
from polygraph.store.snapshot import Snapshot
from polygraph.store.vectors import Hit
from polygraph.testing import hashed_models
from polygraph.workspace.index import Index

TWO_FACTS = (
    "Which harbour did the Orlen shipping company lease for its coal barges, "
    "and which surgeon founded the children's hospital beside the northern railway?"
)


@pytest.mark.parametrize(
    ("question", "n"),
    [
        (TWO_FACTS, 2),
        (
            "Between the March report on cracked valves in the northern pumps and the June report on new seals in "
            "the southern pumps, did the supplier change?",
            2,
        ),
        (
            "Welche Firma pachtete den alten Hafen für ihre schweren Kohlekähne, während welcher Chirurg das große "
            "Krankenhaus neben der nördlichen Bahnlinie gründete?",
            2,
        ),
        ("Which mountain is higher, Nanda Devi or Broad Peak?", 1),
        ("Where was the director of the film that won the prize born?", 1),
        ("", 1),
    ],
)
def test_a_question_is_split_only_into_clauses_that_say_enough(question, n):
    clauses = split_clauses(question)
    assert len(clauses) == n
    assert " ".join(clauses) == question


def test_quoted_text_and_numbers_stay_whole():
    quoted = "the coal barges and the northern railway, and the surgeon"
    clauses = split_clauses(f'Who paid 1,200,000 marks for "{quoted}" in Dunmere?', min_stems=2)
    assert any(quoted in clause for clause in clauses)
    assert any("1,200,000" in clause for clause in clauses)


def test_a_clause_that_matches_weakly_still_gets_a_passage_early():
    strong = [Hit(n, 0.9 - 0.01 * n) for n in range(5)]
    weak = [Hit(n, 0.5 - 0.01 * n) for n in range(10, 15)]
    chosen = cover_clauses([strong, weak], seeds=4, sharpness=1.0)
    # Both clauses lead by the same, and each choice halves the weight of its clause: they alternate.
    assert [hit.n for hit, _ in chosen[:4]] == [0, 10, 1, 11]
    assert [c for _, c in chosen[:4]] == [0, 1, 0, 1]
    scores = [hit.score for hit, _ in chosen]
    assert scores == sorted(scores, reverse=True)


def test_a_passage_of_two_clauses_is_chosen_once():
    chosen = cover_clauses([[Hit(1, 0.9), Hit(2, 0.1)], [Hit(1, 0.8), Hit(3, 0.1)]], seeds=1, sharpness=1.0)
    assert sorted(hit.n for hit, _ in chosen) == [1, 2, 3]
    assert chosen[0] == (Hit(1, pytest.approx(2.225541)), 0)


TEXTS = {
    "1.txt": "In the spring the Orlen shipping company took a lease of Dunmere harbour for its coal barges.",
    "2.txt": "Beside the northern railway a surgeon named Hale founded the children's hospital.",
    "3.txt": "The shipping company of Orlen sold coal, and its barges were old.",
    "4.txt": "The price of oil rose in that year.",
}


def walk_over(base, files, write_files):
    with Index.open(base / "index", models=hashed_models()) as made:
        made.add(write_files(base / "papers", files), methods=["walk"])
    snapshot = Snapshot(base / "index")
    try:
        found = NameWalk()(TWO_FACTS, snapshot, hashed_models())
        without = NameWalk(clause_stems=0)(TWO_FACTS, snapshot, hashed_models())
    finally:
        snapshot.close()
    return found, without


def test_in_untitled_passages_each_clause_finds_its_own(tmp_path, write_files):
    found, without = walk_over(tmp_path, TEXTS, write_files)
    steps = {step.name: step.value for step in found.trace}
    assert len(steps["clauses"]) == 2
    assert set(found.ranking[:2]) == {"1.txt:0", "2.txt:0"}
    assert all("for the clause" in item.why for item in found.evidence)
    assert "clauses" not in {step.name for step in without.trace}


def test_titled_passages_are_reached_by_the_walk_alone(tmp_path, write_files):
    files = {
        name.replace("txt", "md"): f"# Annual volume number {name[0]}\n\n{text}"
        for name, text in TEXTS.items()
    }
    found, without = walk_over(tmp_path, files, write_files)
    assert found == without


def test_a_very_long_or_empty_question_costs_little():
    for question in ("a" + " " * 20_000 + "b", "and " * 5_000, "'a " * 7_000, ""):
        assert len(split_clauses(question)) == 1
