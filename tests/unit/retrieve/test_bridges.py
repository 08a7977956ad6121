"""Names by which a passage leads on, worked out by hand."""

from polygraph.retrieve.bridges import Bridge, bridges

QUESTION = "When was the engineer who drained Holm Marsh born?"
TEXT = (
    "The weather was fine in March 1804. Jon Tarn looked on. "
    "Holm Marsh was drained by the engineer Ida Crane for the Duke of Wessel. It is now dry."
)


def test_the_names_of_the_sentence_that_shares_most_with_the_question_lead_on():
    found = bridges(QUESTION, "", TEXT, sentences=1)
    assert [bridge.name for bridge in found] == ["Ida Crane", "Duke of Wessel"]
    # The sentence has all other words of the question.
    assert {bridge.rest for bridge in found} == {"born"}


def test_the_title_leads_on_unless_the_question_has_it():
    assert bridges(QUESTION, "Ida Crane (engineer)", TEXT, sentences=1)[0] == Bridge("Ida Crane", "born")
    for title in ("Holm Marsh", "Holm Marsh (nature reserve)"):
        assert "Holm Marsh" not in [bridge.name for bridge in bridges(QUESTION, title, TEXT)]


def test_only_so_many_names_are_taken():
    assert [b.name for b in bridges(QUESTION, "", TEXT, sentences=1, names=1)] == ["Ida Crane"]
    assert bridges(QUESTION, "", TEXT, sentences=0) == []


def test_a_text_without_capitals_or_without_words_of_the_question_leads_nowhere():
    assert bridges(QUESTION, "", TEXT.lower()) == []
    assert bridges(QUESTION, "", "Nothing of this is asked for by Jon Tarn.") == []
    assert bridges("", "", TEXT) == []
    assert bridges(QUESTION, "", "") == []


def test_a_very_long_question_and_text_are_bounded():
    found = bridges("born " * 50_000, "", "The Duke of Wessel was born. " * 2_000)
    assert [bridge.name for bridge in found] == ["Duke of Wessel"]
