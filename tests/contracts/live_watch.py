"""Watches a service: server-sent events as a client reads them, and campaigns that are written meanwhile."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
from record_builders import begun, finished
from waiting import PATIENCE_S

from results.record import TrialRecord
from results.store.store import Store


@dataclass(frozen=True)
class SentEvent:
    """An event as it came."""

    kind: str
    id: str | None
    data: dict[str, Any]


def events(lines: Iterator[str]) -> Iterator[SentEvent]:
    """Read events as the standard of WHATWG says."""
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        if line:
            fields[name] = value.removeprefix(" ")
        elif "data" in fields:
            yield SentEvent(fields["event"], fields.get("id"), json.loads(fields["data"]))
            fields = {}


@contextmanager
def watching(client: httpx2.Client, address: str, known: str | None = None) -> Iterator[Iterator[SentEvent]]:
    """Read a stream while the block runs."""
    headers = {} if known is None else {"Last-Event-ID": known}
    with client.stream("GET", address, headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield events(answer.iter_lines())


def watched(client: httpx2.Client, address: str, known: str | None = None) -> list[SentEvent]:
    """Read a stream until it ends."""
    with watching(client, address, known) as sent:
        return list(sent)


@dataclass
class Watch:
    """Reads a stream to its end in a thread of its own."""

    client: httpx2.Client
    address: str
    seen: list[SentEvent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        with watching(self.client, self.address) as sent:
            for event in sent:
                self.seen.append(event)

    def to_the_end(self) -> list[SentEvent]:
        self._thread.join(timeout=PATIENCE_S)
        assert not self._thread.is_alive()
        return self.seen


def begin(store: Store, name: str = "study", **changes: Any) -> TrialRecord:
    """Begin a trial, as `tune` does."""
    record = begun(name, **changes)
    return replace(record, number=store.begin(record))


def end(store: Store, record: TrialRecord, gflops: float | None = 75.0, **changes: Any) -> None:
    """End it."""
    kept = {"params": record.params, "key": record.key, **changes}
    store.finish(finished(record.number, gflops, record.study, **kept))


def trials(store: Store, *rates: float | None, name: str = "study") -> None:
    """Run some trials one after the other."""
    for gflops in rates:
        end(store, begin(store, name), gflops, passed=gflops is not None)
