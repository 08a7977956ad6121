"""Extractive answers: which sentences are chosen, and when an answer is refused."""

import time
from dataclasses import replace

import numpy as np
import pytest

from polygraph.records import Chunk
from polygraph.tasks.offline.answer import answer_with_sentences
from polygraph.tasks.offline.asked_kind import kind_gain
from polygraph.tasks.offline.contact_details import asked_contact_detail
from polygraph.tasks.offline.question_scope import split_questions
from polygraph.tasks.offline.sentences import Passage, below_names, candidate_sentences
from polygraph.testing import hashed_models


class Judge:
    """A reranker that likes one word."""

    name = "judge"
    local = True

    def __init__(self, word, *, liked=5.0, otherwise=-5.0):
        self.word, self.liked, self.otherwise = word, liked, otherwise

    def score(self, question, texts):
        # The sentence itself comes last; what stands before it is context.
        return np.array([self.liked if self.word in text[-60:] else self.otherwise for text in texts])


def models(reranker=None):
    return replace(hashed_models(), reranker=reranker)


def passages(*texts, start=0):
    return [
        Passage(
            chunk=Chunk(id=f"d{n}:0", document=f"d{n}", ordinal=0, start=start, end=start + len(t), text=t, n_tokens=9),
            title=f"Paper {n}",
            evidence=n,
        )
        for n, t in enumerate(texts, 1)
    ]  # fmt: skip


LIGHT = "Mara Quill built the light of granite in 1871. The granite came from Sallow Bay. Gulls nested on the roof."
HORN = "Tobias Wren bought the fog horn from Leeds. Nobody heard the horn in a gale."


def chosen(question, *texts, reranker=None):
    return answer_with_sentences(question, passages(*texts), models(reranker))


def test_the_sentence_that_shares_the_rare_words_is_chosen():
    found = chosen("Who bought the fog horn?", LIGHT, HORN)
    assert found.sentences[0].text == "Tobias Wren bought the fog horn from Leeds."
    assert found.sentences[0].evidence == 2
    assert found.refused_because == ""


def test_a_sentence_that_depends_on_the_one_before_is_joined_to_it_but_not_to_a_heading():
    (passage,) = passages("## The horn\n\nIt was heard in a gale.\n\nTobias Wren came. He bought the horn.")
    assert [c.quoted.text for c in candidate_sentences([passage])][-3:] == [
        "It was heard in a gale.",
        "Tobias Wren came.",
        "Tobias Wren came. He bought the horn.",
    ]


def test_the_number_of_a_row_is_not_quoted_as_a_no():
    (passage,) = passages(
        "No: 112; First name: Ida; Fee paid: yes.\nNo: 113; First name: Tobias; Fee paid: no."
    )
    found = [c.quoted for c in candidate_sentences([passage])]
    assert [quoted.text for quoted in found] == [
        "First name: Ida; Fee paid: yes.",
        "First name: Tobias; Fee paid: no.",
    ]
    assert found[0].span.start == len("No: 112; ")


def test_a_question_in_the_documents_is_quoted_only_with_the_sentence_that_answers_it():
    text = "Gulls nest on the roof. Who bought the fog horn of the light? Yes, that was Tobias Wren. Is it for sale?"
    found = chosen("Who bought the fog horn of the light?", text, reranker=Judge("Wren")).sentences
    assert [s.text for s in found] == ["Who bought the fog horn of the light? Yes, that was Tobias Wren."]
    assert chosen(
        "Who bought the fog horn?", "Ida Marsh: who has bought the fog horn at last?"
    ).refused_because
    assert chosen("What does Ida Marsh ask about the horn?", "Ida Marsh: who bought the horn?").sentences


def test_a_sentence_that_leads_to_a_list_is_quoted_with_it_or_not_at_all():
    items = "".join(f"- horn number {n} of the fog station at Sallow Bay\n" for n in range(20))
    for text, quoted in ((f"Wren bought:\n{items[:60]}", 1), (f"Wren bought:\n{items}", 0)):
        found = chosen("What horn has Wren bought?", text).sentences
        assert sum(s.text.startswith("Wren bought:") for s in found) == quoted
        assert found


def test_spans_count_from_the_beginning_of_the_document():
    (passage,) = passages(f"One. {HORN}", start=100)
    found = answer_with_sentences("Who bought the fog horn?", [passage], models())
    for sentence in found.sentences:
        span = sentence.span
        assert passage.chunk.text[span.start - 100 : span.end - 100] == sentence.text
        assert span.chunk == passage.chunk.id


def test_the_cross_encoder_decides_where_there_is_one():
    found = chosen("What was the roof of the light like?", LIGHT, HORN, reranker=Judge("Gulls"))
    assert "Gulls nested on the roof." in [s.text for s in found.sentences][:1]


def test_a_question_that_no_sentence_answers_is_refused_by_the_cross_encoder():
    found = chosen("Who built the light?", LIGHT, reranker=Judge("zinc"))
    assert found.sentences == ()
    assert found.refused_because


def test_a_question_that_shares_little_with_any_passage_is_refused_without_one():
    found = chosen("What is the price of barley in the northern provinces?", LIGHT, HORN)
    assert found.sentences == ()
    assert found.refused_because


def test_a_name_that_stands_nowhere_is_refused_and_a_near_spelling_is_not():
    assert "Mongolia" in chosen("What is the capital of Mongolia?", LIGHT).refused_because
    assert chosen("What did Tobias Wrenn buy?", HORN, reranker=Judge("Leeds")).sentences


def test_half_of_the_words_of_a_long_name_are_enough():
    text = "Five members fell in the war of the First Fleet. Ida Marsh read their names."
    liked = Judge("Fleet")
    assert chosen("Which members fell in the First Great War?", text, reranker=liked).sentences
    assert (
        "Zenith"
        in chosen("Who fell in the Great Zenith War?", "Nobody fell.", reranker=liked).refused_because
    )
    # Of two words both are: another Ida is another person.
    assert "Wilkins" in chosen("When did Ida Wilkins read names?", text, reranker=liked).refused_because
    assert "Wilkins" in chosen("Did Ida Wilkins read names?", text, reranker=liked).refused_because


def test_common_words_in_capitals_are_no_names():
    text = "Coffee may be brought up to the computers of the library."
    assert chosen("Is it OK to take coffee up to the PCs?", text, reranker=Judge("library")).sentences


def test_a_day_of_the_week_or_a_month_need_not_be_written_out():
    text = "The museum is open daily from 10 am to 5 pm."
    for question in ("Is the museum open on Sunday?", "Is the museum open in March?"):
        assert chosen(question, text, reranker=Judge("daily")).sentences


BERTHS = (
    "Berth: Berth 3; Boat: Ida. Berths 5 to 8 are for guests. From Lock 12 the speed is free. Lock 4 is shut."
)


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("Who lies at Berth 4?", "Berth 4"),
        ("who lies at berth 9 today?", "berth 9"),
        ("Which boat lies at Berth 3?", ""),
        ("Which boats lie at Berths 3 and 5?", ""),
        ("Who may lie at Berth 7?", ""),
        ("How fast may one go at Lock 14?", ""),
        ("How fast may one go at Lock 11?", "Lock 11"),
        # No passage numbers boats.
        ("Who rows Boat 2?", ""),
        ("Who paid for the berth in 2019?", ""),
    ],
)
def test_a_number_that_passages_do_not_give_to_what_they_number_is_missing(question, missing):
    reason = chosen(question, BERTHS, reranker=Judge(".")).refused_because
    assert (f"“{missing}”" in reason) if missing else not reason


def test_a_number_may_stand_in_the_heading_that_a_passage_begins_under():
    (one, other) = passages("Berth 3 is wide.", "The water is deep there.")
    below = replace(other, chunk=replace(other.chunk, metadata={"section": "Berth 4"}))
    question = "How deep is Berth 4?"
    liked = models(Judge("deep"))
    assert "Berth 4" in answer_with_sentences(question, [one, other], liked).refused_because
    assert "Berth 4" not in answer_with_sentences(question, [one, below], liked).refused_because


@pytest.mark.parametrize(
    ("version", "is_missing"),
    [
        ("2.4.1", False),
        ("2.4.7", True),
        ("2.5.0", False),
        ("2.5.3", False),
        ("3.1.9", False),
        ("4.0.0", True),
    ],
)
def test_a_version_that_passages_do_not_have_is_missing(version, is_missing):
    text = "Lampd 2.4.1 came in May. Lampd 2.5 has a timer. Lampd 3.x needs no oil."
    found = chosen(f"When did lampd {version} come?", text, reranker=Judge("."))
    assert bool(found.refused_because) == is_missing


def test_a_row_without_a_name_of_the_question_is_about_something_else():
    rows = "Boat: Ida; Crew: 4; Built: 1901.\nBoat: Rowan; Crew: 6; Built: 1911."
    other = "A guest came as a Heron to the ball."
    liked = Judge("Crew")
    assert (
        chosen("What crew does the Rowan have?", rows, reranker=liked)
        .sentences[0]
        .text.startswith("Boat: Rowan")
    )
    assert chosen("What crew does the Heron have?", rows, other, reranker=liked).refused_because
    # What stands above a table need not stand in its rows.
    assert chosen("What crew does the Paper Club have at 1911?", rows, "A Club.", reranker=liked).sentences


def test_a_date_in_numbers_is_no_version():
    text = "The lamp was lit on 3 May 2019 by the keeper."
    assert chosen("Who lit the lamp on 3.5.2019?", text, reranker=Judge("keeper")).sentences


def test_no_passages_are_refused():
    assert chosen("Who built the light?").refused_because == "nothing was found"
    assert chosen("Who built the light?", "", "?!").refused_because


def test_the_same_sentence_in_two_passages_is_taken_once():
    found = chosen("Who bought the fog horn?", HORN, HORN)
    texts = [s.text for s in found.sentences]
    assert len(texts) == len(set(texts))
    assert {s.evidence for s in found.sentences} == {1}


def test_the_answer_does_not_depend_on_how_often_it_is_asked():
    first, second = (chosen("Who built the light of granite?", LIGHT, HORN) for _ in range(2))
    assert first == second


def test_endless_texts_and_questions_are_answered_in_bounded_size():
    found = chosen("Who built the light? " * 500, "light granite " * 20_000, LIGHT)
    assert all(len(s.text) <= 2_000 for s in found.sentences)
    assert len(found.sentences) <= 5


@pytest.mark.parametrize(
    "question",
    [
        f"Which is older, {' ' * 19_000}the lamp or the tower?",
        f"Was the lamp{' ' * 19_000}lit before or after the tower?",
        f"Who is the keeper of the lamp{' ' * 19_000}x",
        f"Who looks after the lamp{' ' * 19_000}x",
        f"Who lit the lamp{' ' * 19_000}and where is it?",
        f"Who is {' '.join(f'Ruiz{n}' for n in range(2_000))}?",
    ],
    ids=lambda question: " ".join(question.split())[:20],
)
def test_a_long_question_is_answered_in_linear_time(question):
    texts = [" ".join(f"Ana Ruiz{n} lit lamp {k} of the tower." for k in range(20)) for n in range(10)]
    begin = time.process_time()
    chosen(question, *texts)
    split_questions(question)
    assert time.process_time() - begin < 5  # a quadratic search takes minutes


def test_numbers_of_a_question_are_looked_for_in_bounded_time():
    texts = ["Year 3 and Years 4 to 6 eat first. " * 40] * 30
    question = f"Who eats when: {', '.join(f'year {n}' for n in range(100, 700))}?"
    begin = time.process_time()
    chosen(question, *texts)
    assert time.process_time() - begin < 8  # each number takes a tenth of a second


def test_sentences_end_by_the_rules_of_the_documents_language():
    text = (
        "Der Vertrag wurde am 3. März von Dr. Holm und der Reederei in Bremen unterschrieben. Er gilt bis auf weiteres "
        "und ist nicht kündbar."
    )
    found = chosen("Von wem wurde der Vertrag mit der Reederei unterschrieben?", text)
    assert found.sentences[0].text.startswith("Der Vertrag wurde am 3. März von Dr. Holm")


def test_an_answer_and_a_refusal_say_that_the_question_is_in_another_language():
    text = f"{LIGHT} It was paid for by the owners of the ships that had been lost, and they were not glad of it."
    note = "the question is in German, and the passages found are in English"
    found = chosen(
        "Wer hat Mara Quill das granite light bezahlt?", text, reranker=Judge("1871", otherwise=1.0)
    )
    assert found.sentences
    assert found.note == note
    refused = chosen("Wo ist der Hund von Amundsen?", text)
    assert refused.refused_because.endswith(note)
    assert chosen("Who built the light of granite?", text).note == ""


def titled(title, text, **metadata):
    chunk = Chunk(
        id="d:0", document="d", ordinal=0, start=0, end=len(text), text=text, n_tokens=9, metadata=metadata
    )
    return [Passage(chunk=chunk, title=title, evidence=1)]


def test_a_title_or_heading_is_no_sentence_of_an_answer():
    letter = "Ada Brook, of the mill, to the Miller\n\nSir,\n\nAda Brook kept the mill at Orrin for twenty years.\n"
    found = answer_with_sentences(
        "Who was Ada Brook?", titled("Ada Brook, of the mill, to the Miller", letter), models()
    )
    assert [s.text for s in found.sentences] == ["Ada Brook kept the mill at Orrin for twenty years."]

    page = "# Life of Ada Brook, miller\n\nAda Brook kept the mill at Orrin for twenty years.\n"
    found = answer_with_sentences("Who was Ada Brook?", titled("Mills", page), models())
    assert [s.text for s in found.sentences] == ["Ada Brook kept the mill at Orrin for twenty years."]

    section = "ADA BROOK OF ORRIN\n\nAda Brook kept the mill at Orrin for twenty years.\n"
    found = answer_with_sentences(
        "Who was Ada Brook?", titled("Mills", section, section="ADA BROOK OF ORRIN"), models()
    )
    assert [s.text for s in found.sentences] == ["Ada Brook kept the mill at Orrin for twenty years."]


def test_a_heading_that_holds_the_date_asked_for_answers():
    changes = "# Changes\n\n## Version 2.3 of the mill's ledger, 4 May 2024\n\nThe ledger is faster.\n"
    found = answer_with_sentences("When was version 2.3 released?", titled("Changes", changes), models())
    assert "4 May 2024" in found.sentences[0].text


def test_a_title_that_is_a_sentence_is_one():
    text = "Ada Brook kept the mill at Orrin.\n\nGulls nested on the roof of the mill."
    found = answer_with_sentences(
        "Who kept the mill?", titled("Ada Brook kept the mill at Orrin.", text), models()
    )
    assert found.sentences[0].text == "Ada Brook kept the mill at Orrin."


def test_one_number_is_enough_to_say_more_than_the_question():
    text = "A lost key costs £25. The boathouse will close at dusk on weekdays from January."
    found = chosen("How much does a lost key cost?", text)
    assert found.sentences[0].text == "A lost key costs £25."


def test_marks_of_lists_and_headings_are_not_quoted():
    text = "Rules of the mill\n\n3. A lost key of the mill costs £25.\n\n- Ask Ada Brook for another key of the mill."
    found = chosen("What does a lost key of the mill cost, and whom do I ask for another key?", text)
    assert {s.text for s in found.sentences} == {
        "A lost key of the mill costs £25.",
        "Ask Ada Brook for another key of the mill.",
    }
    for s in found.sentences:
        assert text[s.span.start : s.span.end] == s.text


def test_a_number_that_begins_a_date_is_quoted():
    text = "3. Mai war der Tag der Mühle, an dem Ada Brook den Müller von Orrin und seine Kinder traf.\n"
    found = chosen("An welchem Tag traf Ada Brook den Müller von Orrin?", text)
    assert found.sentences[0].text.startswith("3. Mai")


def test_the_subject_line_of_a_mail_is_no_sentence_of_an_answer():
    mail = "Subject: The price of the new mill wheel\n\nThe new mill wheel now costs £900.\n"
    found = answer_with_sentences(
        "What is the price of the mill wheel?", titled("The price of the new mill wheel", mail), models()
    )
    assert [s.text for s in found.sentences] == ["The new mill wheel now costs £900."]


def test_one_new_word_answers_where_nothing_else_is_said():
    found = answer_with_sentences(
        "What was lit?", titled("Of lamps and oil", "# Of lamps and oil\n\nThe lamp was lit.\n"), models()
    )
    assert [s.text for s in found.sentences] == ["The lamp was lit."]


# --- the place of a sentence in its document ---------------------------------------------------------------


def contexts(text, title="Rules", section=""):
    (passage,) = passages(text)
    metadata = {"section": section} if section else {}
    passage = replace(passage, title=title, chunk=replace(passage.chunk, metadata=metadata))
    return {c.quoted.text: c for c in candidate_sentences([passage])}


def test_a_sentence_is_judged_below_the_heading_of_its_section_which_is_none_of_its_words():
    found = contexts("# Rules\n\nThe pier is long.\n\n## Boats\n\nPaint is free. Oars cost two pounds.")
    oars = found["Oars cost two pounds."]
    assert oars.context == "Rules. Boats. Paint is free. Oars cost two pounds."
    assert "boat" not in oars.terms
    assert found["The pier is long."].context == "Rules. The pier is long."


def test_a_passage_that_begins_within_a_section_stands_below_its_heading():
    found = contexts("Oars cost two pounds.", section="Boats")
    assert found["Oars cost two pounds."].context == "Rules. Boats. Oars cost two pounds."


def test_a_row_is_judged_without_the_one_before_it():
    found = contexts("Name: Ana; Task: boats; Since: 2021.\nName: Ben; Task: pier; Since: 2022.")
    row = "Name: Ben; Task: pier; Since: 2022."
    assert found[row].context == f"Rules. {row}"
    assert "ana" not in found[row].terms


@pytest.mark.parametrize(
    ("lines", "context"),
    [
        ("Absent: Tobias Wren\nKeeper of keys: Ida Marsh", "Keeper of keys: Ida Marsh"),
        ("Ida: Who lost it?\nTom: Only the mate did.", "Ida: Who lost it? Tom: Only the mate did."),
    ],
)
def test_a_field_is_judged_without_the_one_before_it_and_a_turn_is_not(lines, context):
    *_, last = candidate_sentences(passages(lines))
    assert last.context == f"Paper 1. {context}"


def test_a_sentence_without_a_word_of_the_question_is_quoted_with_the_one_before_it():
    text = "The fog horn may be blown until nine. Nobody on shore minds."
    found = chosen("When may the fog horn be blown?", text, LIGHT, reranker=Judge("minds"))
    assert found.sentences[0].text == text
    assert found.sentences[0].span.end - found.sentences[0].span.start == len(text)


def test_a_sentence_is_quoted_with_the_line_that_says_who_speaks():
    text = "11:47, Rita Stein (duty manager):\nThe files were damaged during our outage yesterday."
    found = chosen("Who is the duty manager?", text, reranker=Judge("damaged"))
    assert found.sentences[0].text == text.replace("\n", " ")


@pytest.mark.parametrize(
    "text",
    [
        "The board decides on credits. Until March this was Victor Hale; since April it is Rita Stein.",
        "Incubate the plates for two days. In the old protocol, it was only one day.",
        "The meter was out of calibration. Therefore nothing that it read may be used.",
    ],
)
def test_a_sentence_whose_subject_stands_before_it_is_quoted_with_that(text):
    (found,) = (c.quoted.text for c in candidate_sentences(passages(text))[1:])
    assert found == text


def test_where_it_is_asked_why_the_reason_behind_a_sentence_is_quoted():
    text = "Series 32 must not be used. The meter was out of calibration. It was repaired in May."
    quoted = chosen("Why must series 32 not be used?", text).sentences[0].text
    assert quoted == "Series 32 must not be used. The meter was out of calibration."
    told = "Series 32 must not be used because the meter was broken. The cellar was painted."
    assert "cellar" not in chosen("Why must series 32 not be used?", told).sentences[0].text


STEPS = """## Cleaning the lamp

Oil must be warm. Ask the keeper first.

1. Put out the flame.
2. Cut the wick with the brass shears.
3. Wipe the glass.

## Stores

Not sold here:

- wicks of cotton
- blue glass

Ida Marsh keeps the book."""


def test_who_asks_how_gets_all_steps_in_their_order():
    found = chosen("How do I clean the lamp?", STEPS, reranker=Judge("shears")).sentences
    assert [s.text for s in found] == [
        "1. Put out the flame. 2. Cut the wick with the brass shears. 3. Wipe the glass."
    ]
    assert STEPS[found[0].span.start : found[0].span.end].startswith("1. Put out the flame.\n2. Cut")
    # So are steps behind the sentence that leads to them.
    behind = chosen(
        "How must I treat the oil?", STEPS.replace("keeper", "oil keeper"), reranker=Judge("first.")
    )
    assert behind.sentences[0].text.startswith("Ask the oil keeper first. 1. Put out the flame.")
    assert chosen("Who cuts the wick of the lamp?", STEPS, reranker=Judge("shears")).sentences[0].text == (
        "Cut the wick with the brass shears."
    )


def test_a_step_behind_the_best_sentence_is_quoted_with_all_others():
    class Likes:
        name, local = "likes", True

        def score(self, question, texts):
            return np.array(
                [9.0 if "an hour" in t else 10.5 if t.endswith("shears.") else -9.0 for t in texts]
            )

    steps = (
        STEPS.replace("Cleaning the lamp", "Steps")
        .replace("the wick", "the lamp")
        .replace("Oil must be warm", "To clean the lamp takes an hour")
    )
    found = chosen("How do I clean the lamp?", steps, reranker=Likes()).sentences
    assert [s.text for s in found] == [
        "To clean the lamp takes an hour.",
        "1. Put out the flame. 2. Cut the lamp with the brass shears. 3. Wipe the glass.",
    ]


def test_steps_below_a_heading_that_says_what_is_asked_are_not_refused():
    found = chosen("How do I clean the lamp?", STEPS, reranker=Judge("nothing")).sentences
    assert found[0].text.startswith("1. Put out the flame.")
    assert chosen("How do I paint the lamp?", STEPS, reranker=Judge("nothing")).refused_because


def test_who_asks_for_several_things_gets_the_whole_list():
    found = chosen("Which goods are not sold here?", STEPS, reranker=Judge("blue glass")).sentences
    assert [s.text for s in found] == ["Not sold here: - wicks of cotton - blue glass"]


def test_a_heading_may_lack_a_word_that_says_for_whom_a_list_is():
    text = STEPS.replace("Stores", "Goods for sale").replace("Not sold here:", "Ask Tom.")
    found = chosen("Which goods are there for sale to visitors?", text, reranker=Judge("nothing"))
    assert found.sentences[0].text == "- wicks of cotton - blue glass"


def test_points_that_are_statements_are_not_quoted_together():
    points = [
        f"- Mara Quill and {n} others moved that the lamp of the pier be lit, {'and so on ' * 12}"
        for n in range(4)
    ]
    text = "\n".join(
        [*points, "- The keepers of the pier were Ida Marsh and Tobias Wren. " + "It was noted. " * 9]
    )
    found = chosen("Which keepers of the pier were named?", text, reranker=Judge("Wren")).sentences
    assert [s.text for s in found] == ["The keepers of the pier were Ida Marsh and Tobias Wren."]


def test_a_long_list_is_quoted_from_its_first_item():
    items = "\n".join(f"{n}. Turn screw number {n} of the lamp by a quarter." for n in range(1, 80))
    text = f"## Opening the lamp\n\n{items}"
    found = chosen("How do I open the lamp?", text, reranker=Judge("number 3 of")).sentences
    assert len(found) == 1
    assert found[0].text.startswith("1. Turn screw number 1 ")
    assert 1_500 < found[0].span.end - found[0].span.start <= 2_000
    assert found[0].text.endswith("by a quarter.")


def test_the_best_sentence_is_quoted_up_to_the_one_that_holds_what_was_asked():
    text = "Three people applied for the post of keeper. The board saw Ida Marsh and Tobias Wren."
    found = chosen("Who applied for the post of keeper?", text, reranker=Judge("applied")).sentences
    assert [s.text for s in found] == [text]
    before = "Your number is R-24. Send only the broken lamp of the buoy."
    found = chosen("What is the number of the broken lamp?", before, reranker=Judge("buoy")).sentences
    assert [s.text for s in found] == [before]
    there = "Ida Marsh applied for the post of keeper. The board saw Tobias Wren."
    found = chosen("Who applied for the post of keeper?", there, reranker=Judge("applied")).sentences
    assert [s.text for s in found] == ["Ida Marsh applied for the post of keeper."]


def test_the_heading_that_holds_the_version_asked_for_is_quoted():
    text = "## 3.1.2 of May\n\n- Fixed: the lamp went out in a gale from the north.\n\n## 3.1.1\n\n- New: a fog horn."
    found = chosen("Which version fixed the lamp in a gale?", text, reranker=Judge("north")).sentences
    assert [s.text for s in found] == ["3.1.2 of May", "Fixed: the lamp went out in a gale from the north."]


def test_a_date_or_a_word_before_a_sentence_is_quoted_with_it():
    text = "9 July 1849. Closed the school for the fever.\n\nDoes the light turn? No. None of the lamps has a motor."
    found = {c.quoted.text for c in candidate_sentences(passages(text))}
    assert "9 July 1849. Closed the school for the fever." in found
    assert "No. None of the lamps has a motor." in found


def test_a_code_at_the_head_of_a_document_counts_for_what_stands_below():
    text = "Report on the outage\n\nIncident: INC-77, closed.\n\n## Cause\n\nA valve of the lamp stuck."
    found = chosen("What was the cause of INC-77?", text, LIGHT, reranker=Judge("INC-77"))
    assert found.refused_because == ""
    (below,) = [c for c in candidate_sentences(passages(text)) if "valve" in c.quoted.text]
    (named,) = below_names("What was the cause of INC-77?", [below], passages(text))
    assert named.context.startswith("INC-77. ")
    assert {"inc", "77"} <= named.terms
    assert below_names("What was the cause of INC-78?", [below], passages(text)) == [below]


def test_a_row_without_the_code_asked_for_does_not_follow_the_row_that_holds_it():
    rows = "Code: E4; Meaning: fan slow; Do: clean it.\nCode: E5; Meaning: fan tilted; Do: set it upright."
    found = chosen("What is the meaning of code E4 of the fan?", rows, reranker=Judge("fan", otherwise=4.0))
    assert [s.text for s in found.sentences] == ["Code: E4; Meaning: fan slow; Do: clean it."]


def test_a_row_with_fewer_words_of_the_question_does_not_follow_one_with_more():
    rows = "Wood: oak; Price: £40; Use: masts.\nWood: pine; Price: £9; Use: decks."
    liked = Judge("Use", otherwise=4.0)
    assert len(chosen("What is the price of pine wood?", rows, reranker=liked).sentences) == 1
    assert len(chosen("What is the price of pine and of oak?", rows, reranker=liked).sentences) == 2


CHAT = """[2024-05-02 09:14] ida: morning. Who has the key of the boat house?
[2024-05-02 09:20] tom: it hangs behind the bar
[2024-05-02 11:01] ida: the winch is oiled. The rope is new."""


def test_a_message_is_quoted_as_a_whole_and_a_reply_with_what_was_asked():
    reply = chosen("Who has the key of the boat house?", CHAT, reranker=Judge("bar")).sentences
    assert [s.text for s in reply] == [" ".join(CHAT.split("\n")[:2])]
    said = chosen("Is the winch oiled?", CHAT, reranker=Judge("rope")).sentences
    assert [s.text for s in said] == [CHAT.split("\n")[2]]


def test_a_further_sentence_must_answer_by_itself():
    text = "The fog horn is blown at nine by Mara Quill. Leeds sold the fog horn to the board of Sallow for little."
    both = chosen("What of the fog horn?", text, reranker=Judge("little", liked=1.0, otherwise=0.1))
    assert len(both.sentences) == 2
    one = chosen("What of the fog horn?", text, reranker=Judge("little", liked=1.0, otherwise=-0.1))
    assert len(one.sentences) == 1


def test_a_german_noun_that_stands_nowhere_does_not_refuse_and_a_code_does():
    text = "Der Austritt ist nur zum Ende des Jahres möglich und dem Vorstand mitzuteilen."
    liked = Judge("mitzuteilen")
    assert chosen("Wann ist der Austritt zum Jahresende möglich?", text, reranker=liked).sentences
    assert "MX-9" in chosen("Wann ist der Austritt mit MX-9 möglich?", text, reranker=liked).refused_because


def test_the_lines_of_a_wrapped_title_are_no_sentence_of_an_answer():
    text = "SECOND AMENDMENT\nto the contract of 14 March 2019\n\nThe second amendment raises the rent."
    (passage,) = passages(text)
    found = candidate_sentences([replace(passage, title="SECOND AMENDMENT")])
    assert [c.is_heading for c in found] == [True, False]


def test_a_rule_comes_before_its_penalty():
    text = "No lamp may be lit after dusk by anybody on the pier. A lamp on the pier costs its owner five pounds."
    found = chosen("What about a lamp on the pier?", text, reranker=Judge("pier", otherwise=4.0))
    assert [s.text for s in found.sentences] == [
        "No lamp may be lit after dusk by anybody on the pier.",
        "A lamp on the pier costs its owner five pounds.",
    ]


def test_where_it_is_asked_what_one_may_do_a_sentence_that_forbids_gains():
    question = "May I light a lamp on the pier?"
    assert kind_gain(question, "A lamp may not be lit there.") > 0
    assert kind_gain(question, "A lamp costs five pounds.") == 0
    assert kind_gain("Who lit the lamp?", "A lamp may not be lit there.") == 0


def test_a_clear_statement_of_a_task_is_not_refused_whatever_the_cross_encoder_says():
    text = "The boatman, Ana Ruiz, looks after oars and sails. The oars are grey."
    found = chosen("Who is in charge of the oars?", text, reranker=Judge("zinc", otherwise=-6.0))
    assert [s.text for s in found.sentences] == ["The boatman, Ana Ruiz, looks after oars and sails."]
    assert chosen("Who painted the oars?", text, reranker=Judge("zinc", otherwise=-6.0)).refused_because


# --- contact details ---------------------------------------------------------------------------------------

PORTER = "The porter is Ana Ruiz, telephone 01632 960 417. She came on 2021-05-01 at 10:00."


def test_a_telephone_number_is_answered_only_by_a_sentence_that_holds_one():
    found = chosen(
        "What is the phone number of the porter?", PORTER, LIGHT, reranker=Judge("zinc", otherwise=-2.0)
    )
    assert "01632 960 417" in found.sentences[0].text
    found = chosen("What is the e-mail address of the porter?", PORTER, reranker=Judge("porter"))
    assert found.refused_because == "no sentence of the passages found holds an e-mail address"


def test_dates_and_prices_are_no_telephone_numbers():
    detail = asked_contact_detail("What is the phone number?")
    assert not detail.form.search("On 2021-05-01 10:00, 18 Nov 2024 16:00:00 and for £1,250,000.")
    assert detail.form.search("Call +44 (1632) 960-417.")


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("CO2", "CO₂"),
        ("CO₂", "CO2"),
        ("WiFi", "Wi-Fi"),
        ("Wi-Fi", "WiFi"),
        ("WiFi", "Wi\u2011Fi"),  # a hyphen that does not break
        ("E-Mail", "email"),
        ("Ｆｕｌｌ", "full"),
    ],
)
def test_a_name_is_found_in_another_way_to_write_it(name, written):
    text = f"The lighthouse measures the {written} of the lamp room in the morning."
    judge = Judge("morning")
    assert not chosen(f"Who measures the {name} of the lamp room?", text, reranker=judge).refused_because
    assert "nothing of “H2S”" in chosen("Who measures the H2S there?", text, reranker=judge).refused_because


BUILT = "We always said that the pier was built in 1905. {} It was opened by Ana Ruiz."


@pytest.mark.parametrize(
    ("behind", "quoted"),
    [
        ("We were wrong. The stamp says 1903.", "We were wrong. The stamp says 1903."),  # up to what is asked
        ("However, the shed is of 1911.", "However, the shed is of 1911."),
        ("The shed stands beside it.", ""),
        ("Onlookers came from Leeds.", ""),
    ],
)
def test_a_sentence_is_quoted_with_the_one_that_corrects_it(behind, quoted):
    found = chosen("When was the pier built?", BUILT.format(behind), reranker=Judge("1905"))
    assert found.sentences[0].text == f"We always said that the pier was built in 1905. {quoted}".strip()


def test_what_corrects_a_sentence_and_is_an_answer_itself_is_quoted_once():
    text = "Ana Ruiz said that the pier was built in 1905. However, the pier was built in 1903 of oak."
    texts = [
        s.text
        for s in chosen("When was the pier built?", text, reranker=Judge("oak", otherwise=4.0)).sentences
    ]
    assert " ".join(texts) == text


def test_nothing_corrects_a_sentence_from_another_paragraph():
    found = chosen(
        "When was the pier built?", BUILT.format("\n\n# Shed\n\nBut not here."), reranker=Judge("1905")
    )
    assert found.sentences[0].text == "We always said that the pier was built in 1905."
