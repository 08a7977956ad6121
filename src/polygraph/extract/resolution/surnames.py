"""Bare surnames across documents: a surname merges with the only person in the corpus who has it."""

from collections import defaultdict
from collections.abc import Iterable

from polygraph.extract.resolution.aliases import is_full_name
from polygraph.extract.resolution.cluster import Cluster
from polygraph.extract.resolution.mention_table import MentionTable
from polygraph.extract.resolution.name_parts import gender_of


def merge_unique_surnames(clusters: list[Cluster], table: MentionTable) -> list[Cluster]:
    """Merge each bare surname with the only person in the corpus who has it, unless gender or attributes conflict.

    Args:
        clusters: changed in place.
        table: the table of their rows.

    Returns:
        The clusters that remain, in order.
    """
    people: dict[str, list[Cluster]] = defaultdict(list)
    for cluster in clusters:
        words = cluster.base.split()
        if len(words) > 1 and is_full_name(words) and _is_person(cluster):
            people[words[-1]].append(cluster)
    kept: list[Cluster] = []
    for cluster in clusters:
        candidates = people.get(cluster.base, [])
        is_surname = len(cluster.base.split()) == 1 and _is_person(cluster)
        if not (is_surname and len(candidates) == 1 and not table.all_lower_case(cluster.rows[:1])):
            kept.append(cluster)
            continue
        person = candidates[0]
        # ``Mrs. Quill`` requires a woman; a bare name or ``Mr.`` only excludes one.
        ours, theirs = _gender(cluster, table), _gender(person, table)
        genders_differ = ours not in ("", theirs) and "f" in (ours, theirs)
        if (
            genders_differ
            or cluster.attributes.conflict(person.attributes, unrelated=True)
            or table.constraints.forbid(cluster.constraint_keys, person.constraint_keys)
        ):
            kept.append(cluster)
            continue
        table.record_merge(cluster.rows, "alias in document", 0.7)
        person.merge(cluster)
    return kept


def _is_person(cluster: Cluster) -> bool:
    return cluster.majority_type() == "person" and cluster.attributes.kind != "ship"


def _gender(cluster: Cluster, table: MentionTable) -> str:
    found: Iterable[str] = (gender_of(table.name(row)) for row in table.first_of_each_spelling(cluster.rows))
    return next((gender for gender in found if gender), "")
