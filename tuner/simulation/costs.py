"""What machine time costs."""

from runners.virtual.cluster import VirtualCluster

YEARS = 4.0
"""Years over which the price of a machine is written off."""
USD_PER_KWH = 0.25


def usd_per_hour(cluster: VirtualCluster) -> float | None:
    """What an hour of a cluster costs, with the most expensive of its networks; None without price and power."""
    return max(_with(cluster, network) for network in cluster.networks) or None


def _with(cluster: VirtualCluster, network: str) -> float:
    return hourly_usd(cluster.price_with(network), cluster.power_with(network)) or 0.0


def hourly_usd(price_usd: float | None, power_w: float | None) -> float | None:
    """What an hour of a machine of this price and power costs; None where neither is known."""
    return (price_usd or 0.0) / (YEARS * 8766.0) + (power_w or 0.0) / 1000.0 * USD_PER_KWH or None
