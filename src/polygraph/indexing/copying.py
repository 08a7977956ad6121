"""Copying a finished index from one place to another: a folder, or a schema of PostgreSQL.

Rows and the files of layers move through `store.protocol` and `models.call_store`, so that a store of another kind
needs nothing but its own target here. A copy that is stopped leaves what was there before:

- A folder is filled under another name, ``.NAME.copying``, and renamed. One that it replaces is renamed to
  ``.NAME.replaced`` just before, and deleted afterwards.
- In a database everything is one transaction.
"""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from polygraph.errors import BadInput, IndexUnreadable, StorageFailed, quoted
from polygraph.indexing.estimate.reconcile import FILE_NAME as ESTIMATE
from polygraph.indexing.progress import Progress, no_progress
from polygraph.models.call_store import CALLS_FILE, CallStore, calls_exist, open_call_store
from polygraph.models.call_store.postgresql_calls import PostgresqlCalls
from polygraph.store.atomic_files import damage, sync, write_folder
from polygraph.store.connection import FILE_NAME, connect_to_read, explain_storage
from polygraph.store.database import SqliteStore
from polygraph.store.generations import finish_write, open_finished, write_in_progress
from polygraph.store.layer_folders import folder_of
from polygraph.store.lock import writing
from polygraph.store.open_store import calls_of
from polygraph.store.portable import PORTABLE_TABLES, PortableRow
from polygraph.store.postgres.folder import URL_FILE, database_of, place_of
from polygraph.store.postgres.store import PostgresStore
from polygraph.store.protocol import Store, StoreReader

_EVERY = 1_000
"""Rows between two calls of `progress`."""
_OWN = (FILE_NAME, CALLS_FILE, "derived", "writer.", "estimate.", URL_FILE)
"""What the names of the files of an index begin with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyReport:
    """What was copied."""

    source: str
    target: str
    documents: int
    rows: int
    """Rows of all tables, those of replies and of the ledger included."""
    layers: tuple[str, ...]
    """Layers whose files were copied; those of others are built by the next `polygraph index`."""
    left: tuple[str, ...]
    """Files and folders beside the index that were not copied, such as studies and uploads."""
    notes: tuple[str, ...] = ()
    """What the copy cannot do, and why."""


@dataclass(frozen=True, slots=True)
class _Target:
    """Open tables that are about to be filled."""

    store: Store
    calls: CallStore


def copy_index(
    source: Path,
    target: Path,
    *,
    published_at: str | None = None,
    replace: bool = False,
    pgvector_rows: int = 0,
    progress: Progress = no_progress,
) -> CopyReport:
    """Copy a finished index with everything that belongs to it; the export of the copy has the same bytes.

    Args:
        source: folder of the index, or the local folder of one in a database (`store.postgres.folder`).
        target: the same of the copy.
        published_at: the URL, if the source is the local copy of a published index.
        replace: delete an index that is there.
        pgvector_rows: rows from which on a database searches a layer of vectors itself; 0: never.
        progress: called with the stage ``copying`` after some rows.

    Raises:
        BadInput: if the target holds something, or is the source.
        IndexUnreadable: if the source is not a finished index, or damaged.
        IndexLocked: if another process is writing to the target.
        StorageFailed: if the target cannot be written.
    """
    name = published_at or place_of(source)
    if _same(source, target):
        raise BadInput(f"{name} cannot be copied to itself. Name another place")
    with ExitStack() as stack:
        reader = stack.enter_context(closing(open_finished(source)))
        if reader.manifest() is None or write_in_progress(reader) is not None:
            raise IndexUnreadable(
                f"the index at {name} is not finished. If no process is writing it, finish it with: polygraph index "
                f"--index {quoted(name)}"
            )
        calls = stack.enter_context(_calls_to_read(source))
        open_target = _folder_target if database_of(target) is None else _database_target
        with open_target(target, replace=replace) as found:
            documents, rows, layers, notes = _fill(found, reader, calls, pgvector_rows, progress)
    left = [] if published_at else sorted(p.name for p in source.iterdir() if not p.name.startswith(_OWN))
    return CopyReport(
        source=name,
        target=place_of(target),
        documents=documents,
        rows=rows,
        layers=layers,
        left=tuple(left),
        notes=notes,
    )


def _fill(
    target: _Target, source: StoreReader, calls: CallStore, pgvector_rows: int, progress: Progress
) -> tuple[int, int, tuple[str, ...], tuple[str, ...]]:
    """Replace what a target holds; return the numbers of documents and rows, the layers with files, and notes."""
    store = target.store
    total = sum(source.count(table) for table in PORTABLE_TABLES) + calls.n_rows()
    done = _Count(total, progress)
    estimate = source.folder / ESTIMATE
    layers = source.layers()
    with_files: list[str] = []
    notes: set[str] = set()
    for name, (version, _, _) in layers.items():
        if _copy_files(
            source, folder_of(source.folder, name, version), folder_of(store.folder, name, version)
        ):
            with_files.append(name)
    with store.transaction():
        for table in PORTABLE_TABLES:
            store.load(table, done.rows(source.dump(table)))
        store.forget_layers(store.layers())
        for name, (version, n_rows, seconds) in layers.items():
            store.put_layer(name, version, n_rows, seconds)
            if name in with_files:
                notes.add(store.put_vectors(name, version, pgvector_rows))
        target.calls.take_over(calls, done.add)
        documents = store.count("documents")
    finish_write(store)
    progress("copying", done.n, done.n)
    if estimate.is_file():
        shutil.copyfile(estimate, store.folder / ESTIMATE)
    return documents, done.n, tuple(with_files), tuple(sorted(notes - {""}))


def _copy_files(source: StoreReader, files: Path, target: Path) -> bool:
    """Copy the files of a layer; return False if it has none, or they are damaged."""
    if not source.has_files(files):
        return False
    source.fetch_files(files)
    if damage(files, thorough=True):
        return False
    if damage(target, thorough=True):
        write_folder(target, partial(_copy_folder, files))
    return True


def _copy_folder(source: Path, target: Path) -> None:
    shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.lock"))


class _Count:
    """Counts rows that are done."""

    def __init__(self, total: int, progress: Progress) -> None:
        self.n, self._total, self._progress, self._due = 0, total, progress, 0

    def add(self, n: int) -> None:
        self.n += n
        if self.n >= self._due:
            self._due = self.n + _EVERY
            self._progress("copying", self.n, max(self.n, self._total))

    def rows(self, rows: Iterator[PortableRow]) -> Iterator[PortableRow]:
        for row in rows:
            yield row
            self.add(1)


# --- places ---------------------------------------------------------------------------------------


@contextmanager
def _folder_target(folder: Path, *, replace: bool) -> Iterator[_Target]:
    """Yield tables in a new folder, which takes the place of another one when the block ends without an error."""
    staging = folder.with_name(f".{folder.name}.copying")
    replaced = folder.with_name(f".{folder.name}.replaced")
    if replaced.is_dir():  # a copy was stopped between two renames, or while it deleted
        _remove(replaced) if folder.exists() else replaced.rename(folder)
    _require_replaceable(folder, replace=replace)
    try:
        with writing(staging):
            for path in staging.iterdir():
                if not path.name.startswith("writer."):
                    _remove(path)
            with (
                closing(SqliteStore(staging, mode="write", durability="full")) as store,
                closing(open_call_store(staging / CALLS_FILE, "full")) as calls,
            ):
                yield _Target(store, calls)
        for path in (staging / FILE_NAME, staging / CALLS_FILE, staging):
            sync(path)
        if folder.exists():
            with writing(folder):
                _require_replaceable(folder, replace=replace)
            folder.rename(replaced)
        try:
            staging.rename(folder)
        except OSError:
            if replaced.is_dir():
                replaced.rename(folder)
            raise
        sync(folder.parent)
        _remove(replaced)
    except OSError as error:
        raise StorageFailed(
            f"{folder} cannot be written ({error.strerror or error}). Name another folder"
        ) from error
    finally:
        _remove(staging)


def _require_replaceable(folder: Path, *, replace: bool) -> None:
    """Raise unless a folder is not there, is empty, or is an index that may be replaced and nothing else."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise BadInput(f"{folder} is a file. Name another folder")
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("writer."))
    if names and not replace:
        how = ", or replace the index there with --replace" if FILE_NAME in names else ""
        raise BadInput(f"{folder} is not empty. Name a new or an empty folder{how}")
    others = [name for name in names if not name.startswith(_OWN)]
    if others or (names and FILE_NAME not in names):
        what = f"holds {', '.join(others[:3])}{', ...' if others[3:] else ''}" if others else "holds no index"
        raise BadInput(
            f"{folder} {what}, which is not part of an index and would be deleted. Name another folder"
        )


@contextmanager
def _database_target(folder: Path, *, replace: bool) -> Iterator[_Target]:
    """Yield the tables of a schema; all changes are one transaction of one connection."""
    url = database_of(folder)
    assert url is not None  # noqa: S101  the caller has looked
    with (
        closing(PostgresStore(folder, url, mode="write", lock_s=0.0)) as store,
        closing(CallStore(PostgresqlCalls(url, "normal", store.connection.raw))) as calls,
    ):
        if not replace and (store.manifest() is not None or store.count("documents") or calls.n_rows()):
            raise BadInput(
                f"{url.shown} is not empty. Name another schema with schema=NAME, or replace the index there with "
                "--replace"
            )
        yield _Target(store, calls)


@contextmanager
def _calls_to_read(folder: Path) -> Iterator[CallStore]:
    """Yield the replies and the ledger of an index; empty ones if it has none."""
    place = calls_of(folder)
    with ExitStack() as stack:
        if not calls_exist(place):
            yield stack.enter_context(closing(open_call_store(None)))
            return
        if isinstance(place, Path) and not os.access(folder, os.W_OK):
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="polygraph-copy-")))
            place = _copied_file(place, scratch)
        yield stack.enter_context(closing(open_call_store(place)))


def _copied_file(path: Path, folder: Path) -> Path:
    """Copy an SQLite file, as it is at one moment, to a folder."""
    copied = folder / path.name
    try:
        with closing(connect_to_read(path)) as db, closing(sqlite3.connect(copied)) as own:
            db.backup(own)
    except sqlite3.Error as error:
        raise explain_storage(error, path.parent) from error
    return copied


def _same(one: Path, other: Path) -> bool:
    urls = database_of(one), database_of(other)
    return urls[0] == urls[1] if any(urls) else one.resolve() == other.resolve()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)
