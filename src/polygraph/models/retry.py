"""The way of one call to a model: paced, retried, capped, and every attempt counted."""

import contextvars
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from polygraph.errors import BadInput, ModelUnavailable, PolygraphError, UnusableReply
from polygraph.models.budget import Budget
from polygraph.models.cache import Attempt, CallStore
from polygraph.models.pacing import Pace
from polygraph.models.prices import FREE, Price, price_of
from polygraph.models.transport import TransportError, TransportKind, listening
from polygraph.records import Usage, digest

S = TypeVar("S")

LONGEST_BACKOFF_S = 60.0
LONGEST_RETRY_AFTER_S = 900.0
"""A server that asks to wait longer is treated as one that does not answer."""
PATIENCE = 5
"""Rate limits that a call bears for each retry that it has for failures: they say when, not whether."""
EMPTY_REPLIES = 3
"""Replies without text after which a request is given up: each of them is billed."""

_METERS: contextvars.ContextVar[tuple["Meter", ...]] = contextvars.ContextVar("meters", default=())


def is_local(model: object) -> bool:
    """Tell whether a model runs on this machine: those have an attribute `local` that is true."""
    return bool(getattr(model, "local", False))


class Meter:
    """What was called while it ran; `usage.seconds` is time on the clock."""

    def __init__(self, owner: object) -> None:
        self.owner = owner
        self._lock = threading.Lock()
        self._started = time.perf_counter()
        self._seconds: float | None = None
        self._sum = Usage()

    @property
    def usage(self) -> Usage:
        """The sum so far, or of the whole block once it is over."""
        seconds = self._seconds
        if seconds is None:
            seconds = time.perf_counter() - self._started
        with self._lock:
            return replace(self._sum, seconds=seconds)

    def add(self, usage: Usage) -> None:
        """Add what a call took."""
        with self._lock:
            self._sum = self._sum + usage

    def stop(self) -> None:
        """Stop the clock."""
        self._seconds = time.perf_counter() - self._started


class Sender:
    """Makes calls and keeps their accounts.

    Args:
        store: where the ledger is.
        budget: the caps.
        prices: by name of model.
        concurrency: calls in flight at once at one endpoint.
        retries: attempts after the first that a call gets.
        sleep: how to wait.
        seed: of the jitter.
    """

    def __init__(
        self,
        *,
        store: CallStore,
        budget: Budget,
        prices: Mapping[str, Price],
        concurrency: int,
        retries: int,
        sleep: Callable[[float], None],
        seed: int,
    ) -> None:
        self._store = store
        self._budget = budget
        self._prices = prices
        self._concurrency = concurrency
        self._retries = retries
        self._sleep = sleep
        self._seed = seed
        # Each thread must have failed a few times: one burst of refused connections is not an outage.
        self._breaker = max(8, 3 * concurrency)
        self._lock = threading.Lock()
        self._paces: dict[str, Pace] = {}
        self._total = Meter(self)
        self._seconds = 0.0

    def send(
        self,
        model: Any,
        call: Callable[[], tuple[S, int, int]],
        line: Attempt,
        *,
        key: str,
        n_calls: int,
        size: Callable[[], int] | None = None,
    ) -> tuple[S, Attempt]:
        """Try until there is a reply.

        Args:
            model: whose name, address and price count.
            call: makes one attempt; returns what came, tokens read and tokens written.
            line: the line of the ledger, to be filled in.
            key: what the jitter depends on, besides the seed.
            n_calls: 1 for language models, 0 for others, as `Usage` counts.
            size: tells how many tokens the call is expected to take; asked only if the endpoint limits them.

        Returns:
            What came, and its line, which is not in the ledger yet: it is to be written with the reply.

        Raises:
            ModelUnavailable: if no attempt brought a reply, or the endpoint seems to be down.
            UnusableReply: if this one request cannot be answered, while others may.
            BudgetReached: if a cap was met between two attempts.
        """
        pace = self._pace(model)
        before = pace.answers
        served = 0.0
        failures: Counter[TransportKind] = Counter()
        while True:
            if not is_local(model):
                self._budget.check()
            turn = pace.enter(served, model.name, size)
            clock = time.perf_counter()
            try:
                with listening(partial(pace.heard, turn, model=model.name)):
                    value, reads, writes = call()
            except TransportError as error:
                served = pace.leave(turn, error, model=model.name)
                self._fail(model, line, clock, n_calls, error)
                failures[error.kind] += 1
                others = n_calls > 0 and pace.answers > before
                self._give_up_if_hopeless(model, error, failures, pace, others=others)
                self._sleep(self._delay(error, key, failures.total()))
            except BaseException as error:
                pace.leave(turn, error, model=model.name)
                self._fail(model, line, clock, n_calls, error)
                raise
            else:
                pace.leave(turn, None, model=model.name, tokens=reads + writes)
                done = self._filled(model, line, clock, reads, writes)
                self._spend(model, done, n_calls)
                return value, done

    def _give_up_if_hopeless(
        self,
        model: Any,
        error: TransportError,
        failures: "Counter[TransportKind]",
        pace: Pace,
        *,
        others: bool,
    ) -> None:
        """Raise unless another attempt makes sense.

        Args:
            model: whose call it is.
            error: how the last attempt ended.
            failures: attempts of this call that failed, by kind.
            pace: what is known of the endpoint.
            others: True if other calls were answered in the meantime: then a call that always fails says
                something of this request, and not of the endpoint. (Vectors are always needed, all of them.)
        """
        n = failures.total()
        if not error.retryable:
            raise UnusableReply(str(error)) from error
        if failures["empty"] >= EMPTY_REPLIES:
            raise UnusableReply(f"{error}, in {failures['empty']} attempts") from error
        url = getattr(model, "base_url", "")
        where = f"{model.name} at {url}" if url else str(model.name)
        kept = "What is done is kept, and the same command goes on"
        if pace.failures >= self._breaker:
            raise ModelUnavailable(
                f"{where} seems to be down: {pace.failures} attempts in a row came to nothing, the last "
                f"because {error}. Start it again or correct the base URL. {kept}"
            ) from error
        limited = failures["rate_limit"]
        if (error.retry_after_s or 0.0) > LONGEST_RETRY_AFTER_S or limited > self._retries * PATIENCE:
            raise ModelUnavailable(f"{where} limits the rate beyond patience: {error}. {kept}") from error
        if n - limited > self._retries:
            if others:
                raise UnusableReply(
                    f"no answer in {n} attempts, while other calls had one: {error}"
                ) from error
            raise ModelUnavailable(
                f"{where} did not answer in {n} attempts, the last because {error}. {kept}"
            ) from error

    def _delay(self, error: TransportError, key: str, n_failed: int) -> float:
        """Wait at random up to 1, 2, 4... seconds ("full jitter", Brooker 2015), or as long as was asked.

        The chance comes from the key and not from a shared stream, so that threads do not disturb it.
        """
        part = int(digest(str(self._seed), key, str(n_failed))[:8], 16) / 2**32
        backoff = part * min(LONGEST_BACKOFF_S, 2.0 ** (n_failed - 1))
        return backoff if error.retry_after_s is None else error.retry_after_s + min(backoff, 1.0)

    def _fail(self, model: Any, line: Attempt, clock: float, n_calls: int, error: BaseException) -> None:
        """Put a failed attempt into the ledger."""
        reads = writes = 0
        # An attempt that was interrupted may have been billed.
        unreported = not isinstance(error, PolygraphError) and not is_local(model)
        if isinstance(error, TransportError):
            reads, writes, unreported = error.prompt_tokens, error.completion_tokens, error.unreported
        problem = (str(error) or type(error).__name__)[:500]
        failed = replace(line, outcome="failed", problem=problem, unreported=unreported)
        done = self._filled(model, failed, clock, reads, writes)
        self._spend(model, done, n_calls)
        self._store.log(done)

    def _filled(self, model: Any, line: Attempt, clock: float, reads: int, writes: int) -> Attempt:
        cost: float | None = 0.0
        if reads or writes:
            price = self._price(model)
            cost = None if price is None else price.cost(reads, writes)
        seconds = time.perf_counter() - clock
        return replace(line, prompt_tokens=reads, completion_tokens=writes, seconds=seconds, cost=cost)

    def _spend(self, model: Any, done: Attempt, n_calls: int) -> None:
        if not is_local(model):
            self._budget.spend(done.prompt_tokens + done.completion_tokens, done.cost)
        with self._lock:
            self._seconds += done.seconds
        tokens = (done.prompt_tokens, done.completion_tokens) if n_calls else (0, 0)
        self.count(Usage(calls=n_calls, prompt_tokens=tokens[0], completion_tokens=tokens[1], cost=done.cost))

    def _price(self, model: Any) -> Price | None:
        return FREE if is_local(model) else price_of(model.name, self._prices)

    def estimates(self, model: Any) -> bool:
        """True if there is a cap that the model counts against, so that its tokens must be estimated."""
        return self._budget.capped and not is_local(model)

    def reserve(self, model: Any, reads: int, writes: int) -> AbstractContextManager[None]:
        """Hold room under the caps for a call.

        Raises:
            BadInput: if there is a cap on money and the model's price is not known.
            BudgetReached: on entry, if there is no room.
        """
        if not self.estimates(model):
            return nullcontext()
        return self._budget.reserve(reads + writes, self._quote(model, reads, writes) or 0.0)

    def commit(self, model: Any, reads: int, writes: int, *, share: float) -> float | None:
        """Book a call that others will make, in a batch, at what it is expected to take.

        Args:
            model: whose call it is.
            reads: tokens of the request.
            writes: tokens that the reply is expected to have.
            share: of the usual price.

        Returns:
            The expected cost, None if the price is not known.

        Raises:
            BadInput, BudgetReached: as `reserve` does.
        """
        quote = self._quote(model, reads, writes)
        cost = None if quote is None else quote * share
        with self._budget.reserve(reads + writes, cost or 0.0):
            self._budget.spend(reads + writes, cost)
        return cost

    def cost_of(self, name: str, reads: int, writes: int) -> float | None:
        """What a call of an endpoint's model costs, None if the price is not known."""
        price = price_of(name, self._prices)
        return price.cost(reads, writes) if price else None

    def _quote(self, model: Any, reads: int, writes: int) -> float | None:
        price = self._price(model)
        if price is None and self._budget.max_cost is not None:
            raise BadInput(
                f"the price of {model.name!r} is not known, so a cap on money cannot be kept. Add "
                f'prices."{model.name}" to polygraph.toml or POLYGRAPH_PRICES, or use --max-spend-tokens '
                "instead of --max-cost"
            )
        return price.cost(reads, writes) if price else None

    def _pace(self, model: Any) -> Pace:
        name = getattr(model, "base_url", "") or model.name
        with self._lock:
            if name not in self._paces:
                self._paces[name] = Pace(self._concurrency, self._sleep)
            return self._paces[name]

    # --- accounts -------------------------------------------------------------------------------------

    def count(self, usage: Usage) -> None:
        """Add to the total and to the meters that run around the caller."""
        self._total.add(usage)
        for meter in _METERS.get():
            if meter.owner is self:
                meter.add(usage)

    @contextmanager
    def meter(self) -> Iterator[Meter]:
        """Measure what is called inside the block; see `Calls.meter`."""
        meter = Meter(self)
        token = _METERS.set((*_METERS.get(), meter))
        try:
            yield meter
        finally:
            meter.stop()
            # A generator that holds the block may be ended from another context, which has no meter to lose.
            with suppress(ValueError):
                _METERS.reset(token)

    @property
    def spent(self) -> Usage:
        """What was spent so far; `seconds` is the sum over calls that ran side by side."""
        with self._lock:
            return replace(self._total.usage, seconds=self._seconds)
