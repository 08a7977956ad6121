"""The tables of calls in a file: what they promise, and files of other formats."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from polygraph.errors import IndexUnreadable
from polygraph.models.call_store import Attempt, calls_exist, open_call_store
from polygraph.models.call_store.sqlite_calls import FORMAT
from polygraph.models.protocols import ChatReply, Likelihood
from tests.contract.check_call_store import check_call_store

LINE = Attempt(stage="extract", method="", model="m", outcome="ok")
LONG = "Mara Quill built the Skerry Light with her own money. " * 100


def reply(text):
    return ChatReply(text=text, prompt_tokens=1, completion_tokens=1, finish="stop")


def test_a_file_keeps_what_was_paid_for(tmp_path):
    check_call_store(lambda: open_call_store(tmp_path / "calls.sqlite"))


def test_a_file_exists_when_it_was_opened_once(tmp_path):
    path = tmp_path / "calls.sqlite"
    assert not calls_exist(path)
    open_call_store(path).close()
    assert calls_exist(path)


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        (
            FORMAT - 1,
            f"calls.sqlite has format {FORMAT - 1}, and this .* reads format {FORMAT}. Move it away",
        ),
        (
            FORMAT + 1,
            f"calls.sqlite has format {FORMAT + 1}, and this .* reads format {FORMAT}. Upgrade with",
        ),
    ],
)
def test_a_file_of_another_format_is_refused_with_what_to_do(tmp_path, found, problem):
    path = tmp_path / "calls.sqlite"
    open_call_store(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {found}")
    with pytest.raises(IndexUnreadable, match=problem):
        open_call_store(path)


def test_vectors_fill_their_pages_and_a_file_of_smaller_pages_is_used_as_it_is(tmp_path):
    path = tmp_path / "calls.sqlite"
    rows = {n.to_bytes(16, "big"): bytes(2 * 1_536) for n in range(1_000)}
    with closing(open_call_store(path)) as store:
        store.save_vectors(rows, LINE)
    assert path.stat().st_size < 1.15 * sum(map(len, rows.values()))
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("PRAGMA page_size = 4096")
        db.execute("VACUUM")
    with closing(open_call_store(path)) as store:
        store.save_reply("new", reply("A"), LINE)
        assert store.reply("new") == reply("A")
        assert store.vectors(list(rows)) == rows
        assert store.keep_only({"new"}, set())
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA page_size").fetchone() == (4_096,)


def test_replies_are_compressed(tmp_path):
    path = tmp_path / "calls.sqlite"
    with closing(open_call_store(path)) as store:
        store.save_reply("new", reply(LONG), LINE)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT typeof(text), length(text) < 200 FROM reply").fetchone() == ("blob", 1)


@pytest.mark.parametrize("damaged", ["x'789c0102'", "'text'"])
def test_a_damaged_reply_is_told_with_its_file(tmp_path, damaged):
    path = tmp_path / "calls.sqlite"
    with closing(open_call_store(path)) as store:
        store.save_reply("new", reply(LONG), LINE)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"UPDATE reply SET text = {damaged}")
        db.commit()
    with (
        closing(open_call_store(path)) as store,
        pytest.raises(IndexUnreadable, match=r"calls\.sqlite is damaged"),
    ):
        store.reply("new")


def test_a_file_that_was_replaced_is_opened_and_one_that_is_missing_is_not_made(tmp_path):
    here, new, old = (tmp_path / name for name in ("index", "new", "old"))
    open_call_store(new / "calls.sqlite").close()
    with closing(open_call_store(here / "calls.sqlite")) as calls:
        calls.save_reply("before", reply("1869"), LINE)
        here.rename(old)
        calls.save_reply("between", reply("1874"), LINE)
        assert not here.exists()
        new.rename(here)
        assert calls.reply("before") is None
        calls.save_reply("after", reply("1903"), LINE)
    with closing(open_call_store(here / "calls.sqlite")) as calls:
        assert calls.reply("after") == reply("1903")
    with closing(open_call_store(old / "calls.sqlite")) as calls:
        assert calls.reply("between") == reply("1874")


def test_a_file_of_a_newer_version_in_its_place_is_refused_each_time_until_it_is_gone(tmp_path):
    here, newer, usable = (tmp_path / name for name in ("index", "newer", "usable"))
    for folder in (newer, usable):
        open_call_store(folder / "calls.sqlite").close()
    with closing(sqlite3.connect(newer / "calls.sqlite")) as db:
        db.execute("PRAGMA user_version = 999")
    with closing(open_call_store(here / "calls.sqlite")) as calls:
        here.rename(tmp_path / "old")
        newer.rename(here)
        for _ in range(2):
            with pytest.raises(IndexUnreadable, match="Upgrade"):
                calls.reply("x")
        here.rename(tmp_path / "gone")
        usable.rename(here)
        assert calls.reply("x") is None


def test_a_reply_that_is_deleted_leaves_no_likelihood(tmp_path):
    path = tmp_path / "calls.sqlite"
    with closing(open_call_store(path)) as store:
        for key in ("kept", "gone"):
            store.save_reply(key, replace(reply("A"), likelihood=Likelihood(1, -0.5, 0.6)), LINE)
        assert store.keep_only({"kept"}, set())
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT key FROM likelihood").fetchall() == [("kept",)]
