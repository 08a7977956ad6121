"""Returning freed memory to the system."""

import ctypes
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_M_ARENA_MAX = -8
"""Number of the option in malloc.h."""


def trim_heap(*, collect: bool = False) -> None:
    """Return freed memory to the system where the allocator can be asked to (glibc).

    It keeps everything below a block that is still in use, so one small record can pin hundreds of megabytes of
    freed arrays. A call takes some milliseconds.

    Args:
        collect: run the garbage collector first, which takes some dozens of milliseconds.
    """
    if collect:
        gc.collect()
    if (trim := _libc("malloc_trim")) is not None:
        trim(0)


def limit_arenas() -> None:
    """Let threads share two heaps (glibc; elsewhere nothing happens).

    By default each of the first 16 threads on two cores gets one of its own, and what was freed in one is not used by
    the others: with 16 calls in flight, 90 MB. Python runs in one thread at a time, so sharing costs nothing.
    """
    if (set_option := _libc("mallopt")) is not None:
        set_option(_M_ARENA_MAX, 2)


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


def _libc(name: str) -> Callable[..., int] | None:
    """Return a function of the C library, if it has one of this name."""
    if os.name != "posix" or sys.platform == "darwin":
        return None
    try:
        found: Callable[..., int] | None = getattr(ctypes.CDLL(None), name, None)
    except OSError:
        return None
    return found
