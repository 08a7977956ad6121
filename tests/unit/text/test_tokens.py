"""Tokens are counted as the vocabulary encodes ordinary text, whatever the text contains."""

import random

import pytest
from splintr import Tokenizer

from polygraph.text.tokens import count_many, count_tokens

ENCODING = Tokenizer.from_pretrained("o200k_base")
CHARACTERS = "abc XYZ\n\t09.,<|>/_-'\"éß中文\U0001f600\u0301\u200d\ufeff\x85\x00"


def test_counts_are_those_of_the_encoded_text():
    chance = random.Random(0)
    texts = ["".join(chance.choices(CHARACTERS, k=chance.randrange(60))) for _ in range(2_000)]
    assert count_many(texts) == [len(ENCODING.encode_ordinary(text)) for text in texts]


@pytest.mark.parametrize("special", ENCODING.special_tokens())
def test_a_special_token_in_a_text_is_text(special):
    text = f"before {special} after"
    assert count_tokens(text) == len(ENCODING.encode_ordinary(text)) > len(ENCODING.encode(text))


def test_half_a_surrogate_pair_counts_as_a_question_mark():
    assert count_tokens("tide\ud800") == count_tokens("tide?")
    assert count_tokens("<|endoftext|>\ud800") == count_tokens("<|endoftext|>?")
