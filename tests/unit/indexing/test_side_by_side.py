import threading
import time

import pytest

from polygraph.indexing.progress import no_progress
from polygraph.indexing.side_by_side import side_by_side


def test_layers_run_at_the_same_time_and_the_progress_by_one_thread_at_a_time():
    together, inside, seen = threading.Barrier(3, timeout=10), threading.Lock(), []

    def progress(stage, done, total):
        assert inside.acquire(blocking=False)
        time.sleep(0.01)
        seen.append((stage, done, total))
        inside.release()

    def build(stage):
        def run(shared):
            together.wait()
            for n in (1, 2):
                shared(stage, n, 2)

        return run

    side_by_side({stage: build(stage) for stage in "abc"}, progress)
    assert sorted(seen) == [(stage, n, 2) for stage in "abc" for n in (1, 2)]


@pytest.mark.parametrize("failing", ["first", "last"])
def test_the_first_error_stops_the_other_layers_and_is_raised(failing):
    ended = []

    def fail(shared):
        raise OSError("the disk is full")

    def go_on(shared):
        for n in range(10_000):
            shared("long", n, 10_000)
            time.sleep(0.001)
        ended.append("never")

    builds = {name: fail if name == failing else go_on for name in ("first", "last")}
    with pytest.raises(OSError, match="the disk is full"):
        side_by_side(builds, no_progress)
    assert not ended
    assert not [each for each in threading.enumerate() if each.name == "polygraph-layer"]


def test_an_interrupt_in_the_last_layer_stops_the_others():
    def interrupted(shared):
        raise KeyboardInterrupt

    def go_on(shared):
        while True:
            shared("long", 0, 0)
            time.sleep(0.001)

    with pytest.raises(KeyboardInterrupt):
        side_by_side({"first": go_on, "second": go_on, "last": interrupted}, no_progress)
    assert not [each for each in threading.enumerate() if each.name == "polygraph-layer"]


def test_a_layer_begins_when_those_that_it_rests_on_are_there_and_not_later():
    begun, go = {name: threading.Event() for name in "abcd"}, threading.Event()
    order = []

    def build(name):
        def run(shared):
            begun[name].set()
            if name == "a":
                assert begun["d"].wait(10), "d rests on b only"
                assert not begun["c"].is_set()
                go.set()
            elif name == "d":
                assert go.wait(10)
            order.append(name)

        return run

    after = {"c": ["a", "elsewhere"], "d": ["b"]}
    side_by_side({name: build(name) for name in "abcd"}, no_progress, after)
    assert order[0] == "b"
    assert sorted(order[1:]) == ["a", "c", "d"]


@pytest.mark.parametrize("last", ["dependent", "other"])
def test_a_layer_does_not_begin_if_one_that_it_rests_on_failed(last):
    begun = []

    def fail(shared):
        raise OSError("the disk is full")

    builds = {
        "failing": fail,
        "dependent": lambda shared: begun.append("dependent"),
        "other": lambda shared: None,
    }
    builds[last] = builds.pop(last)
    with pytest.raises(OSError, match="the disk is full"):
        side_by_side(builds, no_progress, {"dependent": ["failing"]})
    assert not begun
