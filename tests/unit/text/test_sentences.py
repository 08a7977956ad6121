"""Sentence boundaries: offsets, hard-wrapped text, lists, and what the library cannot take."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.text.sentences import is_hard_wrapped, sentence_spans, trim_span

DATA = Path(__file__).parents[3].parent / "shared" / "data"

# Characters that sentence splitters stumble over, beside ordinary ones.
ODD = "aB. .!?\"'“”‘()[]\n\r\t,:;-–…。！é\xa0\u2003\u2028\u200b日😀1•◦|#>*ß\u0301\x85\ufeff\x00"


def split(text: str, language: str = "en") -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text, language=language)]


def test_a_line_break_inside_a_hard_wrapped_paragraph_is_no_boundary() -> None:
    text = (
        "Marley was dead: to begin with. There is no doubt\nwhatever about that. The register of his burial"
    )
    text += "\nwas signed."
    assert split(text) == [
        "Marley was dead: to begin with.",
        "There is no doubt\nwhatever about that.",
        "The register of his burial\nwas signed.",
    ]


def test_windows_line_ends_count_as_line_ends() -> None:
    assert split("A heading\r\n\r\nHe went\r\nhome. She stayed.") == [
        "A heading",
        "He went\r\nhome.",
        "She stayed.",
    ]


def test_a_line_break_is_a_boundary_where_every_paragraph_is_one_line() -> None:
    long = "The harbour board met again and again over the long winter to consider the plans " * 2
    assert split(f"A title\n{long}\nAnother title\n{long}") == [
        "A title",
        long.strip(),
        "Another title",
        long.strip(),
    ]


def test_a_numbered_heading_is_one_sentence() -> None:
    assert split("## 5. Dog in house 22\n\nMr. Krüger complained.") == [
        "## 5. Dog in house 22",
        "Mr. Krüger complained.",
    ]
    assert split("Text.\n  # No. 4. The well\nIt was dry.") == ["Text.", "# No. 4. The well", "It was dry."]


@pytest.mark.parametrize(
    "sentence",
    [
        "Present: Mr. Lind (secretary), Ms. Ifeoma Osei and Mx. Lee.",
        "Ms. Nowak was elected treasurer.",
        "Attn. Mr. Kroll, see para. 4 and Eq. 7, approx. 5 metres down.",
    ],
)
def test_a_title_before_a_name_and_an_abbreviation_before_a_number_end_no_sentence(sentence: str) -> None:
    assert split(f"The votes were counted. {sentence} All agreed.") == [
        "The votes were counted.",
        sentence,
        "All agreed.",
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "Oil pressure, max. 2.5 MPa; guests: max. two rooms.",
        "Oil pressure, max.                2.5 MPa",
        "It turns with min. 40 rpm, approx. ±2 rpm, at temp. -5 °C (est. 1 h).",
        "Rope, max. (short) 3 kN.",
        "Rent is 400 incl. heating, 380 excl. Heating and 350 excl. VAT.",
        "See fig. 3, tab. 4, figs. 5 and 6, pp. 12 to 14 and p. IV of vol. II.",
        "Call ext. 410 or tel. +44 117 496, dept. of boats.",
        "Doc. no. TH-9 and nos. 4 and 5 are here.",
    ],
)
def test_an_abbreviation_that_needs_what_follows_ends_no_sentence(sentence: str) -> None:
    assert split(f"The votes were counted. {sentence} \n\nAll agreed.") == [
        "The votes were counted.",
        sentence,
        "All agreed.",
    ]


def test_a_word_that_looks_like_an_abbreviation_can_end_a_sentence() -> None:
    for first, second in (
        ("Asked again, the board said no.", "Nobody was surprised."),
        ("The answer was no.", "It was late."),
        ("The load is 3 kN max.", "The rope must be dry."),
        ("All prices are incl.", "The ferry is free."),
        ("It takes 5 min.", "Three people do it."),
        ("Open the left tab.", "A list appears."),
        ("Open the left tab.", "4 boats are listed."),
    ):
        assert split(f"{first} {second}") == [first, second]


@pytest.mark.parametrize(
    "sentence",
    [
        "Am 7. Januar hat er gefragt.",
        "Vom 3. August an kam er.",
        "Den 3. mai 1909 kom han.",
        "Han kom 12. december.",
    ],
)
def test_a_day_before_the_name_of_a_month_ends_no_sentence(sentence: str) -> None:
    assert split(f"Es war kalt. {sentence} Alle gingen.") == ["Es war kalt.", sentence, "Alle gingen."]


def test_a_number_before_an_english_month_can_end_a_sentence() -> None:
    assert split("He was 57. August came. She was 30. May was warm.") == [
        "He was 57.",
        "August came.",
        "She was 30.",
        "May was warm.",
    ]


def test_headings_list_items_and_table_rows_stand_alone() -> None:
    text = "# Crew\nThe crew was small.\n- the mate\n- the cook\n| a | b |\n| c | d |\n1. first\n2. second"
    assert split(text) == [
        "# Crew",
        "The crew was small.",
        "- the mate",
        "- the cook",
        "| a | b |",
        "| c | d |",
        "1. first",
        "2. second",
    ]


def test_speakers_turns_and_field_lines_stand_alone() -> None:
    assert split("Alice: I will come\nBob: so will I\nAlice: good") == [
        "Alice: I will come",
        "Bob: so will I",
        "Alice: good",
    ]
    assert split("Ship: Halcyon; Port: Wick.\nShip: Dunlin; Port: Leith.") == [
        "Ship: Halcyon; Port: Wick.",
        "Ship: Dunlin; Port: Leith.",
    ]


def test_prose_that_wraps_before_a_number_or_a_colon_stays_together() -> None:
    text = "All the books were moved to the room\n12. On the shelf they found a note of which\nVane said: go."
    assert split(text)[-1] == "On the shelf they found a note of which\nVane said: go."


def test_a_title_above_its_text_is_a_sentence_of_its_own() -> None:
    assert (
        split("Cultural Exchange\nIt was a simple student exchange, they said at the start.")[0]
        == "Cultural Exchange"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. J. R. Vane met Mr. Hale at 5 p.m. on Monday. They spoke.", 2),
        ("The U.S. fleet left. See Fig. 3 for its route.", 2),
        ("It cost 3.50 pounds, i.e. too much. Why?", 2),
        ('"Stop!" he cried. "The tide turns."', 2),
        ("It was so. • One thing. Two things. • Three. Four.", 5),
        ("• One thing. Two things.", 2),
        ("(1) One thing is here. Two things are there.", 2),
        ("1. One thing is here. Two things are there.", 2),
        ("これは本です。それはペンです！本当？", 3),
    ],
)
def test_number_of_sentences(text: str, expected: int) -> None:
    assert len(split(text)) == expected


def test_a_list_number_stays_with_its_sentence() -> None:
    assert split("It is so. 2. The board agreed.")[1] == "2. The board agreed."


def test_wide_spaces_after_an_initial_do_not_break_the_splitter() -> None:
    # `sentencex` 1.0.32 panics on this text as it stands.
    text = "Letter from J.\xa0R.\u2003Vane. He left A.\u202fHale."
    assert "".join(split(text)).replace(" ", "") == text.replace(" ", "")


def test_a_panic_of_the_library_falls_back_to_rough_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        pass

    def panic(language: str, text: str) -> None:
        raise PanicException

    monkeypatch.setattr("sentencex.get_sentence_boundaries", panic)
    assert (
        split("It was written by Anna Vane today. " * 40 + "The rest is silence.")[-1]
        == "The rest is silence."
    )


def test_an_unclosed_quote_does_not_swallow_a_page() -> None:
    text = 'He said " and then ' + "the tide went out again. The boats lay on the sand. " * 60
    assert max(map(len, split(text))) < 1_000


def test_short_lines_of_which_none_goes_on_in_lower_case_are_not_wrapped() -> None:
    body = "The winch that you sent us in the spring holds well, and so does\nthe rope that came with it."
    letter = f"{body}\n\nYours faithfully,\nPeter Lang\nLang & Sons Ltd"
    assert split(letter)[1:] == ["Yours faithfully,", "Peter Lang", "Lang & Sons Ltd"]
    narrow = f"{body}\n\nAs the keeper\nof the light said:\nNobody came."
    assert split(narrow)[1:] == ["As the keeper\nof the light said:\nNobody came."]


def test_wrapped_lines_of_letters_without_case_beside_wider_ones_go_on() -> None:
    wide = "The winch that you sent us in the spring holds well, and so does the rope that came\nwith it."
    narrow = "港の管理者は五月に新しい巻き上げ機を\n北の埠頭に設置しましたが、まだ使われて\nいません。"
    assert split(f"{wide}\n\n{narrow}", language="ja")[-1] == narrow


def test_a_chat_of_speakers_in_lower_case_has_a_sentence_for_each_turn() -> None:
    turns = ["alice: did you see the relay board?", "bob: yes, it is", "alice: ok"]
    assert split("\n".join(turns)) == turns


@pytest.mark.parametrize(
    "stamp", ["[2024-05-02 09:14]", "[09:14:31]", "2/5/24, 9:14 -", "2024-05-02T09:14:31Z"]
)
def test_a_short_message_behind_its_date_and_time_is_one_sentence(stamp: str) -> None:
    messages = [f"{stamp} ida: morning. is it lit?", f"{stamp} tom: since nine. all well"]
    assert split("\n".join(messages)) == messages
    long = f"{stamp} ida: {'The lamp was lit at nine. ' * 12}".strip()
    assert len(split(long)) == 12


@pytest.mark.parametrize("mark", ["**", "__", "*"])
def test_emphasis_that_ends_behind_a_sentence_is_part_of_it(mark: str) -> None:
    assert split(f"4. {mark}Tides.{mark} There were two. He rowed.") == [
        f"4. {mark}Tides.{mark}",
        "There were two.",
        "He rowed.",
    ]


def test_hard_wrapping_is_judged_by_the_bulk_of_the_text() -> None:
    wrapped = "a line of some seventy characters as they are found in printed books\n" * 50
    assert is_hard_wrapped(wrapped + "x" * 500)
    assert not is_hard_wrapped("one line, one paragraph. " * 100 + "\n- a point")
    assert is_hard_wrapped("")


@pytest.mark.parametrize("head", ["", "Minutes\n\n", "- a point\n- another\n\n"])
def test_lines_wrapped_at_any_width_are_no_paragraphs(head: str) -> None:
    sentences = [
        "The harbour board met again and again over the long winter to consider the plans that the engineer had "
        "drawn up, although\nnobody believed in them.",
        "Their owners had signed twice and paid once, and the bank in Wick would lend no more on the strength of what "
        "they owed the\nengineer, who had left for good.",
    ]
    assert split(head + " ".join(sentences))[-2:] == sentences


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-27T10:00 worker 4 took the job over from worker 3, which had not answered for a minute and a half, "
        "and had nine calls open",
        "level=info worker=4 took the job over from worker 3, which had not answered for a minute and a half, and had "
        "nine calls open",
        "the harbour board met again and again over the long winter to consider the plans that the engineer had drawn "
        "up for the sea wall.",
        "港務局は長い冬の間、技師が描いた防波堤の計画について何度も会合を開いた" * 5,
    ],
    ids=["time", "keys", "end mark", "no case"],
)
def test_long_lines_that_do_not_break_within_a_sentence_stay_apart(line: str) -> None:
    assert split("\n".join([line] * 4)) == [line] * 4


@given(st.text(alphabet=ODD, max_size=300), st.sampled_from(["en", "de", "zh", "xx", "en-GB", ""]))
def test_spans_are_in_order_trimmed_and_cover_everything_but_white_space(text: str, language: str) -> None:
    position = 0
    for start, end in sentence_spans(text, language=language):
        assert position <= start < end
        assert not text[position:start].strip()
        assert text[start:end] == text[start:end].strip()
        position = end
    assert not text[position:].strip()


@given(st.text(alphabet=" \tab\n", max_size=40), st.integers(0, 40), st.integers(0, 40))
def test_trim_gives_the_stripped_text(text: str, start: int, end: int) -> None:
    a, b = trim_span(text, start, max(start, end))
    assert text[a:b] == text[start : max(start, end)].strip()


@pytest.mark.parametrize(
    "unit",
    [
        "“Yes. No. ",
        "word ",
        "a",
        ". ",
        "(1) x. ",
        "• x. ",
        "A: b\n",
        "....",
        '"',
        "x\n",
        "\n",
        "# a\n",
        "A: b; ",
    ],
)
def test_cost_is_linear_in_the_length(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    begin = time.process_time()
    sentence_spans(text)
    assert time.process_time() - begin < 3  # a quadratic search needs minutes


def test_a_christmas_carol_splits_in_sentences_of_sane_length() -> None:
    path = DATA / "graph-christmas-carol" / "corpus.jsonl"
    if not path.exists():
        pytest.skip("the shared data sets are not beside this checkout")
    text = json.loads(path.read_text(encoding="utf-8"))["text"]
    found = split(text)
    assert "Old Marley was as dead as a door-nail." in [" ".join(each.split()) for each in found]
    assert 1_500 < len(found) < 2_000
    assert max(map(len, found)) < 1_000


@pytest.mark.parametrize(
    "sentence",
    [
        "Stimmberechtigt sind Mitglieder, die das 16. Lebensjahr vollendet haben.",
        "Der Vorstand besteht aus der 1. Vorsitzenden und der Kassenwartin.",
        "Am 16. November spricht Dr. Reimers.",
        "Geprüft hat es Dipl.-Ing. Ruth Kahl für die Gebr. Brand.",
    ],
)
def test_a_german_ordinal_or_title_ends_no_sentence(sentence):
    text = f"{sentence} Das war 1998. Der Verein wuchs."
    found = [text[a:b] for a, b in sentence_spans(text, language="de")]
    assert found == [sentence, "Das war 1998.", "Der Verein wuchs."]


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("de", "Die Fa. Kranz liefert zzgl. Versand."),
        ("fr", "Le contrat sera signé par M. Diarra et Mme. Roy."),
        ("fr", "La réf. 582 est de M. L. Roux, c.-à-d. du siège."),
        ("es", "Se sumarán D. Luis, D.ª Nuria y la Cía. Norte."),
        ("es", "El presupuesto n.º 94 vale aprox. 300 euros."),
        ("it", "La ditta Gallo S.p.A. chiude a pag. 12."),
        ("nl", "Mevr. de Smit komt, d.w.z. morgen om tel. 020."),
        ("pt", "A Profa. Ana mora na Av. Goya, p. ex. no n.º 3."),
        ("sv", "Brevet är från K. Berg."),
    ],
)
def test_an_abbreviation_in_another_language_ends_no_sentence(language, sentence):
    text = f"{sentence} Xantia 3 km. Zebra."
    assert next(text[a:b] for a, b in sentence_spans(text, language=language)) == sentence


def test_a_year_at_the_start_of_a_wrapped_line_of_a_list_is_no_mark():
    told = (
        "3. The tenant wrote to the landlord about the roof on 3 October 2022 and again on 21 November\n2022."
    )
    items = [told, "Nothing was done.", "4. The oven was lost."]
    assert split(f"{items[0]} {items[1]}\n{items[2]}") == items
