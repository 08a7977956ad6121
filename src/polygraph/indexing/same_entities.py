"""Asking the chat model which names are one entity, where the rules of entity resolution leave it undecided.

Every answer is stored under a hash of what was shown, so that a pair is asked about once, and later builds follow the
answer without a model. Pairs without an answer stay apart.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from polygraph.arrays import Array, Table
from polygraph.errors import UnusableReply
from polygraph.extract.resolution.clusters.merger import yields_its_id
from polygraph.extract.resolution.constraints import parse_key
from polygraph.extract.resolution.records import RULES, Merge, PairDecision, ResolvedRows, SplitEntity
from polygraph.extract.resolution.suggestions.name_lists import LISTED
from polygraph.indexing.described_names import descriptions_by_name
from polygraph.indexing.layer_task import LayerTask
from polygraph.records import digest
from polygraph.store.protocol import Store
from polygraph.tasks.indexing.same import (
    MAX_DESCRIPTIONS,
    MAX_NAMES,
    MAX_PASSAGES,
    PAIRS_PER_CALL,
    STAGE,
    NameInContext,
    same_entities,
    who_is_asked,
)
from polygraph.text.normalize import normalize_name
from polygraph.text.prose import count_noun
from polygraph.text.surroundings import around, around_description

_OFTEN = {"equated by text": 0.95, LISTED: 0.9, "same name": 0.2}
_OFTEN_PRESUMED, _OFTEN_ELSE = 0.85, 0.45
"""Share of undecided pairs that are one, by rule, and of presumed and other pairs: about those that
`benchmarks/identity.py` prints for the opened cases."""
_NONE: Mapping[tuple[str, str], bool | None] = MappingProxyType({})
_RULE_OF = {str(rule): rule for rule in RULES}


def decide_undecided(
    task: LayerTask, documents: Sequence[str], features: Table, resolved: ResolvedRows
) -> ResolvedRows:
    """Merge entities that the chat model takes for one, as far as the manifest says that it is asked.

    Args:
        task: of the graph; without a chat model only stored answers count.
        documents: ids, ascending.
        features: of these documents, of which `written` and `type` are used.
        resolved: by the rules.

    Returns:
        The entities after all answers. Merges are applied in the order of the pairs, and none joins two entities that
        a rule or a user keeps apart.
    """
    who = who_is_asked(task.manifest.same)
    if who is None:
        return resolved
    stored = task.store.extractions.same_answers()
    answers: dict[str, bool | None] = {}
    decided: dict[tuple[str, str], bool | None] = {}
    while chosen := choose_pairs(resolved, who.max_pairs, decided):
        shown = _in_context(task, documents, features, resolved, chosen)
        keys = [digest(who.pairs, repr(pair)) for pair in shown]
        known = stored | _ask(
            task, [(key, pair) for key, pair in zip(keys, shown, strict=True) if key not in stored]
        )
        answers |= {key: known[key] for key in keys if key in known}
        decided |= {pair.entities: answers.get(key) for pair, key in zip(chosen, keys, strict=True)}
    with task.store.transaction():
        # Answers about texts that are gone are deleted with them.
        task.store.extractions.put_same_answers(answers)
    cannot_link = task.store.extractions.decisions("split")
    return apply_answers(resolved, decided, cannot_link)


def choose_pairs(
    resolved: ResolvedRows, max_pairs: int, decided: Mapping[tuple[str, str], bool | None] = _NONE
) -> list[PairDecision]:
    """Return the pairs that are asked about: those first of which most mentions would find their entity.

    That is the mentions of the smaller entity times how often pairs of such a rule are one; ties have the most mentions
    first, then the order of their ids. Entities that are presumed one, and that no answer parts, are compared with
    others once: the answer about one of them holds for all.

    Args:
        resolved: by the rules.
        max_pairs: that are asked about at most, with those that were.
        decided: the pairs that were asked about, with the answers.
    """
    undecided = {pair.entities: pair for pair in resolved.pairs if pair.decision in ("undecided", "presumed")}
    number = {entity: n for n, entity in enumerate(resolved.ids)}
    counts = np.bincount(resolved.entity, minlength=len(resolved.ids))
    sizes = {pair: sorted(int(counts[number[entity]]) for entity in pair) for pair in undecided}

    def order(pair: tuple[str, str]) -> tuple[float, int, tuple[str, str]]:
        decision = undecided[pair]
        often = _OFTEN_PRESUMED if decision.decision == "presumed" else _OFTEN.get(decision.rule, _OFTEN_ELSE)
        return -often * sizes[pair][0], -sum(sizes[pair]), pair

    presumed_one = _Groups(resolved, frozenset())
    for pair, decision in undecided.items():
        if decision.decision == "presumed" and decided.get(pair) is not False:
            presumed_one.merge(*pair)

    def groups(pair: tuple[str, str]) -> frozenset[str]:
        return frozenset(map(presumed_one.id_of, pair))

    compared = {groups(pair) for pair in decided}
    chosen = []
    for pair in sorted(undecided.keys() - decided.keys(), key=order):
        if undecided[pair].decision == "presumed" or not (len(groups(pair)) == 1 or groups(pair) in compared):
            compared.add(groups(pair))
            chosen.append(undecided[pair])
    return chosen[: max(0, max_pairs - len(decided))]


def apply_answers(
    resolved: ResolvedRows,
    answers: Mapping[tuple[str, str], bool | None],
    cannot_link: frozenset[tuple[str, str]] = frozenset(),
) -> ResolvedRows:
    """Merge the entities that are one by some answers.

    Args:
        resolved: by the rules.
        answers: True, False or None by pair of entity ids, in the order in which they are applied.
        cannot_link: decisions of the user.

    Returns:
        The entities; of two that merge, that with more mentions keeps its id, of presumed ones and of a name and its
        short form the longer name. A pair that is not the same is `apart` by the rule ``model``; a presumed pair is
        merged unless an answer parts it.
    """
    group = _Groups(resolved, cannot_link)
    for pair, same in answers.items():
        if same is False:
            group.keep_apart(*pair)
    asked = {pair.entities: pair for pair in resolved.pairs if pair.decision in ("undecided", "presumed")}
    presumed = [pair for pair, decision in asked.items() if decision.decision == "presumed"]
    added = [
        (absorbed, asked[pair])
        for pair in [*(pair for pair, same in answers.items() if same), *presumed]
        if (absorbed := group.merge(*pair, prefers=_better_named(asked[pair])))
    ]
    kept = {entity: group.id_of(entity) for entity in resolved.ids}
    kept = _without_descriptors(kept, [decision for _, decision in added])
    ids = sorted(set(kept.values()))
    number = {entity: n for n, entity in enumerate(ids)}
    new_number = np.array([number[kept[entity]] for entity in resolved.ids], dtype=resolved.entity.dtype)
    merges = [replace(merge, entity=kept.get(merge.entity, merge.entity)) for merge in resolved.merges]
    merges += [
        _merge(kept[absorbed], absorbed, pair, by_model=bool(answers.get(pair.entities)))
        for absorbed, pair in added
    ]
    return ResolvedRows(
        ids=ids,
        entity=new_number[resolved.entity] if ids else resolved.entity,
        merges=tuple(sorted(merges, key=lambda m: (m.entity, m.name, m.document))),
        splits=tuple(each for split in resolved.splits if (each := _split(split, kept)) is not None),
        pairs=_pairs(resolved.pairs, answers, kept),
    )


def _better_named(pair: PairDecision) -> str:
    """Return the entity that keeps its id as in `Merger`, or nothing if that with more mentions does.

    Of two that a rule presumes one, and of a name and its short form, it is that with the longer name: ``S. Orde``
    may be anybody beside ``Sunniva Orde``. A longer name that shares no word with the other describes the thing:
    ``ship of Captain Ritson`` beside ``Constancy``.
    """
    yields = [yields_its_id(name) for name in pair.names]
    n_characters = [len(name) for name in pair.names]
    if yields[0] != yields[1]:
        return pair.entities[yields[0]]
    first, second = (frozenset(name.split()) for name in pair.names)
    is_short_form = pair.rule == "short name" and not first.isdisjoint(second)
    prefers_longer = pair.decision == "presumed" or is_short_form
    if not prefers_longer or n_characters[0] == n_characters[1]:
        return ""
    return pair.entities[n_characters[0] < n_characters[1]]


def _without_descriptors(kept: Mapping[str, str], added: Sequence[PairDecision]) -> dict[str, str]:
    """Return the ids, those of namesakes that became one without what told them apart, if no other has that name."""
    used = set(kept.values())
    new = {}
    for pair in added:
        name = pair.names[0]
        old = kept[pair.entities[0]]
        if pair.rule == "same name" and name not in used and old not in new and old.startswith(name):
            new[old] = name
            used.add(name)
    return {entity: new.get(now, now) for entity, now in kept.items()}


class _Groups:
    """Entities that are merged one after the other, unless something keeps them apart."""

    def __init__(self, resolved: ResolvedRows, cannot_link: frozenset[tuple[str, str]]) -> None:
        self._parent = {entity: entity for entity in resolved.ids}
        counts = np.bincount(resolved.entity, minlength=len(resolved.ids))
        self._size = dict(zip(resolved.ids, counts.tolist(), strict=True))
        self._members = {entity: {entity} for entity in resolved.ids}
        self._apart: dict[str, set[str]] = {}
        for pair in resolved.pairs:
            if pair.decision == "apart":
                self.keep_apart(*pair.entities)
        by_name: dict[str, set[str]] = {}
        for merge in resolved.merges if cannot_link else ():
            by_name.setdefault(normalize_name(merge.name), set()).add(merge.entity)
        for a, b in sorted(cannot_link):
            # Without the mentions at hand, a decision about a name in one document counts for all documents.
            first, second = (by_name.get(name := parse_key(text).name, set()) | {name} for text in (a, b))
            for x in first & self._parent.keys():
                for y in (second & self._parent.keys()) - {x}:
                    self.keep_apart(x, y)

    def keep_apart(self, a: str, b: str) -> None:
        """Never merge the groups of two entities."""
        self._apart.setdefault(a, set()).add(b)
        self._apart.setdefault(b, set()).add(a)

    def id_of(self, entity: str) -> str:
        """Return the id of the entity that one has become."""
        while self._parent[entity] != entity:
            entity = self._parent[entity]
        return entity

    def merge(self, a: str, b: str, *, prefers: str = "") -> str:
        """Merge two entities; return the id that is absorbed, or nothing if they are one already or kept apart.

        The entity `prefers` keeps its id, else the one with more mentions.
        """
        first, second = sorted(
            (self.id_of(a), self.id_of(b)),
            key=lambda entity: (entity != prefers, -self._size[entity], entity),
        )
        others = self._members[second]
        if first == second or any(self._apart.get(e, set()) & others for e in self._members[first]):
            return ""
        self._parent[second] = first
        self._members[first] |= others
        self._size[first] += self._size[second]
        return second


def _merge(entity: str, absorbed: str, pair: PairDecision, *, by_model: bool) -> Merge:
    mine, other = pair.names if pair.entities[0] == absorbed else pair.names[::-1]
    evidence = f"the model takes both for one; the rule was: {pair.rule}" if by_model else pair.evidence
    return Merge(
        entity=entity,
        name=mine,
        document="",
        rule="model" if by_model else _RULE_OF[pair.rule],
        score=1.0 if by_model else pair.score,
        other=other,
        evidence=evidence,
    )


def _split(split: SplitEntity, kept: Mapping[str, str]) -> SplitEntity | None:
    entities = tuple(sorted({kept.get(entity, entity) for entity in split.entities}))
    return replace(split, entities=entities) if len(entities) > 1 else None


def _pairs(
    pairs: Sequence[PairDecision],
    answers: Mapping[tuple[str, str], bool | None],
    kept: Mapping[str, str],
) -> tuple[PairDecision, ...]:
    """Return the pairs that are still two entities, with those that the model keeps apart."""
    found = []
    for pair in pairs:
        entities = (kept.get(pair.entities[0], ""), kept.get(pair.entities[1], ""))
        if entities[0] == entities[1]:
            continue
        if pair.decision != "apart" and answers.get(pair.entities) is False:
            pair = replace(  # noqa: PLW2901
                pair, decision="apart", rule="model", score=1.0, evidence=f"the rule was: {pair.rule}"
            )
        elif pair.decision == "presumed":
            pair = replace(pair, decision="undecided")  # noqa: PLW2901
        turned = entities[0] > entities[1]
        found.append(
            replace(
                pair,
                entities=entities[::-1] if turned else entities,
                names=pair.names[::-1] if turned else pair.names,
            )
        )
    return tuple(sorted(found, key=lambda pair: (pair.entities, pair.names, pair.rule)))


def _ask(
    task: LayerTask, pairs: Sequence[tuple[str, tuple[NameInContext, NameInContext]]]
) -> dict[str, bool | None]:
    """Ask about pairs, several in one call; pairs without a usable answer are left out."""
    chat, calls = task.models.chat, task.models.calls
    if chat is None or not pairs:
        task.is_unasked |= bool(pairs)
        return {}
    groups = [pairs[at : at + PAIRS_PER_CALL] for at in range(0, len(pairs), PAIRS_PER_CALL)]
    n_failed: list[int] = []

    def ask(group: Sequence[tuple[str, tuple[NameInContext, NameInContext]]]) -> dict[str, bool | None]:
        try:
            found = same_entities([pair for _, pair in group], chat, calls)
        except UnusableReply:
            n_failed.append(len(group))
            return {}
        return dict(zip((key for key, _ in group), found, strict=True))

    found = calls.map(ask, groups, on_done=task.counter(len(groups), STAGE))
    if n_failed:
        task.notes.append(
            f"{count_noun(sum(n_failed), 'pair')} of names stayed apart, because the model's replies about them "
            "could not be used"
        )
    return {key: answer for answers in found for key, answer in answers.items()}


def _in_context(
    task: LayerTask,
    documents: Sequence[str],
    features: Table,
    resolved: ResolvedRows,
    pairs: Sequence[PairDecision],
) -> list[tuple[NameInContext, NameInContext]]:
    """Return what is shown of each pair: names as first written, descriptions and passages of the first documents."""
    number = {entity: n for n, entity in enumerate(resolved.ids)}
    wanted = sorted({number[entity] for pair in pairs for entity in pair.entities})
    rows = _first_rows(features, resolved.entity, wanted)
    places = {
        entity: [
            (documents[int(np.searchsorted(features.offsets, row, side="right")) - 1], row) for row in some
        ]
        for entity, some in rows.items()
    }
    written, types = features.strings["written"], features.strings["type"]
    names = {
        entity: [(document, written[features["written"][row]]) for document, row in some]
        for entity, some in places.items()
    }
    texts: dict[tuple[str, str], str] = {}
    windows: dict[tuple[str, str], str] = {}
    for document in sorted({document for some in places.values() for document, _ in some}):
        rows_of_document = task.store.extractions.descriptions(document)
        for name, text in descriptions_by_name(rows_of_document).items():
            texts[document, name] = text
        for window, name, _ in rows_of_document:
            windows.setdefault((document, name), window)
    passages = _passages(task.store, [place for some in names.values() for place in some], windows, texts)

    def shown(entity: int) -> NameInContext:
        found = names[entity]
        kinds = [int(features["type"][row]) for _, row in places[entity]]
        return NameInContext(
            name=found[0][1],
            type=next((types[kind] for kind in kinds if kind >= 0 and types[kind]), ""),
            document=found[0][0],
            descriptions=_distinct((texts[place] for place in found if place in texts), MAX_DESCRIPTIONS),
            other_names=_distinct((name for _, name in found[1:] if name != found[0][1]), MAX_NAMES),
            passages=_distinct(
                (passages[place].shown(found[0][0]) for place in found if place in passages), MAX_PASSAGES
            ),
        )

    return [(shown(number[pair.entities[0]]), shown(number[pair.entities[1]])) for pair in pairs]


@dataclass(frozen=True, slots=True)
class _Passage:
    document: str
    fields: str
    text: str

    def shown(self, first_document: str) -> str:
        """Return the text after the fields of its document, and after that where a name is shown as from another."""
        head = [self.document] * (self.document != first_document) + [self.fields] * bool(self.fields)
        return f"[{'; '.join(head)}] {self.text}" if head else self.text


def _passages(
    store: Store,
    places: Sequence[tuple[str, str]],
    windows: Mapping[tuple[str, str], str],
    descriptions: Mapping[tuple[str, str], str],
) -> dict[tuple[str, str], _Passage]:
    """Return what the window of a name in a document says around it, or where it says what the name is described by."""
    names_in: dict[str, list[str]] = {}
    for document, name in windows:
        names_in.setdefault(document, []).append(name)
    ids = sorted({windows[place] for place in places if place in windows})
    by_id = {window.id: window for window in store.extractions.windows(ids)}
    found = {}
    # The places of one window one after the other, which `around` prepares once.
    for place in sorted({place for place in places if place in windows}, key=lambda p: (windows[p], p)):
        window = by_id.get(windows[place])
        document, name = place
        longer = [
            other
            for other in names_in[document]
            if name in other and name != other and f" {name} " in f" {other} "
        ]
        if window is None:
            continue
        text = around(window.text, name, longer=longer)
        if text := text or around_description(window.text, name, descriptions.get(place, "")):
            found[place] = _Passage(document, window.fields, text)
    return found


def _distinct(texts: Iterable[str], most: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))[:most]


def _first_rows(features: Table, entity: Array, wanted: Sequence[int]) -> dict[int, list[int]]:
    """Return the first row of each entity in each of its first documents, twice as many as descriptions are shown.

    After these come the first rows of its further names there: what a text says of `Mr. Pell` is not said of `L. G.`.
    """
    firsts: dict[int, dict[int, int]] = {n: {} for n in wanted}
    further: dict[int, dict[int, int]] = {n: {} for n in wanted}
    for row in np.flatnonzero(np.isin(entity, wanted)).tolist():
        n, document = int(entity[row]), int(np.searchsorted(features.offsets, row, side="right")) - 1
        by_document = firsts[n]
        if len(by_document) < 2 * MAX_DESCRIPTIONS:
            by_document.setdefault(document, row)
        if document in by_document and len(further[n]) < MAX_NAMES:
            further[n].setdefault(int(features["written"][row]), row)
    return {n: list(dict.fromkeys((*firsts[n].values(), *further[n].values()))) for n in wanted}
