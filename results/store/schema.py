"""The tables as the current version reads and writes them; `migrations.py` makes them."""

from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)
from sqlalchemy.types import TypeEngine

from ..columns import FIELDS, OPTIONAL, TABLE

METADATA = MetaData()

STUDIES = Table(
    "studies",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("created_at", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("space_name", Text, nullable=False),
    Column("space_text", Text, nullable=False),
    Column("engine", Text, nullable=False),
    Column("rpeak_gflops", Float),
    Column("price_usd", Float),
    Column("power_w", Float),
    Column("options", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("versions", Text, nullable=False),
    Column("owner", Text),
    Column("notes", Text, nullable=False),
)

_SQL: dict[type, type[TypeEngine[Any]]] = {int: Integer, float: Float, bool: Boolean}
SIZES: dict[str, type[TypeEngine[Any]]] = {"N": Integer, "NB": Integer, "P": Integer, "Q": Integer}
"""The columns of sizes: P and Q stand in place of a grid."""
IN_TRIALS = {
    name: _SQL.get(column.kind, Text)
    for name, column in TABLE.items()
    if column.home in {"trial", "HPL.dat", "observed"} and name != "grid"
} | SIZES
"""The columns of a trial's row; those of HPL's parameters are all empty if it failed before it had them."""

TRIALS = Table(
    "trials",
    METADATA,
    *(
        Column(
            name,
            kind,
            *([ForeignKey("studies.name", ondelete="CASCADE")] if name == "study" else []),
            primary_key=name in {"study", "number"},
            nullable=name not in FIELDS or name in OPTIONAL,
        )
        for name, kind in IN_TRIALS.items()
    ),
    Column("owner", Text),
    Index("trials_by_key", "study", "key"),
)

OUTPUTS = Table(
    "outputs",
    METADATA,
    Column("study", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("hpl_dat_zlib", LargeBinary, nullable=False),
    Column("stdout_zlib", LargeBinary, nullable=False),
    Column("stderr_zlib", LargeBinary, nullable=False),
    ForeignKeyConstraint(("study", "number"), ("trials.study", "trials.number"), ondelete="CASCADE"),
)

NETWORK_ORIGINALS = Table(
    "network_originals",
    METADATA,
    Column("host", Text, primary_key=True),
    Column("interface", Text, primary_key=True),
    Column("setting", Text, primary_key=True),
    Column("machine", Text, primary_key=True),
    Column("boot", Text, nullable=False),
    Column("value", Text, nullable=False),
    Column("ssh", Text, nullable=False),
    Column("study", Text),
    Column("owner", Text, nullable=False),
    Column("recorded_at", Text, nullable=False),
)
"""No study owns these rows: to delete a study must not delete the original settings of its hosts."""

NETWORK_PROBES = Table(
    "network_probes",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("study", Text, ForeignKey("studies.name", ondelete="CASCADE")),
    Column("measured_at", Text, nullable=False),
    Column("program", Text, nullable=False),
    Column("hosts", Text, nullable=False),
    Column("interface", Text, nullable=False),
    Column("settings", Text, nullable=False),
    Column("latency_us", Float, nullable=False),
    Column("bandwidth_mbit_s", Float, nullable=False),
    Column("points", Text, nullable=False),
)

CAMPAIGNS = Table(
    "campaigns",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("document", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("node_set", Text, nullable=False),
    Column("handed_in_by", Text, nullable=False),
    Column("handed_in_at", Text, nullable=False),
    Column("idempotency_key", Text),
    Column("state", Text, nullable=False),
    Column("wanted", Text, nullable=False),
    Column("owner", Text),
    Column("attempts", Integer, nullable=False),
    Column("started_at", Text),
    Column("ended_at", Text),
    Column("reason", Text, nullable=False),
    Column("machine", Text),
    Column("heard_at", Text),
    Column("faults", Integer, nullable=False),
    Column("not_before", Text),
    Column("untold", Text),
    Index("campaigns_by_untold", "untold"),
    Index("campaigns_by_state", "state"),
    Index("campaigns_by_key", "handed_in_by", "idempotency_key", unique=True),
)
"""What was handed in to the service; the study of the same name is made when its process begins."""

TOKENS = Table(
    "tokens",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("hash", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("expires_at", Text),
    Column("revoked_at", Text),
    Column("used_at", Text),
    Index("tokens_by_hash", "hash", unique=True),
)

AUDIT = Table(
    "audit",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("at", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("status", Integer, nullable=False),
    Column("detail", Text, nullable=False),
    Index("audit_by_time", "at"),
)

EVENTS = Table(
    "events",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("campaign", Text, nullable=False),
    Column("event", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("trial", Integer),
    Column("ended", Integer),
    Column("failed", Integer),
    Column("machine_s", Float),
    Column("best_gflops", Float),
    Column("best_trial", Integer),
    Column("data", Text),
    Index("events_by_campaign", "campaign", "id"),
)
"""What happened in campaigns, and what the trials that had ended amounted to then (null: to be counted)."""

NODE_CHECKS = Table(
    "node_checks",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("cluster", Text, nullable=False),
    Column("checked_at", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("virtual", Boolean, nullable=False),
    Column("baseline", Boolean, nullable=False),
    Column("campaign", Text),
    Column("ready", Boolean, nullable=False),
    Column("alike", Boolean, nullable=False),
    *(
        Column(name, Text, nullable=False)
        for name in ("nodes", "silent", "classes", "switches", "facts", "findings", "notes", "more")
    ),
    Index("node_checks_by_cluster", "cluster", "checked_at"),
)

NODE_CHECK_RUNS = Table(
    "node_check_runs",
    METADATA,
    Column("node_check", Integer, ForeignKey("node_checks.number", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("benchmark", Text, nullable=False),
    Column("node", Text, nullable=False),
    Column("value", Float),
    Column("accurate", Boolean, nullable=False),
    Column("reason", Text, nullable=False),
    Column("more", Text, nullable=False),
)

NODE_CHECK_PAIRS = Table(
    "node_check_pairs",
    METADATA,
    Column("node_check", Integer, ForeignKey("node_checks.number", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("at_once", Boolean, nullable=False),
    Column("pattern", Text, nullable=False),
    Column("one", Text, nullable=False),
    Column("other", Text, nullable=False),
    Column("rate", Float, nullable=False),
    Column("network", Text, nullable=False),
    Column("latency_us", Float),
    Column("there", Float),
    Column("back", Float),
    Column("problem", Text, nullable=False),
    Column("more", Text, nullable=False),
)
