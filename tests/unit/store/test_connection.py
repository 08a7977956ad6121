"""Threads that read through one connection."""

import sys
import threading

import pytest

from polygraph.store.connection import Connection


@pytest.fixture
def _hasty():
    """Threads take turns as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("_hasty")
@pytest.mark.parametrize("read", ["rows", "iterate"])
def test_threads_that_run_the_same_query_get_their_own_rows(tmp_path, read):
    schema = "CREATE TABLE IF NOT EXISTS squares (n INTEGER PRIMARY KEY, square INTEGER);"
    connection = Connection(tmp_path, tmp_path / "index.sqlite", schema)
    with connection.transaction():
        connection.insert("squares", ((n, n * n) for n in range(1_000)))
    wrong: list[object] = []

    def look_up(first: int) -> None:
        for n in [*range(first, 1_000), *range(first)]:
            try:
                found = list(getattr(connection, read)("SELECT square FROM squares WHERE n = ?", (n,)))
            except Exception as error:
                found = [error]
            if found != [(n * n,)]:
                wrong.append((n, found))

    threads = [threading.Thread(target=look_up, args=(first,)) for first in range(0, 800, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    connection.close()
    assert wrong == []
