"""Where an index may be: a folder, a database that a local folder stands for, or published in object storage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from polygraph.errors import BadInput, quoted

if TYPE_CHECKING:
    from polygraph.config import Settings
    from polygraph.publishing.published_index import PublishedIndex


def database_folder(place: str | Path, settings: Settings) -> Path | None:
    """Return the local folder of an index in a database, and have it name the database; None for other places.

    Args:
        place: a folder, or the URL of an index.
        settings: name the cache, which holds the folder.

    Raises:
        BadInput, StorageFailed: each says how to fix it.
    """
    from polygraph.store.postgres.folder import database_url_of, folder_for

    url = database_url_of(place)
    if url is None:
        return None
    from polygraph.config.files import cache_folder
    from polygraph.postgresql import parse_url

    return folder_for(parse_url(url), settings.cache or cache_folder())


def folder_to_fill(target: str | Path, settings: Settings) -> Path:
    """Return the folder of an index that is about to be copied; of one in a database, its local folder.

    Raises:
        BadInput: if it is object storage, which is only published to.
    """
    from polygraph.publishing.object_store import url_of

    folder = database_folder(target, settings)
    if folder is None and (url := url_of(target)):
        raise BadInput(
            f"{url} is object storage, where an index is published with: polygraph publish {quoted(url)}"
        )
    return folder or Path(target)


def open_published(
    place: str | Path,
    settings: Settings,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> PublishedIndex | None:
    """Open a published index; None if the place is a folder.

    Args:
        place: a folder, or the URL of a published index.
        settings: name the cache.
        progress: called with the bytes that were fetched and those that must be.

    Raises:
        BadInput, IndexUnreadable, StorageFailed: each says how to fix it.
    """
    from polygraph.publishing.object_store import url_of

    url = url_of(place)
    if url is None:
        return None
    from polygraph.config.files import cache_folder
    from polygraph.publishing.published_index import PublishedIndex

    return PublishedIndex(
        url,
        settings.cache or cache_folder(),
        int(settings.cache_gb * 1e9),
        follow_s=settings.follow_s,
        progress=progress,
    )


def refuse_own_folder(folder: Path, paths: Sequence[str | Path]) -> None:
    """Refuse to index documents into the folder that holds them: the files of the index would be read as documents.

    Raises:
        BadInput: if one of the paths is the folder of the index.
    """
    for path in paths:
        if Path(path).resolve() == folder.resolve():
            raise BadInput(
                f"{path} cannot hold both the documents and the index. Name another folder for the index with --index"
            )


def refusal_to_write(url: str) -> BadInput:
    """Return the error of changing a published index."""
    return BadInput(
        f"{url} is a published index, which is only read. Change the index that it was published from, then publish "
        f"that again with: polygraph publish {quoted(url)} --index DIR"
    )
