"""Numbers for chunk ids, and the order of the chunks."""

import numpy as np

from polygraph.arrays import Array
from polygraph.ids import chunk_key


class ChunkNumbers(dict[str, int]):
    """Numbers chunk ids in the order in which they are first looked up.

    >>> numbers = ChunkNumbers()
    >>> [numbers[chunk] for chunk in ("b:0", "a:10", "a:9", "b:0")]
    [0, 1, 2, 0]
    >>> ids, positions = numbers.in_order()
    >>> ids, positions.tolist()
    (['a:9', 'a:10', 'b:0'], [2, 1, 0])
    """

    def __missing__(self, chunk: str) -> int:
        """Give an id the next number."""
        number = self[chunk] = len(self)
        return number

    def in_order(self) -> tuple[list[str], Array]:
        """Return all ids in the order of documents, and the position there of each number, int32."""
        ids = sorted(self, key=lambda chunk: (chunk_key(chunk), chunk))
        positions = np.empty(len(ids), dtype=np.int32)
        positions[[self[chunk] for chunk in ids]] = np.arange(len(ids))
        return ids, positions
