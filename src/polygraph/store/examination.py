"""What is damaged in an index, and what can be saved."""

import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from polygraph.models.call_store import CALLS_FILE
from polygraph.store.atomic_files import damage
from polygraph.store.connection import FILE_NAME, connect_to_read, readable
from polygraph.store.page_sums import SumsDamaged, damaged_pages, read_sums


@dataclass(slots=True)
class Examination:
    """The state of the files of an index."""

    has_sums: bool = False
    """Whether `index.sqlite` has checksums."""
    problems: list[str] = field(default_factory=list)
    """Damages of `index.sqlite`; empty if it is intact."""
    tables: list[str] = field(default_factory=list)
    """Tables on damaged pages, where SQLite can tell."""
    documents: int = 0
    """Documents that can still be read."""
    extraction_rows: int = 0
    damaged_layers: dict[str, str] = field(default_factory=dict)
    """Damage of folders below ``derived/``, by name."""
    intact_layers: list[str] = field(default_factory=list)
    replies: int | None = None
    """Stored replies of language models that can be used again; None if the file is damaged."""


def examine_files(folder: Path) -> Examination:
    """Compare all files of an index with their checksums, whenever they were last compared."""
    found = Examination()
    path = folder / FILE_NAME
    pages: list[int] = []
    try:
        sums = read_sums(path)
        found.has_sums = sums is not None
        if sums is not None:
            pages = damaged_pages(path, sums)
            if pages:
                found.problems.append(
                    f"{len(pages):,} of {len(sums.sums):,} pages are not as they were written"
                )
    except SumsDamaged:
        found.problems.append("its checksums are damaged")
    except OSError as error:
        found.problems.append(f"it cannot be read ({error.strerror or error})")
    found.problems += _structure(path)
    if found.problems:
        found.tables = _tables_on(path, pages)
        found.documents, found.extraction_rows = readable(folder)
    for layer in sorted((folder / "derived").glob("*-*")):
        if not layer.is_dir() or layer.suffix == ".tmp":
            continue
        if problem := damage(layer, thorough=True):
            found.damaged_layers[layer.name] = problem
        else:
            found.intact_layers.append(layer.name)
    found.replies = _replies(folder / CALLS_FILE)
    return found


def _structure(path: Path) -> list[str]:
    """Return the first fault that SQLite finds in the structure of a file."""
    try:
        with closing(connect_to_read(path)) as db:
            first = str(db.execute("PRAGMA integrity_check(1)").fetchone()[0])
    except (sqlite3.Error, UnicodeError, OSError) as error:
        return [f"SQLite: {error}"]
    return [] if first == "ok" else [f"SQLite: {' '.join(first.split())[:200]}"]


def _tables_on(path: Path, pages: list[int]) -> list[str]:
    """Return the names of the tables and indexes on some pages; none where SQLite has no such list."""
    with suppress(sqlite3.Error, UnicodeError, OSError), closing(connect_to_read(path)) as db:
        wanted = set(pages)
        return sorted(
            {name for name, page in db.execute("SELECT name, pageno FROM dbstat") if page in wanted}
        )
    return []


def _replies(path: Path) -> int | None:
    if not path.is_file():
        return 0
    try:
        with closing(connect_to_read(path)) as db:
            if db.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
                return None
            return int(db.execute("SELECT count(*) FROM reply").fetchone()[0])
    except (sqlite3.Error, UnicodeError, OSError):
        return None
