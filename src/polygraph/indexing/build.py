"""Building layers: the table of layers, and the loop that builds those that are missing or stale.

A layer that is up to date is skipped, so running a build again repeats nothing. Rows are committed as they come (per
document, per window or those that finished together), views in one transaction each, and files are written under a
temporary name and renamed. A build that was stopped continues from what was committed.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from polygraph.execution.cores import n_cores
from polygraph.execution.protocol import Executor
from polygraph.indexing.chunk_layers import embed_chunks, index_words, number_chunks
from polygraph.indexing.cleanup import delete_old_files
from polygraph.indexing.description_layer import describe_graph
from polygraph.indexing.edge_layers import find_shared_names, link_facts, link_mentions, link_synonyms
from polygraph.indexing.graph_layer import build_graph
from polygraph.indexing.layer_task import LARGE, LayerTask
from polygraph.indexing.lost_relations import listed_lost_relations
from polygraph.indexing.progress import BuildReport, Progress
from polygraph.indexing.report_layers import find_communities, report_communities
from polygraph.indexing.side_by_side import side_by_side
from polygraph.indexing.status import count_records
from polygraph.indexing.vector_layers import embed_graph
from polygraph.memory import limit_arenas, rare_collections, trim_heap
from polygraph.models import Models
from polygraph.models.retry import is_local
from polygraph.models.thread_pool import POLL_S
from polygraph.store.atomic_files import damage
from polygraph.store.connection import storage_errors_explained
from polygraph.store.layers import (
    DEPENDENCIES,
    NAME_VECTOR_LAYERS,
    dependents,
    incomplete_layers,
    keep_versions,
    up_to_date,
    versions,
    with_dependencies,
)
from polygraph.store.manifest import Manifest
from polygraph.store.protocol import Store

_MANY = 1_000
"""Chunks from which on their vectors are computed beside the layers of the graph, not before it. With fewer it saves
less than two seconds, and an index whose graph fails has them."""
_YIELD_S = 5.0
"""Longest time that the vectors of chunks wait until a model has read all windows. What follows takes few calls at once
and leaves room for them, while a window that has to wait for them delays everything."""
_LONG_S = 10.0
"""After a layer that took longer, garbage is collected before memory is released, which takes some dozens of
milliseconds."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of an index and the function that builds it."""

    name: str
    build: Callable[[LayerTask], int]
    """Builds the layer and returns its number of rows."""

    @property
    def rests_on(self) -> tuple[str, ...]:
        """Layers that must be built before it."""
        return DEPENDENCIES[self.name]


_BUILD: Mapping[str, Callable[[LayerTask], int]] = {
    "chunks": number_chunks,
    "lexical": index_words,
    "names": find_shared_names,
    "chunk_vectors": embed_chunks,
    "graph": build_graph,
    "mentions": link_mentions,
    "facts": link_facts,
    "descriptions": describe_graph,
    "communities": find_communities,
    "reports": report_communities,
    "synonyms": link_synonyms,
    **dict.fromkeys(NAME_VECTOR_LAYERS, embed_graph),
}
"""What builds each layer."""
LAYERS = tuple(Layer(name, _BUILD[name]) for name in DEPENDENCIES)
"""Every layer in the order of building."""

_SIDE_BY_SIDE = (
    frozenset({"lexical", "names", "chunk_vectors", "graph"}),
    frozenset({"descriptions", "communities", "reports", "synonyms", *NAME_VECTOR_LAYERS}),
)
"""Layers that stand together in `LAYERS` and mostly wait for an endpoint. One that rests on another waits for it."""


def build(
    store: Store,
    manifest: Manifest,
    models: Models,
    layers: Sequence[str],
    report: BuildReport,
    progress: Progress,
    *,
    processes: int = 0,
    approximate_rows: int = 0,
    pgvector_rows: int = 0,
    executor: Executor | None = None,
    rebuild: Collection[str] = (),
    extract: bool = True,
    on_change: Callable[[], object] = lambda: None,
) -> BuildReport:
    """Build some layers and those that they rest on, as far as they are missing or stale.

    Args:
        store: open for writing, with the documents in it.
        manifest: the settings to build with; becomes the manifest of the index.
        models: embedders, and a chat model if the manifest asks for one.
        layers: names from `LAYERS`.
        report: of `update_documents`; completed and returned.
        progress: called after each item.
        processes: workers for extraction without a model; 0: as many as pay off.
        approximate_rows: rows from which on the search of a layer of vectors is approximate; 0: never.
        pgvector_rows: rows from which on a database searches a layer of vectors itself; 0: never.
        executor: where extraction without a model runs; default: this machine.
        rebuild: the layers, of these, that are built even if they are up to date.
        extract: whether windows that are pending are read; imported ones stay as they are.
        on_change: called before a layer that was finished once is replaced.

    Raises:
        NothingExtracted: if the graph was asked for and no entity came out of any text.
        RequestsWaiting: with a batch, when nothing can continue without replies; what is done is kept.
    """
    with (
        models.calls.batch_round(),
        models.calls.meter() as meter,
        storage_errors_explained(store.folder),
        rare_collections(),
    ):
        if store.manifest() not in (None, manifest):
            on_change()

        def new_task(name: str, current: Mapping[str, str], shared: Progress) -> LayerTask:
            return LayerTask(
                layer=name,
                versions=current,
                store=store,
                manifest=manifest,
                models=models,
                progress=shared,
                processes=processes,
                approximate_rows=approximate_rows,
                pgvector_rows=pgvector_rows,
                executor=executor,
                rebuild=name in rebuild,
                extract=extract,
            )

        limit_arenas()
        told: set[str] = set()
        builder = _Builder(store, manifest, with_dependencies(layers), new_task, on_change, told)
        groups = _groups(models)
        if executor is None and _has_idle_core(store, manifest, models):
            report.built |= builder.build_with_vectors_beside(groups, progress)
        else:
            report.built |= builder.build(groups, progress)
        with store.transaction():
            store.set_manifest(manifest)
        report.notes = [*report.notes, *store.notes(), *sorted(told)]
        delete_old_files(store, manifest)
    report.usage = meter.usage
    report.counts = count_records(store)
    report.lost_relations = listed_lost_relations(store)
    return report


class _Builder:
    """Builds the layers that are missing or stale.

    Args:
        store: open for writing.
        manifest: the settings to build with.
        wanted: the layers to build, and those that they rest on.
        new_task: returns the task of a layer, for the versions that layers have now and a progress.
        on_change: called before a layer that was finished once is replaced.
        told: receives why the store cannot search layers itself.
    """

    def __init__(
        self,
        store: Store,
        manifest: Manifest,
        wanted: Collection[str],
        new_task: Callable[[str, Mapping[str, str], Progress], LayerTask],
        on_change: Callable[[], object],
        told: set[str],
    ) -> None:
        self._store, self._manifest, self._wanted = store, manifest, wanted
        self._new_task, self._on_change, self._told = new_task, on_change, told
        # Nothing that a build does changes them.
        self._current = versions(store, manifest)
        keep_versions(store, manifest, self._current)
        self._intact: dict[Path, bool] = {}

    def build(
        self,
        groups: Sequence[Sequence[Layer]],
        progress: Progress,
        after_each: Callable[[], object] = lambda: None,
        after_reading: Callable[[], object] = lambda: None,
    ) -> dict[str, float]:
        """Build groups of layers one after the other; return the seconds that each layer took.

        Args:
            groups: each is built at once.
            progress: called after each item.
            after_each: called after each group.
            after_reading: called when the layer of the graph has read all windows.
        """
        seconds: dict[str, float] = {}
        for group in groups:
            tasks = self._tasks(group, progress)
            if not tasks:
                continue
            for _, task in tasks:
                task.after_reading = after_reading
            # The layer before used other models, or none.
            tasks[0][1].release_models()
            took = _build_group(tasks, progress, self._told)
            self._remember(tasks)
            seconds |= took
            after_each()
            # Otherwise the memory of the next layers would add to the peak of this one.
            trim_heap(collect=max(took.values()) > _LONG_S)
        return seconds

    def build_with_vectors_beside(
        self, groups: Sequence[Sequence[Layer]], progress: Progress
    ) -> dict[str, float]:
        """Build the vectors of chunks beside the layers of the graph, from when all windows are read.

        The model of chunks runs on all cores and most of what follows on one, so that no core waits. The parser needs
        its memory and all cores for itself.
        """
        layers = [layer for group in groups for layer in group]
        graph = next(i for i, layer in enumerate(layers) if layer.name == "graph")
        vectors = [layer for layer in layers if layer.name == "chunk_vectors"]
        seconds = self.build([[x] for x in layers[:graph] if x not in vectors], progress)
        rest = [[x] for x in layers[graph:]]
        tasks = self._tasks(vectors, progress)
        if not tasks:
            return seconds | self.build(rest, progress)
        ((layer, task),) = tasks
        may_start, is_stopped = threading.Event(), threading.Event()
        done: dict[str, tuple[int, float]] = {}
        recorded: dict[str, float] = {}

        def build_vectors(shared: Progress) -> None:
            may_start.wait()
            if is_stopped.is_set():
                return
            done[layer.name] = _build_one(layer, task, shared)

        def record() -> None:
            """Record the layer once it is finished; one thread alone changes the store."""
            may_start.set()
            if done and not recorded:
                self._told.update({_record(task, *done[layer.name])} - {""})
                self._remember(tasks)
                recorded[layer.name] = done[layer.name][1]

        def build_rest(shared: Progress) -> None:
            try:
                seconds.update(self.build(rest, shared, record, may_start.set))
            except BaseException:
                is_stopped.set()
                raise
            finally:
                may_start.set()

        try:
            side_by_side([build_vectors, build_rest], progress)
        finally:
            record()
        return seconds | recorded

    def _tasks(self, group: Sequence[Layer], progress: Progress) -> list[tuple[Layer, LayerTask]]:
        """Return the layers of a group that are to be built, with their tasks."""
        ready = up_to_date(self._store, self._manifest, self._is_intact, self._current)
        incomplete = incomplete_layers(self._store, self._manifest)
        tasks: list[tuple[Layer, LayerTask]] = []
        for layer in group:
            if layer.name not in self._wanted:
                continue
            task = self._new_task(layer.name, self._current, progress)
            # What is built again has the same version, and is recorded only after the group.
            task.rebuild |= any(below.rebuild for other, below in tasks if other.name in layer.rests_on)
            # A model may give other rows than those that the graph of this version was built from.
            task.rebuild |= layer.name in incomplete and layer.name in ready
            if layer.name in ready and not task.rebuild:
                continue
            if layer.name in self._store.layers():
                self._on_change()
            tasks.append((layer, task))
        return tasks

    def _is_intact(self, folder: Path) -> bool:
        if folder not in self._intact:
            self._intact[folder] = not damage(folder, thorough=True)
        return self._intact[folder]

    def _remember(self, tasks: Sequence[tuple[Layer, LayerTask]]) -> None:
        """Take layers for intact: reading what was just written would only find what the disk damages later."""
        self._intact |= {task.folder: True for _, task in tasks}


def _has_idle_core(store: Store, manifest: Manifest, models: Models) -> bool:
    """Tell whether a core would be idle in the layers of the graph, and there is memory for the model of chunks.

    A model that writes the graph may fail or reach a limit of money. Then an index has at least the vectors of chunks,
    so these come first.
    """
    return (
        n_cores() > 1
        and is_local(models.embedder)
        and is_local(models.name_embedder)
        and not manifest.by_model
        and _MANY <= store.count("chunks") < LARGE
    )


def _groups(models: Models) -> list[list[Layer]]:
    """Return the layers in order; those that are built side by side are in one group."""
    # Threads would write the requests of a batch in another order each time.
    waits = models.calls.batch is None and not (is_local(models.embedder) and is_local(models.name_embedder))
    groups: list[list[Layer]] = []
    for layer in LAYERS:
        if waits and groups and any({layer.name, groups[-1][-1].name} <= some for some in _SIDE_BY_SIDE):
            groups[-1].append(layer)
        else:
            groups.append([layer])
    return groups


def _build_group(
    tasks: Sequence[tuple[Layer, LayerTask]], progress: Progress, told: set[str]
) -> dict[str, float]:
    """Build the layers of a group and record those that are finished, also if another fails.

    Args:
        tasks: the layers.
        progress: called after each item.
        told: receives why the store cannot search layers itself.

    Returns:
        The seconds that each layer took.
    """
    done: dict[str, tuple[int, float]] = {}
    ended = {layer.name: threading.Event() for layer, _ in tasks}
    windows_read = threading.Event()
    graph = next((task for layer, task in tasks if layer.name == "graph" and task.manifest.by_model), None)
    if graph is not None:
        graph.after_reading = windows_read.set

    def build_one(layer: Layer, task: LayerTask, shared: Progress) -> None:
        try:
            for below in layer.rests_on:
                while below in ended and not ended[below].wait(POLL_S):
                    pass  # wakes up for Ctrl-C
                if below in ended and below not in done:
                    return  # it failed, which ends the group
            if layer.name == "chunk_vectors" and graph is not None:
                windows_read.wait(_YIELD_S)
            done[layer.name] = _build_one(layer, task, shared)
        finally:
            ended[layer.name].set()
            if task is graph:
                windows_read.set()

    try:
        if len(tasks) == 1:
            build_one(*tasks[0], progress)
        else:
            side_by_side([partial(build_one, *each) for each in tasks], progress)
    finally:
        for layer, task in tasks:
            if layer.name in done:
                told |= {_record(task, *done[layer.name])} - {""}
    return {layer.name: done[layer.name][1] for layer, _ in tasks}


def _build_one(layer: Layer, task: LayerTask, progress: Progress) -> tuple[int, float]:
    """Build a layer; return its number of rows and the seconds that it took."""
    task.progress = progress
    started = time.perf_counter()
    n_rows = layer.build(task)
    return n_rows, time.perf_counter() - started


def _record(task: LayerTask, n_rows: int, seconds: float) -> str:
    """Record that a layer is finished; return why the store cannot search it itself, if it should."""
    store = task.store
    with store.transaction():
        store.set_manifest(task.manifest)
        if task.rebuild:
            # Its version is the same, so the layers above would not notice that it changed.
            store.forget_layers(dependents(task.layer))
        store.put_layer(task.layer, task.version, n_rows, seconds)
        store.set_notes(task.layer, task.notes)
        return store.put_vectors(task.layer, task.version, task.pgvector_rows)
