"""Machines that tell their power: trees of files as Linux has them, controllers that speak Redfish, and who watches."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hpl.witness import PowerSeries, parse_power
from runners.job import Job
from tuner.clock import RealClock
from tuner.events import Event, Notice
from tuner.trial.observers.contract import Measurements, SolveTime, WatchedLaunch
from tuner.trial.observers.energy import sampling, trace
from tuner.trial.observers.energy.contract import PowerSource
from tuner.trial.observers.energy.meters import PowerMeters
from tuner.trial.observers.energy_observer import EnergyObserver

EVERY_S = 0.05
"""Seconds between two readings in these tests."""
HANGS_S = 2.0
"""Seconds after which a reading is taken to hang, on a busy machine too."""


def quick(monkeypatch: pytest.MonkeyPatch, gap_s: float = 1.0) -> None:
    """Let sources be read twenty times a second, and miss them sooner."""
    for module in (sampling, trace):
        monkeypatch.setattr(module, "EVERY_S", EVERY_S)
    monkeypatch.setattr(trace, "LONGEST_GAP_S", gap_s)


def write(folder: Path, **files: object) -> Path:
    """Write small files, as the kernel has them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in files.items():
        (folder / name).write_text(f"{value}\n")
    return folder


def rapl_zone(root: Path, number: str, name: str, energy_uj: int, range_uj: int = 262143328850) -> Path:
    """A zone of RAPL; returns the file of its counter."""
    zone = root / "sys/class/powercap" / f"intel-rapl:{number}"
    return write(zone, name=name, energy_uj=energy_uj, max_energy_range_uj=range_uj) / "energy_uj"


def put(file: Path, text: object) -> None:
    """Change a small file at once, as a counter of the kernel changes."""
    new = file.with_name(f".{file.name}")
    new.write_text(f"{text}\n")
    new.replace(file)


@contextmanager
def meanwhile(change: Callable[[float], None]) -> Iterator[None]:
    """Do something a hundred times a second while the block runs; it is told the seconds since the begin."""
    over, began_s, faults = threading.Event(), time.monotonic(), list[BaseException]()

    def work() -> None:
        try:
            while not over.wait(0.01):
                change(time.monotonic() - began_s)
        except BaseException as error:  # noqa: BLE001 - told to the test
            faults.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    assert not faults, faults


@dataclass
class Readings:
    """Counts the readings of a source, those that failed too, and knows since when one goes on."""

    source: PowerSource
    ended: int = 0
    failed: bool = False
    goes_on_since_s: float | None = None

    def __post_init__(self) -> None:
        read = self.source.read

        def counted() -> Sequence[float]:
            self.goes_on_since_s = time.monotonic()
            try:
                return read()
            except BaseException:
                self.failed = True
                raise
            finally:
                self.ended, self.goes_on_since_s = self.ended + 1, None

        object.__setattr__(self.source, "read", counted)

    def wait_for(self, more: int, patience_s: float = 10.0) -> None:
        """Wait until so many readings have ended, but not for one that hangs; a busy machine may be late."""
        wanted, began_s = self.ended + more, time.monotonic()
        while self.ended < wanted and not self.failed and time.monotonic() - began_s < patience_s:
            if self.goes_on_since_s is not None and time.monotonic() - self.goes_on_since_s > HANGS_S:
                return
            time.sleep(0.01)


@dataclass
class Watched:
    """What came of watching a launch."""

    measured: Sequence[Measurements]
    said: Sequence[str]
    solves: Sequence[SolveTime] = ()
    power: Sequence[PowerSeries] = ()


def watch(
    meters: PowerMeters, during: Callable[[], None], *, nodes: Sequence[str] = (), folder: Path, runs: int = 1
) -> Watched:
    """Watch so many solves, one after the other; what happens during each is called."""
    events: list[Event] = []
    launch = WatchedLaunch(labels={1: "first"}, listener=events.append, clock=RealClock(), meters=meters)
    observer = EnergyObserver.of(launch)
    assert observer is not None
    solves = []
    readings = [Readings(source) for source in meters.sources]
    observer.begin(Job(program=("/bin/true",), ranks=max(1, len(nodes)), directory=folder, nodes=tuple(nodes)), nodes)
    for one in readings:
        one.wait_for(1)
    for _ in range(runs):
        began_s, before = time.monotonic(), [one.ended for one in readings]
        during()
        if time.monotonic() - began_s > trace.FEWEST * EVERY_S:
            for one, ended in zip(readings, before, strict=True):
                one.wait_for(ended + trace.FEWEST + 1 - one.ended)
        solves.append(SolveTime(began_s, time.monotonic()))
    for one in readings:
        one.wait_for(1)
    measured = observer.end(solves)
    said = [event.text for event in events if isinstance(event, Notice)]
    return Watched(measured, said, solves, parse_power("".join(observer.lines())))


@dataclass
class RedfishServer:
    """A controller of a node, which answers what a test puts here.

    Attributes:
        resources: by path what it answers; a text is sent as it is, and None is not there.
        account: who may ask, as the header Authorization has it; "" for everybody.
        silent_s: seconds before each answer.
        asked: the path of each question.
        answered: the answer to each question, None for what is not there.
    """

    resources: dict[str, object] = field(default_factory=dict)
    account: str = ""
    silent_s: float = 0.0
    asked: list[str] = field(default_factory=list)
    answered: list[object] = field(default_factory=list)
    url: str = ""

    def tell(self, watts: object) -> None:
        """Measure so many watts from now on."""
        self.resources["/redfish/v1/Chassis/1/EnvironmentMetrics"] = {"PowerWatts": {"Reading": watts}}


@contextmanager
def redfish_server(watts: object = 300.0) -> Iterator[RedfishServer]:
    """A real HTTP server that speaks Redfish."""
    told = RedfishServer()
    told.resources["/redfish/v1/Chassis"] = {"Members": [{"@odata.id": "/redfish/v1/Chassis/1"}]}
    told.tell(watts)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told.asked.append(self.path)
            time.sleep(told.silent_s)
            found = told.resources.get(self.path)
            told.answered.append(found)
            refused = told.account and self.headers.get("Authorization") != told.account
            status = 401 if refused else 404 if found is None else 200
            body = (found if isinstance(found, str) else json.dumps(found)).encode() if status == 200 else b"{}"
            try:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:  # who asked has gone
                return

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    told.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield told
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def cluster_with(power: Mapping[str, object], hosts: Sequence[str] = ("n1", "n2")) -> dict[str, object]:
    """The table of a cluster file with a table [power]."""
    return {"name": "lab", "backend": "ssh", "hosts": list(hosts), "power": dict(power)}
