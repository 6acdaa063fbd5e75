"""What machine time costs."""

from dataclasses import dataclass

from runners.virtual.cluster import VirtualCluster


@dataclass(frozen=True)
class Costs:
    """What an hour of a machine is worth.

    Attributes:
        years: over which its price is written off.
        usd_per_kwh: price of electricity.
    """

    years: float = 4.0
    usd_per_kwh: float = 0.25

    def usd_per_hour(self, cluster: VirtualCluster) -> float | None:
        """Of a cluster with the dearest of its networks; None where neither price nor power is known."""
        return max(self._with(cluster, network) for network in cluster.networks) or None

    def _with(self, cluster: VirtualCluster, network: str) -> float:
        price_usd, power_w = cluster.price_with(network) or 0.0, cluster.power_with(network) or 0.0
        return price_usd / (self.years * 8766.0) + power_w / 1000.0 * self.usd_per_kwh
