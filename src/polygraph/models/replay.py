"""Run a stage again from the stored replies only: no model is called, and the keys of all look-ups are recorded."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from polygraph.models.protocols import ChatReply, ChatRequest


@dataclass(slots=True)
class Replay:
    """Keys looked up during a replay."""

    replies: set[str] = field(default_factory=set)
    """Keys of requests, those of repair rounds included, whether or not a reply was stored."""
    vectors: set[bytes] = field(default_factory=set)
    """Keys of texts to be embedded."""


_REPLAY: ContextVar[Replay | None] = ContextVar("replay", default=None)


def current_replay() -> Replay | None:
    """Return the replay of the enclosing block, also in threads of `Calls.map`; None outside of one."""
    return _REPLAY.get()


@contextmanager
def replay() -> Iterator[Replay]:
    """Call no language model and no endpoint inside the ``with`` block; see `Calls.replay`."""
    found = Replay()
    token = _REPLAY.set(found)
    try:
        yield found
    finally:
        _REPLAY.reset(token)


class NamedModel:
    """Placeholder for a chat model of which only the name is needed, because replies are stored under it."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._name

    def chat(self, request: ChatRequest, on_text: Callable[[str], None] | None = None) -> ChatReply:
        """Raise an error: a replay never calls a model."""
        raise NotImplementedError
