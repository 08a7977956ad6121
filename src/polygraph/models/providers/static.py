"""Fast embedders: one that looks up token vectors, and one that needs no model."""

import hashlib
import importlib.util
import json
import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polygraph.errors import BadInput, IndexMismatch, MissingExtra
from polygraph.models.protocols import TextKind, Vectors
from polygraph.models.providers.weights import ModelFile, locate

WEIGHTS = ModelFile(
    model="the static embedder WordLlama",
    extra="local",
    package="wordllama",
    path="weights/l2_supercat_256.safetensors",
    sha256="64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
)
TOKENIZER = ModelFile(
    model="the static embedder WordLlama",
    extra="local",
    package="wordllama",
    path="tokenizers/l2_supercat_tokenizer_config.json",
    sha256="93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
)

MAX_CHARS = 400_000
"""Characters of a text that are read."""
_BATCH = 256
"""Texts that are tokenized together, on all cores."""
_SUMMED = 64
"""Texts whose hashed features are summed together."""
_NO_PLACES, _NO_WEIGHTS = np.zeros(0, dtype=np.int64), np.zeros(0)


class WordLlamaEmbedder:
    """WordLlama l2_supercat_256: the mean of a text's token vectors, 256 dimensions.

    Token vectors of a large language model, trained down to 256 dimensions (github.com/dleemiller/WordLlama).

    Raises:
        MissingExtra: if its files are not installed.
        BadInput: if a file is not the tested one.
    """

    local = True
    instant = True
    """Faster than a look-up, so `Calls` does not store its vectors."""
    name = "wordllama-l2-supercat-256"
    dimension = 256
    max_tokens = 100_000

    def __init__(self) -> None:
        self._files = tuple(locate(file) for file in (WEIGHTS, TOKENIZER))
        if importlib.util.find_spec("tokenizers") is None:
            raise MissingExtra(WEIGHTS.model, "local")
        self._lock = threading.Lock()
        self._loaded: Any = None

    def _tokenizer(self) -> Any:
        """Return the tokenizer, read at the first text."""
        with self._lock:
            if self._loaded is None:
                from tokenizers import Tokenizer

                tokenizer = Tokenizer.from_file(str(self._files[1]))
                tokenizer.no_padding()
                tokenizer.no_truncation()
                self._loaded = tokenizer
            return self._loaded

    def token_vectors(self) -> NDArray[np.float32]:
        """Return the vector of every token, shape ``(n_tokens, 256)`` (`models.protocols.TokenEmbedder`)."""
        return _read_table(self._files[0])

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:  # noqa: ARG002  one way for all kinds
        """Return unit vectors, shape ``(len(texts), 256)``; a text without tokens is all zeros."""
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        table = self.token_vectors()
        for i, ids in enumerate(self.token_ids(texts)):
            if ids:
                result[i] = _unit(table[ids].sum(axis=0, dtype=np.float64))
        return result

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text."""
        return [len(ids) for ids in self._ids(texts)]

    def release(self) -> None:
        """Free the model (`models.protocols.Releasable`)."""
        with self._lock:
            self._loaded = None
        _read_table.cache_clear()

    def token_ids(self, texts: Sequence[str]) -> Iterator[list[int]]:
        """Yield the tokens of each text (`models.protocols.TokenEmbedder`)."""
        for ids in self._ids(texts):
            yield ids[: self.max_tokens]

    def _ids(self, texts: Sequence[str]) -> Iterator[list[int]]:
        tokenizer = self._tokenizer()
        for at in range(0, len(texts), _BATCH):
            some = [text[:MAX_CHARS] for text in texts[at : at + _BATCH]]
            for encoding in tokenizer.encode_batch_fast(some, add_special_tokens=False):
                yield encoding.ids


def installed_token_vectors(embedder: str) -> NDArray[np.float32]:
    """Return the token vectors of the embedder with a name, which rows of an index are made of.

    Raises:
        IndexMismatch: if no embedder of this version has that name.
        MissingExtra: if its files are not installed.
        BadInput: if a file is not the tested one.
    """
    if embedder != WordLlamaEmbedder.name:
        raise IndexMismatch(
            f"the index holds tokens of {embedder}, which this version does not know. Install the version of polygraph "
            "that built it, or embed again with: polygraph index"
        )
    return _read_table(locate(WEIGHTS))


@lru_cache(maxsize=1)
def _read_table(path: Path) -> NDArray[np.float32]:
    """Read the token vectors; searches and all embedders of a process share them."""
    # float32 holds the float16 numbers of the file exactly, and numpy sums them faster.
    table = read_tensor(path, "embedding.weight").astype(np.float32)
    table.flags.writeable = False
    return table


def read_tensor(path: Path, name: str) -> NDArray[np.float16]:
    """Read one float16 tensor of a safetensors file.

    The file consists of a length (8 bytes, little endian), a JSON header with types, shapes and offsets, and the
    numbers.

    Raises:
        BadInput: if the file has no such tensor.
    """
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    try:
        entry = json.loads(data[8 : 8 + size])[name]
        begin, end = entry["data_offsets"]
        values = np.frombuffer(data[8 + size + begin : 8 + size + end], dtype="<f2")
        if entry["dtype"] != "F16":
            raise ValueError(entry["dtype"])
        return values.reshape(entry["shape"])
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{path} holds no float16 tensor {name!r} ({error})") from error


class HashEmbedder:
    """Spelling without meaning: words and their character n-grams hashed to 256 dimensions.

    Feature hashing with signs (Weinberger et al. 2009, arXiv:0902.2206) over words and their n-grams of
    three to five characters, as in fastText (Bojanowski et al. 2017). It needs only numpy and is the last resort if no
    model is installed. Texts that share words or parts of words are similar; synonyms are not.
    """

    local = True
    instant = True
    """Faster than a look-up, so `Calls` does not store its vectors."""
    name = "hashed-spelling-256"
    dimension = 256
    max_tokens = 100_000

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:  # noqa: ARG002  one way for all kinds
        """Return unit vectors, shape ``(len(texts), 256)``; a text without words is all zeros."""
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for at in range(0, len(texts), _SUMMED):
            some = texts[at : at + _SUMMED]
            result[at : at + len(some)] = _unit(self._sums(some))
        return result

    def _sums(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the sums of the features of texts, shape ``(len(texts), 256)``."""
        places, weighted = [_NO_PLACES], [_NO_WEIGHTS]
        n_features = []
        for text in texts:
            words = Counter(_words(text))
            n = 0
            # Sorted, because a sum depends on its order.
            for word in sorted(words):
                features = _features(word)
                places.append(features.places)
                if words[word] == 1:
                    weighted.append(features.weights)
                else:
                    # Ten repetitions do not make a word ten times as important.
                    repeated = (1.0 + np.log(words[word])) * features.factor
                    weighted.append(repeated * features.signs)
                n += len(features.places)
            n_features.append(n)
        owner = np.repeat(np.arange(len(texts)) * self.dimension, n_features)
        sums = np.bincount(
            owner + np.concatenate(places), np.concatenate(weighted), len(texts) * self.dimension
        )
        return np.asarray(sums, dtype=np.float64).reshape(len(texts), self.dimension)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the words of each text."""
        return [len(_words(text)) for text in texts]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text[:MAX_CHARS].lower())


class _Features(NamedTuple):
    """A word and its n-grams."""

    places: NDArray[np.int64]
    """Dimension of each."""
    signs: NDArray[np.float64]
    """Sign of each, times its share."""
    factor: float
    """Of the word among others."""
    weights: NDArray[np.float64]
    """`signs` times `factor`."""


@lru_cache(maxsize=16_384)
def _features(word: str) -> _Features:
    """Return the features of a word."""
    padded = f"<{word[:40]}>"
    groups = [padded[i : i + n] for n in (3, 4, 5) for i in range(len(padded) - n + 1)]
    # The word weighs as much as all its n-grams together, so that an exact match counts most.
    share = 1.0 / np.sqrt(len(groups))
    hashes = [
        int.from_bytes(hashlib.blake2b(part.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
        for part in (word, *groups)
    ]
    places = np.asarray([value % 256 for value in hashes], dtype=np.int64)
    signs = np.asarray([1.0 if value >> 63 else -1.0 for value in hashes])
    signs[1:] *= share
    # Short words are mostly function words.
    factor = 0.2 if len(word) <= 3 and word.isalpha() else 1.0
    return _Features(places, signs, factor, factor * signs)


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    lengths = np.sqrt((rows * rows).sum(axis=-1, keepdims=True))
    return (rows / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
