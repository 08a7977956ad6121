"""JSON of many short values, as rows hold it: without spaces, and with letters as they are."""

import json
from json import encoder

_standard = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_make = getattr(encoder, "c_make_encoder", None)
# `JSONEncoder.encode` makes such an encoder for every value, which takes twice as long as most values do. It is part of
# CPython and not documented, so without it the standard one serves. The arguments: no check for circles, how other
# types and strings are written, no indentation, the separators, keys neither sorted nor skipped, and NaN allowed.
_pieces = _make and _make(
    None, _standard.default, encoder.encode_basestring, None, ":", ",", False, False, True
)


def compact_json(value: object) -> str:
    """Return a value as JSON.

    >>> compact_json([["a:0", 1, 2.5], "é"])
    '[["a:0",1,2.5],"é"]'
    """
    return "".join(_pieces(value, 0)) if _pieces else _standard.encode(value)
