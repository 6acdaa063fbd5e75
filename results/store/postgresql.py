"""A database in PostgreSQL: the connection, the locks of living processes, and the meaning of errors."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, func, make_url, select, text
from sqlalchemy.exc import ArgumentError

from ..errors import DatabaseAddressError, ResultsError
from .database import Database
from .lease import Lease
from .migrations import applied

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import DBAPIConnection, Dialect

SCHEMES = ("postgresql", "postgresql+psycopg", "postgres")
SHAPE = "postgresql://user@host:port/name"
SECRETS = ("password", "sslpassword")
"""Parameters of a URL that are never shown; libpq accepts them there too."""
AWAY_S = 60.0
"""Seconds that a known server may be unreachable, for example during a restart; we wait once."""
ALONE = 0x68706C74756E65
"""The advisory lock of blocks that run one at a time: "hpltune" in ASCII. Such a lock is a number within a database."""
CONNECTING = {
    "application_name": "hpltune",
    "client_encoding": "utf8",
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
"""Parameters of libpq, which a URL may overrule; they detect a lost server after a minute, not after hours."""
_SESSION = """
SELECT set_config(name, value, false)
FROM pg_settings JOIN (VALUES
    ('synchronous_commit', 'on'), ('idle_session_timeout', '0'),
    ('tcp_keepalives_idle', '30'), ('tcp_keepalives_interval', '10'), ('tcp_keepalives_count', '3'),
    ('tcp_user_timeout', '60000')
) AS wanted (name, value) USING (name)
WHERE name <> 'synchronous_commit' OR setting = 'off'
"""
"""Settings of a session, as far as the server's version knows them: a reported commit is on disk, an idle session stays
open, and the server detects a lost client after a minute."""
_LOST = "the connection was lost: everything finished before is kept, go on when the server is there again"
_NOBODY = "no server answers there: start it, or correct host and port in the URL"
_CROSSED = "another program changed the same rows: everything finished before is kept, try again"
_RIGHTS = "{said}: ask its owner for the right to create and change tables there, or use a database of your own"
_FULL = "the server has no connection left: try again later"
FULL_DISK = "53100"
_STATES = {
    "25006": "it can only be read, as a standby can: give the primary server with ⟦db⟧",
    "3F000": _RIGHTS,
    "40001": _CROSSED,
    "40P01": _CROSSED,
    "42501": _RIGHTS,
    FULL_DISK: "the server's disk is full: make room there and go on, everything finished before is kept",
    "53300": _FULL,
    "55P03": "another program is writing to it: end that one or try again",
    "57P01": _LOST,
    "57P02": _LOST,
    "57P05": _LOST,
}
"""Codes of SQLSTATE (PostgreSQL's manual, appendix A), each with the sentence for the user."""
_WORDS = {
    "server closed the connection|connection (is|has been) (lost|closed)|could not (receive|send) data": _LOST,
    "password authentication failed": "the server refused user or password: correct PGPASSWORD or ~/.pgpass",
    "no password supplied": "the server wants a password: give it with PGPASSWORD or in ~/.pgpass",
    "pg_hba[.]conf": "the server lets this user in neither from this host nor in this way: ask who runs it",
    'role ".*" does not exist': "the server knows no such user: give another in the URL, " + SHAPE,
    'database ".*" does not exist': "the server has no such database: make it with createdb, or correct the URL",
    "Connection refused|on socket .* No such file|No route to host|Network is unreachable|timeout expired": _NOBODY,
    "invalid response to|unsupported frontend protocol|expected authentication request": (
        "what answers there is no PostgreSQL server: correct host and port in the URL"
    ),
    "failed to resolve host": "the host's name is not known: correct it in the URL",
    "starting up": "the server is starting: try again in a moment",
    "shutting down": "the server is being stopped: try again when it is there again",
    "too many clients|too many connections|remaining connection slots": _FULL,
}
"""Regular expressions for messages of libpq while it connects, which have no SQLSTATE, and the sentences."""


class PostgresqlDatabase(Database):
    """A database on a server that many hosts may share.

    Each connection holds a shared lock that represents its process. The server drops the lock when the process ends, or
    when its host has been silent for a minute. So the lease of a dead process blocks nobody, on any host.
    """

    read_options: ClassVar = {"isolation_level": "REPEATABLE READ"}
    lost_host: ClassVar = "; if that host died, the server notices after a minute"

    def __init__(self, url: str, busy_s: float) -> None:
        parsed = _parsed(url)
        super().__init__(_engine(parsed), _shown(parsed))
        self._busy_s = busy_s
        self._away_s = 0.0
        self._reached = False
        event.listen(self.engine, "do_connect", self._connect)
        event.listen(self.engine, "connect", self._prepare)

    def check(self, *, create: bool) -> None:
        """Check the database as the contract says; its encoding must be UTF8, because trials contain Unicode text."""
        with self.reading() as connection:
            encoding = connection.execute(text("SHOW server_encoding")).scalar()
            if encoding not in {"UTF8", "SQL_ASCII"}:
                raise ResultsError(
                    f"database {self.place} has the encoding {encoding}: make one with createdb -E UTF8 -T template0"
                )
            if not create and not applied(connection, self.place):
                raise ResultsError(
                    f"database {self.place} holds nothing of hpltune yet: `hpltune tune` makes its tables, "
                    "or name another with ⟦db⟧"
                )

    def keep(self, _schema: int) -> str:
        """Make no copy, which only the server's tools can."""
        return "hpltune copies no database on a server: `pg_dump` makes a copy before the next update"

    def settle(self) -> None:
        """Wait for an unreachable server from now on."""
        self._away_s = AWAY_S

    def version(self) -> str:
        """Return which transactions are visible; one that only reads makes no difference."""
        with self.reading() as connection:
            return str(connection.execute(text("SELECT txid_current_snapshot()")).scalar_one())

    def alive(self, connection: Connection, lease: Lease) -> bool:
        """Return as the contract says; on this host a process without a connection also counts as running."""
        free = connection.execute(select(func.pg_try_advisory_xact_lock(_mark(lease)))).scalar()
        return not free or (lease.of_this_host and lease.alive)

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """Run the block as the contract says."""
        with self.writing() as connection:
            connection.execute(select(func.pg_advisory_xact_lock(ALONE)))
            yield connection

    def meaning(self, error: BaseException) -> str:
        """Explain an error as the contract says."""
        said = " ".join(str(error).partition("\n")[0].split())
        by_state = _STATES.get(getattr(error, "sqlstate", None) or "")
        by_words = (meaning for sign, meaning in _WORDS.items() if re.search(sign, str(error)))
        meaning = by_state or next(by_words, "{said}")
        return (_NOBODY if meaning is _LOST and not self._reached else meaning).format(said=said)

    def lacks_room(self, error: BaseException) -> bool:
        """Return as the contract says."""
        return getattr(error, "sqlstate", None) == FULL_DISK

    def _connect(
        self, dialect: Dialect, _record: object, arguments: list[object], options: dict[str, object]
    ) -> DBAPIConnection:
        from .silence import ImpatientConnection  # noqa: PLC0415 - psycopg may be missing

        connect: Callable[..., Any] = ImpatientConnection.connect
        give_up_at = time.monotonic() + self._away_s
        while True:
            try:
                connection: DBAPIConnection = connect(*arguments, **options)
            except dialect.loaded_dbapi.OperationalError:
                if time.monotonic() >= give_up_at:
                    self._away_s = 0.0
                    raise
                time.sleep(0.5)
            else:
                return connection

    def _prepare(self, connection: DBAPIConnection, _record: object) -> None:
        self._reached = True
        cursor = connection.cursor()
        cursor.execute(_SESSION)
        cursor.execute(f"SET lock_timeout = {self._busy_s * 1000:.0f}")
        cursor.execute(f"SELECT pg_advisory_lock_shared({_mark(Lease.mine())})")
        connection.commit()


def _parsed(url: str) -> URL:
    scheme = url.partition("://")[0]
    if scheme not in SCHEMES:
        raise DatabaseAddressError(f"give the path of a SQLite file, or {SHAPE}", field="db", given=f"{scheme}://…")
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise DatabaseAddressError(
            f"this is no URL of a database: write {SHAPE}", field="db", given=f"{scheme}://…"
        ) from error
    if "@" in (parsed.host or ""):
        raise DatabaseAddressError(
            "there are two @: write one in a password as %40, or give it with PGPASSWORD",
            field="db",
            given=f"{scheme}://…",
        )
    return parsed.set(drivername="postgresql+psycopg")


def _shown(url: URL) -> str:
    query = {name: value for name, value in url.query.items() if name not in SECRETS}
    return str(URL.create("postgresql", url.username, None, url.host, url.port, url.database, query))


def _engine(url: URL) -> Engine:
    try:
        return create_engine(
            url.set(query={**CONNECTING, **url.query}), isolation_level="READ COMMITTED", pool_pre_ping=True
        )
    except ImportError as error:
        raise ResultsError(
            "PostgreSQL needs the Python package psycopg, which is missing: install it with "
            f"{sys.executable} -m pip install 'psycopg[binary]'"
        ) from error


def _mark(lease: Lease) -> int:
    """Return the number of the lock that represents a process."""
    return int.from_bytes(blake2b(str(lease).encode(), digest_size=8).digest(), signed=True)
