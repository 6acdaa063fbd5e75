"""The clock of the processors, as cpufreq tells it."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean

from hpl.witness import NodeSeries

from ..contract import Measurements
from .contract import FileSensor

KHZ_IN_MHZ = 1e3
MOST_MHZ = 20e3
"""Above the clock of any processor."""


class CpuClock(FileSensor):
    """The clock of all CPUs of a node, idle ones too: its mean during the solve, and the lowest at a moment."""

    globs = ("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq",)

    def measure(self, series: Sequence[NodeSeries], solve_s: float) -> Measurements:
        """Return the mean of all nodes, and the lowest mean of the CPUs of a node at one time."""
        del solve_s
        at_once: dict[tuple[str, float], list[float]] = defaultdict(list)
        for of_file in series:
            for time_s, khz in zip(of_file.times_s, of_file.values, strict=True):
                if 0 < khz <= MOST_MHZ * KHZ_IN_MHZ:
                    at_once[of_file.host, time_s].append(khz / KHZ_IN_MHZ)
        if not at_once:
            return {}
        of_nodes = [fmean(of_cpus) for of_cpus in at_once.values()]
        return {"clock_mhz": fmean(of_nodes), "lowest_clock_mhz": min(of_nodes)}
