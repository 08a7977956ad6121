"""Replies by model and request: each request is answered once, also if several threads or processes make it."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING

from polygraph.errors import PolygraphError
from polygraph.models.call_store import Attempt, CallStore
from polygraph.models.chat_completion import prompt_tokens
from polygraph.models.protocols import ChatModel, ChatReply, ChatRequest
from polygraph.models.retry import Sender, is_local
from polygraph.models.streaming import StreamAcrossRetries
from polygraph.models.thread_pool import POLL_S
from polygraph.records import Usage, digest

if TYPE_CHECKING:
    from polygraph.models.batch.jobs import Batch, Round

_QUESTION: ContextVar[str] = ContextVar("question", default="")
# `json.dumps` with an option makes an encoder each time.
_encode_sorted = json.JSONEncoder(sort_keys=True).encode

FIRST_ESTIMATE = 256
"""Expected tokens of a reply before the first one is known."""


@contextmanager
def about_question(question: str) -> Iterator[None]:
    """Name the question that the calls inside a ``with`` block are for, in the listings of batch files.

    It also applies in threads of `Calls.map`.
    """
    token = _QUESTION.set(question)
    try:
        yield
    finally:
        _QUESTION.reset(token)


def request_key(model: str, request: ChatRequest) -> str:
    """Hash everything that determines the reply to a request."""
    body = {
        "messages": [[message.role, message.content] for message in request.messages],
        "max_output_tokens": request.max_output_tokens,
        "temperature": request.temperature,
        "schema": request.schema,
        "sample": request.sample,
    }
    if request.likelihood:
        body["likelihood"] = True
    return digest("chat", model, _encode_sorted(body))


class ReplyCache:
    """Replies that are committed before they are returned.

    Args:
        store: of the replies.
        sender: calls the models.
        current_round: returns the batch that requests are written to instead of being sent, with its round; None if
            they are sent.
    """

    def __init__(
        self, store: CallStore, sender: Sender, current_round: "Callable[[], tuple[Batch, Round] | None]"
    ) -> None:
        self._store = store
        self._sender = sender
        self._current_round = current_round
        self._lock = threading.Lock()
        self._in_flight: dict[str, _InFlight] = {}
        self._written: dict[tuple[str, str], tuple[int, int]] = {}
        """Replies so far and their tokens, by stage and model."""

    def get(
        self,
        model: ChatModel,
        request: ChatRequest,
        key: str,
        line: Attempt,
        on_text: Callable[[str], None] | None,
    ) -> ChatReply:
        """Return the reply from the store, from an identical call in flight, or from the model.

        Args:
            model: to call.
            request: to send.
            key: from `request_key`.
            line: of the ledger, if the model is called.
            on_text: receives pieces of the reply as they arrive.
        """
        while True:
            with self._lock:
                flight = self._in_flight.get(key)
                if flight is None:
                    flight = self._in_flight[key] = _InFlight()
                    break
            while not flight.done.wait(POLL_S):
                pass  # wakes up for Ctrl-C
            if flight.reply is not None:
                return self._from_store(flight.reply, key, line, on_text)
            if isinstance(flight.error, PolygraphError):
                raise flight.error
            # The other call was interrupted: this one is made.
        try:
            stored = self._store.reply(key)
            if stored is None:
                with self._store.claim(key) as reread:
                    # While this one waited, another process may have got the reply.
                    stored = self._store.reply(key) if reread else None
                    if stored is None:
                        flight.reply = self._chat(model, request, key, line, on_text)
                        return flight.reply
            flight.reply = stored
            return self._from_store(stored, key, line, on_text)
        except BaseException as error:
            flight.error = error
            raise
        finally:
            with self._lock:
                del self._in_flight[key]
            flight.done.set()

    def _from_store(
        self, reply: ChatReply, key: str, line: Attempt, on_text: Callable[[str], None] | None
    ) -> ChatReply:
        running = self._current_round()
        paid = running[0].first_use(running[1], key) if running is not None else None
        if paid is not None:
            # Its ledger entry was written when the batch reply was imported.
            self._sender.count(
                Usage(
                    calls=1,
                    prompt_tokens=reply.prompt_tokens,
                    completion_tokens=reply.completion_tokens,
                    cost=paid.cost,
                )
            )
        else:
            self._store.log_cached(line.stage, line.method, line.model, 1)
            tokens = reply.prompt_tokens + reply.completion_tokens
            self._sender.count(Usage(cached_calls=1, cached_tokens=tokens))
        if on_text is not None:
            on_text(reply.text)
        return reply

    def _chat(
        self,
        model: ChatModel,
        request: ChatRequest,
        key: str,
        line: Attempt,
        on_text: Callable[[str], None] | None,
    ) -> ChatReply:
        """Call the model and commit its reply."""
        running = self._current_round()
        if running is not None and not is_local(model):
            writes = self._expected(line, request.max_output_tokens)
            running[0].ask(running[1], model, request, key, line, writes, question=_QUESTION.get())
            stored = self._store.reply(key)  # its reply was in the folder although it was never requested
            assert stored is not None  # noqa: S101  `ask` returns only in that case
            return self._from_store(stored, key, line, on_text)
        show = StreamAcrossRetries(on_text) if on_text is not None else None

        def call() -> tuple[ChatReply, int, int]:
            if show is not None:
                show.restart()
            reply = model.chat(request, show)
            return reply, reply.prompt_tokens, reply.completion_tokens

        writes = self._expected(line, request.max_output_tokens)

        # Counting takes time: it is done only for a cap, or for a limit of tokens per minute.
        reads = prompt_tokens(request) if self._sender.estimates(model) else None
        with self._sender.reserve(model, reads or 0, writes):
            stored = self._sender.send(
                model,
                call,
                line,
                key=key,
                n_calls=1,
                keep=partial(self._store.save_reply, key),
                size=lambda: writes + (prompt_tokens(request) if reads is None else reads),
            )
        with self._lock:
            n, total = self._written.get((line.stage, line.model), (0, 0))
            self._written[line.stage, line.model] = (n + 1, total + stored.completion_tokens)
        return stored

    def _expected(self, line: Attempt, max_tokens: int | None) -> int:
        """Estimate the tokens of a reply: the mean of this model at this stage so far."""
        with self._lock:
            n, total = self._written.get((line.stage, line.model), (0, 0))
        estimate = -(-total // n) if n else FIRST_ESTIMATE
        return estimate if max_tokens is None else min(estimate, max_tokens)


class _InFlight:
    """A call in flight whose reply other threads may wait for."""

    __slots__ = ("done", "error", "reply")

    def __init__(self) -> None:
        self.done = threading.Event()
        self.reply: ChatReply | None = None
        self.error: BaseException | None = None
