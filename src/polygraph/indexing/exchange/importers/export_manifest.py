"""The manifest of a JSON Lines export, checked before any record is read."""

from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from polygraph.errors import BadInput
from polygraph.indexing.exchange.exporters.folder import MANIFEST, read_manifest
from polygraph.indexing.exchange.exporters.records import KINDS, LAYER_OF
from polygraph.indexing.exchange.schema import (
    EXTRACTOR_SETTINGS,
    MANIFEST_SHAPE,
    PRUNING_SETTINGS,
    find_fault,
)
from polygraph.store.layers import DEPENDENCIES, with_dependencies
from polygraph.store.manifest import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportManifest:
    """The manifest of an export."""

    manifest: Manifest
    layers: tuple[str, ...]
    """Layers that were up to date, in the order of building."""
    counts: dict[str, int]
    """Records by kind."""


def read_export_manifest(folder: Path) -> ExportManifest:
    """Read and check the manifest of a JSON Lines export.

    Raises:
        BadInput: if there is none, or it is damaged or of another format or version.
    """
    found = read_manifest(folder)

    def reject(problem: str) -> NoReturn:
        raise BadInput(f"{folder / MANIFEST}:1: {problem}. Export the index again")

    if found.get("format") != "jsonl":
        reject(f"the export has the format {found.get('format')!r}, and only jsonl can be imported")
    index, layers, files = found.get("index"), found.get("layers"), found.get("files")
    if problem := find_fault(index, MANIFEST_SHAPE):
        reject(f"index: {problem}")
    assert isinstance(index, dict)  # noqa: S101 - `find_fault` has checked it
    kind = Manifest(**index).reader.partition(":")[0]
    wanted = {"llm": EXTRACTOR_SETTINGS, "fast": PRUNING_SETTINGS}.get(kind)
    if wanted is not None and (problem := find_fault(index["extractor_settings"], wanted)):
        reject(f"extractor_settings: {problem}")
    if (
        not isinstance(layers, list)
        or not all(isinstance(layer, str) and layer in DEPENDENCIES for layer in layers)
        or list(with_dependencies(layers)) != layers
    ):
        reject(
            f"layers must be some of {', '.join(DEPENDENCIES)}, in this order, with those that each depends on"
        )
    names = {f"{kind}.jsonl": kind for kind in KINDS}
    if not isinstance(files, dict) or files.keys() != names.keys():
        reject(f"files must name {', '.join(names)}, with the number of lines of each")
    if any(type(n) is not int or n < 0 for n in files.values()):
        reject("files must give whole numbers of lines")
    counts = {kind: files[name] for name, kind in names.items()}
    if "graph" in layers and counts["windows"] and not counts["entity_rows"]:
        reject("there cannot be a graph when entity_rows.jsonl is empty")
    for kind, layer in LAYER_OF.items():
        if counts[kind] and layer not in layers:
            reject(f"there cannot be {kind} when the layer {layer} is not among the layers")
    return ExportManifest(manifest=Manifest(**index), layers=tuple(layers), counts=counts)
