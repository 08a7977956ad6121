"""What every store must promise (`polygraph.store.protocol`), checked on small tables that are written for it."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Literal, TypeAlias

from polygraph.store.generations import begin_write, finish_write
from polygraph.store.protocol import Store, StoreReader
from tests.contract.table_checks import TABLE_CHECKS
from tests.contract.table_checks.expect import expect
from tests.store_records import put_document

OpenStore: TypeAlias = Callable[[Path, Literal["read", "write"]], Store]
"""Opens the store of a folder; ``write`` creates it if it is not there."""
OpenFinished: TypeAlias = Callable[[Path], StoreReader]
"""Opens the last finished state of the store of a folder, as readers see it while a write is in progress."""


def check_store(open_store: OpenStore, open_finished: OpenFinished) -> None:
    """Check that a store keeps the promises of `polygraph.store.protocol`. No network, a few seconds.

    Checked in new folders: everything comes back as it was put, in the promised order and for any number of keys;
    replacing and removing documents leaves nothing behind; row numbers do not depend on the order of arrival; a
    transaction is applied whole or not at all; a reader sees one state for as long as it is open; several threads can
    read; vectors are found as in the files of their layer; readers see the last finished state while a write is in
    progress.

    Args:
        open_store: opens the store of a folder.
        open_finished: opens its last finished state; for SQLite `store.generations.open_finished`.

    Raises:
        AssertionError: naming the promise that was broken.
    """
    for check in TABLE_CHECKS:
        with TemporaryDirectory() as folder, closing(open_store(Path(folder), "write")) as store:
            check(store)
    for check_with in (_check_transactions, _check_readers, _check_threads):
        with TemporaryDirectory() as folder:
            check_with(open_store, Path(folder))
    with TemporaryDirectory() as folder:
        _check_finished_state(open_store, open_finished, Path(folder))


def _check_transactions(open_store: OpenStore, folder: Path) -> None:
    with closing(open_store(folder, "write")) as store:
        with store.transaction():
            document, _ = put_document(store, "d")
        try:
            with store.transaction():
                store.documents.remove("d")
                store.set_meta("k", "v")
                raise InterruptedError
        except InterruptedError:
            pass
        found = (store.documents.get("d"), store.meta("k"))
        expect(found, (document, None), "a transaction that fails changes nothing")
        with store.transaction():
            store.set_meta("k", "v")
        expect(store.meta("k"), "v", "after a transaction that failed another one can begin")


def _check_readers(open_store: OpenStore, folder: Path) -> None:
    with closing(open_store(folder, "write")) as store:
        with store.transaction():
            document, _ = put_document(store, "d")
        with closing(open_store(folder, "read")) as early:
            with store.transaction():
                store.documents.remove("d")
                put_document(store, "e")
                with closing(open_store(folder, "read")) as reader:
                    expect(reader.documents.get("d"), document, "a reader does not see an open transaction")
            expect(early.documents.get("d"), document, "a reader sees one state for as long as it is open")
            expect(early.documents.get("e"), None, "a reader does not see what was added after it was opened")
            with closing(open_store(folder, "read")) as late:
                expect(late.documents.get("d"), None, "a new reader sees the last committed state")
            try:
                with early.transaction():
                    early.documents.remove("d")
            except Exception:
                pass
            else:
                raise AssertionError("a reader cannot write: a change by a reader was accepted")
        with closing(open_store(folder, "read")) as reader:
            expect(list(reader.documents.hashes()), ["e"], "a failed write by a reader changes nothing")


def _check_threads(open_store: OpenStore, folder: Path) -> None:
    with closing(open_store(folder, "write")) as store:
        with store.transaction():
            put_document(store, "d")
            store.documents.number_chunks()
        wanted = store.documents.chunks_by_row([0, 1, 2])
    wrong: list[object] = []

    def read(reader: Store) -> None:
        try:
            for _ in range(50):
                found = reader.documents.chunks_by_row([0, 1, 2])
                if found != wanted:
                    wrong.append(found)
        except Exception as error:
            wrong.append(error)

    with closing(open_store(folder, "read")) as reader:
        threads = [Thread(target=read, args=[reader]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    expect(wrong[:1], [], "several threads can read from one reader")


def _check_finished_state(open_store: OpenStore, open_finished: OpenFinished, folder: Path) -> None:
    def documents() -> list[str]:
        with closing(open_finished(folder)) as reader:
            return list(reader.documents.hashes())

    with closing(open_store(folder, "write")) as store:
        with store.transaction():
            put_document(store, "d")
            store.put_layer("chunks", "v", 3, 0.5)
        expect(documents(), ["d"], "without a write in progress the tables are the finished state")
        begin_write(store)
        with store.transaction():
            store.documents.remove("d")
        expect(documents(), ["d"], "while a write is in progress readers see the last finished state")
    expect(documents(), ["d"], "readers see the last finished state after a writer was stopped")
    with closing(open_store(folder, "write")) as store:
        begin_write(store)
        expect(documents(), ["d"], "a write that is continued does not replace the finished state")
        finish_write(store)
        expect(documents(), [], "when a write is finished readers see the new state")
        expect(store.compact(), True, "compact succeeds if nobody reads")
    expect(documents(), [], "the store can be read after it was compacted")
