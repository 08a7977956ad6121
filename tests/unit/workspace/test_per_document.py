"""Each document has an index of its own, and a question is asked of its own document only."""

import gzip
import json

import pytest

from polygraph import Index
from polygraph.config import Settings
from polygraph.errors import BadInput
from polygraph.evaluate.questions.document import document_of
from polygraph.evaluate.questions.file import Question, read_questions
from polygraph.evaluate.runs.study_folder import FORMAT, StudyFolder
from polygraph.workspace.per_document import PerDocument

SETTINGS = Settings(embedder="hash", name_embedder="hash", reranker="none", chunk_tokens=24)
METHODS = ["bm25", "naive"]
HEROES = ("Mara Quill", "Old Tobin", "Tobias Wren")
CORPUS = [
    {
        "id": f"novel/{n}?",
        "title": f"Novel {n}",
        "text": f"The lamp stood on the table of the house. {hero} came at night and lit the lamp. "
        + "The fog lay on the sea, and the fog stayed. " * n
        + f"In the morning {hero} sold a boat for {n + 3} crowns. Nobody asked who had come. The end is near.",
    }
    for n, hero in enumerate(HEROES)
]
# The same words for every document: only the document tells them apart.
QUESTIONS = [
    {"id": f"{kind}{n}", "question": text, "answer": answer, "document": f"novel/{n}?"}
    for n, hero in enumerate(HEROES)
    for kind, text, answer in (
        ("lamp", "Who lit the lamp?", hero),
        ("boat", "For how much was a boat sold?", f"{n + 3} crowns"),
    )
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, CORPUS)), encoding="utf-8")
    (folder / "q.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def index(place):
    with Index.open(place / "i", settings=SETTINGS) as opened:
        yield opened


@pytest.fixture(scope="module")
def small(index, place):
    return PerDocument(index, place / "corpus.jsonl")


def test_every_question_is_asked_of_its_own_document(small, place, tmp_path):
    asked = read_questions(place / "q.jsonl")
    found = small.evaluate_retrieval(asked, METHODS, output=tmp_path / "out.jsonl")
    assert found.counts.asked == 6
    assert found.metric == "answer_hit@5"
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert len(lines) == 12
    for line in lines:
        own = f"novel/{line['question'][-1]}?"
        assert line["ranking"]
        assert all(chunk.startswith(f"{own}:") for chunk in line["ranking"]), line
    assert not any(name.startswith(("recall", "all@", "mrr")) for name in found.methods[0].scores.metrics)


def layers(small):
    folder = small.folder("novel/0?") / "derived"
    return {p.relative_to(folder): p.stat().st_mtime_ns for p in folder.glob("*/*")}


def test_what_was_measured_is_not_measured_again_and_no_index_is_made_twice(small, place, tmp_path):
    asked = read_questions(place / "q.jsonl")
    first = small.evaluate_retrieval(asked[:3], METHODS, output=tmp_path / "out.jsonl")
    before = (tmp_path / "out.jsonl").read_bytes()
    made = layers(small)
    again = small.evaluate_retrieval(asked[:3], METHODS, output=tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes() == before
    assert layers(small) == made
    assert again.as_dict() == first.as_dict()
    small.evaluate_retrieval(asked, METHODS, output=tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes().startswith(before)
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 12


def test_a_document_that_changed_gets_its_index_anew(small, place, tmp_path):
    changed = [{**CORPUS[0], "text": "Ada Marsh lit the lamp. The end."}, *CORPUS[1:]]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, changed)), encoding="utf-8")
    with Index.open(tmp_path / "i", settings=SETTINGS) as index:
        for corpus in (place / "corpus.jsonl", tmp_path / "corpus.jsonl"):
            with PerDocument(index, corpus).opened("novel/0?", METHODS) as opened:
                text = opened.retrieve("Who lit the lamp?", "bm25").context
        assert "Ada Marsh" in text
        assert "Mara Quill" not in text


def test_a_filter_over_a_shared_index_is_the_same_for_vectors_and_not_for_words(small, place, tmp_path):
    with Index.open(tmp_path / "shared", settings=SETTINGS) as shared:
        shared.add(place / "corpus.jsonl", methods=METHODS)
        questions = ["Who lit the lamp?", "For how much was a boat sold?", "the fog on the sea"]
        scores: dict[str, list[tuple[object, object]]] = {m: [] for m in METHODS}
        for text in questions:
            with small.opened("novel/1?", METHODS) as own:
                for method in METHODS:
                    alone = own.retrieve(text, method)
                    filtered = shared.retrieve(text, method, where={"id": "novel/1?"})
                    scores[method].append(
                        tuple([(e.id, round(e.score, 5)) for e in r.evidence] for r in (alone, filtered))
                    )
    assert all(one == other for one, other in scores["naive"])
    assert any(one != other for one, other in scores["bm25"])


def test_answers_of_a_study_come_from_the_document_of_each_question(small, place, tmp_path):
    asked = read_questions(place / "q.jsonl")
    study = StudyFolder(tmp_path / "s")
    found = small.answer(study, asked, METHODS)
    assert [(a.question, a.method) for a in found] == [(q.id, m) for q in asked for m in METHODS]
    for answer in found:
        assert {c["document"] for c in answer.citations} <= {f"novel/{answer.question[-1]}?"}
    lamp = {a.question: a.text for a in found if a.method == "bm25" and a.question.startswith("lamp")}
    assert [hero in lamp[f"lamp{n}"] for n, hero in enumerate(HEROES)] == [True] * 3
    before = study.file("answers").read_bytes()
    assert small.answer(study, asked, METHODS) == found
    assert study.file("answers").read_bytes() == before


def test_what_a_question_is_about_must_be_clear_and_there(small):
    assert document_of(Question(id="q", question="Who?", evidence=("a", "b"), more={"document": "b"})) == "b"
    with pytest.raises(BadInput, match="names 2 documents"):
        document_of(Question(id="q", question="Who?", evidence=("a", "b")))
    lost = Question(id="q", question="Who?", answers=("x",), evidence=("elsewhere",))
    with pytest.raises(BadInput, match="no document 'elsewhere'"):
        small.evaluate_retrieval([lost], METHODS)
    with pytest.raises(BadInput, match="can be searched for"):
        small.evaluate_retrieval([Question(id="q", question="Who?", evidence=("novel/0?",))], METHODS)


def test_a_corpus_must_be_lines_of_documents(index, tmp_path):
    bad = tmp_path / "c.jsonl"
    bad.write_text('{"id": "a"}\n')
    with pytest.raises(BadInput, match="line 1"):
        PerDocument(index, bad)
    bad.write_text("")
    with pytest.raises(BadInput, match="no documents"):
        PerDocument(index, bad)
    damaged = tmp_path / "c.jsonl.gz"
    damaged.write_bytes(gzip.compress(b"")[:10] + b"\xff" * 40)
    bad.write_text("[" * 100_000)
    for unreadable in (damaged, bad):
        with pytest.raises(BadInput, match="cannot be read as a corpus"):
            PerDocument(index, unreadable)


def test_the_commands_need_no_index_beforehand(call, place, tmp_path):
    options = ("--per-document", place / "corpus.jsonl", "--index", tmp_path / "n")
    ended = call(
        "eval", "retrieval", *options, "--questions", place / "q.jsonl", "-m", "bm25,naive", "--json"
    )
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert found["questions"]["asked"] == 6
    assert found["confusions"][0]["a"] == "bm25"
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "study.json").write_text(json.dumps({"polygraph_study": FORMAT}))
    (tmp_path / "s" / "questions.jsonl").write_bytes((place / "q.jsonl").read_bytes())
    ended = call("eval", "answers", *options, "-m", "bm25,naive", "--output", tmp_path / "s", "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["answers"] == 12
    ended = call("eval", "report", "--index", tmp_path / "n", "--output", tmp_path / "s", "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["gold"]["bm25"]["accuracy"] > 0
    ended = call("eval", "answers", "--index", tmp_path / "n", "-m", "hybrid", "--output", tmp_path / "s")
    assert ended.code == 2
    assert "per_document was True" in ended.sentence
