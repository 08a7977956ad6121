"""The JSON schema of a reply that is an object."""

from collections.abc import Mapping
from typing import Any


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object that has all of some properties and no others.

    Args:
        properties: the schema of each by name.

    >>> object_schema({"rating": {"type": "integer"}})["required"]
    ['rating']
    """
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": dict(properties),
    }
