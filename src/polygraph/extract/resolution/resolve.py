"""Entity resolution: which names of which windows are one entity.

A pure function of the mentions, whatever their order. The rules, from certain to daring:

1. *Same name.* Names that normalise alike meet; titles, ``Jr.`` and legal forms are set aside first.
2. *Alias in document.* A surname, first name, initials or acronym stands for the one longer name of the same
   document that fits. A surname in a document without a longer form meets a full name elsewhere only if the
   whole corpus knows one bearer.
3. *Namesakes.* What met by name is parted where the text says that it must be: a man and a woman, the elder and
   the younger, other years of birth, an officer and a clergyman, a person and a ship, other trades in other
   company. Without such evidence names stay together.
4. *Spelling and embedding.* Names that differ in hyphens, accents, plural; names one letter apart that keep the
   same company; with `similar`, names that look alike and whose vectors agree. Never names that differ in a
   number, a given name or an opposite.
5. *User.* `together` and `apart` win over all of this.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from polygraph.columnar import Array, Columns, Gathering, blocks, room
from polygraph.columnar.memory import let_go
from polygraph.extract.resolution.constraints import Decisions
from polygraph.extract.resolution.disambiguation import cluster_names, join_surnames
from polygraph.extract.resolution.document_features import read_names
from polygraph.extract.resolution.mention_table import Names
from polygraph.extract.resolution.records import (
    RULES,
    Apart,
    Cluster,
    Mention,
    Merge,
    Resolution,
    Resolved,
    Rule,
)
from polygraph.extract.resolution.spelling_variants import join_variants
from polygraph.extract.together import join_together
from polygraph.models.protocols import Vectors
from polygraph.text.normalize import normalise

__all__ = ["Apart", "Mention", "Merge", "Resolution", "Resolved", "Rule", "resolve", "resolve_columns"]

_ALIAS = RULES.index("alias in document")


def resolve(
    mentions: Sequence[Mention],
    *,
    similar: Callable[[Sequence[str]], Vectors] | None = None,
    apart: frozenset[tuple[str, str]] = frozenset(),
    together: frozenset[tuple[str, str]] = frozenset(),
) -> Resolution:
    """Decide which names are one entity.

    Args:
        mentions: one per entity row, in any order.
        similar: unit vectors for names, one row each; turns on the rule `embedding`. Called at most once.
        apart: pairs that must not be one entity. A side is a name, or ``name @ document`` for the name in
            one document; ``("Thomas Quill @ a.md", "Thomas Quill @ b.md")`` parts two namesakes.
        together: pairs that are one entity; a side may also be an entity id. Where a pair is in both, it
            is kept apart.

    Returns:
        The same for every order of the mentions. Ids are normalised names; namesakes carry what tells them
        apart (``thomas quill (photographer)``), or a number by the order of their first documents.
        Cost grows with the number of mentions, apart from sorting.

    >>> rows = [("a", "Thomas Quill"), ("a", "Mr. Quill"), ("b", "The Thomas Quill")]
    >>> found = resolve([Mention(document=d, window=d + "@0", name=n, type="person") for d, n in rows])
    >>> sorted(set(found.entity_of.values()))
    ['thomas quill']
    """
    by_document: dict[str, list[Mention]] = defaultdict(list)
    for mention in mentions:
        by_document[mention.document].append(mention)
    decisions, gathering = Decisions(apart), Gathering()
    slots: list[tuple[str, str]] = []
    for document in sorted(by_document):
        mine, rows = read_names(document, by_document[document], decisions)
        slots += mine
        gathering.add(document, {"names": rows}, ())
    found = resolve_columns(gathering.columns(), similar=similar, apart=apart, together=together)
    entities = (found.ids[number] for number in found.entity.tolist())
    return Resolution(
        entity_of=dict(sorted(zip(slots, entities, strict=True))),
        merges=found.merges,
        kept_apart=found.kept_apart,
    )


def resolve_columns(
    columns: Columns,
    *,
    similar: Callable[[Sequence[str]], Vectors] | None = None,
    apart: frozenset[tuple[str, str]] = frozenset(),
    together: frozenset[tuple[str, str]] = frozenset(),
    folder: Path | None = None,
) -> Resolved:
    """The same for names that `read_names` has read, with the same `apart`, document by document.

    What was read of a document need not be read again when others come and go. The rest is done for all names,
    by arrays where there are as many as mentions, one by one where there are as many as different names.

    Args:
        columns: of all documents.
        similar: see `resolve`, as the next two.
        apart: see there.
        together: see there.
        folder: for what is put aside meanwhile, and for the result, as for `spill.room`.
    """
    names = Names(columns, Decisions(apart), folder)
    clusters, reasons = cluster_names(names)
    clusters = join_surnames(clusters, names)
    clusters = join_variants(clusters, similar, names)
    ids = _identify(clusters, names)
    if together:
        clusters = join_together(clusters, ids, together, names)
        ids = _identify(clusters, names)
    return _result(names, clusters, ids, reasons, folder)


def _identify(clusters: list[Cluster], names: Names) -> list[str]:
    """Ids, one per cluster: the base, or the commonest titled name of who has only a surname."""
    wanted: list[str] = []
    for cluster in clusters:
        base = cluster.base
        if " " not in base and all(names.name(row).titles for row in names.first_of_each_name(cluster.rows)):
            keys = Counter(names.name(row).key for row in cluster.rows.tolist())
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
        words = {i: clusters[i].told.descriptor() for i in group}
        often = Counter(words.values())
        # The table is in the order of documents, so that the first document comes first.
        group.sort(
            key=lambda i: (words[i] != "" and often[words[i]] == 1, int(names.place(clusters[i].rows).min()))
        )
        n = 0
        for i in group:
            if words[i] and often[words[i]] == 1:
                name = f"{base} ({words[i]})"
            else:
                n += 1
                name = base if n == 1 else f"{base} ({n})"
            while name in taken:
                n += 1
                name = f"{base} ({n})"
            taken.add(name)
            ids[i] = name
    return ids


def _result(
    names: Names, clusters: list[Cluster], ids: list[str], reasons: Mapping[str, str], folder: Path | None
) -> Resolved:
    number: dict[str, int] = {}
    merges: list[Merge] = []
    found = room(len(names), np.int32, folder)
    for cluster, name in zip(clusters, ids, strict=True):
        found[cluster.rows] = number.setdefault(name, len(number))
        merges += _merges(names, cluster, name)
        names.rest(cluster.n)
    for row in range(int(names.ends[-2]), len(names)):
        # A name of punctuation only has no key; it is its own entity under what was written.
        written = names.strings[names.written[row]]
        found[row] = number.setdefault(written.strip() or written, len(number))
    ascending = sorted(number)
    rank = np.zeros(len(number), dtype=np.int32)
    rank[[number[name] for name in ascending]] = np.arange(len(number))
    entity = room(len(names), np.int32, folder)
    for rows in blocks(len(names)):
        found[rows] = rank[found[rows]]
        entity[names.place(rows)] = found[rows]
        names.rest(len(rows))
        let_go(found, entity)
    return Resolved(
        ids=ascending,
        entity=entity,
        merges=tuple(sorted(merges, key=lambda merge: (merge.entity, merge.name, merge.document))),
        kept_apart=_kept_apart(names, ascending, found, reasons),
    )


def _merges(names: Names, cluster: Cluster, entity: str) -> list[Merge]:
    """The names of a cluster that are not its chief name."""
    rows = cluster.rows
    written = names.written[rows]
    if (written == written[0]).all():
        return []
    numbers, counts = np.unique(written, return_counts=True)
    chief = {names.strings[i]: n for i, n in zip(numbers.tolist(), counts.tolist(), strict=True)}
    name = min(chief, key=lambda n: (normalise(n) != cluster.base, -chief[n], -len(n), n))
    # An alias is one of its document, any other name of the corpus; the first of each says how certain it is.
    document = np.where(names.rule[rows] == _ALIAS, names.document(rows), -1)
    _, first = np.unique(
        written.astype(np.int64) * (len(names.documents) + 1) + document + 1, return_index=True
    )
    found = []
    for row, where in zip(rows[first].tolist(), document[first].tolist(), strict=True):
        spelling = names.strings[names.written[row]]
        if spelling != name:
            rule = RULES[names.rule[row]]
            found.append(
                Merge(
                    entity=entity,
                    name=spelling,
                    document=names.documents[where] if where >= 0 else "",
                    rule=rule,
                    score=float(names.score[row]),
                    other=names.base(row) if rule == "same name" else cluster.base,
                )
            )
    return found


def _kept_apart(
    names: Names, ids: Sequence[str], entity: Array, reasons: Mapping[str, str]
) -> tuple[Apart, ...]:
    found = []
    for base, (begin, end) in zip(names.bases, pairwise(names.ends.tolist()), strict=False):
        entities = np.unique(entity[begin:end]) if base in reasons else ()
        if len(entities) > 1:
            # Entities are numbered in the order of their ids.
            found.append(
                Apart(name=base, entities=tuple([ids[number] for number in entities]), reason=reasons[base])
            )
    return tuple(found)
