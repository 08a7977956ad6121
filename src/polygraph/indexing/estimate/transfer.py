"""Habits of the same model, learned from another index that it has read."""

from dataclasses import dataclass, replace

from polygraph.errors import BadInput
from polygraph.indexing.estimate.model_profile import GPT_4O as USUAL
from polygraph.indexing.estimate.model_profile import Habits, learn
from polygraph.indexing.estimate.plan import sample
from polygraph.indexing.estimate.simulate import share_of_common
from polygraph.models.cache import CallStore
from polygraph.models.calls import LedgerRow
from polygraph.records import Extraction
from polygraph.store.database import Store
from polygraph.text.tokens import count_many

MOST_STUDIED = 400
"""Windows of the other index, at most, that are looked at."""
_COMPARED = 100
"""Of these, at most, on which the choice of names is tried."""
OTHER_TEXT = 0.5
"""Relative error of taking habits from one corpus to another, beside that of the sample; see docs/estimate.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """What another index tells of a model."""

    name: str
    """Of its folder."""
    habits: Habits
    n_windows: int
    """From which they were learned."""
    ledger: tuple[LedgerRow, ...]
    """What was spent there on this model."""


def study(store: Store, kept: CallStore, model: str, instructions: int) -> Elsewhere:
    """Learn how a model read another index.

    Args:
        store: of that index.
        kept: its calls.
        model: name of the chat model.
        instructions: tokens of an extraction request beside the text.

    Raises:
        BadInput: if this model has not read it.
    """
    ledger = tuple(row for row in kept.ledger() if row.model == model)
    read = [row for row in ledger if row.stage == "extract" and row.ok]
    manifest = store.manifest()
    learned, n_windows = None, 0
    if read and manifest is not None and manifest.reader.startswith("llm:"):
        ids = [
            i for (i,) in store.rows("SELECT id FROM windows WHERE status IN ('ok', 'repaired') ORDER BY id")
        ]
        windows = store.windows(sample(ids, MOST_STUDIED))
        wanted = {w.id for w in windows}
        rows: dict[str, Extraction] = {e.window: e for _, e in store.extractions() if e.window in wanted}
        some = [
            (w, n, rows[w.id])
            for w, n in zip(windows, count_many([w.text for w in windows]), strict=True)
            if w.id in rows
        ]
        n_windows = len(some)
        learned = learn([(n, e, 0) for _, n, e in some])
    if learned is None:
        raise BadInput(
            f"{store.folder} says nothing of {model!r}: it has not read at least two windows there. "
            "Name an index that this model extracted, or use --pilot N"
        )
    text = sum(r.prompt_tokens for r in read) - sum(r.ok for r in read) * instructions
    wrote = sum(r.completion_tokens for r in read)
    learned = replace(
        learned,
        written=1000 * wrote / text if text > 0 else learned.written,
        error=learned.error + OTHER_TEXT,
        # Windows there may be longer or shorter, and a model does not write in proportion.
        power=USUAL.power,
    )
    learned = replace(learned, common=share_of_common(some[:_COMPARED], learned))
    return Elsewhere(name=store.folder.name, habits=learned, n_windows=n_windows, ledger=ledger)
