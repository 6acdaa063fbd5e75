"""A real `hpltune serve` process, as a user starts it."""

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2
from as_user import HPLTUNE


@dataclass(frozen=True)
class RunningService:
    """The process, and a client that asks it."""

    process: subprocess.Popen[str]
    client: httpx2.Client

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; give the exit code and what the process said on standard error."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=20)
        return self.process.returncode, said


@contextmanager
def running_service(*options: str) -> Iterator[RunningService]:
    """Start a service on a free port."""
    command = [str(HPLTUNE), "serve", "--port", "0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        said = process.stderr.readline()
        url = re.search(r"http://\S+:\d+", said)
        assert url, said
        with httpx2.Client(base_url=url.group(), timeout=20) as client:
            yield RunningService(process, client)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
