"""Answers of equal length, so that a judge who likes long ones has nothing to like.

Zeng et al. (arXiv:2506.06331), section 4.2: the shorter answer is written again from its own context with the
length of the longer one as its target; if that fails several times, the missing words are appended; if that fails
too, the pair is discarded. The paper does not say how many attempts; we make three.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

_CJK = re.compile(r"[぀-ヿ㐀-䶿一-鿿豈-﫿가-힯]")
TOLERANCE = 10
"""Words by which two answers may differ (section 4.2)."""
ATTEMPTS = 3
"""Times that the shorter answer is written again ("several")."""

How: TypeAlias = Literal["free", "regenerated", "forced", "discarded", "refused"]
"""How a pair came to its lengths.

`free`: they were of equal length as they came. `discarded`: they never became so, and are not judged. `refused`: one
of them refuses to answer, and both are judged as they came: a refusal that is written out to the length of an answer is
an answer, or a refusal with padding, and neither is what the method said.
"""


def count_words(text: str) -> int:
    """Words between white space; each character of Chinese, Japanese and Korean script counts as one.

    >>> count_words("Mara lit the lamp."), count_words("谁建造了灯塔？")
    (4, 6)
    """
    without = _CJK.sub(" ", text)
    return len(_CJK.findall(text)) + sum(any(c.isalnum() for c in word) for word in without.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligned:
    """Two answers to one question, of about equal length."""

    question: str
    a: str
    b: str
    texts: tuple[str, str]
    words: tuple[int, int]
    attempts: int
    """Times that an answer was written again."""
    how: How


def align(
    question: str,
    methods: tuple[str, str],
    texts: tuple[str, str],
    *,
    write: Callable[[str, int, int], str],
    append: Callable[[str, str, int], str],
    tolerance: int = TOLERANCE,
    attempts: int = ATTEMPTS,
) -> Aligned:
    """Bring two answers to about the same length.

    Args:
        question: its id.
        methods: a and b.
        texts: their free answers.
        write: answers again: method, target in words, number of the attempt from 0.
        append: lengthens an answer without changing what it says: method, text, missing words.
        tolerance: words by which they may differ in the end.
        attempts: times that the shorter answer is written again. The target stays the length of the longer
            free answer; an attempt that is nearer to it than the best so far is kept.
    """

    def made(pair: list[str], how: How, n: int) -> Aligned:
        return Aligned(
            question=question,
            a=methods[0],
            b=methods[1],
            texts=(pair[0], pair[1]),
            words=(count_words(pair[0]), count_words(pair[1])),
            attempts=n,
            how=how,
        )

    now = list(texts)
    words = [count_words(text) for text in now]
    if abs(words[0] - words[1]) <= tolerance:
        return made(now, "free", 0)
    short = 0 if words[0] < words[1] else 1
    target = words[1 - short]
    for attempt in range(attempts):
        text = write(methods[short], target, attempt)
        if abs(count_words(text) - target) < abs(words[short] - target):
            now[short], words[short] = text, count_words(text)
        if abs(words[0] - words[1]) <= tolerance:
            return made(now, "regenerated", attempt + 1)
    # An answer that overshot is now the longer one: what lacks words is the other.
    short = 0 if words[0] < words[1] else 1
    now[short] = append(methods[short], now[short], words[1 - short] - words[short])
    fits = abs(count_words(now[0]) - count_words(now[1])) <= tolerance
    return made(now, "forced" if fits else "discarded", attempts)
