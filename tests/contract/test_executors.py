"""Every executor gives results in order, raises the errors of functions, and calls from several threads."""

import importlib.util
import math
import operator
from concurrent.futures import ThreadPoolExecutor

import pytest

from polygraph.extract.nlp.workers import LocalExecutor


@pytest.fixture(scope="module", params=["local", "ray"])
def executor(request):
    if request.param == "local":
        yield LocalExecutor()
        return
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed; `make test-ray` runs this in an environment with it")
    from polygraph.execution.ray_cluster import RayExecutor

    with RayExecutor("ray", workers=2, calls=4) as cluster:
        yield cluster


def test_results_come_in_the_order_of_the_items(executor):
    assert list(executor.map(operator.neg, range(40))) == [-n for n in range(40)]


def test_no_items_give_no_results(executor):
    assert list(executor.map(operator.neg, [])) == []


def test_items_are_consumed_as_needed(executor):
    taken = []
    results = iter(executor.map(operator.neg, (taken.append(n) or n for n in range(1000))))
    assert next(results) == 0
    assert len(taken) < 100


def test_an_error_of_the_function_is_raised_as_it_is(executor):
    with pytest.raises(ValueError, match="math domain"):
        list(executor.map(math.sqrt, [4.0, -1.0]))
    with pytest.raises(ValueError, match="math domain"):
        executor.call(math.sqrt, -1.0)


def test_several_threads_call_at_once(executor):
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda n: executor.call(operator.neg, n), range(40))) == [
            -n for n in range(40)
        ]
