"""Records that the stages of the evaluation share: answers, and results of single questions."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any, Literal, Self, TypeAlias, TypeVar

from pydantic import TypeAdapter, ValidationError

from polygraph.records import Answer, Usage, digest
from polygraph.tasks.parsing.citations import CITATION
from polygraph.text.prose import advice

T = TypeVar("T")
Unit: TypeAlias = Literal["document", "chunk", "answer", "fact"]
"""A kind of gold."""

INSTANCE_MARK = "#"
"""Separates the name of a method from the number of an instance of it: ``hybrid#2``."""
TUNED_MARK = "+tuned"
"""Ends the name of a method whose answers a tuned reader wrote: ``graft:paper+tuned``."""
_CITATION = re.compile(rf"(?<!\s)\s*+{CITATION}")
_NUMBER = re.compile(r"\d+")


def record_reader(kind: type[T]) -> Callable[[object], T]:
    """Return a function that reads lines of a JSON Lines file, parsed, as records; it ignores unknown fields.

    It raises a ValueError that names the first field that is missing or of the wrong kind.

    Args:
        kind: a dataclass.
    """
    adapter = TypeAdapter(kind)

    def read(line: object) -> T:
        try:
            return adapter.validate_python(line)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise ValueError(f"{place}: {advice(first)}" if place else advice(first)) from error

    return read


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeWith:
    """Everything besides its question that an answer depends on."""

    chat: str
    """Name of the model that wrote the answer; empty: sentences of the documents, without a model."""
    embedder: str
    name_embedder: str
    reranker: str
    """Empty without one."""
    temperature: float
    """Temperature of the answerer, where a method does not set its own."""
    settings: str
    """Digest of the parameters and the code of the method, and of all prompts."""
    max_tokens: int | None
    """Budget of the context; None: the method's own."""
    version: str
    """Version of Polygraph."""
    layers: Mapping[str, str]
    """Version of each layer of the index that the method reads, and of those they rest on."""
    document: str = ""
    """Id of the document, if the index is that of one document."""
    form: str = ""
    """Form of the answers; empty: the method's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyAnswer:
    """One method's answer to one question: a line of ``answers.jsonl``."""

    question: str
    """Id of the question."""
    method: str
    """Name of the method; a second instance of it, answered independently, is ``METHOD#2``, and ``METHOD+tuned`` is
    answered by a tuned reader."""
    trial: int = 0
    """The trial that judges the answer; every trial judges the answers of trial 0, unless each has its own."""
    text: str
    refused: bool
    extractive: bool
    made_with: MadeWith
    citations: tuple[Mapping[str, Any], ...] = ()
    evidence: tuple[Mapping[str, Any], ...] = ()
    """``kind``, ``id``, ``document``, ``score``, ``why`` of each piece."""
    context: str = ""
    """The context the answer was written from; length alignment rewrites the answer from it."""
    usage: Usage | None = None
    """What the answer cost; None if unknown."""
    notes: tuple[str, ...] = ()
    date: str = ""
    """Day of the answer (ISO 8601, UTC); empty if unknown. Kept with the usage, since it differs between equal runs."""

    @property
    def key(self) -> tuple[str, str]:
        """Question and method, which identify an answer within a trial."""
        return (self.question, self.method)

    @property
    def uncited_text(self) -> str:
        """The text without the numbers of its evidence."""
        return without_citations(self.text, len(self.evidence))

    def as_json(self) -> dict[str, Any]:
        """Return a line of ``answers.jsonl``; usage and date are kept in a file of their own."""
        row = asdict(self)
        del row["usage"], row["date"]
        return row

    @classmethod
    def from_answer(
        cls, question: str, method: str, answer: Answer, *, trial: int, made_with: MadeWith, date: str
    ) -> Self:
        """Keep the parts of an answer that a study needs."""
        return cls(
            question=question,
            method=method,
            trial=trial,
            made_with=made_with,
            date=date,
            text=answer.text,
            refused=answer.refused,
            extractive=answer.extractive,
            citations=tuple(
                {"n": c.n, "document": c.document, "chunk": c.chunk, "start": c.start, "end": c.end}
                for c in answer.citations
            ),
            evidence=tuple(
                {"kind": e.kind, "id": e.id, "document": e.document, "score": e.score, "why": e.why}
                for e in answer.retrieval.evidence
            ),
            context=answer.retrieval.context,
            usage=answer.usage,
            notes=answer.notes,
        )


def method_of(name: str) -> str:
    """Return the method of an instance, without the mark of a tuned reader.

    >>> method_of("hybrid#2"), method_of("hybrid"), method_of("hybrid+tuned#2")
    ('hybrid', 'hybrid', 'hybrid')
    """
    return name.partition(INSTANCE_MARK)[0].removesuffix(TUNED_MARK)


def is_tuned(name: str) -> bool:
    """Return whether the name says that a tuned reader answers."""
    return name.partition(INSTANCE_MARK)[0].endswith(TUNED_MARK)


def instance_of(name: str) -> int:
    """Return the number of an instance of a method; the first has none in its name.

    >>> instance_of("hybrid#2"), instance_of("hybrid")
    (2, 1)
    """
    number = name.partition(INSTANCE_MARK)[2]
    return int(number) if number.isdecimal() else 1


def study_pairs(methods: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of methods that a study compares, in order: all methods, and each with its own instances.

    >>> study_pairs(["bm25", "hybrid", "hybrid#2"])
    [('bm25', 'hybrid'), ('hybrid', 'hybrid#2')]
    """
    return [
        (a, b)
        for a, b in combinations(methods, 2)
        if is_control(a, b) or instance_of(a) == instance_of(b) == 1
    ]


def is_control(a: str, b: str) -> bool:
    """Return whether two names are instances of one method with one reader (an A/A control)."""
    return a.partition(INSTANCE_MARK)[0] == b.partition(INSTANCE_MARK)[0]


def without_citations(text: str, n_items: int) -> str:
    """Remove citation numbers, which mean nothing to a judge or a metric that does not see the evidence.

    Args:
        text: an answer.
        n_items: pieces of evidence. Brackets with any other number than 1 to `n_items` belong to the text.

    >>> without_citations("She lit the lamp [1][3] in winter [1871]. Nobody paid [2, 4].", 4)
    'She lit the lamp in winter [1871]. Nobody paid.'
    """

    def kept(match: re.Match[str]) -> str:
        cites = all(1 <= int(n) <= n_items for n in _NUMBER.findall(match[0]))
        return "" if cites else match[0]

    return _CITATION.sub(kept, text).strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Digests of everything that the result of one question and method depends on."""

    question: str
    """Text and gold of the question."""
    method: str
    """Name and parameters of the method."""
    index: str
    """Versions of the layers that the method reads, which depend on documents, settings and embedders."""
    models: str
    """Chat model and reranker."""
    options: str
    """Filter, token budget, depth."""
    code: str
    """Code of Polygraph, and of the method if it is the user's own."""

    @property
    def key(self) -> str:
        """Digest of all parts."""
        return digest(*asdict(self).values())


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionResult:
    """Retrieval of one method for one question: a line of the results file."""

    question: str
    """Id of the question."""
    method: str
    rests_on: Provenance
    ranks: Mapping[Unit, tuple[int | None, ...]] = field(default_factory=dict)
    """Rank of each gold item, counted from 1, by kind; None if not found. A kind without gold is missing."""
    ranking: tuple[str, ...] = ()
    """The first chunk ids, for inspection."""
    n_ranked: int = 0
    """Length of the whole ranking."""
    n_evidence: int = 0
    """Pieces of evidence in the context."""
    context_tokens: int = 0
    ms: float = 0.0
    """Milliseconds of retrieval, including the embedding of the question."""
    cpu_ms: float | None = None
    """The same in processor time over all cores; None if other questions ran at the same time."""
    usage: Usage = field(default_factory=Usage)
    empty_because: str = ""
    error: str = ""
    """Why the question could not be measured."""
