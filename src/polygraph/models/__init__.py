"""Models: their protocols, and the calls to them."""

from dataclasses import dataclass

from polygraph.models.calls import Calls
from polygraph.models.protocols import (
    ChatModel,
    ChatReply,
    ChatRequest,
    Embedder,
    Message,
    Releasable,
    Reranker,
    TextKind,
    Vectors,
)
from polygraph.models.thread_pool import Background
from polygraph.records import CitationCheck, ReaderForm

__all__ = [
    "Background",
    "Calls",
    "ChatModel",
    "ChatReply",
    "ChatRequest",
    "Embedder",
    "Message",
    "Models",
    "Releasable",
    "Reranker",
    "TextKind",
    "Vectors",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The models in use, and the object that calls them."""

    chat: ChatModel | None
    """None: tasks run without a language model."""
    embedder: Embedder
    """For chunks, reports and questions."""
    name_embedder: Embedder
    """For names of entities and relations, which are many and short; offline the static embedder."""
    reranker: Reranker | None
    calls: Calls
    reader_form: ReaderForm | None = None
    """The form of the replies that the chat model was tuned for; None for a model that was not."""
    confirm_time_limit_s: float = 0.0
    """Seconds that a small local chat model has to confirm or correct what rules found; 0: it answers by itself."""
    citation_check: CitationCheck = "rules"
    """What decides whether a citation stays in an answer that a model wrote."""

    def release(self) -> None:
        """Free the local models that can be loaded again."""
        for model in (self.chat, self.embedder, self.name_embedder, self.reranker):
            if isinstance(model, Releasable):
                model.release()
