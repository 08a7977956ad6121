import gzip
import json

import pytest

from polygraph.errors import BadInput
from polygraph.evaluate.questions import file as questions_file
from polygraph.evaluate.questions.file import GoldPassage, read_questions


def write(path, *lines):
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text(text, encoding="utf-8")
    return path


def one(tmp_path, **fields):
    return read_questions(write(tmp_path / "q.jsonl", {"question": "Who?", **fields}))[0]


def test_the_fields_of_a_line_are_read(tmp_path):
    found = one(
        tmp_path,
        id="q1",
        type="bridge",
        answer=["Old Tobin", "Tobin"],
        aliases=["Tobin", "the master"],
        evidence=["log.md", "people.jsonl#tobin"],
        facts=[{"fact": "He was her master.", "title": "Log"}],
        aspect="plot",
    )
    assert (found.id, found.question, found.type) == ("q1", "Who?", "bridge")
    assert found.answers == ("Old Tobin", "Tobin", "the master")
    assert found.evidence == ("log.md", "people.jsonl#tobin")
    assert found.facts == ("He was her master.",)
    assert found.more == {"aspect": "plot"}
    assert not found.null
    assert found.evidence_complete


def test_one_answer_and_one_document_need_no_list(tmp_path):
    found = one(tmp_path, answer=1871, evidence=17)
    assert (found.answers, found.evidence) == (("1871",), ("17",))


def test_a_question_without_id_is_named_by_its_line(tmp_path):
    found = read_questions(write(tmp_path / "q.jsonl", {"question": "A?"}, "", {"question": "B?"}))
    assert [q.id for q in found] == ["line 1", "line 3"]


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "null_query", "answer": "Insufficient information."},
        {"type": "Null"},
        {"null": True},
        {"answer": "insufficient information", "evidence": []},
    ],
)
def test_null_questions_are_recognised(tmp_path, fields):
    assert one(tmp_path, **fields).null


def test_an_answer_like_a_refusal_with_evidence_is_not_null(tmp_path):
    assert not one(tmp_path, answer="Insufficient information", evidence=["d1"]).null


def test_evidence_with_spans_gives_documents_and_passages(tmp_path):
    found = one(
        tmp_path,
        evidence=["d1", {"document": "d2", "start": 3, "end": 9}],
        quotes=[{"document": "d3", "text": "some words"}],
    )
    assert found.evidence == ("d1", "d2")
    assert found.passages == (
        GoldPassage(document="d2", start=3, end=9),
        GoldPassage(document="d3", text="some words"),
    )


def test_another_field_can_contain_the_evidence_and_has_its_own_flag(tmp_path):
    line = {
        "question": "Who?",
        "evidence": ["a1"],
        "evidence_complete": False,
        "evidence_passages": ["p1", "p2"],
        "passages_complete": True,
    }
    path = write(tmp_path / "q.jsonl", line)
    assert not read_questions(path)[0].evidence_complete
    found = read_questions(path, evidence="evidence_passages")[0]
    assert (found.evidence, found.evidence_complete) == (("p1", "p2"), True)


def test_a_gzipped_file_with_a_byte_order_mark_is_read(tmp_path):
    path = tmp_path / "q.jsonl.gz"
    path.write_bytes(gzip.compress(b'\xef\xbb\xbf{"question": "Wer?"}\r\n'))
    assert read_questions(path)[0].question == "Wer?"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("not json", "line 2 is not JSON"),
        ("[1, 2]", "line 2 is not a JSON object"),
        ({"id": "x"}, "line 2 has no text in the field 'question'"),
        ({"question": "  "}, "line 2 has no text in the field 'question'"),
        ({"question": "Q", "evidence": [["d"]]}, "line 2 has a list in 'evidence'"),
        ({"question": "Q", "answer": {"a": 1}}, "line 2 has an object in 'answer'"),
        ({"question": "Q", "id": "a"}, "line 2 repeats the id 'a' of line 1"),
        ({"question": "Q", "evidence_rule": "some"}, "line 2 has the evidence_rule 'some'"),
        (
            {"question": "Q", "passages": [{"start": 1}]},
            "line 2 has an item in 'passages' without a 'document'",
        ),
        ('{"question": ' + "[" * 5000, "line 2 is not JSON"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(tmp_path, line, said):
    with pytest.raises(BadInput, match="cannot be used") as caught:
        read_questions(write(tmp_path / "q.jsonl", {"question": "First?", "id": "a"}, line))
    assert said in str(caught.value)


def test_of_many_bad_lines_the_first_are_named_and_the_rest_counted(tmp_path):
    with pytest.raises(BadInput, match=r"line 1 .*line 3 .*and 4 more"):
        read_questions(write(tmp_path / "q.jsonl", *["?"] * 7))


def test_a_missing_empty_or_binary_file_is_an_error(tmp_path):
    with pytest.raises(BadInput, match="no file of questions"):
        read_questions(tmp_path / "none.jsonl")
    with pytest.raises(BadInput, match="contains no question"):
        read_questions(write(tmp_path / "empty.jsonl"))
    (tmp_path / "latin.jsonl").write_bytes('{"question": "Où?"}'.encode("latin-1"))
    with pytest.raises(BadInput, match="not UTF-8: line 1"):
        read_questions(tmp_path / "latin.jsonl")
    (tmp_path / "bad.jsonl.gz").write_bytes(b"not packed")
    with pytest.raises(BadInput, match="cannot be read"):
        read_questions(tmp_path / "bad.jsonl.gz")
    with pytest.raises(BadInput, match="--evidence"):
        read_questions(write(tmp_path / "q.jsonl", {"question": "Q"}), evidence="gold")


def test_an_endless_line_is_not_read_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(questions_file, "MAX_LINE", 1000)
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(b"x" * 5_000_000))
    with pytest.raises(BadInput, match="more than 1,000 bytes, line 1"):
        read_questions(path)


@pytest.mark.parametrize(
    ("name", "n", "n_evidence", "n_null"),
    [
        ("2wiki/questions.jsonl", 133, 133, 0),
        ("musique/questions.jsonl", 363, 144, 0),
        ("multihop-rag/questions.jsonl", 254, 123, 33),
        ("lihua-world/questions.jsonl", 637, 566, 65),
        ("qmsum/questions.jsonl.gz", 1810, 1810, 0),
        ("ultradomain-mix/questions.jsonl", 130, 0, 0),
    ],
)
def test_the_data_sets_are_read_with_the_counts_of_their_pages(shared_data, name, n, n_evidence, n_null):
    found = read_questions(shared_data(name))
    assert len(found) == n
    assert sum(bool(q.evidence) for q in found) == n_evidence
    assert sum(q.null for q in found) == n_null
