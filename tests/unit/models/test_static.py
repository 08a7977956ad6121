"""Embedders that look words up."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from polygraph.errors import BadInput, MissingExtra
from polygraph.models.providers.static import TOKENIZER, WEIGHTS, HashEmbedder, WordLlamaEmbedder, read_tensor
from polygraph.models.providers.weights import locate

SOURCE = Path(__file__).parents[3] / "src"
TEXTS = [
    "The 1202 alarm appeared because the radar was stealing processing time.",
    "An alarm during the landing was caused by a radar that used up the computer's cycles.",
    "Bake the bread at 220 degrees for forty minutes, then let it cool.",
]


@pytest.fixture(scope="module")
def wordllama() -> WordLlamaEmbedder:
    try:
        return WordLlamaEmbedder()
    except MissingExtra as error:
        pytest.skip(str(error))


def test_vectors_equal_those_of_the_wordllama_library(wordllama: WordLlamaEmbedder) -> None:
    inference = pytest.importorskip("wordllama.inference")
    tokenizers = pytest.importorskip("tokenizers")
    table = read_tensor(locate(WEIGHTS), "embedding.weight").astype(np.float32)
    tokenizer = tokenizers.Tokenizer.from_file(str(locate(TOKENIZER)))
    expected = inference.WordLlamaInference(table, tokenizer).embed(TEXTS, norm=True)
    assert np.abs(wordllama.embed(TEXTS, "document") - expected).max() < 1e-5


@pytest.mark.parametrize("kind", ["wordllama", "hash"])
def test_what_is_related_is_closer_than_what_is_not(kind: str, request: pytest.FixtureRequest) -> None:
    embedder = HashEmbedder() if kind == "hash" else request.getfixturevalue("wordllama")
    vectors = embedder.embed(TEXTS, "document")
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2


def test_hashing_gives_the_same_bytes_in_every_process() -> None:
    here = HashEmbedder().embed(TEXTS, "document").tobytes()
    program = (
        "import sys; from polygraph.models.providers.static import HashEmbedder; "
        f"sys.stdout.buffer.write(HashEmbedder().embed({TEXTS!r}, 'document').tobytes())"
    )
    environment = {"PYTHONPATH": str(SOURCE), "PYTHONHASHSEED": "7"}
    there = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
    assert there.stdout == here


def test_hashing_sees_parts_of_words_and_any_script() -> None:
    vectors = HashEmbedder().embed(["lighthouses", "lighthouse", "market", "灯台守の日記", "灯台守"], "name")
    assert vectors[0] @ vectors[1] > 0.3
    assert abs(vectors[0] @ vectors[2]) < 0.2
    assert vectors[3] @ vectors[4] > 0.15


def test_texts_that_are_hashed_together_have_the_vectors_of_each_alone() -> None:
    texts = [*TEXTS, "", "the the of the sea", "?", "a", "sea sea 12 12"] * 20
    embedder = HashEmbedder()
    assert embedder.embed(texts, "document").tobytes() == b"".join(
        embedder.embed([text], "document").tobytes() for text in texts
    )


def test_the_name_says_that_hashing_knows_no_meaning() -> None:
    assert "spelling" in HashEmbedder().name


def test_a_tensor_file_that_is_not_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    for data in (b"", b"\x05\x00\x00\x00\x00\x00\x00\x00{}   ", b"\xff" * 64):
        path.write_bytes(data)
        with pytest.raises(BadInput, match="weights"):
            read_tensor(path, "embedding.weight")
    header = json.dumps({"x": {"dtype": "F16", "shape": [1, 2], "data_offsets": [0, 4]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + np.asarray([1, 2], dtype="<f2").tobytes())
    assert read_tensor(path, "x").tolist() == [[1.0, 2.0]]
