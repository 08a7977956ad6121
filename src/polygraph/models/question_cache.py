"""What several methods that answer one question need once: scores of a cross-encoder, vectors of quick embedders.

Only inside a ``with`` block, since a method whose seconds are measured has to do its own work.
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
class Shared:
    """What was worked out so far."""

    scores: dict[tuple[str, str, str], float] = field(default_factory=dict)
    """By reranker, question and text."""
    vectors: dict[tuple[str, str], Vectors] = field(default_factory=dict)
    """Of questions, by embedder and text, each of shape ``(dimension,)``."""

    def score(
        self, name: str, question: str, texts: Sequence[str], work: Callable[[list[str]], NDArray[np.float64]]
    ) -> tuple[NDArray[np.float64], int]:
        """Scores of texts, of which only new ones are worked out; and how many were known."""
        keys = [(name, question, text) for text in texts]
        n_known = _complete(
            self.scores, keys, lambda missing: work([text for _, _, text in missing]).tolist()
        )
        return np.asarray([self.scores[key] for key in keys], dtype=np.float64), n_known

    def embed(
        self, name: str, texts: Sequence[str], work: Callable[[list[str]], Vectors]
    ) -> tuple[Vectors, int]:
        """The same for vectors, shape ``(len(texts), dimension)``."""
        keys = [(name, text) for text in texts]
        n_known = _complete(self.vectors, keys, lambda missing: list(work([text for _, text in missing])))
        return np.stack([self.vectors[key] for key in keys]), n_known


_SHARED: ContextVar[Shared | None] = ContextVar("shared", default=None)


@contextmanager
def sharing() -> Iterator[None]:
    """Work out once what is asked for several times inside the block, also in threads of `Calls.map`."""
    token = _SHARED.set(Shared())
    try:
        yield
    finally:
        _SHARED.reset(token)


def shared() -> Shared | None:
    """What the block that is running has worked out; None outside of one."""
    return _SHARED.get()


def _complete(known: dict[K, V], keys: Sequence[K], work: Callable[[list[K]], Sequence[V]]) -> int:
    missing = list(dict.fromkeys(key for key in keys if key not in known))
    found: Mapping[K, V] = dict(zip(missing, work(missing), strict=True)) if missing else {}
    n_known = sum(key in known for key in keys)
    known.update(found)
    return n_known
