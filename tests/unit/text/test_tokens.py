"""Tokens of texts, counted by sentences and words that were counted before."""

from hypothesis import given
from hypothesis import strategies as st

from polygraph.text import tokens
from polygraph.text.tokens import count_tokens, truncate

PIECES = [
    "The", "tide", "Orme's", "1890", "12345", "é", "日本", "—", "…", "/", "_", "'", "(", ")", ".", ". ", " ", " ", "  ",
    "\n", "\t", "\u00a0", "\u200b", "\u0301", "😀", "e.g. ", ".'s", "\ud800",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_a_text_has_as_many_tokens_as_when_it_is_encoded_whole(text):
    assert count_tokens(text) == tokens._count(text)


def test_a_text_of_fewer_bytes_than_tokens_is_not_cut():
    assert truncate("a \ud800 b", 7) == "a \ud800 b"
    assert truncate("one two three four", 2) == "one two"
