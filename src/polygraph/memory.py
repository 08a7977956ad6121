"""Returning freed memory to the system."""

import ctypes
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_M_ARENA_MAX = -8
"""Number of the option in malloc.h."""
_NEW_OBJECTS = 20_000
"""Objects after which the garbage collector runs where it should do so rarely."""


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


@contextmanager
def rare_collections() -> Iterator[None]:
    """Let the garbage collector run after every 20,000 new objects instead of 700.

    For long work whose objects are freed without it: looking for cycles would take 5% of its time. What does lie in
    cycles is freed later. Objects that were there before, most of them modules, are not looked at until the end.
    """
    before = gc.get_threshold()
    freezes = not gc.get_freeze_count()  # else the user has frozen objects, which must stay so
    if before[0]:  # else the user has turned it off
        gc.set_threshold(max(_NEW_OBJECTS, before[0]), *before[1:])
    if freezes:
        gc.freeze()
    try:
        yield
    finally:
        if freezes:
            gc.unfreeze()
        gc.set_threshold(*before)


def _libc(name: str) -> Callable[..., int] | None:
    """Return a function of the C library, if it has one of this name."""
    if os.name != "posix" or sys.platform == "darwin":
        return None
    try:
        found: Callable[..., int] | None = getattr(ctypes.CDLL(None), name, None)
    except OSError:
        return None
    return found
