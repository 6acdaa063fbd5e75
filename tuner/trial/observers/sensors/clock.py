"""The clock of the processors, as cpufreq tells it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

from hpl.witness import NodeSeries

from .contract import FileSensor, SensorLine

KHZ_IN_MHZ = 1e3
MOST_MHZ = 20e3
"""Above the clock of any processor."""


class CpuClock(FileSensor):
    """The clock of all CPUs of a node, idle ones too: its mean during the solve, and the lowest at a moment."""

    globs = ("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq",)
    kind = "clock"
    words = {"clock_mhz": "{:.0f} MHz".format, "lowest_clock_mhz": "at least {:.0f} MHz".format}  # noqa: RUF012

    def measure(self, series: Sequence[NodeSeries]) -> Mapping[str, float]:
        """Return the mean of all nodes, and the lowest mean of the CPUs of a node at one time."""
        of_nodes = _means_mhz(series).values()
        return {"clock_mhz": fmean(of_nodes), "lowest_clock_mhz": min(of_nodes)} if of_nodes else {}

    def line(self, series: Sequence[NodeSeries]) -> SensorLine | None:
        """Return the mean clock of the CPUs of a node."""
        means = sorted((time_s, mhz) for (_, time_s), mhz in _means_mhz(series).items())
        times_s, values = tuple(time_s for time_s, _ in means), tuple(mhz for _, mhz in means)
        return SensorLine("Mean clock of all CPUs", "MHz", times_s, values) if means else None


def _means_mhz(series: Sequence[NodeSeries]) -> Mapping[tuple[str, float], float]:
    """Return the mean of the CPUs of each node at each time."""
    at_once: dict[tuple[str, float], list[float]] = defaultdict(list)
    for of_file in series:
        for time_s, khz in zip(of_file.times_s, of_file.values, strict=True):
            if 0 < khz <= MOST_MHZ * KHZ_IN_MHZ:
                at_once[of_file.host, time_s].append(khz / KHZ_IN_MHZ)
    return {node_and_time: fmean(of_cpus) for node_and_time, of_cpus in at_once.items()}
