"""A machine that a few figures describe, and the shape of a run that experience advises for it."""

import re
from dataclasses import dataclass
from functools import cached_property
from statistics import quantiles

from hpl.rpeak import CoreType
from hpl.sizing import process_grids

from ..errors import UsageError
from .known_machines import known_machines

SLOW_GBIT_S = 0.5
"""Gbit/s of the network for each core below which it counts as slow: a 10-Gbit/s link of a node with 32 cores."""
CACHE_CORES = 8
"""Cores that often share an L3 cache or a NUMA node: threads of a rank on a large node."""
LEAST_THREADS = 4
"""Threads of a rank, where a node has as many cores, that a slow network makes worth a core or two that stay idle."""
MOST_SINGLE = 32
"""Ranks of one thread on a node of several, from which on threads are worth a core or two that stay idle."""
MOST_IDLE = 1 / 16
"""The largest part of a node's cores that may stay idle for ranks that are fewer and wider, or on a squarer grid."""
LEAST_RATIO = 4
"""Q over P above which a grid is far from square."""
MOST_THREADS = 16
"""Threads of a rank from which on the panel factorisation, which has few columns, gains nothing from more."""
INFINIBAND_GBIT_S = {"sdr": 8, "ddr": 16, "qdr": 32, "fdr": 54, "edr": 100, "hdr": 200, "ndr": 400, "xdr": 800}
"""Data rates of four lanes, as the InfiniBand Trade Association states them."""
_SPEED = re.compile(r"(\d+(?:\.\d+)?)\s*([mgt])(?:b|bit|be|bps|bit/s|b/s)?")
_PER_GBIT = {"m": 1e-3, "g": 1.0, "t": 1e3}


def near_square(ranks: int) -> bool:
    """Whether some grid of so many ranks is."""
    P, Q = process_grids(ranks)[0]
    return Q <= LEAST_RATIO * P


def read_network(text: str) -> float:
    """Gbit/s meant by "100g", "2.5GbE", "100m" or "hdr".

    Raises:
        UsageError: it is no speed.
    """
    cleaned = text.strip().lower()
    found = None if re.search("B(/s|ps)?$", text.strip()) else _SPEED.fullmatch(cleaned)
    speed = float(found[1]) * _PER_GBIT[found[2]] if found else INFINIBAND_GBIT_S.get(cleaned, 0.0)
    if not 0.0 < speed <= 1e5:
        raise UsageError(
            "write its speed in Gbit/s (bits, where GB is bytes) such as 1g, 25g or 100g, "
            f"or one of {', '.join(INFINIBAND_GBIT_S)}",
            field="network",
            given=text,
        )
    return speed


@dataclass(frozen=True)
class DescribedCpu:
    """A CPU by its name.

    Attributes:
        NB: K-blocking of the BLAS on it.
        core: FLOP per cycle, and how they are known.
        domain_cores: that share a NUMA node or an L3 cache; None where that is not known of all of its kind.
    """

    name: str
    NB: int
    core: CoreType
    domain_cores: int | None = None


@dataclass(frozen=True)
class DescribedMachine:
    """Nodes that are alike.

    Attributes:
        cores: physical ones of a node.
        memory_bytes: of a node.
        network_gbit_s: of a node; None where nobody told it.
    """

    nodes: int
    cores: int
    memory_bytes: int
    network_gbit_s: float | None = None
    cpu: DescribedCpu | None = None

    @property
    def gbit_s_per_core(self) -> float | None:
        """The speed of the network for each core; None for a single node, or where nobody told it."""
        alone = self.nodes == 1 or self.network_gbit_s is None
        return None if alone or self.network_gbit_s is None else self.network_gbit_s / self.cores

    @property
    def slow_network(self) -> bool:
        """Whether the cores compute much faster than the network carries."""
        speed = self.gbit_s_per_core
        return speed is not None and speed < SLOW_GBIT_S

    @cached_property
    def ranks_per_node(self) -> int:
        """One for each core of a small node, fewer with threads on a large one or behind a slow network.

        They take all cores where that gives a grid near a square; else a few may stay idle, as with 97 cores.
        """
        usual = CACHE_CORES if self.cores > CACHE_CORES else 1
        most = MOST_THREADS if self.slow_network else (self.cpu and self.cpu.domain_cores) or usual
        counts = sorted({self.cores // threads for threads in range(1, min(most, self.cores) + 1)})
        allowed = [
            count for count in counts if self.cores // count <= most and self.cores % count <= MOST_IDLE * self.cores
        ]
        return min(allowed, key=lambda count: (self._misshapen(count), self.cores % count))

    def _misshapen(self, ranks: int) -> bool:
        """Whether so many ranks on each node have too few threads, or no grid near a square."""
        least = min(LEAST_THREADS, self.cores) if self.slow_network else 2 if self.cores > MOST_SINGLE else 1
        return (self.nodes > 1 and self.cores // ranks < least) or not near_square(self.nodes * ranks)

    def grid(self, ranks: int) -> tuple[int, int]:
        """The squarest grid with P <= Q; behind a slow network the one with P <= Q whose ranks send least.

        A rank sends N^2 (3 P + Q) / (2 P Q) numbers, as netlib's scalability analysis of HPL counts them.
        """
        grids = [(P, Q) for P, Q in process_grids(ranks) if P <= Q]
        return min(grids, key=lambda grid: 3 * grid[0] + grid[1]) if self.slow_network else grids[0]

    def network_s(self, N: int) -> float:
        """Seconds that a node's network needs for what netlib's analysis says a process sends; 0 for a single node."""
        if self.nodes == 1 or self.network_gbit_s is None:
            return 0.0
        P, Q = self.grid(self.nodes)
        return 64.0 * N**2 * (3 * P + Q) / (2 * P * Q) / (self.network_gbit_s * 1e9)

    @cached_property
    def usual(self) -> "UsualEfficiency":
        """What published results of single machines reach, or those of clusters."""
        kinds = {"cluster"} if self.nodes > 1 else {"cpu", "board"}
        found = (one.percent_of_peak for one in known_machines() if one.kind in kinds)
        percents = [percent for percent in found if percent is not None]
        low, _, high = quantiles(percents, n=4)
        return UsualEfficiency(len(percents), low / 100, high / 100)


@dataclass(frozen=True)
class UsualEfficiency:
    """The parts of Rpeak between which half of some published results are."""

    results: int
    low: float
    high: float
