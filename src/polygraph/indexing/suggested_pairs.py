"""Asking the chat model which names of a list may be one entity, so that `same` asks about them.

Lists are made of the entities after the rules, names that have something in common together. What a model suggests is
stored under a hash of the list, so that each list is asked about once, and later builds follow it without a model.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from polygraph.errors import UnusableReply
from polygraph.extract.resolution.suggestions.name_blocks import lists_of
from polygraph.extract.resolution.suggestions.name_lists import ListedName
from polygraph.indexing.described_names import descriptions_by_name
from polygraph.indexing.layer_task import LayerTask
from polygraph.records import digest
from polygraph.store.protocol import Store
from polygraph.tasks.indexing.same import who_is_asked
from polygraph.tasks.indexing.suggest_same import NAMES_PER_CALL, STAGE, NameInList, shown_line, suggest_same
from polygraph.text.prose import count_noun

NAMES_PER_PAIR = 6
"""Names in lists for each pair that may be asked about: so lists take about as many calls as pairs at most."""
Groups = tuple[tuple[str, ...], ...]
"""Names of a list that a model takes for one thing, by the keys of their lines."""


def suggest_from_lists(task: LayerTask, names: Sequence[ListedName]) -> set[tuple[int, int]]:
    """Return the pairs of names that may be one entity, as far as the manifest says that a model is asked.

    Args:
        task: of the graph; without a chat model only what is stored counts.
        names: the entities after the rules.

    Returns:
        Pairs of positions in `names`. With a model they depend on the present lists only, so that a build from nothing
        has the same. Without one, what lists of an earlier state suggested stays, as long as both names are shown as
        they were.
    """
    who = who_is_asked(task.manifest.same)
    if who is None:
        return set()
    chosen = listed_at_most(names, who.max_pairs)
    lines = _lines(task.store, [names[n] for n in chosen])
    keys = [digest(who.lists, shown_line(line)) for line in lines]
    lists = {
        digest(*(keys[n] for n in each)): [lines[n] for n in each]
        for each in lists_of([names[n] for n in chosen], NAMES_PER_CALL)
    }
    stored = task.store.extractions.name_lists()
    found = {key: stored[key] for key in lists if key in stored}
    found |= _ask(task, {key: some for key, some in lists.items() if key not in stored}, who.lists)
    if task.models.chat is None:
        present = set(keys)
        found |= {
            key: groups
            for key, groups in stored.items()
            if any(len(present.intersection(group)) > 1 for group in groups)
        }
    with task.store.transaction():
        # What is said of texts that are gone is deleted with them.
        task.store.extractions.put_name_lists(found)
    position = dict(zip(reversed(keys), reversed(chosen), strict=True))
    return pairs_of(
        sorted({position[key] for key in group if key in position})
        for groups in found.values()
        for group in groups
    )


def listed_at_most(names: Sequence[ListedName], max_pairs: int) -> list[int]:
    """Return the positions of the names that stand in lists, ascending: those with most mentions, first ones first."""
    order = sorted(range(len(names)), key=lambda n: (-names[n].size, n))
    return sorted(order[: NAMES_PER_PAIR * max_pairs])


def line_of(name: ListedName, descriptions: Mapping[tuple[str, str], str]) -> NameInList:
    """Return the line of a list that shows an entity.

    Args:
        name: the entity.
        descriptions: by document and name as written; names without one are missing.
    """
    return NameInList(
        name=name.names[0],
        type=name.type,
        document=name.places[0][0],
        description=next((descriptions[place] for place in name.places if place in descriptions), ""),
        other_names=name.names[1:],
    )


def pairs_of(groups: Iterable[Sequence[int]]) -> set[tuple[int, int]]:
    """Return the pairs of groups.

    >>> sorted(pairs_of([(0, 2), (2, 5, 7)]))
    [(0, 2), (2, 5), (2, 7), (5, 7)]
    """
    return {pair for group in groups for pair in combinations(sorted(group), 2)}


def _lines(store: Store, names: Sequence[ListedName]) -> list[NameInList]:
    """Return the lines of names, with what the rows of their first documents say."""
    descriptions = {
        (document, name): text
        for document in sorted({document for name in names for document, _ in name.places})
        for name, text in descriptions_by_name(store.extractions.descriptions(document)).items()
    }
    return [line_of(name, descriptions) for name in names]


def _ask(task: LayerTask, lists: Mapping[str, Sequence[NameInList]], who: str) -> dict[str, Groups]:
    """Ask about lists, each in one call; those without a usable answer are left out."""
    chat, calls = task.models.chat, task.models.calls
    if chat is None or not lists:
        task.is_unasked |= bool(lists)
        return {}
    failed: list[str] = []

    def ask(key: str) -> Groups:
        lines = lists[key]
        try:
            groups = suggest_same(lines, chat, calls)
        except UnusableReply:
            failed.append(key)
            return ()
        return tuple(tuple(digest(who, shown_line(lines[n])) for n in group) for group in groups)

    found = dict(
        zip(lists, calls.map(ask, list(lists), on_done=task.counter(len(lists), STAGE)), strict=True)
    )
    if failed:
        task.notes.append(
            f"{count_noun(len(failed), 'list')} of names suggested no pairs to ask about, because the model's replies "
            "could not be used"
        )
    return {key: groups for key, groups in found.items() if key not in failed}
