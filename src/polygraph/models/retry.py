"""Send one call to a model: paced, retried and capped, with every attempt recorded."""

import contextvars
import math
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from polygraph.errors import BadInput, ModelUnavailable, PolygraphError, UnusableReply
from polygraph.models.budget import Budget
from polygraph.models.call_store import Attempt, CallStore
from polygraph.models.pacing import Pacer
from polygraph.models.prices import FREE, Price, price_of
from polygraph.models.transport import TransportError, TransportKind, header_listener
from polygraph.records import Usage, digest
from polygraph.text.prose import count_noun

S = TypeVar("S")
T = TypeVar("T")

MAX_BACKOFF_S = 60.0
MAX_WAIT_S = 900.0
"""Longest total wait of a call between its attempts, unless another is given."""
RATE_LIMITS_PER_RETRY = 5
"""Rate limits that a call tolerates for each of its retries: a rate limit says when to call, not that calling fails."""
RETRIES_BEFORE_CONNECTION = 2
"""Retries at most while no connection can be opened to an endpoint that has answered nothing yet: it is not running, or
its address is wrong. One that has answered may be starting again, which is worth waiting for."""
MAX_EMPTY_REPLIES = 3
"""Empty replies after which a request fails: each of them is billed."""

_QUIET_WAIT_S = 2.0
"""Seconds that a call waits between its attempts before that is said, where the endpoint is there."""
_NOTICE_EVERY_S = 30.0
"""Least time between two notices about one endpoint."""
_ADVICE: Mapping[TransportKind, str] = {
    "connection": "Check that it runs, and its base URL",
    "timeout": "Check that it runs; for a slow model, raise POLYGRAPH_TIMEOUT_S",
    "server": "Its own log says why",
}
"""What to do about an endpoint that does not answer, by the kind of the last failure."""

_METERS: contextvars.ContextVar[tuple["Meter", ...]] = contextvars.ContextVar("meters", default=())


def _place(model: Any) -> str:
    """Return what messages call a model: its name, with the address of its endpoint."""
    url = getattr(model, "base_url", "")
    return f"{model.name} at {url}" if url else str(model.name)


def is_local(model: object) -> bool:
    """Tell whether a model runs on this machine, which its attribute `local` says."""
    return bool(getattr(model, "local", False))


def price_for(model: Any, prices: Mapping[str, Price]) -> Price | None:
    """Return the price of a model: nothing if it runs on this machine, None if it is not known."""
    return FREE if is_local(model) else price_of(model.name, prices)


class ImplausibleUsage(UserWarning):
    """An endpoint reports usage that cannot be true."""


class FailedAttempt(UserWarning):
    """An attempt to call an endpoint has failed, and another follows."""


class Meter:
    """Usage of the calls made while the meter runs; `usage.seconds` is wall-clock time."""

    def __init__(self, owner: object) -> None:
        self.owner = owner
        self._lock = threading.Lock()
        self._started = time.perf_counter()
        self._seconds: float | None = None
        self._sum = Usage()

    @property
    def usage(self) -> Usage:
        """Usage so far, or of the whole block after it has ended."""
        seconds = self._seconds
        if seconds is None:
            seconds = time.perf_counter() - self._started
        with self._lock:
            return replace(self._sum, seconds=seconds)

    def add(self, usage: Usage) -> None:
        """Add the usage of a call."""
        with self._lock:
            self._sum = self._sum + usage

    def stop(self) -> None:
        """Stop the clock."""
        self._seconds = time.perf_counter() - self._started


class Sender:
    """Sends calls with pacing, retries and caps, and records every attempt.

    Args:
        store: holds the ledger.
        budget: the caps.
        prices: by name of model.
        concurrency: calls in flight at once at one endpoint.
        retries: attempts after the first.
        max_wait_s: longest total wait of a call between its attempts.
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
        max_wait_s: float,
        sleep: Callable[[float], None],
        seed: int,
    ) -> None:
        self._store = store
        self._budget = budget
        self._prices = prices
        self._concurrency = concurrency
        self._retries = retries
        self._max_wait_s = max_wait_s
        self._sleep = sleep
        self._seed = seed
        # Every thread must fail a few times: one burst of refused connections is not an outage.
        self._max_failures = max(8, 3 * concurrency)
        self._lock = threading.Lock()
        self._pacers: dict[str, Pacer] = {}
        self._total = Meter(self)
        self._seconds = 0.0
        self._distrusted: set[str] = set()
        self._noticed: dict[str, float] = {}

    def send(
        self,
        model: Any,
        call: Callable[[], tuple[S, int, int]],
        line: Attempt,
        *,
        key: str,
        n_calls: int,
        keep: Callable[[S, Attempt], T],
        size: Callable[[], int] | None = None,
    ) -> T:
        """Call a model until it replies.

        Args:
            model: its name, address and price apply.
            call: makes one attempt; returns the reply, tokens read and tokens written.
            line: the ledger entry, to be completed.
            key: seeds the jitter together with the seed.
            n_calls: 1 for language models, 0 for others, as `Usage` counts.
            keep: commits the reply with its ledger entry. Until then the call counts as one in flight, so that a kill
                loses no more replies than calls may be in flight.
            size: returns the expected tokens of the call; called only if the endpoint limits tokens.

        Returns:
            What `keep` returns.

        Raises:
            ModelUnavailable: if no attempt brought a reply, or the endpoint seems to be down.
            UnusableReply: if this request cannot be answered, while others may.
            BudgetReached: if a cap was reached between two attempts.

        Warns:
            FailedAttempt: before another attempt, at once if nothing came from the endpoint, otherwise if the call
                has to wait for long; at most every 30 s for an endpoint.
        """
        pacer = self.pacer(model)
        answers_before = pacer.answers
        waited_until = waited = 0.0
        failures: Counter[TransportKind] = Counter()
        while True:
            if not is_local(model):
                self._budget.check()
            ticket = pacer.acquire(waited_until, model.name, size)
            clock = time.perf_counter()
            try:
                with header_listener(partial(pacer.on_response, ticket, model=model.name)):
                    value, reads, writes = call()
            except TransportError as error:
                waited_until = pacer.release(ticket, error, model=model.name)
                self._record_failure(model, line, clock, n_calls, error)
                failures[error.kind] += 1
                others_answered = n_calls > 0 and pacer.answers > answers_before
                delay = self._delay(error, key, failures.total())
                waited += delay
                self._raise_if_final(model, error, failures, pacer, waited, others_answered=others_answered)
                if error.endpoint_down or waited >= _QUIET_WAIT_S:
                    self._notice(model, error, delay)
                self._sleep(delay)
            except BaseException as error:
                pacer.release(ticket, error, model=model.name)
                self._record_failure(model, line, clock, n_calls, error)
                raise
            else:
                # A model of the user's own may report anything; nothing lowers what is spent.
                reads, writes = max(0, reads), max(0, writes)
                try:
                    line = self._with_usage_note(model, line, getattr(value, "implausible_usage", ""))
                    done = self._completed(model, line, clock, reads, writes)
                    self._spend(model, done, n_calls)
                    return keep(value, done)
                finally:
                    pacer.release(ticket, None, model=model.name, tokens=reads + writes)

    def _raise_if_final(
        self,
        model: Any,
        error: TransportError,
        failures: "Counter[TransportKind]",
        pacer: Pacer,
        waited: float,
        *,
        others_answered: bool,
    ) -> None:
        """Raise unless another attempt makes sense.

        Args:
            model: whose call failed.
            error: of the last attempt.
            failures: failed attempts of this call, by kind.
            pacer: of the endpoint.
            waited: seconds that this call has waited between attempts, with the wait that would come now.
            others_answered: True if other calls were answered in the meantime. Then a call that always fails is
                at fault itself, not the endpoint. (Embedding calls never count: all vectors are needed.)
        """
        n = failures.total()
        if not error.retryable:
            raise UnusableReply(str(error)) from error
        if failures["empty"] >= MAX_EMPTY_REPLIES:
            raise UnusableReply(f"{error}, in {failures['empty']} attempts") from error
        where = _place(model)
        resume = "Finished work is kept, and the same command continues"
        if pacer.failures >= self._max_failures:
            raise ModelUnavailable(
                f"{where} seems to be down: {pacer.failures} attempts in a row failed, the last with: {error}. "
                f"Start it again or correct the base URL. {resume}"
            ) from error
        limited = failures["rate_limit"]
        if limited > self._retries * RATE_LIMITS_PER_RETRY:
            raise ModelUnavailable(
                f"{where} still limits the rate after {n} attempts: {error}. {resume}"
            ) from error
        never_there = not error.connected and not pacer.answers
        retries = min(self._retries, RETRIES_BEFORE_CONNECTION) if never_there else self._retries
        if n - limited > retries:
            if others_answered:
                raise UnusableReply(
                    f"no answer in {n} attempts, while other calls were answered: {error}"
                ) from error
            advice = f"{_ADVICE[error.kind]}. " if error.kind in _ADVICE else ""
            raise ModelUnavailable(
                f"{where} did not answer in {count_noun(n, 'attempt')}, the last failed with: {error}. "
                f"{advice}{resume}"
            ) from error
        if waited > self._max_wait_s:
            raise ModelUnavailable(
                f"{where} would have to be waited for longer than {self._max_wait_s:g} s (max_wait_s) after {n} "
                f"attempts, the last failed with: {error}. {resume}"
            ) from error

    def _notice(self, model: Any, error: TransportError, delay_s: float) -> None:
        """Warn that an attempt failed and why, unless it was said of this endpoint a moment ago."""
        where, now = _place(model), time.monotonic()
        with self._lock:
            if now - self._noticed.get(where, -math.inf) < _NOTICE_EVERY_S:
                return
            self._noticed[where] = now
        again = f"Trying again in {delay_s:.0f} s" if delay_s >= 1 else "Trying again"
        fix = "" if error.connected else f". {_ADVICE['connection']}"
        # Without a registry, a later failure for the same reason is shown as well.
        warnings.warn_explicit(f"{where}: {error}. {again}{fix}", FailedAttempt, __file__, 0, module=__name__)

    def _with_usage_note(self, model: Any, line: Attempt, implausible: str) -> Attempt:
        """Note in the ledger, and once for each model in a warning, that reported usage was not believed."""
        if not implausible:
            return line
        with self._lock:
            first = model.name not in self._distrusted
            self._distrusted.add(model.name)
        if first:
            warnings.warn(
                f"{model.name} reports impossible usage ({implausible}); its tokens are counted here instead",
                ImplausibleUsage,
                stacklevel=2,
            )
        return replace(line, problem=f"impossible usage was reported: {implausible}", unreported=True)

    def _delay(self, error: TransportError, key: str, n_failed: int) -> float:
        """Return a random wait of up to 1, 2, 4... seconds ("full jitter", Brooker 2015), or the requested one.

        The random number is derived from the key and not drawn from a shared stream, so that threads do not affect it.
        """
        part = int(digest(str(self._seed), key, str(n_failed))[:8], 16) / 2**32
        backoff = part * min(MAX_BACKOFF_S, 2.0 ** (n_failed - 1))
        return backoff if error.retry_after_s is None else error.retry_after_s + min(backoff, 1.0)

    def _record_failure(
        self, model: Any, line: Attempt, clock: float, n_calls: int, error: BaseException
    ) -> None:
        """Write a failed attempt to the ledger."""
        reads = writes = 0
        # An attempt that was interrupted may have been billed.
        unreported = not isinstance(error, PolygraphError) and not is_local(model)
        if isinstance(error, TransportError):
            reads, writes, unreported = error.prompt_tokens, error.completion_tokens, error.unreported
        problem = (str(error) or type(error).__name__)[:500]
        failed = replace(line, outcome="failed", problem=problem, unreported=unreported)
        done = self._completed(model, failed, clock, reads, writes)
        self._spend(model, done, n_calls)
        self._store.log(done)

    def _completed(self, model: Any, line: Attempt, clock: float, reads: int, writes: int) -> Attempt:
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
        return price_for(model, self._prices)

    def estimates(self, model: Any) -> bool:
        """Return True if a cap applies to the model, so that its tokens must be estimated."""
        return self._budget.capped and not is_local(model)

    def reserve(self, model: Any, reads: int, writes: int) -> AbstractContextManager[None]:
        """Reserve budget for a call.

        Raises:
            BadInput: if cost is capped and the model's price is not known.
            BudgetReached: on entry, if the budget does not allow the call.
        """
        if not self.estimates(model):
            return nullcontext()
        return self._budget.reserve(reads + writes, self._quote(model, reads, writes) or 0.0)

    def commit(self, model: Any, reads: int, writes: int, *, share: float) -> float | None:
        """Book the expected usage of a call that a batch service will make.

        Args:
            model: to be called.
            reads: tokens of the request.
            writes: expected tokens of the reply.
            share: of the regular price.

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
        """Return the cost of a call to a model at an endpoint; None if the price is not known."""
        price = price_of(name, self._prices)
        return price.cost(reads, writes) if price else None

    def _quote(self, model: Any, reads: int, writes: int) -> float | None:
        price = self._price(model)
        if price is None and self._budget.max_cost is not None:
            raise BadInput(
                f"the price of {model.name!r} is not known, so its cost cannot be capped. Add "
                f'prices."{model.name}" to polygraph.toml or POLYGRAPH_PRICES, or use --max-spend-tokens '
                "instead of --max-cost"
            )
        return price.cost(reads, writes) if price else None

    def pacer(self, model: Any) -> Pacer:
        """Return the pacer of a model's endpoint."""
        name = getattr(model, "base_url", "") or model.name
        with self._lock:
            if name not in self._pacers:
                self._pacers[name] = Pacer(self._concurrency, self._sleep, max_pause_s=self._max_wait_s)
            return self._pacers[name]

    # --- usage ----------------------------------------------------------------------------------------

    def count(self, usage: Usage) -> None:
        """Add usage to the total and to the meters that are running in this context."""
        self._total.add(usage)
        for meter in _METERS.get():
            if meter.owner is self:
                meter.add(usage)

    @contextmanager
    def meter(self) -> Iterator[Meter]:
        """Measure the calls inside the ``with`` block; see `Calls.meter`."""
        meter = Meter(self)
        token = _METERS.set((*_METERS.get(), meter))
        try:
            yield meter
        finally:
            meter.stop()
            # A generator may be closed from another context, in which the meter was never set.
            with suppress(ValueError):
                _METERS.reset(token)

    @property
    def spent(self) -> Usage:
        """Usage so far; `seconds` is the sum over concurrent calls."""
        with self._lock:
            return replace(self._total.usage, seconds=self._seconds)
