"""Questions, terms and bold words that head a paragraph, and what an answer quotes below them."""

import re

import pytest

from polygraph.records import Chunk
from polygraph.tasks.offline.answer import answer_with_sentences
from polygraph.tasks.offline.paragraph_heads import paragraph_heads
from polygraph.tasks.offline.quoting import with_paragraph
from polygraph.tasks.offline.sentences import Passage, candidate_sentences
from polygraph.testing import hashed_models
from polygraph.text.sentences import sentence_spans
from tests.unit.tasks.offline.test_answer import Judge, models, passages

FAQ = """Questions about the pier

Q. Where can I park?
A. Behind the hall. There are nine places.

Q: What is the lowest age?
A: Seven. It was eight once.

Tickets are sold at the gate."""
GLOSSARY = """Ebbmark
    The brass line on the wall. Cleaned every early spring.

Lampman
    Whoever trims the wick. Paid by the week.
"""


def heads(text):
    spans = [(start, end) for start, end in sentence_spans(text) if re.search(r"\w", text[start:end])]
    found = paragraph_heads(text, spans)
    return {text[start:end].strip(): found[start].text for start, end in spans if start in found}


def test_the_paragraph_behind_a_question_answers_it():
    assert heads(FAQ) == {
        "A. Behind the hall.": "Where can I park?",
        "There are nine places.": "Where can I park?",
        "A: Seven.": "What is the lowest age?",
        "It was eight once.": "What is the lowest age?",
    }


@pytest.mark.parametrize(
    "text",
    [
        "Dear Ana,\n\nCan you send the key?\nBest wishes, Tom",  # asked in a mail
        "He left. Why did he go? Nobody knew. Was it the fog? It was.",  # in prose
    ],
)
def test_a_question_that_is_no_heading(text):
    assert heads(text) == {}


@pytest.mark.parametrize(
    "text",
    [
        "**Where do I park?**\n\nBehind the hall. It is free.\n\nThe gate is green.",
        "# Where do I park?\n\nBehind the hall. It is free.\n\nThe gate is green.",
        "Where do I park?\n\nBehind the hall. It is free.\n\nWho trims the lamp?\n\nMara does.",
    ],
)
def test_a_question_in_bold_as_a_heading_or_one_of_several_is_answered_up_to_the_next_empty_line(text):
    assert heads(text)["It is free."] == "Where do I park?"
    assert "The gate is green." not in heads(text)


def test_terms_head_the_indented_lines_below_them():
    assert heads(GLOSSARY)["Cleaned every early spring."] == "Ebbmark"
    assert heads(GLOSSARY)["Paid by the week."] == "Lampman"


def test_a_single_indented_paragraph_has_no_term():
    assert heads("Tom Wren\n    12 Quay Road. Second floor.") == {}


def test_bold_words_head_the_rest_of_their_paragraph_or_item():
    text = "**Prices.** Oil is dear. Salt is not.\n\nFog came.\n\n- **Ana**: keeps keys. Lives here.\n- Tom rows."
    assert heads(text) == {"Oil is dear.": "Prices", "Salt is not.": "Prices", "Lives here.": "Ana"}


@pytest.mark.parametrize("mark", [":", " –", " -"])
def test_three_terms_before_a_mark_head_the_rest_of_their_lines(mark):
    text = (
        f"Ebbmark{mark} a line. Of brass.\nWick{mark} a cord\nof flax. Burns.\n\n- Oil{mark} is dear. Smells."
    )
    assert heads(text) == {"Of brass.": "Ebbmark", "Burns.": "Wick", "Smells.": "Oil"}


def test_two_terms_before_a_colon_make_no_glossary():
    assert heads("She said: stay. Tom left.\n\nThe reason: fog. It was thick.") == {}


@pytest.mark.parametrize("text", ["", "\n" * 5_000, "**a" * 5_000, "a?\n" * 5_000, "Q. " * 5_000 + "?"])
def test_long_texts_without_a_paragraph(text):
    paragraph_heads(text, [(0, len(text))])


def chosen(question, text, reranker=None):
    return answer_with_sentences(question, passages(text, "Gulls nest on the roof."), models(reranker))


def test_the_question_of_a_text_is_answered_with_all_that_stands_below_it():
    found = chosen("Where do I park?", FAQ, Judge("nothing"))
    assert [s.text for s in found.sentences] == ["Behind the hall. There are nine places."]
    span = found.sentences[0].span
    assert FAQ[span.start : span.end] == "Behind the hall. There are nine places."


def test_a_short_answer_is_quoted_without_its_mark():
    assert chosen("What is the lowest age?", FAQ).sentences[0].text == "Seven. It was eight once."


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("F. Scott Orme wrote the book in 1925.", "F. Scott Orme wrote the book in 1925."),
        ("**Who founded the museum?**\n\nA. Lind founded it in 1890.", "A. Lind founded it in 1890."),
        ("Q. Who founded it?\nA. Ada Lind. R. Orme gave the land.", "R. Orme gave the land."),
        ("Q. Who founded it?\nA. Ada Lind gave the land.", "Ada Lind gave the land."),
        ("Who founded it?\nA: Ada Lind gave it.\n\nWhere is it?\nIn Leith.", "Ada Lind gave it."),
    ],
)
def test_an_initial_is_no_mark_of_a_question_or_an_answer(text, sentence):
    assert sentence in [c.quoted.text for c in candidate_sentences(passages(text))]


@pytest.mark.parametrize("question", ["What is an ebbmark?", "What does Ebbmark mean?", "Define ebbmark"])
def test_a_term_is_explained_by_all_that_stands_below_it(question):
    assert (
        chosen(question, GLOSSARY).sentences[0].text
        == "The brass line on the wall. Cleaned every early spring."
    )


def test_a_sentence_is_quoted_from_the_beginning_of_the_answer_or_explanation_that_it_is_part_of():
    found = chosen("When is the ebbmark cleaned?", GLOSSARY)
    assert found.sentences[0].text == "The brass line on the wall. Cleaned every early spring."
    found = chosen("What age was the lowest once?", FAQ)
    assert found.sentences[0].text == "Seven. It was eight once."


def test_a_sentence_below_bold_words_is_quoted_alone():
    text = "**Prices.** Oil is dear. Salt was free until Monday last."
    assert (
        chosen("When were prices of salt free?", text).sentences[0].text == "Salt was free until Monday last."
    )


def test_a_term_before_a_dash_is_quoted_with_what_explains_it():
    text = "Ebbmark – the line of brass. It is cleaned weekly.\nWick – a cord. It burns.\nOil – is dear. It smells."
    found = chosen("What is an ebbmark?", text)
    assert found.sentences[0].text == "Ebbmark – the line of brass. It is cleaned weekly."


def test_the_cross_encoder_reads_the_heading_of_a_paragraph():
    contexts = [c.context for c in candidate_sentences(passages(GLOSSARY))]
    assert "Paper 1. Lampman. Whoever trims the wick. Paid by the week." in contexts
    assert hashed_models().reranker is None


def test_a_sentence_of_a_chunk_that_overlaps_another_is_quoted_from_its_own():
    text = "Q. Where can I park?\nA. Behind the hall. There are nine places for cars.\nThe gate is green."
    parts = {"d:0": (text.index("nine"), len(text)), "d:1": (0, len(text) - 4)}
    both = [
        Passage(
            chunk=Chunk(
                id=id, document="d", ordinal=n, start=start, end=end, text=text[start:end], n_tokens=9
            ),
            title="Paper",
            evidence=n,
        )
        for n, (id, (start, end)) in enumerate(parts.items())
    ]
    found = [c.quoted for c in candidate_sentences(both)]
    for sentence in with_paragraph(found, candidate_sentences(both), both, frozenset(["park"])):
        start, end = parts[sentence.span.chunk]
        assert both[sentence.evidence].chunk.id == sentence.span.chunk
        assert start <= sentence.span.start < sentence.span.end <= end
        assert sentence.text == " ".join(text[sentence.span.start : sentence.span.end].split())
