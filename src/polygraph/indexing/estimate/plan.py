"""What will be built, and what is known of it while it is estimated."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from polygraph.indexing.estimate.corpus import Corpus
from polygraph.indexing.estimate.model_profile import ReportHabits
from polygraph.indexing.estimate.questions import MethodPlan
from polygraph.models import ChatModel, ChatReply, Embedder, Models
from polygraph.models.cache import Asked
from polygraph.models.calls import LedgerRow
from polygraph.models.prices import FREE, Price, price_of
from polygraph.models.retry import is_local
from polygraph.records import Extraction
from polygraph.store.manifest import Manifest

if TYPE_CHECKING:
    from polygraph.indexing.estimate.transfer import Elsewhere

T = TypeVar("T")

_SEED = 11

VectorKeys = Callable[[Sequence[bytes]], Mapping[bytes, bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What will be built, with what, and what is known."""

    manifest: Manifest
    wanted: Collection[str]
    """Layers that are asked for, without those below them."""
    ready: Collection[str] = ()
    """Layers that are up to date and will not be built."""
    methods: Sequence[MethodPlan] = ()
    prices: Mapping[str, Price]
    stored: Callable[[str], ChatReply | None]
    """Finds a reply that is paid for, by the key of its request."""
    vectors: VectorKeys
    """Finds vectors that are paid for."""
    ledger: Callable[[], Sequence[LedgerRow]]
    """What was ever spent."""
    questions: Callable[[], Mapping[str, Asked]] = dict
    """What each method was asked."""
    like: "Elsewhere | None" = None
    """What another index tells of the chat model."""
    chunk_text: Callable[[str, str], str]
    """What is embedded of a chunk, from its document's title and its text."""


@dataclass(slots=True)
class Facts:
    """What is known so far; the stages add to it."""

    corpus: Corpus
    plan: Plan
    models: Models
    pilot: int
    notes: list[str] = field(default_factory=list)
    tokens: dict[str, int] = field(default_factory=dict)
    """Of a window's text."""
    rows: dict[str, Extraction] = field(default_factory=dict)
    """Of windows that need no call."""
    written: dict[str, int] = field(default_factory=dict)
    """Tokens of the first reply, where it is stored."""
    report_habits: tuple[ReportHabits, ...] = ()
    report_basis: str = ""

    def price(self, model: ChatModel | Embedder) -> Price | None:
        """What a model costs, None if that is not known."""
        return FREE if is_local(model) else price_of(model.name, self.plan.prices)


def sample(items: Sequence[T], most: int) -> list[T]:
    """All items, or a seeded sample of them in their order."""
    if len(items) <= most:
        return list(items)
    chosen = np.random.default_rng(_SEED).choice(len(items), size=most, replace=False)
    return [items[i] for i in sorted(chosen.tolist())]
