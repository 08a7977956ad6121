"""Kills of writers and of the server, as `benchmarks/postgresql.py` measures them, in small."""

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does"),
    pytest.mark.usefixtures("postgresql_server"),  # skips where no server starts
]


@pytest.fixture
def benchmark():
    spec = importlib.util.spec_from_file_location(
        "postgresql_benchmark", ROOT / "benchmarks" / "postgresql.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its processes import it by name
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def server(benchmark):
    """A server of its own, since it is killed."""
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        running = benchmark.Server(Path(folder) / "data")
        yield running
        running.stop()


def test_writer_or_server_killed_at_random_moments_nothing_is_lost(benchmark, server, tmp_path):
    found = benchmark.kills(server, tmp_path, 4, seed=4, per_round=2, documents=8)
    assert sum(tally.kills for tally in found.values()) == 4
    for kind, tally in found.items():
        assert tally.kills > 0, kind
        assert tally.different == 0, kind
        assert tally.wrong_state == 0, kind
