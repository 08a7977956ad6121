"""Replies, vectors and the ledger of several processes in one schema."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from polygraph.errors import StorageFailed
from polygraph.models.call_store import (
    Attempt,
    calls_exist,
    can_keep_calls,
    open_call_store,
    postgresql_calls,
)
from polygraph.models.calls import Calls
from polygraph.models.protocols import ChatReply, ChatRequest, Message
from polygraph.models.providers.scripted import ScriptedChat, ScriptedEmbedder
from polygraph.models.providers.scripted_server import ScriptedServer
from polygraph.postgresql import connect, parse_url
from polygraph.testing import scripted_chat
from tests.contract.check_call_store import check_call_store

SOURCE = Path(__file__).parents[2] / "src"
QUESTION = ChatRequest(messages=(Message("user", "Who built the light?"),))
LINE = Attempt(stage="extract", method="", model="m", outcome="ok")


@pytest.fixture
def url(database_url):
    return parse_url(database_url)


class SlowChat(ScriptedChat):
    """Waits before each reply."""

    def chat(self, request, on_text=None):
        time.sleep(0.3)
        return super().chat(request, on_text)


def test_a_schema_keeps_what_was_paid_for(url):
    check_call_store(lambda: open_call_store(url))


def test_a_schema_has_calls_when_they_were_opened_once(url):
    assert not calls_exist(url)
    open_call_store(url).close()
    assert calls_exist(url)


def test_two_processes_that_make_the_same_call_at_once_make_it_once(url):
    model = SlowChat([("light", "Mara Quill")])

    def ask(n):
        # An object of its own for each: only the database is shared, as between processes.
        with Calls(url) as calls:
            start.wait()
            replies[n] = calls.ask(model, QUESTION, str, stage="answer")

    replies, start = [""] * 4, threading.Barrier(4)
    threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert replies == ["Mara Quill"] * 4
    assert len(model.requests) == 1
    with Calls(url) as calls:
        assert [(row.ok, row.cached) for row in calls.ledger()] == [(1, 3)]


def test_different_calls_of_two_processes_do_not_wait_for_each_other(url):
    with (
        closing(open_call_store(url)) as one,
        closing(open_call_store(url)) as two,
        one.claim("a"),
        two.claim("b"),
    ):
        pass


def test_a_call_that_fails_in_one_process_is_made_by_the_next(url):
    with closing(open_call_store(url)) as one, closing(open_call_store(url)) as two:
        with pytest.raises(InterruptedError), one.claim("key"):
            raise InterruptedError
        with two.claim("key"):
            pass


def test_a_killed_process_holds_no_claim_and_its_replies_stay(url, tmp_path):
    program = textwrap.dedent(
        f"""
        import time
        from polygraph.models.calls import Calls
        from polygraph.models.protocols import ChatRequest, Message
        from polygraph.models.providers.scripted import ScriptedChat
        from polygraph.postgresql import parse_url
        class Stuck(ScriptedChat):
            def chat(self, request, on_text=None):
                if "keeper" in request.messages[-1].content:
                    print("stuck", flush=True)
                    time.sleep(60)
                return super().chat(request, on_text)
        calls = Calls(parse_url({url.conninfo.replace("?", f"?schema={url.schema}&")!r}))
        for text in ("Who built the light?", "Who is its keeper?"):
            request = ChatRequest(messages=(Message("user", text),))
            calls.ask(Stuck([("light", "Mara Quill"), ("keeper", "")]), request, str, stage="answer")
        """
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "stuck\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    model = ScriptedChat([("light", "another"), ("keeper", "Old Tobin")])
    keeper = ChatRequest(messages=(Message("user", "Who is its keeper?"),))
    with Calls(url) as calls:
        assert calls.ask(model, QUESTION, str, stage="answer") == "Mara Quill"
        assert calls.ask(model, keeper, str, stage="answer") == "Old Tobin"
    assert len(model.requests) == 1


def test_a_connection_that_was_lost_is_opened_again_and_the_reply_is_stored(url):
    class Lonely(ScriptedChat):
        """Ends all connections to the database before it replies, as a restart of the server does."""

        def chat(self, request, on_text=None):
            with connect(url) as admin:
                admin.execute(
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                    "WHERE application_name = 'polygraph' AND pid != pg_backend_pid()"
                )
            return super().chat(request, on_text)

    with Calls(url) as calls:
        assert calls.ask(Lonely([("light", "Mara Quill")]), QUESTION, str, stage="answer") == "Mara Quill"
        assert calls.ask(ScriptedChat([]), QUESTION, str, stage="answer") == "Mara Quill"
        assert [(row.ok, row.cached) for row in calls.ledger()] == [(1, 1)]


def test_a_connection_that_is_lost_again_while_it_is_opened_is_opened_by_the_next_statement(url, monkeypatch):
    def lose(*_):
        raise StorageFailed("the server went away")

    with closing(open_call_store(url)) as store:
        with connect(url) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE application_name = 'polygraph' AND pid != pg_backend_pid()"
            )
        with monkeypatch.context() as patched:
            patched.setattr(postgresql_calls, "migrate", lose)
            for _ in range(2):
                with pytest.raises(StorageFailed):
                    store.ledger()
        assert store.ledger() == []


def test_a_reply_that_cannot_be_committed_is_not_used(url):
    with Calls(url) as calls, connect(url) as admin:
        admin.execute("ALTER TABLE reply ADD CHECK (length(text) < 10)")
        read = []
        with pytest.raises(StorageFailed):
            calls.ask(
                ScriptedChat([("light", "Mara Quill of Sallow Bay")]), QUESTION, read.append, stage="answer"
            )
        assert read == []
        assert calls.ledger() == []


def test_vectors_of_several_writers_have_the_bytes_of_the_first(url):
    with Calls(url) as one, Calls(url) as two:
        texts = [f"light {n}" for n in range(300)]
        first = one.embed(ScriptedEmbedder(), texts, "passage", stage="embed")
        again = two.embed(ScriptedEmbedder(), texts[::-1], "passage", stage="embed")
        assert (first == again[::-1]).all()


def test_many_threads_and_connections_write_at_once_without_error(url):
    def write(n):
        with closing(open_call_store(url)) as store:
            for i in range(20):
                text = ChatReply(text=f"{n} {i}", prompt_tokens=1, completion_tokens=1, finish="stop")
                store.save_reply(f"{i}", text, LINE)
                store.log_cached("extract", "", "m", 1)
                store.save_vectors({bytes([k]) * 16: b"v" for k in range(i, i + 20)}, LINE)

    failures = []

    def guarded(n):
        try:
            write(n)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with closing(open_call_store(url)) as store:
        row = store.ledger()[0]
        assert (row.ok, row.cached) == (240, 120)


def test_what_a_reader_still_sees_is_told_when_replies_are_forgotten(url):
    with Calls(url) as calls, psycopg.connect(url.conninfo) as reader:
        calls.ask(ScriptedChat([("light", "Mara Quill")]), QUESTION, str, stage="answer")
        reader.execute("SET default_transaction_isolation = 'repeatable read'; SELECT 1 FROM pg_class")
        reader.commit()
        reader.execute("SELECT 1 FROM pg_class")
        assert not calls.keep_only(set(), set())
        reader.rollback()
        assert calls.keep_only(set(), set())


@pytest.fixture
def reader_url(url):
    """The same place as a user who may only read."""
    with connect(url) as admin:
        admin.execute("CREATE ROLE only_reads LOGIN")
        yield parse_url(f"{url.conninfo.replace('postgres@', 'only_reads@')}&schema={url.schema}")
        admin.execute("DROP OWNED BY only_reads; DROP ROLE only_reads")


def allow_reading(url):
    with connect(url) as admin:
        admin.execute(
            f"GRANT USAGE ON SCHEMA {url.schema} TO only_reads; "
            f"GRANT SELECT ON ALL TABLES IN SCHEMA {url.schema} TO only_reads"
        )


def test_who_may_only_read_can_keep_no_calls(url, reader_url):
    assert can_keep_calls(url)
    assert not can_keep_calls(reader_url)
    open_call_store(url).close()
    allow_reading(url)
    assert can_keep_calls(url)
    assert not can_keep_calls(reader_url)


def test_who_may_only_read_still_reads_the_ledger(url, reader_url):
    with Calls(url) as calls:
        calls.ask(ScriptedChat([("light", "Mara Quill")]), QUESTION, str, stage="answer")
    allow_reading(url)
    with closing(open_call_store(reader_url)) as store:
        assert [row.ok for row in store.ledger()] == [1]


def test_an_index_in_a_database_keeps_its_calls_there(url, reader_url, tmp_path, monkeypatch, call):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("EMBEDDER", "NAME_EMBEDDER"):
        monkeypatch.setenv(f"POLYGRAPH_{name}", "hash")
    (tmp_path / "letter.txt").write_text("Mara Quill built the Skerry Light. Old Tobin was its keeper.")
    here = f"{url.conninfo}&schema={url.schema}"
    done = call("index", tmp_path / "letter.txt", "--index", here, "--for", "hybrid", "--offline")
    assert done.code == 0, done.err
    assert call("ask", "Who built the Skerry Light?", "--index", here, "-m", "hybrid", "--offline").code == 0
    assert not list((tmp_path / "cache").rglob("calls.sqlite"))
    with closing(open_call_store(url)) as store:
        assert store.ledger() != []
        before = store.n_rows()
    # Who may only read asks too; what is called then is kept in memory.
    allow_reading(url)
    there = f"{reader_url.conninfo}&schema={url.schema}"
    asked = call("ask", "Who was its keeper?", "--index", there, "-m", "hybrid", "--offline")
    assert asked.code == 0, asked.err
    assert "Tobin" in asked.out
    with closing(open_call_store(url)) as store:
        assert store.n_rows() == before


def test_a_killed_build_pays_for_no_stored_reply_again(database_url, tmp_path, start, command, write_files):
    names = ("Mara Quill", "Old Tobin", "Tobias Wren", "Ada Marsh", "Ezra Pike")
    papers = write_files(
        tmp_path / "papers",
        {f"{i}.txt": f"Day {i}. {names[i % 5]} met {names[(2 * i + 1) % 5]} at pier {i}." for i in range(20)},
    )

    def stored(url):
        with connect(url) as db:
            return db.execute("SELECT count(*) FROM reply").fetchone()[0]

    with ScriptedServer(chat=scripted_chat(), latency_s=0.03) as server:
        settings = {
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": "sk-test",
            "POLYGRAPH_CHAT_MODEL": "scripted",
            "POLYGRAPH_CONCURRENCY": "3",
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
        }

        def build(url):
            before = server.calls
            done = command("index", papers, "--index", url, "--extractor", "llm", env=settings)
            assert done.code == 0, done.err
            return server.calls - before

        least = build(f"{database_url}&schema=whole")
        assert least == stored(f"{database_url}&schema=whole") >= 20
        for n in (3, least - 1):
            url = f"{database_url}&schema=killed{n}"
            before = server.calls
            process = start("index", papers, "--index", url, "--extractor", "llm", env=settings)
            while server.calls < before + n:
                assert process.poll() is None
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            process.wait()
            made = server.calls - before
            kept = stored(url)
            assert made - 3 <= kept <= made
            assert build(url) == least - kept
            with closing(open_call_store(parse_url(url))) as store:
                assert sum(row.ok for row in store.ledger() if row.model == "scripted") == least
