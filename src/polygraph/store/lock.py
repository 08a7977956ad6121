"""The lock of the one writer of an index, and a note of who holds it."""

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from polygraph.errors import IndexLocked, StorageFailed


@contextmanager
def writing(folder: Path, *, wait_s: float = 0.0) -> Iterator[None]:
    """Hold the writer's lock of an index; the operating system releases it when the process ends.

    Args:
        folder: of the index; created if it is not there.
        wait_s: how long to wait for another writer.

    Raises:
        IndexLocked: if another process holds it, naming the process.
        StorageFailed: if the folder cannot be written.
    """
    from filelock import FileLock, Timeout

    holder = folder / "writer.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / "writer.lock")
        lock.acquire(timeout=wait_s)
    except Timeout as error:
        raise IndexLocked(
            f"{folder} is being written by {_who(holder)}. Try again when it is done, or let the command wait with "
            "--wait SECONDS; reading goes on meanwhile"
        ) from error
    except OSError as error:
        raise _cannot_write(folder, error) from error
    try:
        me = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
        try:
            holder.write_text(json.dumps(me), encoding="utf-8")
        except OSError as error:
            raise _cannot_write(folder, error) from error
        yield
    finally:
        with suppress(PermissionError):  # a note that is left says nothing once the lock is free
            holder.unlink(missing_ok=True)
        lock.release()


def _cannot_write(folder: Path, error: OSError) -> StorageFailed:
    return StorageFailed(
        f"{folder} cannot be written ({error.strerror or error}). Choose another folder with --index"
    )


def _who(holder: Path) -> str:
    try:
        who = json.loads(holder.read_text(encoding="utf-8"))
        return f"process {int(who['pid'])} on {who['host']} since {who['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
