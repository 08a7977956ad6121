"""What will be built, and what is known of it while it is estimated."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from polygraph.indexing.estimate.corpus import Corpus
from polygraph.indexing.estimate.model_profile import ReportLength
from polygraph.indexing.estimate.questions import MethodPlan
from polygraph.indexing.estimate.transfer import OtherIndexProfile
from polygraph.models import ChatModel, ChatReply, Embedder, Models
from polygraph.models.call_store import QuestionUsage
from polygraph.models.calls import LedgerRow
from polygraph.models.prices import Price
from polygraph.models.retry import price_for
from polygraph.records import Extraction
from polygraph.store.manifest import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The build, and where to look up what is paid for already."""

    manifest: Manifest
    wanted: Collection[str]
    """Layers to build, without those that they depend on."""
    ready: Collection[str] = ()
    """Layers that are up to date and will not be built."""
    methods: Sequence[MethodPlan] = ()
    prices: Mapping[str, Price]
    stored_reply: Callable[[str], ChatReply | None]
    """Finds a reply that is paid for, by the key of its request."""
    stored_vectors: Callable[[Sequence[bytes]], Mapping[bytes, bytes]]
    """Finds vectors that are paid for, by the keys of their texts."""
    ledger: Callable[[], Sequence[LedgerRow]]
    """All that was spent so far."""
    questions: Callable[[], Mapping[str, QuestionUsage]] = dict
    """What each method was asked."""
    other_index: OtherIndexProfile | None = None
    """The chat model's profile in another index."""
    chunk_text: Callable[[str, str], str]
    """Gives the text of a chunk that is embedded, from its document's title and its text."""


@dataclass(slots=True)
class EstimateState:
    """What is known so far; each stage adds to it."""

    corpus: Corpus
    plan: Plan
    models: Models
    n_pilot_calls: int
    notes: list[str] = field(default_factory=list)
    n_tokens: dict[str, int] = field(default_factory=dict)
    """Tokens of each window's text."""
    extractions: dict[str, Extraction] = field(default_factory=dict)
    """Rows of windows that need no call."""
    reply_tokens: dict[str, int] = field(default_factory=dict)
    """Tokens of a window's first reply, where it is stored."""
    report_lengths: tuple[ReportLength, ...] = ()
    """Low, middle and high."""
    report_text_share: float = 0.75
    """Share of the tokens of a report's reply that are its text, which is embedded; the rest is the form of the reply.
    Without a pilot about that of replies in our format."""
    report_basis: str = ""

    def price(self, model: ChatModel | Embedder) -> Price | None:
        """Return the price of a model, None if it is not known."""
        return price_for(model, self.plan.prices)
