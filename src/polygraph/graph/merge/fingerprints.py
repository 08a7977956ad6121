"""Numbers that tell whether a record changed, without making the record.

64 bits from what a record is made of. Two different records have the same number with a chance of about one in
10^19, so of a million changed records none is overlooked.
"""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from polygraph.columnar import Array
from polygraph.columnar.groupby import Pairs, summed


def mark_of(values: Array, salt: int) -> Array:
    """Mix the bits of unsigned numbers (the finaliser of SplitMix64, Steele et al. 2014), another way for each salt."""
    x = values.astype(np.uint64) + np.uint64((salt * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def string_marks(strings: Sequence[str]) -> Array:
    """A number for each string, uint64."""
    digests = b"".join(
        blake2b(string.encode("utf-8", "surrogatepass"), digest_size=8).digest() for string in strings
    )
    return np.frombuffer(digests, dtype="<u8") if digests else np.zeros(0, dtype=np.uint64)


def marks(pairs: Pairs, of_value: Array, n: int, salt: int) -> Array:
    """A number for each item, of its values and their counts, in whatever order."""
    if not len(pairs.value):
        return np.zeros(n, dtype=np.uint64)
    each = mark_of(mark_of(of_value[pairs.value], salt) + pairs.count.astype(np.uint64), salt)
    return summed(each, pairs.ends)
