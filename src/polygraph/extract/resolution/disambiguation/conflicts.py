"""Why a mention cannot be in a cluster, or may not be."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import combinations

from polygraph.extract.resolution.clusters.merger import CONSTRAINT, STATED
from polygraph.extract.resolution.disambiguation.mentions import GrowingCluster, MentionFeatures
from polygraph.extract.resolution.evidence.attributes import STEM, Attributes
from polygraph.extract.resolution.mentions.mention_table import MentionTable
from polygraph.extract.resolution.vocabulary.kinds import CLASS_OF_NOUN, TYPE_WORDS
from polygraph.text.normalize import fold

_CLASS_STEMS = frozenset(fold(word)[:STEM] for word in TYPE_WORDS | CLASS_OF_NOUN.keys())
"""Stems of words that say of which kind a thing is, as all of its name are."""
_MANY_YEARS = 25
"""Years between two things of one name from which on they are doubted to be one."""


def conflict_between(
    mention: MentionFeatures, cluster: GrowingCluster, table: MentionTable, *, with_offices: bool
) -> str:
    """Return why a mention cannot be in a cluster, or an empty string."""
    unrelated = mention.document not in cluster.documents and not (
        mention.context_names & cluster.context_names
    )
    if not mention.apart.isdisjoint(cluster.rows):
        return STATED
    if table.by_model and (kinds := _common_noun(mention, cluster)):
        return kinds
    conflict = mention.attributes.conflict(cluster.attributes, unrelated=unrelated)
    if not conflict and len(mention.name.words) == 1:
        if not table.by_model:
            conflict = mention.attributes.courtesy_conflict(cluster.attributes)
        if not conflict and unrelated:
            conflict = mention.attributes.title_conflict(cluster.attributes)
    if not conflict and with_offices and unrelated:
        conflict = mention.attributes.occupation_conflict(cluster.attributes, with_offices=True)
    if not conflict and table.constraints.forbid(mention.constraint_keys, cluster.constraint_keys):
        conflict = CONSTRAINT
    return conflict


def _common_noun(mention: MentionFeatures, cluster: GrowingCluster) -> str:
    """Return why a common noun is not the name of another kind that is spelled like it (``orchestrion``)."""
    ours = mention.attributes.kind
    for other in cluster.mentions:
        theirs = other.attributes.kind
        if ours and theirs and ours != theirs and mention.name.is_lower_case != other.name.is_lower_case:
            return f"{min(ours, theirs)} and {max(ours, theirs)}, one of them a common noun"
    return ""


def doubt_about(mention: MentionFeatures, cluster: GrowingCluster) -> str:
    """Return why a mention may not be in a cluster although nothing conflicts, or an empty string."""
    if not mention.attributes.words or mention.document in cluster.documents:
        return ""
    evidence = evidence_for(mention, cluster)
    words = mention.attributes.words & cluster.attributes.words
    if not evidence or (evidence == min(len(words), 3) and words <= _CLASS_STEMS):
        return "nothing in common"
    ours, theirs = mention.attributes, cluster.attributes
    if ours.suffix != theirs.suffix:
        return f"the {ours.suffix or theirs.suffix}, which says that there are two"
    distance = min((abs(x - y) for x in ours.years for y in theirs.years), default=0)
    is_thing = "person" not in (ours.kind, theirs.kind)
    if is_thing and distance > _MANY_YEARS and not mention.context_names & cluster.context_names:
        return f"of {min(ours.years)} and of {min(theirs.years)}"
    return ""


def evidence_for(mention: MentionFeatures, cluster: GrowingCluster) -> int:
    """Return the weight of the evidence that a mention belongs to a cluster; 0 if there is none."""
    ours, theirs = mention.attributes, cluster.attributes
    shared = (
        (ours.within & theirs.within, 2),
        (ours.creators & theirs.creators, 2),
        (ours.occupations & theirs.occupations, 2),
        (ours.titles & theirs.titles, 1),
        (mention.context_names & cluster.context_names, 2),
        (ours.years & theirs.years, 1),
        (ours.words & theirs.words, 1),
    )
    return 4 * (mention.document in cluster.documents) + sum(n * min(len(some), 3) for some, n in shared)


def any_contradict(several: Sequence[Attributes]) -> bool:
    """Return whether any two conflict by the strictest rules; those that say the same are compared once."""
    alike: dict[Hashable, list[Attributes]] = defaultdict(list)
    for one in several:
        alike[one.parting()].append(one)
    pairs = combinations([same[0] for same in alike.values()], 2)
    repeated = (same[:2] for same in alike.values() if len(same) > 1)
    return any(contradict(one, other) for one, other in (*pairs, *repeated))


def contradict(one: Attributes, other: Attributes) -> bool:
    """Return whether two conflict by the strictest rules: as if nothing else related them, offices included."""
    return bool(one.conflict(other, unrelated=True) or one.occupation_conflict(other, with_offices=True))
