"""Services that answer on a port: a real `hpltune serve` process, as a user starts it, and one in this process.

The second starts in a tenth of the time. It is for tests of what a service answers, and not of how its process behaves.
"""

import re
import signal
import ssl
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import httpx2
from as_user import HPLTUNE
from waiting import PATIENCE_S

from results.store.lease import Lease
from results.store.store import Store
from tuner.service.config import LimitsTable, ListenTable, ServiceConfig, ServiceSettings
from tuner.service.server import Service
from tuner.user_dirs import UserDirs


@dataclass(frozen=True)
class OpenService:
    """A service, as a client sees it."""

    client: httpx2.Client


@dataclass(frozen=True)
class RunningService(OpenService):
    """The process of a service, and a client that asks it.

    Attributes:
        said: lines on standard error after the first one, which are read all the time.
    """

    process: subprocess.Popen[str]
    said: list[str]
    _reader: threading.Thread = field(repr=False)

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; give the exit code and what the process said on standard error."""
        self.process.send_signal(number)
        self.process.wait(timeout=PATIENCE_S)
        self._reader.join()
        return self.process.returncode, "".join(self.said)


@contextmanager
def running_service(
    *options: str, tls: ssl.SSLContext | None = None, before: Sequence[str] = ()
) -> Iterator[RunningService]:
    """Start a service on a free port.

    Args:
        before: a program that starts the service, such as one that limits it.
        tls: what certificates the client believes; None where it asks over HTTP.
    """
    command = [*before, str(HPLTUNE), "serve", "--port", "0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    errors, said = process.stderr, list[str]()
    assert errors is not None

    def read() -> None:
        for line in errors:
            said.append(line)

    reader = threading.Thread(target=read, daemon=True)
    try:
        first = errors.readline()
        url = re.search(r"https?://\S+:\d+", first)
        assert url, first
        reader.start()
        with httpx2.Client(base_url=url.group(), timeout=PATIENCE_S, verify=tls or True) as client:
            yield RunningService(client, process, said, reader)
    finally:
        process.kill()
        process.wait()
        if reader.is_alive():
            reader.join()
        errors.close()


@contextmanager
def service_in_thread(store: Store, folder: Path) -> Iterator[OpenService]:
    """Serve a store on a free port from a thread of this process, and start no campaigns.

    To the service, what this thread writes is the work of another process, as it is on a real one.
    """
    config = ServiceConfig(listen=ListenTable(port=0), limits=LimitsTable(requests_per_minute=10**6))
    dirs = UserDirs(folder / "cache", folder / "data")
    service = Service(ServiceSettings(dirs, store.place, config, starts_campaigns=False))
    running = threading.Thread(target=service.run)
    running.start()
    try:
        with _another_process(), httpx2.Client(base_url=service.url, timeout=PATIENCE_S) as client:
            client.get("/healthz")  # afterwards the service has begun all its threads
            yield OpenService(client)
    finally:
        service.end()
        running.join()


@contextmanager
def _another_process() -> Iterator[None]:
    """Let this thread write as a process of its own while the block runs; `cat` lends its number."""
    writer, real = threading.get_ident(), Lease.mine
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as stand_in:
        lent = Lease.of(stand_in.pid)
        with patch.object(Lease, "mine", lambda: lent if threading.get_ident() == writer else real()):
            yield
