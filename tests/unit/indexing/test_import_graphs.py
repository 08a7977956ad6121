"""Graphs of other programs in every form, made by hand so that each place and strength can be worked out."""

import json
import random
from pathlib import Path

import pytest

from polygraph import Index
from polygraph.errors import BadInput, IndexLocked, IndexMismatch, MissingExtra
from polygraph.indexing import vector_layers
from polygraph.indexing.exchange.exporters.folder import VERSION
from polygraph.indexing.exchange.importers import safe_read
from polygraph.indexing.exchange.importers.align_text_units import NO_UNIT, overlap
from polygraph.indexing.exchange.importers.convert import convert
from polygraph.indexing.exchange.importers.detect import IMPORTS, detect_format, read_graph
from polygraph.indexing.exchange.importers.source_graph import SourceGraph
from polygraph.ingest.chunk import chunk
from polygraph.models import Calls, Models
from polygraph.models.providers.static import HashEmbedder
from polygraph.store.database import SqliteStore
from polygraph.store.lock import writing
from polygraph.testing import scripted_chat

LETTER = "Mara Quill built the Skerry Light in 1871. The Harbour Board would not pay for the lamp."
LOG = "The Halcyon struck the Grey Reef. Old Tobin brought her crew ashore in two boats."


def words(texts):
    return [len(text.split()) for text in texts]


def converted(graph, max_tokens=300):
    return list(convert(graph, lambda document: chunk(document, words, max_tokens=max_tokens)))


def offline(folder, **more):
    return Index.open(folder, embedder="hash", name_embedder="hash", reranker="none", offline=True, **more)


def dump(path, value):
    path.write_text(json.dumps(value), encoding="utf-8")


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def graphml(nodes, edges):
    """As networkx writes it: attributes are declared once and meant by number."""
    names = ["entity_type", "description", "source_id", "weight", "keywords", "clusters"]
    keys = "".join(
        f'<key id="d{i}" for="all" attr.name="{name}" attr.type="string"/>' for i, name in enumerate(names)
    )

    def data(row):
        return "".join(f'<data key="d{names.index(k)}">{v}</data>' for k, v in row.items())

    body = "".join(f'<node id="{i}">{data(row)}</node>' for i, row in nodes)
    body += "".join(f'<edge source="{a}" target="{b}">{data(row)}</edge>' for a, b, row in edges)
    return (
        '<?xml version="1.0" encoding="utf-8"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        f'{keys}<graph edgedefault="undirected">{body}</graph></graphml>'
    )


def lightrag(folder, **more):
    folder.mkdir(parents=True, exist_ok=True)
    nodes = [
        ("Mara Quill", {"entity_type": "person", "description": "Built the light.", "source_id": "c1"}),
        (
            "Halcyon",
            {
                "entity_type": "ship",
                "description": "Struck a reef.&lt;SEP&gt;Is paid for by the Harbour Board.",
                "source_id": "c1&lt;SEP&gt;c2",
            },
        ),
        ("Old Tobin", {"entity_type": "UNKNOWN", "description": "Saved the crew.", "source_id": "c2"}),
    ]
    edges = [
        (
            "Old Tobin",
            "Halcyon",
            {
                "weight": "9.0",
                "description": "Its master.",
                "keywords": "command, rescue",
                "source_id": "c1&lt;SEP&gt;c2",
            },
        )
    ]
    (folder / "graph_chunk_entity_relation.graphml").write_text(graphml(nodes, edges), encoding="utf-8")
    chunks = {
        "c1": {"content": LETTER, "full_doc_id": "doc-1", "chunk_order_index": 0, "tokens": 17},
        "c2": {"content": LOG, "full_doc_id": "doc-1", "chunk_order_index": 1, "tokens": 15},
    }
    dump(folder / "kv_store_text_chunks.json", more.get("chunks", chunks))
    if more.get("documents", True):
        dump(
            folder / "kv_store_full_docs.json",
            {"doc-1": {"content": f"{LETTER}\n\n{LOG}\n", "file_path": "/home/somebody/papers/log.md"}},
        )
    return folder


def triples(folder):
    folder.mkdir()
    lines(
        folder / "corpus.jsonl",
        [{"id": "letter", "title": "Letter", "text": LETTER}, {"id": "log", "title": "Log", "text": LOG}],
    )
    lines(
        folder / "openie.jsonl",
        [
            {
                "doc_id": "letter",
                "entities": ["Mara Quill", "Skerry Light", "1871"],
                "triples": [
                    ["Mara Quill", "Built", "Skerry Light"],
                    ["Harbour Board", "refused"],
                    ["Harbour Board", "did not pay for", "lamp"],
                ],
            },
            {
                "doc_id": "log",
                "entities": ["Halcyon"],
                "triples": [["Halcyon", "struck", "Grey Reef"], None, 7],
            },
        ],
    )
    return folder


def tables(folder, corpus=True):
    folder.mkdir()
    if corpus:
        lines(folder / "corpus.jsonl", [{"id": "letter", "text": LETTER}, {"id": "log", "text": LOG}])
    (folder / "entities.csv").write_text(
        "name,type,description,documents\n"
        'Mara Quill,Person,"Keeper, ""of"" the light",letter\n'
        "Halcyon,Ship,,log;letter\n",
        encoding="utf-8",
    )
    (folder / "relations.csv").write_text(
        "source,target,predicate,keywords,weight,documents\n"
        "Mara Quill,Skerry Light,Built,light; work,2.5,letter\n"
        "Halcyon,Grey Reef,,,,\n"
        "Halcyon,Old Tobin,,,-3,log\n",
        encoding="utf-8",
    )
    return folder


# --- LightRAG -------------------------------------------------------------------------------------------


def test_a_lightrag_folder_is_read_with_its_documents_chunks_and_separators(tmp_path):
    graph = read_graph(lightrag(tmp_path / "g"), "lightrag")
    assert graph.program == "lightrag"
    assert [(e.name, e.type, e.units) for e in graph.entities] == [
        ("Mara Quill", "person", ("c1",)),
        ("Halcyon", "ship", ("c1", "c2")),
        ("Old Tobin", "", ("c2",)),
    ]
    (relation,) = graph.relations
    assert (relation.keywords, relation.strength, relation.predicate) == (("command", "rescue"), 9.0, "")
    (each,) = converted(graph, max_tokens=12)
    assert each.document.id == "log.md"  # the file's name, not where it lay
    # Each of the four sentences is a chunk; two of them make the window of each text unit.
    assert [[c.ordinal for c in window.chunks] for window in each.windows] == [[0, 1], [2, 3]]
    first, second = each.extractions
    # "Is paid for by the Harbour Board" shares words with the letter, "Struck a reef" with the log.
    assert [(row.name, row.description) for row in first.entities] == [
        ("Mara Quill", "Built the light."),
        ("Halcyon", "Is paid for by the Harbour Board."),
        ("Old Tobin", ""),  # named by the relation of this unit, and described in the other
    ]
    assert [(row.name, row.description) for row in second.entities] == [
        ("Halcyon", "Struck a reef."),
        ("Old Tobin", "Saved the crew."),
    ]
    assert [x.relations[0].strength for x in (first, second)] == [4.5, 4.5]
    # The Halcyon stands in the third chunk and Tobin in the fourth: the one that shares most words with the relation.
    assert second.relations[0].chunks == (each.chunks[3].id,)
    text = each.document.text
    assert text[second.entities[1].spans[0].start : second.entities[1].spans[0].end] == "Old Tobin"


def test_chunks_without_their_document_are_joined_without_what_they_repeat(tmp_path):
    whole = " ".join(f"Sentence number {i} of the log is here." for i in range(30))
    a, b, c = whole[:500], whole[420:900], whole[850:]
    chunks = {
        "c2": {"content": b, "full_doc_id": "doc-7", "chunk_order_index": 1},
        "c1": {"content": a, "full_doc_id": "doc-7", "chunk_order_index": 0},
        "c3": {"content": c, "full_doc_id": "doc-7", "chunk_order_index": 2},
    }
    graph = read_graph(lightrag(tmp_path / "g", chunks=chunks, documents=False), "lightrag")
    (each,) = converted(graph, max_tokens=16)
    # Units are trimmed, so a space at a cut may be lost, but nothing stands there twice.
    assert each.document.text.split() == whole.split()
    assert len(each.windows) == 3
    assert any("1 document joined from text units" in note for note in graph.import_notes())


def test_an_overlap_is_the_longest_that_agrees_to_the_letter():
    assert overlap("aa" * 30, "aa" * 40) == 60
    assert overlap("x" + "ab" * 20, "ab" * 20 + "y") == 40
    assert overlap("the quick brown fox jumps over", "a quick brown fox jumps over") == 0
    text = "".join(random.Random(1).choices("ab", k=9_000))
    for n in (20, 21, 333, 4_000):
        longest = max(
            k for k in range(4_001) if text[4_500 - n :].startswith(text[4_500 - k : 4_500]) or k == 0
        )
        assert overlap(text[:4_500], text[4_500 - n :]) == longest


def test_a_text_unit_that_is_not_in_its_document_becomes_one(tmp_path):
    chunks = {
        "c1": {"content": LETTER, "full_doc_id": "doc-1"},
        "c2": {"content": "Altogether else.", "full_doc_id": "doc-1"},
    }
    graph = read_graph(lightrag(tmp_path / "g", chunks=chunks), "lightrag")
    assert [each.document.id for each in converted(graph)] == ["c2", "log.md"]
    assert any(note.startswith("changed: text units that do not stand") for note in graph.import_notes())


def test_nano_graphrag_is_told_by_its_clusters_and_its_quotes_are_taken_off(tmp_path):
    folder = lightrag(tmp_path / "g")
    nodes = [
        (
            "&quot;OLD TOBIN&quot;",
            {"clusters": "[]", "description": "&quot;A master.&quot;", "source_id": "c2"},
        )
    ]
    (folder / "graph_chunk_entity_relation.graphml").write_text(graphml(nodes, []), encoding="utf-8")
    graph = read_graph(folder, "lightrag")
    assert graph.program == "nano-graphrag"
    assert (graph.entities[0].name, graph.entities[0].descriptions) == ("OLD TOBIN", ("A master.",))
    # All names are in capitals, so the row has the spelling of the text.
    assert [row.name for each in converted(graph) for x in each.extractions for row in x.entities] == [
        "Old Tobin"
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('<!DOCTYPE g [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><graphml>&b;</graphml>', "document type"),
        ("<graphml><graph><node id='x'>", "not XML"),
        ("just text", "not XML"),
    ],
)
def test_damaged_or_dangerous_graphml_is_refused(tmp_path, text, problem):
    folder = lightrag(tmp_path / "g")
    (folder / "graph_chunk_entity_relation.graphml").write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=problem):
        read_graph(folder, "lightrag")


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    folder = lightrag(tmp_path / "g")
    (tmp_path / "secret.json").write_text("{}", encoding="utf-8")
    (folder / "kv_store_full_docs.json").unlink()
    (folder / "kv_store_full_docs.json").symlink_to(tmp_path / "secret.json")
    with pytest.raises(BadInput, match="link out of its folder"):
        read_graph(folder, "lightrag")


# --- triples and tables ---------------------------------------------------------------------------------


def test_triples_become_rows_and_malformed_ones_are_counted(tmp_path):
    graph = read_graph(triples(tmp_path / "g"), "openie")
    letter, log = converted(graph)
    assert [row.name for row in letter.extractions[0].entities] == [
        "Mara Quill", "Skerry Light", "1871", "Harbour Board", "lamp",
    ]  # fmt: skip
    assert [(r.source, r.predicate, r.target) for r in letter.extractions[0].relations] == [
        ("Mara Quill", "built", "Skerry Light"),
        ("Harbour Board", "did not pay for", "lamp"),
    ]
    assert letter.extractions[0].status == "repaired"
    assert letter.extractions[0].raw == "['Harbour Board', 'refused']"
    assert log.extractions[0].problem == "not imported: 2 records that could not be used"
    assert graph.counts["triples"] == 6
    assert graph.losses["triples that do not have three parts"].n == 3


def test_openie_results_as_hipporag_writes_them_are_read(tmp_path):
    docs = [
        {"idx": "chunk-1", "passage": f"Letter\n{LETTER}", "extracted_entities": ["Mara Quill"],
         "extracted_triples": [["Mara Quill", "built", "Skerry Light"]]},
        "junk",
    ]  # fmt: skip
    (tmp_path / "g").mkdir()
    dump(tmp_path / "g" / "openie_results_ner_some-model.json", {"docs": docs, "avg_ent_chars": 9})
    assert detect_format(tmp_path / "g") == "openie"
    graph = read_graph(tmp_path / "g", "openie")
    (each,) = converted(graph)
    assert (each.document.id, each.document.title) == ("chunk-1", "Letter")
    assert len(each.extractions[0].relations) == 1
    assert graph.losses["records that are no objects"].n == 1


def test_tables_become_rows_in_the_documents_that_they_name(tmp_path):
    graph = read_graph(tables(tmp_path / "g"), "csv")
    letter, log, rest = converted(graph)
    assert (letter.document.id, log.document.id, rest.document.id) == ("letter", "log", NO_UNIT)
    assert [(row.name, row.type, row.description) for row in letter.extractions[0].entities] == [
        ("Mara Quill", "person", 'Keeper, "of" the light'),
        ("Halcyon", "ship", ""),
        ("Skerry Light", "", ""),
    ]
    (built,) = letter.extractions[0].relations
    assert (built.predicate, built.keywords, built.strength) == ("built", ("light", "work"), 2.5)
    assert [(r.target, r.strength) for r in log.extractions[0].relations] == [("Old Tobin", 1.0)]
    assert rest.document.text == "Halcyon - Grey Reef."
    assert [r.target for r in rest.extractions[0].relations] == ["Grey Reef"]
    assert graph.losses["strengths that are no positive number, taken as 1"].first == "-3"


def test_tables_without_documents_stand_in_for_themselves(tmp_path):
    (tmp_path / "g").mkdir()
    (tmp_path / "g" / "relations.csv").write_text(
        "Source;Target;Relation;Description\nHalcyon;Grey Reef;struck;In a fog.\nHalcyon;Tobin;led by;\n",
        encoding="utf-8",
    )
    graph = read_graph(tmp_path / "g", detect_format(tmp_path / "g"))
    (each,) = converted(graph)
    assert each.document.text == "Halcyon struck Grey Reef: In a fog.\n\nHalcyon led by Tobin."
    assert each.document.metadata["stand_in"] is True
    assert any("entities and relations without a text unit" in note for note in graph.import_notes())


def test_a_table_without_its_columns_says_which(tmp_path):
    (tmp_path / "relations.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"relations\.csv:1: there is no column 'source', but a, b"):
        read_graph(tmp_path, "csv")


# --- Microsoft GraphRAG ---------------------------------------------------------------------------------


def parquet(folder, form):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    folder.mkdir()
    old = form == "old"
    name, text = ("name", "raw_content") if old else ("title", "text")
    of = {"document_ids": ["d1"]} if old else {"document_id": "d1"}
    written = {
        "documents": [{"id": "d1", "title": "log.txt", text: f"{LETTER}\n{LOG}"}],
        "text_units": [
            {"id": "u1", "text": f"title: log.txt.\n{LETTER}", **of},
            {"id": "u2", "text": LOG, **of},
        ],
        "entities": [
            {name: "MARA QUILL", "type": "PERSON", "description": "Built it.", "text_unit_ids": ["u1"]},
            {name: "HALCYON", "type": None, "description": None, "text_unit_ids": ["u2,u1"] if old else ["u2", "u1"]},
        ],
        "relationships": [
            {"source": "MARA QUILL", "target": "HALCYON", "description": "Saw it.", "weight": 8.0,
             "text_unit_ids": ["u1", "u2"]},
        ],
        "community_reports": [{"id": "r1"}],
    }  # fmt: skip
    for table, rows in written.items():
        pq.write_table(
            pa.Table.from_pylist(rows), folder / f"{'create_final_' if old else ''}{table}.parquet"
        )
    return folder


@pytest.mark.parametrize("form", ["old", "new"])
def test_both_forms_of_graphrag_give_the_same_rows(tmp_path, form):
    folder = parquet(tmp_path / "g", form)
    assert detect_format(folder) == "msgraphrag"
    graph = read_graph(folder, "msgraphrag")
    (each,) = converted(graph, max_tokens=12)
    assert each.document.id == "log.txt"
    # The title that was put before the first unit does not hide where it stands.
    assert [[c.ordinal for c in window.chunks] for window in each.windows] == [[0, 1], [2, 3]]
    assert [[(row.name, row.type) for row in x.entities] for x in each.extractions] == [
        [("Mara Quill", "person"), ("HALCYON", "")],  # spelt as in the text where it stands there
        [("Halcyon", ""), ("MARA QUILL", "person")],
    ]
    assert [r.strength for x in each.extractions for r in x.relations] == [4.0, 4.0]
    assert graph.counts["reports"] == 1


def test_without_the_parquet_extra_the_fix_is_named(tmp_path, monkeypatch):
    folder = parquet(tmp_path / "g", "new")
    monkeypatch.setattr(safe_read.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install \"polygraph-rag\[parquet\]\""):
        read_graph(folder, "msgraphrag")


def test_a_table_of_another_kind_is_not_taken_for_graphrag(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    folder = parquet(tmp_path / "g", "new")
    pq.write_table(pa.table({"x": [1]}), folder / "entities.parquet")
    with pytest.raises(BadInput, match="has no column title or name, but x"):
        read_graph(folder, "msgraphrag")


def test_more_than_is_meant_to_be_read_is_refused(tmp_path, monkeypatch):
    folder = parquet(tmp_path / "g", "new")
    monkeypatch.setattr(safe_read, "MAX_BYTES", 100)
    with pytest.raises(BadInput, match="unpacks to more than"):
        read_graph(folder, "msgraphrag")
    with pytest.raises(BadInput, match="is larger than"):
        read_graph(triples(tmp_path / "t"), "openie")


# --- recognising, and junk ------------------------------------------------------------------------------


def test_forms_are_told_by_what_a_folder_holds(tmp_path):
    assert detect_format(lightrag(tmp_path / "a")) == "lightrag"
    assert detect_format(triples(tmp_path / "b")) == "openie"
    assert detect_format(tmp_path / "b" / "openie.jsonl") == "openie"
    assert detect_format(tables(tmp_path / "c")) == "csv"
    assert detect_format(tmp_path / "c" / "relations.csv") == "csv"
    (tmp_path / "d").mkdir()
    with pytest.raises(BadInput, match="none of the formats"):
        detect_format(tmp_path / "d")
    with pytest.raises(BadInput, match="does not exist"):
        detect_format(tmp_path / "e")
    with pytest.raises(BadInput, match=f"Choose one of: {', '.join(IMPORTS)}"):
        detect_format(tmp_path / "d", "neo4j")


def test_an_export_of_ours_that_cannot_be_imported_says_so(tmp_path):
    manifest = {"polygraph_export": VERSION, "format": "parquet"}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    (tmp_path / "entities.parquet").write_bytes(b"PAR1")
    with pytest.raises(BadInput, match="only jsonl can be imported"), offline(tmp_path / "i.index") as index:
        index.import_(tmp_path)


@pytest.mark.parametrize("make", [lightrag, triples, tables])
def test_junk_is_refused_or_counted_and_never_a_crash(tmp_path, make):
    folder = make(tmp_path / "g")
    form = detect_format(folder)
    rng = random.Random(make.__name__)
    sound = {path: path.read_bytes() for path in sorted(folder.iterdir())}
    for _ in range(120):
        path = rng.choice(list(sound))
        data = bytearray(sound[path])
        for _ in range(rng.randint(1, 12)):
            at = rng.randrange(len(data) + 1)
            data[at : at + rng.choice([0, 1, 1, 9, 80])] = rng.choice(
                [
                    b"",
                    b"\x00",
                    b'"',
                    b"{",
                    b"[[",
                    b"]",
                    b"\xff\xfe",
                    b"null",
                    b"1e999",
                    b"<SEP>",
                    b"\\ud800",
                    b"9" * 400,
                ]
            )
        path.write_bytes(data)
        try:
            documents = converted(read_graph(folder, form))
        except BadInput as error:
            documents, refusal = [], str(error)
        else:
            refusal = ""
        assert not refusal or str(folder) in refusal or "nothing could be read" in refusal
        for each in documents:
            each.document.text.encode()
            assert len(each.windows) == len(each.extractions)
        path.write_bytes(sound[path])


def test_damaged_parquet_is_refused_and_never_a_crash(tmp_path):
    folder = parquet(tmp_path / "g", "new")
    rng = random.Random(3)
    path = folder / "entities.parquet"
    sound = path.read_bytes()
    n_refused = 0
    for _ in range(60):
        data = bytearray(sound)
        for _ in range(rng.randint(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data[: rng.choice([len(data), rng.randrange(len(data))])])
        try:
            converted(read_graph(folder, "msgraphrag"))
        except BadInput:
            n_refused += 1
    assert n_refused > 10


def test_values_of_other_kinds_are_counted_and_not_believed():
    graph = SourceGraph(program="csv")
    for name in (None, 7.5, float("nan"), True, ["x"], {"a": 1}, "", "  ", "!!", "x" * 501, "ok"):
        graph.add_entity(name, kind=name, descriptions=[name], units=[name])
    assert [e.name for e in graph.entities] == ["7.5", "ok"]
    for strength in (0, -1, float("inf"), float("nan"), "x", None, [1], 1e300):
        graph.add_relation("a", "b", strength=strength)
    assert {r.strength for r in graph.relations} == {1.0}
    graph.add_relation("a", "a")
    graph.add_entity("half \ud800 a letter", descriptions=["\x00b\udfff"])
    json.dumps([graph.entities[-1].name, *graph.entities[-1].descriptions], ensure_ascii=False).encode()
    assert graph.losses["relations of an entity with itself"].n == 1


# --- in an index ----------------------------------------------------------------------------------------


def rows_of(folder):
    store = SqliteStore(folder, mode="read")
    try:
        return {x.window: x for _, x in store.extractions.iterate()}
    finally:
        store.close()


def test_an_import_is_an_index_like_any_other_and_comes_back_from_its_export(tmp_path):
    with offline(tmp_path / "i.index") as index:
        report = index.import_(lightrag(tmp_path / "g"))
        assert report.source == {
            "documents": 1, "text_units": 2, "entities": 3, "relations": 1,
            "documents indexed": 1, "entity rows": 3, "relation rows": 1,
        }  # fmt: skip
        assert index.status()["notes"] == report.notes
        index.export(tmp_path / "out")
    with offline(tmp_path / "j.index") as copy:
        copy.import_(tmp_path / "out")
        copy.export(tmp_path / "again")
    for path in (tmp_path / "out").iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()


def test_indexing_again_repeats_nothing_and_keeps_the_imported_rows(tmp_path):
    with offline(tmp_path / "i.index") as index:
        index.import_(lightrag(tmp_path / "g"))
        before, extractor = rows_of(index.folder), index.status()["extractor"]
        assert index.add().built == {}
        # The file that the graph was made of: the same text, though it is called and described otherwise here.
        (tmp_path / "papers").mkdir()
        (tmp_path / "papers" / "log.md").write_text(f"{LETTER}\n\n{LOG}\n", encoding="utf-8")
        report = index.add(tmp_path / "papers")
        assert (report.unchanged, report.added, report.changed) == (1, 0, 0)
        assert rows_of(index.folder) == before
        assert index.status()["extractor"].startswith(f"{extractor}+nlp:")


@pytest.mark.slow
def test_documents_that_are_added_are_read_beside_the_imported_rows(tmp_path):
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "news.txt").write_text(
        "Tobias Wren visited Mara Quill at Sallow Bay.", encoding="utf-8"
    )
    with offline(tmp_path / "i.index") as index:
        index.import_(triples(tmp_path / "g"))
        before, extractor = rows_of(index.folder), index.status()["extractor"]
        index.add(tmp_path / "papers")
        after = rows_of(index.folder)
        assert {w: x for w, x in after.items() if w in before} == before
        assert any("Wren" in row.name for row in after["news.txt@0"].entities)
        assert index.status()["extractor"].startswith(f"{extractor}+nlp:")
        assert index.add().built == {}
        index.remove("letter")
        assert not any(w.startswith("letter") for w in rows_of(index.folder))


def test_an_imported_graph_is_not_cut_again(tmp_path):
    with offline(tmp_path / "i.index") as index:
        index.import_(triples(tmp_path / "g"))
    before = rows_of(tmp_path / "i.index")
    with (
        offline(tmp_path / "i.index", chunk_tokens=50) as index,
        pytest.raises(IndexMismatch, match="cannot be cut again"),
    ):
        index.add()
    assert rows_of(tmp_path / "i.index") == before


def test_other_code_for_chunks_cuts_documents_again_but_not_those_of_an_imported_graph(tmp_path, monkeypatch):
    (tmp_path / "news.txt").write_text("Tobias Wren visited Mara Quill at Sallow Bay.", encoding="utf-8")
    with offline(tmp_path / "i.index") as index, offline(tmp_path / "own.index") as own:
        index.import_(triples(tmp_path / "g"))
        own.add(tmp_path / "news.txt")
        before = rows_of(index.folder)
        monkeypatch.setattr("polygraph.indexing.build_settings.CHUNKS", "next")
        assert "chunks" in own.add().built
        assert own.add().built == {}
        assert index.add().built == {}
        assert rows_of(index.folder) == before


def test_the_fast_extractor_does_not_read_beside_an_imported_graph(tmp_path):
    (tmp_path / "news.txt").write_text("Tobias Wren visited Mara Quill.", encoding="utf-8")
    with offline(tmp_path / "i.index") as index:
        index.import_(triples(tmp_path / "g"))
        with pytest.raises(BadInput, match="cannot read documents beside it"):
            index.add(tmp_path / "news.txt", extractor="fast")


def test_asking_the_model_again_leaves_imported_windows_alone(tmp_path):
    (tmp_path / "news.txt").write_text("Tobias Wren visited Mara Quill at Sallow Bay.", encoding="utf-8")
    models = Models(
        chat=scripted_chat(),
        embedder=HashEmbedder(),
        name_embedder=HashEmbedder(),
        reranker=None,
        calls=Calls(None),
    )
    with Index.open(tmp_path / "i.index", models=models) as index:
        report = index.import_(triples(tmp_path / "g"))
        assert report.usage.calls == 0
        before = rows_of(index.folder)
        assert before["letter@0"].status == "repaired"
        index.add(tmp_path / "news.txt")
        assert "+llm:" in index.status()["extractor"]
        index.retry()
        after = rows_of(index.folder)
        assert {w: x for w, x in after.items() if w in before} == before


def test_an_estimate_for_more_documents_does_not_read_imported_ones(tmp_path):
    (tmp_path / "news.txt").write_text("Tobias Wren visited Mara Quill at Sallow Bay.", encoding="utf-8")
    with offline(tmp_path / "i.index") as index:
        index.import_(triples(tmp_path / "g"))
        found = index.estimate(tmp_path / "news.txt")
    assert (found.windows, found.windows_to_read) == (3, 1)


def test_a_note_counts_one_thing_in_the_singular(tmp_path):
    (tmp_path / "g").mkdir()
    (tmp_path / "g" / "relations.csv").write_text(
        "Source;Target;Relation\nHalcyon;Grey Reef;struck\nThe Halcyon;Grey Reef;hit\n", encoding="utf-8"
    )
    with offline(tmp_path / "x") as index:
        notes = index.import_(tmp_path / "g").notes
    assert any("3 names" in note and "are 2 entities and 1 relation here" in note for note in notes), notes


def test_an_import_that_fails_leaves_no_index(tmp_path):
    folder = triples(tmp_path / "g")
    (folder / "openie.jsonl").write_text('{"doc_id": "letter", "triples": []}\n[1]\n', encoding="utf-8")
    with (
        offline(tmp_path / "i.index") as index,
        pytest.raises(BadInput, match=r"openie\.jsonl:2: is not a JSON object"),
    ):
        index.import_(folder)
    assert not (tmp_path / "i.index" / "index.sqlite").exists()


def test_a_graph_of_nothing_is_refused(tmp_path):
    lines(tmp_path / "openie.jsonl", [{"doc_id": "a", "entities": ["?"], "triples": [["x"]]}])
    with pytest.raises(BadInput, match="no entity and no relation"):
        read_graph(tmp_path, "openie")


def test_an_index_that_is_there_is_not_overwritten(tmp_path):
    with offline(tmp_path / "i.index") as index:
        index.import_(triples(tmp_path / "g"))
        with pytest.raises(BadInput, match="an import makes a new one"):
            index.import_(tmp_path / "g")


def test_an_import_waits_for_another_writer_as_long_as_it_is_told(tmp_path):
    folder = triples(tmp_path / "g")
    with offline(tmp_path / "i.index") as index, writing(tmp_path / "i.index"), pytest.raises(IndexLocked):
        index.import_(folder, wait_s=0.05)


def test_the_command_imports_and_says_what_was_left_out(call, tmp_path):
    folder = triples(tmp_path / "g")
    done = call("import", str(folder), "--index", str(tmp_path / "i.index"), "--wait", "1", "--json")
    found = json.loads(done.out)
    assert found["source"]["triples"] == 6
    assert any(
        "left out: triples that do not have three parts (3; first: " in note for note in found["notes"]
    )
    refused = call("import", str(tmp_path), "--index", str(tmp_path / "no.index"))
    assert refused.code == 2
    assert "none of the formats" in refused.err
    assert not Path(tmp_path / "no.index").exists()
    refused = call("import", str(folder), "--format", "csv", "--index", str(tmp_path / "no.index"))
    assert refused.code == 2
    assert "relations.csv" in refused.err


def test_an_import_follows_the_settings_for_large_layers(tmp_path, monkeypatch):
    least = []
    monkeypatch.setattr(vector_layers, "add_codes", lambda _folder, rows: least.append(rows))
    with offline(tmp_path / "i", approximate_rows=7) as index:
        index.import_(triples(tmp_path / "g"))
        index.export(tmp_path / "out")
    assert set(least) == {7}
    least.clear()
    with offline(tmp_path / "copy", approximate_rows=9) as copy:
        copy.import_(tmp_path / "out")
    assert set(least) == {9}
