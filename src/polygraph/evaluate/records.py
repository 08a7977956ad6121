"""Records that the stages of the evaluation share: answers, and results of single questions."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any, Self

from polygraph.records import Answer, Json, Usage
from polygraph.tasks.parsing.citations import CITATION

USAGE_FIELDS = (
    "calls",
    "cached_calls",
    "prompt_tokens",
    "completion_tokens",
    "cached_tokens",
    "seconds",
    "cost",
)
"""Fields of `Usage` that a study keeps for each answer."""
INSTANCE_MARK = "#"
"""Separates the name of a method from the number of an instance of it: ``hybrid#2``."""
TUNED_MARK = "+tuned"
"""Ends the name of a method whose answers a tuned reader wrote: ``graft:paper+tuned``."""
_CITATION = re.compile(rf"(?<!\s)\s*+{CITATION}")
_NUMBER = re.compile(r"\d+")


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

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Self:
        """Read the record of a line of ``answers.jsonl``.

        Raises:
            KeyError, TypeError, ValueError: if the record is anything else.
        """
        budget = row["max_tokens"]
        return cls(
            chat=str(row["chat"]),
            embedder=str(row["embedder"]),
            name_embedder=str(row["name_embedder"]),
            reranker=str(row["reranker"]),
            temperature=float(row["temperature"]),
            settings=str(row["settings"]),
            max_tokens=None if budget is None else int(budget),
            version=str(row["version"]),
            layers={str(layer): str(version) for layer, version in dict(row["layers"]).items()},
            document=str(row["document"]),
            form=str(row["form"]),
        )


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
    citations: tuple[Mapping[str, Json], ...] = ()
    evidence: tuple[Mapping[str, Json], ...] = ()
    """``kind``, ``id``, ``document``, ``score``, ``why`` of each piece."""
    context: str = ""
    """The context the answer was written from; length alignment rewrites the answer from it."""
    usage: Mapping[str, Json] = field(default_factory=dict)
    """What the answer cost, by `USAGE_FIELDS`; ``cost`` is in US dollars or None."""
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
        usage = answer.usage
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
            usage={name: getattr(usage, name) for name in USAGE_FIELDS},
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
class GoldRanks:
    """Rank of each gold item in a ranking, counted from 1; None if not found. Empty without gold of that kind."""

    documents: tuple[int | None, ...] = ()
    """Ranks among documents, each placed by its first chunk."""
    chunks: tuple[int | None, ...] = ()
    answer: tuple[int | None, ...] = ()
    """One rank: that of the first chunk that contains an answer."""
    facts: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionResult:
    """Retrieval of one method for one question: a line of the results file."""

    question: str
    """Id of the question."""
    method: str
    key: str = ""
    """Hash of everything the result depends on; see `runs.provenance`."""
    rests_on: Mapping[str, str] = field(default_factory=dict)
    """The same dependencies one by one."""
    ranks: GoldRanks = field(default_factory=GoldRanks)
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

    def as_dict(self) -> dict[str, Any]:
        """Return a line of the results file."""
        return {
            "question": self.question,
            "method": self.method,
            "ranks": {
                "document": list(self.ranks.documents),
                "chunk": list(self.ranks.chunks),
                "answer": list(self.ranks.answer),
                "fact": list(self.ranks.facts),
            },
            "ranking": list(self.ranking),
            "ranked": self.n_ranked,
            "evidence": self.n_evidence,
            "context_tokens": self.context_tokens,
            "ms": self.ms,
            "cpu_ms": self.cpu_ms,
            "calls": self.usage.calls,
            "cached_calls": self.usage.cached_calls,
            "prompt_tokens": self.usage.prompt_tokens,
            "completion_tokens": self.usage.completion_tokens,
            "cost": self.usage.cost,
            "empty_because": self.empty_because,
            "error": self.error,
            "rests_on": dict(self.rests_on),
            "key": self.key,
        }

    @classmethod
    def from_dict(cls, line: Mapping[str, Any]) -> Self:
        """Read a line that `as_dict` wrote.

        Raises:
            KeyError, TypeError, ValueError: if the line is anything else.
        """
        ranks = {unit: tuple(_rank(r) for r in line["ranks"][unit]) for unit in line["ranks"]}
        return cls(
            question=str(line["question"]),
            method=str(line["method"]),
            key=str(line["key"]),
            rests_on={str(part): str(value) for part, value in dict(line["rests_on"]).items()},
            ranks=GoldRanks(
                documents=ranks["document"],
                chunks=ranks["chunk"],
                answer=ranks["answer"],
                facts=ranks["fact"],
            ),
            ranking=tuple(map(str, line["ranking"])),
            n_ranked=int(line["ranked"]),
            n_evidence=int(line["evidence"]),
            context_tokens=int(line["context_tokens"]),
            ms=float(line["ms"]),
            cpu_ms=None if line["cpu_ms"] is None else float(line["cpu_ms"]),
            usage=Usage(
                calls=int(line["calls"]),
                cached_calls=int(line["cached_calls"]),
                prompt_tokens=int(line["prompt_tokens"]),
                completion_tokens=int(line["completion_tokens"]),
                cost=None if line["cost"] is None else float(line["cost"]),
            ),
            empty_because=str(line["empty_because"]),
            error=str(line["error"]),
        )


def _rank(value: Any) -> int | None:
    return None if value is None else int(value)
