"""What nodes did while benchmarks ran there: disturbed runs, processors that are hot or clocked low, slow memories.

A node that something else slowed is not blamed for its rate. A node that its own heat slowed is. The rate of a memory
is held against its channels.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from results.disturbance import Cause, Disturbance
from results.node_check import BENCHMARKS, Finding, NodeCheck, NodeRun, Severity, ranges

from ...preflight.contract import RunPlan, Spoiler, SpoilerWeight
from ...preflight.looking import found_in
from ...preflight.memory import ChannelRate, bandwidth, channel_rate, channels
from ...preflight.registry import CHECKS
from ...words import counted
from .odd_nodes import FEWEST, LEAST_PERCENT, odd_nodes, robust_sd

LOADING = ("dgemm-all", "hpl")
"""Benchmarks that load all cores of a node, so that its clock and temperature tell something, simple ones first."""
LOWER_PERCENT, MUCH_LOWER_PERCENT = 5.0, 10.0
"""A clock so far below the others' is told; the second where fewer than FEWEST processors are compared."""
HOTTER_C, MUCH_HOTTER_C = 10.0, 20.0
"""A processor so much hotter than the others is told; the second where others stand at another place of their node, or
are few: the one that gets the warm air of the other is 5 to 15 °C hotter."""
HOT_SDS = 4.0
"""Standard deviations that it must be hotter, besides: so far is one sound value in 30,000."""
COOLING = "look at its cooling: fans, dust, heat sink, the air in the rack"
QUIET = "measure again when it is quiet"
REMEDIES = {
    Cause.STEAL: "measure again when the machine below is quiet",
    Cause.QUOTA: "lift the quota of its control group (`cpu.max`) and measure again",
    Cause.SWAP: "see what fills its memory, and measure again",
}


def but_disturbed(disturbance: Disturbance) -> str:
    """Say in half a sentence what disturbed the runs of a node, and what to do."""
    return f"but {disturbance} meanwhile: {REMEDIES.get(disturbance.reasons[0].cause, QUIET)}"


def disturbed_findings(check: NodeCheck, classes: Sequence[Collection[str]], out: Collection[str]) -> list[Finding]:
    """Find nodes that are slower than the others, where all of their runs were disturbed; the worst benchmark is told.

    They are held against the nodes with quiet runs, or against all where there is none.
    """
    results, doubtful = check.results(), check.always_disturbed()
    found: dict[str, tuple[float, str]] = {}
    for name, disturbed in doubtful.items():
        for members in classes:
            own = {node: value for node, value in results[name].items() if node in members and node not in out}
            quiet = [value for node, value in own.items() if node not in disturbed] or list(own.values())
            for node in own.keys() & disturbed.keys():
                percent = 100.0 * (1.0 - own[node] / median(quiet))
                if percent >= LEAST_PERCENT and percent > found.get(node, (0.0, ""))[0]:
                    found[node] = (percent, name)
    return [
        Finding(
            Severity.ODD,
            "disturbed-node",
            (node,),
            name,
            f"{node} is {percent:.1f} % below the median in {BENCHMARKS[name].title}, "
            f"{but_disturbed(doubtful[name][node])}",
            percent,
        )
        for node, (percent, name) in sorted(found.items(), key=lambda one: -one[1][0])
    ]


@dataclass(frozen=True)
class ProcessorReadings:
    """What the sensors of a processor showed while a benchmark ran on all cores; None where it has no such sensor.

    Attributes:
        socket: the kernel's number of the processor; "" for the whole node, where it has one or does not tell.
        runs: that were read and decide: undisturbed ones, where there are such.
        clock_mhz: the median of the runs; `lowest_clock_mhz` at a moment.
        begin_temperature_c: before the first run; `temperature_c` is the highest one since then.
        throttle_events: times that heat slowed its cores down, in all these runs.
    """

    benchmark: str
    node: str
    socket: str
    runs: int
    clock_mhz: float | None
    lowest_clock_mhz: float | None
    begin_temperature_c: float | None
    temperature_c: float | None
    throttle_events: float | None

    @property
    def title(self) -> str:
        """Return the node, and the processor if it has several."""
        return f"{self.node}, socket {self.socket}" if self.socket else self.node


def processor_readings(check: NodeCheck) -> list[ProcessorReadings]:
    """Sum up the readings of all runs that load all cores, benchmark by benchmark in the order of the nodes."""
    runs: dict[tuple[str, str], list[NodeRun]] = defaultdict(list)
    for run in check.deciding():
        if run.benchmark in LOADING and run.measurements:
            runs[run.benchmark, run.node].append(run)
    return [
        one
        for name in LOADING
        for node in check.nodes
        if (own := runs.get((name, node)))
        for socket in _sockets(own)
        if (one := _summed(name, node, socket, own)) is not None
    ]


def _sockets(runs: Sequence[NodeRun]) -> list[str]:
    """Return the numbers of the processors of a node in order, or "" for the whole node."""
    known = {name.partition(":")[2] for run in runs for name in run.measurements if name.startswith(_KINDS)}
    return sorted((number for number in known if number.isdecimal()), key=int) or [""]


_KINDS = ("clock_mhz:", "temperature_c:", "throttle_events:")


def _summed(name: str, node: str, socket: str, runs: Sequence[NodeRun]) -> ProcessorReadings | None:
    def of(kind: str) -> list[float]:
        named = f"{kind}:{socket}" if socket else kind
        return [run.measurements[named] for run in runs if named in run.measurements]

    clocks, events = of("clock_mhz"), of("throttle_events")
    begins, hottest = of("begin_temperature_c"), of("temperature_c")
    if not clocks and not hottest and not events:
        return None
    return ProcessorReadings(
        name,
        node,
        socket,
        len(runs),
        median(clocks) if clocks else None,
        min(of("lowest_clock_mhz"), default=None),
        begins[0] if begins else None,
        max(hottest, default=None),
        sum(events) if events else None,
    )


def processor_findings(check: NodeCheck, classes: Sequence[Collection[str]]) -> list[Finding]:
    """Find processors that throttled, are clocked lower, or are hotter than the others of their class.

    What both benchmarks show is told of the simpler one.
    """
    readings = processor_readings(check)
    found: dict[tuple[str, str], Finding] = {}
    for name in LOADING:
        for members in classes:
            own = [one for one in readings if one.benchmark == name and one.node in members]
            for one, what, sentence, percent in [*_throttled(own), *_clocked_low(own), *_hot(own)]:
                finding = Finding(Severity.ODD, what, (one.node,), name, sentence, percent)
                found.setdefault((what, one.title), finding)
    return list(found.values())


_Found = tuple[ProcessorReadings, str, str, float]
"""A processor, what was found, the sentence, and the percent that its clock is low."""


def _throttled(readings: Sequence[ProcessorReadings]) -> Iterator[_Found]:
    for one in readings:
        if one.throttle_events:
            times = counted(round(one.throttle_events), "time")
            yield (
                one,
                "throttled",
                f"{one.title}: heat slowed its cores down {times} in {_runs(one)}{_at(one)}; {COOLING}",
                0.0,
            )


def _clocked_low(readings: Sequence[ProcessorReadings]) -> Iterator[_Found]:
    clocks = {one.title: one.clock_mhz for one in readings if one.clock_mhz}
    odd = {one.node for one in odd_nodes(clocks)}
    for one in readings:
        others = [clock for title, clock in clocks.items() if title != one.title]
        if not one.clock_mhz or not others:
            continue
        usual = median(others)
        percent = 100.0 * (1.0 - one.clock_mhz / usual)
        if percent < MUCH_LOWER_PERCENT if len(clocks) < FEWEST else percent < LOWER_PERCENT or one.title not in odd:
            continue
        help_ = COOLING if one.throttle_events else "look at its power limit, its governor and its cooling"
        sentence = (
            f"{one.title}: clocked {percent:.1f} % lower than the others of its class in {_runs(one)}, "
            f"{one.clock_mhz:,.0f} against {usual:,.0f} MHz{_at(one)}; {help_}"
        )
        yield one, "low-clock", sentence, percent


def _hot(readings: Sequence[ProcessorReadings]) -> Iterator[_Found]:
    for one in readings:
        if one.temperature_c is None:
            continue
        alike = _temperatures(other for other in readings if other is not one and other.socket == one.socket)
        others = _temperatures(other for other in readings if other is not one)
        placed = len(alike) >= FEWEST - 1
        compared, least = (alike, HOTTER_C) if placed else (others, MUCH_HOTTER_C)
        if not compared:
            continue
        hotter = one.temperature_c - median(compared)
        if hotter < least or hotter < HOT_SDS * robust_sd(compared):
            continue
        sentence = (
            f"{one.title}: {hotter:.0f} °C hotter than the others of its class in {_runs(one)}, "
            f"{one.temperature_c:.0f} against {median(compared):.0f} °C; {COOLING}"
        )
        yield one, "hot", sentence, 0.0


def _temperatures(readings: Iterator[ProcessorReadings]) -> list[float]:
    return [one.temperature_c for one in readings if one.temperature_c is not None]


def _runs(one: ProcessorReadings) -> str:
    return f"{counted(one.runs, 'run')} of {BENCHMARKS[one.benchmark].title}"


def _at(one: ProcessorReadings) -> str:
    return "" if one.temperature_c is None else f", at up to {one.temperature_c:.0f} °C"


TRIAD = "stream-triad-all"
MEMORY_CHECKS = tuple(check for check in CHECKS if check.look in {channels, bandwidth})
"""What the preflight looks for in a memory, with its remedies."""


def channel_rates(check: NodeCheck) -> dict[str, ChannelRate]:
    """Hold the rate of each node's memory against what its channels give; only where the node tells both of these."""
    measured = without(check.results(), check.always_disturbed()).get(TRIAD, {})
    found = {node: channel_rate(_facts(check, node), 1e-3 * mb_s) for node, mb_s in measured.items()}
    return {node: rate for node, rate in found.items() if rate is not None}


def memory_findings(check: NodeCheck) -> list[Finding]:
    """Find memories with one channel, with empty ones, or much slower than their channels; nothing is guessed."""
    rates, nodes = channel_rates(check), defaultdict[Spoiler, list[str]](list)
    for node in check.nodes:
        rate = rates.get(node)
        facts = {node: _facts(check, node)}
        for one in found_in(facts, RunPlan(1), MEMORY_CHECKS, rate.measured_gb_s if rate else None):
            nodes[replace(one, nodes=())].append(node)
    return [
        Finding(
            Severity.ODD if one.severity is SpoilerWeight.WARNING else Severity.NOTE,
            f"memory-{one.check}",
            tuple(own),
            TRIAD,
            f"{ranges(own)}: {one.sentence}; {one.remedy}",
        )
        for one, own in nodes.items()
    ]


def _facts(check: NodeCheck, node: str) -> dict[str, str]:
    return {name: values[node] for name, values in check.facts.items() if node in values}


def without(
    results: Mapping[str, Mapping[str, float]], nodes: Mapping[str, Collection[str]]
) -> dict[str, dict[str, float]]:
    """Return the results of each benchmark without those of some nodes of it."""
    return {
        name: {node: one for node, one in own.items() if node not in nodes.get(name, ())}
        for name, own in results.items()
    }
