"""Returning freed memory to the system."""

import ctypes
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def trim_heap(*, collect: bool = False) -> None:
    """Return freed memory to the system where the allocator can be asked to (glibc).

    It keeps everything below a block that is still in use, so one small record can pin hundreds of megabytes of
    freed arrays. A call takes some milliseconds.

    Args:
        collect: run the garbage collector first, which takes some dozens of milliseconds.
    """
    if collect:
        gc.collect()
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the garbage collector.

    For work that makes millions of small objects without reference cycles: looking for cycles among them would take
    40% of its time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _malloc_trim() -> Callable[[int], int] | None:
    if os.name != "posix" or sys.platform == "darwin":
        return None
    try:
        found: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    except OSError:
        return None
    return found
