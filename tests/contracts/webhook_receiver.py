"""A real receiver of webhooks: it answers as a test says, and keeps what it was sent."""

import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SECRET = "a secret of more than sixteen characters"  # noqa: S105 - of a test


@dataclass(frozen=True)
class Received:
    """One request."""

    path: str
    headers: dict[str, str]
    text: bytes

    @property
    def body(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.text)
        return told

    def is_signed(self, secret: str = SECRET) -> bool:
        """Verify the signature as docs/service-webhooks.md tells receivers to."""
        parts = dict(part.split("=", 1) for part in self.headers["X-Hpltune-Signature"].split(","))
        expected = hmac.new(secret.encode(), parts["t"].encode() + b"." + self.text, hashlib.sha256).hexdigest()
        return hmac.compare_digest(expected, parts["v1"]) and abs(time.time() - int(parts["t"])) < 300


@dataclass
class Receiver:
    """Answers with the statuses of a list, then with 204.

    Attributes:
        slow_s: seconds until it answers.
    """

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    slow_s: float = 0.0

    @property
    def campaigns(self) -> list[tuple[str, str]]:
        """Each campaign and event that it was told, once for each id."""
        bodies = {one.body["id"]: one.body for one in self.received}
        return [(body["campaign"], body["event"]) for body in bodies.values()]

    def table(self, folder: Path, **more: Any) -> str:
        """The table of the configuration for this receiver."""
        (folder / "secret").write_text(f"{SECRET}\n")
        lines = [f'url = "{self.url}/hook?key=7"', 'secret_file = "secret"']
        lines += [f"{key} = {json.dumps(value)}" for key, value in more.items()]
        return "\n".join(["[webhooks.chat]", *lines, ""])


@contextmanager
def receiver(*statuses: int, slow_s: float = 0.0) -> Iterator[Receiver]:
    """Run a receiver on a free port."""
    told = Receiver(statuses=list(statuses), slow_s=slow_s)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"]))
            time.sleep(told.slow_s)
            status = told.statuses.pop(0) if told.statuses else 204
            told.received.append(Received(self.path, dict(self.headers), text))
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", f"{told.url}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            told.received.append(Received(self.path, dict(self.headers), b"{}"))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
