"""Uploaded files: received piece by piece within limits, known by the hash of their content, never by a path.

A file lives in ``INDEX/uploads/HASH/NAME``. The folder ``uploads`` is a source of the index like any other folder, so
that reading again, removing and forgetting work as with files.
"""

import errno
import hashlib
import os
import re
import secrets
import shutil
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from polygraph.ingest.web_pages import PAGES_FILE, page_line
from polygraph.server.problems import Problem
from polygraph.store.atomic_files import sync, write_file

FOLDER = "uploads"
"""Folder of the uploaded files, in that of the index."""
_SPOOL = ".spool"
"""Files that are being received; names with a dot are not indexed."""
_HELD = ".held"
"""Files that wait for their job."""
_KEPT = "="
"""Before the hash of a file that was there before its upload, in the record: it stays if the upload is taken back."""
_HASH = 16
"""Characters of the hash in names of folders, which `ids.document_name` leaves out."""
_MAX_NAME = 160
"""Bytes of a name; file systems take 255."""
_FORBIDDEN = re.compile(r'[<>:"|?*%#@\x00-\x1f]')
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Names of devices on Windows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uploaded:
    """One uploaded file."""

    hash: str
    name: str
    """As shown: the client's name without folders and without characters that could mean something."""
    size_bytes: int
    new: bool
    """False if the same content was uploaded before."""


def display_name(given: str) -> str:
    r"""Return a harmless name of one file for whatever a client calls it.

    >>> display_name("../../etc/passwd"), display_name("C:\\papers\\report.pdf"), display_name("...")
    ('passwd', 'report.pdf', 'document')
    >>> len(display_name("x" * 300 + ".pdf")), display_name("x" * 300 + ".pdf")[-5:]
    (160, 'x.pdf')
    """
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", given))[-1]
    visible = "".join(c for c in last if c.isspace() or unicodedata.category(c)[0] != "C")
    name = " ".join(_FORBIDDEN.sub("_", visible).split()).strip(" .-") or "document"
    if _RESERVED.fullmatch(name):
        name = f"file {name}"
    stem, dot, suffix = name.rpartition(".")
    if not dot or not stem or len(suffix) > 12:
        stem, suffix = name, ""
    tail = f".{suffix}" if suffix else ""
    room = _MAX_NAME - len(tail.encode())
    return stem.encode()[:room].decode("utf-8", "ignore").rstrip(" .") + tail


class UploadFolder:
    """The uploaded files of one index.

    Args:
        index: folder of the index; nothing is created before the first upload.
    """

    def __init__(self, index: Path) -> None:
        self.folder = index / FOLDER

    def receive(self, max_file_bytes: int, max_files: int) -> "Receiver":
        """Return an object that takes the files of one upload."""
        return Receiver(self.folder / _SPOOL / secrets.token_hex(8), max_file_bytes, max_files)

    def hold(self, received: "Receiver") -> str:
        """Keep received files aside until `place`; return the id of the upload."""
        target = self.folder / _HELD / received.folder.name
        target.parent.mkdir(exist_ok=True)
        received.folder.rename(target)
        sync(target.parent)
        return target.name

    def held(self, upload: str) -> list[Path]:
        """Return the folders of the files of a held upload, each with one file; empty if it is not held any more."""
        folder = self._held(upload)
        return sorted(each for each in folder.iterdir() if each.is_dir()) if folder.is_dir() else []

    def list_held(self, upload: str) -> list[Uploaded]:
        """Return the files of a held upload, by hash."""
        found = []
        for folder in self.held(upload):
            (file,) = (each for each in folder.iterdir() if each.name != PAGES_FILE)
            new = not (self.folder / folder.name).exists()
            found.append(Uploaded(hash=folder.name, name=file.name, size_bytes=file.stat().st_size, new=new))
        return found

    def place(self, upload: str) -> None:
        """Put the files of a held upload where they are indexed; may be repeated after an interruption.

        Unfinished uploads of the same content share a file: it stays until all of them were taken back.
        """
        claimed = self._claimed(except_by=upload)
        for folder in self.held(upload):
            target = self.folder / folder.name
            there = target.exists()
            mark = "" if not there or folder.name in claimed else _KEPT
            # Noted first, so that a cancelled upload can be taken back whenever it was interrupted.
            with self._record(upload).open("a", encoding="ascii") as record:
                record.write(f"{mark}{folder.name}\n")
            if there:
                shutil.rmtree(folder)
            else:
                folder.rename(target)
        sync(self.folder)

    def placed(self, upload: str) -> list[str]:
        """Return the hashes of the files that are there for this upload alone, and go if it is taken back."""
        return sorted(_hashes(self._record(upload)) - self._claimed(except_by=upload))

    def uncommitted(self) -> list[Path]:
        """Return the folders of the files of all uploads that were placed and neither committed nor discarded."""
        names = {line.removeprefix(_KEPT) for record in self._records() for line in _lines(record)}
        return [folder for name in sorted(names) if (folder := self.folder / name).is_dir()]

    def files(self) -> list[Path]:
        """Return the folders of all files in their place, each with one file."""
        folders = self.folder.iterdir() if self.folder.is_dir() else ()
        return sorted(each for each in folders if each.is_dir() and not each.name.startswith("."))

    def commit(self, upload: str) -> None:
        """Keep the files of a finished upload, also if another one of the same content is taken back."""
        mine = _hashes(self._record(upload))
        for record in self._records(except_by=upload):
            if mine & _hashes(record):
                write_file(record, (f"{each}\n".encode() for each in sorted(_lines(record) - mine)))
        self.discard(upload)

    def _claimed(self, *, except_by: str) -> set[str]:
        return {each for record in self._records(except_by=except_by) for each in _hashes(record)}

    def _records(self, *, except_by: str = "") -> list[Path]:
        found = sorted((self.folder / _HELD).glob("*.placed"))
        return [each for each in found if each.stem != except_by]

    def discard(self, upload: str) -> None:
        """Delete what is kept of an upload beside the files in their place."""
        shutil.rmtree(self._held(upload), ignore_errors=True)
        self._record(upload).unlink(missing_ok=True)

    def _held(self, upload: str) -> Path:
        if not re.fullmatch(r"[0-9a-f]{16}", upload):
            raise ValueError(f"{upload!r} is not the id of an upload")
        return self.folder / _HELD / upload

    def _record(self, upload: str) -> Path:
        held = self._held(upload)
        return held.with_name(f"{held.name}.placed")

    def remove(self, hashes: Sequence[str]) -> None:
        """Delete files."""
        for each in hashes:
            if re.fullmatch(rf"[0-9a-f]{{{_HASH}}}", each):
                shutil.rmtree(self.folder / each, ignore_errors=True)

    def hash_of(self, source: str) -> str:
        """Return the hash of the uploaded file at a path; empty if the path is of no uploaded file."""
        path, own = Path(source), self.folder.resolve()
        inside = path.is_absolute() and path.is_relative_to(own) and path != own
        return path.relative_to(own).parts[0] if inside else ""

    def clean(self) -> None:
        """Delete what earlier uploads left that were broken off."""
        shutil.rmtree(self.folder / _SPOOL, ignore_errors=True)


def _lines(record: Path) -> set[str]:
    return set(record.read_text(encoding="ascii").split()) if record.is_file() else set()


def _hashes(record: Path) -> set[str]:
    return {line for line in _lines(record) if not line.startswith(_KEPT)}


class Receiver:
    """Takes the files of one upload into a folder of their own.

    Args:
        folder: created; deleted by `abort`.
        max_file_bytes: of one file.
        max_files: of the upload.

    Raises:
        Problem: 507 if the disk is full or the folder cannot be written, also from the other methods.
    """

    def __init__(self, folder: Path, max_file_bytes: int, max_files: int) -> None:
        self.folder = folder
        self.max_bytes, self._max_files = max_file_bytes, max_files
        self._file: IO[bytes] | None = None
        self._sum = hashlib.sha256()
        self._size, self.n_files, self._name = 0, 0, ""
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise storage_problem(error) from error

    def begin(self, name: str) -> None:
        """Begin a file.

        Raises:
            Problem: 413 if there are too many.
        """
        if self.n_files >= self._max_files:
            raise Problem(
                413,
                "too-many-files",
                f"an upload may have at most {self._max_files} files. Send fewer at once",
            )
        self.n_files += 1
        self._name, self._size, self._sum = display_name(name), 0, hashlib.sha256()
        try:
            self._file = (self.folder / "part").open("wb")
        except OSError as error:
            raise storage_problem(error) from error

    def write(self, data: bytes) -> None:
        """Take a piece of the file.

        Raises:
            Problem: 413 as soon as the file is too large.
        """
        assert self._file is not None  # noqa: S101 - between `begin` and `end`
        self._size += len(data)
        if self._size > self.max_bytes:
            raise Problem(
                413,
                "too-large",
                f"{self._name} is larger than {self.max_bytes:,} bytes. Send it in parts",
                {"connection": "close"},
            )
        self._sum.update(data)
        try:
            self._file.write(data)
        except OSError as error:
            raise storage_problem(error) from error

    def end(self, url: str = "") -> None:
        """End a file; files of the same content count once.

        Args:
            url: where it was fetched from, if it was.
        """
        assert self._file is not None  # noqa: S101 - between `begin` and `end`
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            target = self.folder / self._sum.hexdigest()[:_HASH]
            if target.exists():
                (self.folder / "part").unlink()
            else:
                target.mkdir()
                (self.folder / "part").rename(target / self._name)
                if url:
                    (target / PAGES_FILE).write_bytes(page_line(url, self._name))
        except OSError as error:
            raise storage_problem(error) from error
        self._file = None

    def abort(self) -> None:
        """Delete what was received; what is held stays."""
        if self._file is not None:
            self._file.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def storage_problem(error: OSError) -> Problem:
    """Return what a client sees if a file cannot be written."""
    full = error.errno in {errno.ENOSPC, errno.EDQUOT}
    reason = "the disk of the server is full" if full else f"the server cannot write ({error.strerror})"
    return Problem(507, "storage-failed", f"{reason}. Nothing of this upload is kept; free some space there")
