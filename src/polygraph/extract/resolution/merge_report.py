"""How the names of an entity were merged: for each name, the rule and the name that it was merged with."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping

import numpy as np

from polygraph.extract.resolution.clusters.cluster import Cluster
from polygraph.extract.resolution.clusters.merger import MergeLink, Merger
from polygraph.extract.resolution.mentions.mention_table import MentionTable
from polygraph.extract.resolution.records import RULES, Merge
from polygraph.text.normalize import normalize_name

_ALIAS = RULES.index("alias in document")


class MergeReport:
    """The merges of each entity, as a tree of names: each name with the next one on the way to the main name.

    Args:
        table: of all mentions.
        merger: after all merges.
    """

    def __init__(self, table: MentionTable, merger: Merger) -> None:
        self._table, self._merger = table, merger
        self._links: dict[int, list[tuple[int, MergeLink]]] = defaultdict(list)
        """The clusters that each was merged with, by their numbers before any merge."""
        for link in merger.links:
            a, b = merger.first_clusters(np.array([link.first, link.second])).tolist()
            self._links[a].append((b, link))
            self._links[b].append((a, link))

    def merges(self, cluster: Cluster, entity: str) -> list[Merge]:
        """Return a merge for each name of an entity except its main name.

        The most frequent name of a cluster was merged with the cluster that comes next, and `Merge.other` is a name of
        that. Other names of the cluster have its base name, or stand for it in their document. What holds in one
        document only is told for each document.
        """
        table, rows = self._table, cluster.rows
        written = table.written[rows]
        if (written == written[0]).all():
            return []
        main, root = self._main_name(cluster)
        is_alias, number = table.rule[rows] == _ALIAS, self._merger.first_clusters(rows)
        spellings = Counter(written.tolist())
        towards = self._towards(root)
        aliases = [n for n, (_, link) in towards.items() if link.rule == "alias in document"]
        document = np.where(is_alias | np.isin(number, aliases), table.document(rows), -1)
        place = number.astype(np.int64) * len(table.strings) + written
        _, first = np.unique(
            (place * (len(table.documents) + 1) + document + 1) * 2 + is_alias, return_index=True
        )
        told: dict[tuple[int, int], int] = {}
        own: dict[int, Counter[int]] = defaultdict(Counter)
        aliases_only: dict[int, Counter[int]] = defaultdict(Counter)
        for n in sorted(first.tolist()):
            spelling = int(written[n])
            told.setdefault((spelling, int(document[n])), n)
            of_cluster = (aliases_only if is_alias[n] else own)[int(number[n])]
            of_cluster[spelling] = spellings[spelling]
        names = {
            n: self._most_frequent(some, table.base(int(rows[np.argmax(number == n)])))
            for n, some in (aliases_only | own).items()
        }
        names[root] = main
        found = []
        for (spelling, where), n in told.items():
            if spelling == main:
                continue
            here, row, evidence = int(number[n]), int(rows[n]), ""
            rule, score, other = RULES[table.rule[row]], float(table.score[row]), names[here]
            if here in towards and spelling == names[here]:
                into, link = towards[here]
                rule, score, other, evidence = link.rule, link.score, names[into], link.evidence
            found.append(
                Merge(
                    entity=entity,
                    name=table.strings[spelling],
                    document=table.documents[where] if where >= 0 else "",
                    rule=rule,
                    score=score,
                    other=normalize_name(table.strings[other]),
                    evidence=evidence,
                )
            )
        return found

    def _main_name(self, cluster: Cluster) -> tuple[int, int]:
        """Return the most frequent spelling of the base name of an entity, and the cluster that has it."""
        table, rows = self._table, cluster.rows
        base = bisect_left(table.bases, cluster.base)
        of_base = np.flatnonzero(np.searchsorted(table.ends, rows, side="right") - 1 == base)
        own = of_base[table.rule[rows[of_base]] != _ALIAS]
        chosen = rows[own if len(own) else of_base]
        main = self._most_frequent(Counter(table.written[chosen].tolist()), cluster.base)
        return main, int(self._merger.first_clusters(chosen)[np.argmax(table.written[chosen] == main)])

    def _towards(self, root: int) -> dict[int, tuple[int, MergeLink]]:
        """Return for each cluster of an entity but one the next one on the way to that, and how they were merged."""
        found: dict[int, tuple[int, MergeLink]] = {}
        reached = [root]
        for here in reached:  # grows
            for number, link in self._links.get(here, ()):
                if number != root and number not in found:
                    found[number] = here, link
                    reached.append(number)
        return found

    def _most_frequent(self, counts: Mapping[int, int], base: str) -> int:
        """Return the most frequent of some spellings; those of a base name come first."""

        def order(spelling: int) -> tuple[bool, int, int, str]:
            name = self._table.strings[spelling]
            return normalize_name(name) != base, -counts[spelling], -len(name), name

        return min(counts, key=order)
