"""What is known of a machine before any HPL run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from hpl.params import Scalar
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

USUAL_GFLOPS = 10.0
"""Of a core whose dgemm was not timed."""
USUAL_MTU = 1500
"""Of a network whose MTU nobody set."""


@dataclass(frozen=True)
class Messages:
    """The times of a ping-pong between the first and the last rank.

    Attributes:
        latency_s: of a small message, one way.
        bytes_s: rate of a long one.
        mtu: that the network had, in bytes.
        held_s: least time between two interrupts (rx-usecs), as far as it was set.
    """

    latency_s: float
    bytes_s: float
    mtu: int = USUAL_MTU
    held_s: float = 0.0

    @classmethod
    def under(cls, point: Point, latency_s: float, bytes_s: float) -> "Messages":
        """Message times that were measured with the network settings of a point."""
        mtu, held_us = point.get("net.mtu", USUAL_MTU), point.get("net.rx_usecs", 0)
        return cls(latency_s, bytes_s, int(mtu), 1e-6 * float(held_us))


@dataclass(frozen=True)
class Probes:
    """The results of short measurements, and what is seen of the machine without any.

    Attributes:
        dgemm_gflops: rate of one core by BLAS and kernel.
        nodes: over which ranks are spread evenly.
        node_cores: of each, where ranks fill one node after the other instead, so that some may stay idle.
        messages: between the first and the last rank; None where they were not timed.
        half_nb: NB at which dgemm, on all cores at once, has half of the rate that it has with wide blocks; None where
            that was not timed.
        exact: a run comes out the same each time, as simulated ones without noise do.
    """

    dgemm_gflops: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    nodes: int = 1
    node_cores: int | None = None
    messages: Messages | None = None
    half_nb: float | None = None
    exact: bool = False

    def together(self, ranks: int, threads: int, dropped: int = 0) -> float:
        """How many ranks run on a node, at least 1.

        Args:
            dropped: nodes that are not used.
        """
        if self.node_cores is None:
            return max(1.0, ranks / max(1, self.nodes - dropped))
        return float(max(1, min(ranks, self.node_cores // threads)))

    def rate_gflops(self, full: Mapping[str, Scalar]) -> float:
        """Dgemm of one core for a point's BLAS and kernel; that of the best kernel, or a usual one, if not timed."""
        kernels = self.dgemm_gflops.get(str(full["blas"]), {})
        return kernels.get(str(full.get("kernel", "auto"))) or max(kernels.values(), default=USUAL_GFLOPS)


WAYS = re.compile(r"mpi(\..*)?|net\.(interface|network|nics)")
"""Names of parameters that decide which way messages go, and with what."""


def one_way(space: SearchSpace) -> bool:
    """Whether messages take the same way in all configurations, so that one timing holds for all."""
    return not any(WAYS.fullmatch(name) for name in space.varying)
