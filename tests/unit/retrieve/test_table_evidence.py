"""Answers from the tables of an index: rows are cited, and their chunks are evidence."""

import pytest

CODES = """# Lamp service

## Lanterns ZR

### Fault codes

| Code | Meaning |
|---|---|
| H1 | Wick burnt down |
| H2 | Vent closed (ZR-40) |
"""
ROWS = "\n".join(f"L-{n:03},{('North', 'South')[n % 2]},{n % 7}" for n in range(200))
FILES = {
    "lamps.csv": f"Lamp,Tower,Wicks\n{ROWS}\n",
    "log.txt": "The North tower has old lamps. Nobody counts the wicks of the lamps.",
    "service.md": CODES,
}


@pytest.fixture(scope="module")
def index(index_offline):
    return index_offline(FILES)


def test_a_count_cites_rows_and_their_chunks_are_evidence(ask):
    answer = ask("How many lamps are in the North tower?")
    assert answer.text.startswith("100. (Counted with Tower: North; 100 of 200 rows of “lamps”.)")
    assert [citation.quote for citation in answer.citations][:2] == [
        "Lamp: L-000; Tower: North; Wicks: 0.",
        "Lamp: L-002; Tower: North; Wicks: 2.",
    ]
    assert f"[{len(answer.retrieval.evidence)}] " in answer.retrieval.context


def test_a_row_is_cited_wherever_it_stands_in_a_long_table(ask):
    answer = ask("How many wicks does the lamp L-199 have?")
    assert answer.text.startswith("Wicks: 3.")
    assert answer.citations[0].quote == "Lamp: L-199; Tower: South; Wicks: 3."


def test_the_headings_above_a_table_may_be_repeated(ask):
    assert ask("What does fault code H1 mean on the lantern ZR-50?").text.startswith(
        "Meaning: Wick burnt down."
    )
    assert not ask("What does fault code H2 mean on the ZR-50?").text.startswith("Meaning:")


def test_a_question_that_no_table_answers_gets_sentences(ask):
    answer = ask("Are the lamps of the North tower old?")
    assert "The North tower has old lamps." in answer.text


def test_the_tables_of_documents_outside_a_filter_are_not_asked(index):
    scoped = index.snapshot({"id": "log.txt"})
    assert scoped.tables_of(["lamps.csv", "log.txt"]) == {}
    assert set(index.snapshot().tables_of(["lamps.csv", "log.txt"])) == {"lamps.csv"}
