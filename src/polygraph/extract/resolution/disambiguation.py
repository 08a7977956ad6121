"""Disambiguation: the mentions of one name are one entity unless attributes or constraints split them."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

import numpy as np

from polygraph.arrays import Array, distinct
from polygraph.extract.resolution.attributes import STEM, Attributes
from polygraph.extract.resolution.cluster import Cluster
from polygraph.extract.resolution.constraints import ConstraintKey
from polygraph.extract.resolution.general_names import is_general
from polygraph.extract.resolution.kinds import CLASS_OF_NOUN, TYPE_WORDS
from polygraph.extract.resolution.mention_table import MentionTable
from polygraph.extract.resolution.name_parts import NameParts, fold

_MAX_ENTITIES_PER_NAME = 50
_MAX_PAIRWISE = 40
"""Above this many distinct attribute sets, mentions are assigned greedily without comparing all pairs first."""
_SPLITTABLE_TYPES = frozenset(["person", "", "ship"])
"""Types whose attributes can split a name."""
_NO_ATTRIBUTES = Attributes()
_MAX_DOUBTED = 12
"""Mentions of a name that is split only to ask; of a name with more, somebody is well known."""
_DOUBTED = frozenset(["person", "organization", "work", "ship", "software", "object", "game"])
_CLASS_STEMS = frozenset(fold(word)[:STEM] for word in TYPE_WORDS | CLASS_OF_NOUN.keys())
"""Stems of words that say of which kind a thing is, as all of its name are."""
_MANY_WORDS = 6
"""Words of what two documents say of a name that are not equal by chance."""
_MANY_YEARS = 25
"""Years between two things of one name that make one doubt that they are one."""
_MAX_PEOPLE = 3
"""Clusters into which it is split."""
_CONSTRAINT = "constraint of the user"
_STATED = "related as two in one text"
_GENERAL = "a general name in two documents"
_MANY = 3
"""Mentions of one kind against which a lone vote for another does not count."""


@dataclass(slots=True)
class _Mention:
    """One row of the table with its features."""

    row: int
    document: int
    name: NameParts
    attributes: Attributes
    has_namesake: bool
    context_names: frozenset[str]
    constraint_keys: frozenset[ConstraintKey]
    apart: Set[int]
    """Rows that a text keeps apart from it."""


@dataclass(slots=True)
class _PartialCluster:
    """A cluster while mentions are assigned to it."""

    mentions: list[_Mention] = field(default_factory=list)
    rows: set[int] = field(default_factory=set)
    attributes: Attributes = field(default_factory=Attributes)
    documents: set[int] = field(default_factory=set)
    context_names: set[str] = field(default_factory=set)
    constraint_keys: set[ConstraintKey] = field(default_factory=set)
    ignores_context: bool = False
    """True for mentions that fit several clusters: their context names describe no single entity."""

    def add(self, mention: _Mention) -> None:
        self.mentions.append(mention)
        self.rows.add(mention.row)
        self.attributes.update(mention.attributes)
        self.documents.add(mention.document)
        self.constraint_keys |= mention.constraint_keys
        if not self.ignores_context:
            self.context_names |= mention.context_names

    def to_cluster(self, base: str, table: MentionTable) -> Cluster:
        rows = np.array([mention.row for mention in self.mentions], dtype=np.int64)
        context_rows = rows[:0] if self.ignores_context else rows
        return Cluster(
            base,
            table,
            rows,
            self.attributes,
            context_rows=context_rows,
            constraint_keys=self.constraint_keys,
        )


def cluster_by_name(
    table: MentionTable, ambiguous: Set[str], *, asks: bool = False
) -> tuple[list[Cluster], dict[str, str], dict[str, str]]:
    """Group mentions by base name, and split the groups that cannot be one entity.

    Args:
        table: of all mentions.
        ambiguous: base names that may stand for several longer names; each document has clusters of its own for them.
        asks: whether a model is asked about namesakes whose occupations differ or who have nothing in common: they are
            clusters of their own.

    Returns:
        The clusters in order of base name; the reason of each base name that was split; and that of each which is split
        only because a model is asked.
    """
    splittable = np.array(
        [table.by_model or type_ in _SPLITTABLE_TYPES for type_ in table.types], dtype=np.bool_
    )
    linked = np.array(sorted(table.apart_rows), dtype=np.int64)
    clusters: list[Cluster] = []
    reasons: dict[str, str] = {}
    doubts: dict[str, str] = {}
    for base, (begin, end) in zip(table.bases, pairwise(table.ends.tolist()), strict=False):
        group = table.rows[begin:end]
        # A single mention and a name of a thing cannot be split by attributes.
        compare = (
            end - begin > 1
            and splittable[table.type[begin:end]].any()
            and (table.attribute_ids[begin:end] >= 0).any()
        )
        is_linked = bool(np.diff(np.searchsorted(linked, [begin, end]))[0])
        if base in ambiguous:
            clusters += _local_clusters(base, group, table)
        elif not compare and not is_linked and not table.constraints:
            attributes = None if table.by_model else _NO_ATTRIBUTES
            clusters.append(Cluster(base, table, group, attributes, context_rows=group))
        else:
            found, reason = _split_group(
                base, group, table, with_attributes=bool(compare or table.by_model), is_linked=is_linked
            )
            if reason:
                reasons[base] = reason
            elif asks and table.by_model and len(found) == 1 and end - begin <= _MAX_DOUBTED:
                found, doubt = _split_doubtful(base, group, table) or (found, "")
                doubts |= {base: doubt} if doubt else {}
            clusters += found
    return clusters, reasons, doubts


def _split_doubtful(base: str, group: Array, table: MentionTable) -> tuple[list[Cluster], str] | None:
    """Return clusters of one name whose occupations differ, offices included, or that have nothing in common.

    None if there is one only, or so many that the name is a common one.
    """
    if is_general(base):
        local = _local_clusters(base, group, table)
        return (local, _GENERAL) if 1 < len(local) <= _MAX_PEOPLE else None
    mentions = _mentions(base, group, table.attribute_ids[group], table)
    kinds = {m.attributes.kind for m in mentions}
    is_role = "person" in kinds and " " not in base and base.isascii()
    if is_role or kinds.isdisjoint(_DOUBTED) or table.any_lower_case(group):
        return None
    clusters, reason = _assign(base, mentions, table, doubts=True)
    if not 1 < len(clusters) <= _MAX_PEOPLE:
        return None
    return [cluster.to_cluster(base, table) for cluster in clusters], reason


def _local_clusters(base: str, group: Array, table: MentionTable) -> list[Cluster]:
    """Return a cluster for each name and document; one for documents that say the same of it at length.

    The rows of an imported graph have what is said of an entity in all its documents.
    """
    rows: dict[tuple[int, str], list[int]] = defaultdict(list)
    documents = table.document(group).tolist()
    first_with: dict[tuple[int, str], int] = {}
    for row, document in zip(group.tolist(), documents, strict=True):
        number, name = int(table.attribute_ids[row]), table.name(row).key
        if len(table.attributes(number).words) >= _MANY_WORDS:
            document = first_with.setdefault((number, name), document)  # noqa: PLW2901
        rows[document, name].append(row)
    found = []
    for key in sorted(rows):
        mentions = _mentions(base, np.array(rows[key]), table.attribute_ids[rows[key]], table)
        cluster = _PartialCluster()
        for mention in mentions:
            cluster.add(mention)
        found.append(cluster.to_cluster(base, table))
    return found


def _split_group(
    base: str, group: Array, table: MentionTable, *, with_attributes: bool, is_linked: bool
) -> tuple[list[Cluster], str]:
    """Return the clusters of one base name and the reason why there are several, if there are."""
    attribute_ids = table.attribute_ids[group] if with_attributes else np.full(len(group), -1)
    has_common_noun = table.by_model and table.any_lower_case(group) and not table.all_lower_case(group)
    if not (table.constraints or is_linked or has_common_noun):
        attributes = _merged_attributes(attribute_ids, table, is_surname=table.by_model and " " not in base)
        if attributes is not None:
            # Mentions with attributes come first, as in `_assign`.
            group[:] = np.concatenate((group[attribute_ids >= 0], group[attribute_ids < 0]))
            return [Cluster(base, table, group, attributes, context_rows=group)], ""
    if not (table.constraints or has_common_noun) and _agree(group, attribute_ids, table):
        return [_undivided(base, group, attribute_ids, table)], ""
    mentions = _mentions(base, group, attribute_ids, table)
    if table.by_model:
        _drop_lone_kinds(mentions)
    clusters, reason = _assign(base, mentions, table)
    return [cluster.to_cluster(base, table) for cluster in clusters], reason


def _agree(group: Array, attribute_ids: Array, table: MentionTable) -> bool:
    """Return whether nothing parts the mentions of one name: all say the same of it, or nothing."""
    rows = set(group.tolist())
    if any(not rows.isdisjoint(table.apart_rows.get(row, ())) for row in rows):
        return False
    known = [table.attributes(number) for number in distinct(attribute_ids).tolist()]
    stated = {one.parting(): one for one in known if not one.is_empty()}
    return len(stated) < 2 and not any(_contradict(one, one) for one in stated.values())


def _undivided(base: str, group: Array, attribute_ids: Array, table: MentionTable) -> Cluster:
    """Return the one cluster that `_assign` makes of mentions that agree, with its rows in the same order."""
    attributes = [table.attributes(number) for number in attribute_ids.tolist()]
    n_apart = [len(table.apart_rows.get(row, ())) for row in group.tolist()]
    described = [n for n, one in enumerate(attributes) if n_apart[n] or not one.is_empty()]
    others = [n for n, one in enumerate(attributes) if not n_apart[n] and one.is_empty()]
    if table.by_model:
        described.sort(key=lambda n: (-n_apart[n], -_n_distinguishing(attributes[n])))
    merged = Attributes()
    for n in described + others:
        merged.update(attributes[n])
    rows = group[described + others].astype(np.int64)
    return Cluster(base, table, rows, merged, context_rows=rows)


def _mentions(base: str, group: Array, attribute_ids: Array, table: MentionTable) -> list[_Mention]:
    return [
        _Mention(
            row,
            document,
            table.name(row),
            table.attributes(number),
            has_namesake,
            context_names - {base},
            table.constraint_keys(row),
            table.apart_rows.get(row, frozenset()),
        )
        for row, document, number, has_namesake, context_names in zip(
            group.tolist(),
            table.document(group).tolist(),
            attribute_ids.tolist(),
            table.has_namesake[group].astype(np.bool_).tolist(),
            table.context_names(group),
            strict=True,
        )
    ]


def _drop_lone_kinds(mentions: Sequence[_Mention]) -> None:
    """Delete a kind that one mention has against many and that its description does not support."""
    kinds = Counter(m.attributes.kind for m in mentions if m.attributes.kind)
    for mention in mentions:
        kind = mention.attributes.kind
        if (
            kind
            and kinds[kind] == 1
            and max(kinds.values()) >= _MANY
            and not mention.attributes.kind_is_stated
        ):
            mention.attributes = replace(mention.attributes, kind="", classes=frozenset())


def _merged_attributes(attribute_ids: Array, table: MentionTable, *, is_surname: bool) -> Attributes | None:
    """Return the merged attributes of all mentions, or None if any two conflict by the strictest rules."""
    known, first = np.unique(attribute_ids[attribute_ids >= 0], return_index=True)
    if len(known) > _MAX_PAIRWISE:
        return None
    several = [table.attributes(int(number)) for number in known[np.argsort(first)]]
    if _any_conflict(several) or (
        is_surname and any(one.title_conflict(other) for one, other in combinations(several, 2))
    ):
        return None
    merged = Attributes()
    for one in several:
        merged.update(one)
    return merged


def _any_conflict(several: Sequence[Attributes]) -> bool:
    """Return whether any two conflict by the strictest rules; those that say the same are compared once."""
    alike: dict[Hashable, list[Attributes]] = defaultdict(list)
    for one in several:
        alike[one.parting()].append(one)
    pairs = combinations([same[0] for same in alike.values()], 2)
    repeated = (same[:2] for same in alike.values() if len(same) > 1)
    return any(_contradict(one, other) for one, other in (*pairs, *repeated))


def _contradict(one: Attributes, other: Attributes) -> bool:
    return bool(one.conflict(other, unrelated=True) or one.occupation_conflict(other, with_offices=True))


def _assign(
    base: str, mentions: list[_Mention], table: MentionTable, *, doubts: bool = False
) -> tuple[list[_PartialCluster], str]:
    """Assign each mention to the best cluster without a conflict, or to a new one.

    Mentions with attributes come first, those with most of them before others; the rest follow and go where their
    document and context names are.
    """
    described = [m for m in mentions if not m.attributes.is_empty() or m.apart]
    if table.by_model:
        described.sort(key=lambda m: (-len(m.apart), -_n_distinguishing(m.attributes)))
    clusters: list[_PartialCluster] = []
    reason = ""
    # Where the text itself refers to namesakes, offices split as well.
    rows = {mention.row for mention in mentions}
    with_offices = doubts or any(m.has_namesake or not rows.isdisjoint(m.apart) for m in described)
    # Attributes of a mention count for its whole document, unless the document contradicts itself.
    for mention in described:
        fitting: list[_PartialCluster] = []
        for cluster in clusters:
            conflict = _conflict(mention, cluster, table, with_offices=with_offices and len(clusters) == 1)
            if doubts and not conflict:
                conflict = _doubt(mention, cluster)
            if conflict:
                reason = reason or conflict
            else:
                fitting.append(cluster)
        asked = reason and reason != _CONSTRAINT
        near = [c for c in fitting if mention.document in c.documents]
        if table.by_model and len(near) > 1 and _is_bare(mention, base):
            fitting = []  # ``Cratchit`` in a document with Mr. and Mrs. Cratchit may be either
        if table.by_model and asked and len(fitting) > 1 and not any(_evidence(mention, c) for c in fitting):
            fitting = []  # it may be any of them
        if not fitting and len(clusters) < _MAX_ENTITIES_PER_NAME:
            clusters.append(_PartialCluster())
            fitting = clusters[-1:]
        _best(fitting or clusters, mention, with_offices=with_offices and table.by_model).add(mention)
    unclear: _PartialCluster | None = None
    for mention in mentions:
        if not mention.attributes.is_empty() or mention.apart:
            continue
        fitting = [
            c for c in clusters if not table.constraints.forbid(mention.constraint_keys, c.constraint_keys)
        ]
        near = [c for c in fitting if mention.document in c.documents]
        if len(near) > 1 and _is_bare(mention, base):
            # ``Cratchit`` in a document with Mr. and Mrs. Cratchit may be either.
            unclear = unclear or _PartialCluster(ignores_context=True)
            unclear.add(mention)
            continue
        if not fitting:
            if clusters:
                reason = reason or _CONSTRAINT
            clusters.append(_PartialCluster())
            fitting = clusters[-1:]
        _best(near or fitting, mention).add(mention)
    if unclear is not None:
        clusters.append(unclear)
    return clusters, reason


def _is_bare(mention: _Mention, base: str) -> bool:
    """Return whether a mention is one word without a title."""
    return len(mention.name.words) == 1 and mention.name.base == base and not mention.name.titles


def _n_distinguishing(attributes: Attributes) -> int:
    """Count the attributes that part namesakes."""
    return sum(
        map(
            bool,
            (
                attributes.within,
                attributes.born or attributes.died,
                attributes.suffix,
                attributes.classes,
                attributes.creators,
                attributes.occupations,
                attributes.kind,
            ),
        )
    )


def _evidence(mention: _Mention, cluster: _PartialCluster) -> int:
    """Return the evidence that a mention belongs to a cluster."""
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


def _doubt(mention: _Mention, cluster: _PartialCluster) -> str:
    """Return why a mention may not be in a cluster although nothing conflicts, or an empty string."""
    if not mention.attributes.words or mention.document in cluster.documents:
        return ""
    evidence = _evidence(mention, cluster)
    words = mention.attributes.words & cluster.attributes.words
    if not evidence or (evidence == min(len(words), 3) and words <= _CLASS_STEMS):
        return "nothing in common"
    ours, theirs = mention.attributes, cluster.attributes
    distance = min((abs(x - y) for x in ours.years for y in theirs.years), default=0)
    is_thing = "person" not in (ours.kind, theirs.kind)
    if is_thing and distance > _MANY_YEARS and not mention.context_names & cluster.context_names:
        return f"of {min(ours.years)} and of {min(theirs.years)}"
    return ""


def _conflict(mention: _Mention, cluster: _PartialCluster, table: MentionTable, *, with_offices: bool) -> str:
    """Return why a mention cannot be in a cluster, or an empty string."""
    unrelated = mention.document not in cluster.documents and not (
        mention.context_names & cluster.context_names
    )
    if not mention.apart.isdisjoint(cluster.rows):
        return _STATED
    if table.by_model and (kinds := _common_noun(mention, cluster)):
        return kinds
    conflict = mention.attributes.conflict(cluster.attributes, unrelated=unrelated)
    if not conflict and unrelated and table.by_model and len(mention.name.words) == 1:
        conflict = mention.attributes.title_conflict(cluster.attributes)
    if not conflict and with_offices and unrelated:
        conflict = mention.attributes.occupation_conflict(cluster.attributes, with_offices=True)
    if not conflict and table.constraints.forbid(mention.constraint_keys, cluster.constraint_keys):
        conflict = _CONSTRAINT
    return conflict


def _common_noun(mention: _Mention, cluster: _PartialCluster) -> str:
    """Return why a common noun is not the name of another kind that is spelled like it (``orchestrion``)."""
    ours = mention.attributes.kind
    for other in cluster.mentions:
        theirs = other.attributes.kind
        if ours and theirs and ours != theirs and mention.name.is_lower_case != other.name.is_lower_case:
            return f"{min(ours, theirs)} and {max(ours, theirs)}, one of them a common noun"
    return ""


def _best(
    clusters: list[_PartialCluster], mention: _Mention, *, with_offices: bool = False
) -> _PartialCluster:
    """Return the cluster that a mention fits best; the first of equals."""
    if len(clusters) == 1:
        return clusters[0]
    attributes = mention.attributes
    return max(
        clusters,
        key=lambda c: (
            mention.document in c.documents,
            len(attributes.within & c.attributes.within),
            len(
                (attributes.occupations | attributes.titles)
                & (c.attributes.occupations | c.attributes.titles)
            )
            if with_offices
            else len(attributes.occupations & c.attributes.occupations)
            + len(attributes.titles & c.attributes.titles),
            len(mention.context_names & c.context_names),
            len(attributes.years & c.attributes.years) + len(attributes.words & c.attributes.words),
            len(c.mentions),
        ),
    )
