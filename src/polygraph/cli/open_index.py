"""Opening the index that a command works on."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polygraph.errors import IndexUnreadable

if TYPE_CHECKING:
    from polygraph.workspace.index import Index


def open_index(folder: Path | None, *, new: bool = False, **flags: Any) -> "Index":
    """Open an index with settings from the command's options.

    Args:
        folder: of the index; None: where the settings say.
        new: it may not be there yet.
        flags: settings by name; None for those that were not given.

    Raises:
        IndexUnreadable: if there is none and it must be there.
    """
    from polygraph.config import load_settings
    from polygraph.workspace.index import Index

    settings = load_settings(flags)
    place = folder or settings.index
    if not new and not place.is_file() and not (place / "index.sqlite").is_file():
        # Said before the models are opened, which would leave a folder behind.
        raise IndexUnreadable(
            f"there is no index at {place}. Make one with: polygraph index PATH --index {place}"
        )
    opened = Index.open(place, settings=settings)
    if flags.get("batch") is not None and opened.models.chat is None:
        print(
            "note: --batch has nothing to write, since no chat model is configured. Name one with POLYGRAPH_CHAT_MODEL",
            file=sys.stderr,
        )
    if opened.models.calls.batch is not None:
        taken = opened.models.calls.batch.import_replies()
        if taken:
            print(f"batch: {taken}", file=sys.stderr)
    return opened


def open_to_estimate(folder: Path | None, new: bool, *, keep: bool, **flags: Any) -> "Index":
    """Open an index, or one that is not there yet without leaving a folder behind."""
    from polygraph.config import load_settings
    from polygraph.models.open import open_models
    from polygraph.workspace.index import Index

    settings = load_settings(flags)
    place = folder or settings.index
    if keep or not new or place.exists():
        return open_index(folder, new=new, **flags)
    return Index.open(place, settings=settings, models=open_models(settings, None))


def open_like(export: Path, folder: Path | None, **flags: Any) -> "Index":
    """Open a new index with the embedders that an export was made with, unless the settings name others."""
    from polygraph.config import load_settings
    from polygraph.indexing.exchange.importers.jsonl import describe
    from polygraph.models.open import open_models
    from polygraph.workspace.index import CALLS_FILE, Index

    manifest = describe(export).manifest
    settings = load_settings(flags)
    place = folder or settings.index
    models = open_models(settings, place / CALLS_FILE, (manifest.embedder, manifest.name_embedder))
    return Index.open(place, settings=settings, models=models)
