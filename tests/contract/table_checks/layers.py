"""Checks of what is kept of layers: manifest, values, notes, versions, vectors."""

from functools import partial

import numpy as np

from polygraph.store.layer_folders import folder_of
from polygraph.store.matrix_rows import one_by_one, write_matrix
from polygraph.store.protocol import Store
from polygraph.store.vectors import VectorIndex
from tests.contract.table_checks.expect import expect
from tests.store_records import ENTITIES, MANIFEST, MERGES, RELATIONS, TRICKY, TRIPLES, report


def check_metadata(store: Store) -> None:
    """Manifest, values, notes and layers come back as they were put, and are deleted."""
    expect((store.manifest(), store.meta("k"), store.layers()), (None, None, {}), "a new store is empty")
    with store.transaction():
        store.set_manifest(MANIFEST)
        store.set_meta("k", TRICKY)
        store.set_notes("reports", ["b", "a"])
        store.set_notes("graph", ["a", "c"])
        store.put_layer("graph", "v", 3, 0.5)
        store.put_layer("reports", "w", 1, 0.25)
        store.graph.put(ENTITIES, RELATIONS, TRIPLES, MERGES)
        store.reports.put([report("0-a", 0, "d:0")])
    expect(store.manifest(), MANIFEST, "the manifest comes back as it was put")
    expect(store.meta("k"), TRICKY, "values come back as they were put")
    expect(store.notes(), ["a", "b", "c"], "notes of all layers come once each, sorted")
    expect(
        store.layers(),
        {"graph": ("v", 3, 0.5), "reports": ("w", 1, 0.25)},
        "layers come back as they were put",
    )
    with store.transaction():
        store.set_meta("k", None)
        store.set_notes("reports", [])
        store.forget_layers(["graph"])
    expect(store.meta("k"), None, "None deletes a value")
    expect(store.notes(), ["a", "c"], "notes of a layer are replaced")
    expect(
        (store.layers().keys(), store.count("entities")),
        ({"reports"}, 3),
        "a forgotten layer keeps its tables",
    )
    with store.transaction():
        store.drop_layers(["graph", "reports"])
    expect(
        (
            store.layers(),
            store.notes(),
            store.count("entities"),
            store.count("relations"),
            store.count("reports"),
        ),
        ({}, [], 0, 0, 0),
        "dropped layers are empty",
    )


def check_vectors(store: Store) -> None:
    """Whoever searches the vectors of a layer, the store or its files, finds the same rows with the same scores."""
    vectors = np.eye(5, 4, dtype=np.float32)
    vectors[4] = (0.6, 0.8, 0.0, 0.0)
    folder = folder_of(store.folder, "chunk_vectors", "v")
    write_matrix(folder, "abcde", one_by_one(lambda _: vectors), shape=(5, 4), embedder="test")
    for least in (0, 6, 1):
        with store.transaction():
            store.put_layer("chunk_vectors", "v", 5, 0.5)
            problem = store.put_vectors("chunk_vectors", "v", least)
        expect(
            problem if least != 1 else "",
            "",
            "a layer that is too small, or none, is no problem for the store",
        )
        files = VectorIndex.open(folder)
        opened = store.open_vectors(folder, partial(VectorIndex.open, folder))
        expect(len(opened), 5, "all rows of a layer can be searched")
        for allowed in (None, np.array([False, True, True, False, False])):
            expect(
                opened.search(vectors[4], 3, allowed),
                files.search(vectors[4], 3, allowed),
                "the nearest rows are those of the files, with their scores",
            )
        expect(
            opened.rows(np.array([4, 0])).tolist(), files.rows(np.array([4, 0])).tolist(), "vectors come back"
        )
