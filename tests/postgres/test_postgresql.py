"""Connecting to a database and migrating the schema of an index."""

import threading

import pytest

from polygraph.errors import IndexLocked, IndexUnreadable, StorageFailed
from polygraph.postgresql import connect, database_errors_explained, migrate, parse_url, schema_version

TABLES = ("CREATE TABLE letter (id integer PRIMARY KEY); INSERT INTO letter VALUES (1)",)
MORE = (*TABLES, "ALTER TABLE letter ADD COLUMN author text NOT NULL DEFAULT 'Mara'")


@pytest.fixture
def connection(url):
    with connect(url) as opened:
        yield opened


def test_tables_are_created_in_the_schema_of_the_url(connection):
    migrate(connection, "letters", TABLES)
    assert connection.execute("SELECT * FROM papers.letter").fetchall() == [(1,)]
    assert connection.execute("SELECT * FROM letter").fetchall() == [(1,)]
    assert schema_version(connection, "letters") == 1


def test_only_missing_migrations_run(connection):
    migrate(connection, "letters", TABLES)
    migrate(connection, "letters", MORE)
    migrate(connection, "letters", MORE)
    assert connection.execute("SELECT * FROM letter").fetchall() == [(1, "Mara")]
    assert schema_version(connection, "letters") == 2


def test_components_have_versions_of_their_own(connection):
    migrate(connection, "letters", MORE)
    assert schema_version(connection, "replies") == 0
    migrate(connection, "replies", ("CREATE TABLE reply (id integer)",))
    assert (schema_version(connection, "letters"), schema_version(connection, "replies")) == (2, 1)


def test_a_schema_of_a_newer_version_is_refused(connection):
    migrate(connection, "letters", MORE)
    with pytest.raises(
        IndexUnreadable, match=r"version 2 of its letters tables, where this one knows 1\. Upgrade"
    ):
        migrate(connection, "letters", TABLES)


def test_a_failed_migration_leaves_nothing(connection, url):
    broken = (*TABLES, "ALTER TABLE letter ADD COLUMN author text; SELECT no_such_column FROM letter")
    with (
        pytest.raises(IndexUnreadable, match="is not a readable index"),
        database_errors_explained("the database"),
    ):
        migrate(connection, "letters", broken)
    assert schema_version(connection, "letters") == 0
    assert connection.execute("SELECT to_regclass('letter')").fetchone() == (None,)


def test_two_processes_that_migrate_at_once_do_so_once(url):
    failures = []

    def run():
        try:
            with connect(url) as own:
                start.wait()
                migrate(own, "letters", MORE)
        except Exception as error:
            failures.append(error)

    start = threading.Barrier(6)
    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with connect(url) as opened:
        assert opened.execute("SELECT * FROM letter").fetchall() == [(1, "Mara")]


def test_two_indexes_in_one_database_do_not_meet(connection, database_url):
    migrate(connection, "letters", TABLES)
    with connect(f"{database_url}&schema=other") as other:
        migrate(other, "letters", TABLES)
        other.execute("DELETE FROM letter")
    assert connection.execute("SELECT * FROM letter").fetchall() == [(1,)]


def test_a_user_who_may_only_read_needs_no_right_to_create_schemas(connection, url):
    migrate(connection, "letters", TABLES)
    connection.execute(
        "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA papers TO reader; "
        "GRANT SELECT ON ALL TABLES IN SCHEMA papers TO reader"
    )
    try:
        with connect(url.replace("postgres@", "reader@")) as reader:
            migrate(reader, "letters", TABLES)
            with (
                pytest.raises(StorageFailed, match="Grant the user"),
                database_errors_explained("the database"),
            ):
                reader.execute("INSERT INTO letter VALUES (2)")
    finally:
        connection.execute("DROP OWNED BY reader; DROP ROLE reader")


def test_a_lock_that_another_process_holds_is_told(connection, url):
    migrate(connection, "letters", TABLES)
    with connect(url) as other, connection.transaction():
        connection.execute("LOCK TABLE letter")
        other.execute("SET lock_timeout = '50ms'")
        with (
            pytest.raises(IndexLocked, match="Wait until it ends"),
            database_errors_explained("the database"),
        ):
            other.execute("INSERT INTO letter VALUES (2)")


def test_a_lost_connection_is_told(connection, url):
    with connect(url) as other:
        own = other.execute("SELECT pg_backend_pid()").fetchone()
        connection.execute("SELECT pg_terminate_backend(%s)", own)
        with pytest.raises(StorageFailed, match="run the same command again"), database_errors_explained("x"):
            other.execute("SELECT 1")


def test_a_server_that_does_not_answer_is_told_without_the_password(tmp_path):
    url = parse_url(f"postgresql://ann:hunter2@/texts?host={tmp_path}&sslpassword=hunter3")
    with pytest.raises(IndexUnreadable, match="cannot connect to postgresql://ann@/texts") as caught:
        connect(url)
    assert "hunter" not in f"{caught.value} {caught.value.__cause__} {url!r}"
    assert "Is the server" not in str(caught.value), "what libpq asks is left to our own advice"


def test_a_database_that_does_not_exist_is_told(postgresql_server):
    with pytest.raises(IndexUnreadable, match='database "nowhere" does not exist'):
        connect(postgresql_server.format(database="nowhere"))
