"""Questions about the whole collection."""

import pytest

from polygraph.tasks.offline.question_scope import (
    is_global_question,
    refers_back,
    split_questions,
    subject_words,
)


@pytest.mark.parametrize(
    ("question", "is_global"),
    [
        ("What are the main themes of these documents?", True),
        ("Summarise the collection.", True),
        ("What were the main concerns of the town in these years?", True),
        ("What are the biggest risks for Marrow Dairy?", False),
        ("What are these articles about?", True),
        ("What are these e-mails from Bremen about?", False),
        ("What is this all about?", True),
        ("What is this rule about?", False),
        ("Who built the light?", False),
        ("What are the main duties of Mara Quill?", False),
        ("What does her resume say?", False),
        ("", False),
        ("Worum geht es in diesen Dokumenten?", True),
        ("Welche Themen kommen in den Unterlagen vor?", True),
        ("Gib mir einen Überblick über die Sammlung.", True),
        ("Wann wurde die Pumpe in Bremen geprüft?", False),
        ("Welche Themen gab es in Bremen?", False),
        ("Quels sont les principaux sujets de ces documents ?", True),
        ("Qui a signé le contrat de Lyon ?", False),
        ("¿Cuáles son los temas principales de estos documentos?", True),
        ("Resume los documentos.", True),
        ("¿Quién firmó el contrato de Valencia?", False),
    ],
)
def test_global_questions_name_nothing_and_ask_for_the_whole(question, is_global):
    assert is_global_question(question) is is_global


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("Welche Themen zur Wartung kommen in den Unterlagen vor?", "wartung"),
        ("Quels sont les principaux sujets de ces documents ?", ""),
        ("¿Cuáles son los temas principales de estos documentos?", ""),
    ],
)
def test_the_subject_of_a_global_question_has_no_word_of_the_form(question, subject):
    assert subject in subject_words(question)
    assert len(subject_words(question).split()) <= len(subject.split()) + 2


def test_what_these_are_about_has_no_subject():
    assert subject_words("What are these invoices mostly about?") == ""


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Who keeps the keys and what do they open?", ["Who keeps the keys?", "what do they open?"]),
        ("Wo ist das Büro, und wann ist es offen?", ["Wo ist das Büro?", "wann ist es offen?"]),
        ("When and why did it sink?", ["When and why did it sink?"]),
        ("Who knows Ida and Tobias?", ["Who knows Ida and Tobias?"]),
    ],
)
def test_a_question_for_two_things_has_two_parts(question, parts):
    assert split_questions(question) == parts


def test_a_question_refers_back_by_a_pronoun():
    assert refers_back("what is their number?")
    assert not refers_back("what is the number of the office?")
