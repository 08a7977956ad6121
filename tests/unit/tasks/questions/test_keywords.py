"""What a question is looked up by, without a model."""

from polygraph.tasks.questions.keywords import question_keywords


def test_names_are_details_and_the_question_is_the_theme(hashed_models):
    question = "Who refused to pay Mara Quill in 1871?"
    found = question_keywords(question, hashed_models(), method="any")
    assert found.low == ("Mara Quill", "1871")
    assert found.high == (question,)


def test_years_alone_do_not_stand_for_what_is_asked(hashed_models):
    question = "Which cost more, the metal mirror of 1868 or the glass mirror of 1880?"
    found = question_keywords(question, hashed_models(), method="any")
    assert found.low == ("cost", "metal mirror", "glass mirror", "1868", "1880")


def test_a_question_without_names_has_no_details(hashed_models):
    assert question_keywords("What was paid for the mirror?", hashed_models(), method="any").low == ()
