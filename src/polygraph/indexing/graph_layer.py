"""The layer `graph`: extraction, entity resolution, and merging rows into entities, relations and triples."""

from polygraph.columnar import Columns
from polygraph.columnar.memory import give_back
from polygraph.errors import NothingExtracted
from polygraph.extract.resolution.records import ResolvedRows
from polygraph.extract.resolution.resolve import resolve_rows
from polygraph.graph.chunk_numbers import Chunks
from polygraph.graph.cooccurrence import Pruning, join_and_prune
from polygraph.graph.merge.diff import moves
from polygraph.graph.merge.merge import Merged
from polygraph.graph.merge.view import GraphView, no_collection, view_of
from polygraph.indexing.extraction import extract_pending, why_nothing
from polygraph.indexing.layer_task import LayerTask
from polygraph.store.atomic_files import write_folder
from polygraph.store.layers import GRAPH_FILE
from polygraph.store.row_cache import Rows, keep_rows, rows_of, sweep_rows, write_former

_MANY_ROWS = 100_000
"""Entity rows from which on it pays to search for all memory that can be released."""


def build_graph(task: LayerTask) -> int:
    """Extract what is pending, resolve entities, and write the graph.

    Raises:
        NothingExtracted: if no entity came out of any text.
    """
    store = task.store
    extract_pending(task)
    give_back()
    with no_collection():
        rows = rows_of(
            store,
            task.version,
            store.extractions.decisions("apart"),
            task.manifest.language,
            again=task.rebuild,
        )
        # Reading leaves as much memory to release as resolution takes, and so does resolution before merging.
        many = len(rows.columns["names"]) > _MANY_ROWS
        give_back(thorough=many)
        resolved = _resolve(task, rows.columns)
        give_back(thorough=many)
        n_entities = _write_graph(task, rows, resolved)
    states = store.extractions.states()
    if states.get("failed"):
        task.notes.append(
            f"{states['failed']} of {sum(states.values())} windows could not be extracted; "
            "see: polygraph status --failed"
        )
    return n_entities


def _resolve(task: LayerTask, columns: Columns) -> ResolvedRows:
    """Decide which names are one entity."""
    store, models = task.store, task.models
    if not len(columns["names"]) and store.count("windows"):
        raise NothingExtracted(why_nothing(store))
    task.progress("resolution", 0, 1)
    resolved = resolve_rows(
        columns,
        embed=lambda texts: models.calls.embed(models.name_embedder, texts, "name", stage="resolution"),
        cannot_link=store.extractions.decisions("apart"),
        must_link=store.extractions.decisions("together"),
        folder=task.scratch,
    )
    task.progress("resolution", 1, 1)
    return resolved


def _write_graph(task: LayerTask, rows: Rows, resolved: ResolvedRows) -> int:
    """Merge rows by entity, write tables and arrays, and return the number of entities."""
    store = task.store
    chunks = Chunks(store.documents.chunk_counts())
    merged = Merged(
        rows.columns,
        resolved.entity,
        resolved.ids,
        chunks,
        first_chunk=chunks.first_of(rows.columns.documents),
        folder=task.scratch,
    )
    pruned = _join(task, view_of(merged)) if task.manifest.extractor.startswith("fast:") else None
    write_former(store, rows, None if pruned else merged)
    graph = (pruned or merged).graph()
    write_folder(task.folder, lambda folder: graph.save(folder / GRAPH_FILE), sealed=True)
    kept = moves(rows.former, merged, task.scratch) if rows.former and not pruned else None
    view = pruned or merged.changed(kept)
    with store.transaction():
        store.graph.put(
            view.entities,
            view.relations,
            view.triples,
            ((m.entity, m.name, m.document, m.rule, m.score, m.other) for m in resolved.merges),
            kept=kept,
        )
        keep_rows(store, rows)
    sweep_rows(store)
    return graph.n


def _join(task: LayerTask, view: GraphView) -> GraphView:
    """Build the pruned co-occurrence graph for an extractor without relations."""
    pruning = Pruning(**task.manifest.extractor_settings)
    joined = join_and_prune(view, task.store.count("chunks"), pruning)
    if view.entities and not joined.entities:
        task.notes.append(
            f"all {len(view.entities)} noun phrases were pruned, since none stands in {pruning.min_frequency} "
            "passages beside another: the graph is empty. Few or short documents are read better with: "
            "--extractor nlp"
        )
    return joined
