"""Questions without a model: sentences of the documents whose subject is asked for, with gold answers and passages.

Their use is to measure retrieval offline on any corpus: answer and gold passages are known by construction. They
share words with their passages, so they flatter searches by words; compare methods with each other, not with the
figures of other data sets. `two-hop` questions paraphrase the bridge: the passage that holds the answer does not hold
what the question says of the bridge.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.questions.generate import Posed
from polygraph.records import Chunk, Entity, Relation
from polygraph.store.snapshot import Snapshot
from polygraph.text.sentences import sentence_spans

_ASKED = {
    "person": "Who",
    "place": "Which place",
    "location": "Which place",
    "organization": "Which organization",
}
_NOUN = {"person": "person", "place": "place", "location": "place", "organization": "organization"}
_NO_VERB = re.compile(r"(?:and|or|who|whom|whose|which|that|of|in|at|on|with|for|to)\b")
_DATES = re.compile(r"^\([^()]{1,160}\) ")
"""What an encyclopedia puts behind a name."""
_SHORTEST, _LONGEST = 25, 180
"""Characters of what follows the subject."""
_TRIES = 300
"""Relations looked at for each question wanted."""
_CHUNKS = 3
"""Passages of a relation that are searched for a sentence."""
_SECOND = 40
"""Relations of a bridge that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Statement:
    """A sentence that begins with a name: ``subject rest``."""

    subject: Entity
    rest: str
    """Without the full stop; names `other` as `spelling`."""
    other: Entity
    spelling: str
    chunk: Chunk


def sentence_questions(index: Snapshot, *, n_single: int = 50, n_double: int = 50, seed: int = 0) -> Posed:
    """Make questions with one gold passage, and questions with two.

    `single`: "Tobias Wren refused to pay for the Skerry Light." becomes "Who refused to pay for the Skerry Light?".
    `two-hop`: with "The Skerry Light was built in 1871." of another passage it becomes "A certain place was built in
    1871. Who refused to pay for that place?". Each sentence is used once.

    Args:
        index: with a graph.
        n_single: questions with one passage.
        n_double: questions with two.
        seed: of the order in which relations are drawn.
    """
    rows = np.random.default_rng(seed).permutation(index.store.count("relations")).tolist()
    single: list[Question] = []
    double: list[Question] = []
    used: set[str] = set()
    for n in rows[: _TRIES * (n_single + n_double)]:
        if len(single) >= n_single and len(double) >= n_double:
            break
        for statement in _statements(index, index.relations([n]).get(n)):
            if statement.rest in used:
                continue
            bridge = _bridge(index, statement, used) if len(double) < n_double else None
            if bridge is not None:
                used |= {statement.rest, bridge.rest}
                double.append(_double(statement, bridge, len(double) + 1))
                break
            if len(single) < n_single:
                used.add(statement.rest)
                single.append(_single(statement, len(single) + 1))
                break
    notes = [
        f"{len(found)} of {wanted} {kind} questions: the documents have no more sentences that make one"
        for kind, found, wanted in (("single", single, n_single), ("two-hop", double, n_double))
        if len(found) < wanted
    ]
    return Posed(questions=(*single, *double), notes=tuple(notes))


def _single(s: _Statement, n: int) -> Question:
    text = f"{_ASKED.get(s.subject.type, 'Who or what')} {s.rest}?"
    return _question(f"single-{n:03d}", "single", text, s.subject, [s.chunk])


def _double(s: _Statement, bridge: _Statement, n: int) -> Question:
    noun = _NOUN.get(s.other.type, "thing")
    asked = _ASKED.get(s.subject.type, "Who or what")
    rest = _named(s.spelling).sub(f"that {noun}", s.rest)
    text = f"A certain {noun} {bridge.rest}. {asked} {rest}?"
    return _question(f"two-hop-{n:03d}", "two-hop", text, s.subject, [s.chunk, bridge.chunk])


def _question(id: str, kind: str, text: str, answer: Entity, chunks: Sequence[Chunk]) -> Question:
    return Question(
        id=id,
        question=text,
        type=kind,
        answers=(answer.name, *answer.aliases),
        evidence=tuple(dict.fromkeys(c.document for c in chunks)),
        chunks=tuple(c.id for c in chunks),
    )


def _bridge(index: Snapshot, s: _Statement, used: set[str]) -> _Statement | None:
    """A sentence of another passage about what the statement names, which does not name the statement's subject."""
    (row,) = index.entity_numbers([s.other.id]).values()
    rows = [edge.n for edge in index.relations_at([row])[:_SECOND]]
    for relation in index.relations(rows).values():
        for found in _statements(index, relation):
            ours = {s.subject.name, *s.subject.aliases, s.other.name, *s.other.aliases}
            apart = found.chunk.id != s.chunk.id and not any(name in found.rest for name in ours)
            if found.subject.id == s.other.id and apart and found.rest not in used:
                return found
    return None


def _statements(index: Snapshot, relation: Relation | None) -> Iterator[_Statement]:
    if relation is None:
        return
    rows = index.entity_numbers([relation.source, relation.target])
    if len(rows) < 2:
        return
    ends = index.entities([rows[relation.source], rows[relation.target]])
    for chunk in index.chunks_by_id(relation.chunks[:_CHUNKS]):
        for start, end in sentence_spans(chunk.text):
            text = " ".join(chunk.text[start:end].split())
            for subject, other in (ends, ends[::-1]):
                if found := _split(text, subject, other, chunk):
                    yield found


def _split(text: str, subject: Entity, other: Entity, chunk: Chunk) -> _Statement | None:
    """Take a sentence apart if it begins with one name, goes on in lower case, and names the other."""
    for name in sorted((subject.name, *subject.aliases), key=lambda n: (-len(n), n)):
        for head in (f"{name} ", f"The {name} ", f"the {name} "):
            if not text.startswith(head) or not _is_name(name):
                continue
            rest = _DATES.sub("", text.removeprefix(head)).rstrip(".;! ")
            if not rest[:1].islower() or _NO_VERB.match(rest):
                continue
            if not _SHORTEST <= len(rest) <= _LONGEST or '"' in rest or "“" in rest or "?" in rest:
                continue
            for spelling in sorted((other.name, *other.aliases), key=lambda n: (-len(n), n)):
                if _is_name(spelling) and name not in rest and _named(spelling).search(rest):
                    return _Statement(subject=subject, rest=rest, other=other, spelling=spelling, chunk=chunk)
    return None


def _named(name: str) -> re.Pattern[str]:
    """A name as a whole, with its article, and not the beginning of a longer one."""
    return re.compile(rf"(?:\b[Tt]he )?\b{re.escape(name)}\b(?!['’]?\w| [A-Z])")


def _is_name(name: str) -> bool:
    return len(name) > 2 and name[0].isupper() and not name.isupper()
