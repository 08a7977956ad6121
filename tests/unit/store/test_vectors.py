import numpy as np

from polygraph.store.matrix_rows import one_by_one, write_matrix
from polygraph.store.vectors import Hit, VectorIndex, top


def saved(folder, matrix):
    """A layer with the rows of a matrix; every text is the number of its row."""
    texts = [str(n) for n in range(len(matrix))]
    write_matrix(
        folder,
        texts,
        one_by_one(lambda batch: matrix[[int(t) for t in batch]]),
        shape=matrix.shape,
        embedder="rows",
    )
    return VectorIndex.open(folder)


def test_ties_at_the_cut_go_to_the_smaller_row():
    assert top(np.array([0.1, 0.7, 0.7, 0.7, 0.9]), 3) == [Hit(4, 0.9), Hit(1, 0.7), Hit(2, 0.7)]


def test_differences_in_the_last_bits_decide_nothing():
    assert [h.n for h in top(np.array([0.5, 0.5 + 1e-9]), 2)] == [0, 1]


def test_search_agrees_with_a_plain_sort(tmp_path):
    rng = np.random.default_rng(7)
    matrix = rng.normal(size=(300, 16)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    index = saved(tmp_path / "v", matrix)
    matrix = index.rows(np.arange(300))
    found = index.search(matrix[17], 25)
    expected = sorted(range(300), key=lambda i: (-round(float(matrix[i] @ matrix[17]), 6), i))[:25]
    assert [h.n for h in found] == expected
    assert found[0].n == 17


def test_the_nearest_come_as_arrays_and_one_by_one(tmp_path):
    rng = np.random.default_rng(8)
    index = saved(tmp_path / "v", rng.normal(size=(60, 8)).astype(np.float32))
    vectors, allowed = index.rows(np.array([3, 9])), np.arange(60) % 2 == 1
    for k in (0, 1, 7, 99):
        for some in (None, allowed):
            each = index.search_each(vectors, [k, k], some)
            for vector, hits in zip(vectors, each, strict=True):
                found = index.nearest(vector, k, some)
                assert [Hit(*pair) for pair in zip(*(part.tolist() for part in found), strict=True)] == hits
                assert hits == found.hits() == index.search(vector, k, some)
                assert len(hits) == min(k, 60 if some is None else 30)


def test_rows_outside_the_filter_are_never_returned(tmp_path):
    matrix = np.eye(4, dtype=np.float32)
    allowed = np.array([False, True, False, True])
    found = saved(tmp_path / "v", matrix).search(matrix[0], 10, allowed)
    assert {h.n for h in found} == {1, 3}


def test_an_empty_matrix_finds_nothing(tmp_path):
    index = saved(tmp_path / "v", np.empty((0, 8), dtype=np.float32))
    assert index.search(np.ones(8, dtype=np.float32), 3) == []


def test_all_vectors_are_copied_to_a_file_that_numpy_reads(tmp_path):
    index = saved(tmp_path / "v", np.eye(5, dtype=np.float32))
    index.copy_to(tmp_path / "all.tmp")
    assert np.array_equal(np.load(tmp_path / "all.tmp", mmap_mode="r"), np.eye(5))


def test_scores_of_some_rows_have_the_bits_of_the_scores_of_all(tmp_path):
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(700, 800)).astype(np.float32)
    index = saved(tmp_path / "v", matrix)
    wanted = rng.permutation(700)
    assert np.array_equal(index.scores_of(matrix[5], wanted), index.scores(matrix[5])[wanted])
    assert index.scores_of(matrix[5], wanted[:0]).shape == (0,)
