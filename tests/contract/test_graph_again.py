"""The graph after any changes of the rows is the graph of these rows, number for number and byte for byte."""

import random
import shutil
import sqlite3
from dataclasses import replace
from functools import partial

import pytest

from polygraph.errors import IndexUnreadable
from polygraph.indexing.build import build
from polygraph.indexing.cleanup import delete_old_files
from polygraph.indexing.progress import BuildReport
from polygraph.models import Calls, Models
from polygraph.models.providers.static import HashEmbedder
from polygraph.records import Chunk, Document, EntityRow, Extraction, RelationRow, Span, Window
from polygraph.store.database import SqliteStore
from polygraph.store.extractions import ExtractionTables
from polygraph.store.graph_tables import GraphTables
from polygraph.store.layer_folders import folder_of
from polygraph.store.layers import REVISION_KEY, versions
from tests import store_records

TABLES = (
    "entities",
    "names",
    "relations",
    "triples",
    "merges",
    "name_pairs",
    "lost_relations",
    "reread",
    "meta",
)
DOCUMENTS = ("a", "b", "b|c", "d")
NAMES = (
    "Captain Thomas Quill",
    "Thomas Quill",
    "Mr. Quill",
    "Quill",
    "Mrs. Anna Quill",
    "Anna",
    "Halcyon",
    "the Halcyon's",
    "Harbour Board",
    "HB",
    "Fezziwig Ball",
    "Fezziwigg Ball",
    "lighthouses",
    "lighthouse",
    "—",
)
BETWEEN = "- | -"
"""A name that holds what stands between the two names of a relation."""
PARTS = (("arrays.BATCH", 3), ("indexing.row_cache.TEXTS_AT_ONCE", 2))
"""How much is worked on at once."""
SAID = (
    "",
    "It was Thomas Quill, the pilot, born 1820.",
    "Thomas Quill (1871-1902) was a photographer; the other Thomas Quill was not.",
    "Mrs. Anna Quill, a widow, met the Harbour Board (HB).",
    "The Halcyon struck the reef.",
    " The Halcyon struck the reef. ",
)
DECISIONS = (
    ("split", "Thomas Quill @ a", "Thomas Quill @ b"),
    ("split", "Halcyon", "the Halcyon's"),
    ("merge", "Halcyon", "Harbour Board"),
    ("split", "Halcyon", "Harbour Board"),
    ("split", "Thomas Quill @ *", "Thomas Quill @ *"),
    ("split", "Halcyon # *", "Halcyon # *"),
    ("merge", "Thomas Quill @ a", "Thomas Quill @ b"),
    ("rename", "thomas quill", "Tom the Pilot"),
    ("rename", "thomas quill @ b", "Tom the Painter"),
    ("rename", "halcyon", "HMS Halcyon"),
)
MANIFEST = replace(
    store_records.MANIFEST,
    chunk_tokens=40,
    window_tokens=80,
    embedder="hashed-spelling-256",
    dimension=256,
    name_embedder="hashed-spelling-256",
    name_dimension=256,
    extractor="llm:none",
    extractor_settings={},
)


def rows(chance, document):
    """What was read from the two windows of a document, of two chunks each."""
    found = []
    known = (*NAMES, BETWEEN) if chance.random() < 0.05 else NAMES
    for w in range(2):
        chunks = [f"{document}:{2 * w}", f"{document}:{2 * w + 1}"]
        names = chance.choices(known, k=chance.randint(1, 4))
        entities = tuple(
            EntityRow(
                name=name,
                type=chance.choice(["person", "", "place", "ship"]),
                description=chance.choice(SAID),
                spans=tuple(
                    Span(document, chance.choice(chunks), start := chance.randint(0, 3), start + 1)
                    for _ in range(chance.randint(0, 2))
                ),
            )
            for name in names
        )
        relations = tuple(
            RelationRow(
                source=chance.choice([*names, "Nobody"]),
                target=chance.choice(names),
                predicate=chance.choice(["", "met", "paid"]),
                keywords=chance.choice([(), ("debt",), ("oil", "lamp", "debt", "sea")]),
                description=chance.choice(SAID),
                strength=chance.choice([0.1, 0.2, 0.3, 1.0, 7.0]),
                chunks=chance.choice([(), (chunks[0],), tuple(chunks)]),
            )
            for _ in range(chance.randint(0, 3))
        )
        found.append(Extraction(window=f"{document}@{w}", entities=entities, relations=relations))
    return found


def put(store, document, extractions):
    chunks = [
        Chunk(
            id=f"{document}:{n}",
            document=document,
            ordinal=n,
            start=9 * n,
            end=9 * n + 8,
            text="x" * 8,
            n_tokens=1,
        )
        for n in range(4)
    ]
    windows = [
        Window(
            id=f"{document}@{w}",
            document=document,
            ordinal=w,
            title="",
            chunks=tuple(chunks[2 * w : 2 * w + 2]),
            text="",
        )
        for w in range(2)
    ]
    text = f"what {document} says"
    with store.transaction():
        # As if another text had been read.
        store.set_meta(REVISION_KEY, str(int(store.meta(REVISION_KEY) or "0") + 1))
        store.documents.put(Document(id=document, title="", text=text, source=""), "", chunks, windows)
        for extraction in extractions:
            store.extractions.put(extraction, MANIFEST.extractor)


def reread(store, left, chance):
    """Have a window of a document say something else in one place, as `retry` may."""
    document = chance.choice(sorted(left))
    w = chance.randrange(len(left[document]))
    window = left[document][w]
    entities, relations = list(window.entities), list(window.relations)
    kind = chance.choice(["entity", "relation", "relation"])
    if kind == "relation" and relations:
        i = chance.randrange(len(relations))
        row = relations[i]
        what = chance.choice(
            [
                {"predicate": "met" if row.predicate != "met" else "paid"},
                {"keywords": ("oil",) if row.keywords != ("oil",) else ()},
                {"strength": row.strength + 0.7},
                {"description": f"{row.description} Then it rained."},
                {"source": row.target, "target": row.source},
                {"chunks": (f"{document}:{2 * w + 1}",)},
            ]
        )
        relations[i] = replace(row, **what)
    elif entities:
        i = chance.randrange(len(entities))
        row = entities[i]
        what = chance.choice(
            [
                {"type": "ship" if row.type != "ship" else "person"},
                {"description": f"{row.description} Then it rained."},
                {"spans": tuple(replace(span, start=5 - span.start) for span in row.spans)},
                {"spans": (*row.spans, Span(document, f"{document}:{2 * w}", 7, 8))},
            ]
        )
        entities[i] = replace(row, **what)
    left[document] = list(left[document])
    left[document][w] = replace(window, entities=tuple(entities), relations=tuple(relations))
    with store.transaction():
        store.extractions.reset([window.window])
        store.set_meta(REVISION_KEY, str(int(store.meta(REVISION_KEY) or "0") + 1))
        store.extractions.put(left[document][w], MANIFEST.extractor)


def made(store):
    embedder = HashEmbedder()
    models = Models(chat=None, embedder=embedder, name_embedder=embedder, reranker=None, calls=Calls(None))
    build(store, MANIFEST, models, ["graph"], BuildReport(), lambda *_: None)


def shown(store):
    db = sqlite3.connect(store.folder / "index.sqlite")
    found = {table: db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in TABLES[:-2]}
    found |= {table: db.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in TABLES[-2:]}
    db.close()
    folder = folder_of(store.folder, "graph", versions(store, MANIFEST)["graph"])
    return found | {"graph": (folder / "adjacency.csr").read_bytes()}


def follow(base, seed, monkeypatch):
    for name, size in PARTS if seed % 2 else ():
        monkeypatch.setattr(f"polygraph.{name}", size)
    chance = random.Random(seed)
    store = SqliteStore(base / "index", mode="write")
    left, decided = {d: rows(chance, d) for d in DOCUMENTS[:2]}, []
    for document, extractions in left.items():
        put(store, document, extractions)
    for _ in range(chance.randint(2, 6)):
        if chance.random() < 0.8:
            made(store)
            assert store.extractions.changed_documents() == []
        what = chance.choice(
            ["put", "remove", "reread", "reread", "reread", "decide", "decide", "undo", "lose"]
        )
        if what == "put":
            document = chance.choice(DOCUMENTS)
            left[document] = rows(chance, document)
            put(store, document, left[document])
        elif what == "remove" and len(left) > 1:
            document = chance.choice(sorted(left))
            del left[document]
            with store.transaction():
                store.documents.remove(document)
        elif what == "reread":
            reread(store, left, chance)
        elif what == "decide":
            decided.append(chance.choice(DECISIONS))
            with store.transaction():
                store.extractions.decide(*decided[-1])
        elif what == "undo" and decided:
            n = chance.randrange(len(decided))
            del decided[n]
            with store.transaction():
                store.extractions.undo_decision(store.extractions.decision_log()[n][0])
        elif what == "lose" and chance.random() < 0.3:
            shutil.rmtree(base / "index" / "derived", ignore_errors=True)
    made(store)
    monkeypatch.undo()
    clean = SqliteStore(base / "clean", mode="write")
    for document, extractions in left.items():
        put(clean, document, extractions)
    with clean.transaction():
        clean.set_meta(REVISION_KEY, store.meta(REVISION_KEY))
        for decision in decided:
            clean.extractions.decide(*decision)
    made(clean)
    ours, theirs = shown(store), shown(clean)
    for table, wanted in theirs.items():
        assert ours[table] == wanted, (seed, table)
    store.close()
    clean.close()


@pytest.mark.parametrize(
    "seeds",
    [
        range(10),
        pytest.param(range(10, 25), marks=pytest.mark.slow),
        pytest.param(range(25, 1000), marks=pytest.mark.deep),
    ],
)
def test_the_graph_follows_its_rows_whatever_was_kept_and_however_little_is_worked_on_at_once(
    seeds, tmp_path, monkeypatch
):
    for seed in seeds:
        follow(tmp_path / str(seed), seed, monkeypatch)
        shutil.rmtree(tmp_path / str(seed))


@pytest.mark.parametrize(
    ("tables", "stop"),
    [(GraphTables, "put"), (SqliteStore, "put_layer"), (ExtractionTables, "clear_changed")],
)
def test_a_graph_whose_writing_was_cut_short_is_made_whole(tables, stop, tmp_path, monkeypatch):
    store = SqliteStore(tmp_path / "index", mode="write")
    row = partial(EntityRow, spans=(Span("a", "a:0", 0, 4),))
    put(store, "a", [Extraction(window="a@0", entities=(row(name="Orme"), row(name="Halcyon")))])
    made(store)
    put(
        store,
        "b",
        [Extraction(window="b@0", entities=(EntityRow(name="Anna", spans=(Span("b", "b:0", 0, 4),)),))],
    )
    real = getattr(tables, stop)

    def stopped(self, *args, **kwargs):
        real(self, *args, **kwargs)
        raise KeyboardInterrupt

    monkeypatch.setattr(tables, stop, stopped)
    with pytest.raises(KeyboardInterrupt):
        made(store)
    monkeypatch.undo()
    with store.transaction():
        store.documents.remove("a")
    made(store)
    assert [entity.id for entity in store.graph.all_entities()] == ["anna"]
    store.close()


def spoil_settings(file):
    db = sqlite3.connect(file)
    db.execute("UPDATE about SET value = 'other' WHERE key = 'settings'")
    db.commit()
    db.close()


def spoil_pages(file):
    data = bytearray(file.read_bytes())
    data[4096:] = bytes(len(data) - 4096)
    file.write_bytes(data)


@pytest.mark.parametrize(
    "spoil",
    [
        spoil_settings,
        spoil_pages,
        lambda file: file.write_bytes(b"no database"),
        lambda file: file.write_bytes(b""),
        lambda file: file.unlink(),
    ],
)
def test_a_cache_of_rows_that_is_of_another_form_or_damaged_is_written_again(spoil, tmp_path):
    store = SqliteStore(tmp_path / "index", mode="write")
    row = partial(EntityRow, spans=(Span("a", "a:0", 0, 4),))
    put(store, "a", [Extraction(window="a@0", entities=(row(name="Orme"), row(name="Halcyon")))])
    made(store)
    wanted = shown(store)["entities"]
    cache = tmp_path / "index" / "derived" / "rows.sqlite"
    spoil(cache)
    with store.transaction():
        store.forget_layers(["graph"])
    made(store)
    assert shown(store)["entities"] == wanted
    assert len(sqlite3.connect(cache).execute("SELECT id FROM documents").fetchall()) == 1
    store.close()


def test_damaged_rows_of_a_document_are_an_error_that_says_what_to_do(tmp_path):
    store = SqliteStore(tmp_path / "index", mode="write")
    row = partial(EntityRow, spans=(Span("a", "a:0", 0, 4),))
    put(store, "a", [Extraction(window="a@0", entities=(row(name="Orme"), row(name="Halcyon")))])
    made(store)
    cache = tmp_path / "index" / "derived" / "rows.sqlite"
    db = sqlite3.connect(cache)
    ((rows,),) = db.execute("SELECT links FROM documents")
    db.execute("UPDATE documents SET links = ?", (rows[:-1] + bytes([rows[-1] ^ 1]),))
    db.commit()
    db.close()
    with store.transaction():
        store.forget_layers(["graph"])
    with pytest.raises(IndexUnreadable, match=r"rows\.sqlite is damaged.*Delete it and run"):
        made(store)
    cache.unlink()
    made(store)
    store.close()


def test_texts_of_documents_that_are_gone_leave_the_cache(tmp_path):
    store = SqliteStore(tmp_path / "index", mode="write")
    for document in ("a", "b"):
        row = EntityRow(
            name="Orme", description=f"Said by {document}.", spans=(Span(document, f"{document}:0", 0, 4),)
        )
        put(store, document, [Extraction(window=f"{document}@0", entities=(row,))])
    made(store)
    with store.transaction():
        store.documents.remove("a")
    made(store)
    db = sqlite3.connect(tmp_path / "index" / "derived" / "rows.sqlite")
    assert db.execute("SELECT text FROM texts").fetchall() == [("Said by b.",)]
    assert db.execute("SELECT id FROM documents").fetchall() == [("b",)]
    db.close()
    with store.transaction():
        store.drop_layers(["graph"])
    delete_old_files(store, MANIFEST)
    assert list((tmp_path / "index" / "derived").glob("rows*")) == []
    store.close()
