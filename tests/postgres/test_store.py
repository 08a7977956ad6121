"""The store in PostgreSQL keeps the promises of every store."""

from pathlib import Path

from polygraph.postgresql import DatabaseUrl, parse_url
from polygraph.store.database import SqliteStore
from polygraph.store.postgres.store import PostgresStore
from tests.contract.check_store import check_store


def url_for(database_url: str, folder: Path) -> DatabaseUrl:
    """One schema for each folder."""
    name = "".join(c if c.isalnum() else "_" for c in folder.name.lower())
    return parse_url(f"{database_url}&schema=i{name}")


def test_the_store_in_postgresql_keeps_all_promises(database_url):
    check_store(
        lambda folder, mode: PostgresStore(folder, url_for(database_url, folder), mode=mode),
        lambda folder: PostgresStore(folder, url_for(database_url, folder), mode="read", state="finished"),
    )


def test_both_databases_have_the_same_tables(database_url, tmp_path):
    sqlite = SqliteStore(tmp_path, mode="write")
    ours = PostgresStore(tmp_path, parse_url(database_url), mode="write")
    # `texts` is SQLite's own: PostgreSQL keeps descriptions in their rows.
    found = sqlite.connection.rows(
        "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c "
        "WHERE m.type = 'table' AND m.name NOT IN ('texts', 'sqlite_sequence') ORDER BY m.name, c.cid"
    )
    tables = sorted({table for table, _ in found})
    theirs = ours.connection.rows(
        "SELECT table_name, column_name FROM information_schema.columns "
        "WHERE table_schema = current_schema() AND table_name = ANY(?) ORDER BY table_name, ordinal_position",
        (tables,),
    )
    assert theirs == found
    sqlite.close()
    ours.close()
