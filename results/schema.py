"""The tables as the current version reads and writes them; `migrations.py` is what makes them."""

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
)

HPL_COLUMNS = (
    Column("N", Integer),
    Column("NB", Integer),
    Column("P", Integer),
    Column("Q", Integer),
    Column("PMAP", Text),
    Column("threshold", Float),
    Column("PFACT", Text),
    Column("NBMIN", Integer),
    Column("NDIV", Integer),
    Column("RFACT", Text),
    Column("BCAST", Text),
    Column("DEPTH", Integer),
    Column("SWAP", Text),
    Column("swap_threshold", Integer),
    Column("L1", Text),
    Column("U", Text),
    Column("EQUIL", Text),
    Column("alignment", Integer),
)
"""What HPL was asked, in the words of the record; all empty where the point never got that far."""

TRIALS = Table(
    "trials",
    METADATA,
    Column("study", Text, ForeignKey("studies.name", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("invalidity", Text),
    Column("reason", Text, nullable=False),
    Column("key", Text, nullable=False),
    *HPL_COLUMNS,
    Column("blas", Text, nullable=False),
    Column("kernel", Text, nullable=False),
    Column("ranks", Integer),
    Column("threads", Integer),
    Column("time_s", Float),
    Column("gflops", Float),
    Column("residual", Float),
    Column("passed", Boolean),
    Column("cost_s", Float),
    Column("started_at", Text, nullable=False),
    Column("ended_at", Text),
    Column("library", Text),
    Column("library_version", Text),
    Column("library_kernel", Text),
    Column("library_threads", Integer),
    Column("hosts", Text),
    Column("command", Text, nullable=False),
    Column("directory", Text, nullable=False),
    Column("xhpl_key", Text, nullable=False),
    Column("params", Text, nullable=False),
    Column("versions", Text, nullable=False),
    Column("part", Float, nullable=False),
    Column("session", Integer, nullable=False),
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
    Column("value", Text, nullable=False),
    Column("ssh", Text, nullable=False),
    Column("study", Text),
    Column("owner", Text, nullable=False),
    Column("recorded_at", Text, nullable=False),
)
"""No study owns these: a study that is deleted must not take along how to put its hosts back."""

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
