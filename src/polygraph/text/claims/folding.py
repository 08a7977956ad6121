"""Words without case, accents and possessive endings."""

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate, chain

WORD = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")
"""A word of letters, with the apostrophes and hyphens inside it."""
_MAY_COMBINE = re.compile(r"[^\x00-\u02ff]")
"""Characters among which are all that combine with the one before them."""
MAX_TEXTS = 512
"""Texts of which a cache keeps what was made of them: those behind the evidence of a few questions."""
_MAX_LOOKED_FOR = 256
"""Results that `Folded` keeps."""


@lru_cache(maxsize=4_096)
def plain(word: str) -> str:
    """Return a word in lower case without accents and possessive ending."""
    return without_case(word)


def without_case(text: str) -> str:
    """Return a text without case, accents, forms of letters, and a possessive ending."""
    folded = unicodedata.normalize("NFKD", text.casefold())
    if not folded.isascii():
        folded = _MAY_COMBINE.sub(lambda m: "" if unicodedata.combining(m.group()) else m.group(), folded)
    return folded.replace("’", "'").removesuffix("'s")


class Folded:
    """Texts without case and accents, and which of them have some letters.

    Most of hundreds of sentences have next to nothing of a claim; the few that have are found many times faster than
    the words of all.

    Args:
        texts: any texts, in their order.

    >>> Folded(["Two mills", "It rained", "The Mill"]).having("mill")
    (0, 2)
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = fold_all(texts)
        self._joined = "\0".join(self.texts)
        self._ends = list(accumulate([len(text) + 1 for text in self.texts]))
        self._having: dict[str, tuple[int, ...]] = {}

    def having(self, letters: str) -> tuple[int, ...]:
        """Return the positions of the texts that contain some letters, ascending."""
        found = self._having.get(letters)
        if found is None:
            # Several claims cite one text, in much the same words.
            if len(self._having) >= _MAX_LOOKED_FOR:
                self._having.clear()
            found = self._having[letters] = self._look_for(letters)
        return found

    def counts(self, letters: Iterable[str]) -> Counter[int]:
        """Return how many of some letters each text contains, by its position, without the texts that have none."""
        return Counter(chain.from_iterable(map(self.having, letters)))

    def _look_for(self, letters: str) -> tuple[int, ...]:
        if not letters:
            return tuple(range(len(self.texts)))
        found: list[int] = []
        at = self._joined.find(letters)
        while at >= 0:
            n = bisect_right(self._ends, at)
            found.append(n)
            at = self._joined.find(letters, self._ends[n])
        return tuple(found)


def fold_all(texts: Sequence[str]) -> list[str]:
    """Return each text without case and accents; all at once is many times faster."""
    if not texts:
        return []
    folded = without_case("\0".join(texts)).split("\0")
    return folded if len(folded) == len(texts) else [without_case(text) for text in texts]
