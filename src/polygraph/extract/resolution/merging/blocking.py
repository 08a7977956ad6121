"""Blocking: candidate pairs of names with similar spelling, found without comparing all pairs."""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, pairwise, repeat

import numpy as np

from polygraph.arrays import Array
from polygraph.extract.resolution.names.spelling import (
    disease_form,
    edit_counter,
    numbers_in,
    plain_form,
    similarity,
    singular,
    skeleton,
    without_legal_form,
)
from polygraph.text.normalize import with_digraphs

_MIN_SIMILARITY = 0.8
"""Least similarity of names that share a word or a prefix."""
MAX_BLOCK = 30
"""Names per block; larger blocks share something too common to be informative and are skipped."""


def same_form_pairs(keys: Mapping[str, bool]) -> Iterator[tuple[str, str]]:
    """Yield pairs of names that differ only in hyphens, spaces, accents, plural or legal form.

    Args:
        keys: normalised names; true for phrases, whose plural may match their singular.
    """
    by_form: dict[str, list[str]] = defaultdict(list)
    for key in sorted(keys):
        form = plain_form(disease_form(without_legal_form(singular(key) if keys[key] else key)))
        # Digits separated by a hyphen (``1-2`` and ``12``) are different numbers.
        numbers = " ".join(numbers_in(form))
        for spelling in dict.fromkeys((skeleton(form), skeleton(with_digraphs(form)))):
            by_form[f"{spelling}\0{numbers}"].append(key)
    for form, group in by_form.items():
        if form[0] != "\0":
            # Names that differ in accents and hyphens only come first.
            group.sort(key=lambda key: (skeleton(key), key))
            yield from pairwise(group)


def one_edit_pairs(keys: Iterable[str], *, min_length: int = 7) -> Iterator[tuple[str, str]]:
    """Yield pairs of names that differ by one edit in one long word, in order.

    An edit is an insertion, deletion, substitution or transposition. Blocks come from shared deletions (Garbe, 2012):
    each name is indexed under itself with one letter of a long word left out, and only names that share an
    entry are compared.

    Args:
        keys: normalised names.
        min_length: shortest word that may differ; short words are similar by chance.

    >>> list(one_edit_pairs(["ebenezer fezziwig", "ebenezer fezziwigg", "anna vane", "anne vane"]))
    [('ebenezer fezziwig', 'ebenezer fezziwigg')]
    """
    ordered = sorted({key for key in keys if len(key) <= 60})
    # There are about ten forms per name, and nearly all belong to one name only: hashes instead of strings.
    forms, owners = array("q"), array("i")
    for n, key in enumerate(ordered):
        some = dict.fromkeys(_deletions(key, min_length))
        forms.extend(map(hash, some))
        owners.extend(repeat(n, len(some)))
    pairs: set[tuple[str, str]] = set()
    distance = edit_counter()
    for group in _shared(np.asarray(forms), np.asarray(owners)):
        if len(group) <= MAX_BLOCK:
            for pair in combinations([ordered[n] for n in group], 2):
                if pair not in pairs and distance(*pair) == 1 and _differ_in_long_word(*pair, min_length):
                    pairs.add(pair)
    yield from sorted(pairs)


def _deletions(key: str, min_length: int) -> list[str]:
    """Return a name with each letter of its long words left out once, then the name; nothing without long words."""
    found: list[str] = []
    at = 0
    for word in key.split(" "):
        end = at + len(word)
        if len(word) >= min_length:
            found += [key[:i] + key[i + 1 :] for i in range(at, end) if i == at or key[i] != key[i - 1]]
        at = end + 1
    return [*found, key] if found else found


def _shared(values: Array, owners: Array) -> Iterator[list[int]]:
    """Yield the owners, ascending, of each value that has several."""
    order = np.lexsort((owners, values))
    values = values[order]
    same = np.flatnonzero(values[1:] == values[:-1])
    begins = same[np.diff(same, prepend=-2) > 1]
    ends = same[np.diff(same, append=len(values) + 1) > 1] + 2
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        yield owners[order[begin:end]].tolist()


def _differ_in_long_word(a: str, b: str, min_length: int) -> bool:
    left, right = a.split(" "), b.split(" ")
    if len(left) != len(right):
        return False
    differing = [(x, y) for x, y in zip(left, right, strict=True) if x != y]
    return len(differing) == 1 and min(map(len, differing[0])) >= min_length


def shared_word_pairs(keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of similar names (normalised) that share a rare word or a rare prefix, in order."""
    blocks: dict[str, list[str]] = defaultdict(list)
    for key in sorted(set(keys)):
        words = key.split()
        for word in {w for w in words if len(w) > 3}:
            blocks[word].append(key)
        blocks[f"\0{skeleton(key)[:5]}"].append(key)
    pairs: set[tuple[str, str]] = set()
    for group in blocks.values():
        if 1 < len(group) <= MAX_BLOCK:
            for a, b in combinations(group, 2):
                if (a, b) in pairs or abs(len(a) - len(b)) > (1 - _MIN_SIMILARITY) * max(len(a), len(b)):
                    continue
                if similarity(a, b) >= _MIN_SIMILARITY:
                    pairs.add((a, b))
    yield from sorted(pairs)
