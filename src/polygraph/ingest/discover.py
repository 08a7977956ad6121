"""Which files a path means, and under which ids."""

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from polygraph.errors import BadInput

_RECORD_SUFFIXES = frozenset({".json", ".jsonl", ".ndjson"})
_LEAVES = "is a link that leaves the folder; to read it, give what it points to as a path of its own"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A file, or a record of a file, that could not be read."""

    path: str
    """Id of the file (as in a document's metadata), plus ``:`` and the line, row or place of a record."""
    reason: str
    """What is wrong, with the fix where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file to read."""

    path: Path
    """Where it is, absolute."""
    id: str
    """Its path relative to the folder that was given, with ``/``; for a file that was given, its name."""
    named: bool = False
    """True if the file itself was given rather than a folder or glob that holds it."""

    @property
    def bare(self) -> bool:
        """True if the ids of the records in it are ids of documents as they stand.

        So it is for a JSON or JSON Lines file that was itself given, and for any file whose name begins with
        ``corpus.``; else the ids are ``<id of the file>#<id of the record>``.
        """
        name = self.path.name.lower()
        return name.startswith("corpus.") or (self.named and suffix(name) in _RECORD_SUFFIXES)


def suffix(name: str) -> str:
    """Return the ending of a name in lower case, without ``.gz``.

    >>> suffix("corpus.JSONL.gz")
    '.jsonl'
    """
    return PurePath(name.lower().removesuffix(".gz")).suffix


def survey(paths: Sequence[str | Path]) -> tuple[list[Found], list[Unread]]:
    """Find the files that paths mean, and what among them is not followed; see `find`."""
    paths = [paths] if isinstance(paths, str) else paths  # else its letters would be taken for paths
    if not paths:
        raise BadInput("no path was given. Name a folder, a file or a glob")
    found: list[tuple[Found, bool]] = []
    unread: list[Unread] = []
    for path in paths:
        before = len(found) + len(unread)
        given = Path(path)
        try:
            if given.is_dir():
                root = given.resolve()
                _walk(root, root, found, unread)
                if len(found) + len(unread) == before:
                    raise BadInput(
                        f"the folder {str(path)!r} holds no files. Put documents in it or name another"
                    )
            elif given.exists():
                _file(given, given.name, found, unread, named=True)
            elif glob.has_magic(str(path)):
                _glob(str(path), found, unread)
            else:
                raise BadInput(f"there is no file or folder {str(path)!r}. Check the spelling")
        except (OSError, ValueError) as problem:
            raise BadInput(f"{str(path)!r} cannot be read: {_system(problem)}") from problem
    return _distinct(found), sorted(set(unread), key=lambda each: (each.path, each.reason))


def _walk(folder: Path, root: Path, found: list[tuple[Found, bool]], unread: list[Unread]) -> None:
    pending = [folder]
    while pending:
        here = pending.pop()
        try:
            with os.scandir(here) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as problem:
            unread.append(
                Unread(path=_id(here, root), reason=f"is a folder that cannot be read: {_system(problem)}")
            )
            continue
        for entry in entries:
            path = Path(entry.path)
            if entry.name.startswith(".") or (entry.name.endswith(".index") and entry.is_dir()):
                continue
            if entry.is_dir(follow_symlinks=False):
                pending.append(path)
            elif entry.is_symlink():
                _link(path, root, found, unread)
            else:
                _file(path, _id(path, root), found, unread, named=False)


def _link(path: Path, root: Path, found: list[tuple[Found, bool]], unread: list[Unread]) -> None:
    """Follow a link to a file inside the folder; other links lead out of it or in circles."""
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):
        unread.append(Unread(path=_id(path, root), reason="is a link that leads nowhere"))
        return
    if not target.is_relative_to(root):
        unread.append(Unread(path=_id(path, root), reason=_LEAVES))
    elif target.is_file():
        _file(path, _id(path, root), found, unread, named=False, link=True)
    elif any(part.startswith(".") for part in target.relative_to(root).parts):
        reason = "is a link to a hidden folder; to read it, give that folder as a path of its own"
        unread.append(Unread(path=_id(path, root), reason=reason))
    # A link to another folder inside: its files are read where they are.


def _glob(pattern: str, found: list[tuple[Found, bool]], unread: list[Unread]) -> None:
    parts = Path(pattern).parts
    plain = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    root = Path(os.path.abspath(Path(*parts[:plain])))
    real_root = root.resolve()
    matches = sorted(Path(os.path.abspath(match)) for match in glob.glob(pattern, recursive=True))
    before = len(found) + len(unread)
    for match in matches:
        name = _id(match, root) if match.is_relative_to(root) else match.name
        if not match.is_file() or any(part.endswith(".index") for part in name.split("/")[:-1]):
            continue
        if match.resolve().is_relative_to(real_root):
            _file(match, name, found, unread, named=False, link=match.is_symlink())
        else:
            unread.append(Unread(path=name, reason=_LEAVES))
    if len(found) + len(unread) == before:
        what = "only folders" if matches else "nothing"
        hint = "To read all that is below a folder, name the folder" if matches else "Check the spelling"
        raise BadInput(f"the pattern {pattern!r} matches {what}. {hint}")


def _file(
    path: Path,
    name: str,
    found: list[tuple[Found, bool]],
    unread: list[Unread],
    *,
    named: bool,
    link: bool = False,
) -> None:
    if not path.is_file():
        unread.append(Unread(path=name, reason="is not a regular file"))
    else:
        # Names that are not valid in the file system's encoding hold lone surrogates.
        name = name.encode("utf-8", "replace").decode("utf-8")
        found.append((Found(path=Path(os.path.abspath(path)), id=name, named=named), link))


def _id(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def _distinct(found: Sequence[tuple[Found, bool]]) -> list[Found]:
    """One entry for each file, and an id of its own for each entry."""
    best: dict[Path, tuple[Found, bool]] = {}
    for each, link in found:
        real = each.path.resolve()
        other = best.get(real)
        if other:
            # Given twice: the place is better than a link to it, and the longer id says more.
            first = min(
                other, (each, link), key=lambda it: (it[1], -len(it[0].id), it[0].id, str(it[0].path))
            )
            best[real] = (replace(first[0], named=each.named or other[0].named), first[1])
        else:
            best[real] = (each, link)
    files = [each for each, _ in best.values()]
    extra = 0
    while True:
        by_id: dict[str, list[int]] = {}
        for place, each in enumerate(files):
            by_id.setdefault(each.id, []).append(place)
        clashes = [place for places in by_id.values() if len(places) > 1 for place in places]
        if not clashes:
            return sorted(files, key=lambda each: each.id)
        extra += 1
        for place in clashes:
            parts = files[place].path.parts
            length = files[place].id.count("/") + 2
            whole = [part for part in (parts[0].strip("\\/:"), *parts[1:]) if part]
            name = "/".join(parts[-length:] if length < len(parts) else whole)
            files[place] = replace(files[place], id=name.encode("utf-8", "replace").decode("utf-8"))
        if extra > 200:
            raise BadInput("the files cannot be told apart by their paths. Index them one folder at a time")


def _system(problem: Exception) -> str:
    return getattr(problem, "strerror", None) or str(problem)
