"""Reads the real cluster that the command line names."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..words import counted

if TYPE_CHECKING:
    from runners.hosts.cluster import Cluster


@dataclass(frozen=True)
class RealCluster:
    """A real cluster, and what all its nodes cost and draw together; None if the file does not say."""

    cluster: "Cluster"

    @property
    def price_usd(self) -> float | None:
        """Price of all nodes."""
        return None if self.cluster.node.price_usd is None else self.cluster.size * self.cluster.node.price_usd

    @property
    def power_w(self) -> float | None:
        """Power of all nodes under load."""
        return None if self.cluster.node.power_w is None else self.cluster.size * self.cluster.node.power_w


def check_parallel(parallel: int, real: RealCluster | None) -> None:
    """Refuse several trials at a time if they would share nodes.

    Raises:
        TunerError: they would.
    """
    if parallel > 1 and real is None:
        raise UsageError(
            "several trials at once would slow one another on one machine; name a real cluster with "
            "⟦cluster⟧ (simulations have ⟦jobs⟧)",
            field="parallel",
            given=parallel,
        )
    if real is not None and not real.cluster.batch and parallel > real.cluster.size:
        raise UsageError(
            f"{real.cluster.name} has only {counted(real.cluster.size, 'node')}", field="parallel", given=parallel
        )


REFUSE, DROP = "refuse", "drop"
"""What a check of the nodes before a study does with bad ones."""


def check_nodes_check(asked: str | None, real: RealCluster | None) -> None:
    """Refuse a check of nodes that cannot be made.

    Raises:
        UsageError: the word is not known, or there is no cluster.
    """
    if asked is None:
        return
    if asked not in {REFUSE, DROP}:
        raise UsageError(f"write {REFUSE} or {DROP}", field="nodes_check", given=asked)
    if real is None:
        raise UsageError(
            f"⟦nodes_check⟧ {asked} measures the nodes of a real cluster: name one with ⟦cluster⟧, or leave it out",
            field="nodes_check",
        )


def read_cluster(name: str | None) -> RealCluster | None:
    """The real cluster that `--cluster` names; None if it names none, or a virtual one.

    Raises:
        runners.toml_file.ClusterFileError: the file cannot be used.
    """
    if name is None:
        return None
    from runners.hosts.cluster import find_real_cluster  # noqa: PLC0415 - only a cluster needs it
    from runners.virtual.load import shipped  # noqa: PLC0415 - only a cluster needs it

    if name in shipped() or not Path(name).is_file():
        return None
    cluster = find_real_cluster(Path(name))
    return RealCluster(cluster) if cluster else None
