"""A real receiver of Apprise's `json://`: it answers as a test says, and keeps what it was sent."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass
class Receiver:
    """Answers with the statuses of a list, then with 200.

    Attributes:
        received: what each request told.
        silent: it answers nothing until its end.
    """

    port: int = 0
    statuses: list[int] = field(default_factory=list)
    received: list[dict[str, Any]] = field(default_factory=list)
    silent: bool = False
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        """The address, with a secret."""
        return f"json://ada:secret-7@127.0.0.1:{self.port}/hook"


@contextmanager
def receiver(*statuses: int, silent: bool = False) -> Iterator[Receiver]:
    """Run a receiver on a free port."""
    told = Receiver(statuses=list(statuses), silent=silent)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"]))
            told.received.append(json.loads(text))
            if told.silent:
                told.ended.wait()
                return
            self.send_response(told.statuses.pop(0) if told.statuses else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield told
    finally:
        told.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()


def notify_table(folder: Path, *urls: str, events: str = "") -> str:
    """The table of the configuration that tells addresses, which stand in a file beside it."""
    file = folder / "notify.urls"
    file.write_text("".join(f"{url}\n" for url in ("# who hears of campaigns", "", *urls)))
    file.chmod(0o600)
    return f'[notify]\nurls_file = "notify.urls"\n{events}\n'
