"""A hard cap on tokens and cost that holds for concurrent threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition

from polygraph.errors import BudgetReached
from polygraph.text.prose import count_noun


class Budget:
    """Lets a call start only if usage so far, calls in flight and the call itself fit under the caps.

    A call in flight counts with its estimate. A call that does not fit beside the calls in flight waits for one of them
    to end, since most cost less than estimated. It is refused when none is left, so that the error states what all of
    them have spent.
    """

    def __init__(self, *, max_tokens: int | None, max_cost: float | None) -> None:
        self.max_tokens = max_tokens
        self.max_cost = max_cost
        self._changed = Condition()
        self._tokens = 0
        self._cost = 0.0
        self._calls = 0
        self._reserved_tokens = 0
        self._reserved_cost = 0.0

    @property
    def capped(self) -> bool:
        """True if there is any cap, so that estimates are needed."""
        return self.max_tokens is not None or self.max_cost is not None

    @contextmanager
    def reserve(self, tokens: int, cost: float) -> Iterator[None]:
        """Reserve budget for a call while the block runs.

        Raises:
            BudgetReached: if the caps do not allow it.
        """
        with self._changed:
            while not self._room(tokens + self._reserved_tokens, cost + self._reserved_cost):
                if not self._reserved_tokens:
                    self._raise_unless_room(tokens, cost)
                self._changed.wait(1.0)
            self._reserved_tokens += tokens
            self._reserved_cost += cost
        try:
            yield
        finally:
            with self._changed:
                self._reserved_tokens -= tokens
                # Resetting the sum when nothing is reserved keeps rounding errors from accumulating.
                self._reserved_cost = max(0.0, self._reserved_cost - cost) if self._reserved_tokens else 0.0
                self._changed.notify_all()

    def check(self) -> None:
        """Raise if a cap has been reached.

        Raises:
            BudgetReached: if so.
        """
        with self._changed:
            self._raise_unless_room(0, 0.0)

    def spend(self, tokens: int, cost: float | None) -> None:
        """Book the real usage of an attempt."""
        with self._changed:
            self._calls += 1
            self._tokens += tokens
            self._cost += cost or 0.0
            self._changed.notify_all()

    def _room(self, tokens: int, cost: float) -> bool:
        fits_tokens = self.max_tokens is None or self._tokens + tokens <= self.max_tokens
        return fits_tokens and (self.max_cost is None or self._cost + cost <= self.max_cost)

    def _raise_unless_room(self, tokens: int, cost: float) -> None:
        if self._room(tokens, cost):
            return
        if self.max_tokens is not None and self._tokens + tokens > self.max_tokens:
            cap, flag = f"{self.max_tokens:,} tokens", "--max-spend-tokens"
            spent = f"{self._tokens:,} tokens"
        else:
            cap, flag = f"${self.max_cost:.4f}", "--max-cost"
            spent = f"${self._cost:.4f} ({self._tokens:,} tokens)"
        raise BudgetReached(
            f"stopped at the cap of {cap}: {spent} spent in {count_noun(self._calls, 'call')}, and the next call would "
            f"exceed it. Every reply is kept: the same command with a higher {flag} continues from here"
        )
