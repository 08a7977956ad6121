"""Progress that several threads report."""

import time
from concurrent.futures import ThreadPoolExecutor

from polygraph.indexing.progress import SharedCounter


def test_items_of_several_threads_are_reported_one_after_the_other():
    seen, n_inside = [], 0

    def progress(stage, done, total):
        nonlocal n_inside
        n_inside += 1
        time.sleep(0.0005)
        seen.append((stage, done, total, n_inside))
        n_inside -= 1

    counter = SharedCounter(progress, "answers", 3, 103)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: counter.add_one(), range(100)))
    assert seen == [("answers", n, 103, 1) for n in range(4, 104)]
