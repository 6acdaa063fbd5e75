"""`hpltune net probe`: latency and bandwidth between two hosts, under each of some settings."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hpl.params import Scalar
from results.report.network_plot import plot_probes
from results.store.networks import NetworkProbe
from results.store.store import Store
from runners.errors import RefusedError
from runners.hosts.transport import Transport
from runners.network.control import NetworkControl
from runners.network.netpipe import LARGEST_BYTES, PROGRAMS, measure
from runners.network.registry import CHOICE
from runners.network.setting import interfaces_of
from runners.network.survey import Node, look_at, require_interfaces

from ..errors import TunerError, UsageError
from .around_study import AGAIN, StoreJournal
from .options import chosen_interfaces, combinations, way
from .words import words

SHOWN_BYTES = (1, 1024, 65_536)
"""Sizes whose times have a column of their own, beside latency and bandwidth."""


@dataclass(frozen=True)
class ProbeRequest:
    """The options of `hpltune net probe`."""

    hosts: str
    interface: str | None = None
    with_: tuple[str, ...] = ()
    through: str = "tcp"
    largest_bytes: int = LARGEST_BYTES
    study: str | None = None
    plot: Path | None = None
    ssh: str | None = None
    as_json: bool = False


def run_probe(request: ProbeRequest, store: Store, console: Console) -> int:
    """Measure, print and store.

    Returns:
        0 when everything was measured, 1 when a setting was refused or a host is not put back.

    Raises:
        TunerError, RunnerError: a sentence says why nothing could be measured.
    """
    wanted = combinations(request.with_)
    if request.through not in PROGRAMS:
        raise UsageError(f"--through {request.through}: expected one of {', '.join(PROGRAMS)}")
    if request.study is not None:
        store.study(request.study)
    reach, names = way(request.hosts, request.ssh)
    if len(names) != 2:
        raise UsageError(f"--hosts {request.hosts}: a probe is between two hosts, as --hosts h1,h2")
    nodes = [look_at(reach, name) for name in names]
    interfaces = chosen_interfaces(request.interface, nodes[0])[: None if request.interface else 1]
    if not interfaces:
        raise TunerError(f"{names[0]} has no interface that is up: name one with --interface")
    require_interfaces({node.host: node for node in nodes}, interfaces)
    results: list[tuple[Mapping[str, Scalar], NetworkProbe | str]] = []
    left: list[str] = []
    journal = StoreJournal(store, request.study)
    with _put_back(NetworkControl(reach, names, interfaces, journal, say=console.print), left) as control:
        for settings in wanted:
            if not request.as_json:
                console.print(f"Measuring {names[0]} to {names[1]}, {words(settings)}")
            results.append((settings, _one(request, control, reach, nodes, interfaces, settings)))
            if isinstance(results[-1][1], NetworkProbe):
                store.network.add_probe(results[-1][1])
    _tell(request, results, left, console)
    measured = {words(settings): probe for settings, probe in results if isinstance(probe, NetworkProbe)}
    if request.plot and measured:
        plot_probes(measured, request.plot)
    return 1 if left or len(measured) < len(wanted) else 0


@contextmanager
def _put_back(control: NetworkControl, left: list[str]) -> Iterator[NetworkControl]:
    """Put everything back at the end, and keep what could not be."""
    try:
        yield control
    finally:
        left += [f"Not put back: {why}; {AGAIN}." for why in control.restore().values()]


def _one(
    request: ProbeRequest,
    control: NetworkControl,
    reach: Transport,
    nodes: Sequence[Node],
    interfaces: tuple[str, ...],
    settings: Mapping[str, Scalar],
) -> NetworkProbe | str:
    """A measurement under some settings, or the sentence why there is none."""
    used = interfaces_of(settings[CHOICE]) if CHOICE in settings else interfaces
    try:
        control.apply(settings)
        measured = measure(reach, nodes[0], nodes[1], used, request.through, request.largest_bytes)
    except RefusedError as error:
        return str(error)
    return NetworkProbe(
        study=request.study,
        measured_at=datetime.now(UTC),
        program=PROGRAMS[request.through][0],
        hosts=(nodes[0].host, nodes[1].host),
        interface=",".join(used),
        settings=settings,
        latency_us=measured.latency_us,
        bandwidth_mbit_s=measured.bandwidth_mbit_s,
        points=measured.points,
    )


def _tell(
    request: ProbeRequest,
    results: Sequence[tuple[Mapping[str, Scalar], NetworkProbe | str]],
    left: Sequence[str],
    console: Console,
) -> None:
    if request.as_json:
        print(
            json.dumps(
                {"probes": [_json(settings, probe) for settings, probe in results], "left": list(left)}, indent=1
            )
        )
        return
    probes = [probe for _, probe in results if isinstance(probe, NetworkProbe)]
    if probes:
        console.print(_table(probes))
    for settings, probe in results:
        if isinstance(probe, str):
            console.print(f"{words(settings)}: not measured, {probe}")
    for sentence in left:
        console.print(sentence)


def _table(probes: Sequence[NetworkProbe]) -> Table:
    first = probes[0]
    title = f"{first.hosts[0]} to {first.hosts[1]} with {first.program}, one way"
    table = Table(title=title, title_justify="left")
    table.add_column("settings")
    for head in ("interface", "latency µs", *(f"{size} B µs" for size in SHOWN_BYTES[1:]), "Mbit/s"):
        table.add_column(head, justify="right")
    for probe in probes:
        times = dict(probe.points)
        some = [f"{times[size]:.0f}" if size in times else "" for size in SHOWN_BYTES[1:]]
        row = (probe.interface, f"{probe.latency_us:.1f}", *some, f"{probe.bandwidth_mbit_s:.0f}")
        table.add_row(words(probe.settings), *row)
    return table


def _json(settings: Mapping[str, Scalar], probe: NetworkProbe | str) -> dict[str, object]:
    if isinstance(probe, str):
        return {"settings": dict(settings), "reason": probe}
    return {**vars(probe), "settings": dict(settings), "measured_at": probe.measured_at.isoformat()}
