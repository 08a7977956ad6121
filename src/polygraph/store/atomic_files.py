"""Writing files and folders so that a crash leaves the old or the new, never half of one."""

import json
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path

SEAL = "seal.json"
"""In a sealed folder: size and checksum of every other file."""
_BLOCK = 1 << 20


def write_folder(target: Path, fill: Callable[[Path], None], *, sealed: bool = False) -> None:
    """Fill a folder under a temporary name and rename it into place.

    Args:
        target: where it shall stand; what stood there is replaced.
        fill: writes the contents into the folder that it is given.
        sealed: add what `damage` needs to tell whether the contents are still as they were written.
    """
    temporary = target.with_name(f"{target.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    fill(temporary)
    if sealed:
        seal = {name: [size, _checksum(temporary / name)] for name, size in _contents(temporary).items()}
        (temporary / SEAL).write_text(json.dumps(seal, sort_keys=True), encoding="utf-8")
    for file in temporary.rglob("*"):
        if file.is_file():
            sync(file)
    shutil.rmtree(target, ignore_errors=True)
    temporary.rename(target)
    sync(target.parent)


def damage(folder: Path, *, thorough: bool = False) -> str:
    """Say what is wrong with a sealed folder; empty if nothing is.

    Args:
        folder: written by `write_folder`.
        thorough: also compare the checksums, at about a second per gigabyte; else only names and sizes.
    """
    try:
        seal = json.loads((folder / SEAL).read_text(encoding="utf-8"))
        listed = {str(name): (int(size), int(checksum)) for name, (size, checksum) in seal.items()}
    except FileNotFoundError:
        return f"{folder / SEAL} is missing" if folder.is_dir() else f"{folder} is missing"
    except (OSError, ValueError, TypeError, AttributeError):
        return f"{folder / SEAL} cannot be read"
    for name, (size, checksum) in sorted(listed.items()):
        try:
            found = (folder / name).stat().st_size
            if found != size:
                return f"{folder / name} has {found:,} bytes instead of {size:,}"
            if thorough and _checksum(folder / name) != checksum:
                return f"{folder / name} is not as it was written"
        except FileNotFoundError:
            return f"{folder / name} is missing"
        except OSError as error:
            return f"{folder / name} cannot be read ({error.strerror or error})"
    return ""


def _contents(folder: Path) -> dict[str, int]:
    """Sizes of the files that count; lock files come and go."""
    return {
        file.relative_to(folder).as_posix(): file.stat().st_size
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.suffix != ".lock" and file.name != SEAL
    }


def _checksum(path: Path) -> int:
    """CRC-32: made for damage, not for malice, and as quick as the disk."""
    found = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            found = zlib.crc32(block, found)
    return found


def sync(path: Path) -> None:
    """Have the system put a file or folder on the disk."""
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
