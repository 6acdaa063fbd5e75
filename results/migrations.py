"""The database's history: ordered functions, each in one transaction with the row that says it was applied.

A released migration is never changed; what it made is kept as a database file in the tests. SQL is written out, because
`schema.py` describes today's tables and these describe yesterday's.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from sqlalchemy import Connection, Engine, inspect, text

from .errors import ResultsError

MARKER = "hpltune_migrations"


def m001_studies_trials_outputs(connection: Connection) -> None:
    """The first schema."""
    connection.execute(
        text("""
        CREATE TABLE studies (
            name TEXT PRIMARY KEY, created_at TEXT NOT NULL, state TEXT NOT NULL, space_name TEXT NOT NULL,
            space_text TEXT NOT NULL, engine TEXT NOT NULL, rpeak_gflops FLOAT, price_usd FLOAT, power_w FLOAT,
            options TEXT NOT NULL, host TEXT NOT NULL, versions TEXT NOT NULL, owner TEXT)
        """)
    )
    connection.execute(
        text("""
        CREATE TABLE trials (
            study TEXT NOT NULL REFERENCES studies (name) ON DELETE CASCADE, number INTEGER NOT NULL,
            kind TEXT NOT NULL, state TEXT NOT NULL, invalidity TEXT, reason TEXT NOT NULL, key TEXT NOT NULL,
            "N" INTEGER, "NB" INTEGER, "P" INTEGER, "Q" INTEGER, "PMAP" INTEGER, threshold FLOAT, "PFACT" INTEGER,
            "NBMIN" INTEGER, "NDIV" INTEGER, "RFACT" INTEGER, "BCAST" INTEGER, "DEPTH" INTEGER, "SWAP" INTEGER,
            swap_threshold INTEGER, "L1" INTEGER, "U" INTEGER, "EQUIL" BOOLEAN, alignment INTEGER,
            blas TEXT NOT NULL, kernel TEXT NOT NULL, ranks INTEGER, threads INTEGER,
            time_s FLOAT, gflops FLOAT, residual FLOAT, passed BOOLEAN, cost_s FLOAT,
            started_at TEXT NOT NULL, ended_at TEXT,
            library TEXT, library_version TEXT, library_kernel TEXT, library_threads INTEGER, hosts TEXT,
            command TEXT NOT NULL, directory TEXT NOT NULL, xhpl_key TEXT NOT NULL, params TEXT NOT NULL,
            PRIMARY KEY (study, number))
        """)
    )
    connection.execute(text("CREATE INDEX trials_by_key ON trials (study, key)"))
    connection.execute(
        text("""
        CREATE TABLE outputs (
            study TEXT NOT NULL, number INTEGER NOT NULL, hpl_dat TEXT NOT NULL,
            stdout_zlib BLOB NOT NULL, stderr_zlib BLOB NOT NULL, PRIMARY KEY (study, number),
            FOREIGN KEY (study, number) REFERENCES trials (study, number) ON DELETE CASCADE)
        """)
    )


MIGRATIONS: Sequence[Callable[[Connection], None]] = (m001_studies_trials_outputs,)


def applied(engine: Engine) -> list[str]:
    """Names of the migrations a database has had; reads only.

    Raises:
        ResultsError: the database belongs to another program.
    """
    tables = set(inspect(engine).get_table_names())
    if MARKER not in tables:
        if tables:
            raise ResultsError(
                f"{engine.url.database} is not a database of hpltune: it holds {', '.join(sorted(tables)[:3])}; "
                "give another file with --db"
            )
        return []
    with engine.connect() as connection:
        return list(connection.execute(text(f"SELECT name FROM {MARKER} ORDER BY number")).scalars())  # noqa: S608


def migrate(engine: Engine) -> None:
    """Bring a database to the current schema, or leave it untouched.

    Raises:
        ResultsError: it belongs to another program, or was written by a newer hpltune.
    """
    names = applied(engine)
    known = [migration.__name__ for migration in MIGRATIONS]
    if names[: len(known)] != known[: len(names)] or len(names) > len(known):
        raise ResultsError(
            f"{engine.url.database} was written by a newer hpltune (schema {len(names)}, this one knows {len(known)}): "
            "update hpltune, or give another file with --db"
        )
    for number, migration in enumerate(MIGRATIONS[len(names) :], start=len(names) + 1):
        with engine.begin() as connection:
            if number == 1:
                columns = "number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL"
                connection.execute(text(f"CREATE TABLE {MARKER} ({columns})"))
            migration(connection)
            connection.execute(
                text(f"INSERT INTO {MARKER} VALUES (:number, :name, :at)"),  # noqa: S608 - a constant name
                {"number": number, "name": migration.__name__, "at": datetime.now(UTC).isoformat()},
            )
