"""What the stages of making training rows exchange."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from polygraph.evaluate.questions.file import Question
from polygraph.models.protocols import Message
from polygraph.records import Chunk

Part: TypeAlias = Literal["train", "held_out"]
PARTS: tuple[Part, ...] = ("train", "held_out")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A sentence of a passage, word for word."""

    document: str
    chunk: str
    start: int
    end: int
    """Offsets in the text of the document."""
    text: str
    """``document.text[start:end]`` with each run of white space replaced by one space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingQuestion:
    """A question with its answer and the passages that hold it."""

    id: str
    kind: str
    """Kind of question, for the report."""
    question: str
    answers: tuple[str, ...] = ()
    """Correct answers; the first is the one that is learned. Empty for a question that the documents do not answer."""
    oracles: tuple[Chunk, ...] = ()
    """The passages that hold the answer, distinct; empty for a question that the documents do not answer."""
    quotes: tuple[Quote, ...] = ()
    """Sentences of the oracles that the answer rests on, at least one of each oracle."""
    excluded: frozenset[str] = frozenset()
    """Ids of further chunks that may not be distractors, since they may hold an answer too."""
    reasoning: str = ""
    """With quotes and the numbers of the oracles, from 1, as a model wrote it; empty if no model did."""

    @property
    def null(self) -> bool:
        """Whether the documents do not answer it."""
        return not self.oracles

    @property
    def documents(self) -> tuple[str, ...]:
        """Ids of the documents of the oracles, distinct."""
        return tuple(dict.fromkeys(chunk.document for chunk in self.oracles))


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedQuestion:
    """A question that did not become a row."""

    id: str
    question: str
    reason: str


class DropError(Exception):
    """Why a question gives no row."""


def dropped(question: Question | TrainingQuestion, reason: object) -> DroppedQuestion:
    """Record a question that gives no row."""
    return DroppedQuestion(id=question.id, question=question.question, reason=str(reason))


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSet:
    """Questions for rows, with those dropped and notes."""

    questions: tuple[TrainingQuestion, ...]
    dropped: tuple[DroppedQuestion, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A training row: a prompt with passages, and the completion to learn."""

    question: TrainingQuestion
    part: Part
    passages: tuple[Chunk, ...]
    """As numbered in the prompt, from 1."""
    has_oracle: bool
    """Whether the passages that hold the answer are among them."""
    refuses: bool
    """Whether the completion is a refusal."""
    messages: tuple[Message, ...]
    """System, user and assistant."""
    n_tokens: int
    """Tokens of the three messages, by `text.tokens`."""
    copy: int = 0
    """Number of the row among those of its question, from 0."""

    @property
    def completion(self) -> str:
        """The text that is learned."""
        return self.messages[-1].content


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingData:
    """Rows in the order in which they are written, with what was left out."""

    rows: Mapping[Part, tuple[Row, ...]]
    dropped: tuple[DroppedQuestion, ...]
    """Sorted by id."""
    held_out_documents: tuple[str, ...]
    """Ids, sorted; rows of the part `train` show nothing of these, and rows of `held_out` nothing else."""
    notes: tuple[str, ...] = ()
