"""Migrates databases: ordered lists of SQL, each in one transaction with the row that records it.

A released migration is never changed; the tests keep database files of earlier schemas. The SQL is written out, because
`schema.py` describes only the current tables.
"""

import json
import warnings
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, LargeBinary, inspect, text

from ..errors import ResultsError, StoreWarning
from .database import Database

MARKER = "hpltune_migrations"
"""The table of applied migrations; a database without it is not ours."""

MIGRATIONS: Sequence[tuple[str, Sequence[str]]] = (
    # Make the first schema.
    (
        "m001_studies_trials_outputs",
        (
            f"""
        CREATE TABLE {MARKER} (
            number INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL)
        """,
            """
        CREATE TABLE studies (
            name TEXT NOT NULL PRIMARY KEY, created_at TEXT NOT NULL, state TEXT NOT NULL, space_name TEXT NOT NULL,
            space_text TEXT NOT NULL, engine TEXT NOT NULL, rpeak_gflops FLOAT, price_usd FLOAT, power_w FLOAT,
            options TEXT NOT NULL, host TEXT NOT NULL, versions TEXT NOT NULL, owner TEXT)
        """,
            """
        CREATE TABLE trials (
            study TEXT NOT NULL, number INTEGER NOT NULL,
            kind TEXT NOT NULL, state TEXT NOT NULL, invalidity TEXT, reason TEXT NOT NULL, key TEXT NOT NULL,
            "N" INTEGER, "NB" INTEGER, "P" INTEGER, "Q" INTEGER, "PMAP" TEXT, threshold FLOAT, "PFACT" TEXT,
            "NBMIN" INTEGER, "NDIV" INTEGER, "RFACT" TEXT, "BCAST" TEXT, "DEPTH" INTEGER, "SWAP" TEXT,
            swap_threshold INTEGER, "L1" TEXT, "U" TEXT, "EQUIL" TEXT, alignment INTEGER,
            blas TEXT NOT NULL, kernel TEXT NOT NULL, ranks INTEGER, threads INTEGER,
            time_s FLOAT, gflops FLOAT, residual FLOAT, passed BOOLEAN, cost_s FLOAT,
            started_at TEXT NOT NULL, ended_at TEXT,
            library TEXT, library_version TEXT, library_kernel TEXT, library_threads INTEGER, hosts TEXT,
            command TEXT NOT NULL, directory TEXT NOT NULL, xhpl_key TEXT NOT NULL,
            params TEXT NOT NULL, versions TEXT NOT NULL,
            PRIMARY KEY (study, number), FOREIGN KEY (study) REFERENCES studies (name) ON DELETE CASCADE)
        """,
            "CREATE INDEX trials_by_key ON trials (study, key)",
            """
        CREATE TABLE outputs (
            study TEXT NOT NULL, number INTEGER NOT NULL,
            hpl_dat_zlib BLOB NOT NULL, stdout_zlib BLOB NOT NULL, stderr_zlib BLOB NOT NULL,
            PRIMARY KEY (study, number),
            FOREIGN KEY (study, number) REFERENCES trials (study, number) ON DELETE CASCADE)
        """,
        ),
    ),
    # Add the part of a full run and the session to trials.
    (
        "m002_parts_and_sessions",
        (
            "ALTER TABLE trials ADD COLUMN part FLOAT NOT NULL DEFAULT 1",
            "ALTER TABLE trials ADD COLUMN session INTEGER NOT NULL DEFAULT 0",
        ),
    ),
    # Add the original settings and the measurements of networks.
    (
        "m003_networks",
        (
            """
        CREATE TABLE network_originals (
            host TEXT NOT NULL, interface TEXT NOT NULL, setting TEXT NOT NULL, value TEXT NOT NULL,
            ssh TEXT NOT NULL, study TEXT, owner TEXT NOT NULL, recorded_at TEXT NOT NULL,
            PRIMARY KEY (host, interface, setting))
        """,
            """
        CREATE TABLE network_probes (
            number INTEGER NOT NULL PRIMARY KEY, study TEXT, measured_at TEXT NOT NULL, program TEXT NOT NULL,
            hosts TEXT NOT NULL, interface TEXT NOT NULL, settings TEXT NOT NULL,
            latency_us FLOAT NOT NULL, bandwidth_mbit_s FLOAT NOT NULL, points TEXT NOT NULL,
            FOREIGN KEY (study) REFERENCES studies (name) ON DELETE CASCADE)
        """,
        ),
    ),
    # Add the owner of a trial: the process that runs it.
    (
        "m004_owners_of_trials",
        ("ALTER TABLE trials ADD COLUMN owner TEXT",),
    ),
    # Give runs that were stopped early their own kind; before, only their reason distinguished them from prefixes.
    (
        "m005_given_up",
        ("UPDATE trials SET kind = 'given-up' WHERE kind = 'prefix' AND reason LIKE 'given up%'",),
    ),
    # Add what the service keeps: campaigns that were handed in, tokens, who did what, schedules, and webhooks.
    (
        "m006_service",
        (
            """
        CREATE TABLE campaigns (
            name TEXT NOT NULL PRIMARY KEY, kind TEXT NOT NULL, document TEXT NOT NULL, priority INTEGER NOT NULL,
            node_set TEXT NOT NULL, handed_in_by TEXT NOT NULL, handed_in_at TEXT NOT NULL, idempotency_key TEXT,
            state TEXT NOT NULL, wanted TEXT NOT NULL, owner TEXT, attempts INTEGER NOT NULL,
            started_at TEXT, ended_at TEXT, reason TEXT NOT NULL)
        """,
            "CREATE INDEX campaigns_by_state ON campaigns (state)",
            "CREATE UNIQUE INDEX campaigns_by_key ON campaigns (handed_in_by, idempotency_key)",
            """
        CREATE TABLE tokens (
            name TEXT NOT NULL PRIMARY KEY, hash TEXT NOT NULL, scope TEXT NOT NULL, created_at TEXT NOT NULL,
            expires_at TEXT, revoked_at TEXT, used_at TEXT)
        """,
            "CREATE UNIQUE INDEX tokens_by_hash ON tokens (hash)",
            """
        CREATE TABLE audit (
            id TEXT NOT NULL PRIMARY KEY, at TEXT NOT NULL, who TEXT NOT NULL, address TEXT NOT NULL,
            action TEXT NOT NULL, target TEXT NOT NULL, status INTEGER NOT NULL, detail TEXT NOT NULL)
        """,
            "CREATE INDEX audit_by_time ON audit (at)",
            """
        CREATE TABLE schedules (
            name TEXT NOT NULL PRIMARY KEY, cadence TEXT NOT NULL, document TEXT NOT NULL, made_by TEXT NOT NULL,
            made_at TEXT NOT NULL, next_at TEXT NOT NULL, last_at TEXT, last_campaign TEXT, paused BOOLEAN NOT NULL)
        """,
            """
        CREATE TABLE deliveries (
            id TEXT NOT NULL PRIMARY KEY, webhook TEXT NOT NULL, event TEXT NOT NULL, body TEXT NOT NULL,
            attempts INTEGER NOT NULL, next_at TEXT, delivered_at TEXT, reason TEXT NOT NULL)
        """,
            "CREATE INDEX deliveries_by_time ON deliveries (next_at)",
        ),
    ),
    # Add checks of the nodes of clusters: what was found out, each run, and the rate of each pair.
    (
        "m007_node_checks",
        (
            """
        CREATE TABLE node_checks (
            number INTEGER NOT NULL PRIMARY KEY, cluster TEXT NOT NULL, checked_at TEXT NOT NULL, state TEXT NOT NULL,
            virtual BOOLEAN NOT NULL, baseline BOOLEAN NOT NULL, campaign TEXT, ready BOOLEAN NOT NULL,
            alike BOOLEAN NOT NULL, nodes TEXT NOT NULL, silent TEXT NOT NULL, classes TEXT NOT NULL,
            switches TEXT NOT NULL, facts TEXT NOT NULL, findings TEXT NOT NULL, notes TEXT NOT NULL,
            more TEXT NOT NULL)
        """,
            "CREATE INDEX node_checks_by_cluster ON node_checks (cluster, checked_at)",
            """
        CREATE TABLE node_check_runs (
            node_check INTEGER NOT NULL, number INTEGER NOT NULL, benchmark TEXT NOT NULL, node TEXT NOT NULL,
            value FLOAT, accurate BOOLEAN NOT NULL, reason TEXT NOT NULL, more TEXT NOT NULL,
            PRIMARY KEY (node_check, number),
            FOREIGN KEY (node_check) REFERENCES node_checks (number) ON DELETE CASCADE)
        """,
            """
        CREATE TABLE node_check_pairs (
            node_check INTEGER NOT NULL, number INTEGER NOT NULL, at_once BOOLEAN NOT NULL, pattern TEXT NOT NULL,
            one TEXT NOT NULL, other TEXT NOT NULL, rate FLOAT NOT NULL, network TEXT NOT NULL, latency_us FLOAT,
            there FLOAT, back FLOAT, problem TEXT NOT NULL, more TEXT NOT NULL,
            PRIMARY KEY (node_check, number),
            FOREIGN KEY (node_check) REFERENCES node_checks (number) ON DELETE CASCADE)
        """,
        ),
    ),
    # Add to campaigns their machine, when their process was last heard of, and which faults they wait out.
    (
        "m008_heard_of",
        (
            "ALTER TABLE campaigns ADD COLUMN machine TEXT",
            "ALTER TABLE campaigns ADD COLUMN heard_at TEXT",
            "ALTER TABLE campaigns ADD COLUMN faults INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE campaigns ADD COLUMN not_before TEXT",
        ),
    ),
    # Add the outbox of events, with one event for each campaign that there is: how it stands.
    (
        "m009_events",
        (
            """
        CREATE TABLE events (
            id INTEGER NOT NULL PRIMARY KEY, campaign TEXT NOT NULL, event TEXT NOT NULL, state TEXT NOT NULL,
            trial INTEGER, ended INTEGER, failed INTEGER, machine_s FLOAT, best_gflops FLOAT, best_trial INTEGER,
            data TEXT)
        """,
            "CREATE INDEX events_by_campaign ON events (campaign, id)",
            """
        INSERT INTO events (id, campaign, event, state)
        SELECT row_number() OVER (ORDER BY at, name), name,
            CASE WHEN state IN ('queued', 'running', 'paused') THEN 'campaign' ELSE 'campaign-ended' END, state
        FROM (
            SELECT studies.name AS name, studies.created_at AS at,
                CASE WHEN campaigns.state IN ('queued', 'running', 'paused', 'failed', 'cancelled')
                    THEN campaigns.state ELSE studies.state END AS state
            FROM studies LEFT JOIN campaigns ON campaigns.name = studies.name
            UNION ALL
            SELECT name, handed_in_at, state FROM campaigns
            WHERE state IN ('queued', 'running', 'paused', 'failed', 'cancelled')
                AND name NOT IN (SELECT name FROM studies)
        ) AS stands
        """,
        ),
    ),
    # Add to trials what observers measured while they ran.
    (
        "m010_measurements",
        ("ALTER TABLE trials ADD COLUMN measurements TEXT NOT NULL DEFAULT '{}'",),
    ),
    # Drop schedules: cron or a timer of systemd hands in campaigns again and again.
    ("m011_no_schedules", ("DROP TABLE schedules",)),
    # Add to originals of hosts the machine, which becomes part of their key, and its boot; both "" where not known.
    (
        "m012_machines_of_originals",
        (
            "ALTER TABLE network_originals RENAME TO network_originals_by_name",
            """
        CREATE TABLE network_originals (
            host TEXT NOT NULL, interface TEXT NOT NULL, setting TEXT NOT NULL, machine TEXT NOT NULL,
            boot TEXT NOT NULL, value TEXT NOT NULL, ssh TEXT NOT NULL, study TEXT, owner TEXT NOT NULL,
            recorded_at TEXT NOT NULL, PRIMARY KEY (host, interface, setting, machine))
        """,
            """
        INSERT INTO network_originals
        SELECT host, interface, setting, '', '', value, ssh, study, owner, recorded_at FROM network_originals_by_name
        """,
            "DROP TABLE network_originals_by_name",
        ),
    ),
    # Drop messages to webhooks, and note at a campaign what is to be told of its end.
    (
        "m013_notifications",
        (
            "DROP TABLE deliveries",
            "ALTER TABLE campaigns ADD COLUMN untold TEXT",
            "CREATE INDEX campaigns_by_untold ON campaigns (untold)",
        ),
    ),
    # Add the notes of a study, which were among the facts of its machine.
    ("m014_notes", ("ALTER TABLE studies ADD COLUMN notes TEXT NOT NULL DEFAULT '{}'",)),
)
"""The name of each and its statements, oldest first; BLOB is the database's type of bytes."""
_SCHEDULES = "SELECT name, cadence FROM schedules ORDER BY name"
_NOTES = (
    *("note", "lesson", "like", "programs_of", "imported_from", "power_source", "nodes_lost", "nodes_left"),
    *("noise_at_first", "moved_during_search", "two_speeds_apart", "small_n_told", "all_tried", "whole_memory"),
    *("dgemm_half_nb", "dgemm_gflops_by_blas", "simulated_opening"),
)
"""Notes that kept their names when they left the facts of the machine."""


def applied(connection: Connection, place: str) -> list[str]:
    """Return the names of a database's migrations, oldest first; this only reads.

    Args:
        place: the database's name in messages.

    Raises:
        ResultsError: the database belongs to another program, or was written by a newer hpltune.
    """
    tables = set(inspect(connection).get_table_names())
    if MARKER not in tables:
        if tables:
            raise ResultsError(
                f"{place} is not a database of hpltune: it holds {', '.join(sorted(tables)[:3])}; "
                "give another with ⟦db⟧"
            )
        return []
    names = list(connection.execute(text(f"SELECT name FROM {MARKER} ORDER BY number")).scalars())  # noqa: S608 - constant
    known = [name for name, _ in MIGRATIONS]
    if names != known[: len(names)]:
        raise ResultsError(
            f"{place} was written by a newer hpltune (its schema is {len(names)}, this hpltune knows up to "
            f"{len(known)}): update hpltune, or give another with ⟦db⟧"
        )
    return names


def migrate(database: Database, *, keep: bool = True) -> None:
    """Bring a database to the current schema; each migration is applied once, even with two processes.

    A StoreWarning says which schema became which, and where the copy of the old one is.

    Args:
        keep: whether a copy is kept; not of a database that is a copy itself.

    Raises:
        ResultsError: as in `applied`, or no copy can be kept; the database is unchanged then.
    """
    with database.reading() as connection:
        if len(applied(connection, database.place)) == len(MIGRATIONS):
            return
    with database.migrating() as connection:  # all in one: nobody sees a new database that is half made
        had = len(applied(connection, database.place))
        kept = database.keep(had) if keep and 0 < had < len(MIGRATIONS) else ""
        for number, (name, statements) in enumerate(MIGRATIONS[had:], start=had + 1):
            _apply(connection, number, name, statements)
    if kept:
        change = f"schema {had} became schema {len(MIGRATIONS)}, which an older hpltune cannot read"
        warnings.warn(f"database {database.place}: {change}; {kept}", StoreWarning, stacklevel=2)


def _apply(connection: Connection, number: int, name: str, statements: Sequence[str]) -> None:
    if name == "m011_no_schedules" and (found := connection.execute(text(_SCHEDULES)).all()):
        named = ", ".join(f"{one.name} ({one.cadence})" for one in found)
        instead = "let cron or a timer of systemd do that, as docs/service-operation.md says"
        warnings.warn(f"schedules hand in nothing any more: {named}; {instead}", StoreWarning, stacklevel=2)
    blob = LargeBinary().compile(dialect=connection.dialect)
    for statement in statements:
        connection.execute(text(statement.replace("BLOB", str(blob))))
    if name == "m014_notes":
        _move_notes(connection)
    connection.execute(
        text(f"INSERT INTO {MARKER} VALUES (:number, :name, :at)"),  # noqa: S608 - a constant name
        {"number": number, "name": name, "at": datetime.now(UTC).isoformat(timespec="seconds")},
    )


def _move_notes(connection: Connection) -> None:
    """Move the notes of each study out of the facts of its machine; damaged facts stay as they are."""
    for name, host in connection.execute(text("SELECT name, host FROM studies")).all():
        with suppress(ValueError, RecursionError):
            facts = json.loads(host)
            if isinstance(facts, dict):
                notes = json.dumps(_notes_among(facts))
                connection.execute(
                    text("UPDATE studies SET host = :host, notes = :notes WHERE name = :name"),
                    {"name": name, "host": json.dumps(facts), "notes": notes},
                )


def _notes_among(facts: dict[str, Any]) -> dict[str, Any]:
    """Take the notes out of facts; what began with a word for its kind went on with the sentence, or the number."""
    each = {
        begin: [(name.removeprefix(begin), facts.pop(name)) for name in [*facts] if name.startswith(begin)]
        for begin in ("tag ", "caution ", "reference trial ", "cannot have ")
    }
    notes = {name: facts.pop(name) for name in _NOTES if name in facts}
    disturbed = facts.pop("disturbed_runs", None)
    found = {
        "tags": sorted(word for word, is_set in each["tag "] if is_set is True),
        "cautions": [
            {"text": words, **(told if isinstance(told, dict) else {"at": told})} for words, told in each["caution "]
        ],
        "machine_changes": {
            trial: [told.get("runs"), told.get("moved")]
            for trial, told in each["reference trial "]
            if isinstance(told, dict)
        },
        "cannot_have": [part for _, part in each["cannot have "]],
        "disturbed": str(disturbed.get("sentence", "")).rstrip(".") if isinstance(disturbed, dict) else "",
    }
    return {**notes, **{name: value for name, value in found.items() if value}}
