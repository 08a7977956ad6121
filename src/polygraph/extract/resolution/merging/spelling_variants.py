"""Spelling variants: clusters whose names are spellings of one name."""

from collections.abc import Callable, Sequence

from polygraph.extract.resolution.clusters.merger import Merger
from polygraph.extract.resolution.merging.blocking import one_edit_pairs, same_form_pairs, shared_word_pairs
from polygraph.extract.resolution.merging.candidates import ENOUGH, SURE
from polygraph.extract.resolution.names.spelling import (
    names_conflict,
    plain_form,
    similarity,
    singular,
    skeleton,
    without_legal_form,
)
from polygraph.models.protocols import Vectors
from polygraph.text.normalize import with_digraphs

_MAX_NAMESAKES = 8
"""Entities of one name that are compared with those of another spelling."""
_SHORT = 5
"""Letters of the shortest word that may differ in a name of several words."""
_STRONG = 2.0
"""Evidence that such names need."""
MIN_COSINE = 0.92
"""Smallest cosine of two names for the rule `embedding`; small models put all names above 0.5."""


def merge_spelling_variants(merger: Merger, embed: Callable[[Sequence[str]], Vectors] | None) -> None:
    """Merge clusters whose names are spellings of one name.

    Names that several entities share are left out: it is unknown which of them a variant means. Two names that stand
    side by side in one text are two, unless they differ in accents and hyphens only.

    Args:
        merger: of the clusters.
        embed: unit vectors for names, or None to compare spellings only.
    """
    single = _single_clusters(merger)
    clusters = merger.clusters
    lower = {
        base: clusters[merger.root(numbers[0])].is_lower_case() for base, numbers in merger.numbers.items()
    }
    phrases = {base: is_lower and not base[0].isdigit() for base, is_lower in lower.items()}
    for a, b in same_form_pairs(phrases):
        pair = _only_pair(merger, a, b)
        forms = [plain_form(without_legal_form(name)) for name in (a, b)]
        if pair is None or names_conflict(*forms):
            continue
        x, y = pair
        # Of several things of one name it may be another.
        is_one = len(merger.roots([a])) == len(merger.roots([b])) == 1
        merge = merger.merge if is_one or merger.evidence(x, y)[0] >= SURE else merger.presume
        if skeleton(a) == skeleton(b):
            merge(x, y, "spelling", 1.0, "equal without accents and hyphens")
        elif not _listed(merger, x, y) and merger.same_kind(x, y):
            merge(x, y, "spelling", 0.95, _what_differs(a, b))
    names = [
        base
        for base, is_phrase in phrases.items()
        if base in single
        and not is_phrase
        and clusters[single[base]].majority_type() not in ("date", "quantity")
    ]
    several = [base for base in names if merger.table.by_model and " " in base]
    # Short words are alike by chance, so names of several words need more in common.
    pairs = [(pair, 0.0) for pair in one_edit_pairs(names)]
    pairs += [(pair, _STRONG) for pair in one_edit_pairs(several, min_length=_SHORT)]
    for (a, b), least in pairs:
        is_plural = a + "s" == b or b + "s" == a  # a family is not one of its members
        if is_plural or names_conflict(a, b) or _listed(merger, single[a], single[b]):
            continue
        if not merger.same_kind(single[a], single[b]):
            continue
        if least and merger.evidence(single[a], single[b])[0] < least:
            continue
        if shared := merger.shared_context(single[a], single[b]):
            merger.merge(single[a], single[b], "spelling", similarity(a, b), f"both with {shared[0]}")
    if embed is not None:
        _merge_by_vectors(merger, single, embed)


def _what_differs(a: str, b: str) -> str:
    """Return for readers why two names have one form, see `blocking.same_form_pairs`."""
    if skeleton(with_digraphs(a)) == skeleton(with_digraphs(b)):
        return "equal with two letters for a letter with marks"
    first, second = without_legal_form(a), without_legal_form(b)
    if skeleton(first) == skeleton(second):
        return "equal without legal form"
    if skeleton(singular(first)) == skeleton(singular(second)):
        return "equal without plural"
    return "equal with abbreviations and numerals in one form"


def _listed(merger: Merger, a: int, b: int) -> bool:
    """Return whether a model names both in one text; without a model one name is often extracted twice."""
    return merger.table.by_model and merger.side_by_side(a, b)


def _only_pair(merger: Merger, a: str, b: str) -> tuple[int, int] | None:
    """Return the clusters of two names if there is one pair only that may be one entity."""
    ours, theirs = merger.roots([a]), merger.roots([b])
    if len(ours) == len(theirs) == 1:
        return ours[0], theirs[0]
    if not merger.table.by_model:
        return None
    pairs = [
        (x, y)
        for x in ours[:_MAX_NAMESAKES]
        for y in theirs[:_MAX_NAMESAKES]
        if x != y and merger.same_kind(x, y) and not merger.conflict(x, y)[0]
    ]
    if len(pairs) < 2:
        return pairs[0] if pairs else None
    ranked = sorted((-merger.evidence(*pair)[0], pair) for pair in pairs)
    return ranked[0][1] if ranked[0][0] < min(ranked[1][0], -ENOUGH + 1e-9) else None


def _single_clusters(merger: Merger) -> dict[str, int]:
    """Return the cluster of each base name that has one only."""
    single = {}
    for base, numbers in merger.numbers.items():
        roots = {merger.root(n) for n in numbers}
        if len(roots) == 1:
            single[base] = roots.pop()
    return single


def _merge_by_vectors(
    merger: Merger, single: dict[str, int], embed: Callable[[Sequence[str]], Vectors]
) -> None:
    pairs = [
        (a, b)
        for a, b in shared_word_pairs(single)
        if merger.root(single[a]) != merger.root(single[b]) and not names_conflict(a, b)
    ]
    bases = sorted({base for pair in pairs for base in pair})
    if not bases:
        return
    vectors, row = embed(bases), {base: i for i, base in enumerate(bases)}
    for a, b in pairs:
        cosine = float(vectors[row[a]] @ vectors[row[b]])
        if (
            cosine >= MIN_COSINE
            and merger.same_kind(single[a], single[b])
            and not _listed(merger, single[a], single[b])
        ):
            merger.merge(single[a], single[b], "embedding", min(1.0, cosine), f"cosine {cosine:.2f}")
