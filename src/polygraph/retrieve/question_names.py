"""The entities that a question names, and the names that it has for them."""

import re
from collections.abc import Mapping

from polygraph.store.snapshot import Snapshot
from polygraph.text.normalize import normalize_name
from polygraph.text.words import STOP_WORDS

_NAME_WORDS = 6
_WORD = re.compile(r"\w[\w'’.&/-]*")
_POSSESSIVE = re.compile(r"['’]s$")


def entities_in_question(question: str, index: Snapshot) -> list[tuple[str, int]]:
    """Find the entities that a question names, as ``(name as written, row)``.

    Where names overlap, the longest counts. Results are in the order of the question, entities of one name by row.
    """
    words = list(_WORD.finditer(question))[:200]
    spans: dict[str, list[tuple[int, int]]] = {}
    for i in range(len(words)):
        for j in range(i, min(i + _NAME_WORDS, len(words))):
            text = question[words[i].start() : words[j].end()]
            # A name does not begin or end with a stop word.
            if (
                normalize_name(text)
                and words[i].group().casefold() not in STOP_WORDS
                and words[j].group().casefold() not in STOP_WORDS
            ):
                spans.setdefault(text, []).append((i, j))
    found = index.entities_named(list(spans))
    taken: set[int] = set()
    result: list[tuple[int, str, int]] = []
    occurrences = [(i, j, text) for text in found for i, j in spans[text]]
    for i, j, text in sorted(occurrences, key=lambda o: (o[0] - o[1], o[0])):
        if taken.isdisjoint(range(i, j + 1)):
            taken.update(range(i, j + 1))
            result += [(i, text, n) for n in found[text]]
    return [(text, n) for _, text, n in sorted(result)]


def other_names_in_question(question: str, index: Snapshot) -> dict[str, str]:
    """Return what a question calls the entities that the graph shows under another name, by id.

    Part of the name that is shown, and a name of several entities, are none. A filter hides all of them: it is not
    known which documents they come from.
    """
    if index.scope:
        return {}
    rows_of: dict[str, set[int]] = {}
    for text, row in entities_in_question(question, index):
        rows_of.setdefault(_POSSESSIVE.sub("", text), set()).add(row)
    named = {row: text for text, rows in reversed(rows_of.items()) if len(rows) == 1 for row in rows}
    ids, shown = index.ids_by_row(list(named)), index.names_by_row(list(named))
    return {
        ids[row]: text
        for row, text in sorted(named.items())
        if not {*normalize_name(text).split()} <= {*normalize_name(shown[row]).split()}
    }


def in_names_of_graph(question: str, called: Mapping[str, str], index: Snapshot) -> str:
    """Return a question to compare with rows of the graph, whose names for things it may not use.

    Behind each other name that it has for an entity, where it stands first, stands the name in the graph.

    Args:
        question: any text.
        called: from `other_names_in_question`.
        index: the snapshot that they come from.
    """
    if not called:
        return question
    names = index.entity_names(list(called))
    left = {text: names[id] for id, text in called.items()}
    longest_first = sorted(left, key=len, reverse=True)
    # Whole words, in one pass: a name may be a part of another word, or of a name of the graph.
    found = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
    return found.sub(
        lambda match: with_other_name(match[0], left.pop(match[0])) if match[0] in left else match[0],
        question,
    )


def with_other_name(name: str, other: str) -> str:
    """Return a name with another one in brackets, in the brackets that it may end with.

    >>> with_other_name("Ada Lind", "Participant 7"), with_other_name("Ada Lind (widow)", "Participant 7")
    ('Ada Lind (Participant 7)', 'Ada Lind (widow; Participant 7)')
    """
    return f"{name[:-1]}; {other})" if name.endswith(")") else f"{name} ({other})"
