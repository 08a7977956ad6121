"""Exports of real small indexes, and imports of sound and of damaged ones."""

import csv
import json
import math
import shutil
import tracemalloc
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import networkx as nx
import pytest

from polygraph import Index
from polygraph.errors import BadInput, IndexUnreadable, StorageFailed
from polygraph.indexing.build_settings import choose_manifest
from polygraph.indexing.exchange.exporters.folder import VERSION
from polygraph.indexing.exchange.exporters.graphml import xml_text
from polygraph.indexing.exchange.exporters.neo4j import LIST_SEPARATOR
from polygraph.indexing.exchange.exporters.records import KINDS
from polygraph.indexing.exchange.importers import record_file
from polygraph.indexing.progress import BuildReport
from polygraph.ingest.chunk import windows
from polygraph.models.providers.scripted import ScriptedChat
from polygraph.records import Chunk, Document, digest
from polygraph.store.database import SqliteStore
from polygraph.store.layers import dependents
from polygraph.store.lock import writing
from polygraph.testing import hashed_models, scripted_chat
from polygraph.testing.scripted_model import REPLIES
from polygraph.testing.scripts.indexing import scripted_report

MORE = {
    "notes.jsonl": '{"id": "a", "text": "Sum =1+1 of <Orrin & Vale> said \\"no\\"; the Grey Reef.", "year": 1871, '
    '"tags": ["x", "y"]}\n{"id": "b", "text": "Zoë Quill of Sallow Bay met Old Tobin. \U0001f6a2"}\n',
}


def opened(folder, **more):
    return Index.open(folder, embedder="hash", name_embedder="hash", reranker="none", offline=True, **more)


def files_of(folder):
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def lines_of(folder, kind):
    return [json.loads(line) for line in (Path(folder) / f"{kind}.jsonl").read_text("utf-8").splitlines()]


def put_lines(folder, kind, lines):
    text = "".join(json.dumps(line, ensure_ascii=False, sort_keys=True) + "\n" for line in lines)
    (Path(folder) / f"{kind}.jsonl").write_text(text, "utf-8")
    change_manifest(folder, lambda m: m["files"].__setitem__(f"{kind}.jsonl", len(lines)))


def change_manifest(folder, change):
    path = Path(folder) / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    change(manifest)
    path.write_text(json.dumps(manifest), "utf-8")


@pytest.fixture(scope="module")
def base(tmp_path_factory, papers_texts, write_files):
    """A folder of papers, an index of it with a decision, and its export; not to be changed."""
    place = tmp_path_factory.mktemp("exchange")
    write_files(place / "papers", {**papers_texts, **MORE})
    with opened(place / "papers.index") as index:
        index.add(place / "papers")
        index.entities.merge("Old Tobin", "Tobias Wren")
        index.entities.rename("Skerry Light", "The Light of the Skerry")
        index.entities.split("Halcyon", by="document")
        index.export(place / "export")
    return place


@pytest.fixture
def export(base, tmp_path):
    """A copy of the export, to be damaged."""
    return Path(shutil.copytree(base / "export", tmp_path / "export"))


# --- jsonl: canonical -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_equal_indexes_of_other_folders_in_another_order_export_equal_bytes(
    base, tmp_path, papers_texts, write_files
):
    whole = {**papers_texts, **MORE}
    folder = write_files(tmp_path / "elsewhere" / "deep", dict(list(whole.items())[3:]))
    with opened(tmp_path / "other.index") as other:
        other.add(folder)
        write_files(folder, dict(reversed(whole.items())))
        other.add(folder)
        other.entities.split("Halcyon", by="document")
        other.entities.rename("Skerry Light", "Light")
        other.entities.rename("Skerry Light", "The Light of the Skerry")
        other.entities.merge("Mara Quill", "Old Tobin")
        other.entities.undo()
        other.entities.merge("Tobias Wren", "Old Tobin")
        write_files(folder, {"gone.txt": "Captain Nobody sank off Cape Nowhere."})
        other.add(folder)
        other.remove("gone.txt")
        other.add()
        other.export(tmp_path / "other")
    assert files_of(tmp_path / "other") == files_of(base / "export")


def test_an_export_holds_no_path_of_the_machine_and_no_time(base):
    found = files_of(base / "export")
    assert found.keys() == {f"{kind}.jsonl" for kind in KINDS} | {"manifest.json"}
    for name, data in found.items():
        assert str(base).encode() not in data, name
        assert b'"seconds"' not in data, name
    assert set(lines_of(base / "export", "documents")[0]) == {"id", "title", "text", "metadata", "tables"}


def test_lines_are_sorted_and_keys_are_sorted_and_numbers_are_as_stored(base):
    data = files_of(base / "export")
    assert b"\r" not in b"".join(data.values())
    keys = {
        "documents": ["id"], "chunks": ["document", "ordinal"], "windows": ["document", "ordinal"],
        "decisions": ["kind", "a", "b"], "entities": ["id"], "relations": ["id"],
        "merges": ["entity", "name", "document"], "communities": ["id"], "reports": ["community"],
    }  # fmt: skip
    for kind, names in keys.items():
        lines = lines_of(base / "export", kind)
        assert lines, kind
        found = [tuple(line[name] for name in names) for line in lines]
        assert found == sorted(set(found)), kind
        assert all(list(line) == sorted(line) for line in lines), kind
    store = SqliteStore(base / "papers.index", mode="read")
    stored = [relation.weight for relation in store.graph.all_relations()]
    store.close()
    assert [line["weight"] for line in lines_of(base / "export", "relations")] == stored


def test_out_of_date_views_are_left_out(base, tmp_path):
    shutil.copytree(base / "papers.index", tmp_path / "copy.index")
    store = SqliteStore(tmp_path / "copy.index", mode="write")
    with store.transaction():
        store.extractions.decide("split", "Sallow Bay", "Grey Reef")
    store.close()
    with opened(tmp_path / "copy.index") as index:
        counts = index.export(tmp_path / "out")
    assert counts["entities.jsonl"] == counts["reports.jsonl"] == counts["merges.jsonl"] == 0
    assert counts["entity_rows.jsonl"] > 0
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["layers"] == [
        "chunks", "lexical", "names", "chunk_vectors",
    ]  # fmt: skip


def test_deleted_files_of_layers_do_not_change_the_export(base, tmp_path):
    shutil.copytree(base / "papers.index", tmp_path / "copy.index")
    shutil.rmtree(tmp_path / "copy.index" / "derived")
    with opened(tmp_path / "copy.index") as index:
        index.export(tmp_path / "out")
    assert files_of(tmp_path / "out") == files_of(base / "export")


@pytest.mark.slow
def test_memory_does_not_grow_with_the_index(tmp_path):
    def peak(n_documents):
        folder = tmp_path / f"{n_documents}.index"
        text = "The fog came down. " * 2_000
        with opened(folder) as index, writing(folder):
            store = SqliteStore(folder, mode="write")
            with store.transaction():
                store.set_manifest(choose_manifest(index.place, None, index.settings, index.models, "nlp"))
                for n in range(n_documents):
                    document = Document(id=f"d{n:05}", title="T", text=text)
                    chunks = [
                        Chunk(
                            id=f"{document.id}:{i}", document=document.id, ordinal=i, start=i * 3_800,
                            end=(i + 1) * 3_800, text=text[i * 3_800 : (i + 1) * 3_800], n_tokens=800,
                        )
                        for i in range(10)
                    ]  # fmt: skip
                    store.documents.put(document, "", chunks, windows(document, chunks, max_tokens=8_000))
            store.close()
            tracemalloc.start()
            index.export(tmp_path / f"{n_documents}")
            used = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return used, sum(path.stat().st_size for path in (tmp_path / f"{n_documents}").iterdir())

    (small, small_size), (large, large_size) = peak(30), peak(300)
    assert large_size - small_size > 20_000_000
    assert large - small < 500_000


# --- where an export may be written ---------------------------------------------------------------------------


def test_an_earlier_export_is_replaced_whole_also_by_another_format(base, tmp_path):
    with opened(base / "papers.index") as index:
        index.export(tmp_path / "out", "graphml")
        index.export(tmp_path / "out")
    assert files_of(tmp_path / "out") == files_of(base / "export")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_with_other_things_is_not_overwritten(base, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    (tmp_path / "file").write_text("x")
    with opened(base / "papers.index") as index:
        with pytest.raises(BadInput, match=r"mine is not empty .* --output"):
            index.export(tmp_path / "mine")
        with pytest.raises(BadInput, match="is a file"):
            index.export(tmp_path / "file")
        with pytest.raises(BadInput, match="not empty"):
            index.export(base / "papers.index")
        index.export(tmp_path / "out")
        (tmp_path / "out" / "notes.txt").write_text("mine too")
        with pytest.raises(BadInput, match=r"holds 'notes.txt' beside an earlier export"):
            index.export(tmp_path / "out")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine too"


def test_a_failed_export_leaves_the_earlier_one_and_nothing_else(base, tmp_path, monkeypatch):
    with opened(base / "papers.index") as index:
        index.export(tmp_path / "out")
        before = files_of(tmp_path / "out")

        def full(row):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("polygraph.indexing.exchange.exporters.jsonl.line", full)
        with pytest.raises(StorageFailed, match="No space left on device"):
            index.export(tmp_path / "out")
    assert files_of(tmp_path / "out") == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_unknown_formats_and_missing_layers_say_what_to_do(base, tmp_path):
    with (
        opened(base / "papers.index") as index,
        pytest.raises(BadInput, match="jsonl, graphml, parquet, neo4j"),
    ):
        index.export(tmp_path / "out", "gexf")
    with opened(tmp_path / "bare.index") as bare:
        with pytest.raises(IndexUnreadable, match="polygraph index PATH"):
            bare.export(tmp_path / "out")
        bare.add(base / "papers", methods=["bm25"])
        bare.export(tmp_path / "bare")
        for format in ("graphml", "neo4j"):
            with pytest.raises(BadInput, match="needs the graph"):
                bare.export(tmp_path / "out", format)


# --- jsonl: and back again --------------------------------------------------------------------------------------


def test_an_import_exports_equal_bytes_and_answers_alike(base, tmp_path):
    question = "Who refused to pay for the lamp of the Skerry Light?"
    with opened(base / "papers.index") as index, opened(tmp_path / "new.index") as new:
        report = new.import_(base / "export")
        assert isinstance(report, BuildReport)
        assert (report.added, report.notes, report.counts["documents"]) == (7, [], 7)
        new.export(tmp_path / "again")
        assert files_of(tmp_path / "again") == files_of(base / "export")
        assert all(layer["state"] == "ready" for layer in new.status()["layers"].values())
        for method in ("hybrid", "graphrag-local", "graphrag-global"):
            assert new.ask(question, method).text == index.ask(question, method).text
    assert not list((tmp_path / "new.index").glob("*.tmp"))


def test_an_answer_is_computed_from_a_table_after_an_import_too(tmp_path, write_files):
    papers = write_files(tmp_path / "papers", {"ships.csv": "ship,tons\nHalcyon,120\nDunlin,80\n"})
    question = "How many tons do the ships have in total?"
    with opened(tmp_path / "old.index") as old, opened(tmp_path / "new.index") as new:
        old.add(papers)
        old.export(tmp_path / "export")
        new.import_(tmp_path / "export")
        assert "200" in old.ask(question).text
        assert new.ask(question).text == old.ask(question).text


@pytest.mark.parametrize(
    "table",
    [
        {"title": "t", "columns": ["a", "b"], "rows": [["1"]], "spans": [[0, 1]]},
        {"title": "t", "columns": ["a"], "rows": [["1"]], "spans": []},
        {"title": "t", "columns": ["a"], "rows": [["1"]], "spans": [[0, -1]]},
        {"title": "t", "columns": ["a"], "rows": [["1"]], "spans": [[0, 10**9]]},
        {"title": "t", "columns": ["a"], "rows": [["1"]], "spans": [[3, 3]]},
        {"title": "t", "columns": ["a"], "rows": [["1"], ["2"]], "spans": [[0, 3], [2, 4]]},
        {"title": "t", "columns": "a", "rows": 7, "spans": [[0, 1]]},
        ["t"],
    ],
)
def test_a_table_that_does_not_fit_its_text_is_refused(export, tmp_path, table):
    set_field("documents", 0, "tables", [table])[1](export)
    with opened(tmp_path / "new.index") as new, pytest.raises(BadInput, match=r"documents.jsonl:1: .*table"):
        new.import_(export)


def test_indexing_the_same_folder_after_an_import_repeats_nothing(base, tmp_path, papers_texts, write_files):
    with opened(tmp_path / "new.index") as new:
        new.import_(base / "export")
        report = new.add(base / "papers")
        assert (report.added, report.changed, report.removed, report.unchanged) == (0, 0, 0, 7)
        assert report.unread == ()


def test_what_changed_is_taken_in_after_an_import_which_does_not_know_the_folder(
    base, tmp_path, papers_texts, write_files
):
    with opened(tmp_path / "new.index") as new:
        new.import_(base / "export")
        changed = write_files(tmp_path / "papers", {**papers_texts, "letter.txt": "Old Tobin lied."})
        assert new.add(changed).changed == 1


def test_an_index_without_all_layers_comes_back_without_them(base, tmp_path):
    with opened(tmp_path / "bare.index") as bare, opened(tmp_path / "new.index") as new:
        bare.add(base / "papers", methods=["bm25"])
        bare.export(tmp_path / "one")
        new.import_(tmp_path / "one")
        new.export(tmp_path / "two")
        assert new.snapshot().layers == bare.snapshot().layers == {"chunks", "lexical"}
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


def test_what_a_model_wrote_comes_back_and_no_model_is_asked(base, tmp_path):
    chat = scripted_chat([("Halcyon left", "I would rather not say.")])
    with opened(tmp_path / "llm.index", models=hashed_models(chat)) as index:
        index.add(base / "papers")
        states = index.status()["counts"]
        assert states["windows failed"] == 1
        index.export(tmp_path / "one")
    assert lines_of(tmp_path / "one", "written")
    large = {c["id"] for c in lines_of(tmp_path / "one", "communities") if len(c["entities"]) >= 3}
    by = {line["community"]: line["written_by"] for line in lines_of(tmp_path / "one", "reports")}
    assert {by[community] for community in large} == {"scripted"}
    assert {by[community] for community in by.keys() - large} <= {"extractive"}
    failed = [line for line in lines_of(tmp_path / "one", "windows") if line["status"] == "failed"]
    assert [line["raw"] for line in failed] == ["I would rather not say."]

    with opened(tmp_path / "without.index") as without:  # no chat model at all
        report = without.import_(tmp_path / "one")
        assert report.usage.calls == 0
        without.export(tmp_path / "two")
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")

    again = scripted_chat()
    with opened(tmp_path / "with.index", models=hashed_models(again)) as imported:
        imported.import_(tmp_path / "one")
        assert again.requests == []
        imported.export(tmp_path / "three")
        assert files_of(tmp_path / "one") == files_of(tmp_path / "three")


def test_texts_written_for_earlier_states_do_not_make_equal_indexes_differ(
    base, tmp_path, papers_texts, write_files
):
    # A report names the hash of its input, as no real model would write the same about two inputs.
    def chat():
        def tell(request):
            told = json.loads(scripted_report(request))
            return json.dumps(told | {"title": digest(request.messages[-1].content)})

        return ScriptedChat(replies={**REPLIES, "report": tell})

    folder = write_files(tmp_path / "papers", papers_texts)
    with opened(tmp_path / "a.index", models=hashed_models(chat())) as index:
        index.add(folder)
        index.export(tmp_path / "a")
    with opened(tmp_path / "b.index", models=hashed_models(chat())) as index:
        write_files(
            folder, {"more.txt": "Old Tobin met Mara Quill at the Grey Reef. Tobias Wren saw Old Tobin."}
        )
        index.add(folder)
        (folder / "more.txt").unlink()
        index.add(folder)
        n_kept = index.snapshot().store.count("written")
        index.export(tmp_path / "b")
    assert len(lines_of(tmp_path / "b", "written")) == n_kept
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")


def test_another_embedder_gets_the_rows_and_is_told_what_is_missing(base, tmp_path, export):
    change_manifest(export, lambda m: m["index"].__setitem__("name_embedder", "another-model"))
    with opened(tmp_path / "new.index") as new:
        report = new.import_(export)
        assert new.snapshot().layers == {"chunks", "lexical", "chunk_vectors", "names"}
        assert report.counts["entities"] == 0
        assert len(report.notes) == 1
        assert f"{', '.join(['graph', *dependents('graph')])} not rebuilt" in report.notes[0]
        assert "another-model" in report.notes[0]
        assert new.status()["notes"] == report.notes
        new.export(tmp_path / "out")
    for kind in ("documents", "chunks", "windows", "entity_rows", "relation_rows", "decisions"):
        assert lines_of(tmp_path / "out", kind) == lines_of(export, kind)


def test_an_import_needs_a_new_index_and_an_export(base, tmp_path):
    with opened(tmp_path / "new.index") as new:
        new.import_(base / "export")
        with pytest.raises(BadInput, match=r"there is an index at .* already"):
            new.import_(base / "export")
        assert new.status()["documents"] == 7
    with opened(tmp_path / "other.index") as other:
        with pytest.raises(BadInput, match="none of the formats"):
            other.import_(base / "papers")
        with opened(base / "papers.index") as index:
            index.export(tmp_path / "g", "graphml")
        with pytest.raises(BadInput, match="only jsonl can be imported"):
            other.import_(tmp_path / "g")


# --- damaged exports --------------------------------------------------------------------------------------------


def set_field(kind, n, name, value):
    def damage(folder):
        lines = lines_of(folder, kind)
        lines[n][name] = value(lines[n][name]) if callable(value) else value
        put_lines(folder, kind, lines)

    return f"{kind}.jsonl:{n + 1}", damage


def replace_line(kind, n, text):
    def damage(folder):
        path = Path(folder) / f"{kind}.jsonl"
        lines = path.read_bytes().split(b"\n")
        lines[n] = text
        path.write_bytes(b"\n".join(lines))

    return f"{kind}.jsonl:{n + 1}", damage


def repeat_line(kind, n):
    def damage(folder):
        lines = lines_of(folder, kind)
        put_lines(folder, kind, [*lines[: n + 1], *lines[n:]])

    return f"{kind}.jsonl:{n + 2}", damage


def drop_line(kind, n, blamed):
    def damage(folder):
        lines = lines_of(folder, kind)
        put_lines(folder, kind, lines[:n] + lines[n + 1 :])

    return blamed, damage


def manifest_with(**changes):
    def change(manifest):
        for name, value in changes.items():
            place, _, key = name.rpartition("__")
            (manifest[place] if place else manifest)[key] = value

    return "manifest.json:1", lambda folder: change_manifest(folder, change)


def cut_off(folder):
    path = Path(folder) / "relation_rows.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


DEEP = b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}"

DAMAGES = {
    "not JSON": (*replace_line("documents", 1, b'{"id": '), "is not JSON"),
    "not an object": (*replace_line("chunks", 0, b"[1]"), "must be an object"),
    "not UTF-8": (*replace_line("documents", 0, b'{"id":"\xff"}'), "is not UTF-8"),
    "half a character": (
        *replace_line("documents", 0, b'{"id":"a","metadata":{},"text":"\\ud800","title":""}'),
        "is not UTF-8",
    ),
    "nested deeply": (*replace_line("documents", 0, DEEP), "nested too deeply"),
    "NaN": (*replace_line("documents", 0, b'{"id":NaN}'), "NaN is not a number"),
    "infinite": (*replace_line("documents", 0, b'{"id":1e999}'), "too large"),
    "key twice": (*replace_line("documents", 0, b'{"id":"a","id":"b"}'), "twice"),
    "missing field": (*replace_line("decisions", 0, b'{"a":"x","kind":"split"}'), "'b' is missing"),
    "unknown field": (
        *replace_line("decisions", 0, b'{"a":"x","b":"y","c":1,"kind":"split"}'),
        "'c' is not known",
    ),
    "wrong type": (*set_field("chunks", 0, "n_tokens", "12"), "must be a whole number"),
    "true is no number": (*set_field("chunks", 0, "n_tokens", True), "must be a whole number"),
    "huge number": (*set_field("chunks", 0, "n_tokens", 10**30), "must be a whole number"),
    "document twice": (*repeat_line("documents", 1), "twice, or stands out of order"),
    "chunk twice": (*repeat_line("chunks", 0), "twice, or stands out of order"),
    "chunk missing": (*drop_line("chunks", 0, "windows.jsonl:1"), "chunk 0 of 0 is next"),
    "other text": (
        *set_field("chunks", 0, "text", "Something else."),
        "the text is not what the document holds",
    ),
    "beyond the text": (*set_field("chunks", 0, "end", 10**6), "do not lie within"),
    "backwards": (*set_field("chunks", 0, "end", 0), "do not lie within"),
    "chunk of no document": (
        "windows.jsonl:1",
        set_field("chunks", 0, "document", "zzz")[1],
        "chunk 0 of 0 is next",
    ),
    "window missing": (*drop_line("windows", 0, "windows.jsonl:1"), "chunk 0"),
    "window past the end": (*set_field("windows", 0, "last", 99), "do not go on"),
    "window of another id": (*set_field("windows", 0, "id", "x@0"), "next window"),
    "status without extractor": (*set_field("windows", 0, "extractor", ""), "status and an extractor"),
    "rows of a failed window": (
        "entity_rows.jsonl:1",
        set_field("windows", 0, "status", "failed")[1],
        "reading failed",
    ),
    "span elsewhere": (
        *set_field("entity_rows", 0, "spans", [{"chunk": "rows.csv#1:0", "start": 0, "end": 1}]),
        "is no chunk of the window",
    ),
    "span outside": (
        *set_field("entity_rows", 0, "spans", lambda s: [{**s[0], "end": 10**6}]),
        "do not lie within the chunk",
    ),
    "row of no window": (*set_field("entity_rows", 0, "window", "nowhere@0"), "its window is not in"),
    "row numbers": (*set_field("relation_rows", 0, "seq", 5), "seq must be 0"),
    "relation elsewhere": (
        *set_field("relation_rows", 0, "chunks", ["nowhere:0"]),
        "is no chunk of the window",
    ),
    "no strength": (*set_field("relation_rows", 0, "strength", 0), "must be a number above 0"),
    "cut off": ("relation_rows.jsonl", cut_off, "the file ends after"),
    "decision turned": (*set_field("decisions", 0, "a", "zzzz"), "must not stand behind"),
    "entity twice": (*repeat_line("entities", 3), "twice"),
    "entity of no chunk": (
        *set_field("entities", 0, "chunks", ["nowhere:0"]),
        "there is no chunk 'nowhere:0'",
    ),
    "relation of no entity": (*set_field("relations", 0, "source", "nobody"), "there is no entity 'nobody'"),
    "member missing": (*set_field("communities", 0, "entities", ["nobody"]), "there is no entity 'nobody'"),
    "parent missing": (
        "communities.jsonl",
        set_field("communities", 0, "parent", "9-x")[1],
        "which is missing",
    ),
    "report of nothing": (*set_field("reports", 0, "community", "!"), "there is no community"),
    "finding of no chunk": (
        *set_field("reports", 0, "findings", [{"summary": "", "explanation": "", "chunks": ["no:0"]}]),
        "there is no chunk 'no:0'",
    ),
    "no report": (
        "written.jsonl:1",
        lambda folder: put_lines(folder, "written", [{"key": "k", "value": "[1]"}]),
        "not a report as Polygraph writes it",
    ),
    "file missing": (
        "merges.jsonl",
        lambda folder: (Path(folder) / "merges.jsonl").unlink(),
        "is missing",
    ),
    "newer format": (
        *manifest_with(polygraph_export=VERSION + 1),
        "Upgrade with: pip install",
    ),
    "older format": (
        *manifest_with(polygraph_export=VERSION - 1),
        f"the export has format {VERSION - 1}, ",
    ),
    "no settings": (*manifest_with(index=None), "must be an object"),
    "layers out of order": (*manifest_with(layers=["graph"]), "layers must be"),
    "layers of lists": (*manifest_with(layers=[["graph"]]), "layers must be"),
    "files of another name": (*manifest_with(files={"../x": 1}), "files must name"),
    "files not named": (*manifest_with(files={}), "files must name"),
    "who is asked about names": (*manifest_with(index__same="m:7b"), "'same' must be a model"),
    "settings of extraction": (*manifest_with(index__extractor="llm:m:1"), "extractor_settings"),
    "a graph of nothing": (
        "manifest.json:1",
        lambda folder: put_lines(folder, "entity_rows", []),
        "cannot be a graph",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_export_is_refused_with_file_and_line_and_nothing_is_imported(name, export, tmp_path):
    blamed, damage, said = DAMAGES[name]
    damage(export)
    with opened(tmp_path / "new.index") as new:
        with pytest.raises(BadInput) as refused:
            new.import_(export)
        assert blamed in str(refused.value)
        assert said in str(refused.value)
        assert not list((tmp_path / "new.index").glob("index.sqlite*"))


def test_after_a_refused_import_the_mended_export_can_be_imported(base, export, tmp_path):
    set_field("reports", 0, "rating", "high")[1](export)
    with opened(tmp_path / "new.index") as new:
        with pytest.raises(BadInput, match=r"reports.jsonl:1: 'rating' must be a number, not 'high'"):
            new.import_(export)
        assert new.import_(base / "export").counts["documents"] == 7


def test_a_line_that_is_too_long_is_not_read_whole(export, tmp_path, monkeypatch):
    monkeypatch.setattr(record_file, "MAX_LINE_BYTES", 100)
    with (
        opened(tmp_path / "new.index") as new,
        pytest.raises(BadInput, match=r"documents.jsonl:\d+: .* longer"),
    ):
        new.import_(export)


def test_rows_that_were_changed_by_hand_give_other_views_and_a_note(export, tmp_path):
    lines = lines_of(export, "relation_rows")
    put_lines(export, "relation_rows", lines[:1])
    with opened(tmp_path / "new.index") as new:
        report = new.import_(export)
    assert report.counts["relations"] == 1
    assert any("relations, and 1 were found again" in note for note in report.notes)


# --- one way ----------------------------------------------------------------------------------------------------


def test_a_name_that_is_merged_into_an_entity_twice_is_imported(export, tmp_path):
    merge = {
        "entity": "a",
        "name": "A",
        "document": "",
        "rule": "model",
        "other": "a",
        "score": 1.0,
        "evidence": "",
    }
    put_lines(export, "merges", [merge, merge, {**merge, "rule": "same name"}])
    with opened(tmp_path / "copy.index") as copy:
        copy.import_(export)


def test_graphml_opens_in_networkx_with_every_entity_and_relation(base, tmp_path):
    with opened(base / "papers.index") as index:
        index.export(tmp_path / "out", "graphml")
    graph = nx.read_graphml(tmp_path / "out" / "graph.graphml")
    entities = {line["id"]: line for line in lines_of(base / "export", "entities")}
    relations = {line["id"]: line for line in lines_of(base / "export", "relations")}
    assert {data["entity"]: data["label"] for _, data in graph.nodes(data=True)} == {
        i: e["name"] for i, e in entities.items()
    }
    assert all(
        json.loads(d["aliases"]) == entities[d["entity"]]["aliases"] for _, d in graph.nodes(data=True)
    )
    found = {data["relation"]: (a, b, data) for a, b, data in graph.edges(data=True)}
    assert found.keys() == relations.keys()
    for i, (a, b, data) in found.items():
        assert {graph.nodes[a]["entity"], graph.nodes[b]["entity"]} == {
            relations[i]["source"],
            relations[i]["target"],
        }
        assert data["weight"] == relations[i]["weight"]
    degrees = {graph.nodes[n]["entity"]: degree for n, degree in graph.degree()}
    assert degrees == {i: e["degree"] for i, e in entities.items()}


def test_xml_text_is_valid_whatever_stands_in_a_document():
    nasty = "".join(map(chr, range(0x250))) + "\ud800\udfff\ufffe\uffff]]><!-- \u2028 \U0001f6a2"
    kept = ElementTree.fromstring(f"<a>{xml_text(nasty)}</a>").text
    legal = [c for c in nasty if c in "\t\n\r" or (ord(c) >= 32 and c not in "\ud800\udfff\ufffe\uffff")]
    assert kept == "".join(legal)


def test_parquet_has_typed_columns_and_the_records_of_the_jsonl(base, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet", reason="the extra parquet is not installed")
    with opened(base / "papers.index") as index:
        counts = index.export(tmp_path / "out", "parquet")
    assert counts.keys() == {f"{kind}.parquet" for kind in KINDS if kind != "written"}
    for name in counts:
        table = pq.read_table(tmp_path / "out" / name)
        lines = lines_of(base / "export", name.removesuffix(".parquet"))
        for line in lines:
            if "metadata" in line:
                line["metadata"] = json.dumps(line["metadata"], ensure_ascii=False, sort_keys=True)
        assert table.to_pylist() == lines, name
    schema = pq.read_schema(tmp_path / "out" / "relations.parquet")
    assert str(schema.field("weight").type) == "double"
    assert str(schema.field("keywords").type).startswith("list<")


def test_neo4j_files_join_up_and_texts_cannot_leave_their_cell(base, tmp_path):
    with opened(base / "papers.index") as index:
        counts = index.export(tmp_path / "out", "neo4j")
    tables = {}
    for name in counts:
        with (tmp_path / "out" / name).open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file, strict=True)
        assert len(rows) == counts[name], name
        assert all(len(row) == len(header) for row in rows), name
        tables[name] = (header, rows)
    nodes = {name for name, (header, _) in tables.items() if header[0].startswith("id:ID(")}
    assert nodes == {"documents.csv", "chunks.csv", "entities.csv", "communities.csv"}
    ids = {}
    for name in nodes:
        header, rows = tables[name]
        group = header[0].removeprefix("id:ID(").removesuffix(")")
        ids[group] = {row[0] for row in rows}
        assert len(ids[group]) == len(rows)
    assert len(tables) == len(nodes) + 5
    for name in tables.keys() - nodes:
        (start, end, *_), rows = tables[name]
        starts = ids[start.removeprefix(":START_ID(").removesuffix(")")]
        ends = ids[end.removeprefix(":END_ID(").removesuffix(")")]
        assert all(row[0] in starts and row[1] in ends for row in rows), name
    texts = {row[0]: row[5] for row in tables["chunks.csv"][1]}
    assert texts == {line["id"]: line["text"] for line in lines_of(base / "export", "chunks")}
    header, rows = tables["entities.csv"]
    aliases = {row[0]: [a for a in row[3].split(LIST_SEPARATOR) if a] for row in rows}
    assert aliases == {line["id"]: line["aliases"] for line in lines_of(base / "export", "entities")}
    titles = {row[0]: row[2] for row in tables["communities.csv"][1]}
    assert titles == {line["community"]: line["title"] for line in lines_of(base / "export", "reports")}
    weights = [float(row[2]) for row in tables["relations.csv"][1]]
    assert all(math.isfinite(weight) and weight > 0 for weight in weights)


# --- commands ---------------------------------------------------------------------------------------------------


def test_the_commands_export_and_import(base, tmp_path, call):
    out, new = tmp_path / "out", tmp_path / "new.index"
    done = call("export", "--index", base / "papers.index", "--format", "jsonl", "--output", out, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["files"]["documents.jsonl"] == 7
    done = call("import", out, "--index", new, "--json", env={"POLYGRAPH_EMBEDDER": "auto"})
    assert done.code == 0, done.err
    assert json.loads(done.out)["counts"]["documents"] == 7
    done = call("export", "--index", new, "--output", tmp_path / "again")
    assert done.code == 0, done.err
    assert "documents.jsonl" in done.out
    assert files_of(tmp_path / "again") == files_of(base / "export")
    done = call("import", out, "--index", new)
    assert done.code == 2
    assert "already" in done.sentence
    done = call("export", "--index", tmp_path / "none.index", "--output", tmp_path / "x")
    assert done.code == 2
    assert "there is no index" in done.sentence
