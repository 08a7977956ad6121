"""A deadline for a whole attempt to call an endpoint, however steadily its data arrives."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_DEADLINE: ContextVar[float | None] = ContextVar("deadline", default=None)
"""End of the attempt that this thread makes, by `time.monotonic`."""


class OutOfTime(Exception):
    """The deadline of the attempt has passed."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """End reading and writing in the ``with`` block after some seconds, or at the deadline of an enclosing block."""
    around, ends = _DEADLINE.get(), time.monotonic() + seconds
    token = _DEADLINE.set(ends if around is None else min(ends, around))
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def shortened(timeout_s: float | None) -> float | None:
    """Return the timeout of one operation, shortened to what is left until the deadline.

    Raises:
        OutOfTime: if nothing is left.
    """
    ends = _DEADLINE.get()
    if ends is None:
        return timeout_s
    left = ends - time.monotonic()
    if left <= 0:
        raise OutOfTime
    return left if timeout_s is None else min(timeout_s, left)
