"""What is known of a machine before any HPL run: its probes, and the figures that HPL's time is made of."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from hpl.params import Scalar
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

from .points import Vector

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
        held_s: how long the NIC holds back an interrupt (rx-usecs), as far as it was set.
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
        """Dgemm of one core for a point's BLAS and kernel; that of the best kernel, or a usual one, if not timed.

        Of several programs one may bring its own BLAS and hide its dgemm, which counts as the fastest: nobody brings a
        slower one.
        """
        kernels = self.dgemm_gflops.get(str(full["blas"]), {})
        if rate := kernels.get(str(full.get("kernel", "auto"))):
            return rate
        if "program" in full and not kernels:
            kernels = {kernel: rate for own in self.dgemm_gflops.values() for kernel, rate in own.items()}
        return max(kernels.values(), default=USUAL_GFLOPS)


WAYS = re.compile(r"mpi(\..*)?|net\.(interface|network|nics)")
"""Names of parameters that decide which way messages go, and with what."""


def one_way(space: SearchSpace) -> bool:
    """Whether messages take the same way in all configurations, so that one timing holds for all."""
    return not any(WAYS.fullmatch(name) for name in space.varying)


UNKNOWN: Mapping[str, tuple[float, float]] = {
    "rate": (1.0, 0.7),  # of dgemm in HPL against that of its probe
    "half_nb": (12.0, 0.8),  # NB at which dgemm has half its rate
    "half_rest": (60.0, 0.8),  # rows or columns of the rest at which it has half its rate
    "panel": (0.3, 0.8),  # rate of a panel against that of dgemm
    "pivot": (5e-6, 1.0),  # seconds that the ranks of a column wait for each other at each pivot
    "copy": (5e9, 0.7),  # bytes a second
    "latency": (30e-6, 1.0),  # seconds, between nodes
    "held": (0.5, 0.7),  # part of the time interrupts are held back that a message waits
    "packet": (1e-6, 1.0),  # seconds
    "bandwidth": (0.2e9, 1.0),  # bytes a second of a node
    "near_latency": (1e-6, 0.7),  # seconds, within a node
    "near_bandwidth": (3e9, 0.7),  # bytes a second
    "hop": (1.1, 0.3),  # messages that bring a panel to the next column
    "1rg": (1.3, 0.08), "1rM": (1.1, 0.08), "2rg": (1.3, 0.08), "2rM": (1.1, 0.08),  # the same among more than two
    "busy": (1.3, 0.4),  # messages that a rank of a ring is busy with in a step, with look-ahead
    "busy_1rg": (1.0, 0.08), "busy_1rM": (1.0, 0.08), "busy_2rg": (1.0, 0.08), "busy_2rM": (1.0, 0.08),
    "stall": (0.1, 0.7),  # updates of NB columns that it waits for the next rank to look for its message
    "wait": (0.3, 0.5),  # the same of a panel on its way to the next column
    "Lng": (1.2, 0.3), "LnM": (0.7, 0.4), "bin": (1.0, 0.4), "long": (1.0, 0.4),  # against the messages' own time
    "wait_long": (0.5, 0.5),  # updates of NB columns that look-ahead adds to a broadcast in parts
    "ahead": (0.05, 0.7),  # what look-ahead adds to an update
    "swap_ahead": (0.8, 0.3),  # what a swap takes with it, because the ranks of a node no longer all swap at once
}  # fmt: skip
"""Of each quantity what it usually is, and by how much, as a standard deviation of its logarithm, machines differ."""

PACKETS = 0.2
"""Of a long message's time, what its packets take: assumed."""
LEAST = 0.25
"""Of the latency that was measured, what is left at least without interrupts that were held back."""
MEASURED_LATENCY, MEASURED_BANDWIDTH, MEASURED_HALF = 0.3, 0.2, 0.5
"""By how much HPL's messages and blocks differ from those that were timed, a deviation of the logarithm: assumed."""


@dataclass(frozen=True)
class Prior:
    """What is believed of a machine before the first run, of each quantity in `UNKNOWN`.

    Attributes:
        usual: logarithm of the most likely value, shape (quantities,).
        spread: standard deviation of that logarithm, shape (quantities,).
    """

    usual: Vector
    spread: Vector

    def at(self, moved: Vector) -> Vector:
        """Logarithms of quantities so many standard deviations from what is likely, shape (..., quantities)."""
        return np.asarray(self.usual + moved * self.spread)


def prior(probes: Probes) -> Prior:
    """The prior of a machine: usual figures, except for those that were timed on it.

    That is messages between its nodes, or within its only one, and dgemm with narrow and with wide blocks.
    """
    found, messages = dict(UNKNOWN), probes.messages
    if probes.half_nb is not None:
        found["half_nb"] = probes.half_nb, MEASURED_HALF
    if messages is not None and probes.nodes > 1:
        waited_s = UNKNOWN["held"][0] * messages.held_s
        found["latency"] = max(messages.latency_s - waited_s, LEAST * messages.latency_s), MEASURED_LATENCY
        found["bandwidth"] = messages.bytes_s / (1 - PACKETS), MEASURED_BANDWIDTH
        found["packet"] = PACKETS * messages.mtu / messages.bytes_s, UNKNOWN["packet"][1]
    elif messages is not None:
        found["near_latency"] = messages.latency_s, MEASURED_LATENCY
        found["near_bandwidth"] = messages.bytes_s, MEASURED_BANDWIDTH
    usual, spread = np.array(list(found.values())).T
    return Prior(np.log(usual), spread)
