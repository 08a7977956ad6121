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
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from polygraph.extract.aliases import Alias, Local, aliases, is_full
from polygraph.extract.evidence import Evidence, Name, evidence, gender_of, take_apart
from polygraph.extract.spelling import (
    contradict,
    near_spelling,
    same_spelling,
    sharing_words,
    similarity,
    skeleton,
)
from polygraph.models.protocols import Vectors
from polygraph.names import normalise

Rule: TypeAlias = Literal["same name", "alias in document", "spelling", "embedding", "user"]

MIN_COSINE = 0.92
"""Least cosine of two names for the rule `embedding`; small models put all names above 0.5."""

_MAX_COMPANY = 40
"""Names of a window that are remembered as the company of each other."""
_MAX_NAMESAKES = 50
_PERSONAL = frozenset(["person", ""])


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """One entity row, as resolution sees it."""

    document: str
    window: str
    name: str
    """As written."""
    type: str = ""
    description: str = ""
    chunks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """One name that was taken for another name's entity."""

    entity: str
    """Id of the entity."""
    name: str
    """The name that was merged, as written."""
    document: str
    """Where; empty for everywhere."""
    rule: Rule
    score: float
    """In (0, 1]; 1 is certain."""
    other: str
    """The normalised name that it was merged with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """Entities of one name that were kept apart."""

    name: str
    """The normalised name that they share."""
    entities: tuple[str, ...]
    """Their ids, sorted."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """Which entity each name of each window is."""

    entity_of: Mapping[tuple[str, str], str]
    """``(window id, name as written) -> entity id``, for every mention, sorted."""
    merges: tuple[Merge, ...]
    """Sorted by entity, name, document."""
    kept_apart: tuple[Apart, ...]
    """Sorted by name."""


@dataclass(slots=True)
class _Item:
    """A mention with what was read off it."""

    mention: Mention
    name: Name
    base: str
    """Under which it meets others, after aliases."""
    rule: Rule = "same name"
    score: float = 1.0
    told: Evidence = field(default_factory=Evidence)


@dataclass(slots=True)
class _Cluster:
    """Mentions that are one entity."""

    base: str
    items: list[_Item] = field(default_factory=list)
    told: Evidence = field(default_factory=Evidence)
    documents: set[str] = field(default_factory=set)
    company: set[str] = field(default_factory=set)
    types: Counter[str] = field(default_factory=Counter)

    def take(self, item: _Item, company: frozenset[str]) -> None:
        self.items.append(item)
        self.told.add(item.told)
        self.documents.add(item.mention.document)
        self.company |= company
        self.types[item.mention.type] += 1

    def join(self, other: "_Cluster") -> None:
        self.items += other.items
        self.told.add(other.told)
        self.documents |= other.documents
        self.company |= other.company
        self.types += other.types

    def kind(self) -> str:
        return min(self.types, key=lambda t: (t == "", -self.types[t], t)) if self.types else ""


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
    decisions = _Decisions(apart, together)
    ordered = sorted(
        set(mentions), key=lambda m: (m.document, m.window, m.name, m.type, m.description, m.chunks)
    )
    items = [item for m in _distinct(ordered) if (item := _item(m)).name.key]
    _alias(items, decisions)
    company = _company(items)
    clusters, reasons = _cluster(items, company, decisions)
    clusters = _surnames(clusters, decisions)
    clusters = _variants(clusters, similar, decisions)
    ids = _identify(clusters)
    clusters, joined = _together(clusters, ids, decisions)
    if joined:
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


def _item(mention: Mention) -> _Item:
    name = take_apart(mention.name)
    if mention.type not in _PERSONAL and name.titles and mention.type not in ("organization", "group"):
        # ``Captain`` before the name of a ship or place is part of it.
        name = Name(name.key, name.key, tuple(name.key.split()), frozenset(), "", name.written_low)
    return _Item(mention, name, name.base)


# --- user decisions -------------------------------------------------------------------------------


class _Decisions:
    """What the user has decided, as pairs of sides; a side is a key and a document or nothing."""

    def __init__(self, apart: Iterable[tuple[str, str]], together: Iterable[tuple[str, str]]) -> None:
        self.apart = sorted({(_side(a), _side(b)) for a, b in apart})
        self.together = sorted(together)
        sides = {side for pair in self.apart for side in pair}
        self._keys: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for side in sorted(sides):
            self._keys[side[0]].append(side)

    def sides(self, items: Iterable[_Item]) -> set[tuple[str, str]]:
        """Sides of `apart` that some of the items match."""
        if not self._keys:
            return set()
        found = set()
        for item in items:
            for side in self._keys.get(item.name.key, ()):
                if side[1] in ("", item.mention.document):
                    found.add(side)
        return found

    def forbid(self, a: Iterable[_Item], b: Iterable[_Item]) -> bool:
        """Say whether two groups of mentions must not meet."""
        if not self._keys:
            return False
        left, right = self.sides(a), self.sides(b)
        return any((x in left and y in right) or (y in left and x in right) for x, y in self.apart)

    def forbid_alias(self, key: str, target: str, document: str) -> bool:
        """Say whether a name must not stand for another in a document."""
        if not self._keys:
            return False
        left = {s for s in self._keys.get(key, ()) if s[1] in ("", document)}
        right = {s for s in self._keys.get(target, ()) if s[1] in ("", document)}
        return any((x in left and y in right) or (y in left and x in right) for x, y in self.apart)


def _side(text: str) -> tuple[str, str]:
    name, _, document = text.partition(" @ ")
    return normalise(name), document


# --- rule 2: aliases ------------------------------------------------------------------------------


def _alias(items: list[_Item], decisions: _Decisions) -> None:
    """Move short names to the base of the longer name that they stand for in their document."""
    documents: dict[str, list[_Item]] = defaultdict(list)
    for item in items:
        documents[item.mention.document].append(item)
    for document, mine in documents.items():
        by_key: dict[str, list[_Item]] = defaultdict(list)
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
            if decisions.forbid_alias(key, alias.base, document):
                continue
            for item in by_key[key]:
                item.base, item.rule, item.score = alias.base, "alias in document", alias.score


def _company(items: list[_Item]) -> dict[str, frozenset[str]]:
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


# --- rules 1 and 3: same names, and namesakes -----------------------------------------------------


def _cluster(
    items: list[_Item], company: Mapping[str, frozenset[str]], decisions: _Decisions
) -> tuple[list[_Cluster], dict[str, str]]:
    groups: dict[str, list[_Item]] = defaultdict(list)
    for item in items:
        groups[item.base].append(item)
    clusters: list[_Cluster] = []
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
    base: str, group: list[_Item], company: Mapping[str, frozenset[str]], decisions: _Decisions
) -> tuple[list[_Cluster], str]:
    """Part the mentions of one name; they are one unless something says otherwise."""
    none: frozenset[str] = frozenset()
    if not decisions.apart and all(item.told.empty() for item in group):
        whole = _Cluster(base)
        for item in group:
            whole.take(item, company.get(item.mention.window, none))
        whole.company.discard(base)
        return [whole], ""
    told = [item for item in group if not item.told.empty()]
    clusters: list[_Cluster] = []
    reason = ""
    # What a document says of its bearer counts for the document as a whole, unless it contradicts itself.
    for item in told if told or decisions.apart else []:
        around = company.get(item.mention.window, none) - {base}
        fitting: list[_Cluster] = []
        for cluster in clusters:
            strangers = item.mention.document not in cluster.documents and not (around & cluster.company)
            why = item.told.conflict(cluster.told, strangers=strangers)
            if not why and decisions.forbid([item], cluster.items):
                why = "as the user decided"
            if why:
                reason = reason or why
            else:
                fitting.append(cluster)
        if not fitting and len(clusters) < _MAX_NAMESAKES:
            clusters.append(_Cluster(base))
            fitting = clusters[-1:]
        _best(fitting or clusters, item, around).take(item, around)
    ambiguous: _Cluster | None = None
    for item in group:
        if not item.told.empty():
            continue
        around = company.get(item.mention.window, none) - {base}
        fitting = [c for c in clusters if not decisions.forbid([item], c.items)]
        near = [c for c in fitting if item.mention.document in c.documents]
        if len(near) > 1 and len(item.name.words) == 1 and item.name.base == base:
            # ``Cratchit`` beside Mr. and Mrs. Cratchit may be either.
            ambiguous = ambiguous or _Cluster(base)
            ambiguous.take(item, none)
            continue
        if not fitting:
            if clusters:
                reason = reason or "as the user decided"
            clusters.append(_Cluster(base))
            fitting = clusters[-1:]
        _best(near or fitting, item, around).take(item, around)
    if ambiguous is not None:
        clusters.append(ambiguous)
    return clusters, reason


def _best(clusters: list[_Cluster], item: _Item, around: frozenset[str]) -> _Cluster:
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


def _surnames(clusters: list[_Cluster], decisions: _Decisions) -> list[_Cluster]:
    """Let a bare surname meet the only person of that surname in the whole corpus."""
    bearers: dict[str, list[_Cluster]] = defaultdict(list)
    for cluster in clusters:
        words = cluster.base.split()
        if len(words) > 1 and is_full(words) and cluster.kind() == "person" and cluster.told.kind != "ship":
            bearers[words[-1]].append(cluster)
    kept: list[_Cluster] = []
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
            or decisions.forbid(cluster.items, bearer.items)
        ):
            kept.append(cluster)
            continue
        for item in cluster.items:
            item.rule, item.score = "alias in document", 0.7
        bearer.join(cluster)
    return kept


def _gender(cluster: _Cluster) -> str:
    return next((g for item in cluster.items if (g := gender_of(item.name))), "")


# --- rule 4: spellings ----------------------------------------------------------------------------


def _variants(
    clusters: list[_Cluster], similar: Callable[[Sequence[str]], Vectors] | None, decisions: _Decisions
) -> list[_Cluster]:
    by_base: dict[str, list[_Cluster]] = defaultdict(list)
    for cluster in clusters:
        by_base[cluster.base].append(cluster)
    # Names with several bearers are left alone: there is no telling which of them a variant means.
    single = {base: found[0] for base, found in by_base.items() if len(found) == 1}
    parent = {base: base for base in single}

    def root(base: str) -> str:
        while parent[base] != base:
            parent[base] = parent[parent[base]]
            base = parent[base]
        return base

    def meet(a: str, b: str, rule: Rule, score: float) -> None:
        x, y = root(a), root(b)
        left, right = single[x], single[y]
        if x == y or not _compatible(left, right) or decisions.forbid(left.items, right.items):
            return
        keep, go = (left, right) if (-len(left.items), x) < (-len(right.items), y) else (right, left)
        for item in go.items:
            item.rule, item.score = rule, min(item.score, round(score, 4))
        parent[go.base] = keep.base
        keep.join(go)

    phrases = {
        base: all(item.name.written_low for item in c.items) and not base[0].isdigit()
        for base, c in single.items()
    }
    for a, b in same_spelling(phrases):
        if not contradict(a, b):
            meet(a, b, "spelling", 1.0 if skeleton(a) == skeleton(b) else 0.95)
    named = [
        base for base, low in phrases.items() if not low and single[base].kind() not in ("date", "quantity")
    ]
    for a, b in near_spelling(named):
        plural = a + "s" == b or b + "s" == a  # a family is not its member
        if not plural and not contradict(a, b) and single[root(a)].company & single[root(b)].company:
            meet(a, b, "spelling", similarity(a, b))
    if similar is not None:
        pairs = [p for p in sharing_words(single) if root(p[0]) != root(p[1]) and not contradict(*p)]
        names = sorted({name for pair in pairs for name in pair})
        if names:
            vectors, row = similar(names), {name: i for i, name in enumerate(names)}
            for a, b in pairs:
                cosine = float(vectors[row[a]] @ vectors[row[b]])
                if cosine >= MIN_COSINE:
                    meet(a, b, "embedding", min(1.0, cosine))
    return [c for c in clusters if c.base not in parent or parent[c.base] == c.base]


def _compatible(a: _Cluster, b: _Cluster) -> bool:
    """Whether types and evidence allow one entity."""
    left, right = a.kind(), b.kind()
    return (left == right or "" in (left, right)) and not a.told.conflict(b.told, strangers=False)


# --- rule 5 and the result ------------------------------------------------------------------------


def _together(clusters: list[_Cluster], ids: list[str], decisions: _Decisions) -> tuple[list[_Cluster], bool]:
    """Join what the user says is one."""
    changed = False
    for left, right in decisions.together:
        a = [c for c, i in zip(clusters, ids, strict=True) if i == left or _holds(c, _side(left))]
        b = [c for c, i in zip(clusters, ids, strict=True) if i == right or _holds(c, _side(right))]
        if not a or not b:
            continue
        first = a[0]
        for other in [*a[1:], *b]:
            if other is first or decisions.forbid(first.items, other.items):
                continue
            for item in other.items:
                item.rule, item.score = "user", 1.0
            first.join(other)
            at = next(i for i, c in enumerate(clusters) if c is other)
            del clusters[at], ids[at]
            changed = True
    return clusters, changed


def _holds(cluster: _Cluster, side: tuple[str, str]) -> bool:
    key, document = side
    return any(i.name.key == key and document in ("", i.mention.document) for i in cluster.items)


def _identify(clusters: list[_Cluster]) -> list[str]:
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


def _first(cluster: _Cluster) -> tuple[str, str, str]:
    return min((i.mention.document, i.mention.window, i.mention.name) for i in cluster.items)


def _result(
    ordered: list[Mention], clusters: list[_Cluster], ids: list[str], reasons: Mapping[str, str]
) -> Resolution:
    entity_of: dict[tuple[str, str], str] = {}
    merges: dict[tuple[str, str, str], Merge] = {}
    sharing: dict[str, set[str]] = defaultdict(set)
    for cluster, entity in zip(clusters, ids, strict=True):
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
