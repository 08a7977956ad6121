import numpy as np
import pytest

from polygraph.models.providers.static import HashEmbedder
from polygraph.store.vectors import HASHES, MATRIX, VectorIndex, write_vectors

EMBEDDER = HashEmbedder()


def write(folder, texts, previous=None, embedder="hash", asked=None):
    def embed(batch):
        if asked is not None:
            asked.extend(batch)
        return EMBEDDER.embed(batch, "document")

    return write_vectors(
        folder,
        iter(texts),
        embed,
        shape=(len(texts), EMBEDDER.dimension),
        embedder=embedder,
        previous=previous,
    )


def contents(folder):
    return {name: (folder / name).read_bytes() for name in (MATRIX, HASHES)}


TEXTS = [f"Entry {n} of the log of the Halcyon" for n in range(1200)]


@pytest.mark.parametrize("mapped", [512, 8_192])
def test_only_new_texts_are_embedded_and_the_files_are_those_of_a_first_time(tmp_path, mapped, monkeypatch):
    monkeypatch.setattr("polygraph.store.vectors.MAPPED_ROWS", mapped)
    write(tmp_path / "former", TEXTS)
    wanted = [f"Entry {n} of the log of the Halcyon" for n in range(3, 1205)][::-1]
    asked: list[str] = []
    assert write(tmp_path / "again", wanted, tmp_path / "former", asked=asked) == 5
    assert sorted(asked) == sorted(set(wanted) - set(TEXTS))
    write(tmp_path / "first", wanted)
    assert contents(tmp_path / "again") == contents(tmp_path / "first")
    assert np.array_equal(
        VectorIndex.open(tmp_path / "again").rows(np.arange(1202)), EMBEDDER.embed(wanted, "document")
    )


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
    write_vectors(
        tmp_path / "former",
        ["a log", "a ship"],
        lambda batch: np.zeros((len(batch), 256), dtype=np.float32),
        shape=(2, 256),
        embedder="hash",
    )
    assert write(tmp_path / "again", ["a log", "a ship"], tmp_path / "former") == 2


def test_no_texts_make_an_empty_matrix(tmp_path):
    assert write(tmp_path / "former", []) == 0
    assert len(VectorIndex.open(tmp_path / "former")) == 0
    assert write(tmp_path / "again", ["a log"], tmp_path / "former") == 1
