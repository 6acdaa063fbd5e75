"""What `hpltune predict` finds for a design: its best configuration, with figures of merit."""

from dataclasses import dataclass

from results.metrics import Merit
from results.stats.ranking import Ranked

from ...machine.peak import model_above_peak
from ..cluster import equipment_of
from .designs import Design


@dataclass(frozen=True)
class Prediction:
    """A design and the best configuration found for it.

    Attributes:
        study: the study that found it.
        merit: the figures of merit of the nodes that the configuration uses.
    """

    design: Design
    study: str
    best: Ranked
    merit: Merit

    @property
    def gflops(self) -> float:
        """The tuned rate, Rmax."""
        return self.best.expected_gflops

    @property
    def nodes(self) -> int:
        """The number of nodes of the design."""
        return len(self.design.cluster.node_list)

    @property
    def nodes_used(self) -> int:
        """The number of nodes that the best configuration uses."""
        return equipment_of(self.design.cluster).used(self.best.params).nodes

    @property
    def rpeak_gflops(self) -> float:
        """Rpeak of all nodes of the design."""
        return self.design.cluster.rpeak_gflops

    @property
    def price_usd(self) -> float | None:
        """The price of the design with its network; None where it is not known."""
        return self.design.cluster.price_with(self.design.network_used)

    @property
    def power_w(self) -> float | None:
        """The power of the design with its network; None where it is not known."""
        return self.design.cluster.power_with(self.design.network_used)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Price or power, where the base cluster has one for other nodes and the design has none of its own."""
        return tuple(name for name in self.design.dropped if getattr(self, name) is None)

    @property
    def above_peak(self) -> str | None:
        """Why the rate is above 100 % of peak, as one sentence; None where it is not."""
        return model_above_peak(self.merit.percent_of_peak)
