import numpy as np
import pytest

from polygraph.errors import IndexMismatch
from polygraph.models.providers.static import WordLlamaEmbedder
from polygraph.store.token_rows import write_token_rows
from polygraph.store.vectors import VectorIndex

pytest.importorskip("wordllama")
EMBEDDER = WordLlamaEmbedder()
SENTENCES = [
    "The Halcyon left Orme in spring.",
    "Captain Wren kept the log (and the key).",
    "Øystein's tide table – 14 pages – is lost.",
]
ROWS = [
    ["ship, log", "halcyon", "wren", SENTENCES[0], SENTENCES[1]],
    ["halcyon", "orme", SENTENCES[0]],
    [],
    ["wren", SENTENCES[1], SENTENCES[2]],
    [""],
    ["halcyon", "orme", SENTENCES[0]],
]


def written(folder, rows):
    assert write_token_rows(folder, iter(rows), EMBEDDER) == len(rows)
    return VectorIndex.open(folder)


def test_vectors_are_those_of_the_embedder_byte_for_byte(tmp_path):
    index = written(tmp_path / "v", ROWS)
    expected = EMBEDDER.embed([" ".join(row) for row in ROWS], "document")
    assert index.rows(np.arange(len(ROWS))).tobytes() == expected.tobytes()


def test_cosines_of_all_and_of_some_rows_are_those_of_the_vectors(tmp_path):
    index = written(tmp_path / "v", ROWS * 5_000)
    (question,) = EMBEDDER.embed(["Who kept the log of the Halcyon?"], "query")
    expected = EMBEDDER.embed([" ".join(row) for row in ROWS], "document") @ question
    scores = index.scores(question)
    assert np.abs(scores.reshape(5_000, -1) - expected).max() < 1e-6
    ns = np.array([3, 29_999, 2, 0, 12_345])
    assert np.array_equal(index.scores_of(question, ns), scores[ns])


def test_rows_of_the_same_parts_tie_and_the_smaller_row_comes_first(tmp_path):
    index = written(tmp_path / "v", ROWS)
    (question,) = EMBEDDER.embed(["halcyon orme"], "query")
    first, second = index.search(question, 2)
    assert (first.n, second.n) == (1, 5)
    assert first.score == second.score


def test_the_files_depend_on_the_rows_alone(tmp_path):
    for name in ("a", "b"):
        written(tmp_path / name, ROWS)
    files = [{f.name: f.read_bytes() for f in (tmp_path / name).iterdir()} for name in ("a", "b")]
    assert files[0] == files[1]


def test_no_rows_make_an_empty_index(tmp_path):
    index = written(tmp_path / "v", [])
    (question,) = EMBEDDER.embed(["Orme"], "query")
    assert index.search(question, 3) == []
    assert index.rows(np.arange(0)).shape == (0, 256)


def test_tokens_of_an_unknown_embedder_are_refused(tmp_path):
    class Other:
        name = "other"
        token_ids = EMBEDDER.token_ids
        token_vectors = EMBEDDER.token_vectors

    write_token_rows(tmp_path / "v", ROWS, Other())
    with pytest.raises(IndexMismatch, match="tokens of other"):
        VectorIndex.open(tmp_path / "v").scores(np.ones(256, dtype=np.float32))
