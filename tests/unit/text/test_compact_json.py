"""JSON of short values, byte by byte: rows, hashes and exports depend on it."""

import json

import pytest

from polygraph.text.compact_json import compact_json

VALUES = [
    ([], "[]"),
    ({}, "{}"),
    ("", '""'),
    ([["a:0", 1, 2]], '[["a:0",1,2]]'),
    ({"é": ['a"b\n', None, True, 0.1, 1e300]}, r'{"é":["a\"b\n",null,true,0.1,1e+300]}'),
    (("x", ("y",)), '["x",["y"]]'),
    ([float("inf")], "[Infinity]"),
    (7, "7"),
    ([1e-05, 1.5e-07, -2e-05, 0.0001, 1e16, -0.0], "[1e-05,1.5e-07,-2e-05,0.0001,1e+16,-0.0]"),
    (["state-of-the-art", "0.00001"], '["state-of-the-art","0.00001"]'),
    ("a\ud800b", '"a\ud800b"'),
]


@pytest.mark.parametrize(("value", "expected"), VALUES)
def test_a_value_is_written_without_spaces_and_with_letters_as_they_are(value, expected):
    assert compact_json(value) == expected
    assert compact_json(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert compact_json(json.loads(expected)) == expected


def test_what_json_does_not_know_is_an_error():
    with pytest.raises(TypeError, match="not JSON serializable"):
        compact_json({"when": object()})
