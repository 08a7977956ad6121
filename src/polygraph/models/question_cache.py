"""Work that several methods share while they answer one question: cross-encoder scores and vectors of fast embedders.

It is shared only inside a ``with`` block, because a method whose time is measured must do its own work.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from polygraph.models.protocols import Vectors

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class QuestionCache:
    """Scores and vectors computed so far."""

    scores: dict[tuple[str, str, str], float] = field(default_factory=dict)
    """By reranker, question and text."""
    vectors: dict[tuple[str, str], Vectors] = field(default_factory=dict)
    """Vectors of questions, by embedder and text, each of shape ``(dimension,)``."""

    def score(
        self,
        name: str,
        question: str,
        texts: Sequence[str],
        compute: Callable[[list[str]], NDArray[np.float64]],
    ) -> tuple[NDArray[np.float64], int]:
        """Return the scores of texts, shape ``(len(texts),)``, and how many were cached; only new ones are computed."""
        keys = [(name, question, text) for text in texts]
        n_known = _fill(self.scores, keys, lambda missing: compute([text for _, _, text in missing]).tolist())
        return np.asarray([self.scores[key] for key in keys], dtype=np.float64), n_known

    def embed(
        self, name: str, texts: Sequence[str], compute: Callable[[list[str]], Vectors]
    ) -> tuple[Vectors, int]:
        """Return vectors, shape ``(len(texts), dimension)``, and how many were cached; only new ones are computed."""
        keys = [(name, text) for text in texts]
        n_known = _fill(self.vectors, keys, lambda missing: list(compute([text for _, text in missing])))
        return np.stack([self.vectors[key] for key in keys]), n_known


_CURRENT: ContextVar[QuestionCache | None] = ContextVar("question_cache", default=None)


@contextmanager
def question_cache() -> Iterator[None]:
    """Compute each score and vector once inside the ``with`` block, also in threads of `Calls.map`."""
    token = _CURRENT.set(QuestionCache())
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current_cache() -> QuestionCache | None:
    """Return the cache of the enclosing block; None outside of one."""
    return _CURRENT.get()


def _fill(known: dict[K, V], keys: Sequence[K], compute: Callable[[list[K]], Sequence[V]]) -> int:
    missing = list(dict.fromkeys(key for key in keys if key not in known))
    found: Mapping[K, V] = dict(zip(missing, compute(missing), strict=True)) if missing else {}
    n_known = sum(key in known for key in keys)
    known.update(found)
    return n_known
