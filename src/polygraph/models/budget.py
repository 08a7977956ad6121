"""A hard cap on tokens and money that holds when many threads spend at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition

from polygraph.errors import BudgetReached


class Budget:
    """Lets a call start only if what is spent, what is in flight and the call itself fit under the caps.

    A call in flight is counted at its estimate. If the caps have room for a call but not beside those in
    flight, it waits for one of them to end, since most cost less than was feared.
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
        """True if there is any cap, so that estimates are worth making."""
        return self.max_tokens is not None or self.max_cost is not None

    @contextmanager
    def reserve(self, tokens: int, cost: float) -> Iterator[None]:
        """Hold room for a call while the block runs.

        Raises:
            BudgetReached: if the caps have no room for it.
        """
        with self._changed:
            while True:
                self._refuse_unless_room(tokens, cost)
                if self._room(tokens + self._reserved_tokens, cost + self._reserved_cost):
                    break
                self._changed.wait(1.0)
            self._reserved_tokens += tokens
            self._reserved_cost += cost
        try:
            yield
        finally:
            with self._changed:
                self._reserved_tokens -= tokens
                # Clearing the sum when nothing is held keeps rounding errors from adding up.
                self._reserved_cost = max(0.0, self._reserved_cost - cost) if self._reserved_tokens else 0.0
                self._changed.notify_all()

    def check(self) -> None:
        """Refuse another attempt once a cap has been met.

        Raises:
            BudgetReached: if so.
        """
        with self._changed:
            self._refuse_unless_room(0, 0.0)

    def spend(self, tokens: int, cost: float | None) -> None:
        """Book what an attempt really took."""
        with self._changed:
            self._calls += 1
            self._tokens += tokens
            self._cost += cost or 0.0
            self._changed.notify_all()

    def _room(self, tokens: int, cost: float) -> bool:
        fits_tokens = self.max_tokens is None or self._tokens + tokens <= self.max_tokens
        return fits_tokens and (self.max_cost is None or self._cost + cost <= self.max_cost)

    def _refuse_unless_room(self, tokens: int, cost: float) -> None:
        if self._room(tokens, cost):
            return
        if self.max_tokens is not None and self._tokens + tokens > self.max_tokens:
            cap, flag = f"{self.max_tokens:,} tokens", "--max-spend-tokens"
            spent = f"{self._tokens:,} tokens"
        else:
            cap, flag = f"${self.max_cost:.4f}", "--max-cost"
            spent = f"${self._cost:.4f} ({self._tokens:,} tokens)"
        raise BudgetReached(
            f"stopped at the cap of {cap}: {spent} spent in {self._calls:,} calls, and the next one would "
            f"pass it. Every reply is kept: the same command with a higher {flag} goes on where this stopped"
        )
