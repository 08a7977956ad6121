"""Tests on a real PostgreSQL server; `make test-postgres` runs them in an environment that has one."""

import importlib.util

if importlib.util.find_spec("psycopg") is None:
    collect_ignore_glob = ["test_*.py"]
