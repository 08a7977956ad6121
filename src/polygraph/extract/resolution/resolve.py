"""The stages of entity resolution in order, and the names of the entities."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, pairwise

import numpy as np

from polygraph.arrays import Array, Table, TableBuilder, distinct
from polygraph.extract.resolution.clusters.cluster import Cluster
from polygraph.extract.resolution.clusters.merger import Comparison, Merger, merge_equated
from polygraph.extract.resolution.constraints import Constraints
from polygraph.extract.resolution.disambiguation import cluster_by_name
from polygraph.extract.resolution.mentions.document_features import COLUMNS, extract_features
from polygraph.extract.resolution.mentions.mention_table import MentionTable
from polygraph.extract.resolution.merge_report import MergeReport
from polygraph.extract.resolution.merging.must_link import merge_must_links
from polygraph.extract.resolution.merging.name_variants import merge_name_variants
from polygraph.extract.resolution.merging.qualified_names import merge_qualified_names
from polygraph.extract.resolution.merging.short_names import LongNames, merge_short_names
from polygraph.extract.resolution.merging.spelling_variants import merge_spelling_variants
from polygraph.extract.resolution.merging.transliteration import merge_transliterations
from polygraph.extract.resolution.records import (
    RULES,
    Mention,
    Merge,
    NameRelation,
    PairDecision,
    Resolution,
    ResolvedRows,
    SplitEntity,
)
from polygraph.extract.resolution.suggestions.corpus_pairs import suggest_pairs
from polygraph.extract.resolution.suggestions.name_lists import Suggest, suggest_listed
from polygraph.models.protocols import Vectors

_ALIAS = RULES.index("alias in document")
_MAX_COMPARED = 8
"""Entities of one name whose pairs are all listed."""


def resolve(
    mentions: Sequence[Mention],
    *,
    embed: Callable[[Sequence[str]], Vectors] | None = None,
    cannot_link: frozenset[tuple[str, str]] = frozenset(),
    must_link: frozenset[tuple[str, str]] = frozenset(),
    relations: Iterable[NameRelation] = (),
    by_model: bool = True,
    asks: bool = False,
    suggest: Suggest | None = None,
) -> Resolution:
    """Cluster mentions into entities.

    Args:
        mentions: one per entity row, in any order.
        embed: unit vectors for names, one row each; enables the rule `embedding`. Called at most once.
        cannot_link: pairs that are different entities. Each side is a name, or ``name @ document`` for the name in
            one document: ``("Thomas Quill @ a.md", "Thomas Quill @ b.md")`` splits two people of one name. ``name #
            type`` is the name with one type; ``("Quill @ *", "Quill @ *")`` splits a name by document, ``# *`` by type.
        must_link: pairs that are one entity; a side may also be an entity id. `cannot_link` has precedence.
        relations: relation rows between the mentions of each window.
        by_model: whether a language model wrote the rows; see `document_features.extract_features`.
        asks: whether a model is asked about pairs: merges on little evidence are then `presumed` and not done.
        suggest: gets the entities after all rules, if a model is asked, and returns pairs to ask about.

    Returns:
        The same for every order of the mentions. Ids are normalised names. Entities that share a name carry a
        distinguishing phrase (``thomas quill (photographer)``), or a number by the order of their first documents.
        Cost is linear in the number of mentions, except for sorting.

    >>> rows = [("a", "Thomas Quill"), ("a", "Mr. Quill"), ("b", "The Thomas Quill")]
    >>> found = resolve([Mention(document=d, window=d + "@0", name=n, type="person") for d, n in rows])
    >>> sorted(set(found.entity_of.values()))
    ['thomas quill']
    """
    by_document: dict[str, list[Mention]] = defaultdict(list)
    for mention in mentions:
        by_document[mention.document].append(mention)
    by_window: dict[str, list[NameRelation]] = defaultdict(list)
    for relation in relations:
        by_window[relation.window].append(relation)
    constraints, builder = Constraints(cannot_link), TableBuilder(COLUMNS)
    keys: list[tuple[str, str]] = []
    documents = sorted(by_document)
    for document in documents:
        of_document = by_document[document]
        related = [r for window in sorted({m.window for m in of_document}) for r in by_window[window]]
        document_keys, columns = extract_features(
            document, of_document, constraints, related, by_model=by_model
        )
        keys += document_keys
        builder.add(columns)
    found = resolve_rows(
        documents,
        builder.table(),
        embed=embed,
        cannot_link=cannot_link,
        must_link=must_link,
        by_model=by_model,
        asks=asks,
        suggest=suggest,
    )
    entities = (found.ids[number] for number in found.entity.tolist())
    return Resolution(
        entity_of=dict(sorted(zip(keys, entities, strict=True))),
        merges=found.merges,
        splits=found.splits,
        pairs=found.pairs,
    )


def resolve_rows(
    documents: Sequence[str],
    features: Table,
    *,
    embed: Callable[[Sequence[str]], Vectors] | None = None,
    cannot_link: frozenset[tuple[str, str]] = frozenset(),
    must_link: frozenset[tuple[str, str]] = frozenset(),
    by_model: bool = True,
    asks: bool = False,
    suggest: Suggest | None = None,
) -> ResolvedRows:
    """Cluster the rows of `extract_features` into entities.

    Features of a document are reused when other documents change. Work on mentions is done with arrays; Python
    objects exist for each distinct name only.

    Args:
        documents: ids, ascending.
        features: of these documents, extracted with the same `cannot_link`.
        embed: see `resolve`, as for the next two.
        cannot_link: see there.
        must_link: see there.
        by_model: see there; as for the features.
        asks: see there.
        suggest: see there.
    """
    table = MentionTable(documents, features, Constraints(cannot_link), by_model=by_model)
    long_names = LongNames(table)
    clusters, reasons, doubts = cluster_by_name(table, long_names.ambiguous(), asks=asks)
    merger = Merger(clusters, table, reasons if by_model else None, doubts=doubts, asks=asks)
    merge_equated(merger)
    merge_transliterations(merger)
    merge_forms = _repeatable(merger, (merge_name_variants, merge_qualified_names))
    merge_forms()
    merge_short_names(merger, long_names)
    # Names that came together meanwhile are evidence for others.
    merge_forms()
    merge_spelling_variants(merger, embed)
    merge_forms()
    suggest_pairs(merger)
    if suggest is not None and asks and by_model:
        suggest_listed(merger, suggest)
    clusters = merger.remaining()
    ids = _assign_ids(clusters, table)
    if must_link:
        clusters = merge_must_links(clusters, ids, must_link, table, merger.links)
        ids = _assign_ids(clusters, table)
    return _to_rows(table, clusters, ids, reasons, merger)


def _repeatable(merger: Merger, rules: Sequence[Callable[[Merger], None]]) -> Callable[[], None]:
    """Return a function that applies some rules; a rule is skipped if nothing was merged since it last started."""
    n_merges_before: dict[Callable[[Merger], None], int] = {}

    def apply() -> None:
        for rule in rules:
            if n_merges_before.get(rule) != merger.n_merges:
                n_merges_before[rule] = merger.n_merges
                rule(merger)

    return apply


def _assign_ids(clusters: list[Cluster], table: MentionTable) -> list[str]:
    """Return one id per cluster: the base name, or the most frequent titled name of a bare surname."""
    wanted: list[str] = []
    for cluster in clusters:
        base = cluster.base
        if " " not in base and all(
            table.name(row).titles for row in table.first_of_each_spelling(cluster.rows)
        ):
            keys = Counter(table.name(row).key for row in cluster.rows.tolist())
            base = min(keys, key=lambda k: (-keys[k], -len(k), k))
        wanted.append(base)
    sharing: dict[str, list[int]] = defaultdict(list)
    for i, base in enumerate(wanted):
        sharing[base].append(i)
    ids = [""] * len(clusters)
    taken = {base for base, group in sharing.items() if len(group) == 1}
    for base in sorted(sharing):
        group = sharing[base]
        if len(group) == 1:
            ids[group[0]] = base
            continue
        descriptors = {i: clusters[i].attributes.descriptor() for i in group}
        counts = Counter(descriptors.values())
        unique = {i for i, text in descriptors.items() if text and counts[text] == 1}
        # The table is in the order of documents, so the entity of the first document gets the first number.
        group.sort(key=lambda i: (i in unique, int(table.positions(clusters[i].rows).min())))
        n = 0
        for i in group:
            if i in unique:
                name = f"{base} ({descriptors[i]})"
            else:
                n += 1
                name = base if n == 1 else f"{base} ({n})"
            while name in taken:
                n += 1
                name = f"{base} ({n})"
            taken.add(name)
            ids[i] = name
    return ids


def _to_rows(
    table: MentionTable,
    clusters: list[Cluster],
    ids: list[str],
    reasons: Mapping[str, str],
    merger: Merger,
) -> ResolvedRows:
    number: dict[str, int] = {}
    merges: list[Merge] = []
    found = np.empty(len(table), dtype=np.int32)
    explain = MergeReport(table, merger)
    for cluster, entity_id in zip(clusters, ids, strict=True):
        found[cluster.rows] = number.setdefault(entity_id, len(number))
        merges += explain.merges(cluster, entity_id)
    for row in range(int(table.ends[-2]), len(table)):
        # A name of punctuation only has no key: its entity is named as written.
        written = table.strings[table.written[row]]
        found[row] = number.setdefault(written.strip() or written, len(number))
    ascending = sorted(number)
    rank = np.zeros(len(number), dtype=np.int32)
    rank[[number[entity_id] for entity_id in ascending]] = np.arange(len(number))
    found = rank[found]
    entity = np.empty_like(found)
    entity[table.positions(np.arange(len(table)))] = found
    return ResolvedRows(
        ids=ascending,
        entity=entity,
        merges=tuple(sorted(merges, key=lambda merge: (merge.entity, merge.name, merge.document))),
        splits=_splits(table, ascending, found, reasons),
        pairs=_pairs(table, ascending, found, reasons, merger),
    )


def _splits(
    table: MentionTable, ids: Sequence[str], entity: Array, reasons: Mapping[str, str]
) -> tuple[SplitEntity, ...]:
    found = []
    for base, (begin, end) in zip(table.bases, pairwise(table.ends.tolist()), strict=False):
        entities = distinct(entity[begin:end]) if base in reasons else ()
        if len(entities) > 1:
            # Entities are numbered in the order of their ids.
            found.append(
                SplitEntity(
                    name=base, entities=tuple([ids[number] for number in entities]), reason=reasons[base]
                )
            )
    return tuple(found)


def _pairs(
    table: MentionTable, ids: Sequence[str], entity: Array, reasons: Mapping[str, str], merger: Merger
) -> tuple[PairDecision, ...]:
    """Return the pairs of entities that were compared and not merged."""
    found: dict[tuple[str, str], PairDecision] = {}

    rank_of = {"undecided": 0, "presumed": 1, "apart": 2}

    def add(a: int, b: int, names: tuple[str, str], comparison: Comparison) -> None:
        """Add a pair, given by a row of each entity; a decision replaces an open question.

        The question whether namesakes are one is asked where attributes keep them apart.
        """
        first, second = (ids[int(entity[row])] for row in (a, b))
        if first == second:
            return
        if second < first:
            first, second, names = second, first, (names[1], names[0])
        known = found.get((first, second))
        is_namesake, was_namesake = (
            each is not None and (each.rule, each.decision) == ("same name", "undecided")
            for each in (comparison, known)
        )
        if (
            known is None
            or (rank_of[known.decision] < rank_of[comparison.decision] and not was_namesake)
            or (is_namesake and known.rule == "attributes")
        ):
            found[first, second] = PairDecision(
                entities=(first, second),
                names=names,
                decision=comparison.decision,
                rule=comparison.rule,
                score=comparison.score,
                evidence=comparison.evidence,
            )

    for comparison in merger.comparisons:
        rows = [int(merger.clusters[n].rows[0]) for n in (comparison.first, comparison.second)]
        add(rows[0], rows[1], (table.base(rows[0]), table.base(rows[1])), comparison)
    for base, (begin, end) in zip(table.bases, pairwise(table.ends.tolist()), strict=False):
        if base in reasons:
            _, first = np.unique(entity[begin:end], return_index=True)
            rows = [begin + int(n) for n in first[:_MAX_COMPARED]]
            for a, b in combinations(rows, 2):
                add(a, b, (base, base), Comparison(0, 0, "apart", "attributes", 0.9, reasons[base]))
    return tuple(found[key] for key in sorted(found))
