"""Limits of what one caller may take: size and pace of bodies, pace of reading, and requests per minute."""

import asyncio
import time
from collections.abc import Callable, MutableMapping

from starlette.types import Message, Receive, Send

from polygraph.server.problems import Problem
from polygraph.server.settings import ServerSettings

_MOST_CALLERS = 10_000
"""Callers whose pace is remembered."""


class RateLimit:
    """A bucket of requests for each caller, refilled steadily.

    Args:
        per_minute: requests that are refilled.
        burst: size of the bucket.
        clock: in seconds.
    """

    def __init__(self, per_minute: int, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_s, self._burst, self._clock = per_minute / 60, burst, clock
        self._buckets: MutableMapping[str, tuple[float, float]] = {}

    def take(self, caller: str) -> None:
        """Count a request.

        Raises:
            Problem: 429 with `Retry-After` if the bucket is empty.
        """
        now = self._clock()
        left, at = self._buckets.pop(caller, (float(self._burst), now))
        left = min(float(self._burst), left + (now - at) * self._per_s)
        if len(self._buckets) >= _MOST_CALLERS:
            del self._buckets[next(iter(self._buckets))]
        self._buckets[caller] = (max(left - 1, 0.0) if left >= 1 else left, now)
        if left < 1:
            wait = max(1, round((1 - left) / self._per_s))
            raise Problem(
                429,
                "too-many-requests",
                f"more than {round(self._per_s * 60)} requests a minute. Wait {wait} s",
                {"retry-after": str(wait)},
            )


def limited_receive(
    receive: Receive, content_length: str | None, upload: bool, settings: ServerSettings
) -> Receive:
    """Return `receive` with a limit on size and time of the body.

    Raises:
        Problem: 413 at once if the announced length is too large, or while reading; 408 if the body is too slow.
    """
    most = settings.max_upload_bytes if upload else settings.max_body_bytes
    seconds = settings.upload_timeout_s if upload else settings.body_timeout_s
    if content_length is not None and (not content_length.isdecimal() or int(content_length) > most):
        raise _too_large(most)
    size, whole, until = 0, False, time.monotonic() + seconds

    async def limited() -> Message:
        nonlocal size, whole
        if whole:
            return await receive()  # waits until the client hangs up
        try:
            message = await asyncio.wait_for(receive(), max(until - time.monotonic(), 0.001))
        except TimeoutError:
            raise Problem(
                408, "slow-body", f"the body was not complete within {seconds:.0f} s", {"connection": "close"}
            ) from None
        if message["type"] == "http.request":
            size += len(message.get("body", b""))
            whole = not message.get("more_body", False)
            if size > most:
                raise _too_large(most)
        else:
            whole = True
        return message

    return limited


def limited_send(send: Send, seconds: float) -> Send:
    """Return `send` that gives up when the client takes too long to read.

    Raises:
        ClientTooSlow: then nothing more can be sent.
    """

    async def limited(message: Message) -> None:
        try:
            await asyncio.wait_for(send(message), seconds)
        except TimeoutError:
            raise ClientTooSlow from None

    return limited


class ClientTooSlow(Exception):
    """A client does not read its response."""


def _too_large(most: int) -> Problem:
    # The rest of the body is not read, so that the connection cannot be used again.
    return Problem(
        413,
        "too-large",
        f"the body is larger than {most:,} bytes. Send less at once",
        {"connection": "close"},
    )
