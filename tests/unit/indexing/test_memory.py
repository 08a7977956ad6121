"""What the layer `graph` holds in memory while it merges rows."""

import tracemalloc

import numpy as np
import pytest

from polygraph import arrays
from polygraph.extract.nlp import dependency_trees
from polygraph.graph.merge.merged_graph import MergedGraph
from polygraph.graph.merge.rows import COLUMNS, RowsBuilder
from polygraph.indexing import graph_layer, layer_task
from polygraph.models import Calls, Models, Releasable
from polygraph.models.providers.static import HashEmbedder
from polygraph.workspace.index import Index

TEXT = "Tobias Wren met Patience Orme at Skerry Light. Patience Orme paid Tobias Wren for the lamp."


class LoadedEmbedder(HashEmbedder):
    """An embedder that is loaded when it is first used."""

    loaded = False

    def embed(self, texts, kind):
        self.loaded = True
        return super().embed(texts, kind)

    def count(self, texts):
        self.loaded = True
        return super().count(texts)

    def release(self):
        self.loaded = False


def loaded_in_steps(tmp_path, monkeypatch):
    """Build a graph; return which of parser, embedder and name embedder were loaded as its last two steps began."""
    embedder, name_embedder = LoadedEmbedder(), LoadedEmbedder()
    seen = {}

    def noting(step, function):
        def call(*args, **kwargs):
            parser = bool(dependency_trees.load_pipeline.cache_info().currsize)
            seen[step] = [parser, embedder.loaded, name_embedder.loaded]
            return function(*args, **kwargs)

        return call

    def resolve_and_embed(*args, embed, **kwargs):
        embed(["Tobias Wren"])
        return resolve_rows(*args, embed=embed, **kwargs)

    resolve_rows = graph_layer.resolve_rows
    monkeypatch.setattr(graph_layer, "resolve_rows", noting("resolution", resolve_and_embed))
    monkeypatch.setattr(graph_layer, "MergedGraph", noting("merge", MergedGraph))
    (tmp_path / "a.txt").write_text(TEXT)
    models = Models(
        chat=None, embedder=embedder, name_embedder=name_embedder, reranker=None, calls=Calls(None)
    )
    with Index.open(tmp_path / "index", models=models, processes=1) as index:
        index.add(tmp_path / "a.txt")
    return seen


@pytest.mark.slow
def test_a_large_index_is_merged_without_parser_and_models(tmp_path, monkeypatch):
    monkeypatch.setattr(layer_task, "LARGE", 1)
    none = [False, False, False]
    assert loaded_in_steps(tmp_path, monkeypatch) == {"resolution": none, "merge": none}


def test_a_small_index_keeps_its_models(tmp_path, monkeypatch):
    merge = loaded_in_steps(tmp_path, monkeypatch)["merge"]
    assert merge == [dependency_trees.installed(), True, True]


def test_a_model_that_was_released_is_loaded_again():
    pytest.importorskip("tokenizers", reason="the extra 'local' is not installed")
    static = pytest.importorskip("polygraph.models.providers.static")
    try:
        embedder = static.WordLlamaEmbedder()
    except static.MissingExtra:
        pytest.skip("the extra 'local' is not installed")
    assert isinstance(embedder, Releasable)
    before = embedder.embed(["Tobias Wren"], "name")
    embedder.release()
    assert np.array_equal(embedder.embed(["Tobias Wren"], "name"), before)


def test_merging_a_relation_row_takes_less_than_55_bytes_beside_its_columns(monkeypatch):
    # Parts are small against the whole, as they are in a large index.
    monkeypatch.setattr(arrays, "BATCH", 4096)
    n, n_entities = 200_000, 64
    rng = np.random.default_rng(0)
    slots = arrays.TableBuilder({"written": "s"})
    slots.add({"written": [f"n{i}" for i in range(n_entities)]})
    rows = {
        "mentions": {
            "slot": list(range(n_entities)),
            "type": [None] * n_entities,
            **{column: [1] * n_entities for column in ("n", "n_chunks")},
            **{column: [0] * n_entities for column in ("start", "text", "chunks")},
        },
        "links": {
            "source": rng.integers(n_entities, size=n).tolist(),
            "target": rng.integers(n_entities, size=n).tolist(),
            "predicate": [f"p{i}" for i in rng.integers(5, size=n).tolist()],
            "keywords": [None] * n,
            "strength": [1.0] * n,
            "n_chunks": [1] * n,
            "text": list(range(1, n + 1)),
            "chunks": [0] * n,
        },
    }
    loaded = {}
    for kind in COLUMNS:
        builder = RowsBuilder(kind)
        builder.add(rows[kind])
        loaded[kind] = builder.rows()
        del builder
    slot_table = slots.table()
    del rows, slots
    ids = [f"n{i:03}" for i in range(n_entities)]
    tracemalloc.start()
    try:
        MergedGraph(
            loaded.pop,
            slot_table,
            np.arange(n_entities, dtype=np.int32),
            ids,
            ["a:0"],
            first_chunk=np.zeros(1, dtype=np.int64),
            read_texts=lambda _: {},
        )
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 55 * n
