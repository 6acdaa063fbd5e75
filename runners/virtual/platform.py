"""Writes a virtual cluster for SimGrid: hosts, links and switches as a platform file, and the host of each rank."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

from ..errors import InvalidJobError
from .cluster import Network, VirtualBlas, VirtualCluster

RENDEZVOUS_MESSAGES = 3
"""A long message costs three latencies: question, answer and data."""
LEAST_MTU = 256


@dataclass(frozen=True)
class Settings:
    """The settings of a network; None keeps the default.

    Attributes:
        throttle_us: how long a NIC holds back an interrupt (rx-usecs); 0 switches throttling off.
    """

    mtu: int | None = None
    throttle_us: float | None = None
    nics: int | None = None


@dataclass(frozen=True)
class Link:
    """The costs of messages between two nodes.

    Attributes:
        network: on which they are, without settings.
        latency_us: one-way latency without the CPU's part.
        held_us: additional latency of a message of more than one packet.
        packet_bytes: bytes of data in one packet.
        bytes_s: rate of a long message, in bytes per second.
        eager_bytes: a longer message first asks the receiver (rendezvous).
    """

    network: Network
    latency_us: float
    held_us: float
    packet_bytes: int
    bytes_s: float
    eager_bytes: int

    def latency_factors(self, *, asks_apart: bool = False) -> str:
        """Write the latency by message size for SimGrid's `smpi/lat-factor`: as measured, or by packets and rendezvous.

        Args:
            asks_apart: whether question and answer of a long message are separate messages.
        """
        more = 1 + self.held_us / self.latency_us
        parts = {0: 1.0, self.packet_bytes + 1: more, self.eager_bytes + 1: more + RENDEZVOUS_MESSAGES - 1}
        if self.network.latency_steps:
            steps, cpu_us = self.network.latency_steps, 2 * self.network.cpu_us
            parts = {0: 1.0, **{size: max(us - cpu_us, 0.0) / self.latency_us for size, us in steps}}
        if asks_apart:
            asking = RENDEZVOUS_MESSAGES - 1
            parts = {size: max(part - asking * (size > self.eager_bytes), 1.0) for size, part in parts.items()}
        return ";".join(f"{size}:{factor:.6g}" for size, factor in sorted(parts.items(), reverse=True))


def link(network: Network, settings: Settings) -> Link:
    """Compute the costs of a network with these settings.

    If a NIC delays its interrupts, a packet waits for the next interrupt. A ping-pong falls into step with them, so a
    small message takes one interval (the published 117 us against 29 us). In a message of several packets the first
    packet raises an interrupt, and the others wait one more interval for the next. A long message does not wait again,
    because its packets arrive faster than the interrupts.

    Raises:
        InvalidJobError: the network does not take a setting.
    """
    mtu = network.mtu if settings.mtu is None else settings.mtu
    gap_us = network.throttle_us if settings.throttle_us is None else settings.throttle_us
    nics = network.nics if settings.nics is None else settings.nics
    if not max(LEAST_MTU, network.header_bytes + 1) <= mtu <= network.mtu_most:
        raise InvalidJobError(f"an MTU of {mtu}: this network takes {LEAST_MTU} to {network.mtu_most}")
    if not 1 <= nics <= network.nics:
        raise InvalidJobError(f"{nics} NICs: these nodes have {network.nics}")
    if gap_us < 0:
        raise InvalidJobError(f"interrupts {gap_us} us apart: expected 0 or more")
    data = mtu - network.header_bytes
    one_nic = 1 / (1 / (network.gbit_s * 1e9 / 8) + network.packet_us * 1e-6 / data)
    return Link(
        network,
        latency_us=max(network.latency_us, gap_us) - 2 * network.cpu_us,
        held_us=gap_us,
        packet_bytes=data,
        bytes_s=nics * one_nic,
        eager_bytes=network.eager_kib * 1024,
    )


HEADER = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
"""
SLOWEST = 0.05
"""The least relative speed of a node, so that noise never stops one."""


@dataclass(frozen=True)
class Setup:
    """A virtual cluster with the settings of one launch.

    Attributes:
        repeat: counts launches of the same configuration, so that each run has its own, repeatable noise.
        launch_key: the configuration's identity, on which noise between runs also depends.
        order: numbers of the nodes that ranks fill, in this order; empty for all, as the cluster lists them.
    """

    cluster: VirtualCluster
    blas_name: str
    network_name: str
    settings: Settings = field(default_factory=Settings)
    repeat: int = 0
    launch_key: str = ""
    order: tuple[int, ...] = ()

    @property
    def blas(self) -> VirtualBlas:
        """The BLAS of this launch."""
        return self.cluster.blas[self.blas_name]

    @property
    def network(self) -> Network:
        """The network of this launch."""
        return self.cluster.networks[self.network_name]

    @property
    def link(self) -> Link:
        """The costs of the network with this launch's settings.

        Raises:
            InvalidJobError: the network does not take a setting.
        """
        return link(self.network, self.settings)

    def node_speeds(self) -> tuple[float, ...]:
        """Return the relative speed of each node in this launch, from its kind, its own noise and the run's noise."""
        run = self._run_factor("compute")
        return tuple(max(SLOWEST, speed * run) for speed in own_speeds(self.cluster))

    def hosts(self, ranks: int) -> list[str]:
        """Return the host of each rank: nodes filled one after the other, as mpirun maps by slot.

        Raises:
            InvalidJobError: there are more ranks than cores.
        """
        every = self.cluster.node_list
        nodes = [(number, every[number].cores) for number in self.order or range(len(every))]
        cores = sum(own for _, own in nodes)
        if ranks > cores:
            named = f"{self.cluster.name} has {cores} in {len(nodes)} nodes"
            raise InvalidJobError(f"{ranks} ranks need {ranks} cores: {named}")
        return [f"n{number}" for number, own in nodes for _ in range(own)][:ranks]

    def bandwidth_bytes_s(self) -> float:
        """Bandwidth of one node's NICs in this launch, in bytes per second."""
        return self.link.bytes_s * self._run_factor("network")

    @property
    def seed(self) -> int:
        """The seed of pivots and of jitter, which must differ from run to run."""
        noise = self.cluster.noise
        if not noise.jitter:
            return noise.seed
        return random.Random(f"jitter {noise.seed} {self.launch_key} {self.repeat}").getrandbits(31)  # noqa: S311

    def _run_factor(self, part: str) -> float:
        noise = self.cluster.noise
        drawn = random.Random(f"{part} {noise.seed} {self.launch_key} {self.repeat}")  # noqa: S311
        return max(SLOWEST, 1 + drawn.gauss(0, noise.runs))


def own_speeds(cluster: VirtualCluster) -> tuple[float, ...]:
    """Return the relative speed of each node in all runs, from its kind and its own noise, as a benchmark tells it."""
    of_nodes = random.Random(f"nodes {cluster.noise.seed}")  # noqa: S311 - a simulation, not a secret
    return tuple(node.speed * (1 + of_nodes.gauss(0, cluster.noise.nodes)) for node in cluster.node_list)


def platform_xml(setup: Setup) -> str:
    """Write the platform file: a host per node, a full-duplex link for its NICs, one switch or a tree of two levels."""
    switch, speeds = setup.network.switch, setup.node_speeds()
    size = switch.leaf_nodes or len(speeds)
    leaves = [range(first, min(first + size, len(speeds))) for first in range(0, len(speeds), size)]
    body = _leaf(setup, 0, leaves[0], speeds) if len(leaves) == 1 else _tree(setup, leaves, speeds)
    return f"{HEADER}{body}</platform>\n"


def _leaf(setup: Setup, number: int, nodes: range, speeds: Sequence[float]) -> str:
    half_us, bytes_s = setup.link.latency_us / 2, setup.bandwidth_bytes_s()
    kinds, memory = setup.cluster.node_list, setup.cluster.shared_memory
    lines = [
        f'<host id="n{node}" speed="{speeds[node]:.9g}Gf" core="{kinds[node].cores}"/>\n'
        f'<link id="l{node}" bandwidth="{bytes_s:.9g}Bps" latency="{half_us:.9g}us" '
        f'sharing_policy="SPLITDUPLEX"/>\n'
        f'<host_link id="n{node}" up="l{node}_UP" down="l{node}_DOWN"/>\n'
        f'<link id="within{node}" bandwidth="{1e9 * memory.gb_s:.9g}Bps" latency="{memory.latency_us:.9g}us" '
        f'sharing_policy="FATPIPE"/>\n'
        for node in nodes
    ]
    backplane = setup.network.switch.backplane_gbit_s
    if backplane and len(nodes) == len(speeds):
        lines.append(f'<backbone id="backplane" bandwidth="{backplane * 1e9 / 8:.9g}Bps" latency="0us"/>\n')
    routes = (f'<route src="n{node}" dst="n{node}"><link_ctn id="within{node}"/></route>\n' for node in nodes)
    zone, router = f'<zone id="leaf{number}" routing="Cluster">\n', f'<router id="r{number}"/>\n'
    return "".join([zone, *lines, router, *routes, "</zone>\n"])


def _tree(setup: Setup, leaves: Sequence[range], speeds: Sequence[float]) -> str:
    """Write leaf switches whose uplinks connect to an upper switch."""
    switch = setup.network.switch
    lines = ['<zone id="all" routing="Full">\n', *(_leaf(setup, at, leaf, speeds) for at, leaf in enumerate(leaves))]
    uplinks = [setup.bandwidth_bytes_s() * len(leaf) / switch.oversubscription for leaf in leaves]
    lines += [
        f'<link id="u{number}" bandwidth="{uplink:.9g}Bps" latency="{switch.hop_us:.9g}us" '
        f'sharing_policy="SPLITDUPLEX"/>\n'
        for number, uplink in enumerate(uplinks)
    ]
    spine = ""
    if switch.backplane_gbit_s:
        lines.append(f'<link id="spine" bandwidth="{switch.backplane_gbit_s * 1e9 / 8:.9g}Bps" latency="0us"/>\n')
        spine = '<link_ctn id="spine"/>'
    lines += [
        f'<zoneRoute src="leaf{a}" dst="leaf{b}" gw_src="r{a}" gw_dst="r{b}">'
        f'<link_ctn id="u{a}" direction="UP"/>{spine}<link_ctn id="u{b}" direction="DOWN"/></zoneRoute>\n'
        for a, b in combinations(range(len(leaves)), 2)
    ]
    return "".join([*lines, "</zone>\n"])
