"""The events of an answer in work: kept for a while, sent as server-sent events, resumable by id."""

import asyncio
import json
import math
import re
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import StreamingResponse

from polygraph.records import Answer

MEDIA_TYPE = "text/event-stream"
_LINE_ENDS = re.compile("[\x85\u2028\u2029]")
"""Characters that JSON leaves as they are and that many readers of lines take for the end of one."""
HEARTBEAT = b": still working\n\n"
"""A comment, which readers ignore and proxies take as a sign of life."""


def to_json(value: Any) -> str:
    """Return JSON in one line; numbers that JSON does not have become null."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=str)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"), default=str)
    return _LINE_ENDS.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def event_response(events: AsyncIterator[bytes]) -> StreamingResponse:
    """Return server-sent events as a response; proxies must pass on each of them at once."""
    return StreamingResponse(events, media_type=MEDIA_TYPE, headers={"x-accel-buffering": "no"})


def encode_event(kind: str, data: str, id: str = "") -> bytes:
    r"""Return one event in the form of `text/event-stream`.

    Args:
        kind: name of the event.
        data: JSON in one line.
        id: from which a reader resumes.

    >>> encode_event("text", '{"text":"Mara"}', "a1:2")
    b'id: a1:2\nevent: text\ndata: {"text":"Mara"}\n\n'
    """
    head = f"id: {id}\n" if id else ""
    return f"{head}event: {kind}\ndata: {data}\n\n".encode("utf-8", "backslashreplace")


class EventLog:
    """The events of one answer. One thread of work appends, any number of readers follow in the event loop.

    Args:
        id: of the answer.
        owner: name of the principal that may read.
        index: name of the index that is asked.
    """

    def __init__(self, id: str, owner: str, index: str) -> None:
        self.id, self.owner, self.index = id, owner, index
        self.created = time.monotonic()
        self.size = 0
        """About the bytes of all that is kept."""
        self.done = False
        self.result: Any = None
        """What the work came to, when it is done: a value, or the problem."""
        self.answer: Answer | None = None
        """For `explain`, when there is one."""
        self.removals: int | None = None
        """`ServedIndex.removals` before the index was read; None if it was not yet."""
        self.abandoned = threading.Event()
        """Set when nobody reads any more: the work should end."""
        self.readers = 0
        self._events: list[tuple[str, str]] = []
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()

    def append(self, kind: str, data: Any) -> None:
        """Add an event; from any thread."""
        text = to_json(data)
        self.size += len(text)
        self._events.append((kind, text))
        self._wake()

    def keep(self, answer: Answer) -> None:
        """Keep the answer for `explain`; from any thread."""
        # Evidence and context hold the same texts.
        self.size += 4 * len(answer.retrieval.context) + 2 * len(answer.text)
        self.answer = answer

    def close(self) -> None:
        """End the log; from any thread."""
        self.done = True
        self._wake()

    async def read(self, start: int, heartbeat_s: float, resume_s: float) -> AsyncIterator[bytes]:
        """Yield the events from number `start` as server-sent events, and heartbeats; arguments as `follow`."""
        n = start
        async for event in self.follow(start, heartbeat_s, resume_s):
            if event is None:
                yield HEARTBEAT
            else:
                yield encode_event(*event, id=f"{self.id}:{n}")
                n += 1

    async def follow(
        self, start: int, heartbeat_s: float, resume_s: float
    ) -> AsyncIterator[tuple[str, str] | None]:
        """Yield kind and JSON of the events from number `start`, as they come.

        Args:
            start: number of the first event, from 0.
            heartbeat_s: seconds without events after which None is yielded.
            resume_s: seconds after the last reader has gone before the work is given up.
        """
        at = start
        self.readers += 1
        try:
            while True:
                # Before the look at the list, so that an event that comes in between is not slept over.
                changed = self._changed
                done = self.done
                while at < len(self._events):
                    yield self._events[at]
                    at += 1
                if done:
                    return
                try:
                    await asyncio.wait_for(changed.wait(), heartbeat_s)
                except TimeoutError:
                    yield None
        finally:
            self.readers -= 1
            if not self.done:
                self._loop.call_later(resume_s, self._abandon)

    async def finished(self) -> None:
        """Wait until the log is closed."""
        while not self.done:
            await self._changed.wait()

    def _abandon(self) -> None:
        if not self.readers:
            self.abandoned.set()

    def _wake(self) -> None:
        self._loop.call_soon_threadsafe(self._notify)

    def _notify(self) -> None:
        waiting, self._changed = self._changed, asyncio.Event()
        waiting.set()


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value
