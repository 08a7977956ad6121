"""Sentences that are embedded once and ranked for several queries."""

import pytest

from polygraph.records import Chunk
from polygraph.tasks.offline.sentence_pool import SentencePool
from polygraph.tasks.offline.sentences import Passage
from polygraph.testing import hashed_models

LIGHT = "Mara Quill built the light of grey granite. The granite came from the quarry of Sallow Bay. Gulls nested."
HORN = "Tobias Wren bought the fog horn from a foundry in Leeds. Mara Quill built the light of grey granite."


def passage(name, text):
    chunk = Chunk(
        id=f"{name}:0",
        document=name,
        ordinal=0,
        start=0,
        end=len(text),
        text=text,
        n_tokens=len(text.split()),
    )
    return Passage(chunk=chunk, title=name, evidence=1)


@pytest.fixture
def pool():
    return SentencePool([passage("light", LIGHT), passage("horn", HORN)], hashed_models())


def test_the_nearest_sentence_comes_first_and_a_repeated_one_belongs_to_the_first_passage(pool):
    found = pool.nearest("Who built the light of granite?", most=3)
    assert found[0].text == "Mara Quill built the light of grey granite."
    assert found[0].span.chunk == "light:0"
    assert [s.score for s in found] == sorted((s.score for s in found), reverse=True)
    assert len({s.text for s in found}) == len(found)


def test_questions_and_the_head_of_a_mail_are_no_statements():
    mail = "Date: Tue, 3 Dec 1871, at the light of granite\n\nWho built the light of granite? "
    pool = SentencePool([passage("mail", mail + LIGHT)], hashed_models())
    found = [s.text for s in pool.nearest("Who built the light of granite?", most=9)]
    assert found[0] == "Mara Quill built the light of grey granite."
    assert not any("?" in text or "Date" in text for text in found)


def test_sentences_of_other_chunks_and_excluded_ones_are_not_returned(pool):
    (first,) = pool.nearest("Who built the light of granite?", most=1)
    rest = pool.nearest("Who built the light of granite?", most=9, exclude={first.span})
    assert rest
    assert first.span not in {s.span for s in rest}
    horn = pool.nearest("Who built the light of granite?", most=9, chunks={"horn:0"})
    assert {s.span.chunk for s in horn} == {"horn:0"}
    assert pool.nearest("Who?", most=9, chunks=set()) == []


def test_sentences_with_few_content_words_say_too_little(pool):
    assert all("Gulls" not in s.text for s in pool.nearest("Where did gulls nest?", most=9))
