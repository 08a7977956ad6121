"""Tests on a real PostgreSQL server; `make test-postgres` runs them in an environment that has one."""

import importlib.util

import pytest

from polygraph.postgresql import parse_url
from polygraph.store.postgres.folder import folder_for

if importlib.util.find_spec("psycopg") is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def url(database_url):
    return f"{database_url}&schema=papers"


@pytest.fixture
def folder(url, tmp_path):
    """The local folder of the index at `url`."""
    return folder_for(parse_url(url), tmp_path / "cache")
