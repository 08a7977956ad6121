"""Which different spellings may be one name, found without comparing all pairs."""

import re
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import combinations

import numpy as np

from polygraph.columnar import Array
from polygraph.extract.lexicon import COMPANY_FORMS, MEN, WOMEN

MAX_BLOCK = 30
"""Names that share a block; larger blocks are too common to tell anything and are left out."""

_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b")
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth"
_CONTRASTS = """
north south east west northern southern eastern western upper lower inner outer old new great little big small
male female men women man woman boy girl senior junior elder younger major minor internal external left right
hyper hypo pre post pro anti intra inter national international direct indirect black white red blue green
spring summer autumn winter january february march april may june july august september october november december
monday tuesday wednesday thursday friday saturday sunday morning evening first last
"""
_TELLING = frozenset((_CONTRASTS + _ORDINALS).split())
_PREFIXES = ("un", "in", "im", "non", "anti", "hyper", "hypo", "pre", "post", "inter", "intra", "dis")


def skeleton(key: str) -> str:
    """Letters and digits of a normalised name, without accents, in lower case.

    >>> skeleton("counting-house") == skeleton("counting house"), skeleton("øresund bro")
    (True, 'oresundbro')
    """
    text = key if key.isascii() else unicodedata.normalize("NFKD", key).translate(_LETTERS)
    return text if text.isalnum() else "".join(filter(str.isalnum, text))


_LETTERS = str.maketrans({"ø": "o", "æ": "ae", "œ": "oe", "ß": "ss", "ł": "l", "đ": "d", "ð": "d", "þ": "th"})


def singular(key: str) -> str:
    """A phrase with its last word in the singular, by rule; enough to let the two forms meet.

    >>> singular("old lighthouses"), singular("bodies"), singular("glass"), singular("gas")
    ('old lighthouse', 'body', 'glass', 'gas')
    """
    if (
        len(key) < 5
        or not key.endswith("s")
        or key.endswith(("ss", "us", "is", "'s", "’s", "ous", "ics", "news"))
    ):
        return key
    if key.endswith("ies"):
        return key[:-3] + "y" if len(key) > 5 else key
    if key.endswith(("sses", "shes", "ches", "xes", "zes")):
        return key[:-2]
    return key[:-1]


def without_form(key: str) -> str:
    """A company's name without its legal form.

    >>> without_form("acme ltd"), without_form("ltd")
    ('acme', 'ltd')
    """
    words = key.split()
    while len(words) > 1 and words[-1] in COMPANY_FORMS:
        words.pop()
    return " ".join(words)


def contradict(a: str, b: str) -> bool:
    """Say whether two names differ in what is never a matter of spelling.

    Numbers, years, Roman numerals, ordinals, opposites (``north``, ``south``), given names, negating prefixes.

    >>> contradict("henry iv", "henry v"), contradict("gale of 1871", "gale of 1872")
    (True, True)
    >>> contradict("marion vane", "marian vane"), contradict("fezziwig ball", "fezziwigg ball")
    (True, False)
    """
    if sorted(_NUMBER.findall(a)) != sorted(_NUMBER.findall(b)):
        return True
    left, right = set(a.split()), set(b.split())
    only_left, only_right = left - right, right - left
    telling = _TELLING | MEN | WOMEN
    if only_left & telling or only_right & telling:
        return True
    return any(
        x == prefix + y or y == prefix + x
        for x in sorted(only_left)
        for y in sorted(only_right)
        for prefix in _PREFIXES
    )


def similarity(a: str, b: str) -> float:
    """One minus the edit distance (with swaps of neighbours) over the longer length.

    >>> round(similarity("fezziwig", "fezzwig"), 3), similarity("ab", "ba")
    (0.875, 0.5)
    """
    longest = max(len(a), len(b))
    return 1.0 if not longest else 1.0 - _osa()(a, b) / longest


@cache
def _osa() -> Callable[[str, str], int]:
    """Optimal string alignment distance."""
    from rapidfuzz.distance import OSA

    return OSA.distance


def same_spelling(keys: Mapping[str, bool]) -> Iterator[tuple[str, str]]:
    """Yield pairs of names that differ in hyphens, spaces, accents, plural or legal form alone.

    Args:
        keys: normalised names; true for phrases, of which the plural may meet the singular.
    """
    meeting: dict[str, list[str]] = defaultdict(list)
    for key in sorted(keys):
        form = without_form(singular(key) if keys[key] else key)
        bones = skeleton(form)
        # Digits that hyphens part (``1-2`` and ``12``) are different numbers.
        meeting[f"{bones}\0{' '.join(_NUMBER.findall(form))}"].append(key)
    for bones, group in meeting.items():
        if bones[0] != "\0":
            yield from ((group[0], other) for other in group[1:])


def near_spelling(keys: Iterable[str], *, min_length: int = 7) -> Iterator[tuple[str, str]]:
    """Yield pairs of names that differ by one letter of one long word, in order.

    A letter added, lost or changed, or two swapped. By shared deletions (Garbe, 2012): each name is filed under
    itself with one letter of a long word left out, and only names filed together are compared.

    Args:
        keys: normalised names.
        min_length: shortest word that may differ; short words are neighbours by chance.

    >>> list(near_spelling(["ebenezer fezziwig", "ebenezer fezziwigg", "anna vane", "anne vane"]))
    [('ebenezer fezziwig', 'ebenezer fezziwigg')]
    """
    ordered = sorted({key for key in keys if len(key) <= 60})
    # Forms are ten for each name, and nearly all of one name alone: held as hashes, not as strings.
    forms, of = array("q"), array("i")
    for n, key in enumerate(ordered):
        for form in dict.fromkeys(_one_less(key, min_length)):
            forms.append(hash(form))
            of.append(n)
    seen: set[tuple[str, str]] = set()
    distance = _osa()
    for group in _sharing(np.asarray(forms), np.asarray(of)):
        if len(group) <= MAX_BLOCK:
            for pair in combinations([ordered[n] for n in group], 2):
                if pair not in seen and distance(*pair) == 1 and _long_word_differs(*pair, min_length):
                    seen.add(pair)
    yield from sorted(seen)


def _one_less(key: str, min_length: int) -> Iterator[str]:
    """A name with each letter of its long words left out once, and itself, if it has such words."""
    at, whole = 0, False
    for word in key.split(" "):
        end = at + len(word)
        if len(word) >= min_length:
            whole = True
            for i in range(at, end):
                if i == at or key[i] != key[i - 1]:
                    yield key[:i] + key[i + 1 :]
        at = end + 1
    if whole:
        yield key


def _sharing(values: Array, of: Array) -> Iterator[list[int]]:
    """Owners of each value that several have, ascending."""
    order = np.lexsort((of, values))
    values = values[order]
    same = np.flatnonzero(values[1:] == values[:-1])
    begins = same[np.diff(same, prepend=-2) > 1]
    ends = same[np.diff(same, append=len(values) + 1) > 1] + 2
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        yield of[order[begin:end]].tolist()


def _long_word_differs(a: str, b: str, min_length: int) -> bool:
    left, right = a.split(" "), b.split(" ")
    if len(left) != len(right):
        return False
    differing = [(x, y) for x, y in zip(left, right, strict=True) if x != y]
    return len(differing) == 1 and min(map(len, differing[0])) >= min_length


def sharing_words(keys: Iterable[str], *, least: float = 0.8) -> Iterator[tuple[str, str]]:
    """Yield pairs of names that share a rare word or a rare beginning and are alike, in order.

    Args:
        keys: normalised names.
        least: smallest `similarity`.
    """
    blocks: dict[str, list[str]] = defaultdict(list)
    for key in sorted(set(keys)):
        words = key.split()
        for word in {w for w in words if len(w) > 3}:
            blocks[word].append(key)
        blocks[f"\0{skeleton(key)[:5]}"].append(key)
    seen: set[tuple[str, str]] = set()
    for group in blocks.values():
        if 1 < len(group) <= MAX_BLOCK:
            for a, b in combinations(group, 2):
                near = (a, b) not in seen and abs(len(a) - len(b)) <= (1 - least) * max(len(a), len(b))
                if near and similarity(a, b) >= least:
                    seen.add((a, b))
    yield from sorted(seen)
