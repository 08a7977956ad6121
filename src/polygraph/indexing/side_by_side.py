"""Building layers side by side, each as soon as those that it rests on are there: mostly they wait for a model."""

import contextvars
import threading
from collections.abc import Callable, Collection, Mapping

from polygraph.indexing.progress import Progress


class _Stopped(BaseException):
    """Another layer failed, or the user interrupted."""


def side_by_side(
    builds: Mapping[str, Callable[[Progress], None]],
    progress: Progress,
    after: Mapping[str, Collection[str]] | None = None,
) -> None:
    """Build several layers at once: the last in this thread, the others in threads of their own.

    The first that fails stops the others at their next call of the progress; what they had stored is kept, as after an
    interrupt. Layers that wait for it are not begun.

    Args:
        builds: by name; each builds one layer and calls the progress that it gets after each item. They may read the
            store at any time, and change it in transactions, which wait for each other.
        progress: called by one thread at a time.
        after: the layers that must be there before one is begun, by name; those that are not in `builds` are.

    Raises:
        BaseException: the first error; the others are dropped.
    """
    lock, stopped = threading.Lock(), threading.Event()
    errors: list[BaseException] = []
    ended = {name: threading.Event() for name in builds}

    def shared(stage: str, done: int, total: int) -> None:
        with lock:
            if stopped.is_set():
                raise _Stopped
            progress(stage, done, total)

    def run(name: str) -> None:
        try:
            for other in (after or {}).get(name, ()):
                if other in ended:
                    ended[other].wait()
            if not stopped.is_set():
                builds[name](shared)
        except _Stopped:
            pass
        except BaseException as error:
            errors.append(error)
            stopped.set()
        finally:
            ended[name].set()

    *others, last = builds
    threads = [
        threading.Thread(target=contextvars.copy_context().run, args=(run, name), name="polygraph-layer")
        for name in others
    ]
    for thread in threads:
        thread.start()
    run(last)
    while any(thread.is_alive() for thread in threads):
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt as error:
            errors.append(error)
            stopped.set()
    if errors:
        raise errors[0]
