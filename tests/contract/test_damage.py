"""Damaged `index.sqlite` files: the same answer or a clear error, never another answer."""

import os
import random
import shutil
import sqlite3
import struct
import time
from pathlib import Path

import pytest

from polygraph.errors import PolygraphError
from polygraph.store import page_sums
from polygraph.store.database import SqliteStore
from polygraph.testing import hashed_models, scripted_chat
from polygraph.workspace.index import Index

QUESTION = "Who refused to pay for the lamp of the Skerry Light?"
METHODS = ("hybrid", "graphrag-local", "graphrag-global", "hipporag", "lightrag-mix")
PAGE = 4096


def opened(folder):
    return Index.open(folder, models=hashed_models(scripted_chat()), chunk_tokens=32, window_tokens=64)


def answers(folder):
    with opened(folder) as index:
        found = []
        for method in METHODS:
            answer = index.ask(QUESTION, method)
            evidence = [(e.document, e.text) for e in answer.retrieval.evidence]
            found.append((method, answer.text, evidence, answer.retrieval.context))
        return found, list(index.snapshot().store.graph.all_entities())


def attempt(folder):
    """Return the answers, or the text of an error of ours."""
    try:
        return answers(folder), ""
    except PolygraphError as error:
        return None, str(error)


@pytest.fixture(scope="module")
def sound(tmp_path_factory, papers_texts, write_files):
    """An index with every layer, not to be changed."""
    base = tmp_path_factory.mktemp("sound")
    with opened(base / "index") as index:
        index.add(write_files(base / "papers", papers_texts))
    return base / "index"


@pytest.fixture(scope="module")
def wanted(sound):
    return answers(sound)


def damaged(data, chance):
    """Return the bytes of a file with one to three damages, and their names."""
    changed, done = bytearray(data), []
    n_pages = len(data) // PAGE
    for _ in range(chance.choice((1, 1, 3))):
        kind = chance.choice(
            ("bit", "byte", "bytes", "zeroed", "swapped", "copied", "truncated", "longer", "digit")
        )
        at = chance.randrange(max(1, len(changed)))
        page = chance.randrange(n_pages) * PAGE
        other = chance.randrange(n_pages) * PAGE
        if kind == "bit":
            changed[at : at + 1] = bytes([changed[at] ^ (1 << chance.randrange(8))])
        elif kind == "byte":
            changed[at : at + 1] = bytes([chance.randrange(256)])
        elif kind == "bytes":
            n = chance.randrange(1, 64)
            changed[at : at + n] = bytes(chance.randrange(256) for _ in range(len(changed[at : at + n])))
        elif kind == "zeroed":
            changed[page : page + PAGE] = bytes(len(changed[page : page + PAGE]))
        elif kind == "swapped":
            a, b = bytes(changed[page : page + PAGE]), bytes(changed[other : other + PAGE])
            if len(a) == len(b):
                changed[page : page + PAGE], changed[other : other + PAGE] = b, a
        elif kind == "copied":
            changed[page : page + PAGE] = changed[other : other + PAGE]
        elif kind == "truncated":
            del changed[chance.choice((at, page)) :]
            return bytes(changed), [*done, kind]
        elif kind == "longer":
            changed += bytes(chance.choice((1, PAGE)))
        else:
            # A digit or letter of a text, which leaves every structure as it was.
            while changed and not chr(changed[at]).isalnum() and at + 1 < len(changed):
                at += 1
            changed[at : at + 1] = chance.choice((b"7", b"x"))
        done.append(kind)
    return bytes(changed), done


def ask_damaged(sound, place, wanted, seeds):
    """Ask damaged copies; return how many gave an error."""
    shutil.copytree(sound, place)
    file = place / "index.sqlite"
    data = file.read_bytes()
    n_refused = 0
    for seed in seeds:
        content, kinds = damaged(data, random.Random(f"damage {seed}"))
        for ending in ("-wal", "-shm"):
            file.with_name(f"{file.name}{ending}").unlink(missing_ok=True)
        file.write_bytes(content)
        found, problem = attempt(place)
        if problem:
            n_refused += 1
            assert "polygraph index" in problem, (seed, kinds, problem)
            assert content != data, (seed, kinds)
        else:
            assert found == wanted, (seed, kinds)
    return n_refused


@pytest.mark.parametrize(
    "seeds",
    [
        range(60),
        pytest.param(range(60, 2000), marks=pytest.mark.deep),
    ],
)
def test_a_damaged_index_gives_the_same_answer_or_a_clear_error(seeds, sound, tmp_path, wanted):
    assert ask_damaged(sound, tmp_path / "index", wanted, seeds) > 0.8 * len(seeds)


@pytest.mark.parametrize(
    "seeds",
    [
        range(20),
        pytest.param(range(20, 50), marks=pytest.mark.slow),
        pytest.param(range(50, 1000), marks=pytest.mark.deep),
    ],
)
def test_without_checksums_no_error_of_sqlite_or_of_decoding_gets_out(seeds, sound, tmp_path):
    whole = tmp_path / "whole"
    shutil.copytree(sound, whole)
    for file in (whole / "derived").glob("index.*"):
        file.unlink()
    shutil.copytree(whole, tmp_path / "index")
    data = (whole / "index.sqlite").read_bytes()
    for seed in seeds:
        for ending in ("-wal", "-shm"):
            (tmp_path / "index" / f"index.sqlite{ending}").unlink(missing_ok=True)
        content, kinds = damaged(data, random.Random(f"unchecked {seed}"))
        (tmp_path / "index" / "index.sqlite").write_bytes(content)
        problem = ""
        try:
            _, problem = attempt(tmp_path / "index")
        except Exception as error:  # rows that do not fit together are only noticed with checksums
            assert not isinstance(error, sqlite3.Error | struct.error | UnicodeError), (seed, kinds, error)  # noqa: PT017
        assert not problem or "polygraph" in problem, (seed, kinds, problem)


def test_a_damaged_index_is_not_written_either(sound, tmp_path):
    index = Path(shutil.copytree(sound, tmp_path / "index"))
    data = bytearray((index / "index.sqlite").read_bytes())
    data[len(data) // 2] ^= 1
    (index / "index.sqlite").write_bytes(bytes(data))
    with pytest.raises(PolygraphError, match="not as it was written"):
        SqliteStore(index, mode="write")


def test_a_writer_that_is_killed_leaves_no_checksums_and_the_next_one_writes_them(sound, tmp_path):
    index = Path(shutil.copytree(sound, tmp_path / "index"))
    store = SqliteStore(index, mode="write")
    with store.transaction():
        store.set_meta("test", "1")
    store.connection.close()  # as the operating system does when a process ends
    assert page_sums.read_sums(index / "index.sqlite") is None
    SqliteStore(index, mode="read").close()
    SqliteStore(index, mode="write").close()
    assert page_sums.read_sums(index / "index.sqlite") is not None
    SqliteStore(index, mode="read").close()


def test_checksums_hold_while_a_reader_keeps_the_log(sound, tmp_path):
    index = Path(shutil.copytree(sound, tmp_path / "index"))
    reader = SqliteStore(index, mode="read")
    store = SqliteStore(index, mode="write")
    with store.transaction():
        store.set_meta("test", "1")
        store.set_meta("long", "x" * 100_000)
    store.close()
    log = index / "index.sqlite-wal"
    assert log.stat().st_size > 100_000
    other = SqliteStore(index, mode="read")
    assert other.meta("test") == "1"
    other.close()
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(bytes(content))
    with pytest.raises(PolygraphError, match="not as it was written"):
        SqliteStore(index, mode="read")
    assert reader.meta("test") is None
    reader.close()


def test_damaged_checksums_are_an_error_and_written_again_by_index(sound, tmp_path):
    index = Path(shutil.copytree(sound, tmp_path / "index"))
    before = answers(index)
    (index / "derived" / "index.sums").write_bytes(b"PGSUMS1\n damaged")
    with pytest.raises(PolygraphError, match="polygraph index --index"):
        answers(index)
    (index / "derived" / "index.sums").unlink()
    with opened(index) as whole:
        whole.add()
    assert (index / "derived" / "index.sums").is_file()
    assert answers(index) == before


def test_a_file_is_compared_again_after_a_change_or_a_day(sound, tmp_path, monkeypatch):
    index = Path(shutil.copytree(sound, tmp_path / "index"))
    compared = []
    original = page_sums.damaged_pages
    monkeypatch.setattr(page_sums, "damaged_pages", lambda *given: compared.append(1) or original(*given))
    monkeypatch.setattr(page_sums, "RESOLUTION_S", 0.0)
    monkeypatch.setattr(page_sums, "TICK_S", 0.0)

    def open_once():
        compared.clear()
        SqliteStore(index, mode="read").close()
        return len(compared)

    assert [open_once(), open_once()] == [1, 0]
    os.utime(index / "index.sqlite")
    assert [open_once(), open_once()] == [1, 0]
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 25 * 3600)
    assert open_once() == 1
