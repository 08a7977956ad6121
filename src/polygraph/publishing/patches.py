"""Patches: new bytes as what differs from similar ones that the reader has.

Zstandard with the similar bytes before the new ones, as `zstd --patch-from` does. A new entity moves the numbers of all
rows behind it, of which ordinary compression finds nothing again; so 32-bit numbers may be replaced by the differences
between neighbours first, which stay the same.

A patch is untrusted: the result is checked against a SHA-256, and the size of the patch, of its source and the memory
that applying it takes are bounded.
"""

import importlib
from functools import cache
from typing import Any

import numpy as np

MOST = 1 << 22
"""Most bytes of a patched part of a file, before the block that exceeds them."""
LEAST_SOURCE, MOST_SOURCE = 8, 1 << 23
"""Fewest and most bytes to which they are compared."""
_WINDOW_LOG = 24
"""Logarithm of the bytes that a reader must hold to apply a patch; not less than both together."""
_LEVEL = 12
"""Level of Zstandard: 9 takes 60% of the time, and patches of tables are 5% larger."""


class PatchUnusable(Exception):
    """A patch cannot be applied, or not to these bytes."""


def can_patch() -> bool:
    """Tell whether Zstandard is installed; without it, blocks are fetched."""
    return _zstd() is not None


def make_patch(new: bytes, at: int, source: bytes, *, differences: bool) -> bytes:
    """Return the patch that makes new bytes from similar ones; `can_patch` must hold.

    Args:
        new: at most `MOST` bytes, and a block.
        at: where they begin in their file.
        source: `LEAST_SOURCE` to `MOST_SOURCE` bytes, from a multiple of four of their file on.
        differences: compare the differences of 32-bit numbers.
    """
    zstd = _zstd()
    if differences:
        new, source = _differences(bytes(at % 4) + new), _differences(source)
    name = zstd.CompressionParameter
    options = {name.compression_level: _LEVEL, name.window_log: _WINDOW_LOG}
    return bytes(zstd.compress(new, options=options, zstd_dict=zstd.ZstdDict(source, is_raw=True).as_prefix))


def apply_patch(patch: bytes, at: int, size: int, source: bytes, *, differences: bool) -> bytes:
    """Return the new bytes.

    Args:
        patch: what `make_patch` returned.
        at: where the new bytes begin in their file.
        size: how many there are.
        source: as for `make_patch`.
        differences: the same.

    Raises:
        PatchUnusable: if the patch is damaged, or gives another number of bytes.
    """
    zstd = _zstd()
    if zstd is None:
        raise PatchUnusable
    before = at % 4 if differences else 0
    try:
        decompressor = zstd.ZstdDecompressor(
            zstd.ZstdDict(_differences(source) if differences else source, is_raw=True).as_prefix,
            options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG},
        )
        found = bytes(decompressor.decompress(patch, before + size + 1))
    except (zstd.ZstdError, EOFError, ValueError) as error:
        raise PatchUnusable from error
    if len(found) != before + size:
        raise PatchUnusable
    return _numbers(found)[before:] if differences else found


def _differences(data: bytes) -> bytes:
    """Replace 32-bit numbers by the differences from those before them, first the low bytes of all of them.

    >>> _differences(bytes([1, 0, 0, 0, 3, 0, 0, 0, 9])).hex()
    '010200000000000009'
    """
    n = len(data) // 4 * 4
    values = np.frombuffer(data[:n], dtype="<u4")
    found = np.diff(values, prepend=np.zeros(1, dtype="<u4")).astype("<u4")
    return found.view(np.uint8).reshape(-1, 4).T.tobytes() + data[n:]


def _numbers(data: bytes) -> bytes:
    """Return what `_differences` replaced.

    >>> _numbers(_differences(b"any bytes"))
    b'any bytes'
    """
    n = len(data) // 4 * 4
    planes = np.frombuffer(data[:n], dtype=np.uint8).reshape(4, -1)
    values = np.cumsum(np.ascontiguousarray(planes.T).view("<u4").reshape(-1), dtype="<u4")
    return values.astype("<u4").tobytes() + data[n:]


@cache
def _zstd() -> Any:
    """Return the module of the standard library, which Python has from 3.14 on, or its copy; None without both."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            continue
    return None
