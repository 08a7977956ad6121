"""An embedder whose vectors can be worked out by hand."""

import re
from collections.abc import Sequence

import numpy as np

from polygraph.models.protocols import TextKind, Vectors


class WordEmbedder:
    """One dimension for each word of a list; the words that occur in a text have equal weight, others none.

    The cosine of two texts is the number of shared words over the root of the product of their numbers of words. The
    vector of a text without any of the words is zero.

    Args:
        words: in lower case; their number is the dimension.

    >>> WordEmbedder(("ada", "bela")).embed(["Ada funds Bela."], "document").round(3).tolist()
    [[0.7070000171661377, 0.7070000171661377]]
    """

    name = "words"
    max_tokens = 1_000
    local = instant = True

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self.dimension = len(self.words)

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:  # noqa: ARG002 - all kinds alike
        """Return unit vectors, shape ``(len(texts), dimension)``."""
        found = [set(re.findall(r"\w+", text.lower())) for text in texts]
        rows = np.array([[w in some for w in self.words] for some in found], dtype=np.float32)
        rows = rows.reshape(len(texts), self.dimension)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.maximum(lengths, 1e-9), dtype=np.float32)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Words between white space."""
        return [len(text.split()) for text in texts]
