"""Independent replies to requests that were answered before, for repeated runs of one method."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace

from polygraph.models.protocols import ChatRequest

_SAMPLES_PER_RUN = 1_000
"""More than the number of replies to one request that any single run asks for."""
_RUN: ContextVar[tuple[int, float]] = ContextVar("run", default=(0, 0.0))


@contextmanager
def sampled(run: int, temperature: float) -> Iterator[None]:
    """Give requests inside a ``with`` block the replies of one of several independent runs.

    It also applies in threads of `Calls.map`.

    Args:
        run: number of the run. Different runs share no replies; run 0 at temperature 0 shares those of all other calls.
        temperature: of requests that have temperature 0; at 0 the replies of most endpoints are copies.
    """
    token = _RUN.set((run, temperature))
    try:
        yield
    finally:
        _RUN.reset(token)


def sampled_request(request: ChatRequest) -> ChatRequest:
    """Return a request as it is sent in the run of the enclosing block."""
    run, temperature = _RUN.get()
    if not run and not temperature:
        return request
    return replace(
        request,
        sample=run * _SAMPLES_PER_RUN + request.sample,
        temperature=request.temperature or temperature,
    )
