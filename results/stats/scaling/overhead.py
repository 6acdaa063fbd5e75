"""Where the time of more nodes goes: panel, broadcast, swap, update and solve, from HPL's own timers.

HPL times the panels (rfact), the update with the exchange of rows in it (laswp), and the solve; of each the rank that
took longest counts. It does not time the broadcast. What is left of the time is it: ranks send and receive panels in
it, or wait for a panel that another column still factorises.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from .runs import NodeOrder, RunGroup, Scaling, ScalingRun

PANEL, BROADCAST, SWAP, UPDATE, SOLVE = PARTS = ("panel", "broadcast", "swap", "update", "solve")
"""In the order in which reports show them."""
LEAST_S = 1.0
"""Of a run, from which its phases count: HPL prints them to 0.01 s."""


@dataclass(frozen=True)
class Overhead:
    """The parts of the time on one number of nodes.

    Attributes:
        shares: part of the time by name, together 1.
        lost: part of the time by name that would not be there if each node were as fast as at the smallest number,
            with the same shares; together 1 less the efficiency. Below 0 it became faster.
    """

    scaling: Scaling
    order: NodeOrder
    count: int
    time_s: float
    shares: Mapping[str, float]
    lost: Mapping[str, float]


def parts_s(time_s: float, timers_s: Mapping[str, float]) -> dict[str, float]:
    """Divide the time of a run into PARTS; nothing if HPL did not time it, or if it is too short.

    Args:
        time_s: HPL's time of the run.
        timers_s: HPL's timers by the names that it prints.
    """
    if time_s < LEAST_S or not {"rfact", "update", "laswp", "up tr sv"} <= timers_s.keys():
        return {}
    panel, solve = timers_s["rfact"], timers_s["up tr sv"]
    swap = min(timers_s["laswp"], timers_s["update"])
    update = timers_s["update"] - swap
    timed = panel + update + swap + solve
    scale = min(1.0, time_s / timed) if timed else 1.0
    parts = {PANEL: panel, SWAP: swap, UPDATE: update, SOLVE: solve}
    found = {name: scale * seconds for name, seconds in parts.items()}
    found[BROADCAST] = max(0.0, time_s - timed)
    return {name: found[name] for name in PARTS}


def overheads(group: RunGroup) -> list[Overhead]:
    """Divide the mean time on each number of nodes, and what is lost of it against the smallest number."""
    timed = {count: [run for run in runs if run.phases_s] for count, runs in group.runs.items()}
    first = timed[group.smallest]
    if not first:
        return []
    base = _parts(first)
    found = []
    for count, runs in timed.items():
        if not runs:
            continue
        time_s, parts = _time_s(runs), _parts(runs)
        work = runs[0].operations / first[0].operations * group.smallest / count
        lost = {name: (parts[name] - base[name] * work) / time_s for name in PARTS}
        shares = {name: parts[name] / time_s for name in PARTS}
        found.append(Overhead(group.scaling, group.order, count, time_s, shares, lost))
    return found


def _time_s(runs: Sequence[ScalingRun]) -> float:
    return fmean(run.time_s for run in runs)


def _parts(runs: Sequence[ScalingRun]) -> dict[str, float]:
    return {name: fmean(run.phases_s[name] for run in runs) for name in PARTS}
