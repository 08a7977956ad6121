"""Numbers in square brackets behind statements: what a written text rests on."""

import re
from collections.abc import Sequence

from polygraph.text.words import content

_MARKS = re.compile(r"((?:\[\s{0,3}\d{1,4}(?:\s{0,3}[,;]\s{0,3}\d{1,4}){0,40}\s{0,3}\][ \t]?)+)")
_NUMBER = re.compile(r"\d{1,4}")
_SPACE = re.compile(r"(?<![ \t])[ \t]++(?=[.,;:!?]|$)", re.MULTILINE)


def without_citations(text: str, n_items: int) -> tuple[str, tuple[int, ...]]:
    """Take citations such as ``[2]`` or ``[1, 4]`` out of a text; return it with the numbers, first cited first.

    Numbers of items that are not there are passed over.

    >>> without_citations("The lamp was dark [2]. Nobody paid [3][9].", 3)
    ('The lamp was dark. Nobody paid.', (2, 3))
    """
    cited = (int(n) for mark in _MARKS.findall(text) for n in _NUMBER.findall(mark))
    plain = _SPACE.sub("", _MARKS.sub("", text))
    return plain.strip(), tuple(dict.fromkeys(n for n in cited if 1 <= n <= n_items))


def likeliest(text: str, items: Sequence[str], *, most: int) -> tuple[int, ...]:
    """Numbers, from 1, of the items that share most content words with a text; at most `most`, ties in order.

    For a text that cites nothing. Items that share no word are left out.

    >>> likeliest("The lamp was dark.", ["Oil is dear.", "A dark lamp.", "The lamp."], most=2)
    (2, 3)
    """
    wanted = set(content(text))
    shared = [len(wanted & set(content(item))) for item in items]
    order = sorted((i for i, n in enumerate(shared) if n), key=lambda i: (-shared[i], i))
    return tuple(i + 1 for i in order[:most])
