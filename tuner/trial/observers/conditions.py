"""Measures what the machine did during each run: what ranks got, what others took, clock and heat of nodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Self

from hpl.witness import NodeSeries, NodeSolve, RankSolve, SolveConditions
from runners.job import Job

from .contract import LaunchObserver, Measurements, SolveTime, WatchedLaunch
from .sensors.registry import FILE_SENSORS

FOREIGN_PART = 0.03
"""Of the cores of a node: what others may take before it counts."""
SHORTEST_S = 0.5
"""Of a time in which that is looked at: the kernel counts CPU time of a node in hundredths of a second."""
OF_RANKS = ("cpu_s", "waited_s", "involuntary_switches", "major_faults", "huge_page_bytes")
OF_NODES = ("swap_pages", "numa_misses", "nic_errors", "tcp_retransmits")
"""Figures that are summed over all ranks, and over all nodes."""
DIGITS = 6
"""After the point: times are told in microseconds."""


@dataclass(frozen=True)
class TakenStretch:
    """A stretch of a solve.

    Attributes:
        begin_s, end_s: since the solve began.
        cores: what others took meanwhile, on average.
    """

    begin_s: float
    end_s: float
    cores: float


@dataclass
class ConditionsObserver(LaunchObserver):
    """Turns what ranks and nodes told of each solve into measurements."""

    _ranks: int = field(default=0, init=False)

    @classmethod
    def of(cls, launch: WatchedLaunch) -> Self:
        """Every launch has conditions."""
        del launch
        return cls()

    def begin(self, job: Job, nodes: Sequence[str]) -> None:
        """Note how many ranks have to tell."""
        del nodes
        self._ranks = job.ranks

    def end(self, solves: Sequence[SolveTime]) -> Sequence[Measurements]:
        """Measure each run; nothing of one of which nothing is known."""
        return [measured(solve.told, self._ranks) for solve in solves]


def measured(told: SolveConditions, ranks: int) -> Measurements:
    """Return what was told of one solve as measurements; what is not known of all ranks or nodes is left out.

    A rank that begins after the first of its node stood still till then: that is in HPL's time.

    Args:
        ranks: of the launch, which all solve where a program does not tell how many do.
    """
    if not told.ranks:
        return {}
    of = max(int(rank.figures.get("of", ranks)) for rank in told.ranks)
    solve_s = round(max(rank.end_s - rank.begin_s for rank in told.ranks), DIGITS)
    complete = len(told.ranks) == of
    everywhere = complete and {rank.host for rank in told.ranks} <= {node.host for node in told.nodes}
    figures = {"solve_s": solve_s}
    figures |= _sums([rank.figures for rank in told.ranks], OF_RANKS) if complete else {}
    if "waited_s" in figures and len(told.ranks) > 1:
        waited = [(rank.figures["waited_s"], rank.figures.get("cpu_s", 0.0)) for rank in told.ranks]
        figures["most_waited"] = max(waited_s / max(waited_s + cpu_s, 1e-9) for waited_s, cpu_s in waited)
    if complete and all("still_s" in rank.figures for rank in told.ranks):
        first_s = {rank.host: min(one.begin_s for one in told.ranks if one.host == rank.host) for rank in told.ranks}
        still_s = [rank.figures["still_s"] + rank.begin_s - first_s[rank.host] for rank in told.ranks]
        figures |= {"still_s": max(still_s), "least_still_s": min(still_s)}
    figures |= _others(told)
    figures |= _worst(told.nodes)
    figures |= _sums([node.figures for node in told.nodes], OF_NODES) if everywhere else {}
    for sensor in FILE_SENSORS:
        own = [one for one in told.series if any(fnmatchcase(one.name, glob) for glob in sensor.globs)]
        figures |= sensor.measure(own) if own else {}
    return figures


def _sums(all_figures: Sequence[Mapping[str, float]], names: Sequence[str]) -> dict[str, float]:
    return {
        name: sum(figures[name] for figures in all_figures)
        for name in names
        if all(name in figures for figures in all_figures)
    }


def _worst(nodes: Sequence[NodeSolve]) -> dict[str, float]:
    """Return the time that hypervisor and control group took of the node on which each took most."""
    figures: dict[str, float] = {}
    steals = [node.figures["steal_s"] for node in nodes if "steal_s" in node.figures]
    if steals:
        figures["steal_s"] = max(steals)
    throttled = [node.figures for node in nodes if "throttled_s" in node.figures]
    if throttled:
        worst = max(throttled, key=lambda of_node: of_node["throttled_s"])
        figures |= {name: worst[name] for name in ("throttled_s", "throttled_periods") if name in worst}
    return figures


def _others(told: SolveConditions) -> dict[str, float]:
    """Return what others took of the node of which they took the largest part."""
    found = most_taken(told)
    if found is None:
        return {}
    node, foreign_s = found
    series = {one.name: one for one in told.series if one.host == node.host}
    figures = {name: node.figures[name] for name in ("cores", "physical_cores") if name in node.figures}
    figures["foreign_cpu_s"] = foreign_s
    if "busy_s" in series and "ranks_cpu_s" in series:
        taken = taken_by_others(series["busy_s"], series["ranks_cpu_s"], node.end_s - node.begin_s, foreign_s)
        most = FOREIGN_PART * node.figures["cores"]
        figures["foreign_for_s"] = round(sum(one.end_s - one.begin_s for one in taken if one.cores > most), DIGITS)
    return {**figures, **{f"foreign_cpu_s:{name}": used_s for name, used_s in node.programs.items()}}


def most_taken(told: SolveConditions) -> tuple[NodeSolve, float] | None:
    """Return the node of which others took the largest part, and the CPU seconds that they took; None if not known."""
    found = []
    for node in told.nodes:
        foreign_s, cores = _foreign_s(node, told.ranks), node.figures.get("cores", 0.0)
        if foreign_s is not None and cores > 0:
            found.append((foreign_s / cores / (node.end_s - node.begin_s), foreign_s, node))
    if not found:
        return None
    _, foreign_s, node = max(found, key=lambda one: one[:2])
    return node, foreign_s


def _foreign_s(node: NodeSolve, ranks: Sequence[RankSolve]) -> float | None:
    """Return the busy time of a node that is not that of its ranks; None where that is not known of all of them."""
    here = [rank.figures for rank in ranks if rank.host == node.host]
    busy_s, own_s = node.figures.get("busy_s"), node.figures.get("ranks_cpu_s")
    if own_s is None or node.figures.get("ranks", 0) < len(here):
        own_s = sum(figures["cpu_s"] for figures in here) if all("cpu_s" in figures for figures in here) else None
    return None if busy_s is None or own_s is None else max(0.0, busy_s - own_s)


def taken_by_others(busy: NodeSeries, own: NodeSeries, whole_s: float, foreign_s: float) -> Sequence[TakenStretch]:
    """Return what others took of a node one stretch of a solve after the other, from both counters at the same times.

    A stretch takes at least `SHORTEST_S`, unless there is only one. Where lines with the first or the last samples were
    lost, what others took until or from there is the rest of what they took in all.

    Args:
        whole_s: seconds of the solve on the node.
        foreign_s: CPU seconds that others took in all.
    """
    own_at = dict(zip(own.times_s, own.values, strict=True))
    known = [
        (time_s, max(0.0, value - own_at[time_s]))
        for time_s, value in zip(busy.times_s, busy.values, strict=True)
        if time_s in own_at
    ]
    if known and known[0][0] < SHORTEST_S <= whole_s - known[-1][0]:
        known.append((whole_s, max(known[-1][1], known[0][1] + foreign_s)))
    elif known and known[0][0] >= SHORTEST_S > whole_s - known[-1][0]:
        known.insert(0, (0.0, min(known[0][1], known[-1][1] - foreign_s)))
    kept = known[:1]
    for one in known[1:-1]:
        if one[0] - kept[-1][0] >= SHORTEST_S <= known[-1][0] - one[0]:
            kept.append(one)
    kept += known[1:][-1:]
    return [
        TakenStretch(time_s, later_s, max(0.0, later - value) / (later_s - time_s))
        for (time_s, value), (later_s, later) in pairwise(kept)
        if later_s > time_s
    ]
