"""URLs of indexes in a database."""

import sys

import pytest

from polygraph.errors import BadInput, MissingExtra
from polygraph.postgresql import connect, is_database_url, parse_url


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgresql://localhost/texts", True),
        ("postgres://localhost/texts", True),
        ("PostgreSQL://localhost/texts", True),
        ("postgresql.index", False),
        ("s3://bucket/postgresql://", False),
    ],
)
def test_a_url_of_a_database_is_known_by_its_scheme(text, expected):
    assert is_database_url(text) is expected


def test_the_schema_is_taken_out_of_what_libpq_gets():
    url = parse_url("postgresql://ann@db.example:5433/texts?sslmode=require&schema=handbook_2")
    assert url.schema == "handbook_2"
    assert "schema" not in url.conninfo
    assert url.conninfo.startswith("postgresql://ann@db.example:5433/texts?sslmode=require&")


def test_settings_of_the_url_win():
    assert "connect_timeout=3" in parse_url("postgresql://localhost/texts?connect_timeout=3").conninfo


def test_no_form_for_messages_holds_a_password():
    url = parse_url("postgresql://ann:hunter%402@one:1,two:2/texts?password=hunter3&sslpassword=hunter4")
    assert url.shown == "postgresql://ann@one:1,two:2/texts?schema=polygraph"
    assert "hunter" not in f"{url} {url!r}"


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://ann:hun/ter2@localhost/texts",
        "postgresql://ann:hun?ter2@localhost/texts",
        "postgresql://ann:hun#ter2@localhost/texts",
        "postgresql://ann:hunt@er2@localhost/texts",
        "postgresql://ann:hunter2/texts",
        "postgresql://localhost/texts?hunter2",
        "postgresql://localhost/texts?password=hunter2\n",
        "postgresql://localhost/texts?password=" + "hunter2" * 300,
    ],
)
def test_a_url_that_cannot_be_read_is_refused_without_quoting_it(text):
    with pytest.raises(BadInput) as caught:
        parse_url(text)
    assert "hun" not in str(caught.value)


@pytest.mark.parametrize("schema", ["", "Handbook", "1st", "a-b", 'a"; DROP TABLE x', "a" * 49, "pg.catalog"])
def test_a_schema_is_a_short_plain_identifier(schema):
    with pytest.raises(BadInput, match="such as schema=handbook"):
        parse_url(f"postgresql://localhost/texts?schema={schema}")


def test_without_the_driver_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"polygraph-rag\[postgres\]"):
        connect("postgresql://localhost/texts")
