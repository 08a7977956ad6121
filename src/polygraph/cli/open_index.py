"""Open the index of a command."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polygraph.errors import quoted

if TYPE_CHECKING:
    from polygraph.config import Settings
    from polygraph.workspace.index import Index


def open_index(
    folder: Path | None,
    *,
    new: bool = False,
    change: bool = False,
    documents: Sequence[str] = (),
    **flags: Any,
) -> "Index":
    """Open an index with settings from the command's options.

    Args:
        folder: of the index; None: that of the settings.
        new: True if the index need not exist yet.
        change: True if the command changes the index.
        documents: paths that will be indexed.
        flags: settings by name; None for options that were not given.

    Raises:
        BadInput: if the index would be changed and is a published one, or its folder is one of the paths.
        IndexUnreadable: if there is no index and `new` is false.
    """
    from polygraph.config import load_settings
    from polygraph.publishing.object_store import url_of
    from polygraph.store.connection import no_index
    from polygraph.store.open_store import has_index
    from polygraph.store.postgres.folder import place_of
    from polygraph.workspace.places import refusal_to_write, refuse_own_folder

    settings = load_settings(flags)
    place = local_folder(folder or settings.index, settings)
    url = url_of(place)
    if url is not None and (new or change):
        raise refusal_to_write(url)
    # Checked before the models are opened, which would create the folder.
    refuse_own_folder(place, documents)
    if url is None and not new and not place.is_file() and not has_index(place):
        raise no_index(place_of(place))
    opened = _open(place, settings)
    if flags.get("batch") is not None and opened.models.chat is None:
        print(
            "note: --batch has nothing to write: no chat model is configured. Name one with POLYGRAPH_CHAT_MODEL",
            file=sys.stderr,
        )
    if opened.models.calls.batch is not None:
        imported = opened.models.calls.batch.import_replies()
        if imported:
            print(f"batch: {imported}", file=sys.stderr)
    return opened


def open_without_models(folder: Path | None) -> "Index":
    """Open an index for a command that asks and embeds nothing: no model is loaded, and no endpoint must be there."""
    return open_index(folder, offline=True, embedder="hash", name_embedder="hash", reranker="none")


def local_folder(place: Path, settings: "Settings") -> Path:
    """Return the folder of an index: of one in a database the local folder, which names the database."""
    from polygraph.workspace.places import database_folder

    return database_folder(place, settings) or place


def open_to_serve(folder: Path, threads: int, write: bool, **flags: Any) -> "Index":
    """Open an index for many questions at once; it need not exist yet, which a note says.

    Args:
        folder: of the index.
        threads: questions at once; as many calls of an endpoint, unless the settings name a number.
        write: whether documents can be added.
        flags: settings by name.
    """
    from polygraph.config import load_settings
    from polygraph.models.open import uses_endpoint
    from polygraph.publishing.object_store import url_of
    from polygraph.store.open_store import is_begun
    from polygraph.store.postgres.folder import place_of

    settings = load_settings(flags)
    if uses_endpoint(settings) and "concurrency" not in settings.model_fields_set:
        settings = settings.model_copy(update={"concurrency": threads})
    opened = _open(folder, settings)
    if url_of(folder) is None and not is_begun(folder):
        name = place_of(folder)
        how = "The first document that is added makes it, or" if write else "Make one with"
        print(
            f"note: there is no index at {name}. {how}: polygraph index PATH --index {quoted(name)}. "
            "Name another one with --index",
            file=sys.stderr,
        )
    return opened


def _open(place: Path, settings: "Settings") -> "Index":
    """Open an index, with progress bars while a published one is fetched."""
    from polygraph.publishing.object_store import url_of
    from polygraph.workspace.index import Index

    if url_of(place) is None:
        return Index.open(place, settings=settings)
    from polygraph.cli.progress import Bars

    with Bars() as bars:
        return Index.open(place, settings=settings, progress=bars)


def open_to_estimate(folder: Path | None, new: bool, *, keep: bool, **flags: Any) -> "Index":
    """Open an index, or one that does not exist yet without creating its folder."""
    from polygraph.config import load_settings
    from polygraph.models.open import open_models
    from polygraph.store.open_store import has_index
    from polygraph.store.postgres.folder import database_of
    from polygraph.workspace.index import Index

    settings = load_settings(flags)
    place = local_folder(folder or settings.index, settings)
    if keep or not new or (has_index(place) if database_of(place) else place.exists()):
        return open_index(folder, new=new, **flags)
    return Index.open(place, settings=settings, models=open_models(settings, None))


def open_for_import(export: Path, folder: Path | None, **flags: Any) -> "Index":
    """Open a new index with the embedders of an export, unless the settings name others."""
    from polygraph.config import load_settings
    from polygraph.indexing.exchange.importers.export_manifest import read_export_manifest
    from polygraph.models.open import open_models
    from polygraph.publishing.object_store import url_of
    from polygraph.store.open_store import calls_of
    from polygraph.workspace.index import Index
    from polygraph.workspace.places import refusal_to_write

    manifest = read_export_manifest(export).manifest
    settings = load_settings(flags)
    place = local_folder(folder or settings.index, settings)
    if url := url_of(place):
        raise refusal_to_write(url)
    models = open_models(settings, calls_of(place), (manifest.embedder, manifest.name_embedder))
    return Index.open(place, settings=settings, models=models)
