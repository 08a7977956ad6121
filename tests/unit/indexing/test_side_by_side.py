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

    side_by_side([build("a"), build("b"), build("c")], progress)
    assert sorted(seen) == [(stage, n, 2) for stage in "abc" for n in (1, 2)]


@pytest.mark.parametrize("failing", [0, 1])
def test_the_first_error_stops_the_other_layers_and_is_raised(failing):
    ended = []

    def fail(shared):
        raise OSError("the disk is full")

    def go_on(shared):
        for n in range(10_000):
            shared("long", n, 10_000)
            time.sleep(0.001)
        ended.append("never")

    builds = [go_on, go_on]
    builds[failing] = fail
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
        side_by_side([go_on, go_on, interrupted], no_progress)
    assert not [each for each in threading.enumerate() if each.name == "polygraph-layer"]
