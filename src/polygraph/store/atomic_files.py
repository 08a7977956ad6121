"""Writing files and folders atomically: a crash leaves the old one, the new one, or of a folder none, never a part."""

import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

SEAL = "seal.json"
"""In a sealed folder: size and checksum of every other file."""
_BLOCK = 1 << 20
_ALLOCATE: Callable[[int, int, int], None] | None = getattr(os, "posix_fallocate", None)


def write_folder(target: Path, fill: Callable[[Path], None], *, sealed: bool = False) -> None:
    """Fill a folder under a temporary name and rename it.

    Args:
        target: final path; a folder that is there is replaced.
        fill: writes the contents into the folder that it gets.
        sealed: also write the sizes and checksums that `damage` compares.
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
    former = target.with_name(f"{target.name}.former.tmp")
    shutil.rmtree(former, ignore_errors=True)
    if target.is_dir():
        target.rename(former)
    temporary.rename(target)
    sync(target.parent)
    shutil.rmtree(former, ignore_errors=True)


def write_file(target: Path, parts: Iterable[bytes]) -> None:
    """Write a file under a temporary name and rename it; a file that is there is replaced.

    Raises:
        OSError: if it cannot be written; what was there stays.
    """
    temporary = target.with_name(f"{target.name}.tmp")
    try:
        with temporary.open("wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def damage(folder: Path, *, thorough: bool = False) -> str:
    """Describe what is wrong with a sealed folder; empty if it is intact.

    Args:
        folder: written by `write_folder`.
        thorough: also compare checksums, which takes about a second per gigabyte; otherwise names and sizes.
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
    """Return the sizes of the files by name, without lock files, which come and go."""
    return {
        file.relative_to(folder).as_posix(): file.stat().st_size
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.suffix != ".lock" and file.name != SEAL
    }


def _checksum(path: Path) -> int:
    """Return the CRC-32: it detects damage, not manipulation, and is as fast as the disk."""
    found = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            found = zlib.crc32(block, found)
    return found


def reserve_space(path: Path) -> None:
    """Have the operating system allocate the blocks of a file that is about to be mapped and written.

    A file that was only made longer gets its blocks when they are written, and on a full disk that ends the process.

    Raises:
        OSError: if the disk is full.
    """
    if _ALLOCATE is not None:
        with path.open("r+b") as file:
            _ALLOCATE(file.fileno(), 0, path.stat().st_size)


def sync(path: Path) -> None:
    """Have the operating system write a file or folder to the disk."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return  # Windows cannot open folders; there a rename is ordered after the writes
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
