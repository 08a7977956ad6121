"""Limits of requests and tokens a minute, as endpoints keep them, for `ScriptedServer`."""

import threading
import time
from typing import Literal, TypeAlias

from polygraph.models.rate_limit import Counted

Period: TypeAlias = Literal["bucket", "window"]


class Quota:
    """What a server lets through.

    Args:
        requests: calls a minute, or None for no limit.
        tokens: tokens a minute, read and written, or None.
        minute_s: how long a minute takes, so that tests need not wait.
        period: `bucket`: what was used comes back steadily; `window`: all of it comes back at once, a minute after
            the first call.
        tells: True to send the ``x-ratelimit-*`` headers, False to leave the client with Retry-After.
    """

    def __init__(
        self,
        *,
        requests: float | None = None,
        tokens: float | None = None,
        minute_s: float = 60.0,
        period: Period = "bucket",
        tells: bool = True,
    ) -> None:
        limits: dict[Counted, float | None] = {"requests": requests, "tokens": tokens}
        self.limits: dict[Counted, float] = {kind: limit for kind, limit in limits.items() if limit}
        self.minute_s = minute_s
        self.period = period
        self.tells = tells
        self._lock = threading.Lock()
        self._left = dict(self.limits)
        self._at = self._began = time.monotonic()

    def take(self, tokens: int) -> tuple[float, dict[str, str]]:
        """Let a call in, or not.

        Args:
            tokens: of the request; one that is larger than the limit is let in when nothing else was used.

        Returns:
            Seconds to wait, 0 if it was let in, and the headers to send.
        """
        with self._lock:
            now = time.monotonic()
            self._refill(now)
            needs: dict[Counted, float] = {"requests": 1.0, "tokens": float(tokens)}
            lacks = {kind: min(needs[kind], limit) - self._left[kind] for kind, limit in self.limits.items()}
            wait = max(
                (self._until(kind, lack, now) for kind, lack in lacks.items() if lack > 1e-9), default=0.0
            )
            if not wait:
                for kind in self.limits:
                    self._left[kind] -= needs[kind]
            return wait, self._headers(now) if self.tells else {}

    def charge(self, tokens: int) -> None:
        """Take off what a reply came to."""
        with self._lock:
            if "tokens" in self._left:
                self._left["tokens"] -= tokens

    def _refill(self, now: float) -> None:
        if self.period == "window":
            if now >= self._began + self.minute_s:
                self._began, self._left = now, dict(self.limits)
            return
        for kind, limit in self.limits.items():
            back = (now - self._at) * limit / self.minute_s
            self._left[kind] = min(limit, self._left[kind] + back)
        self._at = now

    def _until(self, kind: Counted, lack: float, now: float) -> float:
        if self.period == "window":
            return self._began + self.minute_s - now
        return lack * self.minute_s / self.limits[kind]

    def _headers(self, now: float) -> dict[str, str]:
        found: dict[str, str] = {}
        for kind, limit in self.limits.items():
            left = max(0.0, self._left[kind])
            reset = self._until(kind, limit - left, now)
            found[f"x-ratelimit-limit-{kind}"] = f"{limit:.0f}"
            found[f"x-ratelimit-remaining-{kind}"] = f"{int(left)}"
            found[f"x-ratelimit-reset-{kind}"] = f"{1000 * reset:.0f}ms"
        return found
