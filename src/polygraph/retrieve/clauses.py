"""Clauses of a question that asks for several facts, by punctuation and function words, without a model.

A passage that states one of the facts matches its clause, but not the question as a whole, which is mostly about the
other facts. Rules for English and German.
"""

import math
import re
from collections.abc import Sequence

from polygraph.prompts import one_line
from polygraph.store.vectors import Hit
from polygraph.text.words import content_stems

MIN_STEMS = 4
"""Distinct content stems of a clause; a shorter one does not say enough to find a passage."""
_MAX_LENGTH = 2_000
_QUOTED = re.compile(r"\"[^\"]+\"|“[^”]+”|„[^“”]+[“”]|(?<!\w)'[^']+'(?!\w)|(?<!\w)‘[^’]+’(?!\w)")
_BOUNDARY = re.compile(
    r"(?<!\d)[,;:](?=\s)|[,;:](?=\s+\D)|\s+[–—]\s+"
    r"|\s+(?=(?:and|but|or|while|whereas|although|though|because|when|where|which|who|whom|whose|that|as|according|after"
    r"|before|between|than|und|oder|aber|während|obwohl|weil|wobei|sowie|laut|zwischen|als)\s)",
    re.IGNORECASE,
)
"""Ends of clauses: punctuation that is not inside a number, and the space before a word that begins a clause."""


def split_clauses(question: str, *, min_stems: int = MIN_STEMS) -> list[str]:
    """Split a question at the ends of its clauses.

    Quoted text stays whole. A piece with fewer than `min_stems` distinct content stems belongs to the piece after it,
    the last one to the piece before it.

    Returns:
        Clauses in the order of the question, with single spaces between words; the question alone if it has a single
        clause or more than 2,000 characters, since the time grows with the square of its length.

    >>> split_clauses("Who moved the harbour to Dunmere in 1962, and which prize did its engineer win?", min_stems=3)
    ['Who moved the harbour to Dunmere in 1962,', 'and which prize did its engineer win?']
    >>> split_clauses("Which mountain is higher, Nanda Devi or Broad Peak?")
    ['Which mountain is higher, Nanda Devi or Broad Peak?']
    """
    question = one_line(question)
    if len(question) > _MAX_LENGTH:
        return [question]
    quoted = [match.span() for match in _QUOTED.finditer(question)]
    ends = [
        match.end()
        for match in _BOUNDARY.finditer(question)
        if not any(start < match.end() < end for start, end in quoted)
    ]
    bounds = [0]
    for end in ends:
        if len(content_stems(question[bounds[-1] : end])) >= min_stems:
            bounds.append(end)
    if len(bounds) > 1 and len(content_stems(question[bounds[-1] :])) < min_stems:
        bounds.pop()
    return [question[a:b].strip() for a, b in zip(bounds, [*bounds[1:], len(question)], strict=True)]


def cover_clauses(
    matches: Sequence[Sequence[Hit]], *, seeds: int, sharpness: float, most: int = 100
) -> list[tuple[Hit, int]]:
    """Choose passages one by one so that they cover the clauses.

    A passage has for each clause the weight ``exp(sharpness * lead)``, where the lead is its score less that of the
    first passage after the `seeds` best ones of the clause. So clauses of any length compare: only what stands out
    from the others counts. The best weight over the clauses decides, and each passage that is chosen for a clause
    halves the weights of this clause.

    Args:
        matches: passages that match each clause, best first.
        seeds: number of passages of a clause that may stand out.
        sharpness: how much a lead counts.
        most: number of passages to choose.

    Returns:
        Passages in the order of the choice with a score that never rises, and the position of the clause each is
        chosen for. Ties by clause, then passage.
    """
    weights: list[list[tuple[float, int]]] = []
    for hits in matches:
        floor = hits[min(seeds, len(hits) - 1)].score if hits else 0.0
        weights.append([(math.exp(sharpness * (hit.score - floor)), hit.n) for hit in hits])
    chosen: dict[int, tuple[Hit, int]] = {}
    places, factors = [0] * len(weights), [1.0] * len(weights)
    while len(chosen) < most:
        for c, some in enumerate(weights):
            while places[c] < len(some) and some[places[c]][1] in chosen:
                places[c] += 1
        left = [c for c, some in enumerate(weights) if places[c] < len(some)]
        if not left:
            break
        # The first of equals: each clause lists its passages by weight, so only the heads compete.
        best = max(left, key=lambda c: round(factors[c] * weights[c][places[c]][0], 9))
        weight, n = weights[best][places[best]]
        chosen[n] = Hit(n, round(factors[best] * weight, 9)), best
        factors[best] /= 2
    return list(chosen.values())
