"""Answers as tokens: the form in which gold and predicted strings are compared."""

import re
import unicodedata

_ARTICLES = frozenset({"a", "an", "the"})
# Scripts that do not part words with spaces: every character counts as a word of its own.
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff])"
)
_ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def answer_tokens(text: str) -> list[str]:
    """Tokens of an answer after SQuAD's normalisation.

    Rajpurkar et al. (2016), official script: lower case, punctuation removed (not replaced by a space), the articles
    a, an, the removed, split at white space. Two additions: punctuation is that of all of Unicode, not of ASCII
    alone, and each character of a script without spaces is a token, since a Chinese answer would otherwise be
    one token, right or wrong as a whole.

    >>> answer_tokens("The  U.S. Navy's ship")
    ['us', 'navys', 'ship']
    >>> answer_tokens("水稻 OsDREB1C")
    ['水', '稻', 'osdreb1c']
    """
    lowered = unicodedata.normalize("NFC", text).lower()
    kept = "".join(
        c for c in lowered if c not in _ASCII_PUNCTUATION and not unicodedata.category(c).startswith("P")
    )
    return [token for token in _UNSPACED.sub(r" \1 ", kept).split() if token not in _ARTICLES]


def normalised(text: str) -> str:
    """The tokens joined by spaces.

    >>> normalised("An Answer.")
    'answer'
    """
    return " ".join(answer_tokens(text))


def contains(tokens: str, answer: str) -> bool:
    """Whether an answer stands in a text as whole tokens in a row; both normalised, an empty answer never does.

    >>> contains("woman of war", "man"), contains("a man of war", "man of")
    (False, True)
    """
    return bool(answer) and f" {answer} " in f" {tokens} "
