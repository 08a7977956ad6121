"""What a site allows and how often: robots.txt (RFC 9309), and a pause between two requests to one site."""

import time
from collections.abc import Callable
from typing import Any

from polygraph.errors import MissingExtra
from polygraph.fetching.addresses import site_of
from polygraph.fetching.client import AGENT, FetchFailed, PrivateAddress, Reply

MAX_PAUSE_S = 60.0
"""Longest pause that a site can ask for; one that asks for more is not fetched from."""
MAX_ROBOTS_BYTES = 512_000
"""Longest robots.txt that is read, as RFC 9309 recommends."""


class Politeness:
    """Asks for the robots.txt of each site once, and waits before each request.

    Args:
        get: gets an address within so many bytes, without asking this object.
        pause_s: between two requests to one site, if it does not ask for more.
        sleep: how to wait.
        clock: in seconds.

    Raises:
        MissingExtra: without the extra `web`.
    """

    def __init__(
        self,
        get: Callable[[str, int], Reply],
        pause_s: float,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        try:
            from protego import Protego
        except ModuleNotFoundError as error:
            raise MissingExtra("polygraph fetch", "web") from error
        self._parse: Callable[[str], Any] = Protego.parse
        self._get, self._pause_s, self._sleep, self._clock = get, pause_s, sleep, clock
        self._rules: dict[str, Any] = {}
        """By site; a text says why nothing is fetched from it."""
        self._next: dict[str, float] = {}

    def __call__(self, url: str) -> None:
        """Wait until an address may be requested.

        Raises:
            FetchFailed: if its site forbids it, or does not say.
        """
        site = site_of(url)
        if site not in self._rules:
            self._wait(site, self._pause_s)
            self._rules[site] = self._read(site)
        rules = self._rules[site]
        if isinstance(rules, str):
            raise FetchFailed(rules)
        if not rules.can_fetch(url, AGENT):
            raise FetchFailed("is forbidden by the site's robots.txt")
        self._wait(site, max(self._pause_s, float(rules.crawl_delay(AGENT) or 0.0)))

    def put_off(self, url: str, seconds: float) -> None:
        """Wait for so long before the next request to the site of an address."""
        self._next[site_of(url)] = self._clock() + min(seconds, MAX_PAUSE_S)

    def _wait(self, site: str, pause_s: float) -> None:
        left = self._next.get(site, 0.0) - self._clock()
        if left > 0:
            self._sleep(left)
        self._next[site] = self._clock() + pause_s

    def _read(self, site: str) -> Any:
        """Return the rules of a site, or why nothing may be fetched from it."""
        try:
            reply = self._get(f"{site}/robots.txt", MAX_ROBOTS_BYTES)
        except PrivateAddress:
            raise
        except FetchFailed as problem:
            return f"{problem} (asked for the site's robots.txt)"
        if reply.status >= 500 or reply.status == 429:
            return f"the site's robots.txt cannot be read (status {reply.status}). Try again later"
        text = reply.body.decode("utf-8", "replace") if reply.status == 200 else ""
        rules = self._parse(text)
        if (rules.crawl_delay(AGENT) or 0) > MAX_PAUSE_S:
            return f"the site asks for more than {MAX_PAUSE_S:g} s between two requests"
        return rules
