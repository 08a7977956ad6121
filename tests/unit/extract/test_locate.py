import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.extract.locate import MAX_SPANS, Locator
from polygraph.records import Chunk, Window


def window_of(*texts: str, start: int = 0, document: str = "d") -> Window:
    """A window of neighbouring chunks."""
    chunks, at = [], start
    for i, text in enumerate(texts):
        chunks.append(
            Chunk(
                id=f"{document}:{i}",
                document=document,
                ordinal=i,
                start=at,
                end=at + len(text),
                text=text,
                n_tokens=len(text) // 4,
            )
        )
        at += len(text)
    return Window(
        id=f"{document}@0", document=document, ordinal=0, title="", chunks=tuple(chunks), text="".join(texts)
    )


def found(name: str, window: Window) -> list[str]:
    spans = Locator(window).locate(name)
    return [window.text[s.start - window.start : s.end - window.start] for s in spans]


def test_offsets_are_of_the_document_and_chunks_are_named():
    window = window_of("The tug left. ", "Quill waved; quill left.", start=100)
    spans = Locator(window).locate("Quill")
    assert [(s.chunk, s.start, s.end) for s in spans] == [("d:1", 114, 119), ("d:1", 127, 132)]


def test_white_space_line_breaks_and_case_do_not_matter():
    assert found("anna  QUILL", window_of("Here Anna\r\n   Quill stood.")) == ["Anna\r\n   Quill"]


def test_a_name_is_found_as_whole_words_only():
    assert found("Ann", window_of("Annual Ann, Anna")) == ["Ann"]


def test_possessives_on_either_side_do_not_matter():
    window = window_of("Marley’s ghost and Marley")
    assert found("Marley", window) == ["Marley", "Marley"]
    assert found("Marley's", window) == ["Marley", "Marley"]


def test_punctuation_inside_a_name_must_agree():
    window = window_of("Quill, Vane came. Mr. Vane and Quill & Vane")
    assert found("Quill & Vane", window) == ["Quill & Vane"]
    assert found("Mr. Vane", window) == ["Mr. Vane"]


def test_a_leading_determiner_may_be_missing_in_the_text():
    assert found("The Halcyon Society", window_of("members of Halcyon Society met")) == ["Halcyon Society"]


def test_a_full_name_falls_back_to_its_rarest_capitalised_word():
    window = window_of("Scrooge met Marley. Scrooge left. The ghost stayed.")
    assert found("Jacob Marley", window) == ["Marley"]
    assert found("the great ghost", window) == []


def test_a_name_with_a_code_falls_back_to_the_code_and_never_to_the_word_of_its_kind():
    window = window_of(
        "Participant 03-011 fell ill. The first, 07-004 in Delft, got well. Report BR-12 says so."
    )
    assert found("Participant 07-004", window) == ["07-004"]
    assert found("Report BR-12", window) == ["Report BR-12"]
    assert found("Final Report BR-12", window) == ["BR-12"]
    assert found("Participant 09-001", window) == []


def test_what_a_name_adds_in_brackets_need_not_stand_in_the_text():
    window = window_of("New York grew. York did not. The New hall.")
    assert found("New York (state)", window) == ["New York"]
    assert found("York (New)", window) == ["York", "York"]
    assert found("Ann York (queen)", window) == ["York", "York"]


def test_a_code_is_located_whole_and_the_years_of_a_life_are_none():
    assert found("Part A1.B2", window_of("The lamp A1.C3 stands beside the A1.")) == []
    assert found("Ada Lind (1840-1902)", window_of("Here Ada Lind is buried.")) == ["Ada Lind"]


def test_names_in_scripts_without_spaces_are_found_inside_runs():
    assert found("灯塔", window_of("港口的灯塔建于一八七一年。")) == ["灯塔"]
    assert found("ท่าเรือ", window_of("ประภาคารที่ท่าเรือเก่า")) == ["ท่าเรือ"]


def test_combining_marks_belong_to_their_word():
    assert found("हिन्दी", window_of("वह हिन्दी बोलता है")) == ["हिन्दी"]


def test_a_name_across_two_chunks_belongs_to_the_first():
    assert [s.chunk for s in Locator(window_of("I saw Anna ", "Quill there.")).locate("Anna Quill")] == [
        "d:0"
    ]


def test_spans_are_bounded_but_every_chunk_with_the_name_is_kept():
    spans = Locator(window_of("Quill " * 200, "then Quill. ", "and Quill")).locate("Quill")
    assert len(spans) == MAX_SPANS + 2
    assert {s.chunk for s in spans} == {"d:0", "d:1", "d:2"}


def test_overlapping_chunks_each_get_the_span():
    text = "one two Quill three"
    chunks = tuple(
        Chunk(id=f"d:{i}", document="d", ordinal=i, start=a, end=b, text=text[a:b], n_tokens=1)
        for i, (a, b) in enumerate([(0, 14), (8, 19)])
    )
    window = Window(id="d@0", document="d", ordinal=0, title="", chunks=chunks, text=text)
    assert [s.chunk for s in Locator(window).locate("Quill")] == ["d:0", "d:1"]


@pytest.mark.parametrize("addition", [" (b)" * 5_000, " " * 40_000 + "x", " (b" * 5_000 + ")" * 5_000])
def test_a_name_of_any_length_is_looked_for_in_linear_time(addition):
    begin = time.process_time()
    Locator(window_of("Old Anna Quill sailed.")).locate(f"Anna Quill{addition}")
    assert time.process_time() - begin < 2  # a quadratic search takes ten


def test_names_without_words_and_empty_names_are_nowhere():
    window = window_of("What?! 🚢 ...")
    locator = Locator(window)
    assert [locator.locate(name) for name in ("", "...", "🚢", "’s")] == [()] * 4


@given(st.text(max_size=200), st.text(max_size=30))
def test_any_text_gives_spans_inside_the_window(text: str, name: str):
    window = window_of(text, start=7)
    for span in Locator(window).locate(name):
        assert 7 <= span.start < span.end <= 7 + len(text)


@given(st.lists(st.sampled_from(["Anna", "Quill", "of", "der", "Øre", "B12"]), min_size=1, max_size=4))
def test_a_name_that_stands_in_the_text_is_found_there(words: list[str]):
    name = " ".join(words)
    window = window_of(f"x {name} y")
    assert (2, 2 + len(name)) in {(s.start, s.end) for s in Locator(window).locate(name)}


@given(
    st.text(alphabet="abB_1éЖ’—\u00a0  \n\t.'", max_size=40),
    st.text(alphabet="aB_1É½’ '.", max_size=6),
)
def test_words_of_a_plain_text_are_found_as_in_any_other(text: str, name: str):
    # A letter at the end, which is no part of any match and folds to two, keeps the text from being plain.
    other = Locator(window_of(f"{text} ß")).locate(name)
    assert Locator(window_of(f"{text} e")).locate(name) == other


@pytest.mark.parametrize("text", ["the ½ mile", "the ﬁsh", "the İzmir coast", "the Straße"])
def test_words_that_fold_to_other_letters_are_found(text: str):
    word = text.split()[1]
    assert found(word, window_of(text)) == [word]
    assert found(word.casefold(), window_of(text)) == [word]
