"""Bit codes: what comparing all rows finds is found, for vectors of very different kinds."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from polygraph.store import vectors as searches
from polygraph.store.bit_codes import BitCodes, hartley
from polygraph.store.matrix_rows import MatrixRows, one_by_one, write_matrix
from polygraph.store.vectors import VectorIndex, top

Floats = NDArray[np.float32]


def _unit(rows: NDArray[np.floating]) -> Floats:
    unit: Floats = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _dense(chance: np.random.Generator, n: int, dimension: int) -> Floats:
    """Rows around a few centres, all of them moved into one direction, as vectors of language models are."""
    centres = chance.standard_normal((20, dimension))
    rows = centres[chance.integers(0, 20, n)] + 1.5 * chance.standard_normal((n, dimension)) + 0.5
    return _unit(rows)


def _sparse(chance: np.random.Generator, n: int, dimension: int) -> Floats:
    """Rows of a few numbers each, none of them negative, as counts of words are, on a hundred subjects."""
    subjects = chance.integers(0, dimension, (100, 80))
    rows = np.zeros((n, dimension))
    for row in rows:
        row[chance.choice(subjects[chance.integers(100)], 40)] = chance.integers(1, 4, 40)
    return _unit(rows)


def _uneven(chance: np.random.Generator, n: int, dimension: int) -> Floats:
    """Rows in which a few numbers are twenty times as large as the others."""
    rows = chance.standard_normal((n, dimension))
    rows[:, :8] *= 20
    return _unit(rows)


KINDS = {"dense": _dense, "sparse": _sparse, "uneven": _uneven}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dimension", [768, 1001])
def test_every_row_among_the_nearest_is_a_candidate(kind: str, dimension: int) -> None:
    chance = np.random.default_rng(1)
    rows = KINDS[kind](chance, 4_000, dimension)
    codes = BitCodes(len(rows), lambda ns: rows[ns])
    n_few = 0
    # Near a row, and between two.
    picked = rows[chance.integers(0, len(rows), 40)]
    for vector in _unit(picked + 0.7 * np.roll(picked, 1, axis=0)):
        scores = rows @ vector
        found = codes.candidates(vector, 10, lambda ns, v=vector: rows[ns] @ v)  # type: ignore[misc]
        if found is None:
            continue
        n_few += 1
        least = np.sort(scores)[-10]
        assert set(np.flatnonzero(scores >= least - 1e-6)) <= set(found.tolist())
    assert n_few >= 10


@pytest.mark.parametrize("kind", KINDS)
def test_estimates_are_off_by_as_much_as_is_said(kind: str) -> None:
    chance = np.random.default_rng(2)
    rows = KINDS[kind](chance, 2_000, 1_024)
    codes = BitCodes(len(rows), lambda ns: rows[ns])
    ratios = []
    for vector in rows[:50]:
        estimates, margins = codes._estimates(vector)
        ratios.append((estimates - rows @ vector) / margins)
    # Six standard deviations are the margin.
    assert np.abs(ratios).max() < 1
    assert 0.5 / 6 < np.std(ratios) < 1.2 / 6


def test_rows_that_are_all_as_near_are_too_many() -> None:
    rows = _unit(np.ones((1_000, 768)))
    codes = BitCodes(len(rows), lambda ns: rows[ns])
    assert codes.candidates(rows[0], 5, lambda ns: rows[ns] @ rows[0]) is None


def test_rotation_keeps_lengths_and_angles() -> None:
    rows = np.random.default_rng(3).standard_normal((5, 33)).astype(np.float32)
    turned = hartley(rows)
    np.testing.assert_allclose(turned @ turned.T, rows @ rows.T, rtol=1e-4, atol=1e-4)
    # The sum of cosine and sine of the angle of each pair, from the definition.
    angles = 2 * np.pi * np.outer(np.arange(33), np.arange(33)) / 33
    np.testing.assert_allclose(turned, rows @ (np.cos(angles) + np.sin(angles)) / np.sqrt(33), atol=1e-4)


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("layer") / "vectors"
    rows = _sparse(np.random.default_rng(4), 3_000, 768)
    by_text = {f"{n:04}": row for n, row in enumerate(rows)}
    write_matrix(
        folder,
        list(by_text),
        one_by_one(lambda texts: np.stack([by_text[text] for text in texts])),
        shape=rows.shape,
        embedder="sparse",
    )
    return folder


def test_searches_with_bits_find_what_searches_without_find(
    layer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searches, "_WITH_BITS", range(10**9))
    index, rows = VectorIndex.open(layer), MatrixRows(layer)
    assert len(index) == 3_000
    chance = np.random.default_rng(5)
    allowed = chance.random(3_000) < 0.5
    few = chance.random(3_000) < 0.05
    vectors = _unit(rows.rows(chance.integers(0, 3_000, 30)) + 0.01)
    for vector in vectors:
        scores = rows.scores(vector[None])[0]
        for permitted in (None, allowed, few):
            wanted = top(scores if permitted is None else np.where(permitted, scores, -np.inf), 20)
            assert index.search(vector, 20, permitted) == wanted
    assert index._bits is not None


def test_bits_are_made_after_some_searches_and_not_for_few_rows(
    layer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vector = MatrixRows(layer).rows(np.array([7]))[0]
    small = VectorIndex.open(layer)
    for _ in range(2 * searches._SEARCHES_BEFORE_BITS):
        small.search(vector, 5)
    assert small._bits is None
    assert small.compares_all(5)
    monkeypatch.setattr(searches, "_WITH_BITS", range(10**9))
    index = VectorIndex.open(layer)
    assert not index.compares_all(5)
    assert index.compares_all(500)
    for _ in range(searches._SEARCHES_BEFORE_BITS):
        index.search(vector, 5)
    assert index._bits is None
    # Of so many rows, too many are as near as the last.
    index.search(vector, 500)
    assert index._bits is None
    index.search(vector, 5)
    assert index._bits is not None
