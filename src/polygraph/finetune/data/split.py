"""Split by document: no document has a part in both training and held-out rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polygraph.errors import BadInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Documents and questions that are held out."""

    documents: frozenset[str]
    """Held-out documents."""
    questions: frozenset[str]
    """Held-out questions."""
    crossing: frozenset[str]
    """Questions that rest on documents of both parts; they are dropped."""


def split_documents(
    questions: Mapping[str, Sequence[str]], documents: Sequence[str], *, held_out: float, seed: int
) -> Split:
    """Choose documents to hold out, so that close to a share of the questions rests on them alone.

    Documents that a question joins go to the same part, unless together they would be more than the share to train on;
    then a question with many documents may have them in both parts. Documents of no question are shared out, since
    they are distractors; so are questions of no document.

    Args:
        questions: ids of the documents of each question, by id of the question.
        documents: ids of all documents.
        held_out: share of the questions in [0, 1).
        seed: of the choice.

    Raises:
        BadInput: if the questions cannot be split.
    """
    if not 0 <= held_out < 1:
        raise BadInput(f"--held-out {held_out:g} is not a share of the questions. Give 0 or more, below 1")
    if not held_out or not questions:
        return Split(documents=frozenset(), questions=frozenset(), crossing=frozenset())
    rng = np.random.default_rng([seed, 1])
    named = [name for name, places in questions.items() if places]
    groups = _join(named, questions, held_out, rng)
    wanted = max(1, round(held_out * len(named)))
    out = _choose(groups, wanted, rng) if named else set()
    if named and not out:
        raise BadInput(
            "all questions rest on the same documents, so that none can be held out. Index more documents, or train "
            "on all of them with: --held-out 0"
        )
    used = {place for name in named for place in questions[name]}
    unused = [d for d in documents if d not in used]
    out |= set(_sample(unused, held_out, rng))
    bare = [name for name, places in questions.items() if not places]
    inside = {name for name in named if out.issuperset(questions[name])}
    return Split(
        documents=frozenset(out),
        questions=frozenset(inside | set(_sample(bare, held_out, rng))),
        crossing=frozenset(n for n in named if n not in inside and not out.isdisjoint(questions[n])),
    )


def _join(
    named: Sequence[str], questions: Mapping[str, Sequence[str]], held_out: float, rng: np.random.Generator
) -> list[tuple[set[str], int]]:
    """Join documents by questions; return groups of documents with their number of questions.

    A question that would make a group larger than the share to train on joins nothing, those with most documents first.
    """
    order = rng.permutation(len(named)).tolist()
    order.sort(
        key=lambda i: len(set(questions[named[i]]))
    )  # stable: seeded among those with as many documents
    largest = max(1, int((1 - held_out) * len(named)))
    leader: dict[str, str] = {}
    size: dict[str, int] = {}

    def find(document: str) -> str:
        leader.setdefault(document, document)
        while leader[document] != document:
            leader[document] = leader[leader[document]]
            document = leader[document]
        return document

    for name in (named[i] for i in order):
        roots = sorted({find(document) for document in questions[name]})
        total = 1 + sum(size.get(root, 0) for root in roots)
        if len(roots) > 1 and total > largest:
            continue
        for root in roots[1:]:
            leader[root] = roots[0]
        size[roots[0]] = total
    members: dict[str, set[str]] = {}
    for document in sorted(leader):
        members.setdefault(find(document), set()).add(document)
    return [(members[root], size[root]) for root in sorted(members) if size.get(root)]


def _choose(groups: Sequence[tuple[set[str], int]], wanted: int, rng: np.random.Generator) -> set[str]:
    """Choose groups in seeded order that together have at most `wanted` questions; at least the smallest one."""
    if len(groups) < 2:
        return set()
    order = rng.permutation(len(groups)).tolist()
    chosen: set[str] = set()
    left = wanted
    for members, n in (groups[i] for i in order):
        if n <= left:
            chosen |= members
            left -= n
    if left == wanted:
        chosen |= min((groups[i] for i in order), key=lambda group: group[1])[0]
    return chosen


def _sample(items: Sequence[str], share: float, rng: np.random.Generator) -> list[str]:
    ordered = sorted(items)
    return [ordered[i] for i in sorted(rng.permutation(len(ordered))[: round(share * len(ordered))].tolist())]
