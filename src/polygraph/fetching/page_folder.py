"""The folder of fetched pages: a folder for each host, with the pages and the list of where they came from."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from polygraph.errors import BadInput, StorageFailed
from polygraph.fetching.addresses import file_name, folder_name
from polygraph.ingest.web_pages import MAX_LIST_BYTES, PAGES_FILE

_JOURNAL = ".polygraph-fetch.journal"
"""What the present run has finished; deleted at its end."""
_LOCK = ".polygraph-fetch.lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A fetched page."""

    url: str
    """As listed."""
    file: str
    """Its name in the folder of the host."""
    etag: str = ""
    last_modified: str = ""

    @property
    def conditions(self) -> dict[str, str]:
        """Headers with which the server sends the page only if it has changed."""
        fields = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in fields.items() if value}


class PageFolder:
    """Pages by address; what was written survives the end of the process at any moment. Use it in a ``with`` block.

    Args:
        folder: created if it is not there.

    Raises:
        BadInput: if another process fetches into it.
        StorageFailed: if it cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        from filelock import FileLock, Timeout

        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(folder / _LOCK, thread_local=False)
            self._lock.acquire(timeout=0)
            self.finished = self._read_journal()
        except Timeout as error:
            raise BadInput(
                f"another process fetches into {folder}. Wait for it, or name another with --to"
            ) from error
        except OSError as error:
            raise _unwritable(folder, error) from error
        self._pages: dict[str, dict[str, Page]] = {}
        """By folder of the host and address."""

    def __enter__(self) -> "PageFolder":
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def page(self, url: str) -> Page | None:
        """Return what is known of a page whose file exists."""
        found = self._of(url).get(url)
        return found if found is not None and self._path(found).is_file() else None

    def save(self, url: str, body: bytes, suffix: str, headers: Mapping[str, str]) -> bool:
        """Keep a page; return whether it is new or has changed."""
        before = self.page(url)
        page = Page(
            url=url,
            file=file_name(url, suffix),
            etag=headers.get("etag", "")[:500],
            last_modified=headers.get("last-modified", "")[:100],
        )
        path = self._path(page)
        changed = before is None or before.file != page.file or path.read_bytes() != body
        try:
            path.parent.mkdir(exist_ok=True)
            if changed:
                temporary = path.with_name(f".{path.name}.tmp")
                temporary.write_bytes(body)
                temporary.replace(path)
            if page != before:
                self._of(url)[url] = page
                with (path.parent / PAGES_FILE).open("ab") as file:
                    file.write(_line(page))
            if before is not None and before.file != page.file:
                self._path(before).unlink(missing_ok=True)
        except OSError as error:
            raise _unwritable(path, error) from error
        return changed

    def remove(self, url: str) -> None:
        """Delete a page."""
        found = self._of(url).pop(url, None)
        if found is not None:
            self._path(found).unlink(missing_ok=True)

    def finish(self, url: str) -> None:
        """Record that the run is done with an address."""
        try:
            with (self._folder / _JOURNAL).open("ab") as file:
                file.write(f"{url}\n".encode())
        except OSError as error:
            raise _unwritable(self._folder / _JOURNAL, error) from error
        self.finished.add(url)

    def end_run(self) -> None:
        """Sort the lists, so that the same pages give the same bytes, and forget the progress of the run."""
        for host, pages in sorted(self._pages.items()):
            place = self._folder / host / PAGES_FILE
            kept = [page for _, page in sorted(pages.items()) if self._path(page).is_file()]
            if not place.parent.is_dir():
                continue
            try:
                temporary = place.with_name(f"{place.name}.tmp")
                temporary.write_bytes(b"".join(map(_line, kept)))
                temporary.replace(place)
            except OSError as error:
                raise _unwritable(place, error) from error
        (self._folder / _JOURNAL).unlink(missing_ok=True)

    def _of(self, url: str) -> dict[str, Page]:
        host = folder_name(url)
        if host not in self._pages:
            self._pages[host] = _read_pages(self._folder / host / PAGES_FILE)
        return self._pages[host]

    def _path(self, page: Page) -> Path:
        return self._folder / folder_name(page.url) / page.file

    def _read_journal(self) -> set[str]:
        try:
            return set((self._folder / _JOURNAL).read_bytes().decode("utf-8", "replace").split("\n")[:-1])
        except FileNotFoundError:
            return set()


def _read_pages(file: Path) -> dict[str, Page]:
    """Return the pages of a list by address; lines that a crash has truncated, or that name another file, are none."""
    try:
        with file.open("rb") as opened:
            lines = opened.read(MAX_LIST_BYTES).splitlines()
    except OSError:
        return {}
    found: dict[str, Page] = {}
    for line in lines:
        try:
            row = json.loads(line)
            page = Page(**{name: str(row[name]) for name in Page.__slots__})
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
        suffix = "." + page.file.rpartition(".")[2]
        # The name is made again, since what stands in a file must not lead out of the folder.
        if page.file == file_name(page.url, suffix) and "/" not in suffix:
            found[page.url] = page
    return found


def _line(page: Page) -> bytes:
    return json.dumps(asdict(page), ensure_ascii=False, sort_keys=True).encode() + b"\n"


def _unwritable(path: Path, error: OSError) -> StorageFailed:
    return StorageFailed(f"{path} cannot be written: {error.strerror}. Free space or allow writing there")
