"""Reading the file of an index beside SQLite."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from polygraph.store.connection import connect
from polygraph.store.database import SqliteStore
from polygraph.store.shared_file import read_at, reading

OTHER_PROCESS = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("INSERT INTO meta VALUES ('other', 'x')")
db.close()
"""


@pytest.fixture
def index(tmp_path):
    with closing(SqliteStore(tmp_path / "index", mode="write")) as store:
        store.set_meta("manifest", "{}")
    return tmp_path / "index"


def descriptors():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no locks of a whole process")
def test_comparing_checksums_keeps_the_locks_of_a_reader(index):
    (index / "derived" / "index.compared").unlink(missing_ok=True)
    with closing(SqliteStore(index, mode="read")) as reader:
        assert reader.meta("other") is None
        subprocess.run([sys.executable, "-c", OTHER_PROCESS, str(index / "index.sqlite")], check=True)
        # The last user of a file removes its log: the other process must not take itself for that.
        assert (index / "index.sqlite-wal").stat().st_size > 0
        assert reader.meta("other") is None
    assert not (index / "index.sqlite-wal").exists()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs the list of open files")
def test_a_file_stays_open_until_the_last_connection_is_closed(index):
    path, before = index / "index.sqlite", descriptors()
    with reading(path) as file:
        assert read_at(file, 0, 6) == b"SQLite"
    assert descriptors() == before
    one, two = connect(path), connect(path)
    for _ in range(3):
        with reading(path):
            pass
    one.close()
    one.close()
    with reading(path) as file:
        assert not file.closed
    assert not file.closed
    two.close()
    assert file.closed
    assert descriptors() == before


def test_a_file_that_was_replaced_is_read_anew(tmp_path):
    path, other = tmp_path / "a.sqlite", tmp_path / "b.sqlite"
    for file, value in ((path, 1), (other, 2)):
        with closing(sqlite3.connect(file)) as db:
            db.execute(f"CREATE TABLE t{value} (x)")
    with closing(connect(path)):
        with reading(path) as file:
            first = read_at(file, 0, 10_000)
        other.replace(path)
        with reading(path) as file:
            assert read_at(file, 0, 10_000) != first


def test_a_missing_file_is_an_error_and_leaves_nothing_open(tmp_path):
    with pytest.raises(FileNotFoundError), reading(tmp_path / "none"):
        pass
