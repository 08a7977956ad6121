"""Histories in PostgreSQL: whatever was changed, and on whichever machine, the index is that of SQLite."""

import uuid
from contextlib import closing
from functools import partial

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from polygraph.models import Calls, Models
from polygraph.models.providers.static import HashEmbedder
from polygraph.store.layer_folders import folder_of
from polygraph.store.layers import FILE_LAYERS
from polygraph.store.open_store import open_store
from polygraph.store.portable import PORTABLE_TABLES
from polygraph.store.snapshot import Snapshot
from polygraph.testing import scripted_chat
from polygraph.workspace.index import Index

POOL = {
    "board.txt": "The Harbour Board met in March. Tobias Wren spoke of the Skerry Light. Mara Quill answered him.",
    "courier.txt": "The Halcyon is lost on the Grey Reef. The Harbour Board blames Mara Quill of the Skerry Light.",
    "diary.txt": "Ada Marsh saw Old Tobin on the Grey Reef. Old Tobin had left the Halcyon there with Ezra Pike.",
    "letter.txt": "Mara Quill wrote to Old Tobin. She had built the Skerry Light. Tobias Wren refused to pay.",
}
CHANGED = {
    name: f"{text} Later Ezra Pike bought the lamp from {name[:3].title()} Crane."
    for name, text in POOL.items()
}
NAMES = st.sampled_from(sorted(POOL))
MACHINES = st.sampled_from(["one", "two"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["add", "change", "delete", "remove", "partly"]), NAMES, MACHINES),
        st.tuples(st.just("refresh"), st.just(""), MACHINES),
    ),
    min_size=2,
    max_size=5,
)


def opened(place, chat, **more):
    embedder = HashEmbedder()
    models = Models(chat=chat, embedder=embedder, name_embedder=embedder, reranker=None, calls=Calls(None))
    return Index.open(
        place,
        models=models,
        chunk_tokens=32,
        window_tokens=64,
        description_tokens=40,
        # In the database, pgvector searches vectors of every layer that has any.
        pgvector_rows=1,
        **more,
    )


def put(folder, texts):
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def state(index, place):
    """Everything that an index consists of: exported files, tables, files of layers, found words."""
    index.export(place)
    exported = {path.name: path.read_bytes() for path in sorted(place.iterdir())}
    with closing(open_store(index.folder, mode="read")) as store:
        tables = {name: list(store.dump(name)) for name in PORTABLE_TABLES if name != "meta"}
        layers = {name: layer[:2] for name, layer in store.layers().items()}
        files = {}
        for layer in FILE_LAYERS & set(layers):
            folder = folder_of(index.folder, layer, layers[layer][0])
            store.fetch_files(folder)
            files |= {
                (layer, p.name): p.read_bytes() for p in folder.iterdir() if p.suffix in (".npy", ".csr")
            }
    with closing(Snapshot(index.folder)) as snapshot:
        words = {name: snapshot.search_words(text, 20) for name, text in POOL.items()}
        nearest = {name: found_by_vectors(snapshot, text) for name, text in POOL.items()}
    return {
        "export": exported,
        "tables": tables,
        "layers": layers,
        "files": files,
        "words": words,
        "nearest": nearest,
    }


def found_by_vectors(snapshot, text):
    """The nearest rows of every kind, and those among documents whose id has an o."""
    (vector,) = HashEmbedder().embed([text], "query")
    return [
        search(vector, 20)
        for within in (snapshot, snapshot.where({"id": "*o*"}))
        for layer, search in (
            ("chunk_vectors", within.search_chunks),
            ("entity_vectors", within.search_entities),
            ("name_vectors", within.search_names),
            ("description_vectors", partial(nearest_descriptions, within)),
            ("relation_vectors", within.search_relations),
            ("report_vectors", within.search_reports),
        )
        if layer in snapshot.layers
    ]


def nearest_descriptions(snapshot, vector, k):
    (found,) = snapshot.search_each("description_vectors", vector[None], [k])
    return found


def follow(steps, database_url, base, chat):
    """Do the steps on one index, each on one of two machines; then compare it with one in SQLite of what is left."""
    url = f"{database_url}&schema=h{uuid.uuid4().hex[:12]}"
    texts = {"board.txt": POOL["board.txt"], "letter.txt": POOL["letter.txt"]}
    put(base / "papers", texts)
    machines = {name: opened(url, chat, cache=base / name) for name in ("one", "two")}
    machines["one"].add(base / "papers")
    for kind, name, machine in steps:
        index = machines[machine]
        if kind in ("add", "change", "partly"):
            texts[name] = CHANGED[name] if kind == "change" else POOL[name]
        elif name in texts and len(texts) > 1:
            del texts[name]
            if kind == "remove":
                index.remove(name)
        put(base / "papers", texts)
        if kind == "refresh":
            index.refresh()
        elif kind != "remove":
            index.add(base / "papers", methods=["bm25"] if kind == "partly" else [])
    machines["two"].add(base / "papers")
    machines["two"].refresh()
    with opened(base / "clean", chat) as clean:
        clean.add(base / "papers")
        wanted = state(clean, base / "wanted")
    for name, index in machines.items():
        found = state(index, base / f"export {name}")
        for part, expected in wanted.items():
            assert found[part] == expected, (name, part)
        index.close()


COMMON = {
    "deadline": None,
    "derandomize": True,
    "database": None,
    "phases": (Phase.explicit, Phase.generate, Phase.shrink),
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
}


@settings(max_examples=3, **COMMON)
@example([("add", "diary.txt", "two"), ("remove", "diary.txt", "one"), ("add", "diary.txt", "two")])
@given(STEPS)
def test_any_history_on_two_machines_gives_the_index_of_what_is_left(
    no_parser, database_url, tmp_path_factory, steps
):
    follow(steps, database_url, tmp_path_factory.mktemp("history"), None)


@settings(max_examples=2, **COMMON)
@example([("remove", "letter.txt", "two"), ("change", "board.txt", "one"), ("refresh", "", "two")])
@given(STEPS)
def test_any_history_with_a_model_gives_the_index_of_what_is_left(database_url, tmp_path_factory, steps):
    follow(steps, database_url, tmp_path_factory.mktemp("history"), scripted_chat())


@pytest.mark.deep
@settings(max_examples=60, **COMMON)
@given(STEPS)
def test_any_of_many_histories_gives_the_index_of_what_is_left(
    no_parser, database_url, tmp_path_factory, steps
):
    follow(steps, database_url, tmp_path_factory.mktemp("history"), None)
