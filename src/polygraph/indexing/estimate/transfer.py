"""The profile of a chat model, fitted to another index that it has read."""

from dataclasses import dataclass, replace

from polygraph.errors import BadInput
from polygraph.indexing.estimate.corpus import sample
from polygraph.indexing.estimate.model_profile import GPT_4O, ModelProfile, fit_profile
from polygraph.indexing.estimate.simulated_extraction import fit_common_words
from polygraph.models.call_store import CallStore
from polygraph.models.calls import LedgerRow
from polygraph.records import Extraction, Window
from polygraph.store.protocol import Store
from polygraph.text.tokens import count_many

MAX_WINDOWS = 400
"""Windows of the other index that the profile is fitted to."""
_COMPARED = 100
"""Windows, of these, to which the share of common words is fitted."""
OTHER_CORPUS_ERROR = 0.5
"""Relative error of taking a profile from one corpus to another, beside that of the sample.

See benchmarks/results/estimate.md.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherIndexProfile:
    """The profile of a chat model in another index."""

    name: str
    """Name of the other index's folder."""
    profile: ModelProfile
    n_windows: int
    """Windows that it was fitted to."""
    ledger: tuple[LedgerRow, ...]
    """What was spent there on this model."""


def profile_from_index(store: Store, calls: CallStore, model: str, instructions: int) -> OtherIndexProfile:
    """Fit a profile to how a model read another index.

    Args:
        store: of that index.
        calls: its model calls.
        model: name of the chat model.
        instructions: tokens of an extraction request beside the text.

    Raises:
        BadInput: if this model has not read it.
    """
    ledger = tuple(row for row in calls.ledger() if row.model == model)
    extractions = [row for row in ledger if row.stage == "extract" and row.ok]
    manifest = store.manifest()
    known: list[tuple[Window, int, Extraction]] = []
    if extractions and manifest is not None and manifest.reader.startswith("llm:"):
        known = _read_windows(store)
    # Windows of the other index may all be longer or shorter than those of this one.
    profile = fit_profile([(n, rows, 0) for _, n, rows in known], power=GPT_4O.power)
    if profile is None:
        raise BadInput(
            f"{store.place} says nothing about {model!r}: the model has not read at least two windows there. "
            "Name an index that this model extracted, or use --pilot N"
        )
    text = sum(r.prompt_tokens for r in extractions) - sum(r.ok for r in extractions) * instructions
    written = sum(r.completion_tokens for r in extractions)
    profile = replace(
        profile,
        reply_tokens=1000 * written / text if text > 0 else profile.reply_tokens,
        error=profile.error + OTHER_CORPUS_ERROR,
    )
    profile = replace(profile, common=fit_common_words(known[:_COMPARED], profile))
    return OtherIndexProfile(name=store.folder.name, profile=profile, n_windows=len(known), ledger=ledger)


def _read_windows(store: Store) -> list[tuple[Window, int, Extraction]]:
    """Return a sample of the windows that were read, with the tokens of their text and their rows."""
    states = store.extractions.window_states()
    ids = sorted(window.id for window in states if window.status in ("ok", "repaired"))
    windows = store.extractions.windows(sample(ids, MAX_WINDOWS))
    wanted = {w.id for w in windows}
    rows = {e.window: e for _, e in store.extractions.iterate() if e.window in wanted}
    counts = count_many([w.text for w in windows])
    return [(w, n, rows[w.id]) for w, n in zip(windows, counts, strict=True) if w.id in rows]
