"""The gate through which every model is called: stored, merged, paced, retried, capped and counted.

A reply is committed to `calls.sqlite` before anybody sees it, so that whatever happens next, nothing is paid
twice. A model with a true attribute `local` runs on this machine and costs nothing.
"""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from polygraph.errors import BadInput, PolygraphError, UnusableReply
from polygraph.models.batch.jobs import Batch, BatchOptions, Round
from polygraph.models.batch.store import BatchStore, FileState
from polygraph.models.budget import Budget
from polygraph.models.cache import Asked, Attempt, CallStore, Durability, LedgerRow, Quarantined
from polygraph.models.embedding_cache import KeptVectors
from polygraph.models.pacing import Pacer
from polygraph.models.prices import PRICES, Price
from polygraph.models.protocols import (
    ChatModel,
    ChatReply,
    ChatRequest,
    Embedder,
    Message,
    Reranker,
    TextKind,
    Vectors,
)
from polygraph.models.question_cache import shared, sharing
from polygraph.models.replay import Replay, replay, replaying
from polygraph.models.retry import Meter, Sender, is_local
from polygraph.models.thread_pool import WAKE_S, Pool
from polygraph.records import Usage, digest
from polygraph.text.tokens import count_tokens

__all__ = ["Calls", "LedgerRow", "Meter", "Price", "Quarantined", "request_key"]

T = TypeVar("T")
S = TypeVar("S")

_SERVING: ContextVar[str] = ContextVar("serving", default="")
_ROUND: ContextVar[tuple[Batch, Round] | None] = ContextVar("round", default=None)
LONGEST_QUOTED = 12_000
"""Characters of a bad reply that the repair round shows to the model again."""
FIRST_GUESS = 256
"""Tokens that a reply is expected to have before any was seen."""


def request_key(model: str, request: ChatRequest) -> str:
    """Name a call by everything that decides its reply."""
    body = {
        "messages": [[message.role, message.content] for message in request.messages],
        "max_output_tokens": request.max_output_tokens,
        "temperature": request.temperature,
        "schema": request.schema,
        "sample": request.sample,
    }
    return digest("chat", model, json.dumps(body, sort_keys=True))


class Calls:
    """The gate. One object serves all threads; several processes may share the file.

    Args:
        path: where replies, vectors and the ledger are kept; None keeps them in memory.
        concurrency: calls in flight at once, and threads of `map`.
        max_cost: cap in US dollars on what this object may spend, or None.
        max_tokens: cap on the tokens, read and written, that go over the wire, or None.
        prices: by name of model.
        retries: attempts after the first that a call gets.
        durability: `normal` survives the end of the process at any moment, `full` also a loss of power.
        batch: where requests to language models are written instead of being sent; those on this machine are called.
        sleep: how to wait.
        seed: of the jitter.

    Raises:
        IndexUnreadable: if the file is damaged.
        StorageFailed: if it cannot be written.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        concurrency: int = 8,
        max_cost: float | None = None,
        max_tokens: int | None = None,
        prices: Mapping[str, Price] = PRICES,
        retries: int = 6,
        durability: Durability = "normal",
        batch: BatchOptions | None = None,
        sleep: Callable[[float], None] = time.sleep,
        seed: int = 0,
    ) -> None:
        if concurrency < 1:
            raise BadInput(f"concurrency is {concurrency}; it must be at least 1")
        for name, cap in (("max_cost", max_cost), ("max_tokens", max_tokens)):
            if cap is not None and not cap >= 0:
                raise BadInput(f"{name} is {cap}; it must be zero or more")
        self.concurrency = concurrency
        self._lock = threading.Lock()
        self.store = CallStore(path, durability)
        self._sender = Sender(
            store=self.store,
            budget=Budget(max_tokens=max_tokens, max_cost=max_cost),
            prices=prices,
            concurrency=concurrency,
            retries=retries,
            sleep=sleep,
            seed=seed,
        )
        self._pool = Pool(concurrency)
        self._vectors = KeptVectors(self.store, self._sender, self._pool)
        self._flights: dict[str, _Flight] = {}
        self._written: dict[tuple[str, str], tuple[int, int]] = {}
        self._quarantined = {entry.key for entry in self.store.quarantined()}
        self.batch = Batch(batch, self.store, self._sender, kept=path is not None) if batch else None

    # --- language models ----------------------------------------------------------------------------

    def ask(
        self,
        model: ChatModel,
        request: ChatRequest,
        parse: Callable[[str], T],
        *,
        stage: str,
        method: str = "",
        on_text: Callable[[str], None] | None = None,
        on_finish: Callable[[str], None] | None = None,
    ) -> T:
        """Get a reply and read it; one that cannot be read is asked for once more, with the reason.

        Args:
            model: whom to ask.
            request: what to ask; a request that was ever answered is not sent again.
            parse: reads the text of a reply; raises `UnusableReply` with a problem that the model can act on.
                Called once, or twice if there is a repair round.
            stage: what it is for, in the ledger.
            method: the retrieval method that it serves, in the ledger.
            on_text: takes pieces of the first reply as they come; a repaired reply is not streamed.
            on_finish: told before each reading how the reply ended, as `ChatReply.finish` says: one that was cut
                off may be readable all the same.

        Raises:
            UnusableReply: if `parse` refuses the repaired reply as well (its text is kept in quarantine), or
                the endpoint refuses this one request, for instance as too long.
            BudgetReached: if the caps have no room for the call.
            ModelUnavailable: if the model does not answer after all retries, or seems to be down.
            ModelRefused: if the endpoint rejects the key or the model.
            StorageFailed: if the reply cannot be stored; it is not used then.
            RequestsWaiting: with a batch, if the reply is not there yet.
        """
        with self.round():
            return self._ask(model, request, parse, stage, method, on_text, on_finish)

    def _ask(
        self,
        model: ChatModel,
        request: ChatRequest,
        parse: Callable[[str], T],
        stage: str,
        method: str,
        on_text: Callable[[str], None] | None,
        on_finish: Callable[[str], None] | None,
    ) -> T:
        if (running := replaying()) is not None:
            return self._replayed(running, model, request, parse, on_finish)
        method = _SERVING.get() or method
        line = Attempt(stage=stage, method=method, model=model.name, outcome="ok")
        key = request_key(model.name, request)
        raw = repair_key = ""
        try:
            reply = self._reply(model, request, key, line, on_text)
            raw = reply.text
            if on_finish is not None:
                on_finish(reply.finish)
            try:
                return self._accept(key, parse(raw))
            except UnusableReply as error:
                second = _repair(request, reply, error.problem)
            repair_key = request_key(model.name, second)
            reply = self._reply(model, second, repair_key, replace(line, outcome="repaired"), None)
            raw = reply.text
            if on_finish is not None:
                on_finish(reply.finish)
            return self._accept(key, parse(raw))
        except UnusableReply as error:
            self._quarantine(
                Quarantined(
                    key=key,
                    repair_key=repair_key,
                    stage=stage,
                    method=method,
                    model=model.name,
                    problem=error.problem,
                    raw=raw,
                )
            )
            raise UnusableReply(error.problem, raw) from error

    def _replayed(
        self,
        running: Replay,
        model: ChatModel,
        request: ChatRequest,
        parse: Callable[[str], T],
        on_finish: Callable[[str], None] | None,
    ) -> T:
        """Read what is stored for a request, in the same two rounds, without a trace in the accounts."""
        second = request
        for last in (False, True):
            key = request_key(model.name, second)
            running.replies.add(key)
            reply = self.store.reply(key)
            if reply is None:
                raise UnusableReply("no reply is stored")
            if on_finish is not None:
                on_finish(reply.finish)
            try:
                return parse(reply.text)
            except UnusableReply as error:
                if last:
                    raise UnusableReply(error.problem, reply.text) from error
                second = _repair(request, reply, error.problem)
        raise AssertionError  # the second round returns or raises

    def _reply(
        self,
        model: ChatModel,
        request: ChatRequest,
        key: str,
        line: Attempt,
        on_text: Callable[[str], None] | None,
    ) -> ChatReply:
        """Return the reply from the store, from an equal call in flight, or from the model."""
        while True:
            with self._lock:
                flight = self._flights.get(key)
                if flight is None:
                    flight = self._flights[key] = _Flight()
                    break
            while not flight.done.wait(WAKE_S):
                pass  # looked up for Ctrl-C
            if flight.reply is not None:
                return self._from_store(flight.reply, key, line, on_text)
            if isinstance(flight.error, PolygraphError):
                raise flight.error
            # The other one was interrupted: this one tries itself.
        try:
            stored = self.store.reply(key)
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
                del self._flights[key]
            flight.done.set()

    def _from_store(
        self, reply: ChatReply, key: str, line: Attempt, on_text: Callable[[str], None] | None
    ) -> ChatReply:
        here = self._here()
        bought = here[0].first_use(here[1], key) if here is not None else None
        if bought is not None:
            # Its line in the ledger was written when it came.
            self._sender.count(
                Usage(
                    calls=1,
                    prompt_tokens=reply.prompt_tokens,
                    completion_tokens=reply.completion_tokens,
                    cost=bought.cost,
                )
            )
        else:
            self.store.log_cached(line.stage, line.method, line.model, 1)
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
        """Ask the model, and commit what it says."""
        here = self._here()
        if here is not None and not is_local(model):
            writes = self._expected(line, request.max_output_tokens)
            here[0].ask(here[1], model, request, key, line, writes)
            stored = self.store.reply(key)  # it lay there without having been asked for
            assert stored is not None  # noqa: S101  a batch returns only then
            return self._from_store(stored, key, line, on_text)
        show = _Resumed(on_text) if on_text is not None else None

        def call() -> tuple[ChatReply, int, int]:
            if show is not None:
                show.restart()
            reply = model.chat(request, show)
            return reply, reply.prompt_tokens, reply.completion_tokens

        writes = self._expected(line, request.max_output_tokens)

        def count() -> int:
            return sum(count_tokens(message.content) for message in request.messages)

        # Counting takes time: it is done only where there is a cap, or a limit of tokens a minute.
        reads = count() if self._sender.estimates(model) else None
        with self._sender.reserve(model, reads or 0, writes):
            reply, done = self._sender.send(
                model,
                call,
                line,
                key=key,
                n_calls=1,
                size=lambda: writes + (count() if reads is None else reads),
            )
            kept = self.store.keep_reply(key, reply, done)
        with self._lock:
            n, total = self._written.get((line.stage, line.model), (0, 0))
            self._written[line.stage, line.model] = (n + 1, total + reply.completion_tokens)
        return kept

    def _expected(self, line: Attempt, most: int | None) -> int:
        """Guess how much a model will write: as much as it did at this stage so far."""
        with self._lock:
            n, total = self._written.get((line.stage, line.model), (0, 0))
        guess = -(-total // n) if n else FIRST_GUESS
        return guess if most is None else min(guess, most)

    # --- embedders and rerankers --------------------------------------------------------------------

    def embed(
        self, embedder: Embedder, texts: Iterable[str], kind: TextKind, *, stage: str, method: str = ""
    ) -> Vectors:
        """Return unit vectors, each text embedded once ever; those of questions are kept in memory only.

        Args:
            embedder: the model. One with a method ``batches(texts)`` says how many go into one call, one with
                ``embed_counted(texts, kind)`` reports tokens.
            texts: any number; equal texts are one.
            kind: what the texts are.
            stage: what it is for, in the ledger.
            method: the retrieval method that it serves, in the ledger.

        Returns:
            Shape ``(len(texts), dimension)``, in the order of `texts`, with the same bytes whether a vector
            is fresh or stored; a text without any token is all zeros.
        """
        line = Attempt(stage=stage, method=method, model=embedder.name, outcome="ok")
        known = shared()
        if known is None or kind != "query" or not getattr(embedder, "instant", False):
            return self._vectors.embed(embedder, texts, kind, line)
        wanted = list(texts)
        if not wanted:
            return self._vectors.embed(embedder, wanted, kind, line)
        vectors, n_known = known.embed(
            embedder.name, wanted, lambda missing: self._vectors.embed(embedder, missing, kind, line)
        )
        if n_known:
            self.store.log_cached(stage, method, embedder.name, n_known)
        return vectors

    def score(
        self, reranker: Reranker, question: str, texts: Sequence[str], *, stage: str, method: str = ""
    ) -> NDArray[np.float64]:
        """Return how well each text answers the question, shape ``(len(texts),)``, in order."""
        if not texts:
            return np.empty(0, dtype=np.float64)
        line = Attempt(stage=stage, method=method, model=reranker.name, outcome="ok")

        def send(some: Sequence[str]) -> NDArray[np.float64]:
            def call() -> tuple[NDArray[np.float64], int, int]:
                return reranker.score(question, some), 0, 0

            with self._sender.reserve(reranker, 0, 0):
                scores, done = self._sender.send(
                    reranker, call, line, key=digest("score", question), n_calls=0
                )
            self.store.log(done)
            return scores

        known = shared()
        if known is None:
            return send(texts)
        scores, n_known = known.score(reranker.name, question, texts, send)
        if n_known:
            self.store.log_cached(stage, method, reranker.name, n_known)
        return scores

    # --- many at once -------------------------------------------------------------------------------

    def map(
        self, function: Callable[[S], T], items: Iterable[S], *, on_done: Callable[[int], None] | None = None
    ) -> list[T]:
        """Apply a function to each item in a bounded number of threads; may be nested.

        On the first error, or Ctrl-C, no new item is started; those in flight end, so that their replies are
        kept, and then the error is raised (of several, that of the first item).

        Args:
            function: called in a thread that shares the meters of the caller.
            items: read at once.
            on_done: told in the caller's thread how many items are done.

        Returns:
            The results in the order of `items`.

        Raises:
            RequestsWaiting: with a batch, after all items, if any of them waits.
        """
        with self.round():
            return self._pool.map(function, items, on_done=on_done)

    @contextmanager
    def round(self) -> Iterator[None]:
        """Write what is asked inside a ``with`` block as one batch, if calls go by batch.

        Blocks within the block belong to it, also in threads of `map`. Replies that lie beside earlier requests are
        taken in first.

        Raises:
            RequestsWaiting: after the block, if a reply is missing; it says where the requests are.
            BudgetReached: after the block, if a cap kept requests from being written.
        """
        if self.batch is None or self._here() is not None or replaying() is not None:
            yield
            return
        with self.batch.round() as current:
            token = _ROUND.set((self.batch, current))
            try:
                yield
            finally:
                _ROUND.reset(token)

    def _here(self) -> tuple[Batch, Round] | None:
        """The round that runs around the caller, if it is one of ours."""
        running = _ROUND.get()
        return running if running is not None and running[0] is self.batch else None

    def waiting(self) -> list[FileState]:
        """Return the files of batches that hold requests without replies, by path."""
        return BatchStore(self.store).files()

    def give_up_waiting(self, file: str) -> int:
        """No longer wait for the requests of a file: they are written again when they are asked again.

        Returns:
            How many these are.
        """
        return BatchStore(self.store).give_up(file)

    def sharing(self) -> AbstractContextManager[None]:
        """Work out once, inside a ``with`` block, what methods that answer one question have in common.

        Replies of language models and vectors of slow embedders are shared anyhow; in the block also scores of a
        reranker and vectors of questions by a quick embedder. What was shared counts as cached in the ledger.
        """
        return sharing()

    # --- accounts -----------------------------------------------------------------------------------

    def meter(self) -> AbstractContextManager[Meter]:
        """Measure what is called inside a ``with`` block, also in threads of `map`; may be nested.

        The `usage` of the meter counts calls and tokens of language models; its `cost` covers embedders as
        well, and its `seconds` are time on the clock.
        """
        return self._sender.meter()

    def pacer(self, model: ChatModel | Embedder | Reranker) -> Pacer:
        """Return the pacer of a model's endpoint: its concurrency and rate limits as known so far."""
        return self._sender.pacer(model)

    @property
    def spent(self) -> Usage:
        """What this object spent so far; `seconds` is the sum over calls that ran side by side."""
        return self._sender.spent

    @contextmanager
    def serving(self, method: str) -> Iterator[None]:
        """Enter calls made inside a ``with`` block under this method, whatever name they give; empty: under theirs.

        So that variants of one method are told apart in the ledger. Holds in threads of `map`, too.
        """
        token = _SERVING.set(method)
        try:
            yield
        finally:
            _SERVING.reset(token)

    def log_question(self, method: str, usage: Usage) -> None:
        """Count a question that a method answered with a model, so that its calls and tokens can be averaged."""
        tokens = usage.prompt_tokens + usage.completion_tokens + usage.cached_tokens
        self.store.log_question(method, usage.calls + usage.cached_calls, tokens)

    def questions(self) -> dict[str, Asked]:
        """Return what each method was asked, by its name; variants of a method are told apart."""
        return self.store.questions()

    def ledger(self) -> list[LedgerRow]:
        """Return what was ever spent through this file, by stage, method and model, in that order."""
        return self.store.ledger()

    # --- what could not be used ---------------------------------------------------------------------

    def _accept(self, key: str, value: T) -> T:
        """Take a request out of quarantine whose reply can be read after all."""
        with self._lock:
            known = key in self._quarantined
            self._quarantined.discard(key)
        if known:
            self.store.release([key])
        return value

    def _quarantine(self, entry: Quarantined) -> None:
        self.store.quarantine(entry)
        with self._lock:
            self._quarantined.add(entry.key)

    def quarantined(self) -> list[Quarantined]:
        """Return the requests whose replies could not be used, with the last text as received."""
        return self.store.quarantined()

    def release(self, entries: Iterable[Quarantined]) -> None:
        """Forget the replies of requests in quarantine, so that they are asked again."""
        some = list(entries)
        self.store.forget(key for entry in some for key in (entry.key, entry.repair_key))
        self.store.release(entry.key for entry in some)
        with self._lock:
            self._quarantined.difference_update(entry.key for entry in some)

    def forget(self, keys: Iterable[str]) -> None:
        """Forget the replies to some requests, in quarantine or not, so that they are asked again."""
        some = list(keys)
        self.store.forget(some)
        self.store.release(some)
        with self._lock:
            self._quarantined.difference_update(some)

    def replay(self) -> AbstractContextManager[Replay]:
        """Run stages from the store alone, inside a ``with`` block.

        A request without a stored reply raises `UnusableReply`. A model on this machine still embeds; for an
        endpoint, texts that have no stored vector get zeros, which are similar to nothing and are not kept.
        The object of the block notes the keys of all that was looked up.
        """
        return replay()

    def keep_only(self, replies: set[str], vectors: set[bytes]) -> bool:
        """Forget all stored replies and vectors but some, and what the ledger quotes of any.

        Returns:
            False if another process still reads the former state, so that the file keeps its log.
        """
        done = self.store.keep_only(replies, vectors)
        with self._lock:
            self._quarantined.intersection_update(replies)
        return done

    # --- life ---------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the file; a second time does nothing."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class _Flight:
    """A call that others may wait for."""

    __slots__ = ("done", "error", "reply")

    def __init__(self) -> None:
        self.done = threading.Event()
        self.reply: ChatReply | None = None
        self.error: BaseException | None = None


class _Resumed:
    """Hands a text over piece by piece; an attempt that starts again does not repeat what was shown."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._text = ""
        """What was shown, without attempts that were given up."""
        self._at = 0
        """Where the present attempt stands in it."""

    def restart(self) -> None:
        """Begin a new attempt."""
        self._at = 0

    def __call__(self, piece: str) -> None:
        """Take the next piece of the present attempt."""
        repeated = self._text[self._at : self._at + len(piece)]
        if piece.startswith(repeated):
            fresh = piece[len(repeated) :]
            self._text += fresh
        else:
            # The new attempt says something else: show it from its start.
            self._text = self._text[: self._at] + piece
            fresh = f"\n\n(the connection broke off; the answer starts again)\n\n{self._text}"
        self._at += len(piece)
        if fresh:
            self._on_text(fresh)


def _repair(request: ChatRequest, reply: ChatReply, problem: str) -> ChatRequest:
    """Ask for a reply once more, naming what was wrong with it."""
    if reply.finish == "length":
        fault = f"Your reply was cut off at the limit of its length ({problem}). Be briefer this time."
    else:
        fault = f"Your reply cannot be used: {problem}."
    again = (
        f"{fault} Write the whole reply again, complete and in the format that was asked for, with nothing "
        "before or after it."
    )
    quoted = reply.text if len(reply.text) <= LONGEST_QUOTED else f"{reply.text[:LONGEST_QUOTED]} [...]"
    # Endpoints refuse a turn without text.
    turns = (Message("assistant", quoted.strip() or "(nothing)"), Message("user", again))
    return replace(request, messages=(*request.messages, *turns))
