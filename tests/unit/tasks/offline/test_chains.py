"""Chains of sentences: which sentence leads to which, and in what order both are shown."""

from dataclasses import replace

import numpy as np

from polygraph.records import Chunk
from polygraph.tasks.offline.answer import answer_with_sentences
from polygraph.tasks.offline.chains import chain_sentences, without_overlaps
from polygraph.tasks.offline.sentences import Passage, candidate_sentences
from polygraph.testing import hashed_models

FILM = ("Storm Glass", "Storm Glass is a film about a lamp, directed by Ada Finch in 1931.")
FINCH = ("Ada Finch (director)", "Finch kept bees in the north. Ada Finch was born in Porthallow.")
GULLS = ("Gulls", "Gulls nest on many roofs in the south.")
QUESTION = "Where was the director of Storm Glass born?"


def passages(*titled):
    return [
        Passage(
            chunk=Chunk(id=f"{n}:0", document=f"{n}", ordinal=0, start=0, end=len(t), text=t, n_tokens=9),
            title=title,
            evidence=n,
        )
        for n, (title, t) in enumerate(titled, 1)
    ]


def chained(question, chosen, *titled, likely=None, read=None, n_chains=1, logits=None):
    """Return the texts of the chained sentences, from the positions of those that were chosen."""
    candidates = candidate_sentences(passages(*titled))
    likely = likely or [0.0] * len(candidates)
    found = chain_sentences(question, candidates, chosen, likely, logits or {}, read, n_chains)
    return [candidates[i].quoted.text for i in found]


BORN = "Ada Finch was born in Porthallow."


def rates(**by_word):
    """Rate a text by the sum of the values of the words it holds."""
    return lambda texts: [sum(value for word, value in by_word.items() if word in text) for text in texts]


def test_a_sentence_that_names_a_title_is_followed_by_one_below_it():
    found = chained(QUESTION, [0], FILM, FINCH, likely=[0, 1, 2])
    assert found == [FILM[1], BORN]


def test_the_cross_encoder_chooses_among_the_likeliest_below_a_title():
    found = chained(QUESTION, [0], FILM, FINCH, likely=[0, 2, 1], read=rates(born=3), logits={0: 1})
    assert found == [FILM[1], BORN]


def test_a_sentence_below_a_title_is_preceded_by_one_that_names_it():
    assert chained(QUESTION, [2], FILM, FINCH, GULLS) == [FILM[1], BORN]


def test_a_sentence_that_holds_all_words_of_the_question_needs_none_before_it():
    assert chained("Where was the bee-keeper born?", [2], FILM, FINCH, GULLS) == [BORN]
    assert chained("Where was the director born?", [2], FILM, FINCH, GULLS) == [
        BORN
    ]  # the title says director


def test_a_sentence_that_says_she_comes_after_one_that_names_its_title():
    says = ("Ada Finch", "For two years she kept the bees.")
    assert chained("Who kept the bees?", [1], FILM, says) == [FILM[1], says[1]]
    assert chained("Who kept the bees?", [1], FILM, ("Ada Finch", "Finch kept the bees alone.")) == [
        "Finch kept the bees alone."
    ]


def test_a_line_of_the_head_of_a_mail_is_no_link_by_name():
    said = ("Log", "The lamp play was directed by Finch.")
    mail = ("Mail", "To: Finch and the others of the lamp play")
    assert chained(QUESTION, [0], said, mail, read=rates(play=5), logits={0: 0.0}) == [said[1]]


def test_a_name_alone_is_no_link_by_name():
    said = ("Log", "The lamp play was directed by Mara Finch.")
    assert chained(QUESTION, [0], said, ("List", "Mara Finch Theatre Company."), read=rates(Company=5)) == [
        said[1]
    ]


def test_a_common_noun_that_is_a_title_elsewhere_links_nothing():
    word = ("Lamp", "A lamp gives light to those who read at night.")
    assert chained(QUESTION, [0], FILM, word) == [FILM[1]]


def test_a_title_that_the_question_names_links_nothing():
    assert chained("Was Ada Finch or Storm Glass first?", [0], FILM, FINCH) == [FILM[1]]


def test_a_pair_that_is_rated_much_lower_than_its_better_sentence_is_not_joined():
    assert len(chained(QUESTION, [0], FILM, FINCH, read=rates(born=1), logits={0: 3.0})) == 2
    assert chained(QUESTION, [0], FILM, FINCH, read=rates(born=1), logits={0: 3.5}) == [FILM[1]]


def test_a_name_that_is_no_title_links_only_what_answers_better_together():
    note = ("A diary", "Old Finch, who directed the lamp play, was born in Porthallow.")
    film = ("Storm Glass", "The lamp play was directed by a certain Finch.")
    assert chained(QUESTION, [0], film, note, read=rates(born=2), logits={0: 2.0}) == [film[1], note[1]]
    assert chained(QUESTION, [0], film, note, read=rates(born=2), logits={0: 2.1}) == [film[1]]
    assert chained(QUESTION, [0], film, note) == [film[1]]  # not without a cross-encoder


def test_the_names_of_columns_link_nothing_and_a_cell_only_what_answers_much_better():
    row = ("Marks", "Pupil: Ida Marsh; Form: 11B; Days absent: 0; Tutor: Tom Finch.")
    panes = ("House", "The panes were replaced within Nine Days by the firm.")
    finch = ("Staff", "The office of Tom Finch is in Porthallow.")
    asked = "Where is the tutor of Marsh?"
    assert chained(asked, [0], row, panes, read=rates(panes=9), logits={0: 1}) == [row[1]]
    assert chained(asked, [0], row, finch, read=rates(Porthallow=2), logits={0: 1}) == [row[1]]
    assert chained(asked, [0], row, finch, read=rates(Porthallow=4), logits={0: 1}) == [row[1], finch[1]]


def test_a_name_in_many_documents_links_nothing():
    film = ("Storm Glass", "The lamp play was directed by a certain Finch.")
    others = [(f"Diary {n}", f"On day {n} a Finch came by.") for n in range(3)]
    assert chained(QUESTION, [0], film, *others, read=rates(day=9), logits={0: 0}) == [film[1]]


def test_no_more_chains_are_made_than_asked_for():
    other = ("Salt", "Salt is a film directed by Ben Moor.")
    moor = ("Ben Moor", "Ben Moor was born in Leeds.")
    candidates = [FILM, FINCH, other, moor]
    assert len(chained("Who is older?", [0, 3], *candidates, n_chains=1)) == 3
    assert len(chained("Who is older?", [0, 3], *candidates, n_chains=2)) == 4


def test_overlapping_sentences_are_shown_once():
    text = "The lamp was lit in May. It burned all night. A gull came by."
    candidates = candidate_sentences(passages(("Diary", text)))
    texts = [c.quoted.text for c in candidates]
    assert texts[1] == "The lamp was lit in May. It burned all night."
    assert without_overlaps(candidates, [1, 0, 2]) == [1, 2]


class Judge:
    """A reranker that likes the words of a film."""

    name = "judge"
    local = True

    def score(self, question, texts):
        return np.array([4.0 if "film" in text else 1.0 for text in texts])


def test_an_answer_leads_from_the_film_to_the_birth_of_its_director():
    found = answer_with_sentences(
        QUESTION, passages(GULLS, FINCH, FILM), replace(hashed_models(), reranker=Judge())
    )
    assert [s.text for s in found.sentences][:2] == [FILM[1], BORN]
    assert [s.evidence for s in found.sentences][:2] == [3, 2]


def test_a_month_or_a_day_links_nothing():
    horn = ("Horn", "The horn was sounded on a Sunday in March by the keeper.")
    season = ("Season", "The regatta is held from 6 to 15 March.")
    found = chained("When was the horn sounded?", [0], horn, season, read=rates(regatta=9.0), logits={0: 1.0})
    assert found == [horn[1]]
