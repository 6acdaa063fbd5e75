"""The tables as the current version reads and writes them; `migrations.py` is what makes them."""

from sqlalchemy import Boolean, Column, Float, ForeignKey, Integer, LargeBinary, MetaData, Table, Text

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
    Column("PMAP", Integer),
    Column("threshold", Float),
    Column("PFACT", Integer),
    Column("NBMIN", Integer),
    Column("NDIV", Integer),
    Column("RFACT", Integer),
    Column("BCAST", Integer),
    Column("DEPTH", Integer),
    Column("SWAP", Integer),
    Column("swap_threshold", Integer),
    Column("L1", Integer),
    Column("U", Integer),
    Column("EQUIL", Boolean),
    Column("alignment", Integer),
)

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
)

OUTPUTS = Table(
    "outputs",
    METADATA,
    Column("study", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("hpl_dat", Text, nullable=False),
    Column("stdout_zlib", LargeBinary, nullable=False),
    Column("stderr_zlib", LargeBinary, nullable=False),
)
