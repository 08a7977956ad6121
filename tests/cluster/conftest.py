"""Tests on a Ray cluster on this machine; `make test-ray` runs them in an environment with Ray."""

import importlib.util

import pytest

if importlib.util.find_spec("ray") is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def cluster():
    """Two workers for all tests; a worker that a test ends is replaced."""
    from polygraph.execution.ray_cluster import RayExecutor

    with RayExecutor("ray", workers=2, calls=8) as executor:
        yield executor
