"""Names are found by their capitals in one way, whatever letters else stand in the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.extract.nlp.capitalized_names import capitalized_spans, dates

PIECES = [
    "The", "tide", "Mr.", "J.", "Vane", "of", "the", "Bank", "&", "B12", "McKay", "1871", "May 1871", "3 May", "in",
    "'s", "-", "/", "_", "O'Neil", "a.B", "x-Y", "_A", "3rd", "(", ",", ". ", "\n", " ", " ", " ", "  ",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join), st.sampled_from(["en", "de"]))
def test_a_letter_outside_ascii_behind_a_text_changes_nothing_in_it(text, language):
    assert capitalized_spans(f"{text} é", language=language) == capitalized_spans(text, language=language)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("met Mara Quill of the Bank of the North Sea", ["Mara Quill of the Bank of the North", "Sea"]),
        ("met Mara of the in Bank", ["Mara", "Bank"]),
        ("saw x-Ray, O'Neil and A-b", ["O'Neil", "A-b"]),
        ("In May 1871 Mara left", ["May 1871", "Mara"]),
        ("3rd Vane", ["Vane"]),
    ],
)
def test_names_and_dates_are_runs_of_capitals(text, names):
    assert [text[span.start : span.end] for span in capitalized_spans(text)] == names


def test_a_month_without_a_digit_and_a_digit_without_a_month_are_no_date():
    assert dates("In May 30 came, in room 12 none") == [(3, 9)]
    assert dates("In May all came") == dates("In room 12 none came") == []
