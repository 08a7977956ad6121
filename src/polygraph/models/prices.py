"""Prices of models in US dollars per million tokens."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Price:
    """Price of a model."""

    input: float
    """US dollars per million tokens read."""
    output: float = 0.0
    """US dollars per million tokens written."""

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the cost in US dollars.

        >>> Price(0.15, 0.60).cost(2_000_000, 1_000_000)
        0.9
        """
        return (prompt_tokens * self.input + completion_tokens * self.output) / 1e6


FREE = Price(0.0, 0.0)
"""Price of a model that runs on this machine."""

PRICES: Mapping[str, Price] = MappingProxyType(
    {
        "gpt-4.1": Price(2.00, 8.00),
        "gpt-4.1-mini": Price(0.40, 1.60),
        "gpt-4o": Price(2.50, 10.00),
        "gpt-4o-mini": Price(0.15, 0.60),
        "text-embedding-3-large": Price(0.13),
        "text-embedding-3-small": Price(0.02),
    }
)
"""As on the provider's public page in June 2025; `polygraph.toml` overrides them."""

_SNAPSHOT = re.compile(r"-\d{4}-\d{2}-\d{2}$")


def price_of(name: str, prices: Mapping[str, Price]) -> Price | None:
    """Return the price of a model, or None; a dated snapshot has the price of its model.

    The prefix ``endpoint:`` of an embedder is ignored.

    >>> price_of("gpt-4o-mini-2024-07-18", PRICES)
    Price(input=0.15, output=0.6)
    >>> price_of("llama3", PRICES) is None
    True
    """
    plain = name.removeprefix("endpoint:").partition("@")[0]
    for known in (name, plain, _SNAPSHOT.sub("", plain)):
        if known in prices:
            return prices[known]
    return None
