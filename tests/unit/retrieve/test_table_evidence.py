"""Answers from the tables of an index: rows are cited, and their chunks are evidence."""

import pytest

from polygraph import Answer, Index
from polygraph.testing.check_retrieval import faults_of_answer

ROWS = "\n".join(f"L-{n:03},{('North', 'South')[n % 2]},{n % 7}" for n in range(200))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("lamps")
    (folder / "papers").mkdir()
    (folder / "papers" / "lamps.csv").write_text(f"Lamp,Tower,Wicks\n{ROWS}\n")
    (folder / "papers" / "log.txt").write_text(
        "The North tower has old lamps. Nobody counts the wicks of the lamps."
    )
    opened = Index.open(folder / "lamps.index", offline=True)
    opened.add(str(folder / "papers"))
    return opened


def ask(index: Index, question: str) -> Answer:
    answer = index.ask(question, method="bm25")
    assert list(faults_of_answer(answer, index.snapshot())) == []
    return answer


def test_a_count_cites_rows_and_their_chunks_are_evidence(index: Index) -> None:
    answer = ask(index, "How many lamps are in the North tower?")
    assert answer.text.startswith("100. (Counted with Tower: North; 100 of 200 rows of “lamps”.)")
    assert [citation.quote for citation in answer.citations][:2] == [
        "Lamp: L-000; Tower: North; Wicks: 0.",
        "Lamp: L-002; Tower: North; Wicks: 2.",
    ]
    assert f"[{len(answer.retrieval.evidence)}] " in answer.retrieval.context


def test_a_row_is_cited_wherever_it_stands_in_a_long_table(index: Index) -> None:
    answer = ask(index, "How many wicks does the lamp L-199 have?")
    assert answer.text.startswith("Wicks: 3.")
    assert answer.citations[0].quote == "Lamp: L-199; Tower: South; Wicks: 3."


def test_a_question_that_no_table_answers_gets_sentences(index: Index) -> None:
    answer = ask(index, "Are the lamps of the North tower old?")
    assert "The North tower has old lamps." in answer.text


def test_the_tables_of_documents_outside_a_filter_are_not_asked(index: Index) -> None:
    scoped = index.snapshot({"id": "log.txt"})
    assert scoped.tables_of(["lamps.csv", "log.txt"]) == {}
    assert set(index.snapshot().tables_of(["lamps.csv", "log.txt"])) == {"lamps.csv"}
