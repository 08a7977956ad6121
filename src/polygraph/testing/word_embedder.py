"""An embedder whose vectors can be worked out by hand."""

import re
from collections.abc import Sequence

import numpy as np

from polygraph.models.protocols import TextKind, Vectors


class WordEmbedder:
    """One place for each of some words, equal for all that stand in a text; other words do not count.

    The cosine of two texts is the number of words that they share, over the root of the product of the numbers that
    each has. A text without any of the words is all zeros.

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
