"""Building layers that do not rest on each other side by side: most of the time each waits for calls of a model."""

import contextvars
import threading
from collections.abc import Callable, Sequence

from polygraph.indexing.progress import Progress


class _Stopped(BaseException):
    """Another layer failed, or the user interrupted."""


def side_by_side(builds: Sequence[Callable[[Progress], None]], progress: Progress) -> None:
    """Build several layers at once: the last in this thread, the others in threads of their own.

    The first that fails stops the others at their next call of the progress; what they had stored is kept, as after an
    interrupt.

    Args:
        builds: each builds one layer and calls the progress that it gets after each item. They may read the store, and
            one of them may change it.
        progress: called by one thread at a time.

    Raises:
        BaseException: the first error; the others are dropped.
    """
    lock, stopped = threading.Lock(), threading.Event()
    errors: list[BaseException] = []

    def shared(stage: str, done: int, total: int) -> None:
        with lock:
            if stopped.is_set():
                raise _Stopped
            progress(stage, done, total)

    def run(build: Callable[[Progress], None]) -> None:
        try:
            build(shared)
        except _Stopped:
            pass
        except BaseException as error:
            errors.append(error)
            stopped.set()

    threads = [
        threading.Thread(target=contextvars.copy_context().run, args=(run, build), name="polygraph-layer")
        for build in builds[:-1]
    ]
    for thread in threads:
        thread.start()
    run(builds[-1])
    while any(thread.is_alive() for thread in threads):
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt as error:
            errors.append(error)
            stopped.set()
    if errors:
        raise errors[0]
