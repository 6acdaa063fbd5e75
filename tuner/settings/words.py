"""Puts settings and measurements of a network into words."""

from collections.abc import Mapping

from hpl.params import Scalar
from results.store.networks import NetworkProbe


def words(settings: Mapping[str, Scalar]) -> str:
    """Settings on one line."""
    return " ".join(f"{name}={value}" for name, value in settings.items()) or "as it is"


def sentence(probe: NetworkProbe) -> str:
    """A measurement on one line."""
    first, last = probe.hosts
    way = f"Messages within {first}" if first == last else f"Network {first} to {last}"
    return (
        f"{way} ({probe.interface}, {words(probe.settings)}): "
        f"{probe.latency_us:.1f} µs, {probe.bandwidth_mbit_s:.0f} Mbit/s with {probe.program}"
    )
