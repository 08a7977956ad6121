"""The commands as users and scripts meet them: what they print, how they end, and what they say is wrong."""

import json
import os
import re
import shlex
import shutil
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from polygraph import __version__
from polygraph.cli import COMMAND_GROUPS
from polygraph.cli.terminal import printable
from polygraph.models.providers.scripted_server import ScriptedServer
from polygraph.retrieve import METHODS
from polygraph.retrieve.catalogue import CATALOGUE, Group
from polygraph.store.lock import writing

QUESTION = "Who refused to pay for the lamp of the Skerry Light?"
USAGE = {"calls", "prompt_tokens", "completion_tokens", "cached_calls", "seconds", "cost"}


@pytest.fixture
def index(tmp_path):
    return tmp_path / "papers.index"


@pytest.fixture
def built(papers, index, call):
    """An index with the layers that need no graph: quick."""
    ended = call("index", papers, "--index", index, "--for", "hybrid")
    assert ended.code == 0, ended.err
    return index


@pytest.fixture(scope="session")
def whole(tmp_path_factory, papers_texts, write_files):
    """An index with every layer, not to be changed."""
    from polygraph.workspace.index import Index

    base = tmp_path_factory.mktemp("whole")
    folder = write_files(base / "papers", papers_texts)
    with Index.open(base / "index", embedder="hash", name_embedder="hash", reranker="none") as opened:
        opened.add(folder)
    return base / "index"


def fails(ended, *parts, code=2):
    """One sentence with the fix, the right exit code, and no traceback."""
    assert ended.code == code, (ended.code, ended.out, ended.err)
    assert "Traceback" not in ended.err + ended.out
    for part in parts:
        assert str(part) in ended.sentence, ended.sentence
    assert len(ended.sentence) < 700


# --- what users can mend: exit code 2 and one sentence ------------------------------------------------


def test_a_command_in_a_message_can_be_pasted_whatever_the_folder_is_called(built, call, tmp_path):
    index, study = tmp_path / "Bob's papers (new)", tmp_path / "a study"
    for failing in (("ask", QUESTION), ("status",), ("export", "--output", "e")):
        ended = call(*failing, "--index", index)
        assert shlex.split(ended.sentence.rpartition("with: ")[2])[-2:] == ["--index", str(index)]
    built.rename(index)
    ended = call("ask", QUESTION, "--index", index, "-m", "hipporag")
    hint = shlex.split(ended.sentence.rpartition("with: ")[2])
    assert hint == ["polygraph", "index", "--index", str(index), "--for", "hipporag"]
    ended = call("eval", "report", "--index", index, "--output", study)
    assert shlex.split(ended.sentence.rpartition("with: ")[2])[-2:] == ["--output", str(study)]


def test_an_index_with_vectors_of_an_endpoint_is_exported_without_the_endpoint(papers, call, index, tmp_path):
    built_with = {"POLYGRAPH_EMBEDDER": "endpoint:vectors", "POLYGRAPH_NAME_EMBEDDER": "endpoint:vectors"}
    with ScriptedServer() as server:
        env = {**built_with, "OPENAI_BASE_URL": server.base_url, "POLYGRAPH_CHAT_MODEL": "scripted"}
        assert call("index", papers, "--index", index, "--for", "naive", env=env).code == 0
    auto = dict.fromkeys(built_with, "auto")
    ended = call("export", "--output", tmp_path / "export", "--index", index, "--json", env=auto)
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["files"]["documents.jsonl"] > 0


def test_a_missing_folder_is_named(call, index, tmp_path):
    fails(call("index", tmp_path / "nowhere", "--index", index), tmp_path / "nowhere")
    assert not index.exists()


def test_an_empty_folder_is_named_with_what_could_be_read(call, index, tmp_path):
    (tmp_path / "empty").mkdir()
    fails(call("index", tmp_path / "empty", "--index", index), tmp_path / "empty")


def test_a_folder_with_nothing_readable_is_an_error_with_the_reason(call, index, tmp_path, write_files):
    folder = write_files(tmp_path / "odd", {"a.json": "{", "b.txt": "   \n"})
    (folder / "c.pdf").write_bytes(b"%PDF-1.4 broken")
    fails(call("index", folder, "--index", index), "a.json")


def test_an_unreadable_file_is_listed_and_the_rest_goes_on(call, index, papers):
    (papers / "broken.json").write_text("{", encoding="utf-8")
    ended = call("index", papers, "--index", index, "--for", "bm25")
    assert ended.code == 0
    assert "not read: " in ended.err
    assert "broken.json" in ended.err
    again = call("status", "--failed", "--index", index)
    assert "broken.json" in again.out


def test_only_what_was_asked_for_or_is_there_is_counted(call, index, papers):
    ended = call("index", papers, "--index", index, "--for", "bm25")
    assert "passages" in ended.out
    assert "entities" not in ended.out
    ended = call("index", papers, "--index", index, "--for", "hipporag")
    assert "entities" in ended.out
    assert "reports" not in ended.out


def test_an_index_that_is_a_file_is_named(call, papers, tmp_path):
    place = tmp_path / "file"
    place.write_text("no index", encoding="utf-8")
    for command in (["index", papers], ["ask", QUESTION], ["status"], ["remove", "a"]):
        fails(call(*command, "--index", place), place)
    assert place.read_text(encoding="utf-8") == "no index"


@pytest.mark.parametrize(
    "command",
    [["ask", QUESTION], ["chat"], ["compare", QUESTION], ["explain", QUESTION], ["status"], ["index"]],
)
def test_a_folder_without_an_index_names_the_command_that_makes_one(command, call, tmp_path):
    fails(call(*command, "--index", tmp_path / "none"), "polygraph index PATH")
    assert not (tmp_path / "none").exists()


def test_removing_from_no_index_makes_none(call, tmp_path):
    fails(call("remove", "a.txt", "--index", tmp_path / "none"), "polygraph")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("damage", ["overwritten", "cut", "empty", "no tables"])
def test_a_damaged_index_is_named_and_not_touched(damage, call, built):
    file = built / "index.sqlite"
    for name in ("index.sqlite-wal", "index.sqlite-shm"):
        (built / name).unlink(missing_ok=True)
    data = file.read_bytes()
    if damage == "overwritten":
        file.write_bytes(b"not a database at all" * 400)
    elif damage == "cut":
        file.write_bytes(data[: len(data) // 2])
    elif damage == "empty":
        file.write_bytes(b"")
    else:
        file.unlink()
        sqlite3.connect(file).executescript("CREATE TABLE other (x)")
    left = file.read_bytes()
    for command in (["ask", QUESTION, "-m", "bm25"], ["status"]):
        fails(call(*command, "--index", built), built)
    assert file.read_bytes() == left


def test_derived_files_are_made_anew_when_they_are_lost(call, built, papers):
    import shutil

    shutil.rmtree(built / "derived")
    fails(call("ask", QUESTION, "--index", built, "-m", "bm25"), "polygraph index --index", "--for bm25")
    assert call("index", "--index", built, "--for", "hybrid").code == 0
    assert call("ask", QUESTION, "--index", built, "-m", "bm25").code == 0


def test_an_index_of_another_embedder_is_explained(call, built):
    ended = call("ask", QUESTION, "--index", built, "-m", "naive", env={"POLYGRAPH_EMBEDDER": "wordllama"})
    if "needs the extra" in ended.err:
        pytest.skip("the static embedder is not installed")
    fails(ended, "hash", "wordllama", "polygraph index --index")
    assert (
        call("ask", QUESTION, "--index", built, "-m", "bm25", env={"POLYGRAPH_EMBEDDER": "wordllama"}).code
        == 0
    )


def test_the_embedder_of_the_index_is_used_where_none_is_named(call, built):
    ended = call("ask", QUESTION, "--index", built, "-m", "naive", env={"POLYGRAPH_EMBEDDER": "auto"})
    assert ended.code == 0, ended.err


def test_an_unknown_method_lists_those_there_are(call, built, papers):
    for command in (
        ["ask", QUESTION, "-m", "nave"],
        ["compare", QUESTION, "-m", "bm25,nave"],
        ["explain", QUESTION, "-m", "nave"],
        ["index", papers, "--for", "nave"],
    ):
        fails(call(*command, "--index", built), "'nave'", "naive", "graphrag-local")


def test_a_missing_layer_names_the_command_and_the_command_mends_it(call, papers, index):
    assert call("index", papers, "--index", index, "--for", "bm25").code == 0
    ended = call("ask", QUESTION, "--index", index, "-m", "naive")
    fails(ended, "chunk_vectors")
    fix = re.search(r"polygraph (index --index .* --for naive)$", ended.sentence)
    assert fix, ended.sentence
    assert call(*fix.group(1).split()).code == 0
    assert call("ask", QUESTION, "--index", index, "-m", "naive").code == 0


@pytest.mark.parametrize(
    ("where", "part"),
    [("year", "KEY=VALUE"), ("=1871", "KEY=VALUE"), ("yaer=1871", "no document has the field")],
)
def test_a_bad_filter_is_explained(where, part, call, built):
    fails(call("ask", QUESTION, "--index", built, "--where", where), part)


def test_a_filter_is_kept(call, built):
    ended = call("ask", "Who kept the Skerry Light?", "--index", built, "--where", "year=1870", "--json")
    assert ended.code == 0
    assert {e["document"] for e in json.loads(ended.out)["evidence"]} == {"people.jsonl#mara"}
    nothing = call("ask", QUESTION, "--index", built, "--where", "year=1600", "--json")
    assert nothing.code == 0
    assert json.loads(nothing.out)["refused"]
    assert "year" in json.loads(nothing.out)["text"]


def test_an_empty_question_and_an_impossible_budget_are_explained(call, built):
    fails(call("ask", "  ", "--index", built), "empty")
    fails(call("ask", QUESTION, "--index", built, "--max-tokens", "0"), "--max-tokens")
    fails(call("index", "--index", built, "--extractor", "magic"), "'nlp', 'fast', 'llm'")
    fails(call("index", "--index", built, "--extractor", "llm"), "POLYGRAPH_CHAT_MODEL")


def test_checking_citations_without_a_chat_model_says_what_to_do(call, built):
    fails(call("ask", QUESTION, "--index", built, "--check-citations"), "chat_model", "without the option")


def test_an_unknown_setting_and_a_bad_value_name_where_they_stand(call, built, tmp_path):
    (tmp_path / "polygraph.toml").write_text("embeder = 'hash'\n", encoding="utf-8")
    fails(call("status", "--index", built), "polygraph.toml", "embeder", "polygraph config --explain")
    (tmp_path / "polygraph.toml").write_text("chunk_tokens = 'many'\n", encoding="utf-8")
    fails(call("status", "--index", built), "polygraph.toml", "chunk_tokens", "many")
    (tmp_path / "polygraph.toml").write_text("chunk_tokens = \n", encoding="utf-8")
    fails(call("status", "--index", built), "polygraph.toml")
    (tmp_path / "polygraph.toml").unlink()
    fails(call("status", "--index", built, env={"POLYGRAPH_RETRIES": "-1"}), "POLYGRAPH_RETRIES", "-1")
    fails(call("ask", "Who?", "--index", built, env={"POLYGRAPH_EMBEDDER": "bert"}), "bert", "bge-small")


def test_wrong_usage_ends_with_code_2_and_no_traceback(call):
    for command in (["ask"], ["nothing"], ["ask", "x", "--max-tokens", "many"]):
        ended = call(*command)
        assert ended.code == 2
        assert "Traceback" not in ended.err


@pytest.mark.parametrize("command", ["ask", "compare", "explain"])
def test_a_question_without_quotes_is_answered_with_how_to_write_it(call, command):
    done = call(command, "Who", "built", "it?")
    assert done.code == 2
    assert 'put the question in quotes, as in: polygraph ask "Who built the harbour?"' in done.err
    assert "quotes" not in call("methods", "bm25", "naive").err


def test_output_that_is_not_in_unicode_shows_what_it_can_and_json_has_all(
    tmp_path, index, write_files, call, command
):
    said = "Ågot Lie sold the boat in Malmö."
    call("index", write_files(tmp_path / "notes", {"sale.txt": said}), "--index", index, "--for", "bm25")
    ask = ("ask", "Who sold the boat?", "-m", "bm25", "--index", index)
    shown = command(*ask, env={"PYTHONIOENCODING": "ascii"})
    assert shown.code == 0, shown.err
    assert "?got Lie sold the boat in Malm?." in shown.out
    found = command(*ask, "--json", env={"PYTHONIOENCODING": "ascii"})
    assert json.loads(found.out)["citations"][0]["quote"] == said


def test_a_traceback_is_shown_under_debug_only(call, command, tmp_path):
    quiet = call("ask", QUESTION, "--index", tmp_path / "none")
    loud = command("--debug", "ask", QUESTION, "--index", tmp_path / "none")
    fails(quiet, "polygraph index")
    assert "Traceback" in loud.err
    assert "IndexUnreadable" in loud.err


def test_a_locked_index_names_who_writes_and_can_still_be_read(call, built, papers):
    with writing(built):
        fails(call("index", papers, "--index", built), f"process {os.getpid()}")
        fails(call("remove", "log.md", "--index", built), "written by")
        assert call("ask", QUESTION, "--index", built, "-m", "bm25").code == 0


@pytest.fixture
def disk(tmp_path):
    """A disk of its own, and how to give it a size."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def sized(kilobytes, *more):
        return subprocess.run(
            ["mount", "-t", "tmpfs", "-o", ",".join([*more, f"size={kilobytes}k"]), "tmpfs", str(folder)],
            capture_output=True,
            check=False,
        )

    if not sys.platform.startswith("linux") or not shutil.which("mount") or sized(50_000).returncode:
        pytest.skip("no disk can be made here")
    yield folder, sized
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_a_full_disk_is_explained_whatever_was_being_written(tmp_path, papers, disk):
    # What is written through mapped files would end the process with a signal.
    folder, sized = disk
    local = {"POLYGRAPH_EMBEDDER": "hash", "POLYGRAPH_NAME_EMBEDDER": "hash", "POLYGRAPH_RERANKER": "none"}
    environment = {**os.environ, **local, "PYTHONPATH": str(Path(__file__).parents[3] / "src")}
    for n in range(8):
        (papers / f"more{n:02}.txt").write_text(
            " ".join(f"Mara Quill{n} met Old Tobin{i} by the light." for i in range(40)), encoding="utf-8"
        )

    # Loading the parser takes longer than all else, and writes nothing.
    program = (
        "from polygraph.extract.nlp import dependency_trees; dependency_trees.installed = lambda: False\n"
        "from polygraph.cli import main; main()"
    )

    def run(index):
        return subprocess.run(
            [sys.executable, "-c", program, "index", str(papers), "--index", str(index)],
            capture_output=True,
            text=True,
            env=environment,
            timeout=120,
            check=False,
        )

    assert run(tmp_path / "whole").returncode == 0
    whole = sum(file.stat().st_size for file in (tmp_path / "whole").rglob("*"))
    for share in (0.1, 0.5, 0.9):
        assert sized(int(share * whole / 1024), "remount").returncode == 0
        done = run(folder / "index")
        assert done.returncode == 2, (share, done.returncode, done.stderr[-2000:])
        assert "is full. Free some space" in done.stderr
    assert sized(50_000, "remount").returncode == 0
    assert run(folder / "index").returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of POSIX")
@pytest.mark.parametrize("n_bytes", [20_000, 120_000])
@pytest.mark.slow
def test_a_full_disk_is_explained_and_the_same_command_goes_on(n_bytes, tmp_path, papers, index, command):
    # A limit on the size of files stops writes in SQLite, in tantivy and in numpy, as a full disk does.
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({n_bytes}, {n_bytes})); "
        "from polygraph.cli import main; main()"
    )
    for n in range(60):
        (papers / f"more{n:02}.txt").write_text(
            f"Mara Quill met Old Tobin on day {n}. " * 60, encoding="utf-8"
        )
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[3] / "src"),
        "POLYGRAPH_EMBEDDER": "hash",
    }
    environment |= {"POLYGRAPH_NAME_EMBEDDER": "hash", "POLYGRAPH_RERANKER": "none"}
    done = subprocess.run(
        [sys.executable, "-c", code, "index", str(papers), "--index", str(index), "--for", "hybrid"],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr[-2000:])
    assert "Traceback" not in done.stderr
    assert str(index) in done.stderr
    again = command("index", papers, "--index", index, "--for", "hybrid")
    assert again.code == 0, again.err


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_named(call, papers, tmp_path):
    place = tmp_path / "fixed"
    place.mkdir()
    place.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        fails(call("index", papers, "--index", place / "index"), place)
    finally:
        place.chmod(stat.S_IRWXU)


def test_an_index_under_a_file_cannot_be_made_and_is_named(call, papers, tmp_path):
    # The same for root, who may write anywhere else.
    (tmp_path / "file").write_text("", encoding="utf-8")
    fails(call("index", papers, "--index", tmp_path / "file" / "index"), tmp_path / "file")


# --- the contract for scripts -------------------------------------------------------------------------


def test_ask_prints_the_json_that_scripts_rely_on(call, built):
    for method in ("naive", "bm25", "hybrid"):
        ended = call("ask", QUESTION, "--index", built, "-m", method, "--json")
        assert ended.code == 0
        assert ended.err == ""
        found = json.loads(ended.out)
        assert {"text", "refused", "citations", "evidence", "method", "usage"} <= found.keys()
        assert found["method"] == method
        assert found["refused"] is False
        assert "refused to pay" in found["text"]
        assert found["usage"].keys() >= USAGE
        assert found["usage"]["calls"] == 0
        for citation in found["citations"]:
            assert citation.keys() >= {"n", "document", "chunk", "start", "end", "quote"}
            assert f"[{citation['n']}]" in found["text"]
            assert found["evidence"][citation["n"] - 1]["document"] == citation["document"]
        for item in found["evidence"]:
            assert item.keys() == {"kind", "id", "document", "score", "text"}
            assert isinstance(item["score"], float)


def test_quotes_stand_at_their_offsets_in_the_files(call, built, papers):
    found = json.loads(call("ask", QUESTION, "--index", built, "-m", "bm25", "--json").out)
    assert found["citations"]
    for citation in found["citations"]:
        if citation["document"].endswith(".txt"):
            text = (papers / citation["document"]).read_text(encoding="utf-8")
            assert text[citation["start"] : citation["end"]] == citation["quote"]


def test_max_tokens_bounds_the_context(call, built):
    found = json.loads(call("explain", QUESTION, "--index", built, "--max-tokens", "60", "--json").out)
    assert 0 < found["n_tokens"] <= 60
    assert found["cuts"]


def test_methods_prints_the_json_that_scripts_rely_on(call):
    rows = json.loads(call("methods", "--json").out)
    assert [row["name"] for row in rows] == list(METHODS)
    for row in rows:
        assert row.keys() >= {"name", "needs", "source", "calls"}
        assert isinstance(row["needs"], list)
        assert row["needs"]


def test_methods_are_listed_below_what_they_search(call):
    first_words = [line.split()[0] for line in call("methods").out.splitlines() if line[:1].strip()]
    heading = ""
    group_of = {}
    for word in first_words:
        heading = word if word in get_args(Group) else heading
        group_of |= {word: heading} if word in CATALOGUE else {}
    assert group_of == {name: about.group for name, about in CATALOGUE.items()}


def test_the_help_lists_every_command_below_what_it_is_for(call):
    shown = call("--help").out
    places = [shown.index(f"\n  {name} ") for names in COMMAND_GROUPS.values() for name in names]
    assert places == sorted(places)
    assert all(f"\n{heading}:\n" in shown for heading in COMMAND_GROUPS)


def test_methods_lists_every_method_for_people(call):
    shown = call("methods")
    assert shown.code == 0
    assert all(name.split(":")[0] in shown.out for name in METHODS)


def test_index_prints_json_and_nothing_else_on_standard_output(call, papers, index):
    ended = call("index", papers, "--index", index, "--for", "bm25,naive", "--extractor", "nlp", "--json")
    assert ended.code == 0
    found = json.loads(ended.out)
    assert (found["added"], found["changed"], found["removed"], found["unchanged"]) == (5, 0, 0, 0)
    assert found["counts"]["documents"] == 5
    assert found["index"] == str(index)
    assert set(found["built"]) == {"chunks", "lexical", "chunk_vectors"}


def test_status_prints_counts_per_layer_documents_failures_and_ledger(call, built):
    found = json.loads(call("status", "--index", built, "--json").out)
    assert found["documents"] == 5
    assert found["layers"]["lexical"] == {
        "state": "ready",
        "rows": found["counts"]["chunks"],
        "seconds": found["layers"]["lexical"]["seconds"],
    }
    assert found["layers"]["reports"]["state"] == "missing"
    assert found["failures"] == []
    assert all({"stage", "model", "prompt_tokens", "cost"} <= row.keys() for row in found["ledger"])
    listed = json.loads(call("status", "--index", built, "--json", "--documents").out)["document_list"]
    assert listed == sorted(listed)
    assert "news/courier.txt" in listed
    shown = call("status", "--index", built)
    assert "lexical" in shown.out
    assert "missing" in shown.out


def test_remove_takes_a_document_out_of_every_layer(call, built):
    ended = call("remove", "letter.txt", "--index", built, "--json")
    assert ended.code == 0, ended.err
    told = json.loads(ended.out)
    assert (told["removed"], told["unchanged"], told["counts"]["documents"]) == (1, 4, 4)
    found = json.loads(call("ask", QUESTION, "--index", built, "--json").out)
    assert "letter.txt" not in {e["document"] for e in found["evidence"]}
    layers = json.loads(call("status", "--index", built, "--json").out)["layers"]
    assert layers["lexical"]["state"] == layers["chunk_vectors"]["state"] == "ready"


def test_a_comparison_lists_no_method_that_has_nothing_alone(call, write_files):
    write_files(Path("two"), {"a.txt": "Ann Marsh lit the lamp.", "b.txt": "Old Tobin sold the lamp."})
    call("index", "two", "--index", "i", "--for", "bm25,hybrid")
    shown = call("compare", "Who lit the lamp?", "--index", "i", "-m", "bm25,hybrid").out
    assert "2 found by every method" in shown
    assert "alone has" not in shown


def test_an_uploaded_file_is_shown_and_removed_by_its_name(call, write_files):
    one, other = "3b1f0c9a2d4e5f60", "4b1f0c9a2d4e5f60"
    files = {f"{one}/a.txt": "Ann Marsh lit it.", f"{one}/b.txt": "Old Tobin sold it."}
    write_files(Path("up"), {**files, f"{other}/b.txt": "Old Tobin bought it."})
    assert call("index", "up", "--index", "i", "--for", "bm25").code == 0
    listed = [line.split()[0] for line in call("status", "--index", "i", "--documents").out.splitlines()[1:]]
    assert listed == ["a.txt", f"{one}/b.txt", f"{other}/b.txt"]
    assert one not in call("explain", "Who lit it?", "--index", "i", "-m", "bm25").out.partition("step:")[0]
    fails(call("remove", "b.txt", "--index", "i"), "no document 'b.txt'. Did you mean ")
    removed = call("remove", "a.txt", "--index", "i", "--json")
    assert json.loads(removed.out)["removed"] == 1


def test_removing_an_unknown_document_removes_none(call, built):
    fails(call("remove", "letter.txt", "no.txt", "--index", built), "no.txt", "polygraph status --documents")
    assert json.loads(call("status", "--index", built, "--json").out)["documents"] == 5


@pytest.mark.parametrize("given", ["./letter.txt", "papers/letter.txt", "papers\\letter.txt"])
def test_removing_the_path_of_a_document_suggests_its_id(call, built, given):
    ended = call("remove", given, "--index", built)
    fails(ended, f"no document '{given}'. Did you mean letter.txt? ", f"status --documents --index {built}")


def test_a_windows_path_is_shown_as_it_was_typed(call, index):
    fails(call("index", r"C:\papers\1881", "--index", index), r"no file or folder 'C:\papers\1881'")


def test_the_index_can_be_named_by_the_environment(call, built):
    assert call("ask", QUESTION, "-m", "bm25", env={"POLYGRAPH_INDEX": str(built)}).code == 0
    fails(call("ask", QUESTION, "-m", "bm25"), "polygraph.index")


def test_the_demo_of_a_folder_uses_the_index_of_the_environment(call, papers, tmp_path):
    ended = call("demo", papers, env={"POLYGRAPH_INDEX": str(tmp_path / "mine.index")})
    assert ended.code == 0, ended.err
    assert (tmp_path / "mine.index" / "index.sqlite").is_file()
    assert f"--index {tmp_path / 'mine.index'}" in ended.out


def test_an_uploaded_document_is_named_without_its_hash_where_a_person_reads(
    call, index, tmp_path, write_files
):
    name = "3b1f0c9a2d4e5f60/harbour.txt"
    folder = write_files(tmp_path / "uploads", {name: "The Skerry Light was built by Ada Roe."})
    assert call("index", folder, "--index", index, "--for", "bm25").code == 0
    for command in ("ask", "compare"):
        shown = call(command, "Who built the Skerry Light?", "-m", "bm25", "--index", index).out
        sources = shown.partition("behind the evidence")[0]
        assert "harbour.txt" in sources
        assert "3b1f0c9a" not in sources
    found = json.loads(
        call("ask", "Who built the Skerry Light?", "--index", index, "-m", "bm25", "--json").out
    )
    assert found["citations"][0]["document"] == name


# --- indexing again -----------------------------------------------------------------------------------


def test_indexing_again_repeats_nothing(call, built, papers):
    files = {p: p.stat().st_mtime_ns for p in (built / "derived").glob("*/*")}
    found = json.loads(call("index", papers, "--index", built, "--for", "hybrid", "--json").out)
    assert (found["unchanged"], found["added"], found["changed"], found["removed"]) == (5, 0, 0, 0)
    assert found["built"] == {}
    assert {p: p.stat().st_mtime_ns for p in (built / "derived").glob("*/*")} == files


def test_index_without_a_path_says_that_no_file_was_read(call, built, papers):
    (papers / "new.txt").write_text("The Skerry Light was sold in 1902.")
    found = call("index", "--index", built).out
    assert f"no file was read; to update documents: polygraph index PATH --index {built}" in " ".join(
        found.split()
    )
    assert "no file was read" not in call("index", papers, "--index", built).out


def test_where_nothing_is_to_be_done_or_nothing_failed_this_is_said(call, built, papers):
    assert "nothing to build" in call("index", papers, "--index", built, "--for", "hybrid").out
    again = call("refresh", "--index", built).out
    assert "nothing to build" in again
    assert "0 unchanged" not in again
    assert "nothing failed" in call("status", "--index", built, "--failed").out
    assert "--batch has nothing to write" in call("ask", QUESTION, "--index", built, "--batch", "b").err


def test_what_is_written_to_a_pipe_has_whole_lines(call, tmp_path, write_files):
    title = "A title of many words " * 8 + "and its end"
    folder = write_files(tmp_path / "long", {"long.md": f"# {title}\n\nThe lamp was lit.\n"})
    assert call("index", folder, "--index", "i", "--for", "bm25").code == 0
    (row,) = (
        line for line in call("status", "--index", "i", "--documents").out.splitlines() if "long.md" in line
    )
    assert title in row
    assert any(
        line.startswith("[1] ") and title in line
        for line in call("ask", "What was lit?", "-m", "bm25", "--index", "i").out.splitlines()
    )


def test_changed_new_and_vanished_files_are_taken_in(call, built, papers):
    (papers / "letter.txt").write_text("Mara Quill sold the lamp to Ezra Pike.", encoding="utf-8")
    (papers / "new.txt").write_text("Ezra Pike bought a lamp of glass.", encoding="utf-8")
    (papers / "log.md").unlink()
    found = json.loads(call("index", papers, "--index", built, "--for", "hybrid", "--json").out)
    assert (found["unchanged"], found["added"], found["changed"], found["removed"]) == (3, 1, 1, 1)
    asked = json.loads(call("ask", "Who bought the lamp of glass?", "--index", built, "--json").out)
    assert "Ezra Pike" in asked["text"]
    documents = json.loads(call("status", "--index", built, "--json", "--documents").out)["document_list"]
    assert "log.md" not in documents
    assert "new.txt" in documents


def test_a_file_that_cannot_be_read_this_time_keeps_what_was_read_before(call, built, papers):
    (papers / "log.md").write_bytes(b"\x00\x01\x02" * 500)
    found = json.loads(call("index", papers, "--index", built, "--for", "hybrid", "--json").out)
    assert found["removed"] == 0
    assert [u[0] for u in found["unread"]]
    asked = json.loads(call("ask", "Who was master of the Halcyon?", "--index", built, "--json").out)
    assert "log.md" in {e["document"] for e in asked["evidence"]}


def test_a_second_folder_is_added_beside_the_first(call, built, tmp_path, write_files):
    other = write_files(tmp_path / "other", {"ezra.txt": "Ezra Pike bought a lamp of glass."})
    found = json.loads(call("index", other, "--index", built, "--for", "hybrid", "--json").out)
    assert (found["added"], found["removed"]) == (1, 0)
    assert found["counts"]["documents"] == 6


# --- for people ---------------------------------------------------------------------------------------


def test_a_refusal_says_what_was_looked_for_and_shows_the_nearest_passages(call, built):
    ended = call("ask", "What is the capital of Mongolia?", "--index", built, "-m", "bm25")
    assert ended.code == 0
    assert ended.out.startswith("No sentence that answers this was found")
    nearest = ended.out.partition("\nNearest passages:\n")[2]
    assert "[1]" not in ended.out
    found = json.loads(
        call("ask", "What is the capital of Mongolia?", "--index", built, "-m", "bm25", "--json").out
    )
    assert found["refused"]
    assert 0 < nearest.count("    “") == len(found["nearest"])
    assert all(passage["document"] in nearest for passage in found["nearest"])
    assert found["text"] in ended.out


def test_compare_names_the_documents_of_the_nearest_passages(call, built):
    compared = ("compare", "What is the capital of Mongolia?", "--index", built, "-m", "bm25,naive")
    answers = json.loads(call(*compared, "--json").out)
    shown = call(*compared).out
    assert shown.count("nearest passages: ") == 2
    assert all(passage["document"] in shown for found in answers for passage in found["nearest"])


def test_a_refusal_in_a_chat_shows_the_nearest_passages(call, built, monkeypatch):
    asked = iter(["Who painted the Skerry Light blue in Mongolia?", ""])
    monkeypatch.setattr("builtins.input", lambda _: next(asked))
    shown = call("chat", "--index", built, "-m", "hybrid").out
    assert "No sentence that answers this was found" in shown
    assert "Nearest passages:\n" in shown


def test_ask_shows_text_sources_and_cost(call, built):
    shown = call("ask", QUESTION, "--index", built, "-m", "bm25").out
    assert "[1]" in shown
    assert "letter.txt\n" in shown
    assert "bm25 · sentences from the documents, no model called" in shown


def test_paths_lead_from_the_question_to_each_citation(call, whole):
    asked = ("ask", QUESTION, "--index", whole, "-m", "bm25")
    found = json.loads(call(*asked, "--paths", "--json").out)
    cited = {(c["n"], c["chunk"]) for c in found["citations"]}
    assert {(p["n"], p["chunk"]) for p in found["paths"]} == cited
    assert all(f"path: {p['text']}" in call(*asked, "--paths").out for p in found["paths"])
    assert "paths" not in json.loads(call(*asked, "--json").out)


def test_streaming_prints_the_same_answer(call, built):
    found = json.loads(call("ask", QUESTION, "--index", built, "-m", "bm25", "--json").out)
    shown = call("ask", QUESTION, "--index", built, "-m", "bm25", "--stream").out
    assert found["text"] in shown
    fails(call("ask", QUESTION, "--index", built, "-m", "graphrag-local", "--stream"), "polygraph index")


def test_compare_sets_methods_side_by_side(call, whole):
    shown = call("compare", QUESTION, "--index", whole).out
    rows = [line.split() for line in shown.splitlines()]
    for n, name in enumerate(("naive", "bm25", "hybrid", "graphrag-local", "graphrag-global"), 1):
        # Once with its answer, once with its figures.
        assert len([row for row in rows if row[:2] == [str(n), name]]) == 2, name
    assert "cited found alone context calls sec" in " ".join(shown.split())
    assert "passages behind the evidence" in shown


def test_explain_shows_seeds_scores_and_cuts(call, whole):
    shown = call(
        "explain", "Who was Old Tobin?", "--index", whole, "-m", "graphrag-local", "--max-tokens", "300"
    )
    text = " ".join(shown.out.split())
    assert "named in the question as 'Old Tobin'" in text
    assert "truncated to fit the budget" in text


def test_explain_shows_where_each_piece_comes_from_and_the_steps(call, whole):
    shown = call("explain", "Who was Old Tobin?", "--index", whole, "-m", "select").out
    text = " ".join(shown.split())
    assert "[1] chunk " in text
    assert " why words: rank " in text
    assert " from " in text
    assert "step: route kind: fact why: nothing in it" in text
    assert "step: fused 1 " in text
    assert "ranking: " in text
    nothing = call("explain", "Who?", "--index", whole, "-m", "bm25", "--where", "year=none").out
    assert "nothing, because" in nothing


def test_explain_prints_the_context_as_a_model_reads_it(call, whole):
    question = ["explain", "Who was Old Tobin?", "--index", whole]
    context = json.loads(call(*question, "-m", "graphrag-local", "--json").out)["context"]
    assert context.startswith("## Reports\n\n[1] ")
    assert call(*question, "-m", "graphrag-local", "--context").out == f"{context}\n"
    nothing = call("explain", "Who?", "--index", whole, "-m", "bm25", "--where", "year=none", "--context")
    assert "nothing, because" in nothing.out


def test_methods_are_told_in_short_in_full_and_one_by_one(call, tmp_path):
    listed = call("methods").out
    assert "rq-rag" in listed
    assert "rq-rag:paper" not in listed
    assert "polygraph methods NAME" in " ".join(listed.split())
    one = " ".join(call("methods", "rq-rag").out.split())
    for part in (
        "source RQ-RAG",
        "needs chunk_vectors, chunks",
        "calls at most 25 = 1 + 2 x (3 + 9)",
        "good at",
        "bad at",
    ):
        assert part in one
    assert ":paper drop_repeated = False" in one
    assert "hybrid:reranked" not in call("methods", "--full").out  # presets stand below their method
    rows = json.loads(call("methods", "select", "--json").out)
    assert [row["name"] for row in rows] == ["select", "select:rag-vs-graphrag"]
    assert rows[0]["measured"] is None
    fails(call("methods", "selct"), "there is no method 'selct'. Did you mean select? Choose one of: ")
    fails(call("methods", "quantum"), "there is no method 'quantum'. Choose one of: ")
    fails(call("methods", "--index", tmp_path / "nowhere"), "polygraph index PATH")


def test_chat_without_a_model_carries_names_over(call, whole):
    ended = call(
        "chat",
        "--index",
        whole,
        "-m",
        "bm25",
        stdin="Who was Old Tobin?\nWhat did he bring ashore?\n\nnot asked\n",
    )
    assert ended.code == 0, ended.err
    assert "brought the crew ashore" in " ".join(ended.out.split())
    assert ended.out.count("bm25 ·") == 2


def test_chat_ends_at_the_end_of_input(call, whole):
    assert call("chat", "--index", whole, stdin="").code == 0


def test_chat_says_what_is_wrong_before_the_first_question(call, whole):
    for option in (("-m", "nobody"), ("--where", "yeer=1871"), ("--where", "yeer")):
        fails(call("chat", "--index", whole, *option, stdin="Who?\n"), option[1].partition("=")[0])


def test_control_characters_of_a_document_do_not_reach_the_terminal(call, index, tmp_path, write_files):
    folder = write_files(
        tmp_path / "evil", {"a.txt": "Mara Quill \x1b[31mpaid\x1b]0;owned\x07 for the lamp of the light."}
    )
    call("index", folder, "--index", index, "--for", "bm25")
    shown = call("ask", "Who paid for the lamp?", "--index", index, "-m", "bm25")
    assert "\x1b" not in shown.out.replace("\x1b[0m", "")
    assert "\x07" not in shown.out
    assert printable("a\x1b[2Jb") == "a [2Jb"


def test_config_tells_where_each_value_came_from(call, tmp_path):
    (tmp_path / "polygraph.toml").write_text("chunk_tokens = 200\n", encoding="utf-8")
    env = {"OPENAI_API_KEY": "sk-abcdefghijklmnop"}
    rows = {r["name"]: r for r in json.loads(call("config", "--json", env=env).out)}
    assert rows["chunk_tokens"]["value"] == 200
    assert rows["chunk_tokens"]["from"].endswith("polygraph.toml")
    assert rows["embedder"]["from"] == "environment POLYGRAPH_EMBEDDER"
    assert rows["method"]["from"] == "default"
    assert "sk-abcdefghijklmnop" not in call("config", "--explain", env=env).out


def test_every_command_has_help(call):
    shown = call("--help").out
    for name in (
        "index",
        "ask",
        "chat",
        "compare",
        "explain",
        "methods",
        "status",
        "remove",
        "config",
        "doctor",
        "demo",
    ):
        assert re.search(rf"^\s*{name}\b", shown, re.MULTILINE), name
        assert call(name, "--help").code == 0


def test_an_index_can_be_copied_and_read_from_a_read_only_place(call, built, tmp_path):
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(built, copy)
    shutil.rmtree(built)
    for path in [*copy.rglob("*"), copy]:
        path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    try:
        ended = call("ask", QUESTION, "--index", copy, "-m", "hybrid")
        assert ended.code == 0, ended.err
    finally:
        for path in [copy, *copy.rglob("*")]:
            path.chmod(path.stat().st_mode | stat.S_IWUSR)


# --- what a terminal is shown -------------------------------------------------------------------------


def test_the_version_is_printed(call):
    ended = call("--version")
    assert (ended.code, ended.out) == (0, f"polygraph {__version__}\n")


def test_nothing_that_comes_from_outside_reaches_the_terminal_as_a_control_sequence(call, tmp_path):
    escape = "\x1b]0;owned\x07\x1b[31m\x9b1m\u202e"
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / f"light{escape}.md").write_text(
        f"---\ntitle: The Skerry{escape} Light\n---\nMara Quill built{escape} the Skerry Light in 1869.\n",
        encoding="utf-8",
    )
    (folder / f"broken{escape}.json").write_text("{", encoding="utf-8")
    index = tmp_path / "x.index"
    commands = [
        ("index", folder, "--index", index),
        ("ask", "Who built the Skerry Light?", "--index", index, "-m", "bm25"),
        ("ask", f"Who {escape} built the Skerry Light?", "--index", index, "-m", "bm25", "--json"),
        ("explain", "Who built the Skerry Light?", "--index", index, "-m", "bm25"),
        ("status", "--index", index),
        ("status", "--index", index, "--json"),
        ("ask", "x", "--index", f"{tmp_path}/none{escape}"),
    ]
    for command in commands:
        ended = call(*map(str, command))
        for text in (ended.out, ended.err):
            assert not set(text) & {"\x1b", "\x07", "\x9b", "\u202e"}, command


def test_names_that_look_like_markup_or_emoji_are_printed_as_they_are(call, tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    title = "[red] plans :key: [/red]"
    text = f"---\ntitle: '{title}'\n---\nMara Quill built the Skerry Light in 1869.\n"
    (folder / "light.md").write_text(text, encoding="utf-8")
    (folder / "[bold].json").write_text("{", encoding="utf-8")
    index = str(tmp_path / "x.index")
    assert "[bold].json" in call("index", str(folder), "--index", index, "--for", "bm25").err
    assert title in call("status", "--documents", "--index", index).out
    assert title in call("ask", "Who built the Skerry Light?", "--index", index, "-m", "bm25").out


def test_ctrl_c_says_what_is_kept(built, tmp_path):
    program = (
        "import sys; from polygraph.workspace.index import Index; from polygraph.cli import main\n"
        "def stopped(*_, **__): raise KeyboardInterrupt\n"
        "Index.ask = stopped\n"
        f"sys.argv = ['polygraph', 'ask', 'Who?', '--index', {str(built)!r}]\nmain()"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 130
    assert "Finished work is kept" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("error", "fix"),
    [
        (RuntimeError("can't start new thread"), "ulimit -u"),
        (OSError(24, "Too many open files"), "ulimit -n"),
        (MemoryError(), "not enough memory"),
    ],
)
def test_a_resource_that_runs_out_is_named_with_the_fix(call, built, monkeypatch, error, fix):
    def lacking(*_, **__):
        raise error

    monkeypatch.setattr("polygraph.workspace.index.Index.ask", lacking)
    ended = call("ask", "Who?", "--index", built)
    assert ended.code == 2
    assert fix in ended.err


def test_a_settings_file_of_somebody_else_is_said_to_be_ignored_until_it_is_trusted(
    call, built, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "polygraph.toml").write_text('base_url = "http://evil.example/v1"\n')
    ended = call("status", "--index", built)
    assert ended.code == 0, ended.err
    assert "ignored base_url" in ended.err
    assert "polygraph config trust" in ended.err
    explained = call("config", "--json")
    assert next(row for row in json.loads(explained.out) if row["name"] == "base_url")["from"] == "default"
    assert "base_url" in call("config", "trust").out
    assert "ignored" not in call("status", "--index", built).err
    explained = call("config", "--json")
    row = next(row for row in json.loads(explained.out) if row["name"] == "base_url")
    assert row["value"] == "http://evil.example/v1"
