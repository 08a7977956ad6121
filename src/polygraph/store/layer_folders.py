"""Where the files of a layer lie in the folder of an index."""

from pathlib import Path


def folder_of(index: Path, layer: str, version: str) -> Path:
    """Return the folder of the files of a layer."""
    return index / "derived" / f"{layer}-{version[:12]}"
