"""JSON of many short values, as rows hold it: without spaces, and with letters as they are."""

import json

from pydantic_core import PydanticSerializationError, to_json

# `json.dumps` with these arguments would make an encoder for every value.
_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_WRITES_LARGE_NUMBERS = to_json(1e300) == b"1e+300"
"""Whether Pydantic writes large numbers as `json` does; before version 2.13 it did not."""


def compact_json(value: object) -> str:
    """Return a value as JSON.

    >>> compact_json([["a:0", 1, 2.5], "é"])
    '[["a:0",1,2.5],"é"]'

    Raises:
        TypeError: if it has a part that JSON does not know.
    """
    if not _WRITES_LARGE_NUMBERS:
        return _encoder.encode(value)
    try:
        # A quarter of the time of `json`.
        data = to_json(value)
    except PydanticSerializationError:  # half of a surrogate pair, or what JSON does not know
        return _encoder.encode(value)
    # It writes numbers below a ten-thousandth in another way.
    if b"e-" in data or b"0.0000" in data:
        return _encoder.encode(value)
    return data.decode()
