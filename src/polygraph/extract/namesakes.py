"""Mentions of one name: one entity, or several that the text keeps apart."""

from collections import defaultdict
from collections.abc import Mapping

from polygraph.extract.aliases import is_full
from polygraph.extract.decisions import Decisions
from polygraph.extract.evidence import evidence, gender_of, several
from polygraph.extract.resolution import Cluster, Item

_MAX_COMPANY = 40
"""Names of a window that are remembered as the company of each other."""
_MAX_NAMESAKES = 50


def company_of_windows(items: list[Item]) -> dict[str, frozenset[str]]:
    """Names that stand in each window, without those that stand nearly everywhere."""
    windows: dict[str, set[str]] = defaultdict(set)
    seen_in: dict[str, set[str]] = defaultdict(set)
    for item in items:
        window = item.mention.window
        plain = item.name.written_low or item.mention.type in ("date", "quantity", "concept")
        if not plain and len(windows[window]) < _MAX_COMPANY:
            windows[window].add(item.base)
            seen_in[item.base].add(item.mention.document)
    n_documents = len({item.mention.document for item in items})
    common = {base for base, where in seen_in.items() if len(where) > max(3, 0.2 * n_documents)}
    return {window: frozenset(names - common) for window, names in windows.items()}


def cluster_names(
    items: list[Item], company: Mapping[str, frozenset[str]], decisions: Decisions
) -> tuple[list[Cluster], dict[str, str]]:
    """Group mentions by base, and part those that cannot be one.

    Args:
        items: in canonical order.
        company: of each window, from `company_of_windows`.
        decisions: of the user.

    Returns:
        The clusters in order of base; and per base that was parted, why.
    """
    groups: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        groups[item.base].append(item)
    clusters: list[Cluster] = []
    reasons: dict[str, str] = {}
    for base in sorted(groups):
        group = groups[base]
        if len(group) > 1 and any(i.mention.type in ("person", "", "ship") for i in group):
            for item in group:
                item.told = evidence(
                    item.name, item.mention.name, item.mention.type, item.mention.description
                )
        found, reason = _part(base, group, company, decisions)
        clusters += found
        if reason:
            reasons[base] = reason
    return clusters, reasons


def _part(
    base: str, group: list[Item], company: Mapping[str, frozenset[str]], decisions: Decisions
) -> tuple[list[Cluster], str]:
    """Part the mentions of one name; they are one unless something says otherwise."""
    none: frozenset[str] = frozenset()
    if not decisions and all(item.told.empty() for item in group):
        whole = Cluster(base)
        for item in group:
            whole.take(item, company.get(item.mention.window, none))
        whole.company.discard(base)
        return [whole], ""
    told = [item for item in group if not item.told.empty()]
    clusters: list[Cluster] = []
    reason = ""
    # Where the text itself knows of namesakes, less is needed to part two of them.
    wide = any(several(item.mention.description) for item in told)
    # What a document says of its bearer counts for the document as a whole, unless it contradicts itself.
    for item in told:
        around = company.get(item.mention.window, none) - {base}
        fitting: list[Cluster] = []
        for cluster in clusters:
            strangers = item.mention.document not in cluster.documents and not (around & cluster.company)
            why = item.told.conflict(cluster.told, strangers=strangers)
            if not why and wide and strangers and len(clusters) == 1:
                why = item.told.soft_conflict(cluster.told, wide=True)
            if not why and decisions.forbid(item.sides, cluster.sides):
                why = "as the user decided"
            if why:
                reason = reason or why
            else:
                fitting.append(cluster)
        if not fitting and len(clusters) < _MAX_NAMESAKES:
            clusters.append(Cluster(base))
            fitting = clusters[-1:]
        _best(fitting or clusters, item, around).take(item, around)
    ambiguous: Cluster | None = None
    for item in group:
        if not item.told.empty():
            continue
        around = company.get(item.mention.window, none) - {base}
        fitting = [c for c in clusters if not decisions.forbid(item.sides, c.sides)]
        near = [c for c in fitting if item.mention.document in c.documents]
        if len(near) > 1 and len(item.name.words) == 1 and item.name.base == base:
            # ``Cratchit`` beside Mr. and Mrs. Cratchit may be either.
            ambiguous = ambiguous or Cluster(base)
            ambiguous.take(item, none)
            continue
        if not fitting:
            if clusters:
                reason = reason or "as the user decided"
            clusters.append(Cluster(base))
            fitting = clusters[-1:]
        _best(near or fitting, item, around).take(item, around)
    if ambiguous is not None:
        clusters.append(ambiguous)
    return clusters, reason


def _best(clusters: list[Cluster], item: Item, around: frozenset[str]) -> Cluster:
    """The cluster that an item belongs to most likely; the first of equals."""
    if len(clusters) == 1:
        return clusters[0]
    return max(
        clusters,
        key=lambda c: (
            item.mention.document in c.documents,
            len(item.told.occupations & c.told.occupations) + len(item.told.titles & c.told.titles),
            len(around & c.company),
            len(c.items),
        ),
    )


def join_surnames(clusters: list[Cluster], decisions: Decisions) -> list[Cluster]:
    """Let a bare surname meet the only person of that surname in the whole corpus."""
    bearers: dict[str, list[Cluster]] = defaultdict(list)
    for cluster in clusters:
        words = cluster.base.split()
        if len(words) > 1 and is_full(words) and cluster.kind() == "person" and cluster.told.kind != "ship":
            bearers[words[-1]].append(cluster)
    kept: list[Cluster] = []
    for cluster in clusters:
        candidates = bearers.get(cluster.base, [])
        single = len(cluster.base.split()) == 1 and cluster.kind() == "person" and cluster.told.kind != "ship"
        if not (single and len(candidates) == 1 and not cluster.items[0].name.written_low):
            kept.append(cluster)
            continue
        bearer = candidates[0]
        # ``Mrs. Quill`` needs a woman; a bare name or ``Mr.`` only excludes one.
        clash = _gender(cluster) not in ("", _gender(bearer)) and "f" in (_gender(cluster), _gender(bearer))
        if (
            clash
            or cluster.told.conflict(bearer.told, strangers=True)
            or decisions.forbid(cluster.sides, bearer.sides)
        ):
            kept.append(cluster)
            continue
        for item in cluster.items:
            item.rule, item.score = "alias in document", 0.7
        bearer.join(cluster)
    return kept


def _gender(cluster: Cluster) -> str:
    return next((g for item in cluster.items if (g := gender_of(item.name))), "")
