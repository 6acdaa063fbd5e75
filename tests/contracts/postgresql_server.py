"""A real PostgreSQL server of the tests' own: made when the first test asks for it, gone when the tests are."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import LiteralString, TypedDict
from urllib.parse import quote

import psycopg
from needs import skip_without
from waiting import PATIENCE_S

ROLE, PASSWORD = "tuner", "s3cret/@:?"
"""An ordinary role: it owns its databases, and over TCP it needs the password."""
# Commits do not reach the log at once unless the store asks for it; what is not synced survives a killed server.
SETTINGS = (
    "fsync=off", "full_page_writes=off", "synchronous_commit=off", "max_wal_size=64MB", "shared_buffers=16MB",
    "deadlock_timeout=2s",
)  # fmt: skip
READY_S = PATIENCE_S


class _AsServer(TypedDict, total=False):
    user: str
    group: str
    extra_groups: list[str]


def _unprivileged() -> _AsServer:
    """Whom to run it as: PostgreSQL refuses root."""
    return {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}


def _programs() -> Path | None:
    """The folder of the newest PostgreSQL; Debian keeps it off PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    on_path = shutil.which("initdb")
    newest = found[-1] if found else Path(on_path).resolve() if on_path else None
    return newest.parent if newest else None


class Server:
    """One server in a folder of its own; trusts its socket, and asks for a password over TCP."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.folder = folder
        self._programs = programs
        self._process: subprocess.Popen[bytes] | None = None
        self._names = count(1)
        self._databases: list[str] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]

    def start(self) -> None:
        """Start it, the first time with a new cluster, and wait until it answers."""
        if not (self.folder / "data").exists():
            self._make()
        settings = [
            *SETTINGS,
            "listen_addresses=127.0.0.1",
            f"port={self.port}",
            f"unix_socket_directories={self.folder}",
        ]
        line = [str(self._programs / "postgres"), "-D", str(self.folder / "data")]
        line += [f"--{setting}" for setting in settings]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "QUIT", "--", *line], cwd="/", stdout=log, stderr=log, **_unprivileged()
            )
        give_up_at = time.monotonic() + READY_S
        while not self._answers():
            assert time.monotonic() < give_up_at, (self.folder / "log").read_text()
            time.sleep(0.05)

    def stop(self) -> None:
        """End it at once, as a crash would: open connections break."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """All its processes stand still for as long as the block lasts: connections stay, and nothing is answered."""
        assert self._process is not None
        top = self._process.pid
        children = Path(f"/proc/{top}/task/{top}/children").read_text().split()
        pids = [top, *map(int, children)]
        _signal(pids, signal.SIGSTOP)
        try:
            yield
        finally:
            _signal(pids, signal.SIGCONT)

    def administer(self, *statements: LiteralString, database: str = "postgres") -> Sequence[tuple[object, ...]]:
        """Run statements as the superuser; the rows of the last one."""
        kept = "-c synchronous_commit=on"
        with closing(psycopg.connect(self.superuser(database), autocommit=True, options=kept)) as connection:
            for statement in statements:
                rows = connection.execute(statement)
            return rows.fetchall() if rows.description else []

    def superuser(self, database: str) -> str:
        """A database by the server's socket, as who may do everything."""
        return f"postgresql://postgres@/{database}?host={self.folder}&port={self.port}"

    def new_database(self) -> str:
        """The URL of an empty database that belongs to the ordinary role."""
        name = f"test_{next(self._names)}"
        self.administer(f"CREATE DATABASE {name} OWNER {ROLE}")
        self._databases.append(name)
        return self.url(name)

    def drop_databases(self) -> None:
        """Drop what `new_database` made, and whatever is still connected to it: each takes a thousand files."""
        while self._databases:
            self.administer(f"DROP DATABASE IF EXISTS {self._databases.pop()} WITH (FORCE)")

    def url(self, database: str) -> str:
        """A database by the server's socket, where no password is asked for."""
        return f"postgresql://{ROLE}@/{database}?host={self.folder}&port={self.port}"

    def tcp_url(self, database: str, password: str | None = PASSWORD) -> str:
        """A database over TCP, where a password is asked for; it is encoded as URLs want it."""
        secret = "" if password is None else f":{quote(password, safe='')}"
        return f"postgresql://{ROLE}{secret}@127.0.0.1:{self.port}/{database}"

    def _make(self) -> None:
        made = subprocess.run(
            [self._programs / "initdb", "-D", self.folder / "data", "-U", "postgres", "-A", "trust", "--no-sync"],
            cwd="/",
            env={"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
            **_unprivileged(),
        )
        assert made.returncode == 0, made.stderr
        (self.folder / "data/pg_hba.conf").write_text("local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n")

    def _answers(self) -> bool:
        try:
            self.administer("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True


def _signal(pids: Sequence[int], number: signal.Signals) -> None:
    """Send a signal to those that are still there: the server's own helpers come and go."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


@contextmanager
def running_server() -> Iterator[Server]:
    """A server for as long as the block lasts; skips the test where there is no PostgreSQL."""
    programs = _programs()
    if programs is None or shutil.which("setpriv") is None:
        skip_without("PostgreSQL")
    folder = Path(tempfile.mkdtemp(prefix="hpltune-pg-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, "nobody", "nogroup")
        server = Server(programs, folder)
        server.start()
        try:
            server.administer(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}'")
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)
