"""`hpltune net probe`: latency and bandwidth between two hosts, under each of some settings."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import product

from hpl.params import Scalar
from results.report.model import Column, Figure, Report, Sentence, Series, Table
from results.store.networks import NetworkProbe
from results.store.store import Store
from runners.errors import RefusedError, RunnerError
from runners.hosts.transport import Ssh, Transport
from runners.netpipe import LARGEST_BYTES, PROGRAMS, measure
from runners.settings.control import SettingsControl
from runners.settings.registry import full_name, recorded_name, setting
from runners.settings.setting import CHOICE, interfaces_of
from runners.settings.survey import Node, look_at, require_interfaces

from ...errors import TunerError, UsageError
from ...events import Listener, Notice
from ...options import TuneOptions
from ...settings.around_study import recover_at_start
from ...settings.changed_hosts import AGAIN, StoreJournal
from ...settings.words import words
from ...study.trust import may_reach, note_named
from ...user_dirs import UserDirs
from .net_settings import chosen_interfaces, way_to_hosts

SHOWN_BYTES = (1, 1024, 65_536)
"""Sizes whose times have a column of their own, beside latency and bandwidth."""


@dataclass(frozen=True)
class NetProbeRequest:
    """What to measure.

    Attributes:
        hosts: two names with a comma between.
        interface: names with commas between; None for one that is up.
        settings: NAME=VALUE[,VALUE] each; every combination is measured.
        through: "tcp" or "openmpi".
        study: with which the results are stored, or None.
        ssh: the command that reaches hosts; None for ssh.
    """

    hosts: str
    interface: str | None = None
    settings: tuple[str, ...] = ()
    through: str = "tcp"
    largest_bytes: int = LARGEST_BYTES
    study: str | None = None
    ssh: str | None = None


@dataclass(frozen=True)
class Attempt:
    """The measurement under some settings, or the sentence why there is none."""

    settings: Mapping[str, Scalar]
    outcome: NetworkProbe | str

    def to_json(self) -> dict[str, object]:
        """For scripts."""
        if isinstance(self.outcome, str):
            return {"settings": dict(self.settings), "reason": self.outcome}
        measured_at = self.outcome.measured_at.isoformat()
        return {**vars(self.outcome), "settings": dict(self.settings), "measured_at": measured_at}


@dataclass(frozen=True)
class NetProbeResult:
    """What was measured.

    Attributes:
        not_put_back: a sentence for each host whose network is still changed.
    """

    attempts: tuple[Attempt, ...]
    not_put_back: tuple[str, ...]

    @property
    def measured(self) -> Mapping[str, NetworkProbe]:
        """The measurements by their settings in words."""
        return {words(one.settings): one.outcome for one in self.attempts if isinstance(one.outcome, NetworkProbe)}

    @property
    def complete(self) -> bool:
        """Whether everything was measured, and every host put back."""
        return not self.not_put_back and len(self.measured) == len(self.attempts)

    def report(self) -> Report:
        """The measurements, and why others are missing."""
        probes = list(self.measured.values())
        parts: list[Sentence | Table | Figure] = [_table(probes), *_figures(self.measured)] if probes else []
        parts += [
            Sentence(f"{words(one.settings)}: not measured, {one.outcome}")
            for one in self.attempts
            if isinstance(one.outcome, str)
        ]
        parts += map(Sentence, self.not_put_back)
        facts = {"probes": [one.to_json() for one in self.attempts], "left": list(self.not_put_back)}
        return Report("Network probe", tuple(parts), facts)

    def figures(self) -> Sequence[Figure]:
        """The time of a message and its rate over its size; nothing where nothing was measured."""
        return [part for part in self.report().parts if isinstance(part, Figure)]


def net_probe(request: NetProbeRequest, store: Store, listener: Listener) -> NetProbeResult:
    """Measure and store; hosts that a killed hpltune left changed are put back before.

    Raises:
        TunerError, RunnerError: a sentence says why nothing could be measured.
    """
    folders = UserDirs.of_user()
    recover_at_start(store, partial(may_reach, store, folders), listener)
    wanted = _combinations(request.settings)
    if request.through not in PROGRAMS:
        raise UsageError(f"expected one of {', '.join(PROGRAMS)}", field="through", given=request.through)
    if request.study is not None:
        store.study(request.study)
    reach, names = way_to_hosts(request.hosts, request.ssh)
    note_named(store, folders, TuneOptions(real_cluster={"ssh": reach.program} if isinstance(reach, Ssh) else None))
    if len(names) != 2:
        raise UsageError("a probe is between two hosts, as ⟦hosts⟧ h1,h2", field="hosts", given=request.hosts)
    path = _path(request, reach, names)
    attempts: list[Attempt] = []
    left: list[str] = []
    journal = StoreJournal(store, request.study)
    control = SettingsControl(reach, names, path.interfaces, journal, say=lambda sentence: listener(Notice(sentence)))
    with _put_back(control, left):
        for settings in wanted:
            named = {recorded_name(name): value for name, value in settings.items()}
            listener(Notice(f"Measuring {names[0]} to {names[1]}, {words(named)}"))
            attempts.append(Attempt(named, _outcome(request, control, path, settings)))
            if isinstance(attempts[-1].outcome, NetworkProbe):
                store.network.add_probe(attempts[-1].outcome)
    return NetProbeResult(tuple(attempts), tuple(left))


def _combinations(with_: Sequence[str]) -> list[Mapping[str, Scalar]]:
    """All combinations of the values of `--with NAME=V[,V]`; without it one that changes nothing.

    Raises:
        TunerError: there is no such setting, or a value is not legal.
    """
    choices: dict[str, list[str]] = {}
    for one in with_:
        name, equals, values = one.partition("=")
        name = full_name(name.strip())
        given = [value.strip() for value in values.split(",") if value.strip()]
        if not equals or not given:
            raise UsageError("write NAME=VALUE[,VALUE], as ⟦with⟧ mtu=1500,9000", field="with", given=one)
        try:
            given = [setting(name).text(value) for value in given]
        except RunnerError as error:
            raise UsageError(str(error), field="with", given=one) from error
        choices.setdefault(name, []).extend(given)
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]


@dataclass(frozen=True)
class _Path:
    """What lies between two hosts."""

    reach: Transport
    nodes: tuple[Node, Node]
    interfaces: tuple[str, ...]


def _path(request: NetProbeRequest, reach: Transport, names: Sequence[str]) -> _Path:
    first, second = (look_at(reach, name) for name in names)
    interfaces = chosen_interfaces(request.interface, first)[: None if request.interface else 1]
    if not interfaces:
        raise TunerError(f"{names[0]} has no interface that is up: name one with ⟦interface⟧")
    require_interfaces({node.host: node for node in (first, second)}, interfaces)
    return _Path(reach, (first, second), interfaces)


@contextmanager
def _put_back(control: SettingsControl, left: list[str]) -> Iterator[None]:
    """Put everything back at the end, and keep what could not be."""
    try:
        yield
    finally:
        left += [f"Not put back: {why}; {AGAIN}." for why in control.restore().values()]


def _outcome(
    request: NetProbeRequest, control: SettingsControl, path: _Path, settings: Mapping[str, Scalar]
) -> NetworkProbe | str:
    """A measurement under some settings, or the sentence why there is none."""
    used = interfaces_of(settings[CHOICE]) if CHOICE in settings else path.interfaces
    try:
        control.apply(settings)
        measured = measure(path.reach, *path.nodes, used, request.through, request.largest_bytes)
    except RefusedError as error:
        return str(error)
    return NetworkProbe(
        study=request.study,
        measured_at=datetime.now(UTC),
        program=PROGRAMS[request.through][0],
        hosts=(path.nodes[0].host, path.nodes[1].host),
        interface=",".join(used),
        settings={recorded_name(name): value for name, value in settings.items()},
        latency_us=measured.latency_us,
        bandwidth_mbit_s=measured.bandwidth_mbit_s,
        points=measured.points,
    )


def _table(probes: Sequence[NetworkProbe]) -> Table:
    first = probes[0]
    heads = ("interface", "latency µs", *(f"{size} B µs" for size in SHOWN_BYTES[1:]), "Mbit/s")
    rows = []
    for probe in probes:
        times = dict(probe.points)
        some = [f"{times[size]:.0f}" if size in times else "" for size in SHOWN_BYTES[1:]]
        figures = (probe.interface, f"{probe.latency_us:.1f}", *some, f"{probe.bandwidth_mbit_s:.0f}")
        rows.append((words(probe.settings), *figures))
    title = f"{first.hosts[0]} to {first.hosts[1]} with {first.program}, one way"
    return Table(title, (Column("settings", words=True), *map(Column, heads)), tuple(rows))


def _figures(measured: Mapping[str, NetworkProbe]) -> list[Figure]:
    """Draw the time of a message and its rate over its size, a line for each combination of settings."""
    times, rates = [], []
    for name, probe in measured.items():
        sizes = tuple(float(size_bytes) for size_bytes, _ in probe.points)
        times.append(Series(name, sizes, tuple(time_us for _, time_us in probe.points), line=True))
        rates.append(Series(name, sizes, tuple(8 * size / time_us for size, time_us in probe.points), line=True))
    size = "message in bytes"
    return [
        Figure("Time of a message one way", size, "time in µs", tuple(times), x_log=True, y_log=True),
        Figure("Rate of a message", size, "Mbit/s", tuple(rates), x_log=True),
    ]
