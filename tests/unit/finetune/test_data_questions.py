"""Rules for questions: what they ask of a sentence or a row of a table, and which sentences they leave alone."""

import pytest

from polygraph.errors import BadInput
from polygraph.evaluate.metrics.answer_match import contains_answer, normalise_answer
from polygraph.finetune.data.quotes import locate, sentences
from polygraph.finetune.data.rules.graph_questions import graph_questions
from polygraph.finetune.data.rules.names import description_questions, holder_questions, name_questions
from polygraph.finetune.data.rules.nouns import noun_of
from polygraph.finetune.data.rules.statements import statements_of
from polygraph.finetune.data.rules.subjects import read_subject, said_question, subject_question
from polygraph.finetune.data.rules.table_questions import table_questions
from polygraph.finetune.data.rules.values import value_questions
from polygraph.records import Chunk, Entity
from polygraph.testing import hashed_models

TITLE = "Minutes of May"
WITHIN = f'According to the document "{TITLE}", '


def entity(name, kind="concept", *aliases):
    return Entity(id=name.casefold(), name=name, type=kind, aliases=aliases, descriptions=(), chunks=())


NAMES = [
    entity("Mr. Vane", "organization", "Edmund Vane"),
    entity("Miss Orme", "place"),
    entity("Dr. Sayle"),
    entity("Alder Street", "person"),
    entity("Harbour Board", "person"),
    entity("Halcyon", "person"),
    entity("Harrow", "person"),
    entity("Clerk", "organization"),
    entity("Michaelmas", "person"),
    entity("Corfe", "place"),
    entity("Resolved", "person"),
]


def read(text):
    """Return the statements of a passage."""
    chunk = Chunk(id="d:0", document="d", ordinal=0, start=0, end=len(text), text=text, n_tokens=1)
    return list(statements_of(chunk, NAMES, TITLE, trusted=False))


def asked(text):
    """Return all questions about the sentences of a passage, with their answers."""
    found = {}
    for statement in read(text):
        each = [*value_questions(statement), *name_questions(statement)]
        each += [question for question, _ in description_questions(statement)]
        subject = read_subject(statement)
        if subject is not None:
            each += [subject_question(statement, subject), said_question(statement, subject, text)]
        found |= {question.question: question.answer for question in each if question is not None}
    return found


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        (
            "Mr. Vane gave the brass spyglass to Miss Orme in Corfe.",
            "Mr. Vane gave the brass spyglass to which person in Corfe?",
            "Miss Orme",
        ),
        (
            "Mr. Vane bought a small house in Alder Street for his sister.",
            "Mr. Vane bought a small house in which place for his sister?",
            "Alder Street",
        ),
        (
            "Mr. Vane bought oil from the Harbour Board for his lamp.",
            "Mr. Vane bought oil from which organization for his lamp?",
            "Harbour Board",
        ),
        (
            "Miss Orme moved to Corfe on 3 March 1886 with her clocks.",
            "Miss Orme moved to Corfe on which day with her clocks?",
            "3 March 1886",
        ),
        (
            "Miss Orme has kept the tide tables of Corfe since 1879.",
            "Miss Orme has kept the tide tables of Corfe since which year?",
            "1879",
        ),
        (
            "Miss Orme came to Corfe in June 1879 with a box of clocks.",
            "Miss Orme came to Corfe in June of which year with a box of clocks?",
            "1879",
        ),
        (
            "Miss Orme reached the pier of Corfe at half past four.",
            "Miss Orme reached the pier of Corfe at what time?",
            "half past four",
        ),
        (
            "Mr. Vane paid £1,104 for the clock of Corfe.",
            "Mr. Vane paid how much for the clock of Corfe?",
            "£1,104",
        ),
        (
            "Mr. Vane counted twenty-seven boats off Corfe.",
            "Mr. Vane counted how many boats off Corfe?",
            "twenty-seven",
        ),
        (
            "Mr. Vane refused to pay for the lamp of Corfe.",
            "Who refused to pay for the lamp of Corfe?",
            "Mr. Vane",
        ),
        (
            "The Halcyon struck the pier of Corfe in the fog.",
            "Who or what struck the pier of Corfe in the fog?",
            "Halcyon",
        ),
        (
            "Miss Orme asked whether the church clock would comply.",
            f"{WITHIN}what did Miss Orme ask?",
            "whether the church clock would comply",
        ),
        (
            "The memorial was ordered to lie on the table until June.",
            f"{WITHIN}who or what was ordered to lie on the table until June?",
            "the memorial",
        ),
        ("Dr. Sayle, a man of few words, laid down the office.", "Who was Dr. Sayle?", "a man of few words"),
        (
            "Miss Orme was born near the pier of Corfe. She taught the boys of Corfe to compute the tides.",
            "Who taught the boys of Corfe to compute the tides?",
            "Miss Orme",
        ),
    ],
)
def test_a_sentence_gives_a_question(text, question, answer):
    assert asked(text).get(question) == answer


@pytest.mark.parametrize(
    "text",
    [
        "Resolved, that Dr. Sayle be appointed Director from Michaelmas.",  # no subject
        "Slipped on the weed of Alder Street and was picked up by Mr. Vane.",
        "Mr. Vane saw it by the window of the Harbour Board at two.",  # no antecedent
        "He bought a small house in Alder Street for Miss Orme.",
        "Mr. Vane reported that she struck the Harrow at noon.",
        "I saw Mr. Vane in Alder Street with Miss Orme.",  # the speaker
        "Mr. Vane, for the Board, thought that it belonged to Miss Orme.",
        "The harbour keeps its own, which is slow of the clocks of Corfe.",
        "Mr. Vane said that this was the purpose of the Harbour Board.",  # points elsewhere
        'Mr. Vane said "not before noon" to Miss Orme in Corfe.',
        "Mr. Vane, Clerk; Miss Orme, second; Dr. Sayle (chairman).",
    ],
)
def test_a_sentence_that_needs_its_context_gives_no_question(text):
    assert asked(text) == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Mr. Vane sailed round the Harrow with Miss Orme.",
            "which person with",
        ),  # only a parser says what it is
        ("Mr. Vane was appointed in Corfe from Michaelmas for the Clerk.", "which organization"),
        ("Mr. Vane bought the five barrels of oil in Corfe.", "how many"),  # after an article
        ("Mr. Vane bought three-and-twenty clocks in Corfe.", "three-and-how many"),
        ("Mr. Vane lost by seven votes to four in Corfe.", "how many"),
        ("According to 2011 statistics, Mr. Vane sold clocks in Corfe.", "how many"),
        ("Mr. Vane led a £5 share scheme in Corfe.", "how much"),
        ("Mr. Vane wrote to Miss Orme and Dr. Sayle in Corfe.", "which person and"),  # a list
        ("Mr. Vane met a Dr. Sayle in the town of Corfe.", "a which person"),
    ],
)
def test_what_does_not_stand_alone_is_not_asked_for(text, words):
    assert not [question for question in asked(text) if words in question]


def test_a_pronoun_stands_for_no_one_if_another_person_may_be_meant():
    doubtful = "Miss Orme wrote to Mrs. Vane in Corfe. She taught the boys of Corfe to compute the tides."
    mrs = [*NAMES, entity("Mrs. Vane")]
    chunk = Chunk(id="d:0", document="d", ordinal=0, start=0, end=len(doubtful), text=doubtful, n_tokens=1)
    texts = [s.text for s in statements_of(chunk, mrs, TITLE, trusted=False)]
    assert texts == ["Miss Orme wrote to Mrs. Vane in Corfe."]


def test_a_resolved_pronoun_quotes_both_sentences():
    (_, second) = read(
        "Miss Orme was born near the pier of Corfe. She taught the boys of Corfe to compute the tides."
    )
    assert [quote.text for quote in second.quotes] == [
        "Miss Orme was born near the pier of Corfe.",
        "She taught the boys of Corfe to compute the tides.",
    ]


def test_what_was_said_is_asked_only_if_the_document_has_it_once():
    once = "Miss Orme asked whether the church clock would comply."
    twice = f"{once} Miss Orme asked whether the sexton was told of the change."
    assert f"{WITHIN}what did Miss Orme ask?" in asked(once)
    assert f"{WITHIN}what did Miss Orme ask?" not in asked(twice)


def test_a_clause_that_goes_on_about_its_speaker_is_not_what_was_said():
    text = "Miss Orme ruled that the clock of the church was slow, and disallowed the question."
    assert f"{WITHIN}what did Miss Orme rule?" not in asked(text)


def test_a_question_for_an_office_names_the_document():
    found = asked("The Clerk computed a saving of £58 in the year.")
    assert found == {
        f"{WITHIN}the Clerk computed a saving of how much in the year?": "£58",
        f"{WITHIN}who computed a saving of £58 in the year?": "Clerk",
    }


def test_holders_of_offices_are_read_from_lists():
    text = (
        "In attendance: Mr. Edwin Sturmer, Harbour-Master; Mr. Lionel Bask, Clerk. Mr. Isaac Hann (chairman)."
    )
    assert {q.question.removeprefix(WITHIN): q.answer for q in holder_questions(text, TITLE)} == {
        "who was the Harbour-Master?": "Mr. Edwin Sturmer",
        "who was the Clerk?": "Mr. Lionel Bask",
        "who was the chairman?": "Mr. Isaac Hann",
    }
    assert list(holder_questions(text, "")) == []


def test_the_type_of_a_model_is_trusted_and_that_of_a_parser_is_not():
    harrow = entity("Harrow", "ship")
    assert noun_of(harrow, "Harrow", trusted=True) == "ship"
    assert noun_of(harrow, "Harrow", trusted=False) == ""
    assert noun_of(entity("Jack Hill", "place"), "Jack Hill", trusted=False) == ""


def test_every_answer_stands_in_a_quote_and_every_quote_in_its_passage(small_index):
    found = graph_questions(small_index, n=100, seed=1, max_oracles=2).questions
    assert {question.kind for question in found} >= {"edge"}
    assert len(found) >= 8
    for question in found:
        text = normalise_answer(" ".join(quote.text for quote in question.quotes))
        assert contains_answer(text, normalise_answer(question.answers[0]))
        for quote in question.quotes:
            assert locate(quote.text, [c for c in question.oracles if c.id == quote.chunk]) == quote


def test_questions_have_distinct_ids_and_wordings_and_a_most_number(small_index):
    found = graph_questions(small_index, n=5, seed=1, max_oracles=2).questions
    assert len({q.id for q in found}) == len({q.question for q in found}) == len(found) == 5


def test_one_oracle_at_most_leaves_out_questions_about_two_passages(small_index):
    found = graph_questions(small_index, n=100, seed=1, max_oracles=1).questions
    assert all(len(question.oracles) == 1 for question in found)


def test_rows_of_tables_are_asked_by_the_first_column_that_names_them(index_of, tmp_path):
    lines = ["no,name,rig,built", "1,Halcyon,brig,1861", "2,Dora Kest,ketch,1870", "3,Mercy,smack,1872"]
    (tmp_path / "ships.csv").write_text("\n".join(lines), encoding="utf-8")
    from polygraph.store.snapshot import Snapshot
    from polygraph.workspace.index import Index

    with Index.open(tmp_path / "index", models=hashed_models()) as index:
        index.add(tmp_path / "ships.csv")
    snapshot = Snapshot(tmp_path / "index")
    found = {q.question: q.answers[0] for q in table_questions(snapshot, n=50, seed=0)}
    snapshot.close()
    assert found == {
        f'According to the document "ships", what is given as "{column}" for {name}?': value
        for name, rig, built in (
            ("Halcyon", "brig", "1861"),
            ("Dora Kest", "ketch", "1870"),
            ("Mercy", "smack", "1872"),
        )
        for column, value in (("rig", rig), ("built", built))
    }


def test_sentences_in_german_are_asked_in_german(index_of, tmp_path):
    texts = {
        "a": "Mara Quill baute das Leuchtfeuer von Skerry im Jahr 1869. Mara Quill bezahlte die Lampe des "
        "Leuchtfeuers von Skerry mit ihrem eigenen Geld, und das Amt dankte ihr nicht dafür.",
        "b": "Tobias Wren verweigerte Mara Quill das Öl für das Leuchtfeuer von Skerry im folgenden Winter.",
    }
    with index_of(tmp_path, texts, hashed_models()) as index:
        found = graph_questions(index, n=20, seed=0, max_oracles=2).questions
    assert all(q.question.startswith(("Wer", "Welche", "Welcher")) for q in found)


def test_an_index_without_a_graph_says_how_to_get_one(tmp_path):
    from polygraph.store.snapshot import Snapshot
    from polygraph.workspace.index import Index

    (tmp_path / "a.txt").write_text("Mara Quill built the Skerry Light.", encoding="utf-8")
    with Index.open(tmp_path / "index", models=hashed_models()) as index:
        index.add(tmp_path / "a.txt", methods=["bm25"])
    snapshot = Snapshot(tmp_path / "index")
    with pytest.raises(BadInput, match=r"no graph to make questions from.*polygraph index --index"):
        graph_questions(snapshot, n=5, seed=0, max_oracles=2)
    snapshot.close()


def test_headings_and_long_sentences_are_not_quoted():
    long = "The lamp " + "burned " * 80 + "out."
    text = f"# A heading\n\nThe lamp was lit.\n\n{long}"
    chunk = Chunk(id="d:0", document="d", ordinal=0, start=7, end=7 + len(text), text=text, n_tokens=1)
    (quote,) = sentences(chunk)
    assert (quote.text, quote.start, quote.end) == ("The lamp was lit.", 7 + 13, 7 + 30)
