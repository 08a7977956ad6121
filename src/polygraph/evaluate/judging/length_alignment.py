"""Length alignment: two answers of about equal length, so that a judge's preference for length has no effect.

Zeng et al. (arXiv:2506.06331), section 4.2: the shorter answer is rewritten from its own context with the length of the
longer one as target; if several attempts fail, the missing words are appended; if that fails too, the pair is
discarded. The paper does not give the number of attempts; here it is three.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

_CJK = re.compile(r"[぀-ヿ㐀-䶿一-鿿豈-﫿가-힯]")
TOLERANCE = 10
"""Largest difference in words between two aligned answers (section 4.2)."""
ATTEMPTS = 3
"""Attempts to rewrite the shorter answer (the paper says "several")."""

AlignmentStatus: TypeAlias = Literal["free", "regenerated", "forced", "discarded", "refused"]
"""How a pair was aligned.

`free`: the lengths were equal from the start. `regenerated`: the shorter answer was rewritten. `forced`: missing words
were appended. `discarded`: alignment failed, and the pair is not judged. `refused`: one answer is a refusal, and both
are judged as they are; a refusal rewritten to the length of an answer would be an answer or padding, not what the
method said.
"""


def count_words(text: str) -> int:
    """Count words separated by white space; each Chinese, Japanese or Korean character counts as a word.

    >>> count_words("Mara lit the lamp."), count_words("谁建造了灯塔？")
    (4, 6)
    """
    without, n_characters = _CJK.subn(" ", text)
    return n_characters + sum(word.isalnum() or any(c.isalnum() for c in word) for word in without.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedPair:
    """Two answers to one question, of about equal length."""

    question: str
    a: str
    b: str
    texts: tuple[str, str]
    words: tuple[int, int]
    attempts: int
    """How often an answer was rewritten."""
    how: AlignmentStatus
    trial: int = 0
    """As of the answers."""


def unaligned_pair(
    question: str, methods: tuple[str, str], texts: tuple[str, str], how: AlignmentStatus, attempts: int = 0
) -> AlignedPair:
    """Return a record of two answers as they are."""
    words = (count_words(texts[0]), count_words(texts[1]))
    return AlignedPair(
        question=question, a=methods[0], b=methods[1], texts=texts, words=words, attempts=attempts, how=how
    )


def align_lengths(
    question: str,
    methods: tuple[str, str],
    texts: tuple[str, str],
    *,
    rewrite: Callable[[str, int, int], str],
    append: Callable[[str, str, int], str],
    tolerance: int = TOLERANCE,
) -> AlignedPair:
    """Bring two answers to about the same length.

    The shorter one is rewritten up to `ATTEMPTS` times. The target stays the length of the longer original; an attempt
    closer to it than the best so far is kept.

    Args:
        question: its id.
        methods: a and b.
        texts: their original answers.
        rewrite: writes an answer again, given method, target in words, and number of the attempt from 0.
        append: lengthens an answer without changing what it says, given method, text, and missing words.
        tolerance: largest difference in words in the end.
    """
    current = list(texts)
    words = [count_words(text) for text in current]

    def made(how: AlignmentStatus, n: int) -> AlignedPair:
        return unaligned_pair(question, methods, (current[0], current[1]), how, n)

    if abs(words[0] - words[1]) <= tolerance:
        return made("free", 0)
    short = 0 if words[0] < words[1] else 1
    target = words[1 - short]
    for attempt in range(ATTEMPTS):
        text = rewrite(methods[short], target, attempt)
        if abs(count_words(text) - target) < abs(words[short] - target):
            current[short], words[short] = text, count_words(text)
        if abs(words[0] - words[1]) <= tolerance:
            return made("regenerated", attempt + 1)
    # An answer that overshot the target is the longer one now, and the other lacks words.
    short = 0 if words[0] < words[1] else 1
    current[short] = append(methods[short], current[short], words[1 - short] - words[short])
    fits = abs(count_words(current[0]) - count_words(current[1])) <= tolerance
    return made("forced" if fits else "discarded", ATTEMPTS)
