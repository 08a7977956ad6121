"""Building: the same index from the same documents, whatever the order and the history."""

import json
import sqlite3
import threading
import time
from dataclasses import asdict

import pytest

from polygraph.errors import BadInput, IndexUnreadable, NothingExtracted
from polygraph.graph.embedding_texts import RECIPES, entity_text
from polygraph.indexing import build
from polygraph.indexing.build import LAYERS
from polygraph.indexing.chunk_layers import embedded_text
from polygraph.models import Calls, Models
from polygraph.models.providers.static import HashEmbedder
from polygraph.records import Description, Entity
from polygraph.store.layers import DEPENDENCIES, FILE_LAYERS, NAME_VECTOR_LAYERS
from polygraph.testing import scripted_chat
from polygraph.workspace.index import Index

METHODS = ("naive", "bm25", "hybrid", "graphrag-local", "graphrag-global")
QUESTIONS = (
    "Who refused to pay for the lamp of the Skerry Light?",
    "What are the main themes of these documents?",
    "How are Old Tobin and Tobias Wren connected?",
)
VIEWS = {
    "documents": "id, title, text, metadata, hash",
    "chunks": "*",
    "windows": "id, document, ordinal, first, last, extractor, status, problem",
    "entity_rows": "*",
    "relation_rows": "*",
    "entities": "*",
    "names": "*",
    "relations": "*",
    "merges": "*",
    "summaries": "*",
    "written_summaries": "*",
    "communities": "*",
    "members": "*",
    "reports": "*",
    "layers": "name, version, n_rows",
}


def rows(folder):
    """Every row of every view, in the order in which it is read."""
    db = sqlite3.connect(folder / "index.sqlite")
    return {
        name: sorted(db.execute(f"SELECT {columns} FROM {name}").fetchall(), key=repr)
        for name, columns in VIEWS.items()
    }


def files(folder):
    """Matrices and graph, byte by byte."""
    found = {}
    for path in sorted((folder / "derived").rglob("*")):
        if path.is_file() and path.suffix in (".npy", ".csr"):
            found[path.relative_to(folder).as_posix()] = path.read_bytes()
    return found


def answers(index):
    found = []
    for method in METHODS:
        for question in QUESTIONS:
            value = asdict(index.ask(question, method))
            for part in (value["usage"], value["retrieval"]["usage"]):
                part["seconds"] = 0.0
            found.append(json.dumps(value, ensure_ascii=False))
    return found


def models(kind):
    embedder = HashEmbedder()
    chat = scripted_chat() if kind == "llm" else None
    return Models(chat=chat, embedder=embedder, name_embedder=embedder, reranker=None, calls=Calls(None))


def opened(folder, kind="nlp", **flags):
    flags = {"chunk_tokens": 32, "window_tokens": 64, "description_tokens": 40} | flags
    return Index.open(folder, models=models(kind), **flags)


@pytest.fixture(scope="module", params=["nlp", "llm"])
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def whole(kind, tmp_path_factory, papers_texts, write_files):
    """An index of all papers, built at once, and the folder that it was built from."""
    base = tmp_path_factory.mktemp(f"whole-{kind}")
    folder = write_files(base / "papers", papers_texts)
    with opened(base / "index", kind) as index:
        report = index.add(folder)
        assert set(report.built) == set(DEPENDENCIES)
        return base / "index", folder, rows(base / "index"), files(base / "index"), answers(index)


def test_every_layer_is_built_after_those_it_rests_on():
    names = [layer.name for layer in LAYERS]
    assert all(names.index(below) < names.index(layer.name) for layer in LAYERS for below in layer.rests_on)
    assert frozenset(RECIPES) == NAME_VECTOR_LAYERS


def test_two_builds_of_one_folder_are_identical(whole, kind, tmp_path):
    _, folder, wanted_rows, wanted_files, wanted_answers = whole
    with opened(tmp_path / "again", kind) as index:
        index.add(folder)
        for name, found in rows(tmp_path / "again").items():
            assert found == wanted_rows[name], name
        assert files(tmp_path / "again") == wanted_files
        assert answers(index) == wanted_answers


def test_a_build_compares_the_checksums_of_earlier_files_once_and_of_its_own_never(
    tmp_path, papers, monkeypatch
):
    compared = []

    def damage(folder, *, thorough):
        assert thorough
        compared.append(folder.name)
        return ""

    monkeypatch.setattr(build, "damage", damage)
    for expected in ([], sorted(FILE_LAYERS)):
        compared.clear()
        with opened(tmp_path / "index") as index:
            index.add(papers)
        assert sorted(name.rpartition("-")[0] for name in compared) == expected


class NoticedEmbedder(HashEmbedder):
    """Notes in which thread it embeds; with an error, that is raised for texts of a layer, after what it waits for."""

    def __init__(self, error=None, wait_for=None):
        self.threads, self.error, self.wait_for = set(), error, wait_for

    def embed(self, texts, kind):
        self.threads.add(threading.current_thread().name)
        if self.error is not None and kind == "document":
            assert self.wait_for()
            raise self.error
        return super().embed(texts, kind)


@pytest.fixture
def idle_core(monkeypatch):
    """As with a thousand chunks and two cores."""
    monkeypatch.setattr(build, "_MANY", 1)
    monkeypatch.setattr(build, "n_cores", lambda: 2)


def opened_with(folder, embedder, name_embedder):
    given = Models(
        chat=None, embedder=embedder, name_embedder=name_embedder, reranker=None, calls=Calls(None)
    )
    return Index.open(folder, models=given, chunk_tokens=32, window_tokens=64, description_tokens=40)


def test_vectors_of_chunks_are_computed_beside_the_layers_of_the_graph_with_equal_bytes(
    idle_core, papers, tmp_path, monkeypatch
):
    embedder = NoticedEmbedder()
    with opened_with(tmp_path / "beside", embedder, HashEmbedder()) as index:
        report = index.add(papers)
    assert set(report.built) == set(DEPENDENCIES)
    assert "polygraph-layer" in embedder.threads
    assert "MainThread" not in embedder.threads
    monkeypatch.setattr(build, "_MANY", 1_000_000)
    embedder = NoticedEmbedder()
    with opened_with(tmp_path / "before", embedder, HashEmbedder()) as index:
        index.add(papers)
    assert "polygraph-layer" not in embedder.threads
    assert rows(tmp_path / "beside") == rows(tmp_path / "before")
    assert files(tmp_path / "beside") == files(tmp_path / "before")


class EndpointEmbedder(HashEmbedder):
    """Counts as an endpoint, so that layers are built side by side; notes the windows that were read when it embeds."""

    local = False

    def __init__(self, read):
        self.read, self.windows_read = read, set()

    def embed(self, texts, kind):
        if kind == "document":
            self.windows_read.add(len(self.read))
        return super().embed(texts, kind)


def test_layers_beside_an_endpoint_have_equal_bytes_and_wait_for_those_that_they_rest_on(papers, tmp_path):
    for name in ("beside", "in order"):
        chat, read = scripted_chat(), []
        chat.replies["extract"] = noted(chat.replies["extract"], read)
        embedder = EndpointEmbedder(read) if name == "beside" else HashEmbedder()
        given = Models(chat=chat, embedder=embedder, name_embedder=embedder, reranker=None, calls=Calls(None))
        options = {"chunk_tokens": 32, "window_tokens": 64, "description_tokens": 40}
        with Index.open(tmp_path / name, models=given, **options) as index:
            report = index.add(papers, extractor="llm")
        assert set(report.built) == set(DEPENDENCIES)
        if name == "beside":
            # Not one text of a document before the last window.
            assert embedder.windows_read == {len(read)}
    assert rows(tmp_path / "beside") == rows(tmp_path / "in order")
    assert files(tmp_path / "beside") == files(tmp_path / "in order")


def noted(reply, calls):
    def note(request):
        calls.append(request)
        return reply(request)

    return note


def test_vectors_of_chunks_are_kept_where_another_layer_fails_beside_them(idle_core, papers, tmp_path):
    def vectors_are_done():
        ends = time.monotonic() + 30
        while any(thread.name == "polygraph-layer" for thread in threading.enumerate()):
            assert time.monotonic() < ends
            time.sleep(0.01)
        return True

    names = NoticedEmbedder(OSError("the disk is full"), vectors_are_done)
    with (
        opened_with(tmp_path / "index", HashEmbedder(), names) as index,
        pytest.raises(OSError, match="the disk is full"),
    ):
        index.add(papers)
    done = {name for name, *_ in rows(tmp_path / "index")["layers"]}
    assert {"chunk_vectors", "graph"} <= done < set(DEPENDENCIES)


def test_documents_added_in_another_order_give_the_identical_index(
    whole, kind, tmp_path, papers_texts, write_files
):
    _, _, wanted_rows, wanted_files, wanted_answers = whole
    folder = tmp_path / "papers"
    with opened(tmp_path / "index", kind) as index:
        given = {}
        for name in reversed(papers_texts):
            given[name] = papers_texts[name]
            write_files(folder, given)
            report = index.add(folder)
            assert report.removed == 0
        for name, found in rows(tmp_path / "index").items():
            assert found == wanted_rows[name], name
        assert {n: d for n, d in files(tmp_path / "index").items() if n in wanted_files} == wanted_files
        assert answers(index) == wanted_answers


def test_removing_a_document_equals_a_build_without_it(kind, tmp_path, papers_texts, write_files):
    folder = write_files(tmp_path / "papers", papers_texts)
    few = write_files(tmp_path / "few", {n: t for n, t in papers_texts.items() if n != "log.md"})
    with opened(tmp_path / "whole", kind) as index:
        index.add(folder)
        n_before = len(index.models.chat.requests) if index.models.chat else 0
        index.remove("log.md")
        if index.models.chat:
            assert len(index.models.chat.requests) == n_before, "removing called the model"
        left_answers = answers(index) if kind == "nlp" else None
    with opened(tmp_path / "clean", kind) as index:
        index.add(few)
        clean_answers = answers(index) if kind == "nlp" else None
    left, clean = rows(tmp_path / "whole"), rows(tmp_path / "clean")
    # Reports by a model fall back to sentences until they are written again.
    own = {"reports"} if kind == "llm" else set()
    for name in VIEWS.keys() - own:
        assert left[name] == clean[name], name
    assert left_answers == clean_answers
    text = (tmp_path / "whole" / "index.sqlite").read_bytes()
    assert text  # the file itself may keep free pages; what can be read may not:
    for name, found in left.items():
        assert "struck the Grey Reef" not in repr(found), name


def test_a_changed_document_equals_a_build_with_the_change(kind, tmp_path, papers_texts, write_files):
    changed = {**papers_texts, "log.md": "# Log\n\nThe Halcyon was sold to Ezra Pike at Sallow Bay."}
    folder = write_files(tmp_path / "papers", papers_texts)
    with opened(tmp_path / "index", kind) as index:
        index.add(folder)
        write_files(folder, changed)
        report = index.add(folder)
        assert (report.changed, report.added, report.removed) == (1, 0, 0)
    with opened(tmp_path / "clean", kind) as index:
        index.add(folder)
    left, clean = rows(tmp_path / "index"), rows(tmp_path / "clean")
    for name in VIEWS:
        assert left[name] == clean[name], name


def test_other_chunk_sizes_cut_stored_documents_again(tmp_path, papers):
    with opened(tmp_path / "index") as index:
        index.add(papers)
    with opened(tmp_path / "index", chunk_tokens=64) as index:
        index.add()
    with opened(tmp_path / "clean", chunk_tokens=64) as index:
        index.add(papers)
    assert rows(tmp_path / "index") == rows(tmp_path / "clean")


def test_settings_that_are_not_given_stay_as_the_index_was_built(tmp_path, papers):
    with opened(tmp_path / "index") as index:
        index.add(papers)
    with Index.open(tmp_path / "index", models=models("nlp")) as index:
        assert index.add(papers).built == {}


def test_one_layer_at_a_time_gives_the_same_index(whole, kind, tmp_path):
    _, folder, wanted_rows, wanted_files, _ = whole
    with opened(tmp_path / "index", kind) as index:
        for method in ("bm25", "naive", "graphrag-global", "graphrag-local"):
            index.add(folder, methods=[method])
        index.add(folder)
    assert rows(tmp_path / "index") == wanted_rows
    assert files(tmp_path / "index") == wanted_files


def test_progress_is_told_to_the_end_of_each_stage(tmp_path, papers):
    told = {}

    def listen(stage, done, total):
        assert 0 <= done <= total
        assert done >= told.get(stage, (0, 0))[0]
        told[stage] = (done, total)

    with opened(tmp_path / "index") as index:
        index.add(papers, progress=listen)
    assert {"documents", "extraction", "chunk_vectors", "entity_vectors", "reports"} <= told.keys()
    for stage, (done, total) in told.items():
        assert done == total, stage


def test_texts_without_a_single_name_fail_for_the_graph_and_not_for_words(tmp_path, write_files):
    folder = write_files(tmp_path / "papers", {"a.txt": "?? !! ... -- ??"})
    with opened(tmp_path / "index") as index:
        assert index.add(folder, methods=["bm25"]).added == 1
        with pytest.raises(NothingExtracted, match="--for bm25"):
            index.add(folder)


@pytest.mark.slow
def test_a_build_stopped_in_any_stage_goes_on_and_ends_the_same(whole, kind, tmp_path):
    _, folder, wanted_rows, wanted_files, _ = whole

    class Stop(Exception):
        pass

    for stage in ("documents", "chunk_vectors", "extraction", "resolution", "entity_vectors", "reports"):
        place = tmp_path / stage

        def stop(name, done, total, stage=stage):
            if name == stage:
                raise Stop

        with opened(place, kind) as index:
            with pytest.raises(Stop):
                index.add(folder, progress=stop)
            index.add(folder)
        assert rows(place) == wanted_rows, stage
        assert {n: d for n, d in files(place).items() if n in wanted_files} == wanted_files, stage


def test_a_reading_that_was_stopped_is_reported_until_it_is_read_to_the_end(tmp_path, write_files):
    folder = write_files(tmp_path / "papers", {f"{n}.txt": f"Ada Roe kept light {n}." for n in range(3)})

    def stop(name, done, total):
        if (name, done) == ("documents", 2):
            raise KeyboardInterrupt

    with opened(tmp_path / "index") as index:
        with pytest.raises(KeyboardInterrupt):
            index.add(folder, methods=["bm25"], progress=stop)
        fix = f"polygraph index {folder} --index {tmp_path / 'index'}"
        # A build of what is there does not make it whole.
        (note,) = index.add(methods=["bm25"]).notes
        assert note.endswith(fix)
        assert fix in index.status()["notes"][0]
        other = write_files(tmp_path / "other", {"a.txt": "Silas Roe kept another."})
        assert fix in index.add(other, methods=["bm25"]).notes[0]
        found = index.add(folder, methods=["bm25"])
        assert (found.added, found.notes, index.status()["notes"]) == (1, [], [])


def test_decisions_of_the_user_are_followed_and_taken_back(tmp_path, write_files):
    folder = write_files(
        tmp_path / "papers",
        {"a.txt": "Mara Quill met Captain Tobin. Old Tobin met Mara Quill. Captain Tobin sold the Halcyon."},
    )
    with opened(tmp_path / "index", "llm") as index:
        index.add(folder)
        names = index.snapshot().entities_named(["Old Tobin", "Captain Tobin"])
        assert names["Old Tobin"] != names["Captain Tobin"]
        index.entities.merge("Old Tobin", "Captain Tobin")
        names = index.snapshot().entities_named(["Old Tobin", "Captain Tobin"])
        assert names["Old Tobin"] == names["Captain Tobin"]
        index.entities.split("Old Tobin", "Captain Tobin")
        names = index.snapshot().entities_named(["Old Tobin", "Captain Tobin"])
        assert names["Old Tobin"] != names["Captain Tobin"]


def test_removing_everything_leaves_an_index_that_says_so(tmp_path, write_files):
    folder = write_files(tmp_path / "papers", {"a.txt": "Mara Quill met Old Tobin at the Skerry Light."})
    with opened(tmp_path / "index") as index:
        index.add(folder)
        index.remove("a.txt")
        assert index.status()["documents"] == 0
        for method in METHODS:
            found = index.ask("Who met Old Tobin?", method)
            assert found.refused, method


def test_nothing_to_remove_or_to_build_is_an_error(tmp_path):
    with opened(tmp_path / "none") as index:
        with pytest.raises(IndexUnreadable):
            index.add()
        with pytest.raises(BadInput):
            index.add(tmp_path / "nowhere")


def test_the_embedded_text_of_a_chunk_begins_with_its_title_once():
    assert embedded_text("Log", "Log of a ship") == "Log of a ship"
    assert embedded_text("Log", "A ship") == "Log\nA ship"


def test_the_embedded_text_of_an_entity_holds_name_type_and_descriptions():
    told = (Description("A keeper.", "a:0"), Description("Of the light.", "b:0"))
    entity = Entity(id="mara", name="Mara", type="person", aliases=(), descriptions=told, chunks=("a:0",))
    assert entity_text(entity) == "Mara (person): A keeper. Of the light."
