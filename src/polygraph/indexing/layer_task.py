"""One layer that is being built: what its build function works with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from polygraph.execution.protocol import Executor
from polygraph.extract.nlp import dependency_trees
from polygraph.indexing.progress import Progress
from polygraph.memory import trim_heap
from polygraph.models import Models
from polygraph.store.atomic_files import damage
from polygraph.store.layer_folders import folder_of
from polygraph.store.manifest import Manifest
from polygraph.store.protocol import Store

LARGE = 50_000
"""Chunks from which on a build holds no parser or local model in the steps that need none."""


@dataclass(kw_only=True)
class LayerTask:
    """What a build function gets; it returns the number of rows of the layer."""

    layer: str
    versions: Mapping[str, str]
    """The version that each layer has when it is built now."""
    store: Store
    manifest: Manifest
    models: Models
    progress: Progress
    processes: int
    """Workers for extraction without a model; 0: as many as pay off."""
    executor: Executor | None
    """Where extraction without a model runs; None: on this machine."""
    rebuild: bool
    """Whether nothing of the earlier layer may be reused."""
    approximate_rows: int
    """Rows from which on the search of a layer of vectors is approximate; 0: never."""
    pgvector_rows: int
    """Rows from which on a database searches a layer of vectors itself; 0: never."""
    extract: bool
    """Whether windows that are pending are read."""
    after_reading: Callable[[], object] = lambda: None
    """Called by the layer of the graph when all windows are read."""
    is_unasked: bool = False
    """Whether a chat model would have been asked about names, and there is none; set by the build function."""
    notes: list[str] = field(default_factory=list)
    """What is weaker in the layer than it could be; added by the build function."""

    @property
    def version(self) -> str:
        """Version of the layer that is being built."""
        return self.versions[self.layer]

    @property
    def folder(self) -> Path:
        """Where the files of the layer will be."""
        return folder_of(self.store.folder, self.layer, self.version)

    @property
    def scratch(self) -> Path:
        """Folder for temporary files, on the disk of the index."""
        return self.store.folder / "derived"

    def release_models(self) -> None:
        """Free the parser and the local models of a large index; what is used again is loaded again.

        Loading them takes a second, which a small index would notice; they hold 150 MB.
        """
        if self.store.count("chunks") >= LARGE:
            dependency_trees.release()
            self.models.release()
            trim_heap(collect=True)

    def folder_of(self, layer: str) -> Path:
        """Return the folder of a layer that this one rests on."""
        return folder_of(self.store.folder, layer, self.versions[layer])

    def previous_folder(self) -> Path | None:
        """Return the folder of the layer as it was built before; None if it is damaged or must not be reused."""
        done = self.store.layers().get(self.layer)
        if done is None or self.rebuild:
            return None
        folder = folder_of(self.store.folder, self.layer, done[0])
        return None if damage(folder, thorough=True) else folder

    def counter(self, total: int, stage: str = "") -> Callable[[int], None]:
        """Return a function that reports how many of `total` items are done; the stage is the layer by default."""
        return lambda done: self.progress(stage or self.layer, done, total)
