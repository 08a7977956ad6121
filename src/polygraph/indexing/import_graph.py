"""Creating an index from an export of Polygraph, or from a graph that another program made."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from polygraph.config import Settings
from polygraph.errors import BadInput, quoted
from polygraph.indexing.build import build
from polygraph.indexing.build_settings import choose_manifest
from polygraph.indexing.documents import chunk_document
from polygraph.indexing.exchange.importers.convert import convert, fingerprint, store_graph
from polygraph.indexing.exchange.importers.detect import detect_format, read_graph
from polygraph.indexing.exchange.importers.export_manifest import ExportManifest, read_export_manifest
from polygraph.indexing.exchange.importers.jsonl import adopt_reports, read_jsonl
from polygraph.indexing.exchange.importers.source_graph import SourceGraph
from polygraph.indexing.progress import BuildReport, Progress
from polygraph.indexing.status import count_records
from polygraph.models import Models
from polygraph.store.layers import DEPENDENCIES, dependents, with_dependencies
from polygraph.store.open_store import is_begun, open_to_write
from polygraph.store.postgres.folder import place_of
from polygraph.store.protocol import Store
from polygraph.text.prose import count_noun


def import_into(
    folder: Path,
    source: Path,
    settings: Settings,
    models: Models,
    *,
    format: str | None,
    progress: Progress,
    wait_s: float,
) -> BuildReport:
    """Create an index from an export or a graph, completely or not at all; see `Index.import_`.

    Args:
        folder: of the new index.
        source: of the export or graph, or a file of it.
        settings: of the new index.
        models: embedders in use; the chat model is not called.
        format: of the source; None: detected from what it holds.
        progress: called after each item of each stage.
        wait_s: how long to wait while another process is writing.

    Raises:
        BadInput: if there is an index already, or the source cannot be read.
    """
    form = detect_format(source, format)
    # What a chat model wrote comes from the export, and it is not asked again.
    without_chat = replace(models, chat=None)
    build_layers = partial(
        build,
        processes=settings.processes,
        approximate_rows=settings.approximate_rows,
        pgvector_rows=settings.pgvector_rows,
        extract=False,
    )
    if form == "jsonl":
        exported = read_export_manifest(source)
        layers, notes = _rebuildable(exported, models)
        with _new_index(folder, settings, models, wait_s) as (store, filling):
            with filling:
                total = exported.counts["documents"]
                read_jsonl(source, store, lambda done: progress("documents", done, total))
            return _build_exported(store, exported, layers, notes, without_chat, progress, build_layers)
    graph = read_graph(source, form)
    manifest = replace(
        choose_manifest(place_of(folder), None, settings, models, "nlp"),
        extractor=f"imported:{graph.program}:{fingerprint(graph)}",
        extractor_settings={},
        reports="extractive",
    )
    with _new_index(folder, settings, models, wait_s) as (store, filling):
        with filling:
            converted = convert(graph, partial(chunk_document, manifest=manifest, embedder=models.embedder))
            held = store_graph(
                store, graph, converted, manifest, lambda done, total: progress("documents", done, total)
            )
        report = BuildReport(added=held["documents indexed"], source=held)
        build_layers(store, manifest, without_chat, list(DEPENDENCIES), report, progress)
        return _add_notes(store, report, [*graph.import_notes(), *_differences(store.place, graph, report)])


def _build_exported(
    store: Store,
    exported: ExportManifest,
    layers: Sequence[str],
    notes: list[str],
    models: Models,
    progress: Progress,
    build_layers: Callable[..., BuildReport],
) -> BuildReport:
    """Build the layers of an export from its rows, and adopt its reports if their communities are found again."""
    manifest = exported.manifest
    written = "reports" in layers and not manifest.reports.startswith("extractive")
    wanted = [x for x in layers if not (written and x in ("reports", *dependents("reports")))]
    report = BuildReport(added=exported.counts["documents"])
    build_layers(store, manifest, models, wanted, report, progress)
    if written and adopt_reports(store, manifest):
        build_layers(store, manifest, models, layers, report, progress)
    elif written:
        notes.append(
            "the imported reports are not about the communities that were found again, and wait unused. "
            f"Write new ones with: polygraph index --index {quoted(store.place)}"
        )
    report.counts = count_records(store)
    for kind in ("entities", "relations", "communities"):
        before, now = exported.counts[kind], report.counts[kind]
        if before != now and (now or not notes):
            notes.append(f"the export had {before} {kind}, and {now} were found again in its rows")
    return _add_notes(store, report, notes)


def _rebuildable(exported: ExportManifest, models: Models) -> tuple[list[str], list[str]]:
    """Return the layers of an export that can be rebuilt with the embedders in use, and notes on the others."""
    manifest = exported.manifest
    needs = {
        # Names are resolved by the vectors of the name embedder: another one would give another graph.
        "graph": (models.name_embedder, manifest.name_embedder, manifest.name_dimension),
        "chunk_vectors": (models.embedder, manifest.embedder, manifest.dimension),
    }
    layers, notes = list(exported.layers), []
    for layer, (model, name, dimension) in needs.items():
        lost = [each for each in layers if layer in with_dependencies([each])]
        if lost and (model.name, model.dimension) != (name, dimension):
            layers = [each for each in layers if each not in lost]
            notes.append(
                f"{', '.join(lost)} not rebuilt: the export was made with the embedder {name} ({dimension} "
                f"dimensions), and the one in use is {model.name} ({model.dimension}). Import with the former "
                "(settings `embedder` and `name_embedder`)"
            )
    return layers, notes


def _differences(place: str, graph: SourceGraph, report: BuildReport) -> list[str]:
    """Explain what of another program's graph is different in the index."""
    found = []
    pairs = {frozenset((relation.source, relation.target)) for relation in graph.relations}
    names = {entity.name for entity in graph.entities} | {name for pair in pairs for name in pair}
    n, m = report.counts["entities"], report.counts["relations"]
    if (n, m) != (len(names), len(pairs)):
        found.append(
            f"the graph's {count_noun(len(names), 'name')} (those that only relations have included) and "
            f"{count_noun(len(pairs), 'pair')} of related names are {count_noun(n, 'entity')} and "
            f"{count_noun(m, 'relation')} here: names are resolved as those of any index"
        )
    if graph.counts.get("reports"):
        found.append(
            f"{count_noun(graph.counts['reports'], 'report')} left out: reports are about communities that "
            f"{graph.program} found, and those of this index are computed from the rows. "
            "Reports made of sentences stand in their place; with a chat model, have it write them: polygraph "
            f"index --index {quoted(place)}"
        )
    return found


def _add_notes(store: Store, report: BuildReport, notes: Sequence[str]) -> BuildReport:
    """Add notes of an import to those on the graph, until it is built again."""
    with store.transaction():
        store.set_notes("graph", [*store.notes(), *notes])
    report.notes = store.notes()
    return report


@contextmanager
def _new_index(
    folder: Path, settings: Settings, models: Models, wait_s: float
) -> Iterator[tuple[Store, AbstractContextManager[None]]]:
    """Open a new index for writing.

    Yields:
        The store, and a context for filling it: if filling fails, no index is left.

    Raises:
        BadInput: if there is an index already.
    """
    models.calls.embed(models.embedder, ["ready"], "query", stage="check")
    existed = is_begun(folder)
    with open_to_write(folder, settings.durability, wait_s) as store:

        @contextmanager
        def filling() -> Iterator[None]:
            try:
                yield
            except BaseException:
                if not existed:
                    store.delete()
                raise

        if store.manifest() is not None or store.count("documents"):
            raise BadInput(
                f"there is an index at {store.place} already, and an import makes a new one. Name another "
                "folder with --index"
            )
        yield store, filling()
