"""Giving back to the system what is no longer in use."""

import ctypes
import gc
import os
import sys
from collections.abc import Callable
from functools import cache


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


@cache
def _trim() -> Callable[[int], int] | None:
    if os.name != "posix" or sys.platform == "darwin":
        return None
    try:
        found: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    except OSError:
        return None
    return found
