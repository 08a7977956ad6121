"""Evidence of entity resolution in the words of the documents."""

from polygraph.indexing.written_evidence import as_written


def test_cut_words_and_folded_names_are_shown_as_documents_write_them():
    text = "On 3 February 1881 the Alderman met Percival\nStote at the Steps. Steps were wet."
    assert as_written("both with percival stote, alderman, februa, alderman, 1881", text) == (
        "both with Percival Stote, Alderman, February, 1881"
    )


def test_a_whole_word_is_preferred_to_the_beginning_of_a_longer_one():
    assert as_written("both with steps", "Stepson and Steps.") == "both with Steps"


def test_what_no_text_has_and_other_evidence_stay():
    assert as_written("both with januar", "Nothing.") == "both with januar"
    assert as_written("the only one of this name", "The only one.") == "the only one of this name"
