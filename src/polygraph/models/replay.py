"""Running a stage again from the store alone: no model is called, and what was looked up is noted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from polygraph.models.protocols import ChatReply, ChatRequest


@dataclass(slots=True)
class Replay:
    """What was looked up while it ran."""

    replies: set[str] = field(default_factory=set)
    """Keys of requests, those of repair rounds included, whether or not a reply was stored."""
    vectors: set[bytes] = field(default_factory=set)
    """Keys of texts that were to be embedded."""


_REPLAY: ContextVar[Replay | None] = ContextVar("replay", default=None)


def replaying() -> Replay | None:
    """The replay that runs around the caller, also in threads of `Calls.map`."""
    return _REPLAY.get()


@contextmanager
def replay() -> Iterator[Replay]:
    """Within the block no language model and no endpoint is called; see `Calls.replay`."""
    found = Replay()
    token = _REPLAY.set(found)
    try:
        yield found
    finally:
        _REPLAY.reset(token)


class Named:
    """Stands for a chat model of which only the name is known, and needed: replies are kept under it."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        """As given."""
        return self._name

    def chat(self, request: ChatRequest, on_text: Callable[[str], None] | None = None) -> ChatReply:
        """Is never called."""
        raise NotImplementedError
