"""The estimate of an index in a folder: read what is there, estimate, and keep the result beside the index."""

import os
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polygraph.errors import BadInput, IndexUnreadable
from polygraph.indexing.build_settings import Extractor, choose_manifest
from polygraph.indexing.chunk_layers import embedded_text
from polygraph.indexing.estimate.corpus import read_corpus
from polygraph.indexing.estimate.estimate import estimate
from polygraph.indexing.estimate.extraction import instructions
from polygraph.indexing.estimate.plan import Plan
from polygraph.indexing.estimate.questions import MethodPlan
from polygraph.indexing.estimate.ranges import Estimate
from polygraph.indexing.estimate.reconcile import save_estimate
from polygraph.indexing.estimate.transfer import OtherIndexProfile, profile_from_index
from polygraph.ingest import EVERYTHING, Selection, path_text, read_documents
from polygraph.models import Models
from polygraph.models.call_store import CallPlace, calls_exist, open_call_store
from polygraph.models.open import prices_of
from polygraph.models.protocols import Embedder
from polygraph.store.layers import complete_layers
from polygraph.store.open_store import calls_of, is_begun, open_store
from polygraph.store.postgres.folder import place_of

if TYPE_CHECKING:
    from polygraph.config import Settings


def estimate_index(
    folder: Path,
    calls_place: CallPlace,
    settings: "Settings",
    models: Models,
    paths: Sequence[str | Path],
    *,
    wanted: Sequence[str],
    methods: Sequence[MethodPlan] = (),
    extractor: Extractor | None = None,
    selection: Selection = EVERYTHING,
    pilot: int = 0,
    other_index: Path | None = None,
) -> Estimate:
    """Estimate what indexing some paths costs, and each question to some methods.

    Nothing is indexed, and only a pilot makes calls. Where the folder of the index exists, the estimate is kept in it.

    Args:
        folder: of the index, which need not exist.
        calls_place: model calls of the index.
        settings: of the index.
        models: that will build.
        paths: what to index; none: what is missing from what was read before.
        wanted: layers to build.
        methods: each also gets a line for one question.
        extractor: if one was named.
        selection: which files are read.
        pilot: most calls of a pilot, repairs not counted.
        other_index: another index, from which the chat model's profile is taken until it has read windows of this one.

    Raises:
        BadInput: if a path does not exist, nothing could be read, `pilot` is below 0, or the chat model has
            not read `other_index`.
        IndexUnreadable: if there is neither a path nor an index.
        BudgetReached, ModelUnavailable, ModelRefused: from a pilot.
    """
    if pilot < 0:
        raise BadInput(f"--pilot {pilot} is not a number of calls. Give 0 or more")
    if not paths and not is_begun(folder):
        raise IndexUnreadable(
            f"there is no index at {place_of(folder)}. Name what to index: polygraph estimate PATH"
        )
    loaded = read_documents(paths, selection=selection) if paths else None
    roots = [path_text(Path(p).resolve()) for p in paths]
    with ExitStack() as stack:
        store = stack.enter_context(closing(open_store(folder, mode="read"))) if is_begun(folder) else None
        calls = (
            stack.enter_context(closing(open_call_store(calls_place))) if calls_exist(calls_place) else None
        )
        before = store.manifest() if store is not None else None
        # An endpoint is asked for its dimension; here no endpoint is called.
        uncalled = replace(
            models,
            embedder=_EmbedderWithoutDimension(models.embedder),
            name_embedder=_EmbedderWithoutDimension(models.name_embedder),
        )
        place = store.place if store is not None else place_of(folder)
        manifest = choose_manifest(place, before, settings, uncalled, extractor, adding=loaded is not None)
        corpus = read_corpus(store, loaded, roots, manifest, models.embedder)
        same = before is not None and before.chunker == manifest.chunker
        unchanged = same and not corpus.n_changed and not corpus.n_removed
        plan = Plan(
            manifest=manifest,
            wanted=wanted,
            ready=complete_layers(store, manifest) if store is not None and unchanged else (),
            methods=methods,
            prices=prices_of(settings),
            stored_reply=calls.reply if calls is not None else lambda _: None,
            stored_vectors=calls.vectors if calls is not None else lambda _: {},
            ledger=models.calls.ledger,
            questions=models.calls.questions,
            chunk_text=embedded_text,
            other_index=None if other_index is None else _profile(other_index, models),
        )
        found = estimate(corpus, plan, models, pilot=pilot)
    if folder.is_dir() and os.access(folder, os.W_OK):
        save_estimate(folder, found, models.calls.ledger())
    return found


def _profile(folder: Path, models: Models) -> OtherIndexProfile | None:
    """Fit the chat model's profile to another index; None without a chat model."""
    if models.chat is None:
        return None
    with closing(open_store(folder, mode="read")) as store:
        calls_place = calls_of(folder)
        if not calls_exist(calls_place):
            raise BadInput(
                f"{store.place} holds no calls of a model. Name an index that a chat model has read"
            )
        with closing(open_call_store(calls_place)) as calls:
            return profile_from_index(store, calls, models.chat.name, instructions())


class _EmbedderWithoutDimension:
    """An embedder that is not asked for its dimension."""

    dimension = 0

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)
