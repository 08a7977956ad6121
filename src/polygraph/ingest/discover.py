"""The files of folders, globs and single paths, and their ids."""

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from polygraph.errors import BadInput
from polygraph.ingest.ignore import EVERYTHING, IgnoreRules, Selection
from polygraph.ingest.ignore import FILE_NAME as IGNORE_FILE
from polygraph.ingest.web_pages import PAGES_FILE, page_addresses

_RECORD_SUFFIXES = frozenset({".json", ".jsonl", ".ndjson"})
_MAX_IGNORE_BYTES = 1_000_000
_INDEX_FILES = frozenset({"calls.sqlite", "index.sqlite"})
"""A folder with these files is an index, whatever its name."""
_LEAVES = "is a link that leaves the folder; to read it, give its target as a path of its own"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A file, or a record of a file, that could not be read."""

    path: str
    """Id of the file (as in a document's metadata), plus ``:`` and the line, row or position of a record, or ``#`` and
    the id of the record."""
    reason: str
    """What is wrong, with the fix where there is one."""
    was_read: bool = False
    """Whether it was read, so that no document that is missing may be in it: it has no text, or its id is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file to read."""

    path: Path
    """Absolute."""
    id: str
    """Its path relative to the folder that was given, with ``/``; for a file that was given, its name."""
    given: bool = False
    """True if the file itself was given rather than a folder or glob that holds it."""
    url: str = ""
    """Address of the page that was fetched into the file, if it was."""

    @property
    def has_document_ids(self) -> bool:
        """True if the ids of its records are ids of documents; else these are ``<id of the file>#<id of the record>``.

        True for a JSON or JSON Lines file that was itself given, and for any file whose name begins with ``corpus.``.
        """
        name = self.path.name.lower()
        return name.startswith("corpus.") or (self.given and suffix(name) in _RECORD_SUFFIXES)


def path_text(path: str | Path) -> str:
    r"""Return a path as text that can be stored, also if it is not valid in the file system's encoding.

    Each byte that is not is written as an escape, so that different paths stay different.

    >>> path_text("docs/caf\udce9.txt")
    'docs/caf\\udce9.txt'
    """
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")


def suffix(name: str) -> str:
    """Return the suffix of a name in lower case, without ``.gz``.

    Apple Mail exports an archive as a folder with a file ``mbox``, whose name counts as its suffix.

    >>> suffix("corpus.JSONL.gz"), suffix("Inbox.mbox/mbox")
    ('.jsonl', '.mbox')
    """
    path = PurePath(name.lower().removesuffix(".gz"))
    return ".mbox" if path.name == "mbox" else path.suffix


def discover(
    paths: Sequence[str | Path], selection: Selection = EVERYTHING
) -> tuple[list[SourceFile], list[Unread]]:
    """Find the files of some paths, and the links and folders that are not followed.

    A folder stands for all files below it, except hidden files and folders and indexes (``*.index``); a pattern such
    as ``docs/**/*.md`` for the files that match; a file for itself. Links are followed to files inside the folder only,
    and folders of indexes with another name are not followed.

    A file's id is its path relative to the folder that was given, or to the part of a pattern before the first
    wildcard; the name alone for a file that was given. Where two files would have one id, each gets the name of the
    folder above in front, and so on until they differ. A file that several paths stand for is found once.

    What the patterns of a file `.polygraphignore` match, in a folder that was given or below it, is left out; and what
    `selection` does not take. A file that was itself given is always found.

    Returns:
        Files sorted by id, and what is not followed, sorted by path.

    Raises:
        BadInput: if a path does not exist, a pattern matches no file, or a folder holds none.
    """
    paths = [paths] if isinstance(paths, str) else paths  # else each letter would be a path
    if not paths:
        raise BadInput("no path was given. Name a folder, a file or a glob")
    found: list[tuple[SourceFile, bool]] = []
    unread: list[Unread] = []
    for path in paths:
        before = len(found) + len(unread)
        given = Path(path)
        try:
            if given.is_dir():
                root = given.resolve()
                _walk(root, selection, found, unread)
                if len(found) + len(unread) == before:
                    raise BadInput(
                        f"the folder '{path}' holds no files; hidden and excluded ones do not count. Put documents in "
                        "it or name another"
                    )
            elif given.exists():
                _file(given, given.name, found, unread, given=True)
            elif glob.has_magic(str(path)):
                _glob(str(path), selection, found, unread)
            else:
                raise BadInput(f"there is no file or folder '{path}'. Check the spelling")
        except (OSError, ValueError) as problem:
            raise BadInput(f"'{path}' cannot be read: {_system(problem)}") from problem
    return _with_distinct_ids(found), sorted(set(unread), key=lambda each: (each.path, each.reason))


def _walk(
    root: Path, selection: Selection, found: list[tuple[SourceFile, bool]], unread: list[Unread]
) -> None:
    pending: list[tuple[Path, tuple[_Ignored, ...]]] = [(root, ())]
    while pending:
        here, ignored = pending.pop()
        try:
            with os.scandir(here) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as problem:
            unread.append(
                Unread(path=_id(here, root), reason=f"is a folder that cannot be read: {_system(problem)}")
            )
            continue
        names = {entry.name for entry in entries}
        if here != root and names >= _INDEX_FILES:
            unread.append(Unread(path=_id(here, root), reason="is the folder of an index"))
            continue
        if IGNORE_FILE in names:
            ignored = (*ignored, _Ignored(here, _ignore_rules(here / IGNORE_FILE)))
        addresses = page_addresses(here) if PAGES_FILE in names else {}
        for entry in entries:
            path = Path(entry.path)
            if entry.name.startswith(".") or (entry.name.endswith(".index") and entry.is_dir()):
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if not selection.takes(path.relative_to(root).as_posix(), folder=is_folder):
                continue
            if _is_ignored(path, ignored, folder=is_folder):
                continue
            if is_folder:
                pending.append((path, ignored))
            elif entry.is_symlink():
                _link(path, root, found, unread)
            else:
                url = addresses.get(entry.name, "")
                _file(path, _id(path, root), found, unread, given=False, url=url)


def _link(path: Path, root: Path, found: list[tuple[SourceFile, bool]], unread: list[Unread]) -> None:
    """Follow a link to a file inside the folder; other links lead out of it or form cycles."""
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):
        unread.append(Unread(path=_id(path, root), reason="is a broken link"))
        return
    if not target.is_relative_to(root):
        unread.append(Unread(path=_id(path, root), reason=_LEAVES))
    elif target.is_file():
        _file(path, _id(path, root), found, unread, given=False, link=True)
    elif any(part.startswith(".") for part in target.relative_to(root).parts):
        reason = "is a link to a hidden folder; to read it, give that folder as a path of its own"
        unread.append(Unread(path=_id(path, root), reason=reason))
    # A link to another folder inside: its files are read where they are.


@dataclass(frozen=True, slots=True)
class _Ignored:
    folder: Path
    rules: IgnoreRules


def _ignore_rules(file: Path) -> IgnoreRules:
    try:
        text = file.read_bytes()[:_MAX_IGNORE_BYTES].decode("utf-8", "replace")
    except OSError as problem:
        raise BadInput(f"'{file}' cannot be read: {_system(problem)}") from problem
    return IgnoreRules(text.splitlines(), str(file))


def _is_ignored(path: Path, ignored: Sequence[_Ignored], *, folder: bool) -> bool:
    """Tell whether a path is left out: the file of patterns that is nearest to it counts."""
    for each in reversed(ignored):
        decided = each.rules.ignores(path.relative_to(each.folder).as_posix(), folder=folder)
        if decided is not None:
            return decided
    return False


def _glob(
    pattern: str, selection: Selection, found: list[tuple[SourceFile, bool]], unread: list[Unread]
) -> None:
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
        if not selection.takes(name, folder=False):
            continue
        if match.resolve().is_relative_to(real_root):
            _file(match, name, found, unread, given=False, link=match.is_symlink())
        else:
            unread.append(Unread(path=path_text(name), reason=_LEAVES))
    if len(found) + len(unread) == before:
        what = "only folders" if matches else "nothing"
        hint = "To read everything below a folder, name the folder" if matches else "Check the spelling"
        raise BadInput(f"the pattern '{pattern}' matches {what}. {hint}")


def _file(
    path: Path,
    name: str,
    found: list[tuple[SourceFile, bool]],
    unread: list[Unread],
    *,
    given: bool,
    link: bool = False,
    url: str = "",
) -> None:
    if not path.is_file():
        unread.append(Unread(path=path_text(name), reason="is not a regular file"))
    else:
        absolute = Path(os.path.abspath(path))
        found.append((SourceFile(path=absolute, id=path_text(name), given=given, url=url), link))


def _id(path: Path, root: Path) -> str:
    return path_text(path.relative_to(root).as_posix())


def _with_distinct_ids(found: Sequence[tuple[SourceFile, bool]]) -> list[SourceFile]:
    """Keep one entry for each file, and give each an id of its own."""
    best: dict[Path, tuple[SourceFile, bool]] = {}
    for each, link in found:
        real = each.path.resolve()
        other = best.get(real)
        if other:
            # Given twice: the file is better than a link to it, and the longer id says more.
            first = min(
                other, (each, link), key=lambda it: (it[1], -len(it[0].id), it[0].id, str(it[0].path))
            )
            best[real] = (replace(first[0], given=each.given or other[0].given), first[1])
        else:
            best[real] = (each, link)
    files = [each for each, _ in best.values()]
    extra = 0
    while True:
        by_id: dict[str, list[int]] = {}
        for i, each in enumerate(files):
            by_id.setdefault(each.id, []).append(i)
        clashes = [i for same in by_id.values() if len(same) > 1 for i in same]
        if not clashes:
            return sorted(files, key=lambda each: each.id)
        extra += 1
        for i in clashes:
            parts = files[i].path.parts
            length = files[i].id.count("/") + 2
            whole = [part for part in (parts[0].strip("\\/:"), *parts[1:]) if part]
            name = "/".join(parts[-length:] if length < len(parts) else whole)
            files[i] = replace(files[i], id=path_text(name))
        if extra > 200:
            raise BadInput(
                "the files cannot be distinguished by their paths. Index them one folder at a time"
            )


def _system(problem: Exception) -> str:
    return getattr(problem, "strerror", None) or str(problem)
