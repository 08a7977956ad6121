"""The layer `graph`: extraction, entity resolution, and merging rows into entities, relations and triples."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np

from polygraph.arrays import Table, distinct
from polygraph.errors import NothingExtracted, quoted
from polygraph.extract.resolution.constraints import parse_key
from polygraph.extract.resolution.evidence.predicates import kind_of_predicate
from polygraph.extract.resolution.records import ResolvedRows
from polygraph.extract.resolution.resolve import resolve_rows
from polygraph.graph.cooccurrence import Pruning, join_and_prune
from polygraph.graph.merge.merged_graph import MergedGraph
from polygraph.graph.merge.view import GraphView, view_of
from polygraph.ids import chunk_id
from polygraph.indexing.extraction import extract_pending, why_nothing
from polygraph.indexing.layer_task import LayerTask
from polygraph.indexing.located_names import locate_names, mentioned
from polygraph.indexing.lost_relations import EQUATES
from polygraph.indexing.row_cache import RowCache
from polygraph.indexing.same_entities import decide_undecided
from polygraph.indexing.suggested_pairs import suggest_from_lists
from polygraph.memory import collector_paused, trim_heap
from polygraph.store.atomic_files import write_folder
from polygraph.store.graph_arrays import GraphArrays
from polygraph.store.layers import GRAPH_FILE, UNASKED_KEY
from polygraph.store.protocol import Store
from polygraph.text.normalize import normalize_name


def build_graph(task: LayerTask) -> int:
    """Extract what is pending, resolve entities, and write the graph.

    Raises:
        NothingExtracted: if no entity came out of any text.
    """
    store = task.store
    by_model = task.manifest.by_model
    cache = RowCache(store, store.extractions.decisions("split"), task.manifest.language)
    with closing(cache):
        extract_pending(task, partial(cache.prepare, by_model=by_model))
        task.release_models()
        trim_heap()
        task.after_reading()
        n_entities = _merge_rows(task, cache, by_model=by_model)
    states = store.extractions.states()
    if states.get("failed"):
        task.notes.append(
            f"{states['failed']} of {sum(states.values())} windows could not be extracted; "
            f"see: polygraph status --failed --index {quoted(store.place)}"
        )
    return n_entities


def _merge_rows(task: LayerTask, cache: RowCache, *, by_model: bool) -> int:
    """Resolve entities, write the graph, and return the number of entities."""
    with collector_paused():
        cache.update(task.version, by_model=by_model, rebuild=task.rebuild)
        documents, features = cache.features()
        resolved = _resolve(task, documents, features)
        # Resolution takes as much memory as merging; most of it can be released before.
        features = features.only("written")
        task.release_models()
        trim_heap()
        return _write_graph(task, cache, documents, features, resolved)


def _resolve(task: LayerTask, documents: Sequence[str], features: Table) -> ResolvedRows:
    """Decide which names are one entity."""
    store, models = task.store, task.models
    if not len(features) and store.count("windows"):
        raise NothingExtracted(why_nothing(store))
    task.progress("resolution", 0, 1)
    resolved = resolve_rows(
        documents,
        features,
        embed=lambda texts: models.calls.embed(models.name_embedder, texts, "name", stage="resolution"),
        cannot_link=store.extractions.decisions("split"),
        must_link=store.extractions.decisions("merge"),
        by_model=task.manifest.by_model,
        asks=bool(task.manifest.same),
        suggest=partial(suggest_from_lists, task),
    )
    task.progress("resolution", 1, 1)
    return decide_undecided(task, documents, features, resolved)


def _write_graph(
    task: LayerTask, cache: RowCache, documents: Sequence[str], slots: Table, resolved: ResolvedRows
) -> int:
    """Merge rows by entity, write tables and arrays, and return the number of entities."""
    store = task.store
    first_chunk: dict[str, int] = {}
    chunk_ids: list[str] = []
    for document, n_chunks in store.documents.chunk_counts():
        first_chunk[document] = len(chunk_ids)
        chunk_ids += [chunk_id(document, ordinal) for ordinal in range(n_chunks)]
    merged = MergedGraph(
        cache.rows,
        slots,
        resolved.entity,
        resolved.ids,
        chunk_ids,
        first_chunk=np.array([first_chunk.get(document, 0) for document in documents], dtype=np.int64),
        read_texts=cache.texts,
        by_model=task.manifest.by_model,
        names=_new_names(store, documents, slots, resolved),
    )
    cache.delete_texts_except(merged.text_keys())
    trim_heap()
    pruned = _join(task, view_of(merged)) if task.manifest.extractor.startswith("fast:") else None
    located = locate_names(store, documents, slots, resolved) if task.manifest.by_model else {}
    graph = (pruned or merged).graph()

    def save(folder: Path) -> None:
        graph.save(folder / GRAPH_FILE)
        GraphArrays.of(graph, store.graph).save(folder)

    with store.transaction():
        store.graph.put(
            pruned.entities if pruned else mentioned(merged.entities(), resolved.ids, located),
            pruned.relations if pruned else merged.relations(),
            pruned.triples if pruned else merged.triples(),
            ((m.entity, m.name, m.document, m.rule, m.score, m.other, m.evidence) for m in resolved.merges),
            ((*p.entities, *p.names, p.decision, p.rule, p.score, p.evidence) for p in resolved.pairs),
            _lost(task, documents, merged),
        )
        store.set_meta(UNASKED_KEY, "1" if task.is_unasked else None)
        write_folder(task.folder, save, sealed=True)
    return graph.n


def _new_names(
    store: Store, documents: Sequence[str], slots: Table, resolved: ResolvedRows
) -> Mapping[str, str]:
    """Return the names that users gave to entities, by entity id; of several, the last in their order."""
    wanted = {parse_key(name): new for name, new in sorted(store.extractions.decisions("rename"))}
    found: dict[str, str] = {}
    if not wanted:
        return found
    written = [normalize_name(name) for name in slots.strings["written"]]
    number = {document: n for n, document in enumerate(documents)}
    for key, new in wanted.items():
        rows = np.isin(slots["written"], [n for n, name in enumerate(written) if name == key.name])
        if key.document:
            n = number.get(key.document)
            own = slice(0, 0) if n is None else slice(*slots.offsets[n : n + 2].tolist())
            entities = resolved.entity[own][rows[own]]
        else:
            entities = resolved.entity[rows]
        found.update((resolved.ids[entity], new) for entity in distinct(entities).tolist())
    return found


def _lost(
    task: LayerTask, documents: Sequence[str], merged: MergedGraph
) -> Iterator[tuple[str, int, str, str]]:
    """Yield the relation rows that are in no relation, with their windows."""
    for document, rows in groupby(merged.lost_links(), itemgetter(0)):
        keys = task.store.extractions.relation_keys(documents[document])
        for _, row, reason, entity, predicate in rows:
            equates = entity and kind_of_predicate(predicate) in ("equates", "becomes")
            yield *keys[row], EQUATES if equates else reason, entity


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
