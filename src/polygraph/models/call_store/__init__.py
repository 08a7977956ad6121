"""Replies, vectors and the ledger: tables of calls in `calls.sqlite` or in a schema of PostgreSQL."""

import os
from pathlib import Path
from typing import TypeAlias

from polygraph.models.call_store.call_store import CallStore
from polygraph.models.call_store.records import (
    Attempt,
    Durability,
    LedgerRow,
    Outcome,
    Quarantined,
    QuestionUsage,
)
from polygraph.models.call_store.sqlite_calls import SqliteCalls
from polygraph.postgresql import DatabaseUrl

__all__ = [
    "CALLS_FILE",
    "Attempt",
    "CallPlace",
    "CallStore",
    "Durability",
    "LedgerRow",
    "Outcome",
    "Quarantined",
    "QuestionUsage",
    "calls_exist",
    "can_keep_calls",
    "open_call_store",
]

CALLS_FILE = "calls.sqlite"
"""File of the tables of calls, in the folder of an index."""

CallPlace: TypeAlias = Path | DatabaseUrl
"""Where the tables of calls are: a file, or a schema of a database."""


def open_call_store(place: CallPlace | None, durability: Durability = "normal") -> CallStore:
    """Open the tables of calls, created if missing; None keeps everything in memory.

    Args:
        place: of the tables.
        durability: `normal` survives the end of the process at any moment, `full` also a loss of power.

    Raises:
        IndexUnreadable: if the tables are damaged or have another format.
        StorageFailed: if they cannot be written.
        IndexLocked: if another process locks them for longer than the timeout.
        MissingExtra: if psycopg is not installed.
    """
    if isinstance(place, DatabaseUrl):
        from polygraph.models.call_store.postgresql_calls import PostgresqlCalls

        return CallStore(PostgresqlCalls(place, durability))
    return CallStore(SqliteCalls(place, durability))


def calls_exist(place: CallPlace) -> bool:
    """Tell whether there are tables of calls at a place."""
    if isinstance(place, DatabaseUrl):
        from polygraph.models.call_store.postgresql_calls import has_calls

        return has_calls(place)
    return place.is_file()


def can_keep_calls(place: CallPlace) -> bool:
    """Tell whether calls can be stored at a place: whether the folder, or the user of the database, may be written."""
    if isinstance(place, DatabaseUrl):
        from polygraph.models.call_store.postgresql_calls import can_write

        return can_write(place)
    existing = place.parent
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    return os.access(existing, os.W_OK)
