"""An answer as a stream of events."""

import queue
import threading
from collections.abc import Callable, Iterator
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


class _Answering(Protocol):
    def __call__(
        self, *, on_retrieval: Callable[[Retrieval], None], on_text: Callable[[str], None]
    ) -> Answer:
        """Answer a question; pass on the retrieval and each piece of the text."""


def stream_answer(answer: _Answering) -> Iterator[Event]:
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
