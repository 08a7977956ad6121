import numpy as np
import pytest

from polygraph.models.providers.static import HashEmbedder
from polygraph.store.matrix_rows import HASHES, MATRIX, SCALES, in_sixteen_bits, one_by_one, write_matrix
from polygraph.store.vectors import VectorIndex

EMBEDDER = HashEmbedder()


def write(folder, texts, previous=None, embedder="hash", asked=None):
    def embed(batch):
        if asked is not None:
            asked.extend(batch)
        return EMBEDDER.embed(batch, "document")

    return write_matrix(
        folder,
        iter(texts),
        one_by_one(embed),
        shape=(len(texts), EMBEDDER.dimension),
        embedder=embedder,
        previous=previous,
    )


def contents(folder):
    return {name: (folder / name).read_bytes() for name in (MATRIX, SCALES, HASHES)}


TEXTS = [f"Entry {n} of the log of the Halcyon" for n in range(1200)]


@pytest.mark.parametrize("mapped", [512, 8_192])
def test_only_new_texts_are_embedded_and_the_files_are_those_of_a_first_time(tmp_path, mapped, monkeypatch):
    monkeypatch.setattr("polygraph.store.matrix_rows.MAPPED_ROWS", mapped)
    write(tmp_path / "former", TEXTS)
    wanted = [f"Entry {n} of the log of the Halcyon" for n in range(3, 1205)][::-1]
    asked: list[str] = []
    assert write(tmp_path / "again", wanted, tmp_path / "former", asked=asked) == 5
    assert sorted(asked) == sorted(set(wanted) - set(TEXTS))
    write(tmp_path / "first", wanted)
    assert contents(tmp_path / "again") == contents(tmp_path / "first")
    found = VectorIndex.open(tmp_path / "again").rows(np.arange(1202))
    # Half a step of 1/32767 of the largest number of a unit vector.
    assert np.abs(found - EMBEDDER.embed(wanted, "document")).max() <= 0.51 / 32_767


def test_a_text_that_stands_twice_is_taken_over_twice(tmp_path):
    write(tmp_path / "former", ["a log", "a ship"])
    assert write(tmp_path / "again", ["a ship", "a log", "a ship"], tmp_path / "former") == 0
    matrix = VectorIndex.open(tmp_path / "again").rows(np.arange(3))
    assert np.array_equal(matrix[0], matrix[2])


def test_vectors_of_another_embedder_or_of_a_damaged_file_are_not_taken_over(tmp_path):
    write(tmp_path / "former", TEXTS[:9])
    assert write(tmp_path / "other", TEXTS[:9], tmp_path / "former", embedder="other") == 9
    path = tmp_path / "former" / MATRIX
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert write(tmp_path / "again", TEXTS[:9], tmp_path / "former") == 9
    assert write(tmp_path / "missing", TEXTS[:9], tmp_path / "nothing") == 9


def test_a_vector_of_zeros_is_asked_for_again(tmp_path):
    """An endpoint that may not be asked while documents are removed leaves zeros."""
    write_matrix(
        tmp_path / "former",
        ["a log", "a ship"],
        one_by_one(lambda batch: np.zeros((len(batch), 256), dtype=np.float32)),
        shape=(2, 256),
        embedder="hash",
    )
    assert write(tmp_path / "again", ["a log", "a ship"], tmp_path / "former") == 2


def test_no_texts_make_an_empty_matrix(tmp_path):
    assert write(tmp_path / "former", []) == 0
    assert len(VectorIndex.open(tmp_path / "former")) == 0
    assert write(tmp_path / "again", ["a log"], tmp_path / "former") == 1


def test_sixteen_bits_change_a_cosine_by_some_millionths(tmp_path):
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(3_000, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    write_matrix(
        tmp_path / "v",
        [str(n) for n in range(3_000)],
        one_by_one(lambda batch: vectors[[int(text) for text in batch]]),
        shape=vectors.shape,
        embedder="e",
    )
    opened = VectorIndex.open(tmp_path / "v")
    exact = vectors.astype(np.float64) @ vectors[5].astype(np.float64)
    assert np.abs(opened.scores(vectors[5]) - exact).max() < 2e-5
    assert len(opened.search(vectors[5], 10)) == 10
    # Several questions at once, with and without a filter, find what each finds alone, bit for bit.
    some, ks = vectors[[5, 9, 5]], [10, 1, 0]
    for allowed in (None, rng.random(3_000) < 0.5):
        alone = [opened.search(vector, k, allowed) for vector, k in zip(some, ks, strict=True)]
        assert opened.search_each(some, ks, allowed) == alone
    assert opened.search_each(some[:0], []) == []
    assert opened.scores_of(vectors[5], np.arange(3_000)).tobytes() == opened.scores(vectors[5]).tobytes()


def test_a_row_of_zeros_stays_zero():
    numbers, scales = in_sixteen_bits(np.zeros((1, 4), dtype=np.float32))
    assert numbers.tolist() == [[0, 0, 0, 0]]
    assert scales.tolist() == [0.0]
