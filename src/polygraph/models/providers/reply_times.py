"""Whether an endpoint replies so quickly that its replies need not be streamed."""

_PROOF = 3
"""Quick replies in a row before replies are taken whole."""
_SHARE = 1 / 8
"""A reply is quick if it takes at most this part of the timeout."""


class ReplyTimes:
    """How long the last replies of an endpoint took.

    A streamed reply is never cut off while its model keeps writing, but reading its events takes twenty times the
    CPU of reading it whole. A whole reply must come within the timeout. So replies that nobody watches are streamed
    until the endpoint has proven quick, and again after one that was not.

    Args:
        timeout_s: longest time without data.
    """

    def __init__(self, timeout_s: float) -> None:
        self._quick_s = _SHARE * timeout_s
        self._n_quick = 0

    @property
    def are_quick(self) -> bool:
        """Whether the last replies were quick, and enough of them."""
        return self._n_quick >= _PROOF

    def add(self, seconds: float, *, complete: bool) -> None:
        """Count an attempt; one that failed at once, as after too many requests, says nothing."""
        if seconds > self._quick_s:
            self._n_quick = 0
        elif complete:
            self._n_quick += 1
