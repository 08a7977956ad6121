"""Pairs that one text suggests: a name that is said to be another, a name beside its longer form, a general name.

They are left undecided, for a model or a reader.
"""

from collections import Counter
from collections.abc import Mapping

from polygraph.extract.resolution.clusters.merger import Merger
from polygraph.extract.resolution.evidence.statements import MAYBE
from polygraph.extract.resolution.suggestions.similar_names import EQUAL
from polygraph.extract.resolution.vocabulary.general_nouns import is_general_noun
from polygraph.extract.resolution.vocabulary.kinds import CLASS_OF_NOUN, kind_of_type

_BESIDE = "the only one of its kind beside it"
_LONGER = "the only longer name beside it"
_MAX_ANTECEDENTS = 2
"""Names beside a general one that it may stand for; of more, a model could not tell either."""
_VAGUE = frozenset(["place", "object"])
"""Kinds of which one text has many things that a general name (``the comet``) does not stand for."""
_SAY_NOTHING = frozenset(["", "concept", "date", "quantity", "time", "number", "role", "title"])


def suggest_from_texts(merger: Merger, alike: Mapping[tuple[str, str], float]) -> None:
    """Leave pairs of names undecided that one text suggests.

    Args:
        merger: of the clusters.
        alike: how alike names are, as `similar_names` returns it.
    """
    _suggest_described(merger)
    _suggest_antecedents(merger)
    for x, y in sorted(_only_one_beside(merger, alike)):
        is_one_kind = asked_kind(merger, x) == asked_kind(merger, y)
        if is_one_kind and not merger.conflict(x, y)[0] and not merger.given_names_conflict(x, y):
            merger.leave_undecided(x, y, "short name", _LONGER)


def asked_kind(merger: Merger, n: int) -> str:
    """Return the kind of a cluster, or its type where that is no kind and says something; else an empty string."""
    type_ = merger.clusters[merger.root(n)].majority_type()
    kind = kind_of_type(type_) or type_.casefold()
    return "organization" if kind == "place" else "" if kind in _SAY_NOTHING else kind


def _suggest_described(merger: Merger) -> None:
    """Leave names undecided of which one is described as a name of something that its text also names."""
    for first, second, link, text in merger.table.links:
        x, y = merger.cluster_of_row(first), merger.cluster_of_row(second)
        if link == MAYBE and x != y and not merger.conflict(x, y)[0]:
            merger.leave_undecided(x, y, "equated by text", text)


def _suggest_antecedents(merger: Merger) -> None:
    """Leave general names (``the company``) undecided that have one or two antecedents among the names beside them."""
    for base in sorted(filter(is_general_noun, merger.numbers)):
        for x in merger.roots([base]):
            if is_general_noun(merger.clusters[x].base):
                names = [merger.table.bases[number] for number in merger.clusters[x].context_ids().tolist()]
                others = merger.roots([name for name in names if not is_general_noun(name)])
                antecedents = [y for y in others if y != x and _may_be_antecedent(merger, x, y)]
                if len(antecedents) <= _MAX_ANTECEDENTS:
                    for y in antecedents:
                        merger.leave_undecided(x, y, "short name", _BESIDE)


def _may_be_antecedent(merger: Merger, x: int, y: int) -> bool:
    """Return whether a general name may stand for a name of its text: of its kind, and of its class if need be."""
    kinds = {kind_of_type(merger.clusters[n].majority_type()) for n in (x, y)}
    if len(kinds) > 1 or "" in kinds or not merger.side_by_side(x, y):
        return False
    noun = CLASS_OF_NOUN.get(merger.clusters[x].base.split()[-1])
    if kinds <= _VAGUE and noun not in merger.clusters[y].attributes.classes:
        return False
    return not merger.conflict(x, y)[0]


def _only_one_beside(merger: Merger, alike: Mapping[tuple[str, str], float]) -> set[tuple[int, int]]:
    """Return pairs of clusters that one text names, each the only one beside the other that may have its name."""
    pairs = {
        (min(x, y), max(x, y))
        for (a, b), likeness in alike.items()
        if likeness == EQUAL
        for x in merger.roots([a])
        for y in merger.roots([b])
        if x != y and merger.side_by_side(x, y)
    }
    n_of = Counter(n for pair in pairs for n in pair)
    return {pair for pair in pairs if max(n_of[n] for n in pair) == 1}
