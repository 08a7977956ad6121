"""Conversion of public data sets, on small copies of their published files."""

import gzip
import json

import pytest

from polygraph.errors import BadInput
from polygraph.evaluate.datasets.catalogue import DATA_SETS, convert
from polygraph.evaluate.questions.file import read_questions

HOTPOT = [
    {
        "_id": "h1",
        "question": "Who?",
        "answer": "Ann",
        "type": "bridge",
        "supporting_facts": [["A", 0], ["B", 1], ["A", 2]],
        "context": [["A", ["One. ", "Two."]], ["B", ["Three."]], ["C", ["Four."]]],
    },
    {
        "_id": "h2",
        "question": "What?",
        "answer": "yes",
        "type": "comparison",
        "supporting_facts": [["C", 0], ["Z", 0]],
        "context": [["C", ["Four."]], ["B", ["Three."]]],
    },
]
MUSIQUE = [
    {
        "id": "2hop__1_2",
        "question": "Who?",
        "answer": "Ann",
        "answer_aliases": ["Anne"],
        "answerable": True,
        "paragraphs": [
            {"idx": 0, "title": "A", "paragraph_text": "One.", "is_supporting": True},
            {"idx": 1, "title": "A", "paragraph_text": "Two.", "is_supporting": False},
        ],
    },
    {
        "id": "3hop1__4_5",
        "question": "Where?",
        "answer": "Wick",
        "answer_aliases": [],
        "answerable": False,
        "paragraphs": [{"idx": 0, "title": "A", "paragraph_text": "One.", "is_supporting": True}],
    },
]
ARTICLES = [
    {
        "title": "T1",
        "body": "First body.",
        "source": "The Verge",
        "published_at": "2023-10-01",
        "author": None,
    },
    {"title": "T2", "body": "Second body.", "source": "The Age", "published_at": "2023-10-02"},
]
MHRAG = [
    {
        "query": "Which?",
        "answer": "no",
        "question_type": "comparison_query",
        "evidence_list": [{"title": "T2", "fact": "Second"}, {"title": "T9", "fact": "x"}],
    },
    {
        "query": "Why?",
        "answer": "Insufficient information.",
        "question_type": "null_query",
        "evidence_list": [],
    },
]
DPR = [
    {
        "question": "who",
        "answers": ["Ann"],
        "positive_ctxs": [{"title": "P", "text": "Ann did."}],
        "negative_ctxs": [],
        "hard_negative_ctxs": [{"title": "N", "text": "Bob did."}],
    }
]
MEETING = {
    "meeting_transcripts": [{"speaker": "A", "content": "Hello ."}, {"speaker": "B", "content": "Yes ."}],
    "general_query_list": [{"query": "Summarize", "answer": "They met."}],
    "specific_query_list": [
        {"query": "What did B say?", "answer": "Yes.", "relevant_text_span": [["1", "1"], ["7", "9"]]},
        {"query": "And A?", "answer": "Hello.", "relevant_text_span": [["0", "0"]]},
    ],
}
STORY = {
    "metadata": {"passage_id": "61263"},
    "document": "A story.",
    "questions": [
        {
            "question_text": "What is the plot?",
            "question_number": 1,
            "responses": [{"response_text": "One."}, {"response_text": "Two."}],
        }
    ],
}
ULTRA = [
    {"_id": "u1", "input": "Why?", "context": "A long book.", "answers": ["So."], "label": "mix"},
    {"_id": "u2", "input": "How?", "context": "A long book.", "answers": ["Thus."], "label": "mix"},
]


NOVELQA = {
    "Q1": {
        "Aspect": "times",
        "Complexity": "mh",
        "Question": "How many letters?",
        "Options": {"A": "2", "B": "3"},
        "Gold": "B",
    },
    "Q2": {
        "Aspect": "role",
        "Complexity": "sh",
        "Question": "Who wrote?",
        "Options": {"A": "Ann", "B": "Bob"},
    },
}
PIECES = {
    "metadata": {"passage_id": "63833"},
    "title": "The Ship",
    "divided_document": ["One.", "Two."],
    "questions": [
        {
            "question_text": "What is the plot?",
            "question_number": 1,
            "responses": [{"response_text": "A ship."}, {"response_text": "It sails."}],
        }
    ],
}
REWRITTEN = {
    "question_text": "What happens to the Ship?",
    "question_number": 1,
    "responses": [{"response_text": "A ship."}, {"response_text": "It sails."}],
    "title": "The Ship",
}
MERGED = {
    "0": {"query": "What was said of lamps?", "answer": "Much.", "meetings_list": ["m1", "m2"]},
    "1": {"query": "And of oil?", "answer": "Little.", "meetings_list": ["m1", "m9"]},
}
SEGMENTS = [
    {"subcategory": "Genes", "segment": "GL10 makes grains\nlonger."},
    {"subcategory": "Genes", "segment": "OsLIC needs OsRELA."},
]


def put(path, value):
    text = "\n".join(map(json.dumps, value)) if path.name.endswith(".jsonl") else json.dumps(value)
    path.write_text(text, encoding="utf-8")
    return path


def converted(tmp_path, name, *files):
    paths = [put(tmp_path / file, value) for file, value in files]
    convert(name, paths, tmp_path / "out")
    corpus = (tmp_path / "out" / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    return {d["id"]: d for d in map(json.loads, corpus)}, read_questions(tmp_path / "out" / "questions.jsonl")


def titles(documents, question):
    return [documents[i]["title"] for i in question.evidence]


def test_hotpotqa_pools_equal_paragraphs_and_marks_gold_that_is_missing(tmp_path):
    documents, (one, two) = converted(tmp_path, "hotpotqa", ("dev.json", HOTPOT))
    assert [(d["title"], d["text"]) for d in documents.values()] == [
        ("A", "One. Two."),
        ("B", "Three."),
        ("C", "Four."),
    ]
    assert (one.id, one.type, one.answers, titles(documents, one)) == ("h1", "bridge", ("Ann",), ["A", "B"])
    assert titles(documents, two) == ["C"]
    assert (one.evidence_complete, two.evidence_complete) == (True, False)


def test_musique_has_aliases_and_null_questions(tmp_path):
    documents, (one, two) = converted(tmp_path, "musique", ("dev.jsonl", MUSIQUE))
    assert len(documents) == 2
    assert (one.answers, one.type, titles(documents, one)) == (("Ann", "Anne"), "2hop", ["A"])
    assert (two.null, two.evidence, two.answers) == (True, (), ())


def test_multihop_rag_joins_articles_and_facts_in_whatever_order_the_files_come(tmp_path):
    documents, (one, two) = converted(tmp_path, "multihop-rag", ("q.json", MHRAG), ("corpus.json", ARTICLES))
    assert titles(documents, one) == ["T2"]
    assert (one.facts, one.evidence_complete) == (("Second", "x"), False)
    assert (two.null, two.type) == (True, "null_query")
    assert documents["p000001"]["source"] == "The Verge"
    assert "author" not in documents["p000001"]


def test_for_natural_questions_any_positive_passage_is_enough(tmp_path):
    documents, (one,) = converted(tmp_path, "nq", ("dev.json", DPR))
    assert (one.evidence_rule, titles(documents, one), len(documents)) == ("any", ["P"], 2)


def test_spans_of_qmsum_become_character_offsets(tmp_path):
    documents, asked = converted(tmp_path, "qmsum", ("Bed003.json", MEETING))
    text = documents["Bed003"]["text"]
    assert text == "A: Hello .\nB: Yes ."
    assert [q.id for q in asked] == ["Bed003-g", "Bed003-s", "Bed003-s-2"]
    assert [text[p.start : p.end] for q in asked for p in q.passages] == ["B: Yes .", "A: Hello ."]
    assert asked[0].references == ("They met.",)


def test_squality_and_ultradomain_share_a_text_among_questions(tmp_path):
    documents, (one,) = converted(tmp_path, "squality", ("dev.jsonl", [STORY]))
    assert (one.id, one.references, one.type) == ("61263-1", ("One.", "Two."), "overview")
    assert list(documents) == ["61263"]
    (tmp_path / "u").mkdir()
    documents, (one, two) = converted(tmp_path / "u", "ultradomain", ("mix.jsonl", ULTRA))
    assert one.evidence == two.evidence == tuple(documents)


def test_novelqa_appends_options_to_the_question_and_reads_the_gold_letter(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "B00.txt").write_text("Ann wrote\nthree letters.", "utf-8")
    meta = put(tmp_path / "bookmeta.json", {"B00": {"title": "Letters", "author": "Ann"}})
    questions = put(tmp_path / "one" / "B00.json", NOVELQA)
    convert("novelqa", [questions, meta, tmp_path / "one" / "B00.txt"], tmp_path / "out")
    (novel,) = map(json.loads, (tmp_path / "out" / "corpus.jsonl").read_text("utf-8").splitlines())
    assert novel == {"id": "B00", "title": "Letters", "text": "Ann wrote\nthree letters."}
    one, two = read_questions(tmp_path / "out" / "questions.jsonl")
    assert (one.id, one.question) == ("B00-Q1", "How many letters?\nA. 2\nB. 3")
    assert (one.answers, one.evidence, one.type) == (("B",), ("B00",), "mh")
    assert (one.more["aspect"], one.more["complexity"]) == ("times", "mh")
    assert two.answers == ()

    before = [
        {**NOVELQA["Q1"], "QID": "Q1", "Complex": "mh", "Options": ["2", "3"]},
        {"Question": "Why?", "Answer": "So."},
        {"Question": "Who?", "Options": ["Ann", "Bob"], "Answer": "Ann"},
    ]
    before[0].pop("Complexity")
    listed = put(tmp_path / "two" / "B00.json", before)
    convert("novelqa", [listed, tmp_path / "two" / "B00.txt"], tmp_path / "again")
    again, free, spelt = read_questions(tmp_path / "again" / "questions.jsonl")
    assert spelt.answers == ("A",)
    assert (again.id, again.question, again.answers, again.type) == (
        one.id,
        one.question,
        one.answers,
        one.type,
    )
    assert (free.question, free.answers) == ("Why?", ("So.",))


def test_questions_about_a_missing_novel_are_an_error(tmp_path):
    novel = tmp_path / "B00.txt"
    novel.write_text("Ann wrote.", "utf-8")
    with pytest.raises(BadInput, match=r"asks about B01\.txt, which is not among the files"):
        convert("novelqa", [novel, put(tmp_path / "B01.json", NOVELQA)], tmp_path / "out")
    with pytest.raises(BadInput, match="is a folder; name its files"):
        convert("novelqa", [tmp_path], tmp_path / "out")


def test_stories_of_odsum_are_matched_by_their_summaries(tmp_path):
    stranger = {**REWRITTEN, "responses": [{"response_text": "Of no story."}]}
    # The published .jsonl file is a list.
    queries = tmp_path / "queries.jsonl"
    queries.write_text(json.dumps([REWRITTEN, stranger]), "utf-8")
    documents = put(tmp_path / "dev.jsonl", [PIECES])
    convert("odsum", [documents, queries], tmp_path / "out")
    corpus = [json.loads(line) for line in (tmp_path / "out" / "corpus.jsonl").open(encoding="utf-8")]
    assert [(d["id"], d["title"], d["text"]) for d in corpus] == [
        ("63833-1", "The Ship", "One."),
        ("63833-2", "The Ship", "Two."),
    ]
    one, two = read_questions(tmp_path / "out" / "questions.jsonl")
    assert (one.id, one.evidence, one.references) == (
        "63833-q1",
        ("63833-1", "63833-2"),
        ("A ship.", "It sails."),
    )
    assert (one.question, one.type) == ("What happens to the Ship?", "story")
    assert (two.evidence, two.evidence_complete) == ((), False)


def test_a_question_of_odsum_may_name_several_meetings(tmp_path):
    for name in ("m1", "m2"):
        (tmp_path / f"{name}.txt").write_text(f"{name}: lamps .", "utf-8")
    queries = put(tmp_path / "queries.json", MERGED)
    convert("odsum", [queries, tmp_path / "m2.txt", tmp_path / "m1.txt"], tmp_path / "out")
    one, two = read_questions(tmp_path / "out" / "questions.jsonl")
    assert (one.evidence, one.references, one.type) == (("m1", "m2"), ("Much.",), "meeting")
    assert (two.evidence, two.evidence_complete) == (("m1",), False)


def test_seedbench_questions_are_matched_to_the_segments_they_contain(tmp_path):
    segments = tmp_path / "279segments.json"
    # The published .json file is JSON Lines.
    segments.write_text("\n".join(map(json.dumps, SEGMENTS)), "utf-8")
    choice = {
        "question": "What?\nA. x\nB. y",
        "answer": "B",
        "split": {"level1": "Genes"},
        "task_type": "one",
    }
    reading = {"question": "GL10 makes grains longer. What does GL10 do?", "answer": "It lengthens."}
    files = [segments, put(tmp_path / "1-1.json", [choice]), put(tmp_path / "3-4.json", [reading])]
    found = convert("seedbench", files, tmp_path / "out")
    assert (found.documents, found.questions) == (2, 2)
    one, two = read_questions(tmp_path / "out" / "questions.jsonl")
    assert (one.id, one.type, one.answers, one.evidence) == ("1-1-0", "multiple choice", ("B",), ())
    assert (two.type, two.evidence) == ("reading: generation", ("segment-1",))
    with pytest.raises(BadInput, match="is not named after a task"):
        convert("seedbench", [segments, put(tmp_path / "all.json", [choice])], tmp_path / "other")


def test_popqa_has_questions_without_documents(tmp_path):
    path = tmp_path / "test.tsv"
    path.write_text(
        'id\tprop\tquestion\tpossible_answers\n7\tcapital\tWhere?\t"[""Rome"", ""Roma""]"\n', "utf-8"
    )
    found = convert("popqa", [path], tmp_path / "out")
    assert (found.documents, found.questions) == (0, 1)
    (one,) = read_questions(tmp_path / "out" / "questions.jsonl")
    assert (one.answers, one.type) == (("Rome", "Roma"), "capital")


def test_beir_keeps_the_ids_of_its_judgements(tmp_path):
    table = tmp_path / "test.tsv"
    table.write_text("query-id\tcorpus-id\tscore\nq1\td2\t1\nq1\td1\t0\n", "utf-8")
    corpus = put(tmp_path / "corpus.jsonl", [{"_id": f"d{n}", "title": "", "text": "Same."} for n in (1, 2)])
    asked = put(
        tmp_path / "queries.jsonl", [{"_id": "q1", "text": "Claim."}, {"_id": "q2", "text": "Unjudged."}]
    )
    found = convert("beir", [corpus, asked, table], tmp_path / "out")
    assert (found.documents, found.questions) == (2, 1)
    assert read_questions(tmp_path / "out" / "questions.jsonl")[0].evidence == ("d2",)


def test_a_gzipped_copy_gives_the_same_bytes(tmp_path):
    packed = tmp_path / "dev.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(HOTPOT).encode()))
    convert("hotpotqa", [packed], tmp_path / "one")
    convert("hotpotqa", [put(tmp_path / "dev.json", HOTPOT)], tmp_path / "two")
    for name in ("corpus.jsonl", "questions.jsonl"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("hotpotqa", "{", "is not JSON"),
        ("hotpotqa", "[1]", "something other than JSON objects"),
        ("hotpotqa", "[]", "no question was found"),
        ("hotpotqa", '[{"question": "Who?"}]', "without 'supporting_facts'"),
        ("musique", '{"question": "Who?"}', "without 'paragraphs'"),
        ("multihop-rag", json.dumps(ARTICLES), "are both needed"),
        ("beir", "{}", "no .tsv"),
        ("novelqa", "{}", "no novel .* is among the files"),
        ("odsum", '[{"question_text": "Who?", "responses": []}]', "are both needed"),
        ("seedbench", '{"segment": "Rice."}', "are both needed"),
        ("marco", "{}", "there is no data set 'marco'"),
    ],
)
def test_a_file_of_another_form_is_an_error_and_nothing_is_written(tmp_path, name, content, said):
    path = tmp_path / "file.json"
    path.write_text(content, "utf-8")
    with pytest.raises(BadInput, match=said):
        convert(name, [path], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_nothing_is_overwritten(tmp_path):
    path = put(tmp_path / "dev.json", HOTPOT)
    convert("hotpotqa", [path], tmp_path / "out")
    with pytest.raises(BadInput, match="already exists"):
        convert("hotpotqa", [path], tmp_path / "out")


def test_every_data_set_states_licence_citation_and_form():
    assert [d.name for d in DATA_SETS] == sorted(d.name for d in DATA_SETS)
    assert all(d.licence and d.citation and d.form and d.scope in ("whole", "single") for d in DATA_SETS)


def test_the_next_commands_of_convert_suit_the_questions(call, tmp_path):
    two = [
        DPR[0]
        | {"positive_ctxs": [{"title": "P", "text": "Ann did."}, {"title": "Q", "text": "It was Ann."}]}
    ]
    files = {
        "qmsum": put(tmp_path / "Bed003.json", MEETING),
        "squality": put(tmp_path / "dev.jsonl", [STORY]),
        "hotpotqa": put(tmp_path / "dev.json", HOTPOT[:1]),
        "nq": put(tmp_path / "nq.json", two),
    }
    typed = {}
    for name, file in files.items():
        done = call("eval", "convert", name, file, "--output", name)
        assert done.code == 0, done.err
        typed[name] = [line.split() for line in done.out.splitlines()[1:]]
    verbs = {
        name: [line[1] if line[1] != "eval" else line[2] for line in lines] for name, lines in typed.items()
    }
    assert verbs["qmsum"] == ["retrieval"]
    assert "--per-document" in typed["qmsum"][0]
    # Reference summaries are not gold for retrieval.
    assert verbs["squality"] == ["questions", "answers", "report"]
    # A question with several gold documents has no document of its own.
    assert verbs["hotpotqa"] == verbs["nq"] == ["index", "retrieval"]
    for name in ("qmsum", "squality"):
        for line in typed[name][:2]:
            done = call(*(part.replace("bm25,naive,hybrid", "bm25,naive") for part in line[1:]))
            assert done.code == 0, done.err


def test_three_commands_lead_from_a_raw_file_to_metrics(call, tmp_path):
    put(tmp_path / "dev.json", HOTPOT[:1])
    done = call("eval", "convert", "hotpotqa", "dev.json", "--output", "h")
    assert (done.code, "3 documents, 1 question, w" in done.out) == (0, True), done.err
    assert call("index", "h/corpus.jsonl", "--for", "bm25", "--index", "i").code == 0
    done = call(
        "eval", "retrieval", "--questions", "h/questions.jsonl", "-m", "bm25", "--index", "i", "--json"
    )
    assert json.loads(done.out)["methods"]["bm25"]["n"] == 1, done.err
    listed = json.loads(call("eval", "datasets", "--json").out)
    assert {"name", "licence", "citation", "revision", "form", "scope"} <= set(listed[0])
    assert "HotpotQA" in call("eval", "datasets").out
