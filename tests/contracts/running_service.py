"""A real `hpltune serve` process, as a user starts it."""

import re
import signal
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx2
from as_user import HPLTUNE
from waiting import PATIENCE_S


@dataclass(frozen=True)
class RunningService:
    """The process, and a client that asks it.

    Attributes:
        said: lines on standard error after the first one, which are read all the time.
    """

    process: subprocess.Popen[str]
    client: httpx2.Client
    said: list[str]
    _reader: threading.Thread = field(repr=False)

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; give the exit code and what the process said on standard error."""
        self.process.send_signal(number)
        self.process.wait(timeout=PATIENCE_S)
        self._reader.join()
        return self.process.returncode, "".join(self.said)


@contextmanager
def running_service(*options: str, tls: ssl.SSLContext | None = None) -> Iterator[RunningService]:
    """Start a service on a free port.

    Args:
        tls: what certificates the client believes; None where it asks over HTTP.
    """
    command = [str(HPLTUNE), "serve", "--port", "0", *options]
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
            yield RunningService(process, client, said, reader)
    finally:
        process.kill()
        process.wait()
        if reader.is_alive():
            reader.join()
        errors.close()
