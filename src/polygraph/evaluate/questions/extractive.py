"""Questions generated without a model, from sentences of the documents, with gold answers and gold passages.

They measure retrieval offline on any corpus, since answer and gold passages are known by construction. They share words
with their passages, which favours lexical search: compare methods with each other, not with figures on other data sets.
A `two-hop` question paraphrases the bridge entity, so that the passage with the answer does not contain what the
question says about the bridge.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.questions.generate import GeneratedQuestions
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
"""Dates in parentheses after a name, as in encyclopedias."""
_MIN_CHARACTERS, _MAX_CHARACTERS = 25, 180
"""Characters of the sentence after its subject."""
_RELATIONS_PER_QUESTION = 300
"""Relations examined per requested question."""
_MAX_CHUNKS = 3
"""Chunks per relation that are searched for a sentence."""
_MAX_BRIDGE_RELATIONS = 40
"""Relations examined per bridge entity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _SubjectSentence:
    """A sentence that begins with a name: ``subject rest``."""

    subject: Entity
    rest: str
    """Without the full stop; contains `other` as `spelling`."""
    other: Entity
    spelling: str
    chunk: Chunk


def sentence_questions(
    index: Snapshot, *, n_single: int = 50, n_double: int = 50, seed: int = 0
) -> GeneratedQuestions:
    """Generate questions with one gold passage, and questions with two.

    `single`: "Tobias Wren refused to pay for the Skerry Light." becomes "Who refused to pay for the Skerry Light?".
    `two-hop`: together with "The Skerry Light was built in 1871." from another passage it becomes "A certain place was
    built in 1871. Who refused to pay for that place?". Each sentence is used once.

    Args:
        index: with a graph.
        n_single: questions with one passage.
        n_double: questions with two.
        seed: of the order in which relations are examined.
    """
    rows = np.random.default_rng(seed).permutation(index.store.count("relations")).tolist()
    single: list[Question] = []
    double: list[Question] = []
    used: set[str] = set()
    for n in rows[: _RELATIONS_PER_QUESTION * (n_single + n_double)]:
        if len(single) >= n_single and len(double) >= n_double:
            break
        for sentence in _sentences(index, index.relations([n]).get(n)):
            if sentence.rest in used:
                continue
            bridge = _bridge(index, sentence, used) if len(double) < n_double else None
            if bridge is not None:
                used |= {sentence.rest, bridge.rest}
                double.append(_double(sentence, bridge, len(double) + 1))
                break
            if len(single) < n_single:
                used.add(sentence.rest)
                single.append(_single(sentence, len(single) + 1))
                break
    notes = [
        f"{len(found)} of {wanted} {kind} questions: the documents have no more suitable sentences"
        for kind, found, wanted in (("single", single, n_single), ("two-hop", double, n_double))
        if len(found) < wanted
    ]
    return GeneratedQuestions(questions=(*single, *double), notes=tuple(notes))


def _single(s: _SubjectSentence, n: int) -> Question:
    text = f"{_ASKED.get(s.subject.type, 'Who or what')} {s.rest}?"
    return _question(f"single-{n:03d}", "single", text, s.subject, [s.chunk])


def _double(s: _SubjectSentence, bridge: _SubjectSentence, n: int) -> Question:
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


def _bridge(index: Snapshot, s: _SubjectSentence, used: set[str]) -> _SubjectSentence | None:
    """Find a sentence of another passage about the other entity of `s` that does not name the subject of `s`."""
    (row,) = index.entity_rows([s.other.id]).values()
    rows = [edge.n for edge in index.relations_at([row])[:_MAX_BRIDGE_RELATIONS]]
    for relation in index.relations(rows).values():
        for found in _sentences(index, relation):
            ours = {s.subject.name, *s.subject.aliases, s.other.name, *s.other.aliases}
            distinct = found.chunk.id != s.chunk.id and not any(name in found.rest for name in ours)
            if found.subject.id == s.other.id and distinct and found.rest not in used:
                return found
    return None


def _sentences(index: Snapshot, relation: Relation | None) -> Iterator[_SubjectSentence]:
    if relation is None:
        return
    rows = index.entity_rows([relation.source, relation.target])
    if len(rows) < 2:
        return
    ends = index.entities([rows[relation.source], rows[relation.target]])
    for chunk in index.chunks_by_id(relation.chunks[:_MAX_CHUNKS]):
        for start, end in sentence_spans(chunk.text):
            text = " ".join(chunk.text[start:end].split())
            for subject, other in (ends, ends[::-1]):
                if found := _split(text, subject, other, chunk):
                    yield found


def _split(text: str, subject: Entity, other: Entity, chunk: Chunk) -> _SubjectSentence | None:
    """Parse a sentence that begins with one name, continues in lower case, and contains the other name."""
    for name in sorted((subject.name, *subject.aliases), key=lambda n: (-len(n), n)):
        for head in (f"{name} ", f"The {name} ", f"the {name} "):
            if not text.startswith(head) or not _is_name(name):
                continue
            rest = _DATES.sub("", text.removeprefix(head)).rstrip(".;! ")
            if not rest[:1].islower() or _NO_VERB.match(rest):
                continue
            if (
                not _MIN_CHARACTERS <= len(rest) <= _MAX_CHARACTERS
                or '"' in rest
                or "“" in rest
                or "?" in rest
            ):
                continue
            for spelling in sorted((other.name, *other.aliases), key=lambda n: (-len(n), n)):
                if _is_name(spelling) and name not in rest and _named(spelling).search(rest):
                    return _SubjectSentence(
                        subject=subject, rest=rest, other=other, spelling=spelling, chunk=chunk
                    )
    return None


def _named(name: str) -> re.Pattern[str]:
    """Match a whole name with its article, but not the beginning of a longer name."""
    return re.compile(rf"(?:\b[Tt]he )?\b{re.escape(name)}\b(?!['’]?\w| [A-Z])")


def _is_name(name: str) -> bool:
    return len(name) > 2 and name[0].isupper() and not name.isupper()
