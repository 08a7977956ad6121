"""Entries of a list of questions that answer a question in other words."""

import math

import numpy as np

from polygraph.records import Chunk
from polygraph.tasks.offline.question_lists import entry_in_other_words
from polygraph.tasks.offline.sentences import Passage, candidate_sentences

TEXT = """Q: Who pays for a stolen boat?
A: You owe us the excess. Report it at once.

Q: When do you open?
A: We open the shed at nine.

Q: May dogs come along?
A: Dogs sit in the bow of the boat.

Q: Can I hire a tent?
A: Tents are rented by the farm.

Q: Where are the oars kept?
A: Oars hang behind the red door.
"""
QUESTION = "Am I liable for theft?"


class Placed:
    """An embedder that gives a text the cosine with the question that is set for one of its words, else 0.5."""

    name = "placed"
    dimension = 2

    def __init__(self, **cosines):
        self.cosines = cosines

    def embed(self, texts, kind):
        found = [1.0 if text == QUESTION else self.cosine(text) for text in texts]
        return np.array([[c, math.sqrt(1 - c * c)] for c in found], dtype=np.float32)

    def cosine(self, text):
        return next((c for word, c in self.cosines.items() if word in text), 0.5)


OTHERS = {"open": 0.5, "dogs": 0.54, "tent": 0.52, "oars": 0.56}


def found(embedder, n_rivals=0):
    chunk = Chunk(id="d:0", document="d", ordinal=0, start=0, end=len(TEXT), text=TEXT, n_tokens=99)
    sentences = candidate_sentences([Passage(chunk=chunk, title="Boats", evidence=1)])
    rivals = [each for each in sentences if "oars" in each.heading][:n_rivals]
    return [each.quoted.text for each in entry_in_other_words(QUESTION, sentences, rivals, embedder)]


def test_the_entry_that_is_far_ahead_of_the_others_is_the_answer():
    assert found(Placed(stolen=0.7, **OTHERS))[0] == "You owe us the excess."


def test_no_entry_is_the_answer_if_the_next_is_close():
    assert found(Placed(stolen=0.57, **OTHERS)) == []


def test_no_entry_is_the_answer_if_its_question_and_its_text_point_to_different_ones():
    assert found(Placed(excess=0.7, **OTHERS)) == []


def test_no_entry_is_the_answer_if_another_sentence_is_nearer():
    assert found(Placed(stolen=0.7, **OTHERS), n_rivals=1) != []
    # `red door` stands in no question.
    assert found(Placed(**{"stolen": 0.7, "hang behind": 0.7, **OTHERS}), n_rivals=1) == []
