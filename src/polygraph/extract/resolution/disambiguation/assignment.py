"""Greedy assignment: each mention of a name joins the cluster that it fits best, or starts one."""

from polygraph.extract.resolution.clusters.merger import CONSTRAINT
from polygraph.extract.resolution.disambiguation.conflicts import (
    conflict_between,
    doubt_about,
    evidence_for,
)
from polygraph.extract.resolution.disambiguation.mentions import GrowingCluster, MentionFeatures
from polygraph.extract.resolution.evidence.attributes import Attributes
from polygraph.extract.resolution.mentions.mention_table import MentionTable

_MAX_ENTITIES_PER_NAME = 50
"""Clusters of one name; with so many, a mention that fits none joins the best."""


def assign(
    base: str, mentions: list[MentionFeatures], table: MentionTable, *, doubts: bool = False
) -> tuple[list[GrowingCluster], str]:
    """Assign each mention to the best cluster without a conflict, or to a new one.

    Mentions with attributes come first, those with most of them before others; the rest follow and go where their
    document and context names are.

    Args:
        base: name of all mentions, without titles.
        mentions: in the order of the table.
        table: of all mentions.
        doubts: whether mentions that may be two are kept apart as well, so that a model can be asked.

    Returns:
        The clusters in the order of their first mention, and why there are several; empty if there is one.
    """
    described = [m for m in mentions if not m.attributes.is_empty() or m.apart]
    others = [m for m in mentions if m.attributes.is_empty() and not m.apart]
    if table.by_model:
        described.sort(key=lambda m: (-len(m.apart), -n_distinguishing(m.attributes)))
    else:
        described.sort(key=lambda m: -len(m.attributes.titles))  # ``Frau Dr. Ash`` joins the other two
    # Where the text itself refers to namesakes, offices split as well.
    rows = {mention.row for mention in mentions}
    with_offices = doubts or any(m.has_namesake or not rows.isdisjoint(m.apart) for m in described)
    clusters: list[GrowingCluster] = []
    conflict = _assign_described(base, described, clusters, table, with_offices=with_offices, doubts=doubts)
    constraint = _assign_others(base, others, clusters, table)
    return clusters, conflict or constraint


def _assign_described(
    base: str,
    described: list[MentionFeatures],
    clusters: list[GrowingCluster],
    table: MentionTable,
    *,
    with_offices: bool,
    doubts: bool,
) -> str:
    """Assign mentions that have attributes, extend the clusters, and return the first conflict."""
    reason = ""
    # Attributes of a mention count for its whole document, unless the document contradicts itself.
    for mention in described:
        fitting: list[GrowingCluster] = []
        for cluster in clusters:
            conflict = conflict_between(
                mention, cluster, table, with_offices=with_offices and len(clusters) == 1
            )
            if doubts and not conflict:
                conflict = doubt_about(mention, cluster)
            if conflict:
                reason = reason or conflict
            else:
                fitting.append(cluster)
        # A mention that may belong to any of several clusters starts its own.
        if table.by_model and (
            _fits_several_nearby(mention, fitting, base)
            or (
                reason not in ("", CONSTRAINT)
                and len(fitting) > 1
                and not any(evidence_for(mention, c) for c in fitting)
            )
        ):
            fitting = []
        if not fitting and len(clusters) < _MAX_ENTITIES_PER_NAME:
            clusters.append(GrowingCluster())
            fitting = clusters[-1:]
        _best(fitting or clusters, mention, with_offices=with_offices and table.by_model).add(mention)
    return reason


def _assign_others(
    base: str, others: list[MentionFeatures], clusters: list[GrowingCluster], table: MentionTable
) -> str:
    """Assign mentions without attributes, extend the clusters, and return why one had to be added beside others."""
    reason = ""
    unclear = GrowingCluster(ignores_context=True)
    for mention in others:
        fitting = [
            c for c in clusters if not table.constraints.forbid(mention.constraint_keys, c.constraint_keys)
        ]
        if _fits_several_nearby(mention, fitting, base):
            unclear.add(mention)
            continue
        if not fitting:
            if clusters:
                reason = CONSTRAINT
            clusters.append(GrowingCluster())
            fitting = clusters[-1:]
        near = [c for c in fitting if mention.document in c.documents]
        _best(near or fitting, mention).add(mention)
    if unclear.mentions:
        clusters.append(unclear)
    return reason


def _fits_several_nearby(mention: MentionFeatures, fitting: list[GrowingCluster], base: str) -> bool:
    """Return whether a bare name fits several clusters of its document: ``Cratchit`` beside Mr. and Mrs. Cratchit."""
    return _is_bare(mention, base) and sum(mention.document in c.documents for c in fitting) > 1


def _best(
    clusters: list[GrowingCluster], mention: MentionFeatures, *, with_offices: bool = False
) -> GrowingCluster:
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


def _is_bare(mention: MentionFeatures, base: str) -> bool:
    """Return whether a mention is one word without a title."""
    return len(mention.name.words) == 1 and mention.name.base == base and not mention.name.titles


def n_distinguishing(attributes: Attributes) -> int:
    """Count the attributes that distinguish entities of one name."""
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
