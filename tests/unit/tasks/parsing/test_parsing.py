"""JSON, numbers and verdicts in replies."""

import pytest

from polygraph.tasks.parsing.json_repair import json_values, repair_json
from polygraph.tasks.parsing.short_replies import integer, yes_no


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Of course [1]:\n```json\n{"a": [1, 2,],}\n```\nBye', {"a": [1, 2]}),
        ("{'a': 'it is', b: True, c: None}", {"a": "it is", "b": True, "c": None}),
        ('{"a": "he said "hi" there", "b": 3}', {"a": 'he said "hi" there', "b": 3}),
        ('{"a": "x"\n "b": "y"}', {"a": "x", "b": "y"}),
        ('{"a": "one\ntwo"}', {"a": "one\ntwo"}),
        ('{"a": {"b": [1, 2', {"a": {"b": [1]}}),
        ('{"t": "x", "f": [{"s": "a"}, {"s": "b', {"t": "x", "f": [{"s": "a"}]}),
        ("{“a”: “b”}", {"a": "b"}),
        ('{"a": NaN}', {"a": None}),
        ("42", 42),
        ("no json here", None),
        ("", None),
    ],
)
def test_broken_json_is_repaired(text, value):
    assert repair_json(text) == value


def test_several_values_are_parsed_in_order():
    assert json_values('{"a": 1}\n{"a": 2,}\n{"a"') == [{"a": 1}, {"a": 2}]


def test_numbers_and_verdicts_are_parsed():
    assert integer("I give it 7/10.", 0, 10) == 7
    assert integer("between 3 and 5", 0, 10) is None
    assert integer("**100**", 0, 10) is None
    assert yes_no("Answer: YES.") is True
    assert yes_no("Nothing is missing, so:\nNO") is False
    assert yes_no("perhaps") is None
