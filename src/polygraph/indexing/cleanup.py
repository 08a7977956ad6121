"""Deleting files of earlier builds."""

import shutil
from contextlib import closing
from pathlib import Path

from polygraph.indexing.row_cache import delete_row_cache
from polygraph.store.generations import open_saved
from polygraph.store.layer_folders import folder_of
from polygraph.store.layers import FILE_LAYERS, versions
from polygraph.store.manifest import Manifest
from polygraph.store.protocol import Store, StoreReader
from polygraph.store.tables import ROWS


def delete_old_files(store: Store, manifest: Manifest, *, keep: int = 1) -> None:
    """Delete the files of layers that are older than the last finished ones, which a reader may still have open.

    Args:
        store: open for writing.
        manifest: that the present layers were built with.
        keep: how many earlier versions of each layer stay.
    """
    derived = store.folder / "derived"
    if not derived.is_dir():
        return
    if store.meta(ROWS) is None:
        delete_row_cache(store)
    in_use = _folders(store, manifest)
    for unfinished in derived.glob("*.tmp"):
        if unfinished.is_dir():
            shutil.rmtree(unfinished, ignore_errors=True)
    saved = open_saved(store.folder)
    if saved is not None:
        # Readers of the saved state use its files.
        with closing(saved):
            if (earlier := saved.manifest()) is not None:
                in_use |= _folders(saved, earlier)
    for layer in sorted(FILE_LAYERS):
        old = sorted(
            (path for path in derived.glob(f"{layer}-*") if path.name not in in_use),
            key=_modified,
            reverse=True,
        )
        for folder in old[keep:]:
            shutil.rmtree(folder, ignore_errors=True)


def _folders(store: StoreReader, manifest: Manifest) -> set[str]:
    found = versions(store, manifest)
    return {folder_of(store.folder, layer, found[layer]).name for layer in FILE_LAYERS}


def _modified(path: Path) -> float:
    return path.stat().st_mtime
