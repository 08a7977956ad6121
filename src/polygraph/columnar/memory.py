"""Giving back to the system what is no longer in use."""

import ctypes
import gc
import mmap
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any


def give_back(*, thorough: bool = False) -> None:
    """Have the system take freed memory back, where it can be asked to.

    The allocator of Linux (glibc) keeps what lies below anything that is still in use, so one small record can keep
    hundreds of megabytes of arrays that were freed long ago. It takes some milliseconds.

    Args:
        thorough: have Python give up first what it keeps for small objects to come. That looks at every object that
            there is, some dozens of milliseconds.
    """
    if thorough:
        gc.collect()
    trim = _trim()
    if trim is not None:
        trim(0)


def let_go(*arrays: Any) -> None:
    """Have the system take back what was read or written of mapped files; the arrays can be used as before.

    What is read of a file counts as memory in use until it is let go, and what is then read again comes from the
    system's copy of the file. Nothing is done where the system cannot be asked, nor for arrays that lie in memory.

    Args:
        arrays: of numpy, mapped or not, or views of such; each mapping is let go whole. Not such as are mapped to be
            changed without the file: their changes would be gone.
    """
    advice = getattr(mmap, "MADV_DONTNEED", None)
    if advice is None:
        return
    for array in arrays:
        base = array
        while base is not None and not isinstance(base, mmap.mmap):
            base = getattr(base, "base", None)
        if base is not None:
            base.madvise(advice)


@cache
def _trim() -> Callable[[int], int] | None:
    if os.name != "posix" or sys.platform == "darwin":
        return None
    try:
        found: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    except OSError:
        return None
    return found
