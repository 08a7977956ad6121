"""Models: what they must be able to do, and the one gate through which they are called."""

from dataclasses import dataclass

from polygraph.models.calls import Calls
from polygraph.models.protocols import (
    ChatModel,
    ChatReply,
    ChatRequest,
    Embedder,
    Message,
    Reranker,
    TextKind,
    Vectors,
)

__all__ = [
    "Calls",
    "ChatModel",
    "ChatReply",
    "ChatRequest",
    "Embedder",
    "Message",
    "Models",
    "Reranker",
    "TextKind",
    "Vectors",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The models in use and the one gate through which they are called."""

    chat: ChatModel | None
    """None: every task has its extractive form."""
    embedder: Embedder
    """For chunks, reports and questions."""
    name_embedder: Embedder
    """For texts of entities and relations, which are many and short: the static embedder offline."""
    reranker: Reranker | None
    calls: Calls
