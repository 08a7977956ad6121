"""Writing files and folders so that a crash leaves the old or the new, never half of one."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path


def write_folder(target: Path, fill: Callable[[Path], None]) -> None:
    """Fill a folder under a temporary name and rename it into place.

    Args:
        target: where it shall stand; what stood there is replaced.
        fill: writes the contents into the folder that it is given.
    """
    temporary = target.with_name(f"{target.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    fill(temporary)
    for file in temporary.rglob("*"):
        if file.is_file():
            _sync(file)
    shutil.rmtree(target, ignore_errors=True)
    temporary.rename(target)
    _sync(target.parent)


def _sync(path: Path) -> None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return  # Windows opens no folders; its rename is already ordered after the writes
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
