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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from polygraph.extract.aliases import Alias, Local, aliases
from polygraph.extract.decisions import Decisions, join_together
from polygraph.extract.evidence import Name, take_apart
from polygraph.extract.namesakes import cluster_names, company_of_windows, join_surnames
from polygraph.extract.resolution import Apart, Cluster, Item, Mention, Merge, Resolution, Rule
from polygraph.extract.variants import join_variants
from polygraph.models.protocols import Vectors
from polygraph.names import normalise

__all__ = ["Apart", "Mention", "Merge", "Resolution", "Rule", "resolve"]

_PERSONAL = frozenset(["person", ""])


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
    decisions = Decisions(apart)
    ordered = sorted(mentions, key=lambda m: (m.document, m.window, m.name, m.type, m.description, m.chunks))
    items = [item for m in _distinct(ordered) if (item := _item(m, decisions)).name.key]
    _alias(items, decisions)
    company = company_of_windows(items)
    clusters, reasons = cluster_names(items, company, decisions)
    clusters = join_surnames(clusters, decisions)
    clusters = join_variants(clusters, similar, decisions)
    ids = _identify(clusters)
    if together:
        clusters = join_together(clusters, ids, together, decisions)
        ids = _identify(clusters)
    return _result(ordered, clusters, ids, reasons)


def _distinct(ordered: Iterable[Mention]) -> list[Mention]:
    """One mention per window and name: a name cannot mean two things where rows refer to it by name.

    The commonest type and all descriptions are kept.
    """
    rows: dict[tuple[str, str], list[Mention]] = defaultdict(list)
    for mention in ordered:
        rows[mention.window, mention.name].append(mention)
    found = []
    for same in rows.values():
        first = same[0]
        if len(same) > 1:
            types = Counter(m.type for m in same)
            kind = min(types, key=lambda t: (t == "", -types[t], t))
            first = replace(
                first, type=kind, description=" ".join(dict.fromkeys(m.description for m in same))
            )
        found.append(first)
    return found


def _item(mention: Mention, decisions: Decisions) -> Item:
    name = take_apart(mention.name)
    if mention.type not in _PERSONAL and name.titles and mention.type not in ("organization", "group"):
        # ``Captain`` before the name of a ship or place is part of it.
        name = Name(name.key, name.key, tuple(name.key.split()), frozenset(), "", name.written_low)
    return Item(mention, name, name.base, sides=decisions.sides(name.key, mention.document))


def _alias(items: list[Item], decisions: Decisions) -> None:
    """Move short names to the base of the longer name that they stand for in their document."""
    documents: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        documents[item.mention.document].append(item)
    for document, mine in documents.items():
        by_key: dict[str, list[Item]] = defaultdict(list)
        for item in mine:
            if item.mention.type not in ("date", "quantity"):
                by_key[item.name.key].append(item)
        names = [
            Local(
                name=group[0].name,
                written=group[0].mention.name,
                types=frozenset(i.mention.type for i in group),
                windows=frozenset(i.mention.window for i in group),
            )
            for group in by_key.values()
        ]
        sentences = {key: " ".join(i.mention.description for i in group[:3]) for key, group in by_key.items()}
        found: Mapping[str, Alias] = aliases(names, sentences)
        for key, alias in found.items():
            if decisions.forbid(decisions.sides(key, document), decisions.sides(alias.base, document)):
                continue
            for item in by_key[key]:
                item.base, item.rule, item.score = alias.base, "alias in document", alias.score


def _identify(clusters: list[Cluster]) -> list[str]:
    """Ids, one per cluster: the base, or the commonest titled name of who has only a surname."""
    wanted: list[str] = []
    for cluster in clusters:
        base = cluster.base
        if len(base.split()) == 1 and all(i.name.titles for i in cluster.items):
            keys = Counter(i.name.key for i in cluster.items)
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
        group.sort(
            key=lambda i: (
                words[i] != "" and often[words[i]] == 1,
                min(clusters[i].documents),
                _first(clusters[i]),
            )
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


def _first(cluster: Cluster) -> tuple[str, str, str]:
    return min((i.mention.document, i.mention.window, i.mention.name) for i in cluster.items)


def _result(
    ordered: list[Mention], clusters: list[Cluster], ids: list[str], reasons: Mapping[str, str]
) -> Resolution:
    entity_of: dict[tuple[str, str], str] = {}
    merges: dict[tuple[str, str, str], Merge] = {}
    sharing: dict[str, set[str]] = defaultdict(set)
    for cluster, entity in zip(clusters, ids, strict=True):
        name = cluster.items[0].mention.name
        if len(cluster.items) > 1:
            chief = Counter(i.mention.name for i in cluster.items)
            name = min(chief, key=lambda n: (normalise(n) != cluster.base, -chief[n], -len(n), n))
        for item in cluster.items:
            mention = item.mention
            entity_of[mention.window, mention.name] = entity
            if item.base in reasons:
                sharing[item.base].add(entity)
            if mention.name == name:
                continue
            document = mention.document if item.rule == "alias in document" else ""
            merges.setdefault(
                (entity, mention.name, document),
                Merge(
                    entity=entity,
                    name=mention.name,
                    document=document,
                    rule=item.rule,
                    score=item.score,
                    other=cluster.base if item.rule != "same name" else item.base,
                ),
            )
    for mention in ordered:
        # A name of punctuation only has no key; it is its own entity under what was written.
        entity_of.setdefault((mention.window, mention.name), mention.name.strip() or mention.name)
    return Resolution(
        entity_of=dict(sorted(entity_of.items())),
        merges=tuple(merges[key] for key in sorted(merges)),
        kept_apart=tuple(
            Apart(name=base, entities=tuple(sorted(found)), reason=reasons[base])
            for base, found in sorted(sharing.items())
            if len(found) > 1
        ),
    )
