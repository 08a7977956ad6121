"""The three kinds of model as protocols, and their requests and replies."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from polygraph.text.tokens import count_tokens

Vectors: TypeAlias = NDArray[np.float32]
TextKind: TypeAlias = Literal["query", "document", "name"]
_MAX_EXPONENT = 700.0
"""A larger one overflows."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


def opening(system: str, user: str) -> tuple[Message, Message]:
    """Return the messages with which a conversation begins: the instructions, and what the user says."""
    return Message("system", system), Message("user", user)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """Everything that determines a reply; equal requests to one model are one call."""

    messages: tuple[Message, ...]
    max_output_tokens: int | None = None
    temperature: float = 0.0
    schema: Mapping[str, Any] | None = None
    """JSON schema that the reply must follow; models without structured output ignore it."""
    sample: int = 0
    """Number of the reply when the same request is repeated, as by a judge; from 0."""
    likelihood: bool = False
    """Whether the log-probabilities of the reply's tokens are wanted; models that have none leave them out."""
    time_limit_s: float | None = None
    """Seconds after which a `gguf:` model gives up with `TimeoutError`; no part of what determines the reply. Models at
    endpoints have limits of their own."""

    @property
    def n_tokens(self) -> int:
        """Tokens of all messages, by `text.tokens`."""
        return sum(count_tokens(message.content) for message in self.messages)


@dataclass(frozen=True, slots=True)
class Likelihood:
    """How probable a model found its own reply: sums over tokens, so that replies of one path can be added."""

    n_tokens: int
    """At least 1."""
    log_probability: float
    """Sum of the natural logarithms of the tokens' probabilities, at most 0."""
    probability: float
    """Sum of the tokens' probabilities, in ``[0, n_tokens]``."""

    @property
    def perplexity(self) -> float:
        """Exponential of the mean negative log-probability, at least 1.

        >>> Likelihood(2, -1.3862943611198906, 1.0).perplexity
        2.0
        """
        return math.exp(min(-self.log_probability / self.n_tokens, _MAX_EXPONENT))

    @property
    def confidence(self) -> float:
        """Mean probability of a token, in ``[0, 1]``."""
        return self.probability / self.n_tokens

    def __add__(self, other: "Likelihood") -> "Likelihood":
        return Likelihood(
            self.n_tokens + other.n_tokens,
            self.log_probability + other.log_probability,
            self.probability + other.probability,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """The reply of a language model."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    finish: Literal["stop", "length", "other"] = "stop"
    """`length`: truncated at the output limit."""
    implausible_usage: str = ""
    """Usage that the endpoint reported and that cannot be true; the tokens above were counted here instead."""
    likelihood: Likelihood | None = None
    """If it was wanted and the model gives it."""


@runtime_checkable
class ChatModel(Protocol):
    """A language model that replies to a conversation."""

    @property
    def name(self) -> str:
        """Identifies the model in caches, ledger and manifest."""

    def chat(self, request: ChatRequest, on_text: Callable[[str], None] | None = None) -> ChatReply:
        """Reply once, without retrying; with `on_text`, pass on pieces of the text as they arrive."""


@runtime_checkable
class Embedder(Protocol):
    """A model that turns texts into unit vectors."""

    @property
    def name(self) -> str:
        """Identifies the model: vectors of different names are not comparable."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    @property
    def max_tokens(self) -> int:
        """Longest text that is read whole, with special tokens; the model truncates longer ones."""

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return unit vectors, shape ``(len(texts), dimension)``, each independent of its neighbours."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text by the model's tokenizer, without special tokens."""


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """An embedder that adds up a fixed vector for each token and scales the sum to unit length.

    An index keeps the tokens instead of the vectors, see `store.token_rows`.
    """

    def token_ids(self, texts: Sequence[str]) -> Iterator[list[int]]:
        """Yield the tokens of each text, as rows of `token_vectors`."""

    def token_vectors(self) -> Vectors:
        """Return the vector of every token, shape ``(n_tokens, dimension)``; must not be changed."""


@runtime_checkable
class Reranker(Protocol):
    """A model that scores how well texts answer a question."""

    @property
    def name(self) -> str:
        """Identifies the model."""

    def score(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return one score per text, shape ``(len(texts),)``; higher is better, 0 is undecided."""


@runtime_checkable
class Releasable(Protocol):
    """A model that is loaded when it is first used and can be freed; its next use loads it again."""

    def release(self) -> None:
        """Free the memory of the model; calls of other threads are finished."""
