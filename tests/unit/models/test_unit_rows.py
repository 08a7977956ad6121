"""Scaling of vectors, and when it is left out."""

import numpy as np
import pytest

from polygraph.models.unit_rows import are_units, unit_rows


def some_vectors(*, length: float = 1.0) -> np.ndarray:
    """Return vectors of one length, shape ``(100, 1536)``: more than are scaled together."""
    vectors = np.random.default_rng(3).standard_normal((100, 1536))
    return (length * vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def test_units_are_returned_as_they_are() -> None:
    vectors = some_vectors()
    assert unit_rows(vectors) is vectors


@pytest.mark.parametrize("length", [0.9999, 1.0001, 1e-30, 1e30])
def test_other_lengths_are_scaled_to_one(length: float) -> None:
    found = unit_rows(some_vectors(length=length))
    # 1e-6: what single precision loses in a sum of 1,536 squares.
    assert np.abs(np.linalg.norm(found.astype(np.float64), axis=1) - 1).max() < 1e-6


def test_one_longer_vector_among_units_is_scaled() -> None:
    vectors = some_vectors()
    vectors[70] *= 2
    found = unit_rows(vectors)
    assert np.abs(np.linalg.norm(found.astype(np.float64), axis=1) - 1).max() < 1e-6


def test_zeros_stay_zeros_and_are_no_units() -> None:
    vectors = np.zeros((3, 8), dtype=np.float32)
    assert not are_units(vectors)
    assert not unit_rows(vectors).any()


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e38])
def test_a_vector_with_a_value_that_is_not_usual_is_no_unit(value: float) -> None:
    vectors = some_vectors()
    vectors[5, 7] = value
    assert not are_units(vectors)


def test_half_precision_is_converted_to_single() -> None:
    found = unit_rows(some_vectors().astype(np.float16))
    assert found.dtype == np.float32
    assert are_units(found)
