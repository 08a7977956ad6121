"""Passages behind ranked rows of the graph: which of them to read, in which order."""

from collections.abc import Collection, Sequence

import numpy as np

from polygraph.models.protocols import Vectors
from polygraph.store.snapshot import Snapshot


def owned(cited: Sequence[Sequence[str]], taken: Collection[str] = ()) -> list[list[str]]:
    """Give each passage to the first row that cites it, so that no two rows bring the same one.

    Args:
        cited: chunk ids of each row, rows best first.
        taken: chunks that belong to somebody else.

    Returns:
        Chunk ids of each row, in its own order.

    >>> owned([["a", "b"], ["b", "c"]], taken=["c"])
    [['a', 'b'], []]
    """
    seen = set(taken)
    result = []
    for chunks in cited:
        mine = [c for c in dict.fromkeys(chunks) if c not in seen]
        seen.update(mine)
        result.append(mine)
    return result


def by_quota(owned_chunks: Sequence[Sequence[str]], most: int) -> list[str]:
    """Passages by quotas that fall linearly from `most` for the first row to 1 for the last.

    What rows cannot use is given out again, one passage to each row in turn, the first row first (LightRAG 1.5.7,
    `WEIGHT`).

    >>> by_quota([["a", "b", "c", "d"], ["e"], ["f", "g"]], 3)
    ['a', 'b', 'c', 'e', 'f', 'd']
    """
    n = len(owned_chunks)
    quotas = [round(most - (most - 1) * i / (n - 1)) if n > 1 else most for i in range(n)]
    chosen = [chunk for chunks, quota in zip(owned_chunks, quotas, strict=True) for chunk in chunks[:quota]]
    left = sum(quotas) - len(chosen)
    waiting = [list(chunks[quota:]) for chunks, quota in zip(owned_chunks, quotas, strict=True)]
    while left > 0 and any(waiting):
        for chunks in waiting:
            if chunks and left > 0:
                chosen.append(chunks.pop(0))
                left -= 1
    return chosen


def by_similarity(chunks: Sequence[str], vector: Vectors, index: Snapshot) -> list[tuple[str, float]]:
    """Passages by cosine with the question, with it; ties by row.

    Args:
        chunks: ids, each once.
        vector: the question, embedded as for the chunks, shape ``(dimension,)``.
        index: with `chunk_vectors`.
    """
    numbers = index.chunk_numbers(chunks)
    rows = np.fromiter(numbers.values(), dtype=np.int64, count=len(numbers))
    cosines = index.chunk_similarities(vector, rows.tolist()) if len(rows) else np.zeros(0, dtype=np.float32)
    order = np.lexsort((rows, -cosines))
    ids = list(numbers)
    return [(ids[i], round(float(cosines[i]), 6)) for i in order.tolist()]
