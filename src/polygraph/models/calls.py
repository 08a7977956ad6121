"""All calls to models: cached, deduplicated, paced, retried, capped and recorded.

A reply is committed to the tables of calls before it is returned, so that nothing is paid twice whatever happens next.
A model whose attribute `local` is true runs on this machine and costs nothing.
"""

import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from polygraph.errors import BadInput, UnusableReply
from polygraph.models.budget import Budget
from polygraph.models.call_store import (
    Attempt,
    CallPlace,
    Durability,
    LedgerRow,
    Quarantined,
    QuestionUsage,
    open_call_store,
)
from polygraph.models.embedding_cache import EmbeddingCache
from polygraph.models.pacing import Pacer
from polygraph.models.prices import PRICES, Price
from polygraph.models.protocols import (
    ChatModel,
    ChatReply,
    ChatRequest,
    Embedder,
    Reranker,
    TextKind,
    Vectors,
)
from polygraph.models.question_cache import current_cache, question_cache
from polygraph.models.repair import repair_request
from polygraph.models.replay import Replay, current_replay, replay
from polygraph.models.reply_cache import ReplyCache, request_key
from polygraph.models.retry import MAX_WAIT_S, Meter, Sender
from polygraph.models.sampling import sampled_request
from polygraph.models.thread_pool import Background, ThreadPool
from polygraph.records import Usage, digest

if TYPE_CHECKING:
    from polygraph.models.batch.jobs import Batch, BatchOptions, Round
    from polygraph.models.batch.store import FileState

__all__ = ["Calls", "LedgerRow", "Meter", "Price", "Quarantined"]

T = TypeVar("T")
S = TypeVar("S")

_METHOD: ContextVar[str] = ContextVar("method", default="")
_ROUND: ContextVar["tuple[Batch, Round] | None"] = ContextVar("round", default=None)


def _receiver(
    on_finish: Callable[[str], None] | None, on_reply: Callable[[ChatReply], None] | None
) -> Callable[[ChatReply], None]:
    def receive(reply: ChatReply) -> None:
        if on_finish is not None:
            on_finish(reply.finish)
        if on_reply is not None:
            on_reply(reply)

    return receive


class Calls:
    """Calls models for all threads of a process; several processes may share the tables of calls.

    Args:
        place: file or database for replies, vectors and the ledger; None keeps them in memory.
        concurrency: calls in flight at once, and threads of `map`.
        max_cost: cap on spending in US dollars, or None.
        max_tokens: cap on tokens sent to and received from endpoints, or None.
        prices: by name of model.
        retries: attempts after the first.
        max_wait_s: longest total wait of one call between its attempts.
        durability: `normal` survives the end of the process at any moment, `full` also a loss of power.
        batch: folder in which requests to language models are written instead of being sent; local models are called.
        sleep: how to wait.
        seed: of the jitter.

    Raises:
        IndexUnreadable: if the file is damaged.
        StorageFailed: if it cannot be written.
    """

    def __init__(
        self,
        place: CallPlace | None,
        *,
        concurrency: int = 8,
        max_cost: float | None = None,
        max_tokens: int | None = None,
        prices: Mapping[str, Price] = PRICES,
        retries: int = 6,
        max_wait_s: float = MAX_WAIT_S,
        durability: Durability = "normal",
        batch: "BatchOptions | None" = None,
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
        self.store = open_call_store(place, durability)
        self._sender = Sender(
            store=self.store,
            budget=Budget(max_tokens=max_tokens, max_cost=max_cost),
            prices=prices,
            concurrency=concurrency,
            retries=retries,
            max_wait_s=max_wait_s,
            sleep=sleep,
            seed=seed,
        )
        self._pool = ThreadPool(concurrency)
        self._vectors = EmbeddingCache(self.store, self._sender, self._pool)
        self._replies = ReplyCache(self.store, self._sender, self._current_round)
        self._quarantined = {entry.key for entry in self.store.quarantined()}
        self.batch: Batch | None = None
        if batch is not None:
            from polygraph.models.batch import jobs

            self.batch = jobs.Batch(batch, self.store, self._sender, persistent=place is not None)

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
        on_reply: Callable[[ChatReply], None] | None = None,
    ) -> T:
        """Get a reply and parse it. If it cannot be parsed, ask once more and give the reason.

        Args:
            model: to call.
            request: to send; a request that was answered before is not sent again.
            parse: parses the text of a reply; raises `UnusableReply` with a problem that the model can act on.
                Called once, or twice if there is a repair round.
            stage: purpose of the call, for the ledger.
            method: retrieval method that the call is made for, for the ledger.
            on_text: receives pieces of the first reply as they arrive; a repaired reply is not streamed.
            on_finish: receives `ChatReply.finish` before each parsing: a truncated reply may still be usable.
            on_reply: receives each reply before it is parsed, for what the text does not say.

        Raises:
            UnusableReply: if `parse` rejects the repaired reply as well (its text is kept in quarantine), or the
                endpoint rejects this request only, for instance because it is too long.
            BudgetReached: if the caps do not allow the call.
            ModelUnavailable: if the model does not answer after all retries, or seems to be down.
            ModelRefused: if the endpoint rejects the key or the model.
            StorageFailed: if the reply cannot be stored; then it is not used.
            RequestsWaiting: with a batch, if the reply has not arrived yet.
        """
        with self.batch_round():
            return self._ask(model, request, parse, stage, method, on_text, _receiver(on_finish, on_reply))

    def _ask(
        self,
        model: ChatModel,
        request: ChatRequest,
        parse: Callable[[str], T],
        stage: str,
        method: str,
        on_text: Callable[[str], None] | None,
        receive: Callable[[ChatReply], None],
    ) -> T:
        request = sampled_request(request)
        if (running := current_replay()) is not None:
            return self._replayed(running, model, request, parse, receive)
        method = _METHOD.get() or method
        line = Attempt(stage=stage, method=method, model=model.name, outcome="ok")
        key = request_key(model.name, request)
        raw = repair_key = ""
        try:
            reply = self._replies.get(model, request, key, line, on_text)
            raw = reply.text
            receive(reply)
            try:
                return self._accept(key, parse(raw))
            except UnusableReply as error:
                second = repair_request(request, reply, error)
            repair_key = request_key(model.name, second)
            reply = self._replies.get(model, second, repair_key, replace(line, outcome="repaired"), None)
            raw = reply.text
            receive(reply)
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
        receive: Callable[[ChatReply], None],
    ) -> T:
        """Parse the stored reply to a request, in the same two rounds, without recording anything in the ledger."""
        second = request
        for last in (False, True):
            key = request_key(model.name, second)
            running.replies.add(key)
            reply = self.store.reply(key)
            if reply is None:
                raise UnusableReply("no reply is stored")
            receive(reply)
            try:
                return parse(reply.text)
            except UnusableReply as error:
                if last:
                    raise UnusableReply(error.problem, reply.text) from error
                second = repair_request(request, reply, error)
        raise AssertionError  # unreachable: the second round returns or raises

    # --- embedders and rerankers --------------------------------------------------------------------

    def embed(
        self, embedder: Embedder, texts: Iterable[str], kind: TextKind, *, stage: str, method: str = ""
    ) -> Vectors:
        """Return unit vectors. Each text is embedded once; vectors of questions are kept in memory only.

        Args:
            embedder: the model. Its optional method ``batches(texts)`` chooses the texts of each call, of at most
                ``texts_per_call`` if it has that attribute, and ``embed_counted(texts, kind)`` also returns tokens.
            texts: any number; equal texts are embedded once.
            kind: of the texts.
            stage: purpose of the call, for the ledger.
            method: retrieval method that the call is made for, for the ledger.

        Returns:
            Shape ``(len(texts), dimension)``, in the order of `texts`. A vector has the same bytes whether it is
            new or stored; a text without tokens is all zeros.
        """
        line = Attempt(stage=stage, method=method, model=embedder.name, outcome="ok")
        cache = current_cache()
        if cache is None or kind != "query" or not getattr(embedder, "instant", False):
            return self._vectors.embed(embedder, texts, kind, line)
        wanted = list(texts)
        if not wanted:
            return self._vectors.embed(embedder, wanted, kind, line)
        vectors, n_known = cache.embed(
            embedder.name, wanted, lambda missing: self._vectors.embed(embedder, missing, kind, line)
        )
        if n_known:
            self.store.log_cached(stage, method, embedder.name, n_known)
        return vectors

    def embed_each(
        self, embedder: Embedder, blocks: Iterable[Sequence[str]], kind: TextKind, *, stage: str
    ) -> Generator[tuple[int, Vectors], None, None]:
        """Embed many texts, block by block: an endpoint gets as many blocks at once as there may be calls.

        Calls to language models, on whose replies more depends, go first.

        Args:
            embedder: see `embed`.
            blocks: texts that are embedded together, best `embedding_cache.block_size` of them; read as
                earlier ones are finished.
            kind: see `embed`.
            stage: see `embed`.

        Yields:
            The number of a block, from 0, and its vectors as by `embed`, as they are finished. When the generator is
            closed, blocks in flight are completed, and no other is begun.
        """
        line = Attempt(stage=stage, method="", model=embedder.name, outcome="ok")
        return self._vectors.embed_each(embedder, blocks, kind, line, self.concurrency)

    def score(
        self, reranker: Reranker, question: str, texts: Sequence[str], *, stage: str, method: str = ""
    ) -> NDArray[np.float64]:
        """Return a relevance score per text, shape ``(len(texts),)``, in the order of `texts`."""
        if not texts:
            return np.empty(0, dtype=np.float64)
        line = Attempt(stage=stage, method=method, model=reranker.name, outcome="ok")

        def send(some: Sequence[str]) -> NDArray[np.float64]:
            def call() -> tuple[NDArray[np.float64], int, int]:
                return reranker.score(question, some), 0, 0

            def keep(scores: NDArray[np.float64], done: Attempt) -> NDArray[np.float64]:
                self.store.log(done)
                return scores

            with self._sender.reserve(reranker, 0, 0):
                return self._sender.send(
                    reranker, call, line, key=digest("score", question), n_calls=0, keep=keep
                )

        cache = current_cache()
        if cache is None:
            return send(texts)
        scores, n_known = cache.score(reranker.name, question, texts, send)
        if n_known:
            self.store.log_cached(stage, method, reranker.name, n_known)
        return scores

    # --- concurrency --------------------------------------------------------------------------------

    def map(
        self, function: Callable[[S], T], items: Iterable[S], *, on_done: Callable[[int], None] | None = None
    ) -> list[T]:
        """Apply a function to each item in a bounded number of threads; may be nested.

        After the first error, or Ctrl-C, no new item is started. Items in flight are completed, so that their replies
        are kept, and then the error is raised (of several, that of the first item).

        Args:
            function: called in threads that share the context of the caller.
            items: consumed before the first call.
            on_done: receives the number of finished items, in the thread of the caller.

        Returns:
            The results in the order of `items`.

        Raises:
            RequestsWaiting: with a batch, after all items, if any of them waits for a reply.
        """
        with self.batch_round():
            return self._pool.map(function, items, on_done=on_done)

    @contextmanager
    def background(self, function: Callable[[S], T]) -> Iterator[Background[S, T]]:
        """Apply a function to items in a bounded number of threads, while the ``with`` block prepares the next items.

        Unlike `map`, items are added one by one, and results are received in the order in which they finish. At the
        end of the block, or when it raises, no new item is started and items in flight are completed.

        Args:
            function: called in threads that share the context of the caller.
        """
        with self.batch_round(), self._pool.background(function) as running:
            yield running

    @contextmanager
    def batch_round(self) -> Iterator[None]:
        """Write the requests made inside a ``with`` block as one batch, if calls are made by batch.

        Nested blocks belong to the outer one, also in threads of `map`. Replies to earlier requests are imported first.

        Raises:
            RequestsWaiting: after the block, if a reply is missing; the message names the files of the requests.
            BudgetReached: after the block, if a cap kept requests from being written.
        """
        if self.batch is None or self._current_round() is not None or current_replay() is not None:
            yield
            return
        with self.batch.round() as current:
            token = _ROUND.set((self.batch, current))
            try:
                yield
            finally:
                _ROUND.reset(token)

    def _current_round(self) -> "tuple[Batch, Round] | None":
        """Return the batch round of the enclosing block, if it belongs to this object."""
        running = _ROUND.get()
        return running if running is not None and running[0] is self.batch else None

    def waiting(self) -> "list[FileState]":
        """Return the batch files that contain requests without replies, by path."""
        from polygraph.models.batch.store import BatchStore

        return BatchStore(self.store).files()

    def abandon_batch_file(self, file: str) -> int:
        """Stop waiting for the replies to a batch file; its requests are written again when they are made again.

        Returns:
            The number of these requests.
        """
        from polygraph.models.batch.store import BatchStore

        return BatchStore(self.store).abandon(file)

    def question_cache(self) -> AbstractContextManager[None]:
        """Share work between methods that answer the same question inside a ``with`` block.

        Replies of language models and vectors of slow embedders are always cached; the block also caches scores of a
        reranker and question vectors of a fast embedder. Cached results count as such in the ledger.
        """
        return question_cache()

    # --- usage --------------------------------------------------------------------------------------

    def meter(self) -> AbstractContextManager[Meter]:
        """Measure the calls made inside a ``with`` block, also in threads of `map`; may be nested.

        The `usage` of the meter counts calls and tokens of language models; its `cost` includes embedders, and its
        `seconds` are wall-clock time.
        """
        return self._sender.meter()

    def pacer(self, model: ChatModel | Embedder | Reranker) -> Pacer:
        """Return the pacer of a model's endpoint: its concurrency and rate limits as known so far."""
        return self._sender.pacer(model)

    @property
    def spent(self) -> Usage:
        """Usage of this object so far; `seconds` is the sum over concurrent calls."""
        return self._sender.spent

    @contextmanager
    def attributed_to(self, method: str) -> Iterator[None]:
        """Record the calls inside a ``with`` block under this method, or under the name that they pass if it is empty.

        This separates variants of one method in the ledger. It also applies in threads of `map`.
        """
        token = _METHOD.set(method)
        try:
            yield
        finally:
            _METHOD.reset(token)

    def log_question(self, method: str, usage: Usage) -> None:
        """Record a question that a method answered with a model, for the averages of `questions`."""
        tokens = usage.prompt_tokens + usage.completion_tokens + usage.cached_tokens
        self.store.log_question(method, usage.calls + usage.cached_calls, tokens)

    def questions(self) -> dict[str, QuestionUsage]:
        """Return question counts and usage by method; variants of a method are separate."""
        return self.store.questions()

    def ledger(self) -> list[LedgerRow]:
        """Return all usage recorded in the file, by stage, method and model, in that order."""
        return self.store.ledger()

    # --- quarantine ---------------------------------------------------------------------------------

    def _accept(self, key: str, value: T) -> T:
        """Remove a request from quarantine because its reply can be parsed after all."""
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
        """Return the requests whose replies could not be used, with the last reply as received."""
        return self.store.quarantined()

    def release(self, entries: Iterable[Quarantined]) -> None:
        """Delete the replies of requests in quarantine, so that they are sent again."""
        self.forget(key for entry in entries for key in (entry.key, entry.repair_key))

    def forget(self, keys: Iterable[str]) -> None:
        """Delete the replies to some requests, in quarantine or not, so that they are sent again."""
        some = list(keys)
        self.store.forget(some)
        self.store.release(some)
        with self._lock:
            self._quarantined.difference_update(some)

    def replay(self) -> AbstractContextManager[Replay]:
        """Run stages from stored replies only, inside a ``with`` block.

        A request without a stored reply raises `UnusableReply`. Local models still embed; with an endpoint, texts
        without a stored vector get zeros, which are similar to nothing and are not stored. The object of the block
        records the keys of all look-ups.
        """
        return replay()

    def keep_only(self, replies: set[str], vectors: set[bytes]) -> bool:
        """Delete all stored replies and vectors except some, and all text quoted in the ledger.

        Returns:
            False if another process still reads the previous state, so that the write-ahead log cannot be emptied.
        """
        done = self.store.keep_only(replies, vectors)
        with self._lock:
            self._quarantined.intersection_update(replies)
        return done

    # --- closing -------------------------------------------------------------------------------------

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
