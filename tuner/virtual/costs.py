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
        """Of a cluster with its default network; None where neither price nor power is known."""
        price_usd, power_w = (told(cluster.default_network) for told in (cluster.price_with, cluster.power_with))
        if price_usd is None and power_w is None:
            return None
        return (price_usd or 0.0) / (self.years * 8766.0) + (power_w or 0.0) / 1000.0 * self.usd_per_kwh
