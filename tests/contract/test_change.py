"""Change: whatever was added, changed and removed, the index is that of what is left, and of nothing else."""

import json
import sqlite3
import zlib
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from polygraph.errors import BadInput, IndexMismatch
from polygraph.models import Calls, Models
from polygraph.models.providers.scripted import ScriptedChat, ScriptedEmbedder
from polygraph.models.providers.scripted_server import ScriptedServer
from polygraph.models.providers.static import HashEmbedder
from polygraph.store.layers import DEPENDENCIES
from polygraph.store.snapshot import Snapshot
from polygraph.testing import REPLIES, scripted_chat
from polygraph.workspace.index import Index

POOL = {
    "board.txt": "The Harbour Board met in March. Tobias Wren spoke of the Skerry Light. Mara Quill answered him.",
    "courier.txt": "The Halcyon is lost on the Grey Reef. The Harbour Board blames Mara Quill of the Skerry Light.",
    "diary.txt": "Ada Marsh saw Old Tobin on the Grey Reef. Old Tobin had left the Halcyon there with Ezra Pike.",
    "letter.txt": "Mara Quill wrote to Old Tobin. She had built the Skerry Light. Tobias Wren refused to pay.",
    "log.txt": "The Halcyon left Sallow Bay. Old Tobin was her master. The Halcyon struck the Grey Reef.",
}
CHANGED = {
    name: f"{text} Later Ezra Pike bought the lamp of the Skerry Light from {name[:3].title()} Crane."
    for name, text in POOL.items()
}
VIEWS = {
    "documents": "id, title, text, metadata, hash",
    "unread": "*",
    "chunks": "*",
    "windows": "*",
    "entity_rows": "*",
    "relation_rows": "*",
    "entities": "*",
    "names": "*",
    "relations": "*",
    "triples": "*",
    "merges": "*",
    "summaries": "*",
    "written_summaries": "*",
    "reread": "*",
    "communities": "*",
    "members": "*",
    "reports": "*",
    "layers": "name, version, n_rows",
}
SECRET = "Zyxomant"


def tables(folder, *without):
    db = sqlite3.connect(folder / "index.sqlite")
    try:
        return {
            name: sorted(db.execute(f"SELECT {columns} FROM {name}").fetchall(), key=repr)
            for name, columns in VIEWS.items()
            if name not in without
        }
    finally:
        db.close()


def files(folder):
    """Matrices and graph of the layers in force, byte by byte."""
    db = sqlite3.connect(folder / "index.sqlite")
    versions = dict(db.execute("SELECT name, version FROM layers"))
    db.close()
    found = {}
    for layer, version in versions.items():
        for path in sorted((folder / "derived" / f"{layer}-{version[:12]}").rglob("*")):
            if path.suffix in (".npy", ".csr"):
                found[layer] = path.read_bytes()
    return found


def found_words(folder):
    """What the lexical index finds, with scores; it names its files at random."""
    snapshot = Snapshot(folder)
    hits = {name: snapshot.search_words(text, 20) for name, text in {**POOL, **CHANGED}.items()}
    snapshot.close()
    return hits


def exported(index, place):
    index.export(place)
    return {path.name: path.read_bytes() for path in sorted(place.iterdir())}


def models(chat=None, calls=None, embedder=None):
    embedder = embedder or HashEmbedder()
    return Models(
        chat=chat, embedder=embedder, name_embedder=embedder, reranker=None, calls=calls or Calls(None)
    )


def opened(folder, chat=None, **more):
    return Index.open(
        folder, models=models(chat, **more), chunk_tokens=32, window_tokens=64, description_tokens=40
    )


def put(folder: Path, texts):
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


# --- the property ---------------------------------------------------------------------------------------

NAMES = st.sampled_from(sorted(POOL))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), NAMES),
        st.tuples(st.just("change"), NAMES),
        st.tuples(st.just("delete"), NAMES),
        st.tuples(st.just("remove"), NAMES),
        st.tuples(st.just("refresh"), st.just("")),
        st.tuples(st.just("forget"), NAMES),
        st.tuples(st.just("partly"), NAMES),
        st.tuples(st.just("change partly"), NAMES),
    ),
    min_size=2,
    max_size=6,
)


TAKEN_BACK = [("change", "board.txt"), ("partly", "board.txt"), ("change", "board.txt")]
"""A change that is taken back before the graph is built."""


def follow(steps, base, chat):
    """Do the steps on one index; then compare it with one built from nothing of what is left."""
    texts = {"board.txt": POOL["board.txt"], "letter.txt": POOL["letter.txt"]}
    put(base / "papers", texts)
    with opened(base / "index", chat) as index:
        index.add(base / "papers")
        for kind, name in steps:
            if kind in ("add", "change", "partly", "change partly"):
                texts[name] = CHANGED[name] if kind.startswith("change") else POOL[name]
            elif name in texts and len(texts) > 1:
                del texts[name]
                if kind in ("remove", "forget"):
                    asked = len(chat.requests) if chat else 0
                    report = index.remove(name, forget=kind == "forget")
                    assert report.forgotten == (kind == "forget")
                    assert (len(chat.requests) if chat else 0) == asked
                if kind == "forget":
                    assert traces(base / "index", [name]) == []
            put(base / "papers", texts)
            if kind == "refresh":
                index.refresh()
            elif kind.endswith("partly"):
                index.add(base / "papers", methods=["bm25"])
            elif kind not in ("remove", "forget"):
                index.add(base / "papers")
        index.add(base / "papers")
        index.refresh()
        ours = exported(index, base / "ours")
    with opened(base / "clean", chat) as clean:
        clean.add(base / "papers")
        theirs = exported(clean, base / "theirs")
    found, wanted = tables(base / "index"), tables(base / "clean")
    for name in VIEWS:
        assert found[name] == wanted[name], name
    assert {row[0] for row in found["layers"]} == set(DEPENDENCIES)
    assert files(base / "index") == files(base / "clean")
    assert found_words(base / "index") == found_words(base / "clean")
    assert ours == theirs


@pytest.mark.parametrize("chat", [None, scripted_chat()], ids=["capitals", "model"])
def test_a_graph_whose_rows_are_gone_is_not_built_from_what_is_left(chat, no_parser, tmp_path):
    put(tmp_path / "papers", POOL)
    with opened(tmp_path / "index", chat) as index:
        index.add(tmp_path / "papers")
        for texts in ({**POOL, "board.txt": CHANGED["board.txt"]}, POOL):
            put(tmp_path / "papers", texts)
            index.add(tmp_path / "papers", methods=["bm25"])
        (tmp_path / "papers" / "log.txt").unlink()
        index.remove("log.txt")
        assert index.status()["layers"]["graph"]["state"] == "missing"
        assert index.status()["layers"]["lexical"]["state"] == "ready"
        index.add(tmp_path / "papers")
    with opened(tmp_path / "clean", chat) as clean:
        clean.add(tmp_path / "papers")
    assert tables(tmp_path / "index") == tables(tmp_path / "clean")
    assert files(tmp_path / "index") == files(tmp_path / "clean")


COMMON = {
    "deadline": None,
    "derandomize": True,
    "database": None,
    "phases": (Phase.explicit, Phase.generate, Phase.shrink),
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
}


@pytest.mark.slow
@settings(max_examples=4, **COMMON)
@example([("add", "log.txt"), ("remove", "log.txt"), ("add", "log.txt")])
@example(TAKEN_BACK)
@given(STEPS)
def test_any_history_gives_the_index_of_what_is_left(no_parser, tmp_path_factory, steps):
    follow(steps, tmp_path_factory.mktemp("history"), None)


@pytest.mark.slow
@settings(max_examples=4, **COMMON)
@example([("remove", "letter.txt"), ("change", "board.txt"), ("refresh", "")])
@example(TAKEN_BACK)
@given(STEPS)
def test_any_history_gives_the_index_of_what_is_left_with_a_model(tmp_path_factory, steps):
    follow(steps, tmp_path_factory.mktemp("history"), scripted_chat())


@pytest.mark.deep
@pytest.mark.parametrize("chat", [None, scripted_chat()], ids=["capitals", "model"])
def test_any_of_many_histories_gives_the_index_of_what_is_left(chat, no_parser, tmp_path_factory):
    @settings(max_examples=300, **COMMON)
    @given(STEPS)
    def check(steps):
        follow(steps, tmp_path_factory.mktemp("history"), chat)

    check()


def test_what_is_empty_now_is_removed_and_what_cannot_be_read_stays(no_parser, tmp_path):
    papers = tmp_path / "papers"
    put(papers, POOL)
    records = [
        {"id": name, "text": text} for name, text in (("one", "Ada Marsh left."), ("two", "Ezra Pike came."))
    ]
    lines = [json.dumps(record) for record in records]
    (papers / "r.jsonl").write_text("\n".join(lines))
    (papers / "t.csv").write_text("title,text\nfirst,Old Tobin slept.\n")
    with opened(tmp_path / "index") as index:

        def left():
            expected = index.estimate(papers).documents
            report = index.add(papers)
            assert report.counts["documents"] == expected
            return report.removed, sorted(
                row[0] for row in tables(index.folder)["documents"] if "#" in row[0]
            )

        assert left() == (0, ["r.jsonl#one", "r.jsonl#two", "t.csv#2"])
        (papers / "log.txt").write_bytes(b"")
        (papers / "t.csv").write_text("title,text\n")
        (papers / "r.jsonl").write_text("\n".join([lines[0], json.dumps({"id": "two", "text": " "})]))
        assert left() == (3, ["r.jsonl#one"])
        (papers / "r.jsonl").write_text("\n".join(lines))
        (papers / "diary.txt").write_bytes(b"\x00\x01\x02" * 500)
        assert left() == (0, ["r.jsonl#one", "r.jsonl#two"])
        (papers / "r.jsonl").write_text("\n".join([lines[0], lines[0]]))
        assert left() == (1, ["r.jsonl#one"])  # the second is read, though its id is taken
        (papers / "r.jsonl").write_text("\n".join(lines))
        left()
        (papers / "r.jsonl").write_text("\n".join([lines[0], lines[1][:-5]]))
        assert left() == (0, ["r.jsonl#one", "r.jsonl#two"])  # it may be the second


def test_a_folder_that_was_moved_is_followed(no_parser, tmp_path):
    put(tmp_path / "papers", POOL)
    with opened(tmp_path / "index") as index:
        index.add(tmp_path / "papers")
        (tmp_path / "papers").rename(tmp_path / "moved")
        assert index.add(tmp_path / "moved").unchanged == len(POOL)
        (tmp_path / "moved" / "log.txt").unlink()
        assert index.add(tmp_path / "moved").removed == 1


def test_an_imported_document_is_removed_once_its_file_was_found_and_is_gone(no_parser, tmp_path):
    put(tmp_path / "papers", POOL)
    with opened(tmp_path / "index") as index:
        index.add(tmp_path / "papers")
        index.export(tmp_path / "export")
    with opened(tmp_path / "copy") as copy:
        copy.import_(tmp_path / "export")
        (tmp_path / "papers" / "diary.txt").unlink()
        assert copy.add(tmp_path / "papers").removed == 0  # nothing says where it was
        (tmp_path / "papers" / "log.txt").unlink()
        assert copy.add(tmp_path / "papers").removed == 1


def test_a_pattern_keeps_the_documents_that_it_shares_with_another(no_parser, tmp_path):
    put(tmp_path / "papers", POOL)
    with opened(tmp_path / "index") as index:
        index.add(tmp_path / "papers" / "*.txt")
        index.add(tmp_path / "papers" / "l*.txt")
        (tmp_path / "papers" / "log.txt").unlink()
        assert index.add(tmp_path / "papers" / "*.txt").removed == 1


# --- removing with a model ------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path):
    """An index whose rows and reports a model wrote, with the model."""
    chat = scripted_chat()
    put(
        tmp_path / "papers",
        {**POOL, "secret.txt": f"Mara Quill hid the {SECRET} from Old Tobin. {SECRET} shone."},
    )
    with opened(tmp_path / "index", chat, calls=Calls(tmp_path / "index" / "calls.sqlite")) as index:
        index.add(tmp_path / "papers")
        yield index, chat


def large_reports(index):
    """The reports that a model writes: those of communities of at least three entities."""
    snapshot = index.snapshot()
    large = [c.id for c in snapshot.communities() if len(c.entities) >= 3]
    return {r.community: r for r in snapshot.reports(large)}


def test_removing_asks_no_model_and_only_reports_whose_input_changed_fall_back(written):
    index, chat = written
    before = large_reports(index)
    assert {r.written_by for r in before.values()} == {"scripted"}
    asked = len(chat.requests)
    report = index.remove("courier.txt")
    assert len(chat.requests) == asked
    assert report.usage.calls == report.usage.cached_calls == 0
    after = large_reports(index)
    fallen = [r for r in after.values() if r.written_by == "extractive"]
    kept = [r for r in after.values() if r.written_by == "scripted"]
    assert fallen
    assert all("courier.txt:0" not in r.chunks for r in after.values())
    assert all("courier.txt:0" not in before[r.community].chunks for r in kept)
    assert any("polygraph refresh" in note for note in report.notes)
    index.refresh()
    assert {r.written_by for r in large_reports(index).values()} == {"scripted"}
    assert not any("polygraph refresh" in note for note in index.status()["notes"])
    tasks = [r for r in chat.requests[asked:] if "Task: report" in r.messages[0].content]
    assert len(chat.requests) - asked == len(tasks)
    assert 0 < len(tasks) <= len(fallen)
    n = len(chat.requests)
    index.refresh()
    assert len(chat.requests) == n


def test_what_did_not_change_is_kept_when_something_is_removed(tmp_path):
    chat = scripted_chat()
    papers = {
        "a.txt": "Mara Quill met Old Tobin. Old Tobin met Tobias Wren. Tobias Wren met Mara Quill.",
        "b.txt": "Ada Marsh met Ezra Pike. Ezra Pike met Ruth Fenn. Ruth Fenn met Ada Marsh.",
    }
    put(tmp_path / "papers", papers)
    with opened(tmp_path / "index", chat) as index:
        index.add(tmp_path / "papers")
        n = len(index.snapshot().reports())
        index.remove("b.txt")
        left = index.snapshot().reports()
        assert 0 < len(left) < n
        assert {r.written_by for r in left} == {"scripted"}
        assert not any("refresh" in note for note in index.status()["notes"])


def test_nothing_of_a_removed_document_is_found_said_or_kept_in_a_view(written):
    index, _ = written
    asked = f"What is the {SECRET} of Mara Quill?"
    assert SECRET in index.ask(asked, "bm25").text
    index.remove("secret.txt")
    for method in ("naive", "bm25", "hybrid", "graphrag-local", "graphrag-global"):
        found = asdict(index.ask("What did Mara Quill hide from Old Tobin?", method))
        told = json.dumps(found, default=str)
        assert SECRET not in told, method
    assert index.snapshot().entities_named([SECRET]) == {}
    rows = sqlite3.connect(index.folder / "index.sqlite").iterdump()
    assert not [row for row in rows if SECRET.lower() in row.lower()]


def compressed_texts(data):
    """Everything that zlib can read of streams that begin anywhere in a file, also of those on free pages."""
    found = bytearray()
    begin = data.find(b"\x78\x9c")
    while begin >= 0:
        stream = zlib.decompressobj()
        with suppress(zlib.error):
            for at in range(begin, min(len(data), begin + 20_000), 64):
                found += stream.decompress(data[at : at + 64])
        begin = data.find(b"\x78\x9c", begin + 1)
    return bytes(found)


def traces(folder, words=(SECRET,)):
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            if path.name.startswith("calls.sqlite"):
                data += compressed_texts(data)
            data = data.lower()
            found += [path.relative_to(folder).as_posix() for word in words if word.lower().encode() in data]
    return found


def stop_before_forgetting(index, monkeypatch):
    """Remove the secret, interrupted when all views are in step and stored replies are about to be deleted."""

    def interrupt(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as stopped:
        stopped.setattr(index.models.calls, "keep_only", interrupt)
        with pytest.raises(KeyboardInterrupt):
            index.remove("secret.txt", forget=True)


def test_forgetting_leaves_no_trace_in_any_file_and_keeps_the_replies_of_what_is_left(written):
    index, chat = written
    index.ask(f"What is the {SECRET}?", "graphrag-global")
    assert {"index.sqlite", "calls.sqlite"} <= {t.removesuffix("-wal") for t in traces(index.folder)}
    report = index.remove("secret.txt", forget=True)
    assert report.forgotten
    assert not any("-wal" in note for note in report.notes)
    assert traces(index.folder) == []
    assert not (index.folder / "derived" / "before.sqlite").exists()
    # What was read from the other documents is still there: a new index of them pays for no extraction.
    for path in index.folder.glob("index.sqlite*"):
        path.unlink()
    n = len(chat.requests)
    index.add(index.folder.parent / "papers")
    asked = [r for r in chat.requests[n:] if "Task: extract" in r.messages[0].content]
    assert len(asked) == 1  # the secret, whose file is still in the folder
    index.remove("secret.txt", forget=True)
    assert traces(index.folder) == []


@pytest.mark.parametrize("was_read", [True, False])
def test_forgetting_leaves_no_name_of_a_document_where_the_graph_is_not_built_again(
    was_read, no_parser, tmp_path
):
    name = f"{SECRET}.txt"
    papers = tmp_path / "papers"
    texts = {**POOL, name: f"Mara Quill hid the {SECRET} from Old Tobin."}
    put(papers, texts if was_read else POOL)
    with opened(tmp_path / "index") as index:
        index.add(papers)
        put(papers, {**texts, "board.txt": CHANGED["board.txt"]})
        index.add(papers, methods=["bm25"])
        assert traces(index.folder)
        assert index.remove(name, forget=True).forgotten
        assert traces(index.folder) == []


def test_forgetting_can_be_asked_for_later(written):
    index, _ = written
    index.remove("secret.txt")
    assert traces(index.folder)
    index.remove(forget=True)
    assert traces(index.folder) == []
    with pytest.raises(BadInput, match="name at least one document"):
        index.remove()


def test_forgetting_that_was_stopped_is_ended_by_the_next_command_which_says_so(written, monkeypatch):
    index, _ = written
    stop_before_forgetting(index, monkeypatch)
    assert traces(index.folder)
    assert index.refresh().forgotten
    assert traces(index.folder) == []
    assert not index.refresh().forgotten  # nothing was asked for


@pytest.fixture
def short_busy_timeout(monkeypatch):
    monkeypatch.setattr("polygraph.store.connection.BUSY_TIMEOUT_S", 0.3)


def test_a_reader_that_holds_what_is_to_be_forgotten_is_named_by_whatever_command_forgets(
    short_busy_timeout, written, monkeypatch
):
    index, _ = written
    held = sqlite3.connect(index.folder / "index.sqlite", isolation_level=None)
    held.execute("BEGIN")
    held.execute("SELECT count(*) FROM documents").fetchone()
    stop_before_forgetting(index, monkeypatch)
    report = index.refresh()
    assert not report.forgotten
    assert any("another process is still reading" in note for note in report.notes)
    held.close()
    assert index.remove(forget=True).forgotten
    assert traces(index.folder) == []


def test_vectors_of_removed_texts_are_forgotten_and_the_others_kept(tmp_path):
    put(tmp_path / "papers", {**POOL, "secret.txt": f"Mara Quill hid the {SECRET}."})
    calls = Calls(tmp_path / "index" / "calls.sqlite")
    embedder = ScriptedEmbedder()
    with opened(tmp_path / "index", scripted_chat(), calls=calls, embedder=embedder) as index:
        index.add(tmp_path / "papers")
        index.remove("secret.txt")
        n = (
            sqlite3.connect(index.folder / "calls.sqlite")
            .execute("SELECT count(*) FROM vector")
            .fetchone()[0]
        )
        embedder.texts.clear()
        index.remove(forget=True)
        assert embedder.texts == []
        left = (
            sqlite3.connect(index.folder / "calls.sqlite")
            .execute("SELECT count(*) FROM vector")
            .fetchone()[0]
        )
        assert 0 < left < n


def test_removing_asks_no_endpoint_for_vectors_until_refresh(tmp_path):
    class Far(ScriptedEmbedder):
        local = False

    put(tmp_path / "papers", POOL)
    embedder = Far(name="endpoint:far")
    with opened(tmp_path / "index", scripted_chat(), embedder=embedder) as index:
        index.add(tmp_path / "papers")
        whole = files(index.folder)["entity_vectors"]
        embedder.texts.clear()
        index.remove("courier.txt")
        assert embedder.texts == []
        index.refresh()
        assert embedder.texts
        assert files(index.folder)["entity_vectors"] != whole
        index.add(tmp_path / "papers")
    with opened(tmp_path / "clean", scripted_chat(), embedder=Far(name="endpoint:far")) as clean:
        clean.add(tmp_path / "papers")
    assert files(tmp_path / "index") == files(tmp_path / "clean")


def test_removing_with_another_embedder_is_refused(written):
    index, _ = written
    with (
        opened(index.folder, embedder=ScriptedEmbedder()) as other,
        pytest.raises(IndexMismatch, match="scripted-embedder"),
    ):
        other.remove("log.txt")
    assert index.status()["documents"] == 6


# --- asking again ---------------------------------------------------------------------------------------


def failing(*names):
    """A model that cannot read documents with these words, until the list is emptied."""
    words = list(names)

    def extract(request):
        text = request.messages[1].content
        if any(word in text for word in words):
            return "I would rather not read this."
        return REPLIES["extract"](request)

    return ScriptedChat(replies={**REPLIES, "extract": extract}), words


def test_windows_that_failed_are_shown_and_asked_again_by_retry_alone(tmp_path):
    chat, words = failing("Ezra Pike")
    put(tmp_path / "papers", POOL)
    with opened(tmp_path / "index", chat) as index:
        index.add(tmp_path / "papers")
        (failure,) = index.status()["failures"]
        assert failure["window"] == "diary.txt@0"
        assert failure["raw"] == "I would rather not read this."
        words.clear()
        n = len(chat.requests)
        index.add(tmp_path / "papers")
        assert len(chat.requests) == n
        index.retry()
        assert index.status()["failures"] == []
        asked = [r for r in chat.requests[n:] if "Task: extract" in r.messages[0].content]
        assert len(asked) == 1
        assert index.models.calls.quarantined() == []
        assert index.snapshot().entities_named(["Ezra Pike"])
        n = len(chat.requests)
        index.retry()
        assert len(chat.requests) == n
    with opened(tmp_path / "clean", chat) as clean:
        clean.add(tmp_path / "papers")
    found, wanted = tables(tmp_path / "index", "layers"), tables(tmp_path / "clean", "layers")
    assert found == wanted


def test_a_window_that_a_retry_did_not_complete_is_paid_for_again_only_if_asked(tmp_path):
    chat, words = failing("Ezra Pike")
    put(tmp_path / "papers", POOL)
    with opened(tmp_path / "index", chat) as index:
        index.add(tmp_path / "papers")

        def asked(**options):
            n = len(chat.requests)
            return index.retry(**options).notes, len(chat.requests) - n

        notes, n_calls = asked()
        assert n_calls > 0
        assert not any("earlier retry" in note for note in notes)
        notes, n_calls = asked()
        assert n_calls == 0
        assert any("did not complete 1 window. To pay" in note and "retry --again" in note for note in notes)
        assert asked(again=True)[1] > 0
        # Another text of the same document is another window to read.
        put(tmp_path / "papers", {**POOL, "diary.txt": POOL["diary.txt"] + " Ezra Pike wrote no more."})
        index.add(tmp_path / "papers")
        words.clear()
        assert asked()[1] > 0
        assert index.status()["failures"] == []


def test_retrying_an_index_without_a_model_says_so(no_parser, tmp_path):
    put(tmp_path / "papers", POOL)
    with opened(tmp_path / "index") as index:
        index.add(tmp_path / "papers")
        with pytest.raises(BadInput, match=r"no part of the graph .* was extracted with the chat model"):
            index.retry()
        index.remove("log.txt")
        assert index.refresh().built == {}


def test_the_commands_refresh_retry_and_forget(papers, tmp_path, call):
    with ScriptedServer(chat=scripted_chat()) as server:
        env = {
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": "sk-test",
            "POLYGRAPH_CHAT_MODEL": "scripted",
        }
        index = tmp_path / "papers.index"
        assert call("index", papers, "--index", index, env=env).code == 0
        n = server.calls
        ended = call("remove", "letter.txt", "--index", index, "--forget", "--wait", "1", "--json", env=env)
        assert ended.code == 0, ended.err
        assert server.calls == n
        assert json.loads(ended.out)["forgotten"]
        assert traces(index, ["never forgave"]) == []
        again = call("remove", "--index", index, "--forget", env=env)
        assert "no file of the index contains a trace of the removed documents" in again.out
        ended = call("refresh", "--index", index, "--json", env=env)
        assert ended.code == 0, ended.err
        assert server.calls > n
        assert {entry.task for entry in server.log[n:]} == {"report"}
        ended = call("retry", "--index", index, "--json", env=env)
        assert ended.code == 0, ended.err
        ended = call("refresh", "--index", index, "--json")
        assert ended.code == 2
        assert "POLYGRAPH_CHAT_MODEL" in ended.sentence
