"""`index.sqlite`: whatever is put in comes out again, and goes when its document goes."""

import random
import sqlite3
import threading

import pytest

from polygraph.errors import IndexUnreadable, StorageFailed
from polygraph.records import (
    Chunk,
    Community,
    CountedCommunity,
    Description,
    Document,
    Entity,
    EntityRow,
    Extraction,
    Finding,
    Relation,
    RelationRow,
    Report,
    Span,
    Triple,
    Window,
)
from polygraph.store import report_tables, serialization
from polygraph.store.connection import explain_storage, is_begun
from polygraph.store.database import SqliteStore
from polygraph.store.manifest import Manifest
from polygraph.store.serialization import dump, load_strings, report_from_json, report_to_json

MANIFEST = Manifest(
    chunk_tokens=300, window_tokens=1200, language="en", embedder="e", dimension=4, name_embedder="n",
    name_dimension=2, extractor="nlp:1", extractor_settings={"entity_types": ["person"]}, reports="extractive",
    community_size=10,
)  # fmt: skip
TEXT = "Mara lit the lamp. Tobin slept.\n\nThe fog came."
TRICKY = "a|b \"c\" 'd' \\ \x00 \u202e 灯台 🏮 %s ?"


def chunk(n, start, end, document="d"):
    return Chunk(id=f"{document}:{n}", document=document, ordinal=n, start=start, end=end, text=TEXT[start:end],
                 n_tokens=4, metadata={"page": n})  # fmt: skip


CHUNKS = (chunk(0, 0, 18), chunk(1, 19, 31), chunk(2, 33, 46))
WINDOW = Window(id="d@0", document="d", ordinal=0, title="T", chunks=CHUNKS, text=TEXT)
DOCUMENT = Document(
    id="d", title="T", text=TEXT, metadata={"year": 1871, "tags": ["a", "b"], "none": None}, source="/x/d.txt"
)
EXTRACTION = Extraction(
    window="d@0",
    entities=(
        EntityRow(name="Mara", type="person", description=TRICKY, spans=(Span("d", "d:0", 0, 4),)),
        EntityRow(name=TRICKY),
    ),
    relations=(
        RelationRow(source="Mara", target=TRICKY, predicate="lit", keywords=("x", "y"), description="z",
                    strength=2.5, chunks=("d:0",)),
    ),
    status="repaired",
    problem="cut",
)  # fmt: skip


@pytest.fixture
def store(tmp_path):
    opened = SqliteStore(tmp_path / "index", mode="write")
    yield opened
    opened.close()


@pytest.fixture
def filled(store):
    with store.transaction():
        store.documents.put(DOCUMENT, "/x", CHUNKS, [WINDOW])
        store.extractions.put(EXTRACTION, "nlp:1")
        store.documents.number_chunks()
    return store


def entity(name, *chunks, aliases=(), degree=1):
    told = tuple(Description(f"{name} in {c}", c) for c in chunks)
    return Entity(id=name.lower(), name=name, type="person", aliases=aliases, descriptions=told, chunks=chunks,
                  degree=degree)  # fmt: skip


def relation(a, b, *chunks):
    told = tuple(Description(f"{a} and {b}", c) for c in chunks)
    return Relation(id=f"{a} | {b}", source=a, target=b, predicates=("met", "<-saw"), keywords=("k",),
                    descriptions=told, weight=1.5, chunks=chunks)  # fmt: skip


ENTITIES = [entity("Ada", "d:0", aliases=("Miss Ada",)), entity("Bo", "d:0", "d:1"), entity("Cy", "d:2")]
TRIPLES = [
    Triple(id="bo | saw | ada", source="bo", target="ada", predicate="saw", weight=1.0, chunks=("d:0",)),
    Triple(id="bo | met | cy", source="bo", target="cy", predicate="met", weight=2.0, chunks=("d:1", "d:2")),
]
RELATIONS = [relation("ada", "bo", "d:0"), relation("bo", "cy", "d:1", "d:2")]


# --- round trips ----------------------------------------------------------------------------------------


def test_a_document_with_its_chunks_and_windows_comes_back_as_it_was(filled):
    assert filled.documents.get("d") == DOCUMENT
    assert filled.documents.get("none") is None
    assert filled.documents.chunks_by_row([2, 0]) == [CHUNKS[2], CHUNKS[0]]
    assert filled.documents.chunks_by_id(["d:1", "none", "d:0"]) == [CHUNKS[1], CHUNKS[0]]
    (window,) = filled.extractions.windows(["d@0"])
    assert window == WINDOW
    assert filled.documents.titles(["d", "none"]) == {"d": "T"}
    assert list(filled.documents.headers()) == [("d", "T", DOCUMENT.metadata)]
    assert filled.documents.hashes() == {"d": ("/x", DOCUMENT.hash)}
    assert next(iter(filled.documents.chunk_texts())) == (0, "T", CHUNKS[0].text)


def test_an_extraction_comes_back_as_it_was(filled):
    assert list(filled.extractions.iterate()) == [("d", EXTRACTION)]
    assert filled.extractions.states() == {"repaired": 1}
    assert filled.extractions.failures() == [("d@0", "repaired", "cut", "")]


def test_the_raw_text_of_what_failed_is_kept(filled):
    failed = Extraction(window="d@0", status="failed", problem="prose", raw=TRICKY)
    with filled.transaction():
        filled.extractions.put(failed, "llm:1")
    assert filled.extractions.failures() == [("d@0", "failed", "prose", TRICKY)]
    assert [e.entities for _, e in filled.extractions.iterate()] == [()]


def test_windows_are_pending_for_another_extractor_and_after_a_failure(filled):
    assert filled.extractions.pending("nlp:1") == []
    assert filled.extractions.pending("llm:1") == ["d@0"]
    with filled.transaction():
        filled.extractions.put(Extraction(window="d@0", status="failed"), "nlp:1")
    assert filled.extractions.pending("nlp:1") == ["d@0"]


def test_entities_and_relations_come_back_as_they_were(store):
    with store.transaction():
        store.graph.put(ENTITIES, RELATIONS, TRIPLES, [("ada", "Miss Ada", "d", "alias", 0.9, "Ada")])
    assert list(store.graph.all_entities()) == ENTITIES
    assert list(store.graph.all_relations()) == RELATIONS
    assert store.graph.entities_by_row([2, 0]) == [ENTITIES[2], ENTITIES[0]]
    assert store.graph.relations_by_row([1, 0]) == [RELATIONS[1], RELATIONS[0]]
    assert store.graph.entity_rows(["cy", "none", "ada"]) == {"cy": 2, "ada": 0}
    assert list(store.graph.edges()) == [(0, 1, 1.5), (1, 2, 1.5)]
    assert store.graph.relations_at([1]) == [(0, 0, 1, 1.5), (1, 1, 2, 1.5)]
    assert store.graph.relations_at([0]) == [(0, 0, 1, 1.5)]
    assert store.graph.merges() == [("ada", "Miss Ada", "d", "alias", 0.9, "Ada")]
    assert list(store.graph.all_triples()) == TRIPLES
    assert store.graph.triples_by_row([1, 0]) == [TRIPLES[1], TRIPLES[0]]
    assert store.graph.triples_at([0], ends=["source", "target"]) == [(0, 1, 0)]
    assert store.graph.triples_at([1], ends=["target"]) == []
    assert store.graph.predicates() == ["met", "saw"]
    assert store.graph.triples_with(["saw", "none"]) == [0]
    with store.transaction():
        store.graph.put(ENTITIES[:1], [], [], [])
    assert list(store.graph.all_entities()) == ENTITIES[:1]
    assert list(store.graph.edges()) == []


def test_communities_and_reports_come_back_as_they_were(store, monkeypatch):
    chunks = ("d:0", TRICKY, "\\", '"', '","', "\\\\", "")
    communities = [
        Community(id="0-a", level=0, parent="", entities=("ada", "bo"), chunks=chunks),
        Community(id="1-b", level=1, parent="0-a", entities=("bo",)),
    ]
    report = Report(
        community="0-a", level=0, title=TRICKY, summary="s", rating=7.25, weight=0.5, chunks=("d:0", "d:1"),
        findings=(Finding(summary="f", explanation=TRICKY, chunks=("d:1",)), Finding(summary="g")), written_by="m",
    )  # fmt: skip
    with store.transaction():
        store.reports.put_communities(iter(communities))
        store.reports.put([report])
    assert store.reports.communities() == communities
    counted = [CountedCommunity(c.id, c.level, c.parent, [*c.entities], len(c.chunks)) for c in communities]
    for size in (1, 2, 3, 1000):
        monkeypatch.setattr(report_tables, "PIECE_BYTES", size)
        assert list(store.reports.counted_communities()) == counted
    assert store.reports.communities_of(["bo", "none"]) == [("bo", "0-a"), ("bo", "1-b")]
    assert list(store.reports.all()) == store.reports.get(["none", "0-a"]) == [report]
    assert report_from_json(report_to_json(report)) == report


def test_manifest_notes_layers_and_texts_come_back_as_they_were(store):
    assert store.manifest() is None
    with store.transaction():
        store.set_manifest(MANIFEST)
        store.set_notes("reports", ["b", "a"])
        store.set_notes("graph", ["a", "c"])
        store.put_layer("graph", "v", 3, 0.5)
        store.reports.put_written("k", TRICKY)
        store.documents.set_unread("/x", [("/x/a", "why")])
    assert store.manifest() == MANIFEST
    assert store.notes() == ["a", "b", "c"]
    with store.transaction():
        store.set_notes("reports", [])
    assert store.notes() == ["a", "c"]
    assert store.layers() == {"graph": ("v", 3, 0.5)}
    assert (store.reports.written("k"), store.reports.written("none")) == (TRICKY, None)
    assert store.documents.unread() == [("/x/a", "why")]


def test_an_index_of_a_later_format_is_refused():
    with pytest.raises(IndexUnreadable, match="format 99"):
        Manifest.loads(MANIFEST.dumps().replace('"format": 1', '"format": 99'))


def test_decisions_are_pairs_without_order_and_the_last_one_counts(store):
    with store.transaction():
        store.extractions.decide("apart", "b", "a")
    assert store.extractions.decisions("apart") == {("a", "b")}
    with store.transaction():
        store.extractions.decide("together", "a", "b")
    assert store.extractions.decisions("apart") == frozenset()
    assert store.extractions.decisions("together") == {("a", "b")}


# --- names ----------------------------------------------------------------------------------------------


def test_names_are_found_in_any_spelling_and_namesakes_by_row(store):
    twins = [entity("Ada", "d:0", aliases=("Miss Ada",)), entity("Bo", "d:1")]
    twin = Entity(id="ada (other)", name="Ada", type="", aliases=(), descriptions=(), chunks=("d:2",))
    with store.transaction():
        store.graph.put([*twins, twin], [], [], [])
    assert store.graph.entities_named(["ADA", "miss ada", "Bo", "nobody", ""]) == {
        "ADA": [0, 2], "miss ada": [0], "Bo": [1],
    }  # fmt: skip


def test_more_keys_than_one_statement_takes_are_looked_up(store):
    many = [entity(f"N{n:04}", "d:0") for n in range(1_300)]
    with store.transaction():
        store.graph.put(many, [], [], [])
    assert store.graph.entities_by_row(list(range(1_300)))[-1].name == "N1299"
    assert len(store.graph.entities_named([e.name for e in many])) == 1_300


# --- removing, transactions, readers --------------------------------------------------------------------


def test_removing_a_document_leaves_none_of_its_rows(filled):
    with filled.transaction():
        filled.documents.remove("d")
    for table in ("documents", "chunks", "windows", "entity_rows", "relation_rows"):
        assert filled.count(table) == 0, table


def test_replacing_a_document_leaves_one_of_it(filled):
    with filled.transaction():
        filled.documents.put(DOCUMENT, "/y", CHUNKS[:1], [])
        assert filled.documents.number_chunks() == 1
    assert filled.documents.hashes() == {"d": ("/y", DOCUMENT.hash)}
    assert filled.extractions.pending("llm:1") == []


def test_chunks_are_numbered_by_document_and_place_whatever_came_first(store):
    for name in ("b", "a"):
        with store.transaction():
            chunks = [Chunk(id=f"{name}:{n}", document=name, ordinal=n, start=n, end=n + 1, text="x", n_tokens=1)
                      for n in range(11)]  # fmt: skip
            store.documents.put(Document(id=name, title=name, text="x" * 11), "/", chunks, [])
    with store.transaction():
        assert store.documents.number_chunks() == 22
    assert list(store.documents.chunk_rows())[:12] == [*(f"a:{n}" for n in range(11)), "b:0"]


def test_a_transaction_that_fails_changes_nothing(filled):
    def fail():
        filled.documents.remove("d")
        raise RuntimeError

    with pytest.raises(RuntimeError), filled.transaction():
        fail()
    assert filled.documents.get("d") == DOCUMENT


def test_a_reader_keeps_its_state_and_cannot_write(filled, tmp_path):
    reader = SqliteStore(tmp_path / "index", mode="read")
    with filled.transaction():
        filled.documents.remove("d")
    assert reader.documents.get("d") == DOCUMENT
    with pytest.raises(StorageFailed), reader.transaction():
        reader.documents.remove("d")
    with pytest.raises(sqlite3.Error):
        reader.connection.execute("DELETE FROM documents")
    reader.close()
    late = SqliteStore(tmp_path / "index", mode="read")
    assert late.documents.get("d") is None
    late.close()


def test_reading_from_many_threads_gives_whole_rows(filled):
    wrong = []

    def read():
        wrong.extend(1 for _ in range(50) if filled.documents.chunks_by_row([0, 1, 2]) != list(CHUNKS))

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# --- what is wrong ------------------------------------------------------------------------------------


def test_no_index_names_the_command_that_makes_one(tmp_path):
    with pytest.raises(IndexUnreadable, match="polygraph index PATH"):
        SqliteStore(tmp_path, mode="read")
    assert not is_begun(tmp_path)


def test_an_index_whose_making_was_cut_short_is_made_again(tmp_path):
    sqlite3.connect(tmp_path / "index.sqlite").close()
    assert not is_begun(tmp_path)
    with pytest.raises(IndexUnreadable):
        SqliteStore(tmp_path, mode="read")
    SqliteStore(tmp_path, mode="write").close()
    assert is_begun(tmp_path)
    SqliteStore(tmp_path, mode="read").close()


def test_a_damaged_file_says_how_to_keep_what_was_paid_for(tmp_path):
    (tmp_path / "index.sqlite").write_bytes(b"no database" * 1000)
    for look in (
        is_begun,
        lambda folder: SqliteStore(folder, mode="read"),
        lambda folder: SqliteStore(folder, mode="write"),
    ):
        with pytest.raises(IndexUnreadable, match=r"calls\.sqlite"):
            look(tmp_path)


@pytest.mark.parametrize(
    ("error", "kind", "part"),
    [
        (sqlite3.OperationalError("database or disk is full"), StorageFailed, "Free some space"),
        (OSError(28, "No space left on device"), StorageFailed, "Free some space"),
        (sqlite3.DatabaseError("database disk image is malformed"), IndexUnreadable, "NEW_FOLDER"),
        (sqlite3.OperationalError("attempt to write a readonly database"), StorageFailed, "--index"),
        (PermissionError(13, "Permission denied"), StorageFailed, "--index"),
        (sqlite3.OperationalError("database is locked"), StorageFailed, "try again"),
    ],
)
def test_errors_of_the_storage_say_what_to_do(error, kind, part, tmp_path):
    told = explain_storage(error, tmp_path)
    assert isinstance(told, kind)
    assert part in str(told)
    assert str(tmp_path) in str(told)


@pytest.mark.parametrize("part", [1, 4, 11, 1 << 16])
def test_a_list_of_strings_is_read_in_parts_whatever_they_hold(part, monkeypatch):
    monkeypatch.setattr(serialization, "PART", part)
    chance, n_parts = random.Random(1), 0
    for _ in range(500):
        strings = [
            "".join(chance.choices('",\\[]aü\n', k=chance.randint(0, 4))) for _ in range(chance.randint(0, 9))
        ]
        found = list(load_strings(dump(strings)))
        assert [string for some in found for string in some] == strings
        n_parts = max(n_parts, len(found))
    assert (n_parts > 1) == (part < 1 << 16)


@pytest.mark.parametrize("text", ['["a","b"', '["a","b"]]', '["a""b","c"]', None])
def test_a_damaged_list_of_strings_is_an_error_that_says_so(text, monkeypatch):
    monkeypatch.setattr(serialization, "PART", 2)
    with pytest.raises(IndexUnreadable, match="damaged"):
        list(load_strings(text))
