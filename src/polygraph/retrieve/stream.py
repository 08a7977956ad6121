"""An answer as a stream of events."""

import queue
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, Protocol

from polygraph.records import Answer, Retrieval


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event of a streamed answer."""

    kind: Literal["retrieval", "text", "answer"]
    text: str = ""
    """A piece of the answer, for `text`."""
    retrieval: Retrieval | None = None
    answer: Answer | None = None


class Answering(Protocol):
    """A function that answers one question."""

    def __call__(
        self, *, on_retrieval: Callable[[Retrieval], None], on_text: Callable[[str], None] | None
    ) -> Answer:
        """Answer a question; pass on the retrieval and each piece of the text, if anybody reads it."""


def stream_answer(answer: Answering) -> Iterator[Event]:
    """Run a function that answers in a separate thread and yield its events.

    Yields:
        The retrieval, pieces of the text, and finally the whole answer.

    Raises:
        Exception: whatever the function raises, after the events before it.
    """
    events: queue.Queue[Event | BaseException] = queue.Queue()

    def work() -> None:
        try:
            found = answer(
                on_retrieval=lambda retrieval: events.put(Event(kind="retrieval", retrieval=retrieval)),
                on_text=lambda piece: events.put(Event(kind="text", text=piece)),
            )
            events.put(Event(kind="answer", answer=found))
        except BaseException as error:
            events.put(error)

    threading.Thread(target=work, daemon=True).start()
    while True:
        event = events.get()
        if isinstance(event, BaseException):
            raise event
        yield event
        if event.kind == "answer":
            return


class _NotWanted(Exception):
    """The reader of the events is gone."""


async def stream_answer_async(answer: Answering) -> AsyncGenerator[Event, None]:
    """Do as `stream_answer` without blocking the event loop.

    A reader that stops, or whose task is cancelled, ends the work: it stops before it passes on the next event. A call
    of a model that has begun is not interrupted.
    """
    import asyncio  # slow to import, and few need it

    loop = asyncio.get_running_loop()
    events: asyncio.Queue[Event | BaseException] = asyncio.Queue()
    stopped = threading.Event()

    def put(event: Event) -> None:
        if stopped.is_set():
            raise _NotWanted
        loop.call_soon_threadsafe(events.put_nowait, event)

    def work() -> None:
        try:
            found = answer(
                on_retrieval=lambda retrieval: put(Event(kind="retrieval", retrieval=retrieval)),
                on_text=lambda piece: put(Event(kind="text", text=piece)),
            )
            put(Event(kind="answer", answer=found))
        except BaseException as error:
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(events.put_nowait, error)

    threading.Thread(target=work, daemon=True).start()
    try:
        while True:
            event = await events.get()
            if isinstance(event, BaseException):
                raise event
            yield event
            if event.kind == "answer":
                return
    finally:
        stopped.set()
