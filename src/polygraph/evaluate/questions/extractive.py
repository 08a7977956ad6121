"""Questions generated without a model, from sentences of the documents, with gold answers and gold passages.

They measure retrieval offline on any corpus, since answer and gold passages are known by construction. They share words
with their passages, which favours lexical search: compare methods with each other, not with figures on other data sets.
A `two-hop` question paraphrases the bridge entity, so that the passage with the answer does not contain what the
question says about the bridge.

A question is posed in the language of its sentence. The wording needs a language in which the subject of a main clause
can be replaced by a question word without changing the rest: English and German. A `two-hop` question puts a noun into
the middle of a clause, where German inflects it, so these are posed in English only.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.questions.generate import GeneratedQuestions
from polygraph.records import Chunk, Entity, Relation
from polygraph.store.snapshot import Snapshot
from polygraph.text.language import detect_language
from polygraph.text.sentences import sentence_spans


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wording:
    """Words of questions in one language."""

    asked: Mapping[str, str]
    """Question word by type of the subject."""
    asked_otherwise: str
    nouns: Mapping[str, str]
    """Noun for the bridge of a `two-hop` question by its type; empty if such questions are not posed."""
    articles: tuple[str, ...]
    """Articles that a subject may have; the empty one first."""
    not_verbs: re.Pattern[str]
    """Words after the subject that show that it is not followed by its verb."""


_WORDINGS = {
    "en": _Wording(
        asked={
            "person": "Who",
            "place": "Which place",
            "location": "Which place",
            "organization": "Which organization",
        },
        asked_otherwise="Who or what",
        nouns={"person": "person", "place": "place", "location": "place", "organization": "organization"},
        articles=("", "The ", "the "),
        not_verbs=re.compile(r"(?:and|or|who|whom|whose|which|that|of|in|at|on|with|for|to)\b"),
    ),
    "de": _Wording(
        asked={
            "person": "Wer",
            "place": "Welcher Ort",
            "location": "Welcher Ort",
            "organization": "Welche Organisation",
        },
        asked_otherwise="Wer oder was",
        nouns={},
        articles=("", "Der ", "Die ", "Das "),
        not_verbs=re.compile(
            r"(?:und|oder|sowie|der|die|das|den|dem|des|dessen|deren|von|vom|in|im|am|an|auf|aus|bei|mit|für|zu|zum|zur)\b"
        ),
    ),
}
"""By language."""
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
    language: str


@dataclass(slots=True)
class _Skipped:
    """Suitable sentences that no question could be posed about."""

    by_language: dict[str, str] = field(default_factory=dict)
    """Language by sentence, each sentence once; empty for an unknown one."""

    def note(self) -> str:
        """Return how many there were, by language; empty if none."""
        counts = Counter(self.by_language.values())
        listed = ", ".join(
            f"{n} in {code!r}" if code else f"{n} in an unknown language"
            for code, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        )
        if not listed:
            return ""
        return (
            f"{counts.total()} suitable sentences were skipped ({listed}): without a model, questions are posed only "
            f"about sentences in {' and '.join(map(repr, _WORDINGS))}"
        )


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
    skipped = _Skipped()
    single: list[Question] = []
    double: list[Question] = []
    used: set[str] = set()
    for n in rows[: _RELATIONS_PER_QUESTION * (n_single + n_double)]:
        if len(single) >= n_single and len(double) >= n_double:
            break
        for sentence in _sentences(index, index.relations([n]).get(n), skipped):
            if sentence.rest in used:
                continue
            bridge = _bridge(index, sentence, used, skipped) if len(double) < n_double else None
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
    if note := skipped.note():
        notes.append(note)
    return GeneratedQuestions(questions=(*single, *double), notes=tuple(notes))


def _single(s: _SubjectSentence, n: int) -> Question:
    text = f"{_question_word(s)} {s.rest}?"
    return _question(f"single-{n:03d}", "single", text, s.subject, [s.chunk])


def _double(s: _SubjectSentence, bridge: _SubjectSentence, n: int) -> Question:
    noun = _WORDINGS[s.language].nouns.get(s.other.type, "thing")
    rest = _named(s.spelling).sub(f"that {noun}", s.rest)
    text = f"A certain {noun} {bridge.rest}. {_question_word(s)} {rest}?"
    return _question(f"two-hop-{n:03d}", "two-hop", text, s.subject, [s.chunk, bridge.chunk])


def _question_word(s: _SubjectSentence) -> str:
    wording = _WORDINGS[s.language]
    return wording.asked.get(s.subject.type, wording.asked_otherwise)


def _question(id: str, kind: str, text: str, answer: Entity, chunks: Sequence[Chunk]) -> Question:
    return Question(
        id=id,
        question=text,
        type=kind,
        answers=(answer.name, *answer.aliases),
        evidence=tuple(dict.fromkeys(c.document for c in chunks)),
        chunks=tuple(c.id for c in chunks),
    )


def _bridge(
    index: Snapshot, s: _SubjectSentence, used: set[str], skipped: _Skipped
) -> _SubjectSentence | None:
    """Find a sentence of another passage about the other entity of `s` that does not name the subject of `s`.

    In the same language; None if no `two-hop` questions are posed in it.
    """
    if not _WORDINGS[s.language].nouns:
        return None
    (row,) = index.entity_rows([s.other.id]).values()
    rows = [edge.n for edge in index.relations_at([row])[:_MAX_BRIDGE_RELATIONS]]
    for relation in index.relations(rows).values():
        for found in _sentences(index, relation, skipped):
            ours = {s.subject.name, *s.subject.aliases, s.other.name, *s.other.aliases}
            distinct = found.chunk.id != s.chunk.id and not any(name in found.rest for name in ours)
            same = found.subject.id == s.other.id and found.language == s.language
            if same and distinct and found.rest not in used:
                return found
    return None


def _sentences(index: Snapshot, relation: Relation | None, skipped: _Skipped) -> Iterator[_SubjectSentence]:
    """Yield the sentences that state a relation and can be turned into a question; record those skipped."""
    if relation is None:
        return
    rows = index.entity_rows([relation.source, relation.target])
    if len(rows) < 2:
        return
    ends = index.entities([rows[relation.source], rows[relation.target]])
    for chunk in index.chunks_by_id(relation.chunks[:_MAX_CHUNKS]):
        for start, end in sentence_spans(chunk.text):
            text = " ".join(chunk.text[start:end].split())
            if not any(name in text for name in (ends[0].name, *ends[0].aliases)):
                continue
            # A sentence may be too short to tell.
            language = detect_language(text) or detect_language(chunk.text)
            for subject, other in (ends, ends[::-1]):
                found = _split(text, subject, other, chunk, language)
                if found is not None and language in _WORDINGS:
                    yield found
                elif found is not None:
                    skipped.by_language[text] = language


def _split(text: str, subject: Entity, other: Entity, chunk: Chunk, language: str) -> _SubjectSentence | None:
    """Parse a sentence that begins with one name, continues in lower case, and contains the other name."""
    wording = _WORDINGS.get(language, _WORDINGS["en"])
    for name in sorted((subject.name, *subject.aliases), key=lambda n: (-len(n), n)):
        for article in wording.articles:
            head = f"{article}{name} "
            if not text.startswith(head) or not _is_name(name):
                continue
            rest = _DATES.sub("", text.removeprefix(head)).rstrip(".;! ")
            if not rest[:1].islower() or wording.not_verbs.match(rest):
                continue
            if not _MIN_CHARACTERS <= len(rest) <= _MAX_CHARACTERS or any(c in rest for c in '"“”„«»?'):
                continue
            for spelling in sorted((other.name, *other.aliases), key=lambda n: (-len(n), n)):
                if _is_name(spelling) and name not in rest and _named(spelling).search(rest):
                    return _SubjectSentence(
                        subject=subject,
                        rest=rest,
                        other=other,
                        spelling=spelling,
                        chunk=chunk,
                        language=language,
                    )
    return None


def _named(name: str) -> re.Pattern[str]:
    """Match a whole name with its article, but not the beginning of a longer name."""
    return re.compile(rf"(?:\b[Tt]he )?\b{re.escape(name)}\b(?!['’]?\w| [A-Z])")


def _is_name(name: str) -> bool:
    return len(name) > 2 and name[0].isupper() and not name.isupper()
