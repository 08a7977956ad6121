"""Words without case, accents and possessive endings."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

WORD = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")
"""A word of letters, with the apostrophes and hyphens inside it."""
_MAY_COMBINE = re.compile(r"[^\x00-\u02ff]")
"""Characters among which are all that combine with the one before them."""


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


def fold_all(texts: Sequence[str]) -> list[str]:
    """Return each text without case and accents; all at once is many times faster."""
    if not texts:
        return []
    folded = without_case("\0".join(texts)).split("\0")
    return folded if len(folded) == len(texts) else [without_case(text) for text in texts]
