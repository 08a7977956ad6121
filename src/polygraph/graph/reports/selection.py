"""Greedy selection of sentences that name different members and do not repeat each other."""

import heapq
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from polygraph.graph.reports.scoring import TOP, Candidates
from polygraph.graph.reports.sentence_quality import LEGAL_NOTICE

_OVERLAP = 0.5
"""Share of the shorter sentence's words in the other one that makes it a repetition."""
_NAMED_BEFORE = 0.25
"""What is left of a member's importance once a sentence about it is chosen."""
_MIN_QUALITY = 0.25
"""Sentences of lower quality are chosen only where there is no better one."""
_SPACED = 12
"""Characters of a word at most, on average, in a script with spaces."""
_WORD = re.compile(r"[^\W_]+")
_LONGER = re.compile(r"[^\W_]{4,}")


_Entry: TypeAlias = tuple[float, int, int, int, int]
"""Negative score, chunk, sentence, position among the candidates, and how many were chosen when it was scored."""


def select(
    candidates: Candidates, importance: Sequence[float], words: Callable[[int], frozenset[str]], most: int
) -> list[int]:
    """Choose sentences greedily by score; a member named before counts a quarter, and repetitions are passed over.

    Args:
        candidates: best score first.
        importance: of each member.
        words: gives the salient words of a sentence by its number.
        most: sentences to choose.

    Returns:
        Positions among the candidates, in the order of choice. Ties by chunk, then by sentence.
    """
    begins, counts, named = candidates.begin, candidates.count, candidates.named
    factors, qualities = candidates.factor, candidates.quality
    named_before: set[int] = set()
    chosen: list[int] = []
    chosen_words: list[frozenset[str]] = []
    least = 0.0
    # Scores only fall as members are named, so the best is known once its own score is up to date.
    heap: list[_Entry] = []
    unseen = _entries(candidates)
    head = next(unseen, None)
    while len(chosen) < most and (heap or head):
        if head is None or (heap and heap[0] < head):
            _, chunk, sentence, i, n_chosen = heapq.heappop(heap)
        else:
            _, chunk, sentence, i, n_chosen = head
            head = next(unseen, None)
        names = named[begins[i] : begins[i] + counts[i]]
        if n_chosen == len(chosen):
            if not chosen and qualities[sentence] >= LEGAL_NOTICE:
                least = _MIN_QUALITY
            chosen.append(i)
            chosen_words.append(words(sentence))
            named_before.update(names)
        # What is poor, or repeats a chosen sentence, is never chosen; the score of the rest is brought up to date.
        elif qualities[sentence] >= least and not repeats(words(sentence), chosen_words[n_chosen:]):
            value = sum_of_top([importance[m] * (_NAMED_BEFORE if m in named_before else 1.0) for m in names])
            heapq.heappush(heap, (-factors[i] * value, chunk, sentence, i, len(chosen)))
    return chosen


def _entries(candidates: Candidates) -> Iterator[_Entry]:
    for i, (score, sentence) in enumerate(zip(candidates.score, candidates.sentence, strict=True)):
        yield -score, candidates.chunk[sentence], sentence, i, 0


def sum_of_top(values: list[float]) -> float:
    """Return the sum of the `TOP` largest values, added from the smallest of them to the largest."""
    if len(values) < TOP:
        return sum(values)  # of two terms, in either order
    values.sort()
    return sum(values[-TOP:])


def spelled_words(text: str) -> list[str]:
    """Return the words of a text as they are spelled."""
    return _WORD.findall(text)


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case; in a script without spaces, pairs of characters."""
    found = _WORD.findall(text.casefold())
    if sum(map(len, found)) > _SPACED * len(found):
        found = [word[i : i + 2] for word in found for i in range(max(len(word) - 1, 1))]
    return found


def salient_words(text: str) -> frozenset[str]:
    """Return the words of a sentence with more than three letters; all, if there are none.

    >>> sorted(salient_words("The Halcyon sank at dawn."))
    ['dawn', 'halcyon', 'sank']
    """
    longer = _LONGER.findall(text.casefold())
    if longer and sum(map(len, longer)) <= _SPACED * len(longer):
        return frozenset(longer)
    words = words_of(text)
    return frozenset([word for word in words if len(word) > 3]) or frozenset(words)


def repeats(words: frozenset[str], chosen: Sequence[frozenset[str]]) -> bool:
    """Return whether a sentence has too many words of another."""
    n = len(words)
    for other in chosen:  # noqa: SIM110 - done so often that a generator would cost as much as the rest
        if len(words & other) >= _OVERLAP * (min(n, len(other)) or 1):
            return True
    return False
