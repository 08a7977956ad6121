"""JSON of short values, beside that of the standard library."""

import json

import pytest

from polygraph.text import compact_json as module
from polygraph.text.compact_json import compact_json

VALUES = [
    [],
    {},
    "",
    [["a:0", 1, 2]],
    {"é": ['a"b\n', None, True, 0.1, 1e300]},
    ("x", ("y",)),
    [float("inf")],
    7,
]


@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_written_as_by_the_standard_library(value, monkeypatch):
    expected = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert compact_json(value) == expected
    monkeypatch.setattr(module, "_pieces", None)
    assert compact_json(value) == expected


def test_what_json_does_not_know_is_an_error():
    with pytest.raises(TypeError, match="not JSON serializable"):
        compact_json({"when": object()})
