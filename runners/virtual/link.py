"""How a network's settings change what a message costs: where MTU, throttling and NICs get their meaning."""

from dataclasses import dataclass

from ..errors import RunnerError
from .cluster import Network

RENDEZVOUS_MESSAGES = 3
"""Question, answer and data: a long message costs the latency three times."""
LEAST_MTU = 256


class LinkError(RunnerError):
    """A setting this network does not take."""


@dataclass(frozen=True)
class Settings:
    """What may be set on a network; None keeps its default.

    Attributes:
        throttle_us: least time between two interrupts (rx-usecs); 0 switches throttling off.
    """

    mtu: int | None = None
    throttle_us: float | None = None
    nics: int | None = None


@dataclass(frozen=True)
class Link:
    """What messages between two nodes meet.

    Attributes:
        latency_us: one way, without the CPU's part.
        held_us: further latency of a message of more than one packet.
        packet_bytes: data in one packet.
        bytes_s: of a long message.
        eager_bytes: longer messages ask first.
        cpu_us: on each side.
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
        """Latency by message size for SimGrid's `smpi/lat-factor`: as measured, or by packets and rendezvous.

        Args:
            asks_apart: the question and the answer of a long message are messages of their own, not part of it.
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
    """The network under these settings.

    A NIC that holds back its interrupts lets a packet wait for the next one. A ping-pong falls into step with them, so
    a small message takes one interval (the published 117 us against 29 us); of a message of several packets the first
    raises an interrupt, and the others wait for the next: one interval more. A long message does not wait again: its
    packets come faster than interrupts.

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
