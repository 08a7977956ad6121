"""Arithmetic that a model wrote: right, bounded, and never executed."""

import contextlib
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.retrieve.methods.rograg.arithmetic import ExpressionError, evaluate, names_in

numbers = st.integers(0, 10_000).map(lambda n: (str(n), float(n))) | st.integers(0, 9_999).map(
    lambda n: (f"{n // 100}.{n % 100:02d}", float(f"{n // 100}.{n % 100:02d}"))
)


def joined(pair):
    operator, (left, a), (right, b) = pair
    value = {"+": a + b, "-": a - b, "*": a * b}[operator]
    return f"({left} {operator} {right})", value


trees = st.recursive(
    numbers,
    lambda inner: (
        st.tuples(st.sampled_from("+-*"), inner, inner).map(joined)
        | inner.map(lambda pair: (f"-({pair[0]})", -pair[1]))
        | st.tuples(inner, inner).map(lambda p: (f"max({p[0][0]}, {p[1][0]})", max(p[0][1], p[1][1])))
    ),
    max_leaves=12,
)


@given(trees)
def test_a_tree_of_operations_has_the_value_that_it_was_built_with(tree):
    text, value = tree
    if abs(value) < 1e300:
        assert evaluate(text) == pytest.approx(value, rel=1e-12, abs=1e-12)


@given(st.text(max_size=80))
def test_any_text_has_a_finite_value_or_raises(text):
    try:
        value = evaluate(text, {"a": 2.0})
    except ExpressionError:
        return
    assert math.isfinite(value)


@given(st.text(alphabet="0123456789+-*/%^(), maxsqrtroundab@.", max_size=120))
def test_text_that_looks_like_arithmetic_never_breaks_the_parser(text):
    with contextlib.suppress(ExpressionError):
        assert math.isfinite(evaluate(text, {"a": 2.0, "b": -0.5}))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7.0),
        ("8 - 3 - 2", 3.0),  # to the left
        ("2 ^ 3 ^ 2", 512.0),  # to the right
        ("-2 ^ 2", -4.0),  # the sign binds less than the power, as on paper
        ("2 ** -1", 0.5),
        ("7 % 4", 3.0),
        ("12 ÷ 4 × 2", 6.0),
        ("avg(1, 2, 6)", 3.0),
        ("round(2.567, 2)", 2.57),
        ("sqrt(16) + abs(-1) + ceil(1.2) + floor(1.8)", 8.0),
        ("@b.day - @a.day", 10.0),
        ("1.5e2", 150.0),
    ],
)
def test_expressions_follow_the_usual_rules(text, value):
    assert evaluate(text, {"a.day": 5.0, "b.day": 15.0}) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1 / 0", "zero"),
        ("1 % 0", "zero"),
        ("9 ^ 99", "exponent"),
        ("(-1) ^ 0.5", "real"),
        ("0 ^ -1", "no number"),
        ("1e300 * 1e300", "too large"),
        ("unknown + 1", "no value for 'unknown'"),
        ("__import__('os')", "cannot be read"),
        ("open(1)", "no value for 'open'"),
        ("a.real.imag", "cannot be read"),
        ("(1", "missing"),
        ("1 2", "not expected"),
        ("", "too early"),
        ("sqrt(1, 2)", "sqrt"),
        ("sqrt(-1)", "sqrt"),
        ("(" * 60 + "1" + ")" * 60, "nested"),
        ("-" * 100 + "1", "nested"),
        ("1+" * 400 + "1", "characters"),
    ],
)
def test_malformed_expressions_raise_with_the_reason(text, why):
    with pytest.raises(ExpressionError, match=why):
        evaluate(text, {"a": 1.0})


def test_the_longest_expressions_take_no_time():
    started = time.process_time()
    for text in ("9^64*" * 80 + "1", "(" * 400, "max(" + "1," * 200 + "1)", "1" * 500):
        with pytest.raises(ExpressionError):
            evaluate(text + ")" * 90)
    assert time.process_time() - started < 0.5


def test_names_are_listed_without_functions():
    assert names_in("max(@a, b.day) + a * 2") == ["a", "b.day"]
    assert names_in("§") == []
