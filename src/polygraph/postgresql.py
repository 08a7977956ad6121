"""Connections to PostgreSQL: the URL of an index, migrations, and errors that say what to do.

One index is one schema of a database. The URL is that of libpq with one more parameter, which names the schema:
``postgresql://user@host:5432/database?schema=handbook``.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from polygraph.errors import (
    BadInput,
    IndexLocked,
    IndexUnreadable,
    MissingExtra,
    PolygraphError,
    StorageFailed,
)

if TYPE_CHECKING:
    import psycopg

    DatabaseConnection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

DEFAULT_SCHEMA = "polygraph"
CONNECT_TIMEOUT_S = 10
LOCK_TIMEOUT_S = 30
"""How long a statement waits for a lock that another process holds."""
MAX_URL = 2_000
ESCAPE = "\x10"
"""PostgreSQL stores every character but U+0000. It is stored as this one (data link escape) and an ``n``, and this one
as itself and a ``d``."""
_SCHEMES = ("postgresql://", "postgres://")
_SCHEMA = re.compile(r"[a-z][a-z0-9_]{0,47}")
_HOSTS = re.compile(r"(?:(?:\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._%-]*)(?::\d{1,5})?,?)*")
_SHOWN_PARAMETERS = ("dbname", "host", "hostaddr", "port", "user")
"""Parameters of a URL that can hold no secret."""
_SETTINGS = {
    "connect_timeout": str(CONNECT_TIMEOUT_S),
    "application_name": "polygraph",
    "client_encoding": "UTF8",
    # A connection whose other end is gone is noticed within a minute.
    "keepalives_idle": "20",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
"""Parameters of libpq that a URL may override."""
_FULL = {"53100", "53200", "54000"}
_LOCKED = {"40001", "40P01", "55P03", "57014"}
_FORBIDDEN = {"25006", "42501"}
_MISSING = {"3F000", "42P01", "42703"}


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """The parts of the URL of an index in a database."""

    conninfo: str
    """URL for libpq; may hold a password."""
    schema: str
    """Schema that holds the tables of the index: lower-case letters, digits and underscores."""
    shown: str
    """URL for messages: without password."""

    def __repr__(self) -> str:
        return f"DatabaseUrl({self.shown!r})"

    def __str__(self) -> str:
        return self.shown


def is_database_url(text: str) -> bool:
    """Tell whether a text names an index in PostgreSQL instead of a folder."""
    return text.lower().startswith(_SCHEMES)


def parse_url(text: str) -> DatabaseUrl:
    """Split the URL of an index into what libpq gets, the schema, and a form for messages.

    Raises:
        BadInput: if it is no such URL; the message quotes no part that could hold a password.

    >>> parse_url("postgresql://ann:secret@db.example/texts?schema=handbook")
    DatabaseUrl('postgresql://ann@db.example/texts?schema=handbook')
    >>> parse_url("postgresql://db.example/texts").schema
    'polygraph'
    """
    if not is_database_url(text):
        raise BadInput("the URL of a database must begin with postgresql://")
    if len(text) > MAX_URL or not text.isprintable():
        raise BadInput(f"the URL of a database must have at most {MAX_URL:,} printable characters")
    parts = urlsplit(text)
    account, at, hosts = parts.netloc.rpartition("@")
    if (
        "@" in account
        or "@" in text.partition(parts.netloc)[2]
        or parts.fragment
        or not _HOSTS.fullmatch(hosts)
    ):
        raise BadInput(
            "the URL of the database cannot be read: it must have the form "
            "postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME, with the characters @ / ? # and : of a "
            "password written as %40 %2F %3F %23 and %3A"
        )
    try:
        parameters = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError:
        raise BadInput("a parameter in the URL of the database does not have the form NAME=VALUE") from None
    schema = parameters.pop("schema", DEFAULT_SCHEMA)
    if not _SCHEMA.fullmatch(schema):
        raise BadInput(
            f"the schema {schema[:60]!r} in the URL of the database must be a lower-case letter and at most 47 more "
            "lower-case letters, digits and underscores, such as schema=handbook"
        )
    for name, default in _SETTINGS.items():
        parameters.setdefault(name, default)
    user = account.partition(":")[0]
    shown = {name: parameters[name] for name in _SHOWN_PARAMETERS if name in parameters} | {"schema": schema}
    return DatabaseUrl(
        conninfo=f"postgresql://{parts.netloc}{parts.path}?{urlencode(parameters, quote_via=quote)}",
        schema=schema,
        shown=f"postgresql://{user}{'@' if at and user else ''}{hosts}{parts.path}?{urlencode(shown, safe='/')}",
    )


def connect(url: DatabaseUrl | str) -> "DatabaseConnection":
    """Connect to the database of an index, with its schema first in the search path.

    Every statement is a transaction of its own unless one is begun. The schema need not exist: `migrate` creates it.

    Raises:
        BadInput: if the URL cannot be read.
        MissingExtra: if psycopg is not installed.
        IndexUnreadable: if the server does not let us in.
    """
    psycopg = driver()
    place = parse_url(url) if isinstance(url, str) else url
    try:
        connection: DatabaseConnection = psycopg.connect(place.conninfo, autocommit=True)
    except psycopg.Error as error:
        # Without the cause: libpq may quote the URL.
        raise IndexUnreadable(
            f"cannot connect to {place.shown}: {_without_password(str(error), place)}. Check that the server runs, and "
            "the host, user, password and database of the URL"
        ) from None
    _adapt_text(connection)
    with database_errors_explained(place.shown):
        connection.execute(
            "SELECT set_config('search_path', %s, false), set_config('lock_timeout', %s, false), "
            "set_config('client_min_messages', 'warning', false)",
            (f"{place.schema}, public", f"{LOCK_TIMEOUT_S}s"),
        )
    return connection


def is_open(connection: "DatabaseConnection") -> bool:
    """Tell whether a connection was not ended by either side, as far as is known here: nothing is sent to the server.

    No other thread may use the connection meanwhile.
    """
    psycopg = driver()
    if not connection.closed:
        # An end is only noticed when something is read: first what the server gave as the reason, then the end itself.
        with suppress(psycopg.OperationalError):
            connection.pgconn.consume_input()
            connection.pgconn.consume_input()
    return not connection.closed


def driver() -> ModuleType:
    """Import psycopg.

    Raises:
        MissingExtra: if it is not installed.
    """
    try:
        import psycopg
    except ImportError as error:
        raise MissingExtra("an index at postgresql://", "postgres") from error
    return psycopg


def schema_version(connection: "DatabaseConnection", component: str) -> int:
    """Return the number of migrations of a component that the schema of a connection has; 0 without any."""
    table = f"{_schema(connection)}.polygraph_migrations"
    found = connection.execute("SELECT to_regclass(%s)", (table,)).fetchone()
    if found is None or found[0] is None:
        return 0
    row = connection.execute(
        f"SELECT coalesce(max(version), 0) FROM {table} WHERE component = %s",  # noqa: S608  a checked identifier
        (component,),
    ).fetchone()
    return int(row[0]) if row else 0


def migrate(connection: "DatabaseConnection", component: str, migrations: Sequence[str]) -> None:
    """Bring the tables of a component up to date: run the migrations that the schema does not have.

    All of them are one transaction, and only one process at a time migrates a schema, so that a killed process leaves
    the old tables or the new ones.

    Args:
        connection: from `connect`, with no transaction begun.
        component: the part of Polygraph that owns the tables.
        migrations: SQL scripts, the oldest first; the first creates the tables. Scripts that were released never
            change: their number is the version.

    Raises:
        IndexUnreadable: if the schema was written by a newer version of Polygraph.
    """
    if known_version(connection, component, len(migrations)) == len(migrations):
        return
    schema = _schema(connection)
    with connection.transaction():
        connection.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"polygraph migrate {schema}",)
        )
        # Even `IF NOT EXISTS` asks for the right to create schemas.
        if not connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone():
            connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {schema}.polygraph_migrations ("
            "component text NOT NULL, version integer NOT NULL, PRIMARY KEY (component, version))"
        )
        done = known_version(connection, component, len(migrations))
        if done == len(migrations):
            return
        for version in range(done + 1, len(migrations) + 1):
            connection.execute(migrations[version - 1])
            connection.execute(
                f"INSERT INTO {schema}.polygraph_migrations VALUES (%s, %s)",  # noqa: S608  a checked identifier
                (component, version),
            )


def known_version(connection: "DatabaseConnection", component: str, known: int) -> int:
    """Return the number of migrations that a schema has, see `schema_version`.

    Raises:
        IndexUnreadable: if it is more than is known here.
    """
    version = schema_version(connection, component)
    if version > known:
        raise IndexUnreadable(
            f"the schema {_schema(connection)} was written by a newer version of Polygraph: version {version} of its "
            f"{component} tables, where this one knows {known}. Upgrade Polygraph, or choose another schema in the URL"
        )
    return version


def _schema(connection: "DatabaseConnection") -> str:
    """Return the schema of a connection, which `connect` put first in the search path."""
    row = connection.execute("SELECT current_setting('search_path')").fetchone()
    schema = str(row[0]).partition(",")[0] if row else ""
    if not _SCHEMA.fullmatch(schema):
        raise ValueError("the connection is not from `connect`")
    return schema


@contextmanager
def database_errors_explained(shown: str) -> Iterator[None]:
    """Convert errors of psycopg inside a ``with`` block into ours.

    Args:
        shown: the URL for messages, without password.
    """
    psycopg = driver()
    try:
        yield
    except psycopg.Error as error:
        raise explain_database_error(error, shown) from error


def explain_database_error(error: Exception, shown: str) -> PolygraphError:
    """Convert an error of psycopg to one that says what to do."""
    state = getattr(error, "sqlstate", None) or ""
    text = " ".join(str(error).split())
    if state in _FULL:
        return StorageFailed(
            f"the server of {shown} has no room left ({text}). Free some space and run the same command again"
        )
    if state in _LOCKED:
        return IndexLocked(f"{shown} is locked by another process ({text}). Wait until it ends and try again")
    if state in _FORBIDDEN:
        return StorageFailed(
            f"{shown} cannot be used ({text}). Grant the user of the URL the right to read the tables of the schema, "
            "and to create and change them for commands that write, or choose another with schema=NAME"
        )
    if state in _MISSING:
        return IndexUnreadable(f"{shown} is not a readable index ({text})")
    if not state or state.startswith(("08", "57")):
        return StorageFailed(
            f"the connection to {shown} was lost ({text}). What was committed is kept: run the same command again"
        )
    return StorageFailed(f"{shown}: {text}")


def _without_password(text: str, url: DatabaseUrl) -> str:
    """Return an error of libpq on one line, without its advice (lines with a tab) and without the secrets of a URL."""
    parts = urlsplit(url.conninfo)
    account = parts.netloc.rpartition("@")[0].partition(":")[2]
    secrets = [account, *(value for name, value in parse_qsl(parts.query) if "password" in name)]
    for secret in (form for value in secrets for form in (value, unquote(value)) if form):
        text = text.replace(secret, "***")
    said = " ".join(line for line in text.splitlines() if not line.startswith("\t"))
    return " ".join(said.split()).rstrip(".")


def escape(text: str) -> str:
    r"""Return a text without U+0000 from which `unescape` makes the text again.

    >>> escape("a\x00b\x10"), unescape(escape("a\x00b\x10"))
    ('a\x10nb\x10d', 'a\x00b\x10')
    """
    if "\0" in text or ESCAPE in text:
        return text.replace(ESCAPE, f"{ESCAPE}d").replace("\0", f"{ESCAPE}n")
    return text


def unescape(text: str) -> str:
    """Reverse `escape`."""
    if ESCAPE in text:
        return text.replace(f"{ESCAPE}n", "\0").replace(f"{ESCAPE}d", ESCAPE)
    return text


def _adapt_text(connection: "DatabaseConnection") -> None:
    """Have a connection escape and unescape texts."""
    psycopg = driver()
    from psycopg.types.string import StrDumperUnknown, TextLoader

    class EscapingDumper(StrDumperUnknown):
        def dump(self, obj: str) -> Any:
            return super().dump(escape(obj))

    class UnescapingLoader(TextLoader):
        def load(self, data: Any) -> Any:
            found = super().load(data)
            return unescape(found) if isinstance(found, str) else found

    connection.adapters.register_dumper(str, EscapingDumper)
    connection.adapters.register_loader(psycopg.adapters.types["text"].oid, UnescapingLoader)
