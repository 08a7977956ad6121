"""Tokens are counted as the vocabulary encodes ordinary text, whatever stands in it and what was counted before."""

import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from splintr import Tokenizer

from polygraph.text.tokens import count_many, count_tokens, load_tokenizer, truncate

ENCODING = Tokenizer.from_pretrained("o200k_base")
CHARACTERS = "abc XYZ\n\t09.,<|>/_-'\"éß中文\U0001f600\u0301\u200d\ufeff\x85\x00"
PIECES = [
    "The", "tide", "Orme's", "1890", "12345", "é", "日本", "—", "…", "/", "_", "'", "(", ")", ".", ". ", " ", " ", "  ",
    "\n", "\t", "\u00a0", "\u200b", "\u0301", "😀", "e.g. ", ".'s", "\ud800",
]  # fmt: skip


def test_counts_are_those_of_the_encoded_text():
    chance = random.Random(0)
    texts = ["".join(chance.choices(CHARACTERS, k=chance.randrange(60))) for _ in range(2_000)]
    assert count_many(texts) == [len(ENCODING.encode_ordinary(text)) for text in texts]


def test_other_threads_run_while_the_tokenizer_loads_and_count_with_it():
    code = """
import sys, threading
from polygraph.text.tokens import _encoding, count_tokens, load_tokenizer
_encoding()
sys.setswitchinterval(1e-5)
loading = threading.Thread(target=load_tokenizer)
loading.start()
n = 0
while loading.is_alive():
    n += 1
print(n, count_tokens("dunquivess"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    n, counted = map(int, done.stdout.split())
    # Where the loading thread holds the interpreter, this one runs for the moment before it begins.
    assert n > 20_000
    load_tokenizer()
    assert counted == count_tokens("dunquivess") == len(ENCODING.encode_ordinary("dunquivess"))


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_a_text_has_as_many_tokens_as_when_it_is_encoded_as_a_list(text):
    plain = text.encode("utf-8", "replace").decode()
    assert count_tokens(text) == len(ENCODING.encode_ordinary(plain))


@pytest.mark.parametrize("special", sorted(ENCODING.special_tokens()))
def test_a_special_token_in_a_text_is_text(special):
    text = f"before {special} after"
    assert count_tokens(text) == len(ENCODING.encode_ordinary(text)) > len(ENCODING.encode(text))


def test_half_a_surrogate_pair_counts_as_a_question_mark():
    assert count_tokens("tide\ud800") == count_tokens("tide?")
    assert count_tokens("<|endoftext|>\ud800") == count_tokens("<|endoftext|>?")


def test_a_text_of_fewer_bytes_than_tokens_is_not_cut():
    assert truncate("a \ud800 b", 7) == "a \ud800 b"
    assert truncate("one two three four", 2) == "one two"
