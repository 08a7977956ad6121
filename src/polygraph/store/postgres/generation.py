"""Whether an index in PostgreSQL has a new finished state: asked before each question, over a connection that stays."""

import os
import threading

from polygraph.errors import IndexUnreadable, StorageFailed
from polygraph.postgresql import DatabaseUrl, database_errors_explained, schema_version
from polygraph.store.postgres.connection import PostgresConnection
from polygraph.store.postgres.schema import COMPONENT

_lock = threading.Lock()
_open: dict[tuple[int, str], PostgresConnection] = {}
"""Connections by process, since a forked one must not use them, and URL."""


def has_tables(url: DatabaseUrl) -> bool:
    """Tell whether there is an index.

    Raises:
        IndexUnreadable: if the server does not let us in.
        StorageFailed: if it was lost.
    """
    with _lock:
        connection = _connection(url)
        try:
            with database_errors_explained(url.shown):
                return schema_version(connection.raw, COMPONENT) > 0
        except StorageFailed:
            _forget(url)
            raise


def generation_of(url: DatabaseUrl) -> int | None:
    """Return the number of the finished state; None if there is no index.

    Raises:
        IndexUnreadable: if the server does not let us in.
        StorageFailed: if it was lost, also after a second try.
    """
    with _lock:
        for again in (True, False):
            connection = _connection(url)
            try:
                ((found,),) = connection.rows("SELECT generation FROM finished_state")
                return int(found)
            except IndexUnreadable:
                return None
            except StorageFailed:
                _forget(url)
                if not again:
                    raise
    return None


def _connection(url: DatabaseUrl) -> PostgresConnection:
    key = (os.getpid(), url.shown)
    if key not in _open:
        _open[key] = PostgresConnection(url, read_only=False)
    return _open[key]


def _forget(url: DatabaseUrl) -> None:
    _open.pop((os.getpid(), url.shown)).close()
