"""What a check raises, and how many keys it asks for."""

from typing import Any

MANY = 1_300
"""Keys: more than a database takes in one statement."""


def expect(found: Any, wanted: Any, promise: str) -> None:
    """Raise an `AssertionError` that names the promise if what was found is not what was wanted."""
    if found != wanted:
        raise AssertionError(f"{promise}: found {found!r}, expected {wanted!r}")
