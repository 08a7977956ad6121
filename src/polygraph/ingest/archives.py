"""Zip files read as folders: their files in memory, nothing is written anywhere."""

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass

from polygraph.errors import BadInput
from polygraph.ingest.decode import open_zip
from polygraph.ingest.discover import path_text
from polygraph.ingest.limits import ReadLimits

MAX_MEMBERS = 20_000
"""Files of an archive."""
MAX_SECONDS = 900.0
"""Longest time for an archive; each file in it has its own limit as well."""
_MAX_NAME = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A file of an archive."""

    name: str
    """Its path in the archive, with ``/``."""
    data: bytes = b""
    reason: str = ""
    """Why it is not read; empty if it is."""


def read_members(data: bytes, max_bytes: int) -> Iterator[Member]:
    """Yield the files of a zip file in the order of their names, without hidden ones.

    Names are only ids. A file of which the name leads out of the archive, or that is protected or damaged, has a reason
    instead of its bytes; of two files of one name the last is read.

    Raises:
        BadInput: if it is damaged, or has too many files or too many bytes unpacked.
    """
    limits = ReadLimits(max_elements=MAX_MEMBERS, max_seconds=MAX_SECONDS)
    with open_zip(data, max_bytes) as archive:
        if len(archive.infolist()) > MAX_MEMBERS:
            raise BadInput(f"holds over {MAX_MEMBERS:,} files; split it")
        members = {_name(each.filename): each for each in archive.infolist() if not each.is_dir()}
        for name in sorted(members):
            limits.count()
            parts = name.split("/")
            if "__MACOSX" in parts or any(part.startswith(".") and part.strip(".") for part in parts):
                continue
            if not name or any(part in {"", ".", ".."} for part in parts) or len(name) > _MAX_NAME:
                yield Member(name=name[:_MAX_NAME] or "?", reason="has a name that leads out of the archive")
            elif members[name].flag_bits & 1:
                yield Member(name=name, reason="is protected by a password")
            else:
                yield _member(archive, name, members[name])


def _member(archive: zipfile.ZipFile, name: str, info: zipfile.ZipInfo) -> Member:
    try:
        return Member(name=name, data=archive.read(info))
    except Exception as problem:
        # The unpackers fail in many ways on damaged files; the others of the archive are read.
        return Member(name=name, reason=f"is damaged: {type(problem).__name__}: {problem}")


def _name(name: str) -> str:
    return path_text(name.replace("\\", "/"))
