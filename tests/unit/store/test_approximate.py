import shutil
import sys

import numpy as np
import pytest

from polygraph.store.approximate import CODES, write_codes
from polygraph.store.matrix_rows import one_by_one, write_matrix
from polygraph.store.token_rows import write_token_rows
from polygraph.store.vectors import VectorIndex, add_codes

pytest.importorskip("faiss")
N, DIMENSION = 24_000, 256


def unit(vectors):
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def vectors():
    """Clusters around a common direction, many rows twice: as static vectors of sentences lie."""
    rng = np.random.default_rng(5)
    common = rng.normal(size=DIMENSION)
    centres = common + rng.normal(size=(300, DIMENSION))
    rows = centres[rng.integers(0, 300, N)] + 0.5 * rng.normal(size=(N, DIMENSION))
    rows[1::10] = rows[::10]
    return unit(rows)


@pytest.fixture(scope="module")
def questions():
    """Farther from all rows than these from each other."""
    rng = np.random.default_rng(6)
    return unit(rng.normal(size=DIMENSION) + 1.5 * rng.normal(size=(40, DIMENSION)))


@pytest.fixture(scope="module")
def folder(vectors, tmp_path_factory):
    return written(vectors, tmp_path_factory.mktemp("codes") / "v", least=1)


def written(vectors, folder, least):
    write_matrix(
        folder,
        map(str, range(len(vectors))),
        one_by_one(lambda batch: vectors[[int(text) for text in batch]]),
        shape=vectors.shape,
        embedder="rows",
        finish=lambda place: add_codes(place, least),
    )
    return folder


def exact(folder):
    """The same rows without codes."""
    plain = folder.with_name(f"{folder.name}-plain")
    if not plain.exists():
        shutil.copytree(folder, plain, ignore=shutil.ignore_patterns(CODES))
    return VectorIndex.open(plain)


def recall(found, expected):
    return len({hit.n for hit in found} & {hit.n for hit in expected}) / len(expected)


def test_nearly_all_of_the_nearest_are_found_with_their_exact_cosine(folder, questions):
    approximate, whole = VectorIndex.open(folder), exact(folder)
    found = [(approximate.search(q, 10), whole.search(q, 10)) for q in questions]
    assert np.mean([recall(a, b) for a, b in found]) >= 0.99
    for a, b in found:
        scores = {hit.n: hit.score for hit in b}
        assert all(hit.score == scores.get(hit.n, hit.score) for hit in a)
        assert a == sorted(a, key=lambda hit: (-hit.score, hit.n))


@pytest.mark.parametrize("share", [0.9, 0.6, 0.2, 0.01, 0.0001])
def test_a_filter_costs_no_recall(folder, questions, share):
    approximate, whole = VectorIndex.open(folder), exact(folder)
    allowed = np.random.default_rng(7).random(N) < share
    found = [(approximate.search(q, 10, allowed), whole.search(q, 10, allowed)) for q in questions]
    assert all(allowed[hit.n] for hits, _ in found for hit in hits)
    assert np.mean([recall(a, b) for a, b in found]) >= 0.99


def test_a_filter_that_permits_only_far_rows_is_searched_exactly(folder, questions):
    whole = exact(folder)
    far = whole.scores(questions[0]) < np.median(whole.scores(questions[0]))
    assert VectorIndex.open(folder).search(questions[0], 10, far) == whole.search(questions[0], 10, far)


def test_a_search_for_many_rows_is_exact(folder, questions):
    assert VectorIndex.open(folder).search(questions[0], N) == exact(folder).search(questions[0], N)


def test_several_questions_at_once_find_what_each_finds_alone(folder, questions):
    index = VectorIndex.open(folder)
    some, ks = questions[:3], [10, N, 1]
    assert index.search_each(some, ks) == [index.search(q, k) for q, k in zip(some, ks, strict=True)]


def test_codes_of_the_same_rows_are_the_same_and_few_rows_have_none(folder, vectors, tmp_path):
    again = written(vectors, tmp_path / "again", least=N)
    assert (again / CODES).read_bytes() == (folder / CODES).read_bytes()
    plain = shutil.copytree(folder, tmp_path / "plain", ignore=shutil.ignore_patterns(CODES))
    for least in (N + 1, 0):
        add_codes(plain, least)
        assert not (plain / CODES).exists()


def test_codes_of_other_rows_or_of_an_unknown_form_are_not_used(vectors, questions, tmp_path):
    place = written(vectors[: N - 1_000], tmp_path / "v", least=1)
    whole = exact(place)
    write_codes(place, N, lambda ns: vectors[ns][:, ::-1])
    assert VectorIndex.open(place).search(questions[1], 10) == whole.search(questions[1], 10)
    (place / CODES).write_bytes(b"from another version")
    assert VectorIndex.open(place).search(questions[1], 10) == whole.search(questions[1], 10)


def test_without_faiss_search_is_exact_and_no_codes_are_written(folder, questions, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert VectorIndex.open(folder).search(questions[2], 10) == exact(folder).search(questions[2], 10)
    plain = shutil.copytree(folder, tmp_path / "plain", ignore=shutil.ignore_patterns(CODES))
    add_codes(plain, 1)
    assert not (plain / CODES).exists()


def test_rows_of_tokens_have_codes_too(tmp_path):
    static = pytest.importorskip("polygraph.models.providers.static")
    pytest.importorskip("wordllama")
    embedder = static.WordLlamaEmbedder()
    words = ["ship", "log", "captain", "tide", "lantern", "harbour", "rope", "key", "spring", "storm"]
    rng = np.random.default_rng(8)
    rows = [[words[i] for i in rng.integers(0, 10, 5)] + [f"entry {n}"] for n in range(24_000)]
    write_token_rows(tmp_path / "v", rows, embedder, finish=lambda place: add_codes(place, 1))
    (question,) = embedder.embed(["Who has the key of the lantern?"], "query")
    found = VectorIndex.open(tmp_path / "v").search(question, 10)
    assert recall(found, exact(tmp_path / "v").search(question, 10)) >= 0.9


def test_search_is_approximate_only_with_codes_and_for_few_of_the_rows(folder):
    index = VectorIndex.open(folder)
    # 2,000 candidates and more for each hit, of at most an eighth of 24,000 rows.
    assert index.is_approximate(10)
    assert not index.is_approximate(N)
    assert not exact(folder).is_approximate(10)
    most = max(k for k in range(1, N) if index.is_approximate(k))
    assert all(index.is_approximate(k) for k in range(1, most))
    assert not index.is_approximate(most + 1)
    # It says how `search` works: without codes all rows are compared.
    assert index._candidates(np.ones(DIMENSION, dtype=np.float32), most, None) is not None
    assert index._candidates(np.ones(DIMENSION, dtype=np.float32), most + 1, None) is None
