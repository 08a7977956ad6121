"""Work on a reply that a worker of a cluster does before it hands the reply back.

Reading a reply takes more of the processor than sending a request. On one machine the caller does it, in any case.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ReplyWork:
    """What is to be done with the text of a reply."""

    function: Callable[[str, Any], Any]
    """At the top level of a module; gets the text and the item. If it raises, nothing is received."""
    item: Any
    """Plain data."""
    receive: Callable[[str, Any], object]
    """Gets the text and the result, if a worker did the work."""


_WORK: ContextVar[ReplyWork | None] = ContextVar("reply_work", default=None)


@contextmanager
def reply_work(work: ReplyWork) -> Iterator[None]:
    """Offer some work to the workers that make the calls of this thread inside a ``with`` block."""
    token = _WORK.set(work)
    try:
        yield
    finally:
        _WORK.reset(token)


def current_reply_work() -> ReplyWork | None:
    """Return the work that the caller offers, if any."""
    return _WORK.get()
