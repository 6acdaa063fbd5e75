"""Computes the cost of messages from a network and its settings: MTU, throttling and NICs."""

from dataclasses import dataclass

from ..errors import RunnerError
from .cluster import Network

RENDEZVOUS_MESSAGES = 3
"""A long message costs three latencies: question, answer and data."""
LEAST_MTU = 256


class LinkError(RunnerError):
    """The network does not take a setting."""


@dataclass(frozen=True)
class Settings:
    """The settings of a network; None keeps the default.

    Attributes:
        throttle_us: least time between two interrupts (rx-usecs); 0 switches throttling off.
    """

    mtu: int | None = None
    throttle_us: float | None = None
    nics: int | None = None


@dataclass(frozen=True)
class Link:
    """The costs of messages between two nodes.

    Attributes:
        latency_us: one-way latency without the CPU's part.
        held_us: additional latency of a message of more than one packet.
        packet_bytes: bytes of data in one packet.
        bytes_s: rate of a long message, in bytes per second.
        eager_bytes: a longer message first asks the receiver (rendezvous).
        cpu_us: CPU time of a message on each side.
    """

    latency_us: float
    held_us: float
    packet_bytes: int
    bytes_s: float
    eager_bytes: int
    cpu_us: float
    cpu_ns_per_kib: float
    latency_steps: tuple[tuple[int, float], ...] = ()

    def latency_factors(self, *, asks_apart: bool = False) -> str:
        """Write the latency by message size for SimGrid's `smpi/lat-factor`: as measured, or by packets and rendezvous.

        Args:
            asks_apart: whether question and answer of a long message are separate messages.
        """
        more = 1 + self.held_us / self.latency_us
        parts = {0: 1.0, self.packet_bytes + 1: more, self.eager_bytes + 1: more + RENDEZVOUS_MESSAGES - 1}
        if self.latency_steps:
            measured = {size: max(us - 2 * self.cpu_us, 0.0) / self.latency_us for size, us in self.latency_steps}
            parts = {0: 1.0, **measured}
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
        LinkError: the network does not take a setting.
    """
    mtu = network.mtu if settings.mtu is None else settings.mtu
    gap_us = network.throttle_us if settings.throttle_us is None else settings.throttle_us
    nics = network.nics if settings.nics is None else settings.nics
    if not max(LEAST_MTU, network.header_bytes + 1) <= mtu <= network.mtu_most:
        raise LinkError(f"an MTU of {mtu}: this network takes {LEAST_MTU} to {network.mtu_most}")
    if not 1 <= nics <= network.nics:
        raise LinkError(f"{nics} NICs: these nodes have {network.nics}")
    if gap_us < 0:
        raise LinkError(f"interrupts {gap_us} us apart: expected 0 or more")
    data = mtu - network.header_bytes
    line_bytes_s = network.gbit_s * 1e9 / 8
    one_nic = 1 / (1 / line_bytes_s + network.packet_us * 1e-6 / data)
    return Link(
        latency_us=max(network.latency_us, gap_us) - 2 * network.cpu_us,
        held_us=gap_us,
        packet_bytes=data,
        bytes_s=nics * one_nic,
        eager_bytes=network.eager_kib * 1024,
        cpu_us=network.cpu_us,
        cpu_ns_per_kib=network.cpu_ns_per_kib,
        latency_steps=network.latency_steps,
    )
