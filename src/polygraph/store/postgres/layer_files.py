"""The files of layers in the database: written by the process that built them, fetched by those on other machines.

Below ``derived/`` lie copies of them. A folder is named by the version of its layer, so a copy is never outdated.
"""

import re
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path

from polygraph.errors import IndexUnreadable, quoted
from polygraph.store.atomic_files import damage, sync
from polygraph.store.postgres.connection import PostgresConnection

PART_BYTES = 1 << 20
"""Bytes of a file that one row holds."""
_FORMER = 2
"""Copies of earlier versions of a layer that stay on a disk."""
_SENT = 4
"""Rows that are sent at once."""
_FOLDER = re.compile(r"[a-z_]+-[0-9A-Za-z]+")
_FILE = re.compile(r"(?:[A-Za-z0-9_][\w.-]*/)*[A-Za-z0-9_.][\w.-]*(?<!\.\.)", re.ASCII)


class LayerFiles:
    """The files of layers of one index.

    Args:
        connection: to the database of the index.
        schema: that holds the files; the search path may name a saved state instead.
    """

    def __init__(self, connection: PostgresConnection, schema: str) -> None:
        self._db, self._table = connection, f"{schema}.layer_files"

    def store(self, folder: Path) -> None:
        """Write the files of a folder to the database, instead of those of a folder of the same name."""
        self._db.execute(f"DELETE FROM {self._table} WHERE folder = ?", (folder.name,))  # noqa: S608
        parts = _parts(folder)
        while some := list(islice(parts, _SENT)):
            self._db.insert(self._table, some)

    def names(self) -> list[str]:
        """Return the names of the folders that the database holds, sorted.

        Raises:
            IndexUnreadable: if one could lead elsewhere.
        """
        query = f"SELECT DISTINCT folder FROM {self._table} WHERE part = 0 ORDER BY folder"  # noqa: S608
        return [_checked(name, _FOLDER) for (name,) in self._db.rows(query)]

    def has(self, folder: Path) -> bool:
        """Tell whether the database holds a folder."""
        query = f"SELECT 1 FROM {self._table} WHERE folder = ? LIMIT 1"  # noqa: S608
        return bool(self._db.rows(query, (folder.name,)))

    def fetch(self, folder: Path) -> None:
        """Write a folder that the database holds to its place on this disk.

        Raises:
            IndexUnreadable: if what was fetched is damaged.
        """
        temporary = folder.with_name(f"{folder.name}.{uuid.uuid4().hex}.tmp")
        temporary.mkdir(parents=True)
        try:
            query = f"SELECT name, content FROM {self._table} WHERE folder = ? ORDER BY name, part"  # noqa: S608
            for name, parts in groupby(self._db.iterate(query, (folder.name,)), key=itemgetter(0)):
                _write(temporary, name, (content for _, content in parts))
            if problem := damage(temporary, thorough=True):
                raise IndexUnreadable(
                    f"the files of the layer {folder.name} in {self._db.url.shown} are damaged: {problem}. Build the "
                    f"layer again with: polygraph index --index {quoted(self._db.url.shown)}"
                )
            if damage(folder):
                shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):  # another process was faster
                temporary.rename(folder)
                sync(folder.parent)
            _delete_former(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    def delete_except(self, names: Iterable[str]) -> None:
        """Delete all other folders from the database."""
        self._db.execute(f"DELETE FROM {self._table} WHERE folder != ALL(?)", (list(names),))  # noqa: S608


def _delete_former(folder: Path) -> None:
    """Delete the copies of earlier versions of a layer, but for those that a reader is most likely to have open.

    A reader of a state before these fetches them again.
    """
    layer = folder.name.rpartition("-")[0]
    former = [path for path in folder.parent.glob(f"{layer}-*") if path != folder and path.suffix != ".tmp"]
    with suppress(OSError):  # another process deletes them too
        for path in sorted(former, key=lambda path: path.stat().st_mtime, reverse=True)[_FORMER:]:
            shutil.rmtree(path, ignore_errors=True)


def _parts(folder: Path) -> Iterator[tuple[str, str, int, bytes]]:
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.suffix == ".lock":
            continue
        name = path.relative_to(folder).as_posix()
        with path.open("rb") as file:
            part = 0
            while (content := file.read(PART_BYTES)) or not part:
                yield folder.name, name, part, content
                part += 1


def _write(folder: Path, name: str, parts: Iterable[bytes]) -> None:
    path = folder / _checked(name, _FILE)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for content in parts:
            file.write(content)
    sync(path)


def _checked(name: str, form: re.Pattern[str]) -> str:
    """Return a name that the database gave, if it cannot lead out of its folder."""
    if not form.fullmatch(name) or name == ".":
        raise IndexUnreadable(f"the database names the file {name[:80]!r}, which no layer of an index has")
    return name
